"""The prices that a deal has had, each with the time from which it held, written in the transaction that sets it.

The first stands under the deal's own id, from its publication on: an edit of a scheduled deal replaces
it, since nobody was ever offered that price. What may be called a saving comes from them (article 6a of
Directive 98/6/EC; Court of Justice, C-330/23), and stands on the deal's card.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import LOOKED_BACK, DealCard
from dealsite.data.catalogue.content import DealContent
from dealsite.data.entities.conversion import reader
from dealsite.data.entities.deals import PRICE
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import iso, new_ulid, time_of
from dealsite.data.table.writes import Delete, Put, Write

MOST_READ = 100  # the newest changes; who changes a price more often in 30 days has another problem
AFTER_ALL = (1 << 80) - (1 << 32)  # random part of ids of changes: none that is random comes after it
ROOM = 40  # deletions of one transaction that empties the trash


@dataclass(frozen=True, slots=True)
class Price:
    """What a deal cost from a time on; `new_seller`: before then another sold it, or it had no price."""

    since: datetime
    price: Decimal
    new_seller: bool = False


@access_pattern("the prices that a deal has had", "1 query")
def of_deal(deal_id: str) -> list[Price]:
    """Return the last prices of a deal, oldest first; [] for a deal of before they were kept."""
    rows = table.query(keys.price.partition(deal_id), newest_first=True, limit=MOST_READ, consistent=True)
    return [from_item(row) for row in reversed(rows)]


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


def first_writes(deal_id: str, content: DealContent) -> list[Write]:
    """Return the write of the price with which a deal is published, if it has one."""
    if content.price is None:
        return []
    return [_put(deal_id, content.price, time_of(deal_id), deal_id)]


def change_write(
    deal_id: str, price: Decimal, version: int, *, now: datetime, new_seller: bool = False
) -> Put:
    """Return the write of another price, from now on; `version` is the one that the deal gets with it."""
    return _put(deal_id, price, now, change_id(version, now), new_seller=new_seller)


def change_id(version: int, at: datetime) -> str:
    """Return the id of a change of price: of one moment, later versions sort after earlier ones."""
    return new_ulid(at, AFTER_ALL + version)


def move_writes(deal_id: str, new_id: str, content: DealContent) -> list[Write]:
    """Return the writes that bring the price of a scheduled deal to its new time, which is another id."""
    return [first_deletion(deal_id), *first_writes(new_id, content)]


def first_deletion(deal_id: str) -> Delete:
    """Return the write that deletes the price with which a deal was to be published."""
    return Delete(key=keys.price(deal_id, time_of(deal_id), deal_id))


def deletions(deal_id: str) -> list[Write]:
    """Return the writes that delete the prices of a deal, or the first of them if they are many. 1 query."""
    rows = table.query(keys.price.partition(deal_id), limit=ROOM, consistent=True)
    return [Delete(key=(row["PK"], row["SK"])) for row in rows]


from_item = reader(PRICE.shape, Price)


def as_item(
    deal_id: str, entry_id: str, since: datetime, price: Decimal, *, new_seller: bool = False
) -> Item:
    """Return the item of a price."""
    values = {"deal": deal_id, "id": entry_id, "since": iso(since), "price": price}
    return PRICE.item(values | ({"new_seller": True} if new_seller else {}))


def _put(deal_id: str, price: Decimal, since: datetime, entry_id: str, *, new_seller: bool = False) -> Put:
    item = as_item(deal_id, entry_id, since, price, new_seller=new_seller)
    return Put(key=keys.price(deal_id, since, entry_id), item=item)
