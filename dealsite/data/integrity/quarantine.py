"""The quarantine: what checks found wrong and did not repair waits here for an admin's decision.

open -> decided -> open (undone)        open -> gone        decided | gone -> open (found again)
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.integrity.problem import Problem
from dealsite.data.integrity.quarantine_record import (
    Quarantined,
    State,
    entry_of,
    from_item,
    keep_write,
    kept_until,
    seen_again,
)
from dealsite.data.table import schema
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import BadCursor, Conflict, NotFound
from dealsite.data.table.ids import from_iso, iso

PAGE_SIZE = 50
MOST = 10_000  # problems of one check that are kept
DAY = timedelta(days=1)
AT_ONCE = 100  # items of a batch get


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a check's problems: how many are new here, wait for a decision, were found no more."""

    new: int = 0
    open: int = 0
    gone: int = 0


@dataclass(frozen=True, slots=True)
class QuarantinePage:
    """Up to 50 entries without their copies; `after` leads to the next ones, None at the end."""

    entries: list[Quarantined]
    after: str | None


@access_pattern("keep what a check found, with a put for each problem", "2 batch gets + 1 query + 1 put")
def keep(
    problems: Iterable[Problem],
    *,
    is_complete: bool,
    now: datetime,
    seen: Callable[[], object] = lambda: None,
) -> Kept:
    """Keep problems that were found just now; after a complete check, what it did not find again is gone.

    What somebody writes to at the same moment is left to the next check. `seen` is called for each problem.
    """
    found = list(problems)[:MOST]
    new = opened = gone = 0
    ids: set[str] = set()
    for first in range(0, len(found), AT_ONCE):
        some = found[first : first + AT_ONCE]
        items = table.batch_get(problem.key for problem in some)
        entries = {one.id: one for one in (entry_of(p, items.get(p.key), now=now) for p in some)}
        ids |= entries.keys()
        known = table.batch_get(keys.quarantined(one) for one in entries)
        for entry in entries.values():
            seen()
            item = known.get(keys.quarantined(entry.id))
            kept = seen_again(from_item(item), entry) if item else entry
            with suppress(Conflict):
                table.write(keep_write(kept))
                new += kept.version == 0
                opened += kept.state == "open"
    if is_complete and len(found) < MOST:
        rows = table.query_all(keys.open_quarantine.partition(), index=keys.GSI1)
        for entry in [one for one in map(from_item, rows) if one.id not in ids]:
            seen()
            gone += _close(entry, now)
    return Kept(new, opened, gone)


def _close(row: Quarantined, now: datetime) -> bool:
    """Note that a problem was found no more, unless it was, or was decided on, since."""
    item = table.get(keys.quarantined(row.id))
    entry = from_item(item) if item else None
    if entry is None or entry.state != "open" or entry.seen_at != row.seen_at:
        return False
    try:
        table.write(keep_write(replace(entry, state="gone", at=now)))
    except Conflict:
        return False
    return True


@access_pattern("what is in the quarantine", "1 query")
def page(state: State = "open", *, after: str | None = None, now: datetime) -> QuarantinePage:
    """Return one page of a state: what is open with its like, what was decided or is gone newest first; BadCursor."""
    low, high, is_open = "0", keys.TOP, state == "open"
    if after:
        _check_place(after, is_open)
        low, high = (after + "0", high) if is_open else (low, after[:-1])
    partition = keys.open_quarantine.partition() if is_open else keys.closed_quarantine.partition(state)
    limit = PAGE_SIZE + 1
    rows = table.query(partition, index=keys.GSI1, low=low, high=high, newest_first=not is_open, limit=limit)
    entries = [one for one in map(from_item, rows[:PAGE_SIZE]) if (kept_until(one) or now + DAY) > now]
    return QuarantinePage(entries, str(rows[PAGE_SIZE - 1]["GSI1SK"]) if len(rows) > PAGE_SIZE else None)


def _check_place(after: str, is_open: bool) -> None:
    first, _, entry_id = after.partition("#")
    try:
        sound = is_hash(entry_id) and (is_hash(first) if is_open else iso(from_iso(first)) == first)
    except ValueError:
        sound = False
    if not sound:
        raise BadCursor()


def is_hash(text: str) -> bool:
    """Tell whether a text may be the id of an entry."""
    return len(text) == 64 and all(character in "0123456789abcdef" for character in text)


@access_pattern("an entry of the quarantine", "1 get")
def get(entry_id: str, *, now: datetime) -> Quarantined:
    """Return an entry with its copy; NotFound."""
    item = table.get(keys.quarantined(entry_id)) if is_hash(entry_id) else None
    if item is None or schema.has_expired(item, now=now):
        raise NotFound(gettext_lazy("This is not in the quarantine (any more)."))
    return from_item(item)
