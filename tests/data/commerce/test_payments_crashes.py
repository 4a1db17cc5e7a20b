"""A runner, and whoever closes a day, may end before or after every request: each payment is charged once."""

from __future__ import annotations

import contextlib
import itertools
from datetime import timedelta
from decimal import Decimal

import pytest

from dealsite.data.commerce import charging, orders, payment_lists
from dealsite.data.commerce.charging import LEASE
from dealsite.data.commerce.order_record import OrderMoney
from dealsite.data.entities.commerce import PENDING
from dealsite.data.integrity import checks
from dealsite.data.jobs.jobs import LEASE as JOB_LEASE
from tests.builders import DAY, HOUR, NOW
from tests.crashes import Crash, Crasher, at_any_request
from tests.gateways.ledger import Ledger
from tests.payments import cancel_order, close_day, lower, owe, read, run, work

pytestmark = pytest.mark.engines("native")
WHEN = pytest.mark.parametrize("when", ["before", "after"])


class CrashingLedger(Ledger):
    """A gateway whose n-th request is the last thing that a process does, before or after it is carried out."""

    def __init__(self, at, when):
        super().__init__()
        self.at, self.when, self.calls = at, when, 0

    def charge(self, *args, **more):
        return self._crash(super().charge, args, more)

    def refund(self, *args, **more):
        return self._crash(super().refund, args, more)

    def _crash(self, carry_out, args, more):
        self.calls += 1
        if self.calls == self.at and self.when == "before":
            raise Crash
        outcome = carry_out(*args, **more)
        if self.calls == self.at:
            raise Crash
        return outcome


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setattr(charging, "THREADS", 1)
    monkeypatch.setattr(charging.chance, "shuffle", lambda rows: None)
    monkeypatch.setattr(charging, "BATCH", 2)


def seed():
    """Two payments to be paid, one that is declined."""
    return [owe(order_number=1)[0], owe(order_number=2)[0], owe(order_number=3, method="declines")[0]]


def recover(gateway):
    """Another runner, when all leases are over; the day after, when the decline is tried again, is not yet."""
    later = NOW + max(LEASE, JOB_LEASE) + timedelta(seconds=1)
    run(gateway, later)
    work(later, gateway)
    return later


def whole():
    return [str(problem) for problem in checks.find()]


def listed_as_pending():
    return payment_lists.of_status(PENDING, NOW.date(), NOW.date()).rows


def assert_charged_once(made, gateway):
    one, other, declined = made
    assert gateway.charged == {one.id: 1, other.id: 1}
    assert [read(payment).status for payment in made] == ["PROCESSED", "PROCESSED", "FAILED"]
    assert (read(declined).tries, gateway.asked.count(f"{declined.id}-1")) == (1, 0)
    assert whole() == []


@at_any_request
@WHEN
def test_a_runner_may_end_at_any_request_to_the_table(when, new_table):
    for at in itertools.count(31):  # the queries before are the same whatever is due
        new_table()
        made, gateway = seed(), Ledger()
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            run(gateway, NOW)
        assert whole() == []
        recover(gateway)
        assert_charged_once(made, gateway)
        if not crasher.crashed:
            break
        assert at < 60
    assert at > 36


@WHEN
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_runner_may_end_at_any_request_to_the_gateway(at, when, fresh_table):
    made, gateway = seed(), CrashingLedger(at, when)
    with pytest.raises(Crash):
        run(gateway, NOW)
    assert whole() == []
    (pending,) = [one for one in map(read, made) if one.status == "PENDING"]
    assert pending.next_at <= NOW + LEASE
    assert [(row.id, row.listed_at) for row in listed_as_pending()] == [(pending.id, pending.due_at)]
    recover(gateway)
    assert_charged_once(made, gateway)
    assert listed_as_pending() == []


@at_any_request
@WHEN
def test_two_runners_of_which_one_ends_at_any_request(when, new_table):
    for at in range(31, 44):
        new_table()
        made, gateway = seed(), Ledger()
        with Crasher(at, when), contextlib.suppress(Crash):
            run(gateway, NOW)
        run(gateway, NOW + timedelta(seconds=1))  # within the lease of the one that ended
        recover(gateway)
        assert_charged_once(made, gateway)


def assert_parts_are_back(payment, gateway):
    now_is = read(payment)
    assert (now_is.status, now_is.refunded, now_is.unwanted) == ("PROCESSED", Decimal(50), Decimal(0))
    assert (gateway.held[payment.id], gateway.refunded.total()) == (Decimal(40), 2)
    assert orders.get("ann", payment.order).card.money == OrderMoney(
        processed=Decimal("40.00"), refunded=Decimal("50.00")
    )
    assert whole() == []


def lowered_twice(gateway):
    (payment,) = owe()
    run(gateway, NOW)
    lower(payment, "20.00", NOW)
    lower(payment, "30.00", NOW)
    return payment


@at_any_request
@WHEN
def test_a_refund_in_parts_may_end_at_any_request_to_the_table(when, new_table):
    for at in itertools.count(1):
        new_table()
        gateway = Ledger()
        payment = lowered_twice(gateway)
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            work(NOW, gateway)
        assert whole() == []
        recover(gateway)
        assert_parts_are_back(payment, gateway)
        if not crasher.crashed:
            break
        assert at < 60


@WHEN
@pytest.mark.parametrize("at", [2, 3])
def test_a_refund_in_parts_may_end_at_any_request_to_the_gateway(at, when, fresh_table):
    gateway = CrashingLedger(at, when)
    payment = lowered_twice(gateway)
    with pytest.raises(Crash):
        work(NOW, gateway)
    recover(gateway)
    assert_parts_are_back(payment, gateway)


def cancel(made):
    cancel_order(made[0], NOW)


@at_any_request
@WHEN
def test_a_refund_may_end_at_any_request_to_the_table(when, new_table):
    for at in itertools.count(1):
        new_table()
        made, gateway = owe(3), Ledger()
        run(gateway, NOW)
        cancel(made)
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            work(NOW, gateway)
        assert whole() == []
        recover(gateway)
        assert gateway.refunded == {f"txn-{made[0].id}-0": 1}
        assert [read(payment).status for payment in made] == ["REFUNDED", "CANCELLED", "CANCELLED"]
        assert whole() == []
        if not crasher.crashed:
            break
        assert at < 40
    assert at > 8


@WHEN
def test_a_refund_may_end_at_the_gateway(when, fresh_table):
    made = owe(1)
    gateway = CrashingLedger(2, when)
    run(gateway, NOW)
    cancel(made)
    with pytest.raises(Crash):
        work(NOW, gateway)
    recover(gateway)
    assert gateway.refunded == {f"txn-{made[0].id}-0": 1}
    assert read(made[0]).status == "REFUNDED"
    assert whole() == []


@at_any_request
@WHEN
def test_closing_a_day_may_end_at_any_request(when, new_table):
    partly = set()
    for at in itertools.count(1):
        new_table()
        made = [owe(order_number=number)[0] for number in range(1, 6)]
        run(Ledger(), NOW + HOUR)
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            close_day(NOW.date())
        partly.add(sum(read(payment).closed for payment in made))
        assert whole() == []
        close_day(NOW.date())
        assert all(read(payment).closed for payment in made)
        assert run(Ledger(), NOW + 30 * DAY) == {}
        assert whole() == []
        if not crasher.crashed:
            break
        assert at < 60
    assert {0, 5} < partly
