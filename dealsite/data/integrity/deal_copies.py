"""What repeats a deal: its offer, which agrees on price, expiry and whether it is sold out, and its featured cards.

Where a checkout had no room to mark what it sold out, a job of its transaction does so a moment later.
"""

from collections.abc import Iterator
from dataclasses import replace

from dealsite.data import keys, table
from dealsite.data.catalogue import cards, display_names
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.content import sold_by
from dealsite.data.catalogue.deals import MARK_SOLD_OUT
from dealsite.data.entities.deals import AT_SHOPS, DEAL_BY, DEAL_CARD
from dealsite.data.entities.entity import INDEX_KEYS
from dealsite.data.integrity.problem import Problem, as_seen, differences, kept, key_of, repair_write, say
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso, is_ulid
from dealsite.data.table.writes import (
    Check,
    Condition,
    Delete,
    Path,
    Put,
    Update,
    Write,
    absent,
    equals,
    exists,
    missing,
)

SHARED = ("brand", "category", "price", "expires_at")
TARGETS = {"Deal": keys.deal, "Draft": keys.draft}
PAGE_IDS = {cards.page_key(page): page for page in (cards.FRONT, cards.EDITORS_CHOICE, *CATEGORIES)}


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
        (self.deals if kind == "Deal" else self.offers)[deal_id] = kept(
            item, "id", "card", "writes", "link", "stock", "elsewhere", *SHARED
        )
        if deal_id in self.deals and deal_id in self.offers:
            self._compare(self.deals.pop(deal_id), self.offers.pop(deal_id))

    def _compare(self, deal: Item, offer: Item) -> None:
        card, deal_key, offer_key = deal["card"], keys.deal(deal["id"]), keys.offer(deal["id"])
        if better := _told_by_offer(card, offer):
            what = "Its card: " + say("{} is {!r}, its offer's is {!r}", card, better)
            repairs = (
                repair_write(deal, {"card": card | better}),
                Check(key=offer_key, when=as_seen(offer, SHARED)),
            )
            self.found.append(Problem(deal_key, what, repairs))
            return
        right = {name: card.get(name) for name in SHARED}
        if "sold" in card:
            right["elsewhere"] = True if card["sold"] in AT_SHOPS else None
            if wrong := differences(card, {"shop": _seller(deal, offer)["shop"]}):
                what = "Its card: " + say("{} is {!r}, not {!r}", card, wrong)
                self.found.append(Problem(deal_key, what, (_with_card(deal, wrong),)))
        if wrong := differences(offer, right):
            rows, update = _expiry_rows(deal), repair_write(offer, wrong)
            gone = [name for name in INDEX_KEYS if name not in rows]
            repair = replace(update, set={**update.set, **rows}, remove=[*update.remove, *gone])
            what = say("{} is {}, the deal's is {}", offer, wrong)
            self.found.append(Problem(offer_key, what, (repair, _as_written(deal))))
        sold_out, says_so = offer.get("stock") == 0, card.get("sold_out", False)
        if says_so != sold_out:
            wanted = {name: value for name, value in card.items() if name != "sold_out"}
            if sold_out:
                wanted["sold_out"] = True
            what = f"The card says sold_out={says_so}, the stock is {offer.get('stock')}."
            marked: list[Write] = [repair_write(deal, {"card": wanted})]
            if "stock" in offer:
                marked.append(Check(key=offer_key, when=as_seen(offer, ["stock"])))
            self.sold_out[deal["id"]] = Problem(deal_key, what, tuple(marked))

    def problems(self) -> Iterator[Problem]:
        yield from self.found
        for deal_id, problem in self.sold_out.items():
            if deal_id not in self.marked_soon:
                yield problem
        for deal_id, deal in self.deals.items():
            what = "Its offer is missing: without it nobody can buy. How many were in stock is lost."
            yield Problem(keys.deal(deal_id), what, (_offer_of(deal), _as_written(deal)))
        for deal_id in self.offers:
            key, gone = keys.offer(deal_id), Check(key=keys.deal(deal_id), when=(absent(),))
            yield Problem(key, "This offer has no deal.", (Delete(key=key), gone))


