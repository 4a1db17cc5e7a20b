"""The editors' lists of deals: by state, brand and category, each answered by an index.

`live` leaves the expired ones out of the feed, and a brand and a category at once, which pages ask search for once it
is ready, filter the brand's feed: from at most 500 rows a page, after which the page says how far back it looked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from django.utils.translation import gettext_lazy

from dealsite.data import deals, keys, table
from dealsite.data.brands import from_items as brand_from_items
from dealsite.data.cards import ENDING_SOON, DealCard
from dealsite.data.categories import CATEGORIES, Counts
from dealsite.data.errors import BadCursor, Invalid, NotFound
from dealsite.data.feeds import (
    PAGE_SIZE,
    Cursor,
    Feed,
    Page,
    all_days,
    all_deals,
    deals_of_brand,
    deals_of_category,
    read,
)
from dealsite.data.ids import (
    LAST_ULID,
    first_ulid_of,
    from_iso,
    is_ulid,
    iso,
    next_ulid,
    previous_ulid,
    slugify,
)

STATES = ("all", "draft", "scheduled", "live", "ending", "expired")
EXPIRED_MONTHS = 12  # months of expiry that one page looks through at most
EXPIRY_CURSOR = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)~([0-9A-Z]{26})")


def cms_list(
    *,
    state: str,
    now: datetime,
    brand: str = "",
    category: str = "",
    after: str | None = None,
    before: str | None = None,
    size: int = PAGE_SIZE,
) -> Page:
    """Return one page of deals in a state; Invalid for an unknown state, NotFound for an unknown brand or category.

    all, scheduled, live: 1 request for the buckets + d queries. draft: 1 query. ending, expired:
    1 query a month touched + 1 batch get, and for expired 1 request for where they begin. Drafts' cards
    may be half empty.
    """
    if state not in STATES:
        raise Invalid(state=gettext_lazy("There is no such state."))
    if category and category not in CATEGORIES:
        raise NotFound(gettext_lazy("There is no such category."))
    if brand and slugify(brand) != brand:
        raise NotFound(gettext_lazy("There is no such brand."))
    if state == "draft":
        return _drafts(brand, category, Cursor(after, before), size)
    if state in ("ending", "expired"):
        return _by_expiry(state, brand, category, now, after or None, before or None, size)
    cursor = Cursor(after, before)
    tests: list[Callable[[DealCard], bool]] = []
    if state == "live":
        tests.append(lambda card: card.expires_at is None or card.expires_at > now)
    if brand and category:
        tests.append(lambda card: card.category == category)
    keep = (lambda card: all(test(card) for test in tests)) if tests else None
    return read(
        _feed(brand, category),
        cursor,
        now=now,
        size=size,
        until=None if state == "live" else LAST_ULID,
        since=first_ulid_of(now + timedelta(milliseconds=1)) if state == "scheduled" else None,
        keep=keep,
    )


def _feed(brand: str, category: str) -> Feed:
    """Return the narrowest feed, its buckets read. 1 request."""
    if brand:
        items = table.batch_get([keys.brand(brand), keys.brand_counts(brand)])
        found = brand_from_items(items.get(keys.brand(brand)), items.get(keys.brand_counts(brand)))
        if found is None:
            raise NotFound(gettext_lazy("There is no such brand."))
        return deals_of_brand(brand, found.counts or Counts())
    if category:
        return deals_of_category(category, Counts.from_item(table.get(keys.category_counts(category))))
    return all_deals(all_days())


def _drafts(brand: str, category: str, cursor: Cursor, size: int) -> Page:
    """Return drafts, newest first: all, of a brand or of a category; of both, the brand's are filtered."""
    if brand:
        index, partition = keys.GSI2, keys.drafts_of_brand(brand)
    elif category:
        index, partition = keys.GSI3, keys.drafts_of_category(category)
    else:
        index, partition = keys.GSI1, keys.DRAFTS
    low = next_ulid(cursor.before) if cursor.before else "0" * 26
    high = previous_ulid(cursor.after) if cursor.after else LAST_ULID
    rows = table.query(
        partition,
        index=index,
        low=f"DRAFT#{low}",
        high=f"DRAFT#{high}",
        newest_first=not cursor.newer,
        limit=size + 1,
    )
    cards = [DealCard.from_item(row["card"]) for row in rows]
    more = len(cards) > size
    cards = cards[:size]
    ends = (
        (cards[-1].id, cards[0].id)
        if cursor.newer and cards
        else (cards[0].id, cards[-1].id)
        if cards
        else None
    )
    page = _with_cursors(ends, cursor, more)
    if cursor.newer:
        cards.reverse()
    if brand and category:
        cards = [card for card in cards if card.category == category]
    return Page(cards, page[0], page[1])


def _with_cursors(ends: tuple[str, str] | None, cursor: Cursor, more: bool) -> tuple[str | None, str | None]:
    """Return (after, before) of a page whose newest and oldest ids are `ends`."""
    if cursor.before:
        return (ends[1] if ends else next_ulid(cursor.before)), (ends[0] if ends and more else None)
    before = (ends[0] if ends else previous_ulid(cursor.after)) if cursor.after else None
    return (ends[1] if ends and more else None), before


