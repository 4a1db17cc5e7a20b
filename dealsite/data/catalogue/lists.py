"""Lists of deals and drafts: where their rows lie (a source), which of them are shown, and where a page begins.

The rows of a source lie in index partitions, one for each bucket of time, or in a single one. They sort by id, which
is the time of publication, or by time of expiry and id. What shoppers see is read up to the last id of now, so that a
scheduled deal appears by itself.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from itertools import islice
from math import ceil
from typing import Required, TypedDict, Unpack

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import deals
from dealsite.data.catalogue.brands import Brand, from_items as brand_from_items, get_with_counts
from dealsite.data.catalogue.buckets import (
    FIRST_ULID,
    PAGE_SIZE,
    Cursor,
    Page,
    all_days,
    beside,
    cursor_of,
    listed_days,
    moment_of,
)
from dealsite.data.catalogue.cards import EDITORS_CHOICE, ENDING_SOON, FRONT, DealCard
from dealsite.data.catalogue.categories import CATEGORIES, Category, Counts, from_items as category_from_items
from dealsite.data.catalogue.featured import FeaturedPage, from_item as featured_from_item, shown_of
from dealsite.data.catalogue.hot import hot_deals
from dealsite.data.names import is_slug
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Invalid, NotFound
from dealsite.data.table.ids import LAST_ULID, first_ulid_of, iso, last_ulid_until, month_of, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import to_end
from dealsite.data.table.parallel import together

FILTERED_ROWS = 100  # rows read by each query of a list that is filtered
FILTERED_ROWS_A_PAGE = 500  # rows that such a page reads at most; it then says how far back it looked
FILTERED_QUERIES = 25  # likewise, where buckets are small
EMPTY_PAGE = 4  # times as many rows and queries while none is found, so that no page is empty without need
EXPIRY_MONTHS = 12  # months of expiry that one page looks through at most
ROWS_OF_LIVE = PAGE_SIZE + 15  # rows that a query for live deals reads: few of the latest are over
SITEMAP_ROWS = 1000
SLOW = 0.05  # seconds; a table that takes longer for a query is asked for several buckets at once
AHEAD = 27  # buckets that are then read side by side at most: three for each thread
NEVER = "9999-12"
STATES = ("all", "draft", "scheduled", "live", "ending", "expired")  # of the editors' lists
NEW, HOT, ENDING = "new", "hot", "ending"  # the tabs of a list that shoppers see

Filter = Callable[[DealCard], bool]
clock: Callable[[], float] = time.monotonic  # replaced in tests, so that none waits


@dataclass(frozen=True, slots=True)
class DealFilter:
    """What a list of deals or drafts is narrowed down by, as addresses say it; `how` search found the words.

    `lacks` is what they lack: picture, alt, link or stock. A list with it, or with words, is search's.
    """

    state: str = "all"
    brand: str = ""
    category: str = ""
    words: str = ""
    how: str = "exact"
    lacks: str = ""

    @property
    def is_searched(self) -> bool:
        return bool(self.words or self.lacks)

    @property
    def is_narrowed(self) -> bool:
        """Whether no index of the table holds such a list, so that the brand's rows would be looked through."""
        return bool(self.brand and self.category)

    @property
    def index(self) -> str:
        """The index that holds it: the brand's, the category's or the site's."""
        return keys.GSI2 if self.brand else keys.GSI3 if self.category else keys.GSI1

    def fits(self, card: DealCard) -> bool:
        """Tell whether a row of its index belongs to it."""
        return not self.is_narrowed or card.category == self.category


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