class Sellers(Offers):
    """Finds the deals of which a build of before did not say who sells them."""

    def _compare(self, deal: Item, offer: Item) -> None:
        if "sold" not in deal["card"]:
            seller = _seller(deal, offer)
            what = "Its card does not say that it is sold by {sold!r}.".format(**seller)
            elsewhere = repair_write(offer, {"elsewhere": True if seller["sold"] in AT_SHOPS else None})
            repairs = _with_card(deal, seller), replace(elsewhere, when=as_seen(offer, ["stock"]))
            self.found.append(Problem(keys.deal(deal["id"]), what, repairs))

    def problems(self) -> Iterator[Problem]:
        yield from self.found


def _told_by_offer(card: Item, offer: Item) -> Item:
    """Return what an offer says rightly that its deal's card says in a way that cannot be."""
    kinds = DEAL_CARD
    return {
        name: offer[name]
        for name in SHARED
        if name in offer
        and (kinds[name].problem(card[name]) if name in card else not kinds[name].optional)
        and not kinds[name].problem(offer[name])
    }


def _seller(deal: Item, offer: Item) -> Item:
    """Return what a deal's card should say of who sells it."""
    card, link = deal["card"], deal.get("link", "")
    sold = card.get("sold") or sold_by(offer.get("stock"), card.get("voucher_code", ""))
    return {"sold": sold, "shop": (display_names.shop_of(link) or None) if sold in AT_SHOPS else None}


def _with_card(deal: Item, changes: Item) -> Update:
    card = {name: value for name, value in (deal["card"] | changes).items() if value is not None}
    return repair_write(deal, {"card": card})


def _expiry_rows(deal: Item) -> dict[str, str]:
    card = deal["card"]
    expires_at = from_iso(card["expires_at"]) if "expires_at" in card else None
    return keys.expiry_rows(deal["id"], card["brand"], card["category"], expires_at)


def _offer_of(deal: Item) -> Put:
    shared, stock = (
        {name: deal["card"].get(name) for name in SHARED},
        0 if deal["card"].get("sold_out") else None,
    )
    elsewhere = deal["card"].get("sold") in AT_SHOPS or None
    item = {"type": "Offer", "id": deal["id"], **shared, "stock": stock, "elsewhere": elsewhere}
    item |= _expiry_rows(deal)
    return Put(key=keys.offer(deal["id"]), item=item, when=(absent(),))


def _as_written(deal: Item) -> Check:
    return Check(key=keys.deal(deal["id"]), when=(equals("writes", deal.get("writes")),))


class KnownBy:
    """Keeps what deals and drafts should be known by, and what they are."""

    def __init__(self) -> None:
        self.owners: dict[keys.Key, tuple[str, str]] = {}
        self.there: set[keys.Key] = set()

    def see(self, item: Item) -> None:
        if item["type"] == "DealBy":
            self.there.add(key_of(item))
        elif item["type"] in TARGETS:
            number = item.get("card", {}).get("article_number", "")
            for name in display_names.names_of(item.get("link", ""), number):
                self.owners[keys.deal_by(name, item["id"])] = item["type"], item["id"]

    def problems(self) -> Iterator[Problem]:
        for key in self.owners.keys() - self.there:
            kind, target = self.owners[key]
            put = Put(key=key, item=DEAL_BY.item({"id": target}))
            is_there = Check(
                key=TARGETS[kind](target), when=(exists(),)
            )  # what it is known by too much does no harm
            what = f"{kind} {target} is not found by its link or article number."
            yield Problem(key, what, (put, is_there))


