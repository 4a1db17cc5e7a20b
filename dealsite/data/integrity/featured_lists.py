"""Featured lists: each card is the deal's own, and deal and page agree on who features whom."""

from __future__ import annotations

from collections.abc import Iterator

from dealsite.data import keys, table
from dealsite.data.catalogue import cards
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.integrity.problem import Problem, as_seen, key_of
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import is_ulid
from dealsite.data.table.writes import Check, Condition, Update, Write, absent, equals, exists, missing

PAGE_IDS = {cards.page_key(page): page for page in (cards.FRONT, cards.EDITORS_CHOICE, *CATEGORIES)}
LIST = ("order", "cards")


class Featured:
    """Keeps the ten pages, and which deals say that they are featured; the deals listed are read at the end."""

    def __init__(self) -> None:
        self.pages: dict[str, Item] = {}
        self.say_so: dict[str, set[str]] = {}
        self.plans: list[str] = []

    def see(self, item: Item) -> None:
        page = PAGE_IDS.get(key_of(item))
        if page is not None:
            self.pages[page] = {
                name: item[name] for name in ("PK", "SK", *LIST, "featured_version") if name in item
            }
        elif item.get("type") == "Deal" and item.get("featured_on"):
            self.say_so[item["id"]] = set(item["featured_on"])
        elif item.get("type") == "FeaturedPlan" and item["state"] == "planned":
            self.plans.append(item["id"])

    def problems(self) -> Iterator[Problem]:
        named = {
            deal_id
            for page in self.pages.values()
            for deal_id in [*page.get("order", ()), *page.get("cards", ())]
        }
        wanted = [deal_id for deal_id in sorted(named | self.say_so.keys()) if is_ulid(deal_id)]
        items = table.batch_get(keys.deal(deal_id) for deal_id in wanted)
        deals = {item["id"]: item for item in items.values()}
        for page_id, page in self.pages.items():
            yield from self._page_problems(page_id, page, deals)
        for deal in deals.values():
            for page_id in sorted(set(deal.get("featured_on", ())) - self._pages_of(deal["id"])):
                yield self._unlisted(page_id, deal)
        yield from self._plans_nobody_carries_out()

    def _plans_nobody_carries_out(self) -> Iterator[Problem]:
        plans = table.batch_get(keys.featured_plan(plan_id) for plan_id in self.plans)
        waiting = [plan for plan in plans.values() if plan["state"] == "planned"]
        jobs = table.batch_get(keys.job(plan["job"]) for plan in waiting)
        for plan in waiting:
            job = jobs.get(keys.job(plan["job"]))
            if job is None or job["state"] not in ("open", "failed"):
                yield Problem(key_of(plan), "Nobody carries this plan out: its job is lost.")

    def _pages_of(self, deal_id: str) -> set[str]:
        return {page_id for page_id, page in self.pages.items() if deal_id in page.get("order", ())}

    def _page_problems(self, page_id: str, page: Item, deals: dict[str, Item]) -> Iterator[Problem]:
        order, cards, key = page.get("order", []), page.get("cards", {}), key_of(page)
        if len(set(order)) != len(order):
            once = list(dict.fromkeys(order))
            yield Problem(
                key, "A deal is listed twice.", (Update(key=key, set={"order": once}, when=self._seen(page)),)
            )
        for deal_id in sorted(cards.keys() - set(order)):
            drop = Update(key=key, remove=[("cards", deal_id)], when=self._seen(page))
            yield Problem(key, f"There is a card of {deal_id}, which is not listed.", (drop,))
        for deal_id in dict.fromkeys(order):
            deal = deals.get(deal_id)
            if deal is None:
                if deal_id in cards:
                    drop = Update(key=key, remove=[("cards", deal_id)], when=self._seen(page))
                    gone = (Check(key=keys.deal(deal_id), when=(absent(),)),) if is_ulid(deal_id) else ()
                    yield Problem(key, f"There is a card of {deal_id}, which does not exist.", (drop, *gone))
                continue
            says_so = page_id in deal.get("featured_on", ())
            if cards.get(deal_id) != deal["card"] and (deal_id in cards or says_so):
                renew = Update(key=key, set={("cards", deal_id): deal["card"]}, when=self._seen(page))
                yield Problem(key, f"The card of {deal_id} is not the deal's.", (renew, _unchanged(deal)))
            if deal_id in cards and not says_so:
                say = Update(
                    key=key_of(deal), add={"featured_on": {page_id}, "writes": 1}, when=_writes(deal)
                )
                check = Check(key=key, when=self._seen(page))
                yield Problem(key_of(deal), f"It is featured on {page_id} and does not know.", (say, check))

    def _unlisted(self, page_id: str, deal: Item) -> Problem:
        forget = Update(
            key=key_of(deal), discard={"featured_on": {page_id}}, add={"writes": 1}, when=_writes(deal)
        )
        repairs: list[Write] = [forget]
        if page_id in self.pages:
            page = self.pages[page_id]
            repairs.append(Check(key=key_of(page), when=(exists(), *self._seen(page))))
        return Problem(key_of(deal), f"It says that {page_id} features it, which does not.", tuple(repairs))

    def _seen(self, page: Item) -> tuple[Condition, ...]:
        return as_seen(page, ["order", "cards", "featured_version"])


def _writes(deal: Item) -> tuple[Condition, ...]:
    return (exists(), equals("writes", deal["writes"]) if "writes" in deal else missing("writes"))


def _unchanged(deal: Item) -> Check:
    return Check(key=key_of(deal), when=_writes(deal))
