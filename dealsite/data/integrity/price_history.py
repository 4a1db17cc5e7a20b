"""Prices: the last one kept of a deal is the one that it has, and the deal exists or lies in the trash."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dealsite.data import keys, table
from dealsite.data.catalogue import prices
from dealsite.data.integrity.problem import Problem, differences, key_of, repair_write
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso, time_of
from dealsite.data.table.writes import Check, Delete, Put, absent, equals

MOST_STRAY = 1000  # prices of one deal that is gone which one run names


@dataclass(slots=True)
class _Seen:
    """What has been seen of one deal: the deal, the last of its prices, and whether it lies in the trash."""

    deal: Item | None = None
    last: Item | None = None
    in_trash: bool = False


class Prices:
    """Keeps of each deal its price and the last one noted; memory grows with deals, by little each."""

    def __init__(self) -> None:
        self.seen: dict[str, _Seen] = {}

    def see(self, item: Item) -> None:
        match item["type"]:
            case "Deal":
                names = ("PK", "SK", "id", "version", "writes", "updated_at", "has_prices")
                kept = {name: item[name] for name in names if name in item}
                card = {name: item["card"].get(name) for name in ("price", "was_price")}
                self.seen.setdefault(item["id"], _Seen()).deal = kept | card
            case "Trash" if item["kind"] == "deal":
                self.seen.setdefault(item["id"], _Seen()).in_trash = True
            case "Price":
                seen = self.seen.setdefault(item["deal"], _Seen())
                if seen.last is None or seen.last["SK"] < item["SK"]:
                    seen.last = item

    def problems(self) -> Iterator[Problem]:
        for deal_id, seen in self.seen.items():
            if seen.deal is None:
                if not seen.in_trash:
                    yield from _stray(deal_id)
            elif seen.last is not None:
                yield from _of_deal(seen.deal, seen.last)
            elif seen.deal.get("has_prices"):
                what = (
                    "The prices that it has had are lost; what it costs now is kept from its publication on."
                )
                put = _price_of(seen.deal, key_since=None)
                yield Problem(key_of(seen.deal), what, (put, _unchanged(seen.deal)))


def _of_deal(deal: Item, last: Item) -> Iterator[Problem]:
    right = {name: deal.get(name) for name in ("price", "was_price")}
    if wrong := differences(last, right):
        texts = [f"{name} is {last.get(name)}, the deal's is {value}" for name, value in wrong.items()]
        # An edit whose price was lost is noted again; of a deal that was never edited, the price itself is wrong.
        later = deal["version"] > 1 and deal["updated_at"] > last["since"]
        repair = _price_of(deal, key_since=deal["updated_at"]) if later else repair_write(last, wrong)
        yield Problem(
            key_of(last), "The last price kept: " + "; ".join(texts) + ".", (repair, _unchanged(deal))
        )
    if not deal.get("has_prices"):
        yield Problem(
            key_of(deal),
            "It does not know that its prices are kept.",
            (repair_write(deal, {"has_prices": True}),),
        )


def _stray(deal_id: str) -> Iterator[Problem]:
    gone = [Check(key=key, when=(absent(),)) for key in (keys.deal(deal_id), keys.trash("deal", deal_id))]
    for row in table.query(keys.price.partition(deal_id), limit=MOST_STRAY, consistent=True):
        yield Problem(key_of(row), "This price has no deal.", (Delete(key=key_of(row)), *gone))


def _price_of(deal: Item, *, key_since: str | None) -> Put:
    """Return the write of what a deal costs: since its last edit, or else its publication."""
    since = from_iso(key_since) if key_since else time_of(deal["id"])
    entry_id = prices.change_id(deal["version"], since) if key_since else deal["id"]
    item = prices.as_item(deal["id"], entry_id, since, deal["price"], deal.get("was_price"))
    return Put(key=keys.price(deal["id"], since, entry_id), item=item, when=(absent(),))


def _unchanged(deal: Item) -> Check:
    return Check(key=key_of(deal), when=(equals("writes", deal.get("writes")),))
