"""Thousands of random orders, and what happens to them: after each step no piece and no cent is lost.

All goes through the product's own functions. They read and write a table in memory, whose items are those that an
engine holds in the end, as the last test compares. `make test` takes 50 runs, `make test-all` 9,950 others, and both
others each day: a failure tells the fewest steps of its run that still fail.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial
from random import Random
from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue.deals import Deal
from dealsite.data.commerce import cart_changes, charging, order_changes, order_returns, orders, payments
from dealsite.data.commerce.carts import Line
from dealsite.data.commerce.order_lines import OrderLine, history
from dealsite.data.commerce.order_record import Order, OrderMoney
from dealsite.data.commerce.payment_record import Payment, payment_item, place_of
from dealsite.data.entities.attributes import CENT, ZERO
from dealsite.data.entities.commerce import (
    CANCELLED,
    DELIVERED,
    FAILED,
    MAX_ACTIVE,
    MAX_QUANTITY,
    PENDING,
    PLACED,
    PROCESSED,
    PURCHASED,
    REFUNDED,
    RETURNED,
    SCHEDULED,
    SHIPPED,
    STATES,
)
from dealsite.data.entities.work import SITE
from dealsite.data.table import client
from dealsite.data.table.configuration import SCHEMA
from dealsite.data.table.convert import Item, Key, from_attributes, to_attributes
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.data.table.ids import new_ulid, shard
from dealsite.data.table.items import Rows
from dealsite.data.table.writes import Delete, Path, Put, Update, Write, merge
from tests.builders import DAY, HOUR, NOW
from tests.gateways.ledger import Ledger
from tests.hostile import EXAMPLES
from tests.payments import work
from tests.people import make_user
from tests.shop import ANN, make_deals, purchase, want

RUNS, AT_ONCE = 10_000, 50
SEED = os.environ["SEED"]


@cache
def condition(template: str) -> Callable[[Sequence[Any], Sequence[Any]], bool]:
    """Return the function of what an item has at its paths, and of its values, that a condition is."""
    there, missing, compared = r"\1 is not None", r"\1 is None", r"(\1 is not None and \1 \2 \3)"
    text = re.sub(r"attribute_exists\((\{p\d\})\)", there, template)
    text = re.sub(r"attribute_not_exists\((\{p\d\})\)", missing, text)
    text = re.sub(r"(\{p\d\}) (=|>=|>|<=|<) (\{v\d\})", compared, text).replace(" = ", " == ")
    text = re.sub(r"\{([pv])(\d)\}", r"\1[\2]", text.replace(" OR ", " or "))
    made: Callable[[Sequence[Any], Sequence[Any]], bool] = eval(f"lambda p, v: {text}")  # noqa: S307
    return made


def stored(item: Item) -> Item:
    """Return what is read back of an item."""
    return from_attributes(to_attributes(item))


class Memory:
    """A table in this process, which does what the data layer asks of one: a condition that fails stops all writes."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.items: dict[Key, Item] = {(item["PK"], item["SK"]): item for item in items}

    def get(self, key: Key) -> Item | None:
        return self.items.get(key)

    def batch_get(self, wanted: Iterable[Key]) -> dict[Key, Item]:
        return {key: self.items[key] for key in wanted if key in self.items}

    def query_page(
        self,
        pk: str,
        *,
        index: str | None = None,
        low: str | None = None,
        high: str | None = None,
        newest_first: bool = False,
        limit: int = 100,
        consistent: bool = False,
        start: object = None,
    ) -> Rows:
        partition, sort = f"{index or ''}PK", f"{index or ''}SK"
        found = [
            item
            for item in self.items.values()
            if item.get(partition) == pk and (low or "") <= item[sort] <= (high or "~")
        ]
        found.sort(key=lambda item: item[sort], reverse=newest_first)
        return Rows(found[:limit], None)

    def query(self, pk: str, **options: Any) -> list[Item]:
        return self.query_page(pk, **options).items

    def query_all(self, pk: str, *, limit: int = 100, **options: Any) -> Iterator[Item]:
        yield from self.query(pk, **options, limit=len(self.items))

    def write(self, action: Write) -> None:
        self.transact([action])

    def transact(self, writes: Sequence[Write]) -> None:
        actions = merge(writes)
        for action in actions:
            item = self.items.get(action.key, {})
            for one in action.when:
                if not condition(one.template)([client._at(item, path) for path in one.paths], one.values):
                    raise action.error()
        for action in actions:
            self.carry_out(action)

    def carry_out(self, action: Write) -> None:
        key = {"PK": action.key[0], "SK": action.key[1]}
        if isinstance(action, Delete):
            self.items.pop(action.key, None)
        elif isinstance(action, Put):
            self.items[action.key] = stored(action.item | key)
        elif isinstance(action, Update):
            item = self.items[action.key] = {**self.items.get(action.key, key)}
            assert not action.discard
            for path, value in action.set.items():
                put(item, path, value)
            for path, value in action.add.items():
                is_set = isinstance(value, set | frozenset)
                before = client._at(item, path) or (set() if is_set else 0)
                put(item, path, before | value if is_set else before + value)
            for path in action.remove:
                put(item, path, None)


