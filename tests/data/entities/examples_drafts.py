"""A sound item of each type of drafts and of what deals were, with all that it can have."""

from typing import Any

from tests.data.entities.examples_deals import (
    CARD,
    DEAL,
    EDIT,
    ENDS,
    EXAMPLES as OF_DEALS,
    LATER,
    LINK,
    PUBLISHED,
)

NEW = {name: value for name, value in CARD.items() if name != "raised_from"} | {
    "low": 119
}  # it had no other price
SHOWN = {name: value for name, value in NEW.items() if name != "sold_out"}
CONTENT = {"link": LINK, "description": "Quiet switches.", "stock": 3}
INDEXED = ("PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "GSI3PK", "GSI3SK")
EXAMPLES: dict[str, dict[str, Any]] = {
    "Draft": {
        "PK": f"DRAFT#{EDIT}",
        "SK": f"DRAFT#{EDIT}",
        "GSI1PK": "DRAFTS",
        "GSI1SK": f"DRAFT#{EDIT}",
        "GSI2PK": "DRAFTS#BRAND#nordlicht",
        "GSI2SK": f"DRAFT#{EDIT}",
        "GSI3PK": "DRAFTS#CATEGORY#peripherals-networking",
        "GSI3SK": f"DRAFT#{EDIT}",
        "type": "Draft",
        "id": EDIT,
        "card": SHOWN | {"id": EDIT},
        **CONTENT,
        "version": 2,
        "last_edit": "0123456789abcdef0123456789abcdef",
        "created_by": "eve",
        "updated_at": LATER,
        "updated_by": "eve",
        "autosaved_since": PUBLISHED,
    },
    "DealChanges": {
        "PK": f"VERSIONS#{EDIT}",
        "SK": "CHANGES",
        "type": "DealChanges",
        "of": EDIT,
        "deal": DEAL,
        "card": SHOWN,
        **CONTENT,
        "base": 3,
        "seen": '{"title": "3f2a"}',
        "version": 2,
        "last_edit": EDIT,
        "begun_at": PUBLISHED,
        "updated_at": LATER,
        "updated_by": "eve",
        "autosaved_since": PUBLISHED,
        "discarded_at": LATER,
    },
    "Version": {
        "PK": f"VERSIONS#{DEAL}",
        "SK": "00000002",
        "type": "Version",
        "of": DEAL,
        "version": 2,
        "card": NEW,
        **CONTENT | {"stock": 0},
        "made_at": PUBLISHED,
        "made_by": "eve",
        "ttl": 1_900_000_000,
    },
    "Trash": {
        "PK": f"DEAL#{DEAL}",
        "SK": "TRASH",
        "GSI1PK": "TRASH",
        "GSI1SK": f"{LATER}#deal#{DEAL}",
        "type": "Trash",
        "kind": "deal",
        "id": DEAL,
        "token": EDIT,
        "kept": {name: value for name, value in OF_DEALS["Deal"].items() if name not in INDEXED},
        "offer": {name: value for name, value in OF_DEALS["Offer"].items() if name not in INDEXED},
        "card": CARD | {"kind": "deal", "deleted_at": LATER, "deleted_by": "eve"},
        "emptying": True,
    },
}
POINTER = {
    "PK": f"DRAFT#{EDIT}",
    "SK": f"DRAFT#{EDIT}",
    "type": "Draft",
    "id": EDIT,
    "version": 3,
    "published_as": DEAL,
    "created_by": "eve",
    "updated_at": ENDS,
    "updated_by": "eve",
}
