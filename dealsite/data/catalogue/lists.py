"""Lists of deals: where their rows lie (a source), which of them are shown (a filter), where a page begins (a cursor).

The rows of a source lie in index partitions, one for each bucket of time, or in a single one. They sort by id, which
is the time of publication, or by time of expiry and id. A cursor is a place: it survives the deletion of its deal.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from itertools import islice
from math import ceil

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import BadCursor
from dealsite.data.table.ids import (
    LAST_ULID,
    from_iso,
    is_ulid,
    last_ulid_until,
    month_of,
    next_ulid,
    previous_ulid,
    time_of,
)
from dealsite.data.table.parallel import together

PAGE_SIZE = 25
FILTERED_ROWS = 100  # rows read by each query of a list that is filtered
FILTERED_ROWS_A_PAGE = 500  # rows that such a page reads at most; it then says how far back it looked
FILTERED_QUERIES = 25  # likewise, where buckets are small
EMPTY_PAGE = 4  # times as many rows and queries while none is found, so that no page is empty without need
EXPIRY_MONTHS = 12  # months of expiry that one page looks through at most
SLOW = 0.05  # seconds; a table that takes longer for a query is asked for several buckets at once
AHEAD = 27  # buckets that are then read side by side at most: three for each thread
EXPIRY_CURSOR = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)~([0-9A-Z]{26})")
FIRST_ULID = "0" * 26

Filter = Callable[[DealCard], bool]
clock: Callable[[], float] = time.monotonic  # replaced in tests, so that none waits


@dataclass(frozen=True, slots=True)
class Page:
    """Up to 25 cards in the list's order; `after` and `before` are the cursors of the next and previous page.

    `searched_back_to` is set where a list stopped looking before the page was full.
    """

    cards: list[DealCard]
    after: str | None = None
    before: str | None = None
    searched_back_to: datetime | None = None


class Cursor:
    """The `after` or `before` of a page address, checked; BadCursor if it names no place, or both are given.

    `place` is what stands for it in sort keys, '' for the first page.
    """

    def __init__(
        self, after: str | None = None, before: str | None = None, *, by_expiry: bool = False
    ) -> None:
        if after and before:
            raise BadCursor()
        self.onward = not before
        given = after or before or ""
        self.place = _expiry_place(given) if given and by_expiry else given
        if given and not is_ulid(self.place[-len(FIRST_ULID) :] if by_expiry else given):
            raise BadCursor()

    def moment(self, now: datetime) -> datetime:
        """Return where in time the page starts, not after `now`."""
        return min(_moment(self.place), now) if self.place else now


def _expiry_place(cursor: str) -> str:
    match = EXPIRY_CURSOR.fullmatch(cursor)
    try:
        if match and from_iso(match[1]):
            return f"{match[1]}#{match[2]}"
    except ValueError:
        pass
    raise BadCursor()


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows of a list lie: an index, the partition of each bucket, and the sort keys `low` to `high`.

    `start` is what sort keys begin with before the place. `buckets` yields those between two places, upwards or
    downwards. `cards` makes cards of rows, and may leave some out.
    """

    index: str
    partition: Callable[[str], str]
    buckets: Callable[[str, str, bool], Iterable[str]]
    start: str
    low: str = FIRST_ULID
    high: str = LAST_ULID
    cards: Callable[[list[Item]], list[DealCard]] = lambda rows: [_card(row) for row in rows]
    by_expiry: bool = False
    soonest_first: bool = False

    def published(self, now: datetime) -> Source:
        """Return what of it shoppers may see by now."""
        return replace(self, high=last_ulid_until(now))

    def place(self, row: Item) -> str:
        return str(row[f"{self.index}SK"]).removeprefix(self.start)


def _card(row: Item) -> DealCard:
    return DealCard.from_item(row["card"])


# Sources


def all_deals(days: Iterable[str], further: Callable[[], Iterable[str]] | None = None) -> Source:
    """Return published and scheduled deals of the whole site, by day.

    `further` fetches the days that were left out at first; it is asked only if a page needs them.
    """
    return _by_id(
        keys.GSI1,
        lambda day: keys.deals_of_day.partition(date.fromisoformat(day)),
        lambda moment: moment.date().isoformat(),
        days,
        further,
    )


def deals_of_brand(slug: str, years: Iterable[str]) -> Source:
    """Return published and scheduled deals of a brand, by year."""
    return _by_id(
        keys.GSI2,
        lambda year: keys.deals_of_brand.partition(slug, int(year)),
        lambda moment: f"{moment.year:04d}",
        years,
    )


def deals_of_category(slug: str, months: Iterable[str]) -> Source:
    """Return published and scheduled deals of a category, by month."""
    return _by_id(keys.GSI3, lambda month: keys.deals_of_category.partition(slug, month), month_of, months)


def _by_id(
    index: str,
    partition: Callable[[str], str],
    bucket_of: Callable[[datetime], str],
    known: Iterable[str],
    further: Callable[[], Iterable[str]] | None = None,
) -> Source:
    def buckets(low: str, high: str, ascending: bool) -> Iterator[str]:
        first, last = bucket_of(time_of(low)), bucket_of(time_of(high))
        yield from sorted((one for one in known if first <= one <= last), reverse=not ascending)
        if further is not None:
            yield from sorted((one for one in further() if first <= one <= last), reverse=not ascending)

    return Source(index, partition, buckets, keys.deals_of_day.position(LAST_ULID).removesuffix(LAST_ULID))