def published(
    chosen: DealFilter, known: Iterable[str], further: Callable[[], Iterable[str]] | None = None
) -> Source:
    """Return published and scheduled deals: of the site by day, of a brand by year, of a category by month.

    `known` are the buckets that hold any. `further` fetches those that were left out at first; it is asked only if a
    page needs them.
    """

    def partition(bucket: str) -> str:
        if chosen.brand:
            return keys.deals_of_brand.partition(chosen.brand, int(bucket))
        if chosen.category:
            return keys.deals_of_category.partition(chosen.category, bucket)
        return keys.deals_of_day.partition(date.fromisoformat(bucket))

    def bucket_of(place: str) -> str:
        moment = time_of(place)
        if chosen.brand:
            return f"{moment.year:04d}"
        return month_of(moment) if chosen.category else moment.date().isoformat()

    def buckets(low: str, high: str, ascending: bool) -> Iterator[str]:
        first, last = bucket_of(low), bucket_of(high)
        yield from sorted((one for one in known if first <= one <= last), reverse=not ascending)
        if further is not None:
            yield from sorted((one for one in further() if first <= one <= last), reverse=not ascending)

    start = keys.deals_of_day.position(LAST_ULID).removesuffix(LAST_ULID)
    return Source(chosen.index, partition, buckets, start)


def drafts(chosen: DealFilter) -> Source:
    """Return drafts by id: all, of a brand or of a category; of both, the brand's are filtered."""
    if chosen.brand:
        partition = keys.drafts_of_brand.partition(chosen.brand)
    elif chosen.category:
        partition = keys.drafts_of_category.partition(chosen.category)
    else:
        partition = keys.drafts.partition()

    def cards(rows: list[Item]) -> list[DealCard]:
        return [card for card in map(_card, rows) if chosen.fits(card)]

    return Source(chosen.index, lambda _: partition, lambda *_: [""], "DRAFT#", cards=cards)


def ending_between(first: str, last: str, chosen: DealFilter, *, now: datetime) -> Source:
    """Return published deals that end between two ISO times (or beginnings of them), the soonest first.

    Its pages cost 1 query for each month of the range that they touch, 12 at most, and 1 batch get.
    """
    index, partition = chosen.index, keys.expiring.partition
    if chosen.brand:
        partition = partial(keys.expiring_of_brand.partition, chosen.brand)
    elif chosen.category:
        partition = partial(keys.expiring_of_category.partition, chosen.category)

    def cards(rows: list[Item]) -> list[DealCard]:
        ids = [row[f"{index}SK"].rpartition("#")[2] for row in rows]
        found = deals.get_many(ids) if ids else {}
        shown = [found[deal_id].card for deal_id in ids if deal_id in found]
        return [card for card in shown if card.is_visible(now) and chosen.fits(card)]

    high = f"{last}#{keys.TOP}"
    return Source(index, partition, _months, "", first, high, cards, by_expiry=True, soonest_first=True)


def ending_soon(chosen: DealFilter, *, now: datetime) -> Source:
    """Return what ends within 48 hours, the soonest first. Costs what `ending_between` does."""
    first, last = iso(now + timedelta(milliseconds=1)), iso(now + ENDING_SOON)
    return ending_between(first, last, chosen, now=now)


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
    start = beside(cursor.place, ascending) if cursor.place else None
    if start and ascending:
        low = max(low, start)
    elif start:
        high = min(high, start)
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
        return Page(cards, cursor_of(last or start), cursor_of(first if more else stopped))
    back = first or start if cursor.place else None  # a page beside its cursor always has a way back to it
    looked_to = moment_of(stopped) if stopped and not more else None
    return Page(cards, cursor_of(last if more else stopped), cursor_of(back), looked_to)


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
            return found, beside(low, False) if ascending else beside(high, True)
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
            low = beside(source.place(rows[-1]), True)
        elif rows:
            high = beside(source.place(rows[-1]), False)
        if len(rows) < limit or low > high:
            done = waiting.popleft()
    return found, None


# What editors see


