"""Deals, published or scheduled: as they are stored, reading them, their stock, and the prices that they have had.

Each write is one transaction over the deal, its offer, counters and featured cards. A deal item has two
counters: `version` counts the edits of people, and decides conflicts between them; `writes` counts every
change, and keeps the read-modify-write of these modules honest.

The offer counts the pieces; the deal's card and its copies say when none is left. A price is kept with the time from
which it held. The first stands under the deal's own id, from its publication on: an edit of a scheduled deal replaces
it, since nobody was ever offered that price. What may be called a saving comes from them (article 6a of Directive
98/6/EC; Court of Justice, C-330/23), and stands on the deal's card.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import LOOKED_BACK, DealCard, renew_featured
from dealsite.data.catalogue.content import DealContent, content_from_item
from dealsite.data.editing import versions
from dealsite.data.entities.deals import DEAL, HERE, PRICE
from dealsite.data.entities.entity import reader
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job, job_write
from dealsite.data.jobs.payloads import payload_from_item
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import NotFound, VersionConflict
from dealsite.data.table.ids import is_ulid, iso, new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import (
    MAX_ACTIONS,
    Check,
    Condition,
    Delete,
    Put,
    Update,
    Write,
    equals,
    merge,
    missing,
)

BROKEN = 2  # failed checks of a link in a row


@dataclass(frozen=True, slots=True)
class LinkCheck:
    """What is known of a link that did not work: failed checks in a row, the first and last of them, and why.

    `reason` is the status that the shop answered, or `name` where there is no site of that name. Or an editor finds
    it fine until a time.
    """

    link: str
    failures: int = 0
    since: datetime | None = None
    last: datetime | None = None
    reason: str = ""
    accepted_until: datetime | None = None

    @property
    def is_broken(self) -> bool:
        return self.failures >= BROKEN


@dataclass(frozen=True)
class Deal:
    """A published or scheduled deal. `content.stock` is known only where the offer was read too (`get`).

    `announced`: an announcement of its own was written with it, under its id. `has_prices`: its prices are
    kept from its publication on; deals of before that was done have none until they get another one. `history`: under
    which id its versions are kept, where it is not its own: that which it had first. `likes` are known only where
    they were read too (`get_visible`, `get` with its likes). `link_check`: what is known of a link that does not work.
    """

    kind: ClassVar = "deal"

    id: str
    content: DealContent
    card: DealCard
    featured_on: frozenset[str]
    version: int
    writes: int
    created_at: datetime
    updated_at: datetime
    updated_by: str
    last_edit: str = ""
    draft: str = ""
    announced: bool = False
    has_prices: bool = False
    history: str = ""
    likes: int = 0
    link_check: LinkCheck | None = None

    @property
    def history_id(self) -> str:
        return self.history or self.id

    @property
    def live_at(self) -> datetime:
        return self.card.live_at

    @property
    def stock(self) -> int | None:
        return self.content.stock


@access_pattern("one deal with its offer", "1 batch get")
def get(deal_id: str, *, likes: bool = False) -> Deal:
    """Return a deal with its offer, and with its likes, or raise NotFound. 1 batch get, consistent."""
    return _get(deal_id, keys.deal, keys.offer, *([keys.deal_counts] if likes else []))


def _get(deal_id: str, *of_deal: Callable[[str], keys.Key]) -> Deal:
    if not is_ulid(deal_id):
        raise NotFound(gettext_lazy("There is no such deal."))
    items = table.batch_get(key(deal_id) for key in of_deal)
    item = items.get(keys.deal(deal_id))
    if item is None:
        raise NotFound(gettext_lazy("There is no such deal."))
    return deal_from_items(item, items.get(keys.offer(deal_id)), items.get(keys.deal_counts(deal_id)))


def stock_is(stock: int | None) -> Condition:
    """Return the condition that an offer has so many pieces, or that they are not counted."""
    return missing("stock") if stock is None else equals("stock", stock)


def deal_write(deal: Deal, changes: dict[Any, Any]) -> Update:
    """Return the write that changes a deal while it is as it was read, None for what goes; else VersionConflict."""
    return Update(
        key=keys.deal(deal.id),
        set={name: value for name, value in changes.items() if value is not None},
        remove=[name for name, value in changes.items() if value is None],
        add={"writes": 1},
        when=(equals("writes", deal.writes),),
        otherwise=VersionConflict(),
    )


@access_pattern("one deal with its likes, if shoppers may see it", "1 batch get")
def get_visible(deal_id: str, *, now: datetime) -> Deal:
    """Return a deal that shoppers may see, with its likes: NotFound before its publication time."""
    deal = _get(deal_id, keys.deal, keys.offer, keys.deal_counts)
    if not deal.card.is_visible(now):
        raise NotFound(gettext_lazy("There is no such deal."))
    return deal


@access_pattern("several deals", "1 batch get")
def get_many(deal_ids: Iterable[str]) -> dict[str, Deal]:
    """Return those of some deals that exist, by id, without stock. 1 batch get for each 100."""
    items = table.batch_get(keys.deal(deal_id) for deal_id in deal_ids if is_ulid(deal_id))
    return {item["id"]: deal_from_items(item, None) for item in items.values()}


def deal_from_items(item: Item, offer: Item | None, counts: Item | None = None) -> Deal:
    """Return the deal of its item; without its offer the stock is not known."""
    card = DealCard.from_item(item["card"])
    content = content_from_item(item, card, (offer or {}).get("stock"))
    likes, check = (counts or {}).get("likes", 0), check_of(item)
    return _read_deal(item, content=content, card=card, likes=likes, link_check=check)


def check_of(item: Item) -> LinkCheck | None:
    """Return what a deal's item says of the link that shoppers see now; None where there is nothing to say."""
    kept = item.get("link_check")
    if not kept or kept["link"] != item.get("link") or item["card"].get("sold") == HERE:
        return None
    return payload_from_item(LinkCheck, kept)


