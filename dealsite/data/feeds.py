"""Feeds: the latest deals of the site, a brand or a category, read from index partitions in buckets of time.

Deal ids sort as publication times do, so a feed reads ids up to the last one of now and a scheduled
deal appears by itself. A cursor is a deal id: a value that survives the deletion of its deal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.brands import Brand
from dealsite.data.brands import from_items as brand_from_items
from dealsite.data.buckets import listed_days
from dealsite.data.cards import DealCard
from dealsite.data.categories import CATEGORIES, Category, Counts
from dealsite.data.categories import from_items as category_from_items
from dealsite.data.convert import Item
from dealsite.data.errors import BadCursor, NotFound
from dealsite.data.featured import FeaturedPage
from dealsite.data.featured import from_item as featured_from_item
from dealsite.data.featured_cards import EDITORS_CHOICE, FRONT
from dealsite.data.ids import is_ulid, last_ulid_until, next_ulid, previous_ulid, slugify, time_of

PAGE_SIZE = 25
FILTERED_ROWS = 100  # rows read by each query of a feed that is filtered
FILTERED_ROWS_A_PAGE = 500  # rows that such a page reads at most; it then says how far back it looked
FILTERED_QUERIES = 25  # likewise, where buckets are small


@dataclass(frozen=True, slots=True)
class Page:
    """Up to 25 cards, newest first; `after` and `before` are the cursors of the next (older) and previous (newer) page.

    `searched_back_to` is set where a filtered list stopped looking before the page was full.
    """

    cards: list[DealCard]
    after: str | None = None
    before: str | None = None
    searched_back_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Feed:
    """Where a feed lies: its index, the partition of a bucket, the bucket of a moment, and the buckets that hold deals.

    `further` fetches the buckets that were left out at first; it is asked only if a page needs them.
    """

    index: str
    partition: Callable[[str], str]
    bucket: Callable[[datetime], str]
    buckets: frozenset[str]
    further: Callable[[], Iterable[str]] | None = None


def all_deals(days: Iterable[str], further: Callable[[], Iterable[str]] | None = None) -> Feed:
    """The feed of the whole site, by day."""
    return Feed(
        keys.GSI1,
        lambda day: keys.deals_of_day(date.fromisoformat(day)),
        lambda moment: moment.date().isoformat(),
        frozenset(days),
        further,
    )


def deals_of_brand(slug: str, counts: Counts) -> Feed:
    """The feed of a brand, by year."""
    return Feed(
        keys.GSI2,
        lambda year: keys.deals_of_brand(slug, int(year)),
        lambda moment: f"{moment.year:04d}",
        frozenset(counts.buckets),
    )


def deals_of_category(slug: str, counts: Counts) -> Feed:
    """The feed of a category, by month."""
    return Feed(
        keys.GSI3,
        lambda month: keys.deals_of_category(slug, month),
        lambda moment: keys.month_of(moment),
        frozenset(counts.buckets),
    )


# The shoppers' pages


def front_page(
    *, now: datetime, after: str | None = None, before: str | None = None
) -> tuple[list[DealCard], Page]:
    """Return the featured cards (on the first page only) and the latest deals.

    1 batch get + 1 query for each day that the page touches; 1 batch get more where deals older (or,
    going back, newer) than the year beside the cursor's are needed to fill it.
    """
    cursor = Cursor(after, before)
    year = cursor.moment(now).year
    near = (year, year + 1 if cursor.newer else year - 1)
    wanted = [keys.YEARS, *map(keys.days, near)]
    items = table.batch_get(wanted if cursor.given else [keys.FRONT_PAGE, *wanted], consistent=False)
    known = {int(text) for text in items.get(keys.YEARS, {}).get("years", ())}
    far = {other for other in known if (other > near[1] if cursor.newer else other < near[1])}
    feed = all_deals(_days(items, near), (lambda: _days_of_years(far)) if far else None)
    page = read(feed, cursor, now=now)
    return [] if cursor.given else _featured(FRONT, items.get(keys.FRONT_PAGE), now), page


def category_page(
    slug: str, *, now: datetime, after: str | None = None, before: str | None = None
) -> tuple[Category, list[DealCard], Page]:
    """Return a category, its featured cards (on the first page only) and its latest deals. 1 batch get + d queries."""
    if slug not in CATEGORIES:
        raise NotFound(gettext_lazy("There is no such category."))
    cursor = Cursor(after, before)
    items = table.batch_get([keys.category(slug), keys.category_counts(slug)], consistent=False)
    item, counts = items.get(keys.category(slug)), items.get(keys.category_counts(slug))
    page = read(deals_of_category(slug, Counts.from_item(counts)), cursor, now=now)
    featured = [] if cursor.given else _featured(slug, item, now)
    return category_from_items(slug, item, counts), featured, page


def brand_page(
    slug: str, *, now: datetime, after: str | None = None, before: str | None = None
) -> tuple[Brand, Page]:
    """Return a brand and its latest deals, or raise NotFound. 1 batch get + d queries."""
    if not slug or slugify(slug) != slug:
        raise NotFound(gettext_lazy("There is no such brand."))
    cursor = Cursor(after, before)
    items = table.batch_get([keys.brand(slug), keys.brand_counts(slug)], consistent=False)
    brand = brand_from_items(items.get(keys.brand(slug)), items.get(keys.brand_counts(slug)))
    if brand is None:
        raise NotFound(gettext_lazy("There is no such brand."))
    return brand, read(deals_of_brand(slug, brand.counts or Counts()), cursor, now=now)


def editors_choice(*, now: datetime) -> tuple[FeaturedPage, list[DealCard]]:
    """Return the Editors' Choice page and those of its cards that shoppers see. 1 get."""
    item = table.get(keys.EDITORS_CHOICE_PAGE, consistent=False)
    return featured_from_item(EDITORS_CHOICE, item), _featured(EDITORS_CHOICE, item, now)


