"""Each deal has its offer, each offer its deal; they agree on price, expiry and whether it is sold out.

Where a checkout had no room to mark what it sold out, a job of its transaction does so a moment later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dealsite.data import keys
from dealsite.data.catalogue.deal.stock import MARK_SOLD_OUT
from dealsite.data.integrity.index_rows import INDEX_KEYS
from dealsite.data.integrity.problem import Problem, differences, repair_write
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso
from dealsite.data.table.writes import Check, Delete, Put, absent, equals

SHARED = ("brand", "category", "price", "expires_at")


class Offers:
    """Keeps of each deal what its offer repeats, until it has seen both."""

    def __init__(self) -> None:
        self.deals: dict[str, Item] = {}
        self.offers: dict[str, Item] = {}
        self.found: list[Problem] = []
        self.sold_out: dict[str, Problem] = {}
        self.marked_soon: set[str] = set()

    def see(self, item: Item) -> None:
        kind, deal_id = item["type"], item.get("id", "")
        if kind == "Job" and item["kind"] == MARK_SOLD_OUT and item["state"] == "open":
            self.marked_soon.update(item["payload"]["deals"])
        if kind not in ("Deal", "Offer"):
            return
        mine, others = (self.deals, self.offers) if kind == "Deal" else (self.offers, self.deals)
        kept = {
            name: item[name]
            for name in ("PK", "SK", "id", "card", "writes", "stock", *SHARED)
            if name in item
        }
        other = others.pop(deal_id, None)
        if other is None:
            mine[deal_id] = kept
        elif kind == "Deal":
            self._compare(kept, other)
        else:
            self._compare(other, kept)

    def _compare(self, deal: Item, offer: Item) -> None:
        card = deal["card"]
        if wrong := differences(offer, {name: card.get(name) for name in SHARED}):
            expires_at = from_iso(card["expires_at"]) if "expires_at" in card else None
            rows = keys.expiry_rows(deal["id"], card["brand"], card["category"], expires_at)
            update = repair_write(offer, wrong)
            gone = [name for name in INDEX_KEYS if name not in rows]
            repair = replace(update, set={**update.set, **rows}, remove=[*update.remove, *gone])
            texts = [f"{name} is {offer.get(name)}, the deal's is {value}" for name, value in wrong.items()]
            self.found.append(
                Problem(keys.offer(deal["id"]), "; ".join(texts) + ".", (repair, _as_seen(deal)))
            )
        sold_out = offer.get("stock") == 0
        if card.get("sold_out", False) != sold_out:
            wanted = {name: value for name, value in card.items() if name != "sold_out"}
            if sold_out:
                wanted["sold_out"] = True
            what = f"The card says sold_out={card.get('sold_out', False)}, the stock is {offer.get('stock')}."
            check = Check(
                key=keys.offer(deal["id"]),
                when=(equals("stock", offer["stock"]),) if "stock" in offer else (),
            )
            repairs = (repair_write(deal, {"card": wanted}), *((check,) if check.when else ()))
            self.sold_out[deal["id"]] = Problem(keys.deal(deal["id"]), what, repairs)

    def problems(self) -> Iterator[Problem]:
        yield from self.found
        for deal_id, problem in self.sold_out.items():
            if deal_id not in self.marked_soon:
                yield problem
        for deal_id, deal in self.deals.items():
            yield Problem(
                keys.deal(deal_id),
                "Its offer is missing: without it nobody can buy. How many were in stock is lost.",
                (_offer_of(deal), _as_seen(deal)),
            )
        for deal_id in self.offers:
            yield Problem(
                keys.offer(deal_id),
                "This offer has no deal.",
                (Delete(key=keys.offer(deal_id)), Check(key=keys.deal(deal_id), when=(absent(),))),
            )


def _as_seen(deal: Item) -> Check:
    return Check(key=keys.deal(deal["id"]), when=(equals("writes", deal.get("writes")),))


def _offer_of(deal: Item) -> Put:
    card = deal["card"]
    expires_at = from_iso(card["expires_at"]) if "expires_at" in card else None
    item = {
        "type": "Offer",
        "id": deal["id"],
        **{name: card.get(name) for name in SHARED},
        "stock": 0 if card.get("sold_out") else None,
        **keys.expiry_rows(deal["id"], card["brand"], card["category"], expires_at),
    }
    return Put(key=keys.offer(deal["id"]), item=item, when=(absent(),))
