"""Feeds: the deals of the site, a brand or a category, as shoppers see them: the latest, the hot, those that end soon.

Deal ids sort as publication times do, so a feed reads ids up to the last one of now and a scheduled
deal appears by itself.
"""

from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from functools import partial

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.brands import from_items as brand_from_items
from dealsite.data.catalogue.buckets import all_days, listed_days
from dealsite.data.catalogue.cards import EDITORS_CHOICE, ENDING_SOON, FRONT, DealCard
from dealsite.data.catalogue.categories import CATEGORIES, Category, Counts
from dealsite.data.catalogue.categories import from_items as category_from_items
from dealsite.data.catalogue.deal_lists import DealFilter, ending_between
from dealsite.data.catalogue.featured import FeaturedPage
from dealsite.data.catalogue.featured import from_item as featured_from_item
from dealsite.data.catalogue.hot import hot_deals
from dealsite.data.catalogue.lists import (
    PAGE_SIZE,
    Cursor,
    Page,
    Source,
    all_deals,
    deals_of_brand,
    deals_of_category,
    read,
)
from dealsite.data.names import is_slug
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import iso
from dealsite.data.table.paging import to_end

NEW, HOT, ENDING = "new", "hot", "ending"  # the tabs of a list
ROWS_OF_LIVE = PAGE_SIZE + 15  # rows that a query for live deals reads: few of the latest are over
SITEMAP_ROWS = 1000


@access_pattern("front page: its lists", "1 batch get + 2 queries")
def front_page(
    *,
    now: datetime,
    tab: str = NEW,
    live_only: bool = False,
    after: str | None = None,
    before: str | None = None,
) -> tuple[list[DealCard], Page]:
    """Return the featured cards (on the first page only) and the deals of a tab; of the latest, perhaps the live only.

    1 batch get + 1 query for each day that the page touches; 1 batch get more where deals older (or,
    going back, newer) than the year beside the cursor's are needed to fill it. Of those that end soon: 1 batch get +
    1 query for each month that they end in + 1 batch get; of the hot: 2 batch gets.
    """
    cursor = Cursor(after, before, by_expiry=tab == ENDING)
    if tab != NEW:
        items = {} if cursor.place else table.batch_get([keys.front_page()], consistent=False)
        page = _of_tab(tab, DealFilter(), now, live_only, after, before)
        return _featured(FRONT, items.get(keys.front_page()), now), page
    year = cursor.moment(now).year
    near = (year, year - 1 if cursor.onward else year + 1)
    wanted = [keys.years(), *map(keys.days, near)]
    items = table.batch_get(wanted if cursor.place else [keys.front_page(), *wanted], consistent=False)
    known = {int(text) for text in items.get(keys.years(), {}).get("years", ())}
    far = {other for other in known if (other < near[1] if cursor.onward else other > near[1])}
    source = all_deals(_days(items, near), (lambda: _days_of_years(far)) if far else None)
    page = _latest(source, cursor, now, live_only)
    return [] if cursor.place else _featured(FRONT, items.get(keys.front_page()), now), page


@access_pattern("category page", "1 batch get + 1 query")
def category_page(
    slug: str,
    *,
    now: datetime,
    tab: str = NEW,
    live_only: bool = False,
    after: str | None = None,
    before: str | None = None,
) -> tuple[Category, list[DealCard], Page]:
    """Return a category, its featured cards (on the first page only) and the deals of a tab, as `front_page` does."""
    if slug not in CATEGORIES:
        raise NotFound(gettext_lazy("There is no such category."))
    cursor = Cursor(after, before, by_expiry=tab == ENDING)
    items = table.batch_get([keys.category(slug), keys.category_counts(slug)], consistent=False)
    item, counts = items.get(keys.category(slug)), items.get(keys.category_counts(slug))
    if tab != NEW:
        page = _of_tab(tab, DealFilter(category=slug), now, live_only, after, before)
    else:
        page = _latest(deals_of_category(slug, Counts.from_item(counts).buckets), cursor, now, live_only)
    featured = [] if cursor.place else _featured(slug, item, now)
    return category_from_items(slug, item, counts), featured, page


@access_pattern("brand page", "1 batch get + 1 query")
def brand_page(
    slug: str,
    *,
    now: datetime,
    tab: str = NEW,
    live_only: bool = False,
    after: str | None = None,
    before: str | None = None,
) -> tuple[Brand, Page]:
    """Return a brand and the deals of a tab, as `front_page` does; NotFound also if it was merged into another."""
    if not is_slug(slug):
        raise NotFound(gettext_lazy("There is no such brand."))
    cursor = Cursor(after, before, by_expiry=tab == ENDING)
    items = table.batch_get([keys.brand(slug), keys.brand_counts(slug)], consistent=False)
    brand = brand_from_items(items.get(keys.brand(slug)), items.get(keys.brand_counts(slug)))
    if brand is None or brand.merged_into:
        raise NotFound(gettext_lazy("There is no such brand."))
    if tab != NEW:
        return brand, _of_tab(tab, DealFilter(brand=slug), now, live_only, after, before)
    return brand, _latest(deals_of_brand(slug, (brand.counts or Counts()).buckets), cursor, now, live_only)


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
    source = all_deals([day.isoformat()]).published(now)
    for page in to_end(lambda after: read(source, Cursor(after), size=SITEMAP_ROWS)):
        yield from page.cards


def _latest(source: Source, cursor: Cursor, now: datetime, live_only: bool) -> Page:
    """Return a page of published deals; what has expired or is sold out is left out of `live_only`."""
    keep = partial(DealCard.is_live, now=now) if live_only else None
    return read(source.published(now), cursor, keep=keep, portion=ROWS_OF_LIVE)


def _of_tab(
    tab: str, chosen: DealFilter, now: datetime, live_only: bool, after: str | None, before: str | None
) -> Page:
    """Return a page of what is hot, or of what ends within 48 hours, the soonest first."""
    if tab == HOT:
        where = {"brand": chosen.brand, "category": chosen.category}
        return hot_deals(now=now, after=after, before=before, with_over=not live_only, **where)
    cursor = Cursor(after, before, by_expiry=True)
    first, last = iso(now + timedelta(milliseconds=1)), iso(now + ENDING_SOON)
    return read(ending_between(first, last, chosen, now=now), cursor)


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
