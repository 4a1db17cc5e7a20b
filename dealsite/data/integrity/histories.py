"""What a deal was before: its prices, its versions, and what the trash keeps of it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from operator import itemgetter
from typing import Any

from django.conf import settings

from dealsite.data import keys, table
from dealsite.data.catalogue import deals
from dealsite.data.editing.trash_record import EMPTY_TRASH, emptying_id, emptying_write
from dealsite.data.integrity.problem import Problem, differences, differing, kept, key_of, repair_write, say
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso, time_of
from dealsite.data.table.writes import Check, Delete, Path, Put, Update, absent, equals, exists

RESTORED = "restored"  # as the audit log says it
# What is remembered of each deal and its prices, as tuples: there may be very many.
COMPARED = ("price", "was_price", "low_seen_on", "low", "raised_from")
OF_DEAL = ("PK", "SK", "id", "version", "writes", "updated_at", "has_prices", *COMPARED)
OF_PRICE = ("SK", "PK", "since", "price", "new_seller")
MOST_STRAY = 1000  # prices of one deal that is gone which one run names
MOST_SEEN = 1000  # versions of one thing that one run looks at
OF_DELETION = (
    "kind",
    "deleted_at",
    "deleted_by",
)  # what the trash's card says beside the kept item's own card


@dataclass(slots=True)
class _Priced:
    """What has been seen of one deal: values of it and of its prices, and whether it lies in the trash."""

    deal: tuple[Any, ...] | None = None
    prices: list[tuple[Any, ...]] = field(default_factory=list)
    in_trash: bool = False


class Prices:
    """Keeps of each deal its price and those noted; memory grows with deals and their prices, by little each."""

    def __init__(self) -> None:
        self.seen: dict[str, _Priced] = defaultdict(_Priced)

    def see(self, item: Item) -> None:
        match item["type"]:
            case "Deal":
                self.seen[item["id"]].deal = tuple(map((item | item["card"]).get, OF_DEAL))
            case "Trash" if item["kind"] == "deal":
                self.seen[item["id"]].in_trash = True
            case "Price":
                self.seen[item["deal"]].prices.append(tuple(map(item.get, OF_PRICE)))

    def problems(self) -> Iterator[Problem]:
        for deal_id, seen in self.seen.items():
            deal = _item(OF_DEAL, seen.deal)
            if not deal:
                if not seen.in_trash:
                    yield from _stray_prices(deal_id)
            elif "price" not in deal:
                continue
            elif seen.prices:
                newest = sorted(seen.prices, key=itemgetter(0))[-deals.MOST_READ :]
                yield from _price_problems(deal, [_item(OF_PRICE, one) for one in newest])
            elif deal.get("has_prices"):
                lost = (
                    "The prices that it has had are lost; what it costs now is kept from its publication on."
                )
                put = _price_of(deal, key_since=None)
                yield Problem(key_of(deal), lost, (put, _unchanged(deal)))


def _item(names: tuple[str, ...], values: tuple[Any, ...] | None) -> Item:
    return {name: value for name, value in zip(names, values or (), strict=False) if value is not None}


def _price_problems(deal: Item, history: Sequence[Item]) -> Iterator[Problem]:
    last, right = history[-1], {"price": deal["price"]}
    if wrong := differences(last, right):
        what = "The last price kept: " + say("{} is {}, the deal's is {}", last, wrong)
        # An edit whose price was lost is noted again; of a deal that was never edited, the price itself is wrong.
        later = deal["version"] > 1 and deal["updated_at"] > last["since"]
        repair = _price_of(deal, key_since=deal["updated_at"]) if later else repair_write(last, wrong)
        yield Problem(key_of(last), what, (repair, _unchanged(deal)))
    else:
        yield from _comparison_problems(deal, history)
    if not deal.get("has_prices"):
        know = repair_write(deal, {"has_prices": True})
        yield Problem(key_of(deal), "It does not know that its prices are kept.", (know,))


def _comparison_problems(deal: Item, history: Sequence[Item]) -> Iterator[Problem]:
    """Yield that a card compares its price with another than its prices give."""
    seen_on, key = deal.get("low_seen_on"), key_of(deal)
    found = deals.comparison(
        [deals.price_from_item(one) for one in history],
        deal.get("was_price"),
        date.fromisoformat(seen_on) if seen_on else None,
    )
    right = dict(zip(("low", "raised_from"), found, strict=True))
    if wrong := differences(deal, right):
        what = "What its price is compared with: " + say("{} is {}, its prices give {}", deal, wrong)
        renew = Update(
            key=key,
            set={("card", name): value for name, value in wrong.items() if value is not None},
            remove=[("card", name) for name, value in wrong.items() if value is None],
            add={"writes": 1},
            when=(exists(), equals("writes", deal.get("writes"))),
        )
        yield Problem(key, what, (renew,))


def _stray_prices(deal_id: str) -> Iterator[Problem]:
    gone = [Check(key=key, when=(absent(),)) for key in (keys.deal(deal_id), keys.trash("deal", deal_id))]
    for row in table.query(keys.price.partition(deal_id), limit=MOST_STRAY, consistent=True):
        yield Problem(key_of(row), "This price has no deal.", (Delete(key=key_of(row)), *gone))


def _price_of(deal: Item, *, key_since: str | None) -> Put:
    """Return the write of what a deal costs: since its last edit, or else its publication."""
    since = from_iso(key_since) if key_since else time_of(deal["id"])
    entry_id = deals.price_change_id(deal["version"], since) if key_since else deal["id"]
    item = deals.price_item(deal["id"], entry_id, since, deal["price"])
    return Put(key=keys.price(deal["id"], since, entry_id), item=item, when=(absent(),))


def _unchanged(deal: Item) -> Check:
    return Check(key=key_of(deal), when=(equals("writes", deal.get("writes")),))


@dataclass(slots=True)
class _Versioned:
    """What has been seen of one history: its owner's key, kind and version, and the numbers kept."""

    owner: keys.Key | None = None
    token: tuple[str, object] = ("version", None)
    version: int = 0
    numbers: list[int] = field(default_factory=list)
    has_changes: bool = False
    may_skip: bool = False  # a number of a change that was none of its content


