"""The audit log: who did what to which thing, written in the transaction that does it, and never changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from operator import itemgetter
from typing import Any, TypedDict

from dealsite.data import keys, table
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.work import AUDIT_CARD, AUDIT_ENTRY, SITE
from dealsite.data.names import normalise_username
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import BadCursor, Invalid
from dealsite.data.table.ids import from_iso, is_ulid, iso, new_ulid, previous_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import Page, first_page
from dealsite.data.table.parallel import together
from dealsite.data.table.writes import Put, Write, absent

PAGE_SIZE = 50
ENTRIES_OF_A_TARGET = 100  # as many as a thing's own page shows
LONGEST_TEXT = 500  # characters of a text that was changed; all of it stands in the thing itself


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
    card = _store_card(Entry(entry_id, now, by, kind, subject, what, note))
    changed = {"before": dict(before) if before else None, "after": dict(after) if after else None}
    item = AUDIT_ENTRY.item({"id": entry_id, "card": card} | changed)
    return Put(key=keys.audit(now, entry_id), item=item, when=(absent(),))


class FieldDiff(TypedDict):
    """What differs between two states of a thing, by field."""

    before: dict[str, str]
    after: dict[str, str]


def changed(old: Mapping[str, str], new: Mapping[str, str], *, longest: int = LONGEST_TEXT) -> FieldDiff:
    """Return `before` and `after` of what differs, for `entry_write`; '' is nothing, longer texts are cut."""
    names = [name for name in {**old, **new} if old.get(name, "") != new.get(name, "")]
    return {
        "before": {name: _cut(old[name], longest) for name in names if old.get(name)},
        "after": {name: _cut(new[name], longest) for name in names if new.get(name)},
    }


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


@access_pattern("the audit log of a person, a thing or a day", "1 query + 1 batch get")
def page(
    *, by: str = "", kind: str = "", subject: str = "", day: date | None = None, after: str | None = None
) -> Page[Entry]:
    """Return what was done: by somebody, or to a thing (both `kind` and `subject`), or else on a day by all.

    With a day, only what was done on it (UTC). A person or thing that cannot exist did nothing. BadCursor;
    ValueError where neither is given. 1 query, and 1 batch get for a person or thing.
    """
    low, high = between(day, after)
    try:
        if kind and subject:
            partition, index = keys.audit_of.partition(kind, subject), keys.GSI2
        elif by:
            username = by if by == SITE else normalise_username(by)
            partition, index = keys.audit_by.partition(username), keys.GSI1
        elif day:
            partition, index = keys.audit.partition(day), None
        else:
            raise ValueError("Say a person, a thing or a day.")
    except (Invalid, ValueError):
        if not (by or day or (kind and subject)):
            raise
        return Page([])
    rows = table.query(partition, index=index, low=low, high=high, newest_first=True, limit=PAGE_SIZE + 1)
    page = first_page(rows, PAGE_SIZE, itemgetter("SK"))
    if index:  # which holds no more than the list shows
        wanted = [(row["PK"], row["SK"]) for row in page.rows]
        items = table.batch_get(wanted, consistent=False)
        page = page.showing([items.get(key, row) for key, row in zip(wanted, page.rows, strict=True)])
    return page.showing([entry_from_item(row) for row in page.rows])


@access_pattern("what was done last", "2 queries")
def newest(*, now: datetime, most: int) -> list[Entry]:
    """Return what was done last, today or yesterday (UTC), newest first; up to `most`. 2 queries."""
    days = (now.date(), now.date() - timedelta(days=1))
    today, yesterday = together(
        *(partial(table.query, keys.audit.partition(day), newest_first=True, limit=most) for day in days)
    )
    return [entry_from_item(item) for item in (*today, *yesterday)][:most]


def between(day: date | None, after: str | None) -> tuple[str, str]:
    """Return the lowest and highest sort key of a day, or of all time, that is older than a cursor."""
    low, high = (day.isoformat(), keys.prefix(f"{day.isoformat()}T")[1]) if day else ("0", keys.TOP)
    if not after:
        return low, high
    at, _, entry_id = after.partition("#")
    try:
        sound = is_ulid(entry_id) and iso(from_iso(at)) == at
    except ValueError:
        sound = False
    if not sound:
        raise BadCursor()
    return low, min(high, f"{at}#{previous_ulid(entry_id)}")


@access_pattern("what was done to a thing last", "1 query")
def of_target(kind: str, subject: str) -> list[Entry]:
    """Return what was done to a thing last, newest first, without `before` and `after`. 1 query."""
    rows = table.query(
        keys.audit_of.partition(kind, subject), index=keys.GSI2, newest_first=True, limit=ENTRIES_OF_A_TARGET
    )
    return [entry_from_item(row) for row in rows]


def entry_from_item(item: Item) -> Entry:
    """Return the entry of an item, or of its row in an index."""
    before, after = item.get("before", {}), item.get("after", {})
    return _read_card(item["card"], id=str(item["SK"]).rpartition("#")[2], before=before, after=after)


_read_card = reader(AUDIT_CARD, Entry, "id", "before", "after")
_store_card = writer(AUDIT_CARD, Entry)
