"""Lists of deals by state, brand, category and end, each answered by an index; most are the editors'.

`live` leaves the expired ones out of the feed, and a brand and a category at once, which pages ask search for once it
is ready, filter the brand's feed: from at most 500 rows a page, after which the page says how far back it looked.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import deals
from dealsite.data.catalogue.brands import get_with_counts
from dealsite.data.catalogue.buckets import all_days
from dealsite.data.catalogue.cards import ENDING_SOON, DealCard
from dealsite.data.catalogue.categories import CATEGORIES, Counts
from dealsite.data.catalogue.lists import (
    PAGE_SIZE,
    Cursor,
    Page,
    Source,
    all_deals,
    by_expiry,
    deals_of_brand,
    deals_of_category,
    one_partition,
    read,
)
from dealsite.data.names import is_slug
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Invalid, NotFound
from dealsite.data.table.ids import first_ulid_of, iso

STATES = ("all", "draft", "scheduled", "live", "ending", "expired")
NEVER = "9999-12"


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
    Drafts' cards may be half empty. Words, and what deals lack, are search's: they narrow nothing down here.
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
        return read(_drafts(chosen), cursor, size=size)
    if state == "ending":
        first, last = iso(now + timedelta(milliseconds=1)), iso(now + ENDING_SOON)
        return read(ending_between(first, last, chosen, now=now), cursor, size=size)
    source = _published(chosen)
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
        return not is_over and (not chosen.is_narrowed or card.category == chosen.category)

    return read(source, cursor, size=size, keep=keep if state == "live" or chosen.is_narrowed else None)


def _published(chosen: DealFilter) -> Source:
    """Return published and scheduled deals, of the brand where there is one, or of the category. 1 request."""
    if brand := chosen.brand:
        return deals_of_brand(brand, (get_with_counts(brand).counts or Counts()).buckets)
    if category := chosen.category:
        counts = Counts.from_item(table.get(keys.category_counts(category)))
        return deals_of_category(category, counts.buckets)
    return all_deals(all_days())


def _drafts(chosen: DealFilter) -> Source:
    """Return drafts by id: all, of a brand or of a category; of both, the brand's are filtered."""

    def cards(rows: list[Item]) -> list[DealCard]:
        found = [DealCard.from_item(row["card"]) for row in rows]
        return [card for card in found if not chosen.is_narrowed or card.category == chosen.category]

    if chosen.brand:
        index, partition = keys.GSI2, keys.drafts_of_brand.partition(chosen.brand)
    elif chosen.category:
        index, partition = keys.GSI3, keys.drafts_of_category.partition(chosen.category)
    else:
        index, partition = keys.GSI1, keys.drafts.partition()
    return one_partition(index, partition, "DRAFT#", cards)


def ending_between(first: str, last: str, chosen: DealFilter, *, now: datetime) -> Source:
    """Return published deals that end between two ISO times (or beginnings of them), the soonest first.

    Its pages cost 1 query for each month of the range that they touch, 12 at most, and 1 batch get.
    """
    brand, category = chosen.brand, chosen.category
    index, partition = keys.GSI1, keys.expiring.partition
    if brand:
        index, partition = keys.GSI2, partial(keys.expiring_of_brand.partition, brand)
    elif category:
        index, partition = keys.GSI3, partial(keys.expiring_of_category.partition, category)

    def cards(rows: list[Item]) -> list[DealCard]:
        ids = [row[f"{index}SK"].rpartition("#")[2] for row in rows]
        found = deals.get_many(ids) if ids else {}
        shown = [found[deal_id].card for deal_id in ids if deal_id in found]
        return [
            card
            for card in shown
            if card.is_visible(now) and not (chosen.is_narrowed and card.category != category)
        ]

    return by_expiry(index, partition, first, last, cards)
