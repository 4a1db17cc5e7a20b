"""The audit log: who did what to which thing, written in the transaction that does it, and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict

from dealsite.data import keys, table
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso, iso, new_ulid
from dealsite.data.table.writes import Put, Write, absent

ENTRIES_OF_A_TARGET = 100  # as many as a thing's own page shows
LONGEST_TEXT = 500  # characters of a text that was changed; all of it stands in the thing itself
SITE = "-"  # stands for whoever does things by itself: nobody is called so


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing done: `by` a user name, or `-` for the site itself, to the `subject` (an id) of a `kind`.

    `before` and `after` hold what changed, where that can be said in few words.
    """

    id: str
    at: datetime
    by: str
    kind: str
    subject: str
    what: str
    note: str = ""
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditContext:
    """What a change is done for: `note` stands in its entry, `writes` are part of its transaction."""

    note: str = ""
    writes: tuple[Write, ...] = ()


NO_CONTEXT = AuditContext()  # somebody does it for its own sake


def entry_write(
    *,
    by: str,
    kind: str,
    subject: str,
    what: str,
    now: datetime,
    note: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> Put:
    """Return the write that notes something, for the transaction that does it."""
    entry_id = new_ulid(now)
    item: Item = {
        "type": "AuditEntry",
        "id": entry_id,
        "before": dict(before) if before else None,
        "after": dict(after) if after else None,
        "card": {"at": iso(now), "by": by, "kind": kind, "subject": subject, "what": what}
        | ({"note": note} if note else {}),
        **keys.audit_rows(now, entry_id, by=by, kind=kind, subject=subject),
    }
    return Put(key=keys.audit(now, entry_id), item=item, when=(absent(),))


class FieldDiff(TypedDict):
    """What differs between two states of a thing, by field."""

    before: dict[str, str]
    after: dict[str, str]


def changed(old: Mapping[str, str], new: Mapping[str, str]) -> FieldDiff:
    """Return `before` and `after` of what differs, for `entry_write`; '' is nothing, long texts are cut."""
    names = [name for name in {**old, **new} if old.get(name, "") != new.get(name, "")]
    return {
        "before": {name: _cut(old[name]) for name in names if old.get(name)},
        "after": {name: _cut(new[name]) for name in names if new.get(name)},
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


@access_pattern("what was done to a thing last", "GSI2 AUDIT#OF#kind#id / time#id", "1 query")
def of_target(kind: str, subject: str) -> list[Entry]:
    """Return what was done to a thing last, newest first, without `before` and `after`. 1 query."""
    rows = table.query(
        keys.audit_of.partition(kind, subject), index=keys.GSI2, newest_first=True, limit=ENTRIES_OF_A_TARGET
    )
    return [entry_from_item(row) for row in rows]


def entry_from_item(item: Item) -> Entry:
    """Return the entry of an item, or of its row in an index."""
    card = item["card"]
    return Entry(
        id=str(item["SK"]).rpartition("#")[2],
        at=from_iso(card["at"]),
        by=card["by"],
        kind=card["kind"],
        subject=card["subject"],
        what=card["what"],
        note=card.get("note", ""),
        before=item.get("before", {}),
        after=item.get("after", {}),
    )