def all_days() -> list[str]:
    """Return every day that holds deals, scheduled ones too, as ISO dates. 1 query."""
    low, high = keys.prefix("DAYS#")
    return [
        day for item in table.query("FRONTPAGE", low=low, high=high, limit=200) for day in listed_days(item)
    ]


def past_days(*, now: datetime) -> list[date]:
    """Return the days up to now that hold deals, newest first. 1 query."""
    today = now.date().isoformat()
    return sorted((date.fromisoformat(day) for day in all_days() if day <= today), reverse=True)


def deals_of_day(day: date, *, now: datetime) -> Iterator[DealCard]:
    """Yield the deals of a day that are published by now, newest first. 1 query for each 1,000."""
    high, start = keys.feed_position(last_ulid_until(now)), None
    while True:
        rows = table.query_page(
            keys.deals_of_day(day), index=keys.GSI1, high=high, newest_first=True, limit=1000, start=start
        )
        yield from (DealCard.from_item(row["card"]) for row in rows.items)
        start = rows.start
        if start is None:
            return


def _featured(page_id: str, item: Item | None, now: datetime) -> list[DealCard]:
    """Return the featured cards that shoppers see: neither scheduled nor expired."""
    return [
        card
        for card in featured_from_item(page_id, item).cards
        if card.state(now) not in ("scheduled", "expired")
    ]


def _days(items: dict[keys.Key, Item], years: Iterable[int]) -> list[str]:
    return [day for year in years for day in listed_days(items.get(keys.days(year)))]


def _days_of_years(years: Iterable[int]) -> list[str]:
    years = list(years)
    return _days(table.batch_get(map(keys.days, years), consistent=False), years)


# Reading a feed


