"""Payments against the gateway's own books: whatever people, runners and crashes do, in any order.

`make test` makes 5 runs, `make test-all` 20 others. PAYMENT_RUNS in the environment asks for more than these 25.
"""

from __future__ import annotations

import contextlib
import os
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from dealsite.data.commerce import charging, orders, payment_record, payments
from dealsite.data.commerce.order_record import OrderMoney
from dealsite.data.entities.commerce import CANCELLED, PENDING, PLANS, PROCESSED, REFUNDED
from dealsite.data.integrity import checks
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from dealsite.gateways.interface import GatewayUnavailable
from tests.builders import DAY, HOUR, NOW, make_id
from tests.gateways.ledger import Ledger
from tests.payments import cancel_order, close_day, lower, place, read, run, work

RUNS = max(25, int(os.environ.get("PAYMENT_RUNS") or 0))
FIRST_RUNS = 5
STEPS = 40
MILLISECOND = timedelta(milliseconds=1)
SPANS = [timedelta(seconds=30), timedelta(minutes=2), HOUR, DAY, 8 * DAY, 31 * DAY]
ACTIONS = [
    *["order", "run", "run", "run", "wait", "wait", "wait", "work"],
    *["cancel_order", "pay_early", "retry_now", "cancel", "refund", "close_day"],
    *["lower", "lower"],
    *["die_claimed", "die_charged", "answer_late", "change_method"],
]
numbers = st.integers(min_value=0, max_value=1_000)
outcomes = st.sampled_from(["", "", "decline", "silent", "lost"])


class Machine(RuleBasedStateMachine):
    """What happens to a few orders' payments."""

    new_table = staticmethod(lambda: None)

    @initialize()
    def begin(self):
        self.new_table()
        self.now, self.gateway = NOW, Ledger()
        self.made, self.cancelled, self.late = [], set(), []

    @rule(action=st.sampled_from(ACTIONS), number=numbers, outcome=outcomes)
    def step(self, action, number, outcome):
        self.now += MILLISECOND  # by a clock that stood still, two declines of a payment would be one mail
        self.gateway.script = [outcome] if outcome else []
        with contextlib.suppress(errors.Conflict, GatewayUnavailable):  # it cannot be done just now
            getattr(self, action)(number)
        self.gateway.script = []
        self.books_agree()

    def order(self, number):
        if len({payment.order for payment in self.made}) >= 3:
            return
        order_id = make_id(self.now, len(self.made) + 1)
        total, plan = Decimal(300 + number) / 100, PLANS[number % 2]
        made = payments.new_payments(order_id, "ann", total, plan, method="approves", first=self.now)
        assert sum(payment.amount for payment in made) == total
        place(made, new_ulid(self.now))
        self.made += made

    def run(self, number):
        run(self.gateway, self.now)

    def wait(self, number):
        self.now += SPANS[number % len(SPANS)]

    def work(self, number):
        work(self.now, self.gateway)

    def cancel_order(self, number):
        if self.made:
            payment = self.any(number)
            cancel_order(payment, self.now)
            self.cancelled.add(payment.order)

    def lower(self, number):
        if self.made:
            lower(self.any(number), f"{number // 10}.{number % 100:02}", self.now)

    def pay_early(self, number):
        self.act(payments.pay_early, number)

    def retry_now(self, number):
        self.act(payments.retry_now, number)

    def change_method(self, number):
        self.act(payments.change_method, number, method=["approves", "declines"][number % 2])

    def cancel(self, number):
        self.act(payments.cancel, number, reason="x")

    def refund(self, number):
        self.act(payments.refund, number, reason="x")

    def close_day(self, number):
        close_day(self.now.date() - DAY)

    def die_claimed(self, number):
        for row in charging.due(now=self.now)[:1]:
            charging.claim(row, now=self.now)

    def die_charged(self, number):
        """Charge, and end before the answer is stored; or keep it for later."""
        for row in charging.due(now=self.now)[:1]:
            payment = charging.claim(row, now=self.now)
            outcome = charging.charge(payment, self.gateway, currency="EUR", now=self.now)
            self.late.append((payment, outcome))

    def answer_late(self, number):
        if self.late:
            charging.record(*self.late.pop(number % len(self.late)), now=self.now)

    def any(self, number):
        return self.made[number % len(self.made)]

    def act(self, action, number, **more):
        if self.made:
            payment = self.any(number)
            action("ann", payment.due_at, payment.id, by="kim", now=self.now, **more)

    def books_agree(self):
        found = [read(payment) for payment in self.made]
        for name in {payment.order for payment in found}:
            order = orders.get("ann", name)
            assert order.card.money == OrderMoney.of(one for one in found if one.order == name)
        for payment in found:
            charged = self.gateway.charged[payment.id]
            assert charged <= 1
            assert self.gateway.held[payment.id] in (0, payment.to_charge - payment.refunded)
            if payment.status in (PROCESSED, REFUNDED):
                assert charged == 1
                assert self.gateway.held[payment.id] == payment_record.amounts_of(payment)["processed"]
            if payment.status == CANCELLED:
                assert charged == 0

    def teardown(self):
        if not hasattr(self, "made"):
            return
        assert [str(problem) for problem in checks.find()] == []
        for _ in range(3):  # what runners left is taken up when their leases are over
            self.now += 2 * charging.LEASE
            run(self.gateway, self.now)
            work(self.now, self.gateway)
        self.books_agree()
        for payment in map(read, self.made):
            assert payment.status != PENDING
            if self.gateway.charged[payment.id]:
                assert payment.status in (PROCESSED, REFUNDED)
                assert payment.order not in self.cancelled or payment.status == REFUNDED
            elif payment.order in self.cancelled:
                assert payment.status == CANCELLED
        assert [str(problem) for problem in checks.find()] == []


@pytest.mark.sample(quick=2)
@pytest.mark.engines("native")
@pytest.mark.parametrize("runs", [FIRST_RUNS, pytest.param(RUNS - FIRST_RUNS, marks=pytest.mark.thorough)])
def test_the_gateways_books_and_the_tables_agree_whatever_happens(runs, new_table, monkeypatch):
    monkeypatch.setattr(charging, "THREADS", 1)
    Machine.new_table = staticmethod(new_table)
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=runs,
            stateful_step_count=STEPS,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
