"""Payments for tests: orders that owe, and how to let runners and jobs do their work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import partial

from benchmarks.generated_payments import GeneratedSource
from dealsite.data import keys, table
from dealsite.data.commerce import (
    carts,
    charging,
    order_changes,
    orders,
    payment_loads,
    payment_record,
    payments,
)
from dealsite.data.commerce.addresses import Address
from dealsite.data.commerce.carts import Line, line_item
from dealsite.data.commerce.order_record import Event, Order, OrderCard, OrderMoney, order_item
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.editing import audit
from dealsite.data.entities.commerce import PLACED, PURCHASED
from dealsite.data.jobs import jobs
from dealsite.data.names import USERNAME_PATTERN
from dealsite.data.table.errors import Conflict, VersionConflict
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Put, Update, absent, equals
from dealsite.gateways.interface import Gateway
from dealsite.gateways.testing import TestGateway
from tests.builders import NOW, make_id
from tests.gateways.ledger import Ledger
from tests.jobs import places
from tests.people import give_card, make_user


def owe(
    plan: int = 1,
    total: str = "90.00",
    *,
    method: str = "approves",
    order_number: int = 1,
    account: str = "ann",
    first: datetime = NOW,
) -> list[Payment]:
    """Store an order with its payments, all counted; returns the payments."""
    order_id = make_id(NOW, order_number)
    made = payments.new_payments(order_id, account, Decimal(total), plan, method=method, first=first)
    job_id = new_ulid(NOW)
    place(made, job_id)
    job = jobs.get(job_id)
    payment_record.apply_totals(job, NOW)
    return made


def place(made: list[Payment], job_id: str) -> None:
    """Store an order of one line with its payments as checkout does, still to be counted by a job."""
    if USERNAME_PATTERN.fullmatch(made[0].account) and table.get(keys.user(made[0].account)) is None:
        make_user(made[0].account)
        give_card(made[0].account, "approves")
    total = sum((payment.amount for payment in made), Decimal(0))
    order_id, account, at = made[0].order, made[0].account, made[0].due_at
    card = OrderCard(order_id, account, "Ann", PLACED, at, total, 1, 1, made[0].of, OrderMoney.of(made))
    refs = tuple(payment.ref for payment in made)
    order = Order(
        card,
        1,
        Address("Ann", "Long Street 1", "", "12345", "Town", "Country"),
        "ann@example.org",
        refs,
        (Event(PLACED, at, account),),
    )
    line = Line(
        id=order_id,
        deal=order_id,
        status=PURCHASED,
        at=at,
        quantity=1,
        title="Keyboard",
        brand="nordlicht",
        brand_name="Nordlicht",
        category="toys-hobbies",
        price=total,
        username=account,
        order=order_id,
    )
    cart = carts.user_cart(account)
    table.transact(
        [
            Put(key=keys.order(account, order_id), item=order_item(order), when=(absent(),)),
            Put(key=cart.line(PURCHASED, at, line.id), item=line_item(line, cart, None), when=(absent(),)),
            audit.entry_write(by=account, kind="order", subject=order_id, what="placed", now=at),
            *payments.insert_writes(made, now=NOW, job_id=job_id),
        ]
    )


def work(now: datetime, gateway: Gateway) -> None:
    """Carry out the jobs of payments that are due."""
    handlers: dict[str, jobs.Handler] = {
        payment_record.PAYMENT_TOTALS: payment_record.apply_totals,
        order_changes.EXPIRE_ORDER: order_changes.expire,
        payments.REFUND_PAYMENT: partial(charging.refund_payments, gateway=gateway, currency="EUR"),
    }
    while (job := jobs.take_next(now=now, at=places())) is not None:
        handler = handlers.get(job.kind)
        if handler is not None:
            handler(job, now)
        jobs.finish(job)


def run(gateway: Gateway, now: datetime) -> Counter[str]:
    """Let one runner charge what is due."""
    return charging.run_due(gateway, currency="EUR", clock=lambda: now)


def cancel_order(payment: Payment, now: datetime, reason: str = "x") -> Order:
    """Cancel the order of a payment."""
    return order_changes.cancel(payment.account, payment.order, by=payment.account, reason=reason, now=now)


def lower(payment: Payment, amount: str, now: datetime) -> None:
    """Have so much less to be paid of the order of a payment."""
    key = keys.order(payment.account, payment.order)

    def attempt() -> None:
        order = orders.get(payment.account, payment.order)
        found = payments.of_order(payment.account, order.payments)
        after, writes = payments.cancel_writes(found, Decimal(amount), by="kim", reason="Fewer", now=now)
        money = Update(
            key=key,
            set={("card", "money"): payment_record.sums(after)},
            add={"version": 1},
            when=(equals("version", order.version),),
        )
        try:
            table.transact([money, *writes])
        except Conflict as changed:
            raise VersionConflict() from changed

    table.retrying(attempt)


def pay(order: Order, *script: str) -> Order:
    """Charge the first payment of an order, which a script of a ledger can decline; return the order after it."""
    charging.charge_first(order, Ledger(*script), currency="EUR", clock=lambda: order.placed_at)
    return orders.get(order.username, order.id)


def read(payment: Payment) -> Payment:
    """Return a payment as it is now."""
    return payments.of_order(payment.account, [payment.ref])[0]


def seed_payments(wait_for_indexes: Callable[[], None] = lambda: None) -> list[Payment]:
    """Store an item of every type that has to do with payments; returns those of one order."""
    made = owe(3, order_number=600, method="test:approve")
    owe(1, order_number=601, method="test:decline")
    gateway = TestGateway()
    give_card(made[0].account, "test:approve")
    wait_for_indexes()
    row, *_ = [row for row in charging.due(now=NOW) if row["card"]["order"] == made[0].order]
    assert charging.run_one(row, gateway, currency="EUR", clock=lambda: NOW) == "processed"
    source = GeneratedSource(5, first=NOW, days=2, size=10)
    for segment in payment_loads.begin(source, now=NOW):
        payment_loads.load_segment(source, segment)
    return made


class PaymentList:
    """A source of a load: a list of payments."""

    def __init__(self, number: int, made: list[Payment]) -> None:
        self.id, self.name, self.made = new_ulid(NOW, number), "a list", made

    @property
    def total(self) -> int:
        return len(self.made)

    def bounds(self, segment: int, segments: int) -> tuple[int, int]:
        return self.total * segment // segments, self.total * (segment + 1) // segments

    def payments(self, start: int, end: int) -> Iterator[tuple[Payment, int, int]]:
        for number in range(start, end):
            yield self.made[number], number, number + 1


def close_day(day: date, *, advance: Callable[[int], None] = lambda _: None) -> int:
    """Move a day's payments to the history, one shard after the other; returns how many were moved."""
    return sum(charging.close_shard(day, shard, advance=advance) for shard in range(charging.SHARDS))