@access_pattern("editors' list of deals", "5 queries")
def cms_list(
    chosen: DealFilter,
    *,
    now: datetime,
    after: str | None = None,
    before: str | None = None,
    size: int = PAGE_SIZE,
) -> Page:
    """Return one page of deals in a state; Invalid for an unknown state, NotFound for an unknown brand or category.

    all, scheduled, live: 1 request for the buckets + a query for each that the list touches. draft: 1 query.
    ending, expired: 1 query a month touched + 1 batch get, and for expired 1 request for where they begin.
    `live` leaves out what has expired, and a brand and a category at once look through the brand's: both from at most
    500 rows. Drafts' cards may be half empty. Words, and what deals lack, are search's: they narrow nothing down here.
    """
    state = chosen.state
    if state not in STATES:
        raise Invalid(state=gettext_lazy("There is no such state."))
    if chosen.category and chosen.category not in CATEGORIES:
        raise NotFound(gettext_lazy("There is no such category."))
    if chosen.brand and not is_slug(chosen.brand):
        raise NotFound(gettext_lazy("There is no such brand."))
    cursor = Cursor(after, before, by_expiry=state in ("ending", "expired"))
    if state == "draft":
        return read(drafts(chosen), cursor, size=size)
    if state == "ending":
        return read(ending_soon(chosen, now=now), cursor, size=size)
    source = published(chosen, _buckets(chosen))
    if state == "expired":  # none expires before the first bucket with deals
        first = next(iter(source.buckets(source.low, source.high, True)), NEVER)
        expired = ending_between(first, iso(now), chosen, now=now)
        return read(replace(expired, soonest_first=False), cursor, size=size)
    if state == "live":
        source = source.published(now)
    elif state == "scheduled":
        source = replace(source, low=first_ulid_of(now + timedelta(milliseconds=1)))

    def keep(card: DealCard) -> bool:
        is_over = state == "live" and card.expires_at is not None and card.expires_at <= now
        return not is_over and chosen.fits(card)

    return read(source, cursor, size=size, keep=keep if state == "live" or chosen.is_narrowed else None)


def _buckets(chosen: DealFilter) -> Iterable[str]:
    """Return the buckets that hold published or scheduled deals. 1 request."""
    if chosen.brand:
        return (get_with_counts(chosen.brand).counts or Counts()).buckets
    if chosen.category:
        return Counts.from_item(table.get(keys.category_counts(chosen.category))).buckets
    return all_days()


# What shoppers see


class ListQuery(TypedDict, total=False):
    """What is asked of a list: the time, its tab, whether only what can be had, and where its page begins."""

    now: Required[datetime]
    tab: str
    live_only: bool
    after: str | None
    before: str | None


@access_pattern("front page: its lists", "1 batch get + 2 queries")
def front_page(**query: Unpack[ListQuery]) -> tuple[list[DealCard], Page]:
    """Return the featured cards (on the first page only) and the deals of a tab; of the latest, perhaps the live only.

    1 batch get + 1 query for each day that the page touches; 1 batch get more where deals older (or,
    going back, newer) than the year beside the cursor's are needed to fill it. Of those that end soon: 1 batch get +
    1 query for each month that they end in + 1 batch get; of the hot: 2 batch gets.
    """
    cursor, now, front = _cursor_in(query), query["now"], keys.front_page()
    is_latest = query.get("tab", NEW) == NEW
    year = cursor.moment(now).year
    near = (year, year - 1 if cursor.onward else year + 1)
    wanted = [keys.years(), *map(keys.days, near)] if is_latest else []
    wanted += [] if cursor.place else [front]
    items = table.batch_get(wanted, consistent=False) if wanted else {}
    known = {int(text) for text in items.get(keys.years(), {}).get("years", ())}
    far = {other for other in known if (other < near[1] if cursor.onward else other > near[1])}
    source = published(DealFilter(), _days(items, near), (lambda: _days_of_years(far)) if far else None)
    page = _page(DealFilter(), source, cursor, query)
    return [] if cursor.place else _featured(FRONT, items.get(front), now), page