def put(item: Item, path: Path, value: Any) -> None:
    """Have an item, which is nobody else's, hold a value at a path, None for nothing; maps in it may be others' too."""
    *steps, last = (path,) if isinstance(path, str) else map(str, path)
    for step in steps:
        item[step] = item = {**item[step]}
    item.pop(last, None)
    item |= stored({last: value})


@contextmanager
def in_memory(memory: Memory) -> Iterator[None]:
    """Let all that asks the site's table ask this one; whatever it cannot answer fails."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("get", "batch_get", "query", "query_all", "query_page", "write", "transact"):
            patched.setattr(table, name, getattr(memory, name))
        patched.setattr(client, "send", None)
        patched.setattr(client, "pause", lambda seconds: None)
        yield


@pytest.fixture(autouse=True)
def _credit(settings: Any) -> None:
    settings.DEALSITE_CREDIT_ORDER = settings.DEALSITE_CREDIT_OPEN = 10**12
    settings.DEALSITE_CREDIT_FAILED = 10**6


def open_shop(seed: str) -> list[Deal]:
    """Return deals of all prices, whose stock is not counted, is large, or is soon sold."""
    make_user("ann")
    random, found = Random(seed), list[Deal]()
    for _ in range(MAX_ACTIVE + 5):
        price = random.randint(1, 10 ** random.randint(2, 7)) * CENT
        stock = random.choice([None, random.randint(1, 20), random.randint(1_000, 100_000)])
        found += make_deals(1, price=price, was_price=None, stock=stock)
    return found


@dataclass
class Bought:
    """A line of an order as a plain model has it: how many of its pieces are where, and what was taken off."""

    line: Line
    to_ship: int
    sent: int = 0
    cancelled: int = 0
    returned: int = 0
    restocked: int = 0
    off: Decimal = ZERO

    @property
    def worth(self) -> Decimal:
        return self.line.price * self.line.quantity - self.off


def stock_of(deals: Iterable[str]) -> dict[str, int | None]:
    found = table.batch_get(map(keys.offer, deals)).values()
    return {item["id"]: item.get("stock") for item in found}


def status_of(lines: Sequence[OrderLine]) -> str:
    """Return the status of the pieces that are least far."""
    counts = ("to_ship", PLACED), ("on_the_way", SHIPPED), ("delivered", DELIVERED), ("returned", RETURNED)
    return next((status for name, status in counts if any(getattr(one, name) for one in lines)), CANCELLED)


def amounts(found: Iterable[Payment]) -> OrderMoney:
    """Return what payments come to: each of them is where its status says, but for what was cut or refunded."""
    come_to = dict.fromkeys(STATES, ZERO)
    for one in found:
        refunded = sum((refund.amount for refund in one.refunds if refund.done_at), ZERO)
        state = {PROCESSED: "processed", REFUNDED: "refunded", CANCELLED: "cancelled"}.get(one.status)
        come_to[state or ("failed" if one.tries else "open")] += one.amount - one.cut - refunded
        come_to["cancelled"] += one.cut
        come_to["refunded"] += refunded
    return OrderMoney(**come_to)


class Run:
    """One order, from its checkout on, with a model of its lines and of what is to be paid for it in the end."""

    def __init__(self, number: int, deals: Sequence[Deal]) -> None:
        self.seed, self.now, self.ledger, self.told = f"{SEED} {number}", NOW, Ledger(), list[str]()
        random = Random(self.seed)
        self.stock = stock_of(one.id for one in deals)
        some = [one for one in deals if self.stock[one.id] != 0]
        wanted = []
        for n, one in enumerate(random.sample(some, min(random.choice([1, 2, 3, 5, 8, 25]), len(some)))):
            most = min(self.stock[one.id] or MAX_QUANTITY, MAX_QUANTITY)
            pieces = min(random.choice([1, 2, 3, 999, random.randint(1, 999)]), most)
            wanted.append(want(one, pieces, line_id=new_ulid(NOW, 100 * number + n)))
        cart_changes.add_many(ANN, wanted, now=NOW)
        form = purchase("ann", order_id=new_ulid(NOW, 100 * number + 99))
        plan = random.choice(payments.plans_for(form.total))
        self.order = order_changes.place(purchase("ann", order_id=form.order_id, plan=plan), now=NOW)
        self.id, self.plan, self.total, self.wanted = form.order_id, plan, form.total, form.total
        self.lines = [Bought(one, one.quantity) for one in orders.lines_of(self.order)]
        self.told.append(f"placed: {plan} x, {[(one.line.quantity, one.line.price) for one in self.lines]}")
        self.look()
        self.totals_before = self.totals()
        self.check()

    def go(self, steps: Iterable[int]) -> None:
        """Do the steps of these numbers, each with chances of its own, and check all after each."""
        for step in steps:
            self.random = Random(f"{self.seed} {step}")
            self.now += self.random.choice([HOUR, HOUR, DAY, 31 * DAY])
            self.random.choice(STEPS)(self)
            self.look()
            self.check()
        self.work()
        self.check()

    def look(self) -> None:
        self.order = orders.get("ann", self.id)
        self.paid = payments.of_order("ann", self.order.payments)

    def tell(self, what: str) -> None:
        self.told.append(f"{self.now:%d %b %H:%M} {what}")

    # What may happen

    def expect(self, is_allowed: bool, act: Callable[..., object], **given: Any) -> bool:
        """Do something to the order that has to be done, or to be refused."""
        self.tell(f"{act.__name__} {given}{'' if is_allowed else ', refused'}")
        try:
            act("ann", self.id, **given, by="eve", now=self.now)
        except (Conflict, Invalid):
            assert not is_allowed
        else:
            assert is_allowed
        return is_allowed

    def some(self, place: str) -> tuple[dict[str, int], bool]:
        """Return how many pieces of some lines are chosen of those at a place, and whether there are as many."""
        random, chosen = self.random, dict[str, int]()
        for one in random.sample(self.lines, random.randint(1, len(self.lines))):
            left = getattr(one, place)
            chosen[one.line.id] = random.choice([left, random.randint(0, left)])
        if is_too_many := random.random() < 0.1:
            one = random.choice(self.lines)
            chosen[one.line.id] = getattr(one, place) + 1
        return chosen, not is_too_many

    def prices(self) -> tuple[dict[str, Decimal], bool]:
        """Return amounts to be taken off some lines, and whether none is above what its line still comes to."""
        random, chosen = self.random, dict[str, Decimal]()
        for one in random.sample(self.lines, random.randint(1, len(self.lines))):
            chosen[one.line.id] = random.choice([one.worth, CENT * random.randint(0, int(one.worth / CENT))])
        if is_too_much := random.random() < 0.1:
            one = random.choice(self.lines)
            chosen[one.line.id] = one.worth + CENT
        return chosen, not is_too_much

    def move(self, pieces: dict[str, int], before: str, after: str, *, restock: bool = False) -> None:
        """Let the model know where pieces are now."""
        for one in self.lines:
            count = pieces.get(one.line.id, 0)
            setattr(one, before, getattr(one, before) - count)
            setattr(one, after, getattr(one, after) + count)
            one.restocked += count if restock else 0

    def take_off(self, pieces: dict[str, int], named: dict[str, Decimal]) -> None:
        """Let the model know what is taken off; where nothing is named for pieces, it is their price."""
        for one in self.lines:
            price = one.line.price * pieces.get(one.line.id, 0)
            amount = named.get(one.line.id, min(price, one.worth))
            one.off += amount
            self.wanted -= min(amount, self.wanted)

    @property
    def unsent(self) -> dict[str, int]:
        return {one.line.id: one.to_ship for one in self.lines}

    def ship(self) -> None:
        pieces, are_there = self.some("to_ship")
        if self.expect(are_there and any(pieces.values()), order_changes.ship, pieces=pieces, unpaid=True):
            self.move(pieces, "to_ship", "sent")

    def ship_all(self) -> None:
        if self.expect(self.order.status in (PLACED, SHIPPED), order_changes.ship, unpaid=True):
            self.move(self.unsent, "to_ship", "sent")

    def ship_first(self) -> None:
        """Ship something, if nothing was sent yet."""
        if not any(one.sent for one in self.lines) and any(self.unsent.values()):
            self.ship()
            self.look()

    def deliver(self) -> None:
        self.ship_first()
        parcels = [one.event.at for one in history(*orders.with_lines(self.order)).parcels]
        if parcels and self.random.random() < 0.7:
            self.expect(True, order_changes.deliver, parcel=self.random.choice(parcels))
        else:
            self.expect(self.order.status in (SHIPPED, DELIVERED), order_changes.deliver)

    def cancel(self) -> None:
        pieces, are_there = self.some("to_ship")
        if self.order.status == CANCELLED:  # it stays so
            self.expect(True, order_changes.cancel, pieces=pieces)
        elif self.expect(are_there and any(pieces.values()), order_changes.cancel, pieces=pieces):
            self.cancelled(pieces)

    def cancel_rest(self) -> None:
        if self.expect(self.order.status in (PLACED, CANCELLED), order_changes.cancel):
            self.cancelled(self.unsent)

    def cancelled(self, pieces: dict[str, int]) -> None:
        self.take_off(pieces, {})
        self.move(pieces, "to_ship", "cancelled", restock=True)

    def take_back(self) -> None:
        self.ship_first()
        pieces, are_there = self.some("sent")
        named, are_within = self.prices() if self.random.random() < 0.5 else ({}, True)
        is_allowed = are_there and are_within and (any(pieces.values()) or any(named.values()))
        given: dict[str, Any] = {"pieces": pieces, "amounts": named, "restock": self.random.random() < 0.7}
        if self.expect(is_allowed, order_returns.take_back, **given):
            self.take_off(pieces, named)
            self.move(pieces, "sent", "returned", restock=given["restock"])

    def reduce(self) -> None:
        named, are_within = self.prices()
        if self.expect(are_within and any(named.values()), order_returns.reduce, amounts=named):
            self.take_off({}, named)

    def charge(self) -> None:
        """Charge some instalments, now and then while something is taken off."""
        for _ in range(self.random.choice([1, 1, 4])):
            some = [one for one in self.paid if one.status in (SCHEDULED, FAILED, PENDING)]
            if not some:
                return
            if self.random.random() < 0.3:
                act = self.random.choice([Run.cancel, Run.cancel_rest, Run.take_back, Run.reduce])
                self.ledger.during = partial(act, self)
            payment = self.random.choice([some[0], self.random.choice(some)])
            self.now += HOUR  # no two tries are of one moment
            self.charge_one(payment, self.random.choice(["", "", "", "decline", "lost", "silent"]))
            self.ledger.during = lambda: None
            self.look()

    def charge_one(self, payment: Payment, outcome: str) -> None:
        place: dict[str, Any] = {"account": "ann", "due_at": payment.due_at, "payment_id": payment.id}
        if payment.status == PENDING:
            self.now = max(self.now, payment.next_at)
        else:
            again = payments.retry_now if payment.status == FAILED else payments.pay_early
            payment = again(**place, by="ann", now=self.now)
        self.tell(f"charge {payment.number} of {payment.of}: {outcome or 'paid'}")
        self.ledger.script = [outcome]
        charging.run_one(payment_item(payment), self.ledger, currency="EUR", clock=lambda: self.now)

    def refund_payment(self) -> None:
        """Have all that is left of a payment refunded, whatever was bought for it."""
        for payment in [one for one in self.paid if one.status == PROCESSED and one.kept][:1]:
            self.tell(f"refund {payment.number}")
            payments.refund("ann", payment.due_at, payment.id, reason="x", by="eve", now=self.now)
            self.wanted -= payment.kept

    def cancel_payment(self) -> None:
        for payment in [one for one in self.paid if one.status in (SCHEDULED, FAILED)][-1:]:
            self.tell(f"cancel {payment.number}")
            payments.cancel("ann", payment.due_at, payment.id, reason="x", by="eve", now=self.now)
            self.wanted -= payment.kept

    def close(self) -> None:
        """Move what was paid to the history."""
        for payment in self.paid[:1]:
            charging.close_shard(self.now.date(), shard(payment.id, charging.SHARDS))

    def never_pay(self) -> None:
        """Let the first payment be declined until it is given up, and wait until the order ends."""
        if self.paid[0].final or self.paid[0].status not in (SCHEDULED, FAILED):
            return
        while not (first := self.paid[0]).final:
            self.charge_one(first, "decline")
            self.now += 8 * DAY
            self.look()
        events, ends = len(self.order.timeline), self.order.status == PLACED and not self.is_paid
        self.work()
        assert len(self.order.timeline) == events + ends

    @property
    def is_paid(self) -> bool:
        return any(one.status in (PROCESSED, REFUNDED) for one in self.paid)

    def work(self) -> None:
        """Let the worker refund what is to be refunded, count what was moved, and end what nobody paid."""
        self.now += HOUR  # what happens at one time is stored a millisecond apart, and so are its jobs
        self.look()
        events, is_unpaid = len(self.order.timeline), self.paid[0].final and not self.is_paid
        self.tell("work")
        work(self.now, self.ledger)
        self.look()
        for event in self.order.timeline[events:]:
            assert (event.status, event.by, is_unpaid) == (CANCELLED, SITE, True)
            self.cancelled(self.unsent)
        assert not any(one.unwanted for one in self.paid if one.status != PENDING)
        money, totals = amounts(self.paid), self.totals()
        assert {state: totals[state] - self.totals_before[state] for state in STATES} == {
            state: getattr(money, state) for state in STATES
        }

    def totals(self) -> dict[str, Decimal]:
        """Return what the payments of the days and shards of the order's come to."""
        places = {keys.payment_totals(*place_of(one)) for one in self.paid}
        found = table.batch_get(places).values()
        return {state: sum((item.get(f"{state}_amount", 0) for item in found), ZERO) for state in STATES}

    # What must hold

    def check(self) -> None:
        order, bought = orders.with_lines(self.order)
        self.check_pieces(order, bought, history(order, bought).lines)
        self.check_cents(order, self.paid)

    def check_pieces(self, order: Order, bought: Sequence[Line], lines: Sequence[OrderLine]) -> None:
        for own, one in zip(self.lines, lines, strict=True):
            counts = own.to_ship, own.sent, own.cancelled, own.returned
            assert (one.to_ship, one.sent, one.cancelled, one.returned) == counts
            assert min(*counts, one.on_the_way, one.delivered) >= 0
            assert sum(counts) == one.line.quantity == own.line.quantity
            assert ZERO <= own.off <= own.line.total
            assert (one.taken_off, one.worth) == (own.off, own.worth)
        low, high = keys.cart_line.between(PURCHASED, order.placed_at)
        rows = [row for row in table.query_all(ANN.partition, low=low, high=high) if row["order"] == order.id]
        kept = {one.line.id: one.to_ship + one.sent for one in self.lines if one.to_ship + one.sent}
        assert {row["id"]: row["card"]["quantity"] for row in rows} == kept
        card = order.card
        assert card.to_ship == sum(one.to_ship for one in self.lines)
        assert card.taken_back == sum(one.cancelled + one.returned for one in self.lines)
        assert card.status == status_of(lines)
        stock = stock_of(one.line.deal for one in self.lines)
        for own in self.lines:
            before = self.stock[own.line.deal]
            left = None if before is None else before - own.line.quantity + own.restocked
            assert stock[own.line.deal] == left

    def check_cents(self, order: Order, paid: Sequence[Payment]) -> None:
        assert len(paid) == self.plan
        assert sum(one.amount for one in paid) == self.total == order.total
        assert max(one.amount for one in paid) - min(one.amount for one in paid) <= CENT
        for one in paid:
            assert ZERO <= one.cut < one.amount
            assert all(refund.amount > ZERO for refund in one.refunds)
            assert sum(refund.amount for refund in one.refunds) <= one.amount - one.cut
            held = {one.amount - one.cut - one.refunded if one.status == PROCESSED else ZERO}
            assert self.ledger.held[one.id] in held | ({one.to_charge} if one.status == PENDING else set())
        money = amounts(paid)
        assert order.card.money == money
        assert sum(getattr(money, state) for state in STATES) == self.total
        to_refund = sum((one.unwanted for one in paid), ZERO)
        assert money.open + money.failed + money.processed - to_refund == self.wanted