class Versions:
    """Keeps the numbers of all versions; memory grows with deals and their changes, by little each."""

    def __init__(self) -> None:
        self.seen: dict[str, _Versioned] = defaultdict(_Versioned)

    def see(self, item: Item) -> None:
        match item["type"]:
            case "Deal" | "Draft":
                self._see_owner(item, item, "version")
            case "Trash":
                self._see_owner(item, item["kept"], "token")
            case "AuditEntry" if item["card"]["what"] == RESTORED:
                self.seen[item["card"]["subject"]].may_skip = True
            case "DealChanges":
                self.seen[item["of"]].has_changes = True
            case "Version":
                numbers = self.seen[item["of"]].numbers
                if len(numbers) < MOST_SEEN:
                    numbers.append(item["version"])

    def _see_owner(self, item: Item, owner: Item, name: str) -> None:
        seen = self.seen[owner.get("history") or item["id"]]
        seen.may_skip = seen.may_skip or "history" in owner
        if seen.owner is None or owner["version"] > seen.version:
            seen.owner, seen.token, seen.version = key_of(item), (name, item[name]), owner["version"]

    def problems(self) -> Iterator[Problem]:
        for history_id, seen in self.seen.items():
            if seen.has_changes and seen.owner is None:
                what = "These unpublished changes have no deal."
                yield _stray_of_history(keys.changes(history_id), history_id, what)
            if seen.owner is None:
                for number in sorted(seen.numbers):
                    what = "This version has no deal or draft."
                    yield _stray_of_history(keys.version(history_id, number), history_id, what)
            else:
                yield from _number_problems(seen.owner, seen)


def _number_problems(owner: keys.Key, seen: _Versioned) -> Iterator[Problem]:
    """Yield that the last version kept is not the one before what a deal is now, or not before what a draft is."""
    last, name = max(seen.numbers, default=0), seen.token[0]
    is_deal = owner[0].startswith("DEAL#") and name == "version"
    may_skip = seen.may_skip or not is_deal or settings.DEALSITE_RETENTION["versions"] is not None
    if last == seen.version - 1 or (last < seen.version and may_skip):
        return
    what = f"It is version {seen.version}, and the last one kept before is {last}."
    counted: dict[Path, int] = {"writes": 1} if is_deal else {}
    right = Update(key=owner, set={"version": last + 1}, add=counted, when=(equals(*seen.token),))
    yield Problem(owner, what, (right,) if name == "version" else ())


def _stray_of_history(key: keys.Key, history_id: str, what: str) -> Problem:
    owners = [keys.deal(history_id), keys.draft(history_id)]
    owners += [keys.trash(kind, history_id) for kind in keys.TARGETS]
    gone = (Check(key=owner, when=(absent(),)) for owner in owners)
    return Problem(key, what, (Delete(key=key), *gone))


class Trash:
    """Keeps the days of deletion and one item of each; memory grows with days, not with what was deleted."""

    def __init__(self) -> None:
        self.of_days: dict[date, Item] = {}
        self.waiting: set[str] = set()
        self.found: list[Problem] = []

    def see(self, item: Item) -> None:
        match item["type"]:
            case "Job" if item["kind"] == EMPTY_TRASH and item["state"] == "open":
                self.waiting.add(item["id"])
            case "Trash":
                card = item["card"]
                self.of_days[from_iso(card["deleted_at"]).date()] = kept(item, "token")
                right = {"card": item["kept"]["card"] | {name: card[name] for name in OF_DELETION}}
                if differences(item, right):
                    what = "What the trash lists of it is not what it keeps"
                    self.found.append(differing(what, item, right))

    def problems(self) -> Iterator[Problem]:
        yield from self.found
        for day, item in sorted(self.of_days.items()):
            if emptying_id(day) not in self.waiting:
                there = Check(key=key_of(item), when=(equals("token", item["token"]),))
                what = f"No job empties the trash of {day.isoformat()}."
                yield Problem(keys.job(emptying_id(day)), what, (emptying_write(day), there))