class Cursor:
    """The `after` or `before` of a page address, checked; BadCursor if it is no deal id, or both are given."""

    def __init__(self, after: str | None = None, before: str | None = None) -> None:
        after, before = after or None, before or None
        if after and before:
            raise BadCursor()
        for cursor in (after, before):
            if cursor and not is_ulid(cursor):
                raise BadCursor()
        self.after, self.before = after, before

    @property
    def given(self) -> bool:
        return bool(self.after or self.before)

    @property
    def newer(self) -> bool:
        """Tell whether the page lies on the newer side of its cursor."""
        return bool(self.before)

    def moment(self, now: datetime) -> datetime:
        """Return where in time the page starts, not after `now`."""
        given = self.after or self.before
        return now if given is None else min(time_of(given), now)


def read(
    feed: Feed,
    cursor: Cursor,
    *,
    now: datetime,
    size: int = PAGE_SIZE,
    until: str | None = None,
    since: str | None = None,
    keep: Callable[[DealCard], bool] | None = None,
) -> Page:
    """Return one page of a feed, newest first. 1 query for each non-empty bucket that it touches.

    `until` and `since` bound the ids (inclusive); without them all that is published by now is shown.
    One row more than a page is read, to know whether there is a next page. With `keep`, only cards
    that it accepts are shown, from at most 500 rows and 25 queries.
    """
    high = until or last_ulid_until(now)
    low = since or "0" * 26
    if cursor.after:
        high = min(high, previous_ulid(cursor.after))
    if cursor.before:
        low = max(low, next_ulid(cursor.before))
    cards: list[DealCard] = []
    stopped = None
    if low <= high:
        cards, stopped = _collect(feed, low, high, cursor.newer, size + 1, keep)
    more = len(cards) > size
    cards = cards[:size]
    if cursor.newer:
        cards.reverse()
    return _page(cards, cursor, more, stopped)


def _collect(
    feed: Feed,
    low: str,
    high: str,
    ascending: bool,
    wanted: int,
    keep: Callable[[DealCard], bool] | None,
) -> tuple[list[DealCard], str | None]:
    """Read buckets until enough cards are there; return them and, if it stopped early, the last id looked at."""
    first, last = feed.bucket(time_of(low)), feed.bucket(time_of(high))
    cards: list[DealCard] = []
    queries = rows_read = 0
    for bucket in _in_turn(feed, first, last, ascending):
        while len(cards) < wanted:
            if keep and (queries >= FILTERED_QUERIES or rows_read >= FILTERED_ROWS_A_PAGE):
                return cards, previous_ulid(low) if ascending else next_ulid(high)
            limit = FILTERED_ROWS if keep else wanted - len(cards)
            rows = table.query(
                feed.partition(bucket),
                index=feed.index,
                low=keys.feed_position(low),
                high=keys.feed_position(high),
                newest_first=not ascending,
                limit=limit,
            )
            queries += 1
            rows_read += len(rows)
            found = [DealCard.from_item(row["card"]) for row in rows]
            cards += [card for card in found if keep is None or keep(card)]
            if found and ascending:
                low = next_ulid(found[-1].id)
            elif found:
                high = previous_ulid(found[-1].id)
            if len(rows) < limit or low > high:
                break
        if len(cards) >= wanted:
            break
    return cards, None


def _in_turn(feed: Feed, first: str, last: str, ascending: bool) -> Iterator[str]:
    """Yield the feed's buckets from first to last, or backwards; further ones are fetched when it comes to them."""
    yield from sorted((b for b in feed.buckets if first <= b <= last), reverse=not ascending)
    if feed.further is not None:
        yield from sorted((b for b in feed.further() if first <= b <= last), reverse=not ascending)


def _page(cards: list[DealCard], cursor: Cursor, more: bool, stopped: str | None) -> Page:
    """Return the page with its cursors. A page beside its cursor always has a way back to it."""
    first, last = (cards[0].id, cards[-1].id) if cards else (None, None)
    searched_back_to = None
    before: str | None
    if cursor.before:
        before = first if more else stopped
        after: str | None = last or next_ulid(cursor.before)
    else:
        before = None
        if cursor.after:
            before = first or previous_ulid(cursor.after)
        after = last if more else stopped
        if stopped and not more:
            searched_back_to = time_of(stopped)
    return Page(cards=cards, after=after, before=before, searched_back_to=searched_back_to)
