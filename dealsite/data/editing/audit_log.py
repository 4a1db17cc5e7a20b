"""Looking into the audit log: by day, by person, by thing, newest first. Nothing here changes it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from dealsite.data import keys, table
from dealsite.data.editing.audit import SITE, Entry, entry_from_item
from dealsite.data.names import normalise_username
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import BadCursor, Invalid
from dealsite.data.table.ids import from_iso, is_ulid, iso, previous_ulid

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Log:
    """One page of the log; `after` leads to the next, older one, None at the end."""

    entries: list[Entry]
    after: str | None


@access_pattern(
    "the audit log of a person, a thing or a day",
    "GSI1 AUDIT#BY#u, GSI2 AUDIT#OF#kind#id, or AUDIT#day / time#id",
    "1 query + 1 batch get",
)
def page(
    *, by: str = "", kind: str = "", subject: str = "", day: date | None = None, after: str | None = None
) -> Log:
    """Return what was done: by somebody, or to a thing (both `kind` and `subject`), or else on a day by all.

    With a day, only what was done on it (UTC). A person or thing that cannot exist did nothing. BadCursor;
    ValueError where neither is given. 1 query, and 1 batch get for a person or thing.
    """
    low, high = _between(day, after)
    try:
        if kind and subject:
            partition, index = keys.audit_of.partition(kind, subject), keys.GSI2
        elif by:
            partition, index = (
                keys.audit_by.partition(by if by == SITE else normalise_username(by)),
                keys.GSI1,
            )
        elif day:
            partition, index = keys.audit.partition(day), None
        else:
            raise ValueError("Say a person, a thing or a day.")
    except (Invalid, ValueError):
        if not (by or day or (kind and subject)):
            raise
        return Log([], None)
    rows = table.query(partition, index=index, low=low, high=high, newest_first=True, limit=PAGE_SIZE + 1)
    shown = rows[:PAGE_SIZE]
    if index:  # which holds no more than the list shows
        wanted = [(row["PK"], row["SK"]) for row in shown]
        items = table.batch_get(wanted, consistent=False)
        shown = [items.get(key, row) for key, row in zip(wanted, shown, strict=True)]
    more = len(rows) > PAGE_SIZE
    return Log([entry_from_item(row) for row in shown], str(shown[-1]["SK"]) if more else None)


def _between(day: date | None, after: str | None) -> tuple[str, str]:
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