STEPS: list[Callable[[Run], None]] = [
    *[Run.charge] * 8,
    *[Run.ship, Run.take_back] * 4,
    *[Run.cancel, Run.reduce, Run.deliver, Run.work] * 2,
    *[Run.ship_all, Run.cancel_rest, Run.refund_payment, Run.cancel_payment, Run.close, Run.never_pay],
]


def steps_of(number: int) -> list[int]:
    """Return the numbers of a run's steps: 3 to 9."""
    return list(range(3 + number % 7))


def attempt(
    number: int, steps: Sequence[int], items: Iterable[Item], deals: Sequence[Deal]
) -> Exception | None:
    """Return how a run of these steps fails, if it does, noting what happened."""
    told = list[str]()
    with in_memory(Memory(items)):
        try:
            run = Run(number, deals)
            told = run.told
            run.go(steps)
        except Exception as error:  # noqa: BLE001 - whatever it is, the fewest steps that lead to it are looked for
            error.add_note("\n".join([f"run {number}, steps {steps}", *told]))
            return error
    return None


@pytest.mark.parametrize(
    "first", [pytest.param(n, marks=pytest.mark.sample(quick=0 if n else 1)) for n in range(0, RUNS, AT_ONCE)]
)
def test_whatever_happens_no_piece_and_no_cent_is_lost(first):
    memory = Memory()
    with in_memory(memory):
        deals = open_shop(f"{SEED} {first}")
    items = list(memory.items.values())
    for number in range(first, first + AT_ONCE):
        steps = steps_of(number)
        error = attempt(number, steps, items, deals)
        for one in steps if error else ():
            fewer = [step for step in steps if step != one]
            if found := attempt(number, fewer, items, deals):
                steps, error = fewer, found
        if error:
            raise error


@pytest.mark.thorough
@pytest.mark.engines("native", "local")
def test_what_is_in_memory_is_what_an_engine_holds(whole_table):
    """Their times and ids are given, so orders, their lines and payments, stock and totals are the same."""
    deals = open_shop(SEED)
    memory = Memory(table.scan_all())
    for number in range(EXAMPLES):
        Run(number, deals).go(steps_of(number))
        with in_memory(memory):
            Run(number, deals).go(steps_of(number))
    assert owned(memory.items.values()) == owned(table.scan_all())


def owned(items: Iterable[Item]) -> list[Item]:
    """Return what is stored of orders, but for what is left to chance."""
    kinds, but = (
        ("Order", "CartLine", "CartHead", "Payment", "PaymentTotals", "Offer"),
        (SCHEMA, "claimed_by"),
    )
    found = [
        {name: value for name, value in item.items() if name not in but}
        for item in items
        if item["type"] in kinds
    ]
    return sorted(found, key=lambda item: (item["PK"], item["SK"]))