# By expiry


def _by_expiry(
    state: str,
    brand: str,
    category: str,
    now: datetime,
    after: str | None,
    before: str | None,
    size: int,
) -> Page:
    """Return what ends within 48 hours (soonest first) or has expired (latest first)."""
    if after and before:
        raise BadCursor()
    soonest_first = state == "ending"
    if soonest_first:
        low, high = f"{iso(now + timedelta(milliseconds=1))}#", f"{iso(now + ENDING_SOON)}#{keys.TOP}"
    else:
        low, high = _earliest(brand, category), f"{iso(now)}#{keys.TOP}"
    onward = bool(after) or not before  # away from the first page
    ascending = soonest_first == onward
    if cursor := after or before:
        position = _expiry_position(cursor)
        if ascending:
            low = max(low, position + "0")
        else:
            high = min(high, position[:-26] + previous_ulid(position[-26:]))
    positions, stopped = _positions(brand, category, low, high, ascending, now, size + 1)
    more = len(positions) > size
    positions = positions[:size]
    if not onward:
        positions.reverse()
    cards = _cards_at(positions, brand, category, now)
    first = _expiry_cursor(positions[0]) if positions else None
    last = _expiry_cursor(positions[-1]) if positions else None
    if onward:
        next_page = last if more else stopped
        back = (first or _beside(after, soonest_first)) if after else None
        return Page(cards, next_page, back, _stop_time(stopped) if not more else None)
    return Page(cards, last, first if more else stopped)


def _beside(cursor: str, soonest_first: bool) -> str:
    """Return the cursor from which the way back shows the page before, for a page with nothing on it."""
    deal_id = cursor[-26:]
    return cursor[:-26] + (next_ulid(deal_id) if soonest_first else previous_ulid(deal_id))


def _earliest(brand: str, category: str) -> str:
    """Return where to stop looking for expired deals: none expires before the first bucket with deals. 1 request."""
    return min(_feed(brand, category).buckets, default=LATEST_MONTH)


def _positions(
    brand: str, category: str, low: str, high: str, ascending: bool, now: datetime, wanted: int
) -> tuple[list[str], str | None]:
    """Return the sort keys wanted of the expiry index, and a cursor to go on from where 12 months were not enough."""
    found: list[str] = []
    months = _months(low, high, ascending, now)
    for month in months[:EXPIRED_MONTHS]:
        if brand:
            index, partition = keys.GSI2, keys.expiring_of_brand(brand, month)
        elif category:
            index, partition = keys.GSI3, keys.expiring_of_category(category, month)
        else:
            index, partition = keys.GSI1, keys.expiring(month)
        rows = table.query(
            partition,
            index=index,
            low=low,
            high=high,
            newest_first=not ascending,
            limit=wanted - len(found),
        )
        found += [row[f"{index}SK"] for row in rows]
        if len(found) >= wanted:
            return found, None
    if len(months) > EXPIRED_MONTHS:
        end_of_search = months[EXPIRED_MONTHS] if ascending else months[EXPIRED_MONTHS - 1]
        return found, f"{end_of_search}-01T00:00:00.000Z~{'0' * 26}"
    return found, None


EARLIEST_MONTH, LATEST_MONTH = "2000-01", "9999-12"


def _months(low: str, high: str, ascending: bool, now: datetime) -> list[str]:
    """Return the months `yyyy-mm` between two sort keys, in reading order."""
    first, last = (
        max(f"{low[:4]}-{low[5:7] or '01'}", EARLIEST_MONTH),
        min(high[:7], keys.month_of(now + ENDING_SOON)),
    )
    if first > last:
        return []
    year, month = int(first[:4]), int(first[5:7])
    months = []
    while (text := f"{year:04d}-{month:02d}") <= last:
        months.append(text)
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return months if ascending else months[::-1]


def _cards_at(positions: list[str], brand: str, category: str, now: datetime) -> list[DealCard]:
    """Return the cards of deals at some places of the expiry index. 1 batch get."""
    ids = [position[-26:] for position in positions]
    found = deals.get_many(ids) if ids else {}
    cards = [found[deal_id].card for deal_id in ids if deal_id in found]
    return [
        card
        for card in cards
        if card.is_visible(now) and not (brand and category and card.category != category)
    ]


def _expiry_position(cursor: str) -> str:
    match = EXPIRY_CURSOR.fullmatch(cursor)
    if match is None or not is_ulid(match[2]):
        raise BadCursor()
    try:
        from_iso(match[1])
    except ValueError:
        raise BadCursor() from None
    return f"{match[1]}#{match[2]}"


def _expiry_cursor(position: str) -> str:
    return position.replace("#", "~")


def _stop_time(cursor: str | None) -> datetime | None:
    return from_iso(cursor.partition("~")[0]) if cursor else None