_read_deal = reader(DEAL.shape, Deal, "content", "card", "link_check")


MARK_SOLD_OUT = "mark_sold_out"  # the kind of job that renews cards for which a transaction had no room


@dataclass(frozen=True, slots=True)
class StockPayload:
    """The deals whose cards are to say whether they are sold out."""

    deals: tuple[str, ...]


def sold_out_writes(deal: Deal, *, sold_out: bool) -> list[Write]:
    """Return the writes that have a deal's card, and its featured copies, say whether it is sold out."""
    card = replace(deal.card, sold_out=sold_out)
    return [deal_write(deal, {"card": card.as_item()}), *renew_featured(deal.featured_on, card)]


def mark_sold_out_within(
    deals: Sequence[Deal], actions: int, *, sold_out: bool, now: datetime
) -> list[Write]:
    """Return the marks of deals as far as a transaction of so many actions has room, and a job for the rest."""
    writes: list[Write] = []
    later: list[str] = []
    for deal in deals:
        together = merge([*writes, *sold_out_writes(deal, sold_out=sold_out)])
        if len(together) + actions < MAX_ACTIONS:
            writes = together
        else:
            later.append(deal.id)
    return [*writes, mark_sold_out_later(later, now=now)] if later else writes


def mark_sold_out_later(deal_ids: Iterable[str], *, now: datetime) -> Put:
    """Return the job that has deals' cards say whether they are sold out, a moment later."""
    return job_write(MARK_SOLD_OUT, StockPayload(tuple(sorted(deal_ids))), job_id=new_ulid(now), due=now)


def mark_sold_out(job: Job, now: datetime) -> None:
    """Have each deal's card say whether it is sold out. 1 batch get, and 1 transaction where it does not."""
    for deal_id in payload_from_item(StockPayload, job.payload).deals:
        table.retrying(partial(_mark, deal_id))


HANDLERS: dict[str, jobs.Handler] = {MARK_SOLD_OUT: mark_sold_out}


def _mark(deal_id: str) -> None:
    deal = with_offers([deal_id]).get(deal_id)
    if deal and deal.card.sold_out != (deal.stock == 0):
        offer = Check(key=keys.offer(deal_id), when=(stock_is(deal.stock),), otherwise=VersionConflict())
        table.transact([offer, *sold_out_writes(deal, sold_out=deal.stock == 0)])


@access_pattern("stock of several deals", "1 batch get")
def stocks_of(deal_ids: Collection[str]) -> dict[str, int | None]:
    """Return the pieces that are left of some deals, None where they are not counted. 1 batch get for each 100."""
    offers = table.batch_get(map(keys.offer, deal_ids))
    return {one: offers.get(keys.offer(one), {}).get("stock") for one in deal_ids}


def with_offers(deal_ids: Iterable[str]) -> dict[str, Deal]:
    """Return those of some deals that exist, by id, with their stock. 1 batch get for each 50."""
    wanted = list(deal_ids)
    items = table.batch_get([key for one in wanted for key in (keys.deal(one), keys.offer(one))])
    return {
        one: deal_from_items(items[keys.deal(one)], items.get(keys.offer(one)))
        for one in wanted
        if keys.deal(one) in items
    }


