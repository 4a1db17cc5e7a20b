"""Totals of payments, guards of transaction ids, orders paid in whole; numbers of announcements and bulk changes."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal

from dealsite.data import keys
from dealsite.data.commerce.payment_record import (
    PAYMENT_TOTALS,
    Deltas,
    Payment,
    Place,
    added,
    amounts_of,
    combine,
    deltas_from,
    opposite,
    payment_from_item,
    place_of,
    state_of,
)
from dealsite.data.commerce.payments import adding_up
from dealsite.data.entities.commerce import LARGEST_CHUNK, STATES, STATUSES
from dealsite.data.entities.imports import CHANGED, REFUSED
from dealsite.data.entities.work import SEND_MESSAGE
from dealsite.data.integrity.problem import Problem, as_seen, differences, kept, key_of, repair_write, say
from dealsite.data.jobs.jobs import BULK_CHANGE, BULK_UNDO
from dealsite.data.table.convert import Item
from dealsite.data.table.writes import Check, Put, Write, absent, exists

COUNTERS = tuple(name for state in STATES for name in (state, f"{state}_amount"))
Money = dict[str, Decimal]  # by state, and `total`
Part = tuple[str, int]  # a load and one of its segments


class Payments:
    """Counts all payments anew; memory grows with days and with what is under way, not with payments."""

    takes_part = frozenset({"Payment", "PaymentLoadSegment"})

    def __init__(self) -> None:
        self.counted: Deltas = {}
        self.stored: dict[Place, Item] = {}
        self.pending: list[Deltas] = []  # what jobs, and segments of loads, have still to count
        self.owed: dict[tuple[str, str], Money] = {}  # of orders: what they say less their payments, but 0
        self.guards: dict[str, Item] = {}  # transaction ids of which only one half was seen
        self.reached: dict[Part, int] = {}  # how far the segments of loads have noted what they wrote
        self.loaded: dict[Part, list[tuple[int, str, Deltas]]] = defaultdict(list)
        self.doubtful: set[Place] = (
            set()
        )  # where a payment's amount cannot be right: nothing is adjusted to it
        self.ambiguous: dict[Place, list[tuple[Item, Payment]]] = defaultdict(list)  # with two amounts
        self.found: list[Problem] = []

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Payment":
                self._see_payment(item, payment_from_item(item))
            case "PaymentTotals":
                self.stored[date.fromisoformat(item["day"]), item["shard"]] = kept(item, *COUNTERS)
            case "Job" if (
                item["kind"] == PAYMENT_TOTALS and "applied" not in item and item["state"] != "done"
            ):
                self.pending.append(deltas_from(item["payload"]["deltas"]))
            case "PaymentLoadSegment":
                self.reached[item["load"], item["number"]] = item["position"]
                self.pending.append(deltas_from(item["pending"]))
            case "TransactionGuard":
                self._pair(item["transaction_id"], "guard", item)
            case "Order":
                card = item["card"]
                self._owe(item["username"], item["id"], card.get("money", {}) | {"total": card["total"]})

    def _see_payment(self, item: Item, payment: Payment) -> None:
        if payment.status not in STATUSES:
            self.found.append(Problem(key_of(item), f"Its status, {payment.status!r}, is not known."))
            return
        part = added([payment])
        self.counted = _plus(self.counted, part)
        if payment.amount < 0:
            self.doubtful.update(part)
        if item["card"]["amount"] != item["amount"]:
            self.ambiguous[place_of(payment)].append((item, payment))
        if payment.order:
            owed = amounts_of(payment) | {"total": payment.amount}
            self._owe(payment.account, payment.order, {name: -amount for name, amount in owed.items()})
        if payment.transaction_id:
            self._pair(payment.transaction_id, "payment", item)
        if payment.load is not None:
            newest = self.loaded[payment.load.id, payment.load.segment]
            as_written = added([_as_loaded(payment)])
            heapq.heappush(newest, (payment.load.position, payment.id, as_written))
            if len(newest) > LARGEST_CHUNK:
                heapq.heappop(newest)

    def _owe(self, username: str, order_id: str, amounts: Mapping[str, Decimal]) -> None:
        owed = self.owed.pop((username, order_id), {})
        for name, amount in amounts.items():
            owed[name] = owed.get(name, Decimal(0)) + amount
        if owed := {name: amount for name, amount in owed.items() if amount}:
            self.owed[username, order_id] = owed

    def _pair(self, transaction_id: str, half: str, item: Item) -> None:
        """Keep one half of a transaction until the other is seen."""
        seen = self.guards.pop(transaction_id, None)
        if seen is None:
            names = ("type", "id", "account", "payment", "transaction_id", "version")
            self.guards[transaction_id] = kept(item, *names)
            return
        guard, payment = (item, seen) if half == "guard" else (seen, item)
        is_its_own = guard["type"] != payment["type"] and guard["payment"] == payment["id"]
        if is_its_own and guard["account"] != payment["account"]:
            right = repair_write(guard, {"account": payment["account"]})
            what = f"Its account is {guard['account']}, its payment's is {payment['account']}."
            self.found.append(Problem(key_of(guard), what, (right,)))
        if not is_its_own:
            what = f"The transaction {transaction_id} is another payment's."
            self.found.append(Problem(key_of(payment), what))

    def problems(self) -> Iterator[Problem]:
        yield from self.found
        yield from self._total_problems()
        yield from self._guard_problems()
        for (username, order_id), owed in self.owed.items():
            yield from _order_problems(username, order_id, owed)

    def _total_problems(self) -> Iterator[Problem]:
        waiting = list(self.pending)
        for part, newest in self.loaded.items():
            waiting += [deltas for position, _, deltas in newest if position >= self.reached.get(part, 0)]
        right = combine([self.counted, *(opposite(deltas) for deltas in waiting)])
        for place in sorted(right.keys() | self.stored.keys()):
            key, item, counters = keys.payment_totals(*place), self.stored.get(place), right.get(place, {})
            stored = dict.fromkeys(COUNTERS, 0) | (item or {})
            wrong = differences(stored, {name: counters.get(name, Decimal(0)) for name in COUNTERS})
            if place in self.ambiguous:
                yield from _amount_problems(self.ambiguous[place], place, stored, counters)
                continue
            if not wrong:
                continue
            if item is None:
                new = {"type": "PaymentTotals", "day": place[0].isoformat(), "shard": place[1]}
                repair: Write = Put(key=key, item=new | wrong, when=(absent(),))
            else:
                repair = repair_write(item, wrong)
            repairs = () if place in self.doubtful else (repair,)
            yield Problem(key, say("{} is {}, counted {}", stored, wrong), repairs)

    def _guard_problems(self) -> Iterator[Problem]:
        for transaction_id, item in self.guards.items():
            if item["type"] == "TransactionGuard":
                yield Problem(key_of(item), "This transaction belongs to no payment.")
                continue
            guard = {"type": "TransactionGuard", "transaction_id": transaction_id}
            guard |= {"account": item["account"], "payment": item["id"]}
            put = Put(key=keys.transaction(transaction_id), item=guard, when=(absent(),))
            there = Check(key=key_of(item), when=(exists(), *as_seen(item, ["transaction_id", "version"])))
            what = f"The guard of its transaction {transaction_id} is missing."
            yield Problem(key_of(item), what, (put, there))


def _amount_problems(
    payments: list[tuple[Item, Payment]], place: Place, stored: Item, counted: Mapping[str, Decimal]
) -> Iterator[Problem]:
    """Yield payments whose card has another amount: the totals of their day tell which one is right, if one of them."""
    for item, payment in payments:
        name, on_card = f"{state_of(payment)}_amount", Decimal(item["card"]["amount"])
        total, said = counted.get(name, Decimal(0)), stored[name]
        what = f"Its amount is {item['amount']}, and {on_card} on its card."
        repairs: tuple[Write, ...] = ()
        if total == said:
            repairs = (repair_write(item, {"card": item["card"] | {"amount": item["amount"]}}),)
        elif total - payment.amount + on_card == said:
            repairs = (repair_write(item, {"amount": on_card}),)
        yield Problem(key_of(item), what, repairs)


def _order_problems(username: str, order_id: str, owed: Money) -> Iterator[Problem]:
    """Yield an order that says something else than its payments, which are added up anew."""
    if total := owed.pop("total", None):
        what = f"Its payments and its total differ by {total}."
        yield Problem((keys.order_lines.partition(order_id), "payments"), what)
    elif owed:
        says = "; ".join(f"{state}: {amount:+}" for state, amount in owed.items())
        repair = adding_up(username, order_id)
        what = f"What it says of its payments is not what they come to ({says})."
        yield Problem(keys.order(username, order_id), what, (repair,) if repair else ())


def _plus(whole: Deltas, part: Deltas) -> Deltas:
    """Add to sums in place: this is done for each payment of the table."""
    for place, moved in part.items():
        counters = whole.setdefault(place, {})
        for name, value in moved.items():
            counters[name] = counters.get(name, Decimal(0)) + value
    return whole


def _as_loaded(payment: Payment) -> Payment:
    """Return a payment as its load wrote it, whatever has become of it."""
    due_at = payment.due_at
    return Payment(
        id=payment.id, account=payment.account, amount=payment.amount, due_at=due_at, next_at=due_at
    )


OUTCOMES = {CHANGED: "changed", REFUSED: "refused"}


class Announced:
    """Keeps the deals that are to be announced, and the jobs that do so."""

    takes_part = frozenset[str]()

    def __init__(self) -> None:
        self.jobs = set[str]()
        self.announced: dict[str, Item] = {}

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Job" if item["kind"] == SEND_MESSAGE:
                self.jobs.add(item["id"])
            case "Deal" if item.get("announced"):
                self.announced[item["id"]] = kept(item, "announced", "writes")

    def problems(self) -> Iterator[Problem]:
        for deal_id, deal in self.announced.items():
            if deal_id not in self.jobs:
                gone = Check(key=keys.job(deal_id), when=(absent(),))
                what = "It should be announced, but there is no such job."
                yield Problem(key_of(deal), what, (repair_write(deal, {"announced": None}), gone))


class BulkChanges:
    """Keeps the jobs that change many deals, with the number of their rows; memory grows with jobs, not with rows."""

    takes_part = frozenset({"BulkRow"})

    def __init__(self) -> None:
        self.jobs: dict[str, Item] = {}
        self.imports: set[str] = set()
        self.counted: dict[str, Counter[str]] = defaultdict(Counter)
        self.first: dict[str, Item] = {}

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Job" if item["kind"] in (BULK_CHANGE, BULK_UNDO):
                self.jobs[item["id"]] = kept(item, "state", "parts", "progress")
            case "Import":
                self.imports.add(item["id"])
            case "BulkRow" | "BulkChunk":
                self.first.setdefault(item["job"], kept(item))
                if item["type"] == "BulkRow":
                    self.counted[item["job"]][OUTCOMES[item["outcome"]]] += 1

    def problems(self) -> Iterator[Problem]:
        for job_id, row in self.first.items():
            if job_id not in self.jobs and job_id not in self.imports:
                yield Problem(key_of(row), "It belongs to no change of many deals.")
        for job_id, job in self.jobs.items():
            progress, counted = job["progress"], self.counted[job_id]
            wrong = {name: counted[name] for name in counted if progress.get(name, 0) < counted[name]}
            # Fewer rows are no mistake: after a month they expire, each by itself. Of an open one its parts count.
            if wrong and not ("parts" in job and job["state"] == "open"):
                repair = repair_write(job, {"progress": progress | wrong})
                yield Problem(key_of(job), say("{} is {}, noted {}", progress, wrong), (repair,))
