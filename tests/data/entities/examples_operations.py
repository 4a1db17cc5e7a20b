"""What processes and commands say: a sound item of each type, with every attribute that it can have at once."""

from __future__ import annotations

from typing import Any

from dealsite.data import keys
from dealsite.data.entities import operations
from tests.data.entities.examples_people import AT, ID, LATER, TTL, at

EXAMPLES: dict[str, dict[str, Any]] = {
    "Process": at(
        keys.process(ID),
        operations.PROCESS.item(
            {
                "id": ID,
                "part": "worker",
                "machine": "web-1",
                "pid": 4711,
                "version": "1.2.3",
                "at": AT,
                "jobs": [{"kind": "send_message", "since": AT}],
                "projections": {"search": {"state": "following", "lag": 1, "skipped": 0}},
                "disks": {"data": {"free": 3_000_000_000_000, "percent": 60, "state": "enough"}},
                "parts": {"engine": {"restarts": 1, "ended": "SIGKILL"}},
                "ttl": TTL,
            }
        ),
    ),
    "Lease": at(
        keys.lease("search-7"),
        operations.LEASE.item({"name": "search-7", "holder": ID, "term": 3, "beat": 99, "ttl": TTL}),
    ),
    "CommandRun": at(
        keys.command_run("close_day", ID),
        operations.COMMAND_RUN.item(
            {
                "id": ID,
                "kind": "close_day",
                "by": "worker",
                "ended_at": LATER,
                "ok": True,
                "said": "3 payments moved to the history.",
                "check": {
                    "scope": "sample",
                    "items": 600_000,
                    "problems": 3,
                    "repaired": 0,
                    "unreadable": 1,
                    "position": {"start": {"PK": f"DEAL#{ID}", "SK": f"DEAL#{ID}"}},
                },
                "ttl": TTL,
            }
        ),
    ),
    "Heartbeat": at(keys.heartbeat("web"), operations.HEARTBEAT.item({"part": "web", "at": AT, "ttl": TTL})),
    "SiteSwitch": at(
        keys.site_switch(),
        operations.SITE_SWITCH.item({"state": "read-only", "message": "Until noon.", "by": "ada", "at": AT}),
    ),
    "SitePage": at(
        keys.site_page("terms"),
        operations.SITE_PAGE.item(
            {"slug": "terms", "en": "## Whom they are for", "de": "", "version": 2, "by": "ada", "at": AT}
        ),
    ),
    "TaskCounts": at(
        keys.task_counts(),
        operations.TASK_COUNTS.item(
            {"drafts": 9, "featured": 1, "orders": 100, "payments": 0, "overdue": 2, "at": AT}
        ),
    ),
}
EXAMPLES["Migration"] = {
    "PK": "MIGRATION#all",
    "SK": "MIGRATION#all",
    "type": "Migration",
    "name": "all",
    "aim": "ab" * 32,
    "number": 0,
    "start": {"PK": "DEAL#1", "SK": "DEAL#1"},
    "counts": {"Deal": {"migrated": 3}},
    "version": 2,
    "is_done": False,
}