@access_pattern("category page", "1 batch get + 1 query")
def category_page(slug: str, **query: Unpack[ListQuery]) -> tuple[Category, list[DealCard], Page]:
    """Return a category, its featured cards (on the first page only) and the deals of a tab, as `front_page` does."""
    if slug not in CATEGORIES:
        raise NotFound(gettext_lazy("There is no such category."))
    cursor, chosen = _cursor_in(query), DealFilter(category=slug)
    items = table.batch_get([keys.category(slug), keys.category_counts(slug)], consistent=False)
    item, counts = items.get(keys.category(slug)), items.get(keys.category_counts(slug))
    page = _page(chosen, published(chosen, Counts.from_item(counts).buckets), cursor, query)
    featured = [] if cursor.place else _featured(slug, item, query["now"])
    return category_from_items(slug, item, counts), featured, page


@access_pattern("brand page", "1 batch get + 1 query")
def brand_page(slug: str, **query: Unpack[ListQuery]) -> tuple[Brand, Page]:
    """Return a brand and the deals of a tab, as `front_page` does; NotFound also if it was merged into another."""
    if not is_slug(slug):
        raise NotFound(gettext_lazy("There is no such brand."))
    cursor, chosen = _cursor_in(query), DealFilter(brand=slug)
    items = table.batch_get([keys.brand(slug), keys.brand_counts(slug)], consistent=False)
    brand = brand_from_items(items.get(keys.brand(slug)), items.get(keys.brand_counts(slug)))
    if brand is None or brand.merged_into:
        raise NotFound(gettext_lazy("There is no such brand."))
    source = published(chosen, (brand.counts or Counts()).buckets)
    return brand, _page(chosen, source, cursor, query)


@access_pattern("Editors' Choice page", "1 get")
def editors_choice(*, now: datetime) -> tuple[FeaturedPage, list[DealCard]]:
    """Return the Editors' Choice page and those of its cards that shoppers see."""
    item = table.get(keys.editors_choice_page(), consistent=False)
    return featured_from_item(EDITORS_CHOICE, item), _featured(EDITORS_CHOICE, item, now)


@access_pattern("the days with deals", "1 query")
def past_days(*, now: datetime) -> list[date]:
    """Return the days up to now that hold deals, newest first."""
    today = now.date().isoformat()
    return sorted((date.fromisoformat(day) for day in all_days() if day <= today), reverse=True)


@access_pattern("the deals of a day", "1 query")
def deals_of_day(day: date, *, now: datetime) -> Iterator[DealCard]:
    """Yield the deals of a day that are published by now, newest first. 1 query for each 1,000."""
    source = published(DealFilter(), [day.isoformat()]).published(now)
    for page in to_end(lambda after: read(source, Cursor(after), size=SITEMAP_ROWS)):
        yield from page.cards


def _cursor_in(query: ListQuery) -> Cursor:
    return Cursor(query.get("after"), query.get("before"), by_expiry=query.get("tab") == ENDING)


def _page(chosen: DealFilter, latest: Source, cursor: Cursor, query: ListQuery) -> Page:
    """Return a page of a tab: what is hot, ends soon or is the latest, of which perhaps the live only."""
    now, live_only = query["now"], query.get("live_only", False)
    tab = query.get("tab", NEW)
    if tab == HOT:
        where = {"brand": chosen.brand, "category": chosen.category}
        after, before = query.get("after"), query.get("before")
        return hot_deals(now=now, after=after, before=before, with_over=not live_only, **where)
    if tab == ENDING:
        page = read(ending_soon(chosen, now=now), cursor)  # its rows do not say what is sold out
        return replace(page, cards=[card for card in page.cards if card.is_live(now) or not live_only])
    keep = partial(DealCard.is_live, now=now) if live_only else None
    return read(latest.published(now), cursor, keep=keep, portion=ROWS_OF_LIVE)


def _featured(page_id: str, item: Item | None, now: datetime) -> list[DealCard]:
    return shown_of(featured_from_item(page_id, item).cards, now)


def _days(items: dict[keys.Key, Item], years: Iterable[int]) -> list[str]:
    return [day for year in years for day in listed_days(items.get(keys.days(year)))]


def _days_of_years(years: Iterable[int]) -> list[str]:
    years = list(years)
    return _days(table.batch_get(map(keys.days, years), consistent=False), years)
