"""The hot deals: ranked by clicks, likes, orders and age. A worker does it every ten minutes and keeps it in one item.

Each process knows that ranking as of a minute ago. What became of a deal since then shows when its page is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, partial

from dealsite.data import keys, table
from dealsite.data.catalogue import activity
from dealsite.data.catalogue.buckets import PAGE_SIZE, Cursor, Page
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.entities.deals import HOT_DEALS, MOST_HOT
from dealsite.data.entities.entity import reader, writer
from dealsite.data.jobs.site_switch import Known
from dealsite.data.table.convert import Item
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.parallel import together
from dealsite.data.table.writes import Put

EVERY = timedelta(minutes=10)
COUNTED = timedelta(days=7)  # for so long clicks and orders count
RECENT = 3  # days of which a click, an order or a like makes a deal a candidate
CANDIDATES = 1000
AT_ONCE = 50  # candidates that are read together: two items each make a batch get
CLICK, LIKE, ORDER = 1, 4, 10
HOURS, GRAVITY = 12, 1.2
FIRST_READ, NEXT_READ = PAGE_SIZE + 5, 100  # deals of a page: some may be gone


@dataclass(frozen=True, slots=True)
class HotDeal:
    """A deal of the ranking, as it was then."""

    id: str
    brand: str
    category: str
    likes: int
    expires_at: datetime | None = None


@dataclass(frozen=True)
class Ranking:
    """The hot deals, the hottest first; `at` is when they were ranked, None before that was ever done."""

    deals: tuple[HotDeal, ...] = ()
    at: datetime | None = None

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each deal stands, by id."""
        return {deal.id: place for place, deal in enumerate(self.deals)}


_read, _store = reader(HOT_DEALS.shape, Ranking), writer(HOT_DEALS.shape, Ranking)


@access_pattern("which deals are hot", "1 get")
def read() -> Ranking:
    """Return the last ranking; an empty one before there was any."""
    item = table.get(keys.hot_deals(), consistent=False)
    return _read(item) if item else Ranking()


of_process = Known(lambda: read(), Ranking(), seconds=60.0)


def score(*, clicks: int, likes: int, orders: int, age: timedelta) -> float:
    """Return how hot a deal is: its points over a power of its age.

    So Hacker News ranks stories (news.arc), over (hours + 2)^1.8; deals live for days: their age tells later, and less.
    """
    hours = age / timedelta(hours=1)
    return (CLICK * clicks + LIKE * likes + ORDER * orders) / float((hours + HOURS) ** GRAVITY)


@access_pattern("rank the hot deals", "1 get + 4 queries + 1 batch get + 1 put")
def rank(*, now: datetime) -> None:
    """Rank anew, unless another worker did so less than ten minutes ago.

    1 get + 3 queries, 1 batch get for each 50 of up to 1,000 candidates and 1 query for each of them, 1 put.
    """
    before = read()
    if before.at and before.at <= now < before.at + EVERY:
        return
    found = _candidates(before, now.astimezone(UTC).date())
    scored = [
        one for first in range(0, len(found), AT_ONCE) for one in _scored(found[first : first + AT_ONCE], now)
    ]
    hottest = sorted(scored, key=lambda one: (one[0], one[1].id), reverse=True)[:MOST_HOT]
    ranking = Ranking(tuple(deal for points, deal in hottest if points), now)
    table.write(Put(key=keys.hot_deals(), item=HOT_DEALS.item(_store(ranking))))


def _candidates(before: Ranking, today: date) -> list[str]:
    """Return the ids of the deals that were hot, then of those of today and before, the newest deals first."""
    found = dict.fromkeys(before.places)
    for ago in range(RECENT):
        if room := CANDIDATES - len(found):
            partition = keys.active.partition(today - timedelta(days=ago))
            rows = table.query(partition, index=keys.GSI1, newest_first=True, limit=room)
            found |= dict.fromkeys(row["GSI1SK"].removeprefix("DEAL#") for row in rows)
    return list(found)


def _scored(deal_ids: list[str], now: datetime) -> list[tuple[float, HotDeal]]:
    """Return how hot some deals are that shoppers see, with what a ranking keeps of them."""
    items = table.batch_get(
        (key(one) for one in deal_ids for key in (keys.deal, keys.deal_counts)), consistent=False
    )
    cards = [card for card in (_card(items.get(keys.deal(one))) for one in deal_ids) if card]
    cards = [card for card in cards if card.is_visible(now)]
    since = (now - COUNTED).astimezone(UTC).date() + timedelta(days=1)
    days = together(*(partial(activity.of_deal, card.id, since=since) for card in cards))
    scored = []
    for card, of_card in zip(cards, days, strict=True):
        likes = items.get(keys.deal_counts(card.id), {}).get("likes", 0)
        clicks, orders = (
            sum(day.clicks for day in of_card.values()),
            sum(day.orders for day in of_card.values()),
        )
        points = score(clicks=clicks, likes=likes, orders=orders, age=now - card.live_at)
        scored.append((points, HotDeal(card.id, card.brand, card.category, likes, card.expires_at)))
    return scored


def _card(item: Item | None) -> DealCard | None:
    return DealCard.from_item(item["card"]) if item else None


@access_pattern("a page of the hot deals", "1 batch get")
def hot_deals(
    *,
    now: datetime,
    after: str | None = None,
    before: str | None = None,
    brand: str = "",
    category: str = "",
    with_over: bool = False,
) -> Page:
    """Return a page of the hot deals, of all or of a brand or category; BadCursor. What is over, only `with_over`.

    A cursor is a deal's id; where that is not hot any more it leads to the first page, as does a way back from there.
    1 batch get, and 1 more for each further 100 deals while too many were deleted, or ended early.
    """
    cursor, ranking = Cursor(after, before), of_process.current()
    place = ranking.places.get(cursor.place)
    onward = cursor.onward or place is None
    deals = ranking.deals[:place][::-1] if not onward else ranking.deals[0 if place is None else place + 1 :]
    waiting = [
        one.id
        for one in deals
        if brand in ("", one.brand)
        and category in ("", one.category)
        and (with_over or one.expires_at is None or one.expires_at > now)
    ]
    cards, size = list[DealCard](), FIRST_READ
    while waiting and len(cards) <= PAGE_SIZE:
        some, waiting = waiting[:size], waiting[size:]
        items = table.batch_get(map(keys.deal, some), consistent=False)
        found = (_card(items.get(keys.deal(one))) for one in some)
        cards += [card for card in found if card and (with_over or card.is_live(now))]
        size = NEXT_READ
    more, cards = len(cards) > PAGE_SIZE or bool(waiting), cards[:PAGE_SIZE]
    if onward:
        back = None if place is None else cards[0].id if cards else cursor.place
        return Page(cards, cards[-1].id if more else None, back)
    if not cards:
        return hot_deals(now=now, brand=brand, category=category, with_over=with_over)
    return Page(cards[::-1], cards[0].id, cards[-1].id if more else None)


def likes(deal_id: str) -> int:
    """Return how many like a deal, as of its ranking; 0 for one that is not hot. No request of its own."""
    ranking = of_process.current()
    place = ranking.places.get(deal_id)
    return 0 if place is None else ranking.deals[place].likes