def one_partition(
    index: str, partition: str, start: str, cards: Callable[[list[Item]], list[DealCard]]
) -> Source:
    """Return what lies in a single partition, by id."""
    return Source(index, lambda _: partition, lambda *_: [""], start, cards=cards)


def by_expiry(
    index: str,
    partition: Callable[[str], str],
    low: str,
    high: str,
    cards: Callable[[list[Item]], list[DealCard]],
) -> Source:
    """Return what expires between two ISO times (or beginnings of them), both included, by month, the soonest first."""
    high = f"{high}#{keys.TOP}"
    return Source(index, partition, _months, "", low, high, cards, by_expiry=True, soonest_first=True)


def _months(low: str, high: str, ascending: bool) -> Iterator[str]:
    first, last = (int(text[:4]) * 12 + int(text[5:7] or 1) - 1 for text in (low, high))
    for month in range(first, last + 1) if ascending else range(last, first - 1, -1):
        yield f"{month // 12:04d}-{month % 12 + 1:02d}"


# Reading


def read(
    source: Source,
    cursor: Cursor | None = None,
    *,
    size: int = PAGE_SIZE,
    keep: Filter | None = None,
    portion: int | None = None,
) -> Page:
    """Return one page of a list. 1 query for each bucket that it touches, and what the source's cards cost.

    One row more than a page is read, to know whether there is a next page. With `keep`, only cards
    that it accepts are shown, from at most 500 rows and 25 queries of `portion` rows, four times as many while there is
    none. Of expiry 12 months are looked through.
    """
    cursor = cursor or Cursor()
    ascending = source.soonest_first == cursor.onward
    low, high = source.low, source.high
    beside = _beside(cursor.place, ascending) if cursor.place else None
    if beside and ascending:
        low = max(low, beside)
    elif beside:
        high = min(high, beside)
    rows, stopped = (
        _collect(source, low, high, ascending, size + 1, keep, portion or FILTERED_ROWS)
        if low <= high
        else ([], None)
    )
    more, rows = len(rows) > size, rows[:size]
    if not cursor.onward:
        rows.reverse()
    first, last = (source.place(rows[0]), source.place(rows[-1])) if rows else (None, None)
    cards = source.cards(rows)
    if not cursor.onward:
        return Page(cards, _cursor(last or beside), _cursor(first if more else stopped))
    back = first or beside if cursor.place else None  # a page beside its cursor always has a way back to it
    looked_to = _moment(stopped) if stopped and not more else None
    return Page(cards, _cursor(last if more else stopped), _cursor(back), looked_to)


def _collect(
    source: Source, low: str, high: str, ascending: bool, wanted: int, keep: Filter | None, portion: int
) -> tuple[list[Item], str | None]:
    """Read buckets until enough rows are there; return them and, if it stopped early, up to where it looked.

    One after the other, so that none is read in vain; at a slow table, as many at once as are probably needed.
    """

    def rows_of(bucket: str, low: str, high: str, limit: int) -> list[Item]:
        return table.query(
            source.partition(bucket),
            index=source.index,
            low=source.start + low,
            high=source.start + high,
            newest_first=not ascending,
            limit=limit,
        )

    found: list[Item] = []
    queries = rows_read = 0
    done, is_slow = "", False
    buckets, waiting = iter(source.buckets(low, high, ascending)), deque[str]()
    read: dict[str, tuple[list[Item], int]] = {}  # some that wait: their rows, and how many were asked for
    while len(found) < wanted:
        patience = 1 if found else EMPTY_PAGE
        most_queries = EXPIRY_MONTHS if source.by_expiry else FILTERED_QUERIES * patience if keep else None
        most_rows = FILTERED_ROWS_A_PAGE * patience
        if not waiting:
            lacking = ceil((wanted - len(found)) * queries / len(found)) if found else AHEAD
            most = most_queries - queries if most_queries else AHEAD
            waiting.extend(islice(buckets, max(min(lacking, most, AHEAD), 1) if is_slow else 1))
            if not waiting:
                break
        bucket = waiting[0]
        if (most_queries and queries >= most_queries) or (keep and rows_read >= most_rows):
            if source.by_expiry:
                return found, f"{bucket if ascending else done}-01T00:00:00.000Z#{FIRST_ULID}"
            return found, _beside(low, False) if ascending else _beside(high, True)
        if bucket not in read:
            wave = [one for one in waiting if one not in read]
            limit = portion if keep else wanted - len(found)
            if keep and is_slow and len(wave) == 1:
                limit = most_rows - rows_read
            started = clock()
            answers = together(*(partial(rows_of, one, low, high, limit) for one in wave))
            is_slow = clock() - started > SLOW
            read |= {one: (rows, limit) for one, rows in zip(wave, answers, strict=True)}
        rows, limit = read.pop(bucket)
        queries += 1
        rows_read += len(rows)
        found += [row for row in rows if keep is None or keep(_card(row))]
        if rows and ascending:
            low = _beside(source.place(rows[-1]), True)
        elif rows:
            high = _beside(source.place(rows[-1]), False)
        if len(rows) < limit or low > high:
            done = waiting.popleft()
    return found, None


def _beside(place: str, higher: bool) -> str:
    """Return the place right after one, or right before it."""
    deal_id = place[-len(FIRST_ULID) :]
    return place[: -len(FIRST_ULID)] + (next_ulid(deal_id) if higher else previous_ulid(deal_id))


def _moment(place: str) -> datetime:
    time, _, _deal_id = place.rpartition("#")
    return from_iso(time) if time else time_of(place)


def _cursor(place: str | None) -> str | None:
    return place and place.replace("#", "~")
