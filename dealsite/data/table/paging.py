"""Pages of a partition whose sort keys end in a ULID, the newest first, with a cursor to either side.

And a list that is spread over several partitions, read all at once and merged in the order of its sort keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import Generic, Protocol, TypeVar

from . import items, parallel
from .configuration import configuration
from .convert import Item
from .errors import BadCursor
from .ids import LAST_ULID, is_ulid, next_ulid, previous_ulid

ULID_CHARACTERS = 26


class AnyPage(Protocol):
    """A page of a list; `after` is the cursor of the next one, None or '' at the end."""

    @property
    def after(self) -> str | None: ...


SomePage = TypeVar("SomePage", bound=AnyPage)
Row = TypeVar("Row")
Shown = TypeVar("Shown")


def to_end(read: Callable[..., SomePage]) -> Iterator[SomePage]:
    """Yield all pages of a list, the first to the last; `read` takes the cursor `after`."""
    after: str | None = None
    while True:
        page = read(after=after)
        yield page
        if not (after := page.after):
            return


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows of a list; `after` leads to the next ones, `before` to those before, None where there are none."""

    rows: list[Row]
    after: str | None = None
    before: str | None = None

    def showing(self, rows: list[Shown]) -> Page[Shown]:
        """Return this page with other rows in place of its own."""
        return Page(rows, self.after, self.before)


def first_page(rows: list[Row], size: int, position: Callable[[Row], str]) -> Page[Row]:
    """Return a page of `size` of some rows, of which one more was read if there are more."""
    return Page(rows[:size], position(rows[size - 1]) if len(rows) > size else None)


def newest_first(
    partition: str,
    start: str,
    *,
    after: str | None,
    before: str | None,
    size: int,
    index: str | None = None,
    consistent: bool = False,
) -> Page[Item]:
    """Return up to `size` rows whose sort keys are `start` and a ULID, older than `after` or newer than `before`.

    Neither, or '' for it, asks for the newest. BadCursor for both, and for what is no ULID. 1 query.
    """
    after, before = after or None, before or None
    if (after and before) or any(cursor and not is_ulid(cursor) for cursor in (after, before)):
        raise BadCursor()
    found = items.query(
        partition,
        index=index,
        low=f"{start}{next_ulid(before) if before else '0' * ULID_CHARACTERS}",
        high=f"{start}{previous_ulid(after) if after else LAST_ULID}",
        newest_first=not before,
        limit=size + 1,
        consistent=consistent,
    )
    rows, more = found[:size], len(found) > size
    if before:
        rows.reverse()
        return Page(
            rows, _id(rows[-1]) if rows else next_ulid(before), _id(rows[0]) if rows and more else None
        )
    newer = (_id(rows[0]) if rows else previous_ulid(after)) if after else None
    return Page(rows, _id(rows[-1]) if rows and more else None, newer)


def ids_of(page: Page[Item]) -> list[str]:
    """Return the ULIDs of a page's rows."""
    return [_id(row) for row in page.rows]


def _id(row: Item) -> str:
    return str(row["SK"])[-ULID_CHARACTERS:]


def merged(
    partitions: Sequence[str],
    *,
    index: str,
    low: str | None = None,
    high: str | None = None,
    newest_first: bool = False,
    limit: int = 100,
) -> list[Item]:
    """Return the first `limit` rows of all partitions together. 1 query for each partition, all in parallel."""

    def read(partition: str) -> list[Item]:
        return items.query(partition, index=index, low=low, high=high, newest_first=newest_first, limit=limit)

    rows = list(chain(*parallel.together(*(partial(read, partition) for partition in partitions))))
    rows.sort(key=itemgetter(configuration().indexes[index].sort_key), reverse=newest_first)
    return list(islice(rows, limit))
