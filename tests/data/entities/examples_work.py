"""One item of each type of work.py, with every attribute that it can have."""

from __future__ import annotations

from dealsite.data import keys
from dealsite.data.entities import work
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso
from tests.data.entities.examples_people import AT, ID, LATER, OTHER_ID, TTL, at

EXAMPLES: dict[str, Item] = {
    "Job": at(
        keys.job(ID),
        work.JOB.item(
            {
                "id": ID,
                "kind": "send_message",
                "state": "open",
                "card": {
                    "kind": "send_message",
                    "state": "open",
                    "headline": "Look",
                    "deal": OTHER_ID,
                    "audience": {"all": True, "brand": "acme", "category": "home-furniture"},
                    "page": "front",
                    "plan": OTHER_ID,
                },
                "payload": {"deal": OTHER_ID},
                "tries": 2,
                "parts": 4,
                "taken_by": OTHER_ID,
                "checkpoint": {"headline": "Look"},
                "progress": {"sent": 3},
                "error": "It was too late.",
                "applied": True,
                "undone_by": OTHER_ID,
                "request": ID,
                "traceparent": f"00-{'4b' * 16}-{'5c' * 8}-01",
                "ttl": TTL,
                **keys.job_rows(ID, from_iso(LATER), work.place_of(work.SEND_MESSAGE, ID)),
            }
        ),
    ),
    "AuditEntry": at(
        keys.audit(from_iso(AT), ID),
        work.AUDIT_ENTRY.item(
            {
                "id": ID,
                "card": {
                    "at": AT,
                    "by": "ada",
                    "kind": "deal",
                    "subject": OTHER_ID,
                    "what": "edited",
                    "note": "cheaper",
                },
                "before": {"price": "5.00"},
                "after": {"price": "4.00"},
                "ttl": TTL,
            }
        ),
    ),
    "SecurityEvent": at(
        keys.security_event(from_iso(AT), ID),
        work.SECURITY_EVENT.item(
            {
                "id": ID,
                "card": {
                    "event": "sign_in_failed",
                    "at": AT,
                    "username": "ada",
                    "network": "192.0.2.7",
                    "page": "/sign-in/",
                    "detail": "",
                    "request": ID,
                },
            }
        ),
    ),
    "FailureCount": at(keys.failure_count(from_iso(AT)), work.FAILURE_COUNT.item({"count": 4, "ttl": TTL})),
    "SavedQuestion": at(
        keys.question(ID),
        work.SAVED_QUESTION.item(
            {
                "id": ID,
                "title": "How many deals?",
                "sql": "SELECT count(*)\nFROM deals",
                "version": 2,
                "last_edit": OTHER_ID,
                "created_by": "ada",
                "updated_by": "bob",
                "updated_at": AT,
            }
        ),
    ),
    "ListViews": at(
        keys.list_views("ada"),
        work.LIST_VIEWS.item(
            {
                "username": "ada",
                "views": [{"name": "Lamps", "address": "/cms/deals/?q=lamp"}],
                "version": 1,
                "updated_at": AT,
            }
        ),
    ),
    "Presence": at(
        keys.presence("deal", ID, "ada"),
        work.PRESENCE.item(
            {"kind": "deal", "of": ID, "username": "ada", "name": "Ada", "since": AT, "ttl": TTL}
        ),
    ),
}
