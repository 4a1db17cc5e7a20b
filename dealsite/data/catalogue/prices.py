"""The prices that a deal has had, each with the time from which it held, written in the transaction that sets it.

The first stands under the deal's own id, from its publication on: an edit of a scheduled deal replaces
it, since nobody was ever offered that price. The page of a deal says what the lowest was in the 30 days
before the price that holds, as article 6a of Directive 98/6/EC asks of whoever announces a reduction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise

from dealsite.data import keys, table
from dealsite.data.catalogue.content import DealContent
from dealsite.data.entities.conversion import reader
from dealsite.data.entities.deals import PRICE
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import iso, new_ulid, time_of
from dealsite.data.table.writes import Delete, Put, Write

LOOKED_BACK = timedelta(days=30)
MOST_READ = 100  # the newest changes; who changes a price more often in 30 days has another problem
AFTER_ALL = (1 << 80) - (1 << 32)  # random part of ids of changes: none that is random comes after it
ROOM = 40  # deletions of one transaction that empties the trash


@dataclass(frozen=True, slots=True)
class Price:
    """What a deal cost from a time on, and the price that it said it had before."""

    since: datetime
    price: Decimal
    was_price: Decimal | None = None


@dataclass(frozen=True, slots=True)
class LowestPrice:
    """The lowest price of the 30 days before the one that holds; `is_known`: there was one here."""

    price: Decimal
    is_known: bool


@access_pattern("the prices that a deal has had", "1 query")
def of_deal(deal_id: str) -> list[Price]:
    """Return the last prices of a deal, oldest first; [] for a deal of before they were kept."""
    rows = table.query(keys.price.partition(deal_id), newest_first=True, limit=MOST_READ, consistent=True)
    return [from_item(row) for row in reversed(rows)]


def lowest(prices: Sequence[Price]) -> LowestPrice:
    """Return the lowest price that held at any time in the 30 days before the last one began to.

    A deal that never had another price counts as having had this one: `is_known` is False then.
    """
    runs = _runs(prices)
    began = runs[-1].since
    before = [one.price for one, following in pairwise(runs) if following.since > began - LOOKED_BACK]
    return LowestPrice(min(before), True) if before else LowestPrice(runs[-1].price, False)


def _runs(prices: Sequence[Price]) -> list[Price]:
    """Return prices without those that repeat the one before: only the was-price changed there."""
    return [one for n, one in enumerate(prices) if n == 0 or one.price != prices[n - 1].price]


def first_write(deal_id: str, content: DealContent) -> Put:
    """Return the write of the price with which a deal is published."""
    return _put(deal_id, content, time_of(deal_id), deal_id)


def change_write(deal_id: str, content: DealContent, version: int, *, now: datetime) -> Put:
    """Return the write of another price, from now on; `version` is the one that the deal gets with it."""
    return _put(deal_id, content, now, change_id(version, now))


def change_id(version: int, at: datetime) -> str:
    """Return the id of a change of price: of one moment, later versions sort after earlier ones."""
    return new_ulid(at, AFTER_ALL + version)


def move_writes(deal_id: str, new_id: str, content: DealContent) -> list[Write]:
    """Return the writes that bring the price of a scheduled deal to its new time, which is another id."""
    return [Delete(key=keys.price(deal_id, time_of(deal_id), deal_id)), first_write(new_id, content)]


def deletions(deal_id: str) -> list[Write]:
    """Return the writes that delete the prices of a deal, or the first of them if they are many. 1 query."""
    rows = table.query(keys.price.partition(deal_id), limit=ROOM, consistent=True)
    return [Delete(key=(row["PK"], row["SK"])) for row in rows]


from_item = reader(PRICE.shape, Price)


def as_item(deal_id: str, entry_id: str, since: datetime, price: Decimal, was_price: Decimal | None) -> Item:
    """Return the item of a price."""
    values = {"deal": deal_id, "id": entry_id, "since": iso(since), "price": price, "was_price": was_price}
    return PRICE.item(values)


def _put(deal_id: str, content: DealContent, since: datetime, entry_id: str) -> Put:
    if content.price is None:
        raise ValueError("A deal without a price is not published.")
    item = as_item(deal_id, entry_id, since, content.price, content.was_price)
    return Put(key=keys.price(deal_id, since, entry_id), item=item)
