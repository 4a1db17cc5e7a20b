"""A sound item of each type of imports and bulk changes, with every attribute that it can have."""

from typing import Any

from tests.builders import NOW, make_id

ID, JOB, DEAL, OTHER = (make_id(NOW, number) for number in range(4))
AT = "2026-11-20T12:00:00.000Z"
TTL = 1_800_000_000
LAYOUT: dict[str, Any] = {
    "titles": ["Name", "Preis"],
    "columns": ["title", "price"],
    "decimal": ",",
    "dates": "day",
    "zone": "Europe/Berlin",
    "moment": AT,
    "category": "home-furniture",
    "brand": "Nordlicht",
    "drafts": True,
    "at_once": False,
    "pictures": False,
    "language": "de",
    "shop": "https://shop.example",
    "categories": [{"name": "lampen", "slug": "home-furniture"}],
    "brands": [{"name": "nordlicht-gmbh", "slug": "nordlicht"}],
    "update": "prices",
    "left_out": [2, 7],
}
TOTALS = dict.fromkeys(("imported", "changed", "there", "refused", "brands", "notes", "pictures"), 1)

EXAMPLES: dict[str, dict[str, Any]] = {
    "Import": {
        "PK": f"IMPORT#{ID}",
        "SK": f"IMPORT#{ID}",
        "type": "Import",
        "id": ID,
        "by": "bob",
        "brought": {
            "name": "deals.csv",
            "bytes": 1234,
            "rows": 2,
            "encoding": "utf-8",
            "separator": "\t",
            "titles": ["Name", "Preis"],
            "columns": ["title", "price"],
            "decimal": ",",
            "dates": "day",
            "samples": [["A lamp", "12,50"], ["", ""]],
        },
        "version": 3,
        "layout": LAYOUT,
        "totals": TOTALS,
        "brands": [{"line": 2, "slug": "nordlicht", "name": "Nordlicht", "rows": 2}],
        "categories": [{"name": "Garten", "rows": 3}],
        "changes": [
            {
                "line": 4,
                "id": DEAL,
                "title": "A lamp",
                "fields": [{"name": "price", "before": "9", "after": ""}],
            }
        ],
        "undone_by": OTHER,
        "remarks": [{"line": 3, "column": "Preis", "value": "?", "reason": "Not so.", "refused": True}],
        "card": {
            "name": "deals.csv",
            "by": "bob",
            "stage": "imported",
            "rows": 2,
            "job": JOB,
            "totals": dict(TOTALS),
        },
        "GSI2PK": "IMPORTS",
        "GSI2SK": f"IMPORT#{ID}",
    },
    "ImportLayout": {
        "PK": f"IMPORTLAYOUT#{'ab' * 32}",
        "SK": f"IMPORTLAYOUT#{'ab' * 32}",
        "type": "ImportLayout",
        "fingerprint": "ab" * 32,
        "layout": LAYOUT,
        "ttl": TTL,
    },
    "BulkChunk": {
        "PK": f"BULK#{JOB}",
        "SK": "CHUNK#000001",
        "type": "BulkChunk",
        "job": JOB,
        "number": 1,
        "subjects": [{"id": DEAL, "title": "A lamp", "seen": "nordlicht"}],
        "collected_at": AT,
        "after": "more",
        "ttl": TTL,
    },
    "BulkRow": {
        "PK": f"BULK#{JOB}",
        "SK": f"CHANGED#{DEAL}",
        "type": "BulkRow",
        "job": JOB,
        "subject": DEAL,
        "title": "A lamp",
        "outcome": "CHANGED",
        "before": "nordlicht",
        "after": "anders",
        "reason": "",
        "chunk": 1,
        "stock": 12,
        "ttl": TTL,
    },
}
