"""What checks leave behind: a sound item of each type, with every attribute that it can have at once."""

from __future__ import annotations

from typing import Any

from dealsite.data import keys
from dealsite.data.entities import findings
from tests.data.entities.examples_people import AT, ID, LATER, TTL, at

HASH, GROUP, FINGERPRINT = "a" * 64, "b" * 64, "c" * 64
EXAMPLES: dict[str, dict[str, Any]] = {
    "CheckRun": at(
        keys.check_run(ID),
        findings.CHECK_RUN.item(
            {
                "id": ID,
                "scope": "sample",
                "by": "worker",
                "items": 600_000,
                "seconds": 300,
                "problems": 3,
                "repaired": 0,
                "new": 1,
                "position": {"table": "dealsite", "start": {"PK": f"DEAL#{ID}", "SK": f"DEAL#{ID}"}},
                "ttl": TTL,
            }
        ),
    ),
    "Quarantined": at(
        keys.quarantined(HASH),
        findings.QUARANTINED.item(
            {
                "id": HASH,
                "state": "decided",
                "group": GROUP,
                "first_at": AT,
                "at": LATER,
                "times": 2,
                "version": 3,
                "fingerprint": FINGERPRINT,
                "copy": {"PK": "GHOST#1", "SK": "GHOST#1", "type": "Ghost", "size": 3},
                "changed": {"size": {"before": 3, "after": 4}},
                "ttl": TTL,
                "card": {
                    "key": ["GHOST#1", "GHOST#1"],
                    "kind": "Ghost",
                    "what": "Its size is odd.",
                    "seen_at": AT,
                    "is_derivable": False,
                    "decision": "corrected",
                    "by": "root",
                },
            }
        ),
    ),
}