MOST_READ = 100  # the newest changes; who changes a price more often in 30 days has another problem
AFTER_ALL = (1 << 80) - (1 << 32)  # random part of ids of changes: none that is random comes after it


@dataclass(frozen=True, slots=True)
class Price:
    """What a deal cost from a time on; `new_seller`: before then another sold it, or it had no price."""

    since: datetime
    price: Decimal
    new_seller: bool = False


@access_pattern("the prices that a deal has had", "1 query")
def prices_of(deal_id: str) -> list[Price]:
    """Return the last prices of a deal, oldest first; [] for a deal of before they were kept."""
    rows = table.query(keys.price.partition(deal_id), newest_first=True, limit=MOST_READ, consistent=True)
    return [price_from_item(row) for row in reversed(rows)]


def compared(card: DealCard, history: Sequence[Price]) -> DealCard:
    """Return a card with what its price may be compared with; `history` ends with the price that holds."""
    low, raised_from = comparison(history, card.was_price, card.low_seen_on)
    return replace(card, low=low, raised_from=raised_from)


def comparison(
    history: Sequence[Price], was_price: Decimal | None, low_seen_on: date | None
) -> tuple[Decimal | None, Decimal | None]:
    """Return the low to compare the last price with, and the price before it if that was lower.

    The low is the lowest price at which its seller sold it in the 30 days before that price began, if all of them
    are known, or else if an editor noted what the seller states: then the lower counts.
    """
    runs = of_seller(history)
    began = runs[-1].since - LOOKED_BACK
    lows = [one.price for one, following in pairwise(runs) if following.since > began]
    if was_price is not None and low_seen_on and low_seen_on >= began.date():
        lows.append(was_price)
    elif runs[0].since > began:
        lows = []
    before = runs[-2].price if len(runs) > 1 else runs[-1].price
    return min(lows, default=None), before if before < runs[-1].price else None


def of_seller(history: Sequence[Price]) -> list[Price]:
    """Return the prices of whoever sells it now, without those that repeat the one before."""
    first = max((n for n, one in enumerate(history) if one.new_seller), default=0)
    own = history[first:]
    return [one for n, one in enumerate(own) if n == 0 or one.price != own[n - 1].price]


def first_price_writes(deal_id: str, content: DealContent) -> list[Write]:
    """Return the write of the price with which a deal is published, if it has one."""
    if content.price is None:
        return []
    return [_put(deal_id, content.price, time_of(deal_id), deal_id)]


def price_change_write(
    deal_id: str, price: Decimal, version: int, *, now: datetime, new_seller: bool = False
) -> Put:
    """Return the write of another price, from now on; `version` is the one that the deal gets with it."""
    return _put(deal_id, price, now, price_change_id(version, now), new_seller=new_seller)


def price_change_id(version: int, at: datetime) -> str:
    """Return the id of a change of price: of one moment, later versions sort after earlier ones."""
    return new_ulid(at, AFTER_ALL + version)


def price_move_writes(deal_id: str, new_id: str, content: DealContent) -> list[Write]:
    """Return the writes that bring the price of a scheduled deal to its new time, which is another id."""
    return [first_price_deletion(deal_id), *first_price_writes(new_id, content)]


def first_price_deletion(deal_id: str) -> Delete:
    """Return the write that deletes the price with which a deal was to be published."""
    return Delete(key=keys.price(deal_id, time_of(deal_id), deal_id))


def price_deletions(deal_id: str) -> list[Write]:
    """Return the writes that delete the prices of a deal, or the first of them if they are many. 1 query."""
    rows = table.query(keys.price.partition(deal_id), limit=versions.ROOM, consistent=True)
    return [Delete(key=(row["PK"], row["SK"])) for row in rows]


price_from_item = reader(PRICE.shape, Price)


def price_item(
    deal_id: str, entry_id: str, since: datetime, price: Decimal, *, new_seller: bool = False
) -> Item:
    """Return the item of a price."""
    values = {"deal": deal_id, "id": entry_id, "since": iso(since), "price": price}
    return PRICE.item(values | ({"new_seller": True} if new_seller else {}))


def _put(deal_id: str, price: Decimal, since: datetime, entry_id: str, *, new_seller: bool = False) -> Put:
    item = price_item(deal_id, entry_id, since, price, new_seller=new_seller)
    return Put(key=keys.price(deal_id, since, entry_id), item=item)