class Featured:
    """Keeps the ten pages, and which deals say that they are featured; the deals listed are read at the end."""

    def __init__(self) -> None:
        self.pages: dict[str, Item] = {}
        self.say_so: set[str] = set()
        self.plans: list[str] = []

    def see(self, item: Item) -> None:
        page = PAGE_IDS.get(key_of(item))
        if page is not None:
            self.pages[page] = kept(item, "order", "cards", "featured_version")
        elif item.get("type") == "Deal" and item.get("featured_on"):
            self.say_so.add(item["id"])
        elif item.get("type") == "FeaturedPlan" and item["state"] == "planned":
            self.plans.append(item["id"])

    def problems(self) -> Iterator[Problem]:
        named = {
            deal_id
            for page in self.pages.values()
            for deal_id in [*page.get("order", ()), *page.get("cards", ())]
        }
        wanted = [deal_id for deal_id in sorted(named | self.say_so) if is_ulid(deal_id)]
        items = table.batch_get(keys.deal(deal_id) for deal_id in wanted)
        deals = {item["id"]: item for item in items.values()}
        for page_id, page in self.pages.items():
            yield from _page_problems(page_id, page, deals)
        for deal in deals.values():
            listing = {page_id for page_id, page in self.pages.items() if deal["id"] in page.get("order", ())}
            for page_id in sorted(set(deal.get("featured_on", ())) - listing):
                yield self._unlisted(page_id, deal)
        yield from self._plan_problems()

    def _plan_problems(self) -> Iterator[Problem]:
        plans = table.batch_get(keys.featured_plan(plan_id) for plan_id in self.plans)
        waiting = [plan for plan in plans.values() if plan["state"] == "planned"]
        jobs = table.batch_get(keys.job(plan["job"]) for plan in waiting)
        for plan in waiting:
            job = jobs.get(keys.job(plan["job"]))
            if job is None or job["state"] not in ("open", "failed"):
                yield Problem(key_of(plan), "Nobody carries this plan out: its job is lost.")

    def _unlisted(self, page_id: str, deal: Item) -> Problem:
        key, gone = key_of(deal), {"featured_on": {page_id}}
        repairs: list[Write] = [Update(key=key, discard=gone, add={"writes": 1}, when=_unchanged(deal))]
        if page_id in self.pages:
            page = self.pages[page_id]
            repairs.append(Check(key=key_of(page), when=(exists(), *_page_as_seen(page))))
        elif page_id in PAGE_IDS.values():
            repairs.append(Check(key=cards.page_key(page_id), when=(absent(),)))
        return Problem(key_of(deal), f"It says that {page_id} features it, which does not.", tuple(repairs))


def _page_problems(page_id: str, page: Item, deals: dict[str, Item]) -> Iterator[Problem]:
    order, cards, key, when = page.get("order", []), page.get("cards", {}), key_of(page), _page_as_seen(page)
    if len(set(order)) != len(order):
        once = Update(key=key, set={"order": list(dict.fromkeys(order))}, when=when)
        yield Problem(key, "A deal is listed twice.", (once,))
    for deal_id in sorted(cards.keys() - set(order)):
        drop = Update(key=key, remove=[("cards", deal_id)], when=when)
        yield Problem(key, f"There is a card of {deal_id}, which is not listed.", (drop,))
    for deal_id in dict.fromkeys(order):
        deal = deals.get(deal_id)
        if deal is None:
            if deal_id in cards:
                drop = Update(key=key, remove=[("cards", deal_id)], when=when)
                gone = (Check(key=keys.deal(deal_id), when=(absent(),)),) if is_ulid(deal_id) else ()
                yield Problem(key, f"There is a card of {deal_id}, which does not exist.", (drop, *gone))
            continue
        says_so = page_id in deal.get("featured_on", ())
        if cards.get(deal_id) != deal["card"] and (deal_id in cards or says_so):
            place: Path = (
                "cards",
                deal_id,
            )  # of all cards of a page that are old, one repair leaves the others
            as_was = equals(place, cards[deal_id]) if deal_id in cards else missing(place)
            listed = (*as_seen(page, ["order", "featured_version"]), as_was)
            renew = Update(key=key, set={place: deal["card"]}, when=listed)
            unchanged = Check(key=key_of(deal), when=_unchanged(deal))
            yield Problem(key, f"The card of {deal_id} is not the deal's.", (renew, unchanged))
        if deal_id in cards and not says_so:
            say_so = {"featured_on": {page_id}, "writes": 1}
            repairs = (Update(key=key_of(deal), add=say_so, when=_unchanged(deal)), Check(key=key, when=when))
            yield Problem(key_of(deal), f"It is featured on {page_id} and does not know.", repairs)


def _page_as_seen(page: Item) -> tuple[Condition, ...]:
    return as_seen(page, ["order", "cards", "featured_version"])


def _unchanged(deal: Item) -> tuple[Condition, ...]:
    return (exists(), *as_seen(deal, ["writes"]))
