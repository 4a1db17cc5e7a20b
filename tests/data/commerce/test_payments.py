"""Payments of orders: what they come to, and what checkout and cancelling do with them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from dealsite.data import table
from dealsite.data.commerce import payments
from dealsite.data.entities.commerce import CANCELLED, PLANS
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid, time_of
from tests.builders import DAY, NOW, make_id
from tests.measuring import measured

ORDER = make_id(NOW, 77)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@given(
    cents=st.integers(min_value=0, max_value=10**9),
    plan=st.sampled_from(PLANS),
    first=st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2090, 1, 1)),  # noqa: DTZ001
)
def test_instalments_add_up_to_the_cent_and_come_once_a_month(cents, plan, first):
    total, first = Decimal(cents) / 100, first.replace(tzinfo=UTC)
    found = payments.instalments(total, plan, first=first)
    amounts = [amount for _, amount in found]
    assert sum(amounts) == total
    assert amounts == sorted(amounts, reverse=True)
    assert max(amounts) - min(amounts) <= Decimal("0.01")
    assert found[0][0] == first
    months = [due.year * 12 + due.month for due, _ in found]
    assert months == list(range(months[0], months[0] + plan))
    assert all(due.day == first.day or (due.day < first.day and (due + DAY).day == 1) for due, _ in found)
    assert {due.time() for due, _ in found} == {first.time()}


def test_month_ends_follow_the_first_day_not_each_other():
    found = payments.instalments(Decimal("100.00"), 3, first=at("2027-01-31T09:00:00"))
    assert found == [
        (at("2027-01-31T09:00:00"), Decimal("33.34")),
        (at("2027-02-28T09:00:00"), Decimal("33.33")),
        (at("2027-03-31T09:00:00"), Decimal("33.33")),
    ]
    assert payments.months_later(at("2028-01-30T00:00:00"), 1) == at("2028-02-29T00:00:00")
    assert payments.months_later(at("2026-11-30T00:00:00"), 14) == at("2028-01-30T00:00:00")


@pytest.mark.parametrize(("total", "plan"), [("10.00", 2), ("-1.00", 1), ("1.005", 1)])
def test_what_is_no_plan_or_no_amount_is_refused(total, plan):
    with pytest.raises(ValueError, match="instalments"):
        payments.instalments(Decimal(total), plan, first=NOW)


@pytest.mark.parametrize(
    ("total", "expected"), [("0.50", (1,)), ("2.99", (1,)), ("3.00", (1, 3)), ("12.00", (1, 3, 6, 12))]
)
def test_no_instalment_is_below_one_unit(total, expected):
    assert payments.plans_for(Decimal(total)) == expected


def test_the_same_order_has_the_same_payments_and_another_one_others():
    one = payments.new_payments(ORDER, "ann", Decimal("99.99"), 12, method="tok", first=NOW)
    again = payments.new_payments(ORDER, "ann", Decimal("99.99"), 12, method="tok", first=NOW)
    other = payments.new_payments(make_id(NOW, 78), "ann", Decimal("99.99"), 12, method="tok", first=NOW)
    assert one == again
    assert len({payment.id for payment in (*one, *other)}) == 24
    assert {time_of(payment.id) for payment in one} == {NOW}
    assert [(payment.number, payment.of) for payment in one] == [(n, 12) for n in range(1, 13)]
    assert payments.new_payments(ORDER, "ann", Decimal("0.00"), 1, method="", first=NOW) == []


def place(plan=3, total="100.00", method="tok", first=NOW):
    """Store an order's payments as checkout does; returns them."""
    made = payments.new_payments(ORDER, "ann", Decimal(total), plan, method=method, first=first)
    table.transact(payments.insert_writes(made, now=NOW, job_id=new_ulid(NOW)))
    return made


@pytest.mark.usefixtures("fresh_table")
def test_payments_are_read_as_they_were_stored():
    made = place()
    assert payments.of_order("ann", [payment.ref for payment in made]) == made
    assert payments.of_order("bob", [payment.ref for payment in made]) == []


@pytest.mark.usefixtures("fresh_table")
def test_cancelling_touches_each_payment_once():
    made = place(12)
    later = NOW + timedelta(hours=1)
    cancelled, writes = payments.cancel_writes(made, by="ann", reason="No longer needed", now=later)
    assert len(writes) == 13
    table.transact(writes)
    found = measured(payments.of_order)("ann", [payment.ref for payment in made])
    assert found == cancelled
    assert {payment.status for payment in found} == {CANCELLED}
    assert {(payment.reason, payment.next_at) for payment in found} == {("No longer needed", later)}


@pytest.mark.usefixtures("fresh_table")
def test_a_payment_is_inserted_only_if_it_is_not_there():
    (payment,) = place(1)
    with pytest.raises(errors.Conflict):
        table.write(payments.insert_write(payment))


@pytest.mark.usefixtures("fresh_table")
def test_payments_that_move_to_the_history_while_they_are_read_are_read_again(monkeypatch):
    made, batch_get = place(), table.batch_get
    unseen: list[dict] = [{}]
    monkeypatch.setattr(table, "batch_get", lambda wanted: unseen.pop() if unseen else batch_get(wanted))
    assert payments.of_order("ann", [payment.ref for payment in made]) == made
