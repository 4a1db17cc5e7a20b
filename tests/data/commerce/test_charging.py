"""Runners charge what is due exactly once, and record what the gateway said."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest

from dealsite.data import table
from dealsite.data.commerce import charging, payment_record, payments
from dealsite.data.commerce.charging import LEASE, RETRY_AFTER
from dealsite.data.entities.commerce import CANCELLED, FAILED, PENDING, PROCESSED, REFUNDED
from dealsite.data.jobs import jobs
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from dealsite.gateways.interface import ChargeDecline, ChargeResult
from tests.builders import DAY, HOUR, NOW, make_id
from tests.gateways.ledger import Ledger
from tests.measuring import measured
from tests.payments import cancel_order, owe, place, read, run as run_at, work
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")
TODAY = NOW.date()
SOON = NOW + timedelta(minutes=1)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """One payment after the other, unless a test says otherwise."""
    monkeypatch.setattr(charging, "THREADS", 1)


def run(gateway, now=SOON):
    return run_at(gateway, now)


def counted(day=TODAY):
    """The totals of a day, those of nothing left out."""
    return {
        state: (found.count, found.amount)
        for state, found in payment_record.totals_of_days(day, day)[day].items()
        if found.count or found.amount
    }


def test_what_is_due_is_charged_and_recorded(wait_for_indexes):
    first, later, _ = owe(3)
    wait_for_indexes()
    gateway = Ledger()
    assert run(gateway) == Counter(processed=1)
    paid = read(first)
    assert (paid.status, paid.transaction_id, paid.processed_at) == (PROCESSED, f"txn-{first.id}-0", SOON)
    assert [(step.status, step.at) for step in paid.timeline] == [("SCHEDULED", NOW), ("PROCESSED", SOON)]
    assert read(later) == later
    assert gateway.charged == {first.id: 1}
    assert counted() == {"processed": (1, Decimal("30.00"))}
    wait_for_indexes()
    assert run(gateway) == Counter()


def test_what_is_declined_is_tried_again_by_plan_and_given_up_at_last(wait_for_indexes):
    (payment,) = owe(method="declines")
    gateway, now = Ledger(), SOON
    for number, wait in enumerate(RETRY_AFTER, 1):
        wait_for_indexes()
        assert run(gateway, now) == Counter(failed=1)
        failed = read(payment)
        assert (failed.status, failed.tries, failed.next_at) == (FAILED, number, now + wait)
        assert (failed.reason, failed.final) == ("Your card was declined.", False)
        wait_for_indexes()
        assert run(gateway, now + wait - timedelta(seconds=1)) == Counter()
        now += wait
    wait_for_indexes()
    assert run(gateway, now) == Counter(failed=1)
    assert read(payment).final is True
    wait_for_indexes()
    assert run(gateway, now + 100 * DAY) == Counter()
    assert gateway.asked == [f"{payment.id}-{number}" for number in range(len(RETRY_AFTER) + 1)]
    assert counted() == {"failed": (1, Decimal("90.00"))}


def test_a_card_that_works_at_the_second_try_pays(wait_for_indexes):
    (payment,) = owe()
    gateway = Ledger("decline")
    wait_for_indexes()
    run(gateway)
    wait_for_indexes()
    assert run(gateway, SOON + RETRY_AFTER[0]) == Counter(processed=1)
    paid = read(payment)
    assert (paid.status, paid.reason, paid.tries) == (PROCESSED, "", 1)
    assert counted() == {"processed": (1, Decimal("90.00"))}


@pytest.mark.parametrize("what", ["silent", "lost"])
def test_without_an_answer_a_payment_waits_for_its_lease_and_is_asked_again_under_its_key(
    what, wait_for_indexes
):
    (payment,) = owe()
    gateway = Ledger(what)
    wait_for_indexes()
    assert run(gateway) == Counter(unknown=1)
    assert read(payment).status == PENDING
    wait_for_indexes()
    assert run(gateway, SOON + LEASE - timedelta(seconds=1)) == Counter()
    assert run(gateway, SOON + LEASE) == Counter(processed=1)
    assert gateway.asked == [f"{payment.id}-0"] * 2
    assert gateway.charged == {payment.id: 1}


def test_a_charge_whose_key_the_gateway_forgot_is_looked_up(wait_for_indexes):
    (payment,) = owe()
    gateway = Ledger("lost")
    wait_for_indexes()
    run(gateway)
    gateway.asked.clear()
    wait_for_indexes()
    assert run(gateway, SOON + 2 * DAY) == Counter(processed=1)
    assert gateway.asked == []
    assert read(payment).transaction_id == f"txn-{payment.id}-0"


def test_an_old_try_that_the_gateway_never_saw_is_charged(wait_for_indexes):
    (payment,) = owe()
    gateway = Ledger("silent")
    wait_for_indexes()
    run(gateway)
    wait_for_indexes()
    assert run(gateway, SOON + 2 * DAY) == Counter(processed=1)
    assert gateway.charged == {payment.id: 1}


def test_without_a_card_nothing_is_charged(wait_for_indexes):
    (payment,) = owe(method="")
    gateway = Ledger()
    wait_for_indexes()
    assert run(gateway) == Counter(scheduled=1)
    assert read(payment).reason == "No card is on file for this payment."
    assert gateway.asked == []


def test_of_several_runners_one_claims(wait_for_indexes):
    owe()
    wait_for_indexes()
    (row,) = charging.due(now=SOON)
    claims = at_once(*[partial(charging.claim, row, now=SOON)] * 4)
    assert sum(claim is not None for claim in claims) == 1


def test_several_runners_charge_each_payment_once(wait_for_indexes, monkeypatch):
    monkeypatch.setattr(charging, "THREADS", 3)
    made = [owe(order_number=number)[0] for number in range(1, 9)]
    wait_for_indexes()
    gateway = Ledger()
    at_once(*[partial(run, gateway)] * 3)
    assert gateway.charged == {payment.id: 1 for payment in made}
    assert len(gateway.asked) == len(made)
    assert {read(payment).status for payment in made} == {PROCESSED}
    assert counted() == {"processed": (8, Decimal("720.00"))}


def test_an_answer_that_comes_after_the_lease_is_recorded_once(wait_for_indexes):
    (payment,) = owe()
    wait_for_indexes()
    gateway = Ledger()
    (row,) = charging.due(now=SOON)
    slow = measured(charging.claim)(row, now=SOON)
    wait_for_indexes()
    (row,) = charging.due(now=SOON + LEASE)
    quick = charging.claim(row, now=SOON + LEASE)
    outcomes = [charging.charge(one, gateway, currency="EUR", now=SOON) for one in (slow, quick)]
    assert outcomes[0] == outcomes[1]
    assert measured(charging.record)(quick, outcomes[1], now=SOON + LEASE).status == PROCESSED
    assert charging.record(slow, outcomes[0], now=SOON + 2 * LEASE) is None
    assert gateway.charged == {payment.id: 1}
    assert read(payment).processed_at == SOON + LEASE


def test_a_late_answer_is_recorded_even_while_another_runner_asks(wait_for_indexes):
    (payment,) = owe()
    wait_for_indexes()
    gateway = Ledger()
    (row,) = charging.due(now=SOON)
    slow = charging.claim(row, now=SOON)
    outcome = charging.charge(slow, gateway, currency="EUR", now=SOON)
    wait_for_indexes()
    (row,) = charging.due(now=SOON + LEASE)
    charging.claim(row, now=SOON + LEASE)
    assert charging.record(slow, outcome, now=SOON + LEASE).status == PROCESSED
    assert read(payment).status == PROCESSED


@pytest.mark.parametrize(
    "outcome", [ChargeResult("txn-1"), ChargeDecline("No.")], ids=["charged", "declined"]
)
def test_two_at_once_record_an_outcome_once(outcome, wait_for_indexes):
    owe()
    wait_for_indexes()
    (row,) = charging.due(now=SOON)
    claimed = charging.claim(row, now=SOON)
    found = at_once(
        partial(charging.record, claimed, outcome, now=SOON),
        partial(charging.record, claimed, outcome, now=SOON + timedelta(seconds=1)),
    )
    assert [one is None for one in found].count(True) == 1


def test_a_late_decline_does_not_touch_the_next_try(wait_for_indexes):
    (payment,) = owe()
    wait_for_indexes()
    (row,) = charging.due(now=SOON)
    slow = charging.claim(row, now=SOON)
    charging.record(slow, ChargeDecline("No."), now=SOON)
    wait_for_indexes()
    (row,) = charging.due(now=SOON + 2 * DAY)
    second = charging.claim(row, now=SOON + 2 * DAY)
    assert charging.record(slow, ChargeDecline("No."), now=SOON + 2 * DAY) is None
    assert read(payment) == second


def test_a_transaction_id_is_one_payments_own(wait_for_indexes):
    one, other = owe(order_number=1)[0], owe(order_number=2)[0]
    wait_for_indexes()
    rows = {row["card"]["id"]: row for row in charging.due(now=SOON)}
    first, second = (charging.claim(rows[payment.id], now=SOON) for payment in (one, other))
    assert charging.record(first, ChargeResult("txn-1"), now=SOON).status == PROCESSED
    after = charging.record(second, ChargeResult("txn-1"), now=SOON)
    assert (after.status, after.transaction_id) == (CANCELLED, "")
    assert "processed before" in read(other).reason


def cancel(made, now=SOON):
    cancel_order(made[0], now, "Too slow")


def test_cancelling_gives_back_what_is_paid_once(wait_for_indexes):
    made = owe(3)
    gateway = Ledger()
    wait_for_indexes()
    run(gateway)
    cancel(made)
    wait_for_indexes()
    work(SOON, gateway)
    wait_for_indexes()
    work(SOON + HOUR, gateway)
    assert [read(payment).status for payment in made] == ["REFUNDED", "CANCELLED", "CANCELLED"]
    assert gateway.refunded == {f"txn-{made[0].id}-0": 1}
    assert run(gateway, NOW + 100 * DAY) == Counter()
    assert counted() == {"refunded": (1, Decimal("30.00"))}


@pytest.mark.parametrize(("what", "status"), [("", "REFUNDED"), ("decline", "CANCELLED")])
def test_a_payment_whose_order_is_cancelled_while_it_is_charged_ends_well(what, status, wait_for_indexes):
    made = owe()
    gateway = Ledger(what)
    wait_for_indexes()
    gateway.during = lambda: cancel(made)
    run(gateway)
    gateway.during = lambda: None
    wait_for_indexes()
    work(SOON, gateway)
    assert read(made[0]).status == status
    assert sum(gateway.refunded.values()) == sum(gateway.charged.values())


def test_cancel_and_claim_at_once_leave_one_winner(wait_for_indexes):
    made = owe()
    wait_for_indexes()
    (row,) = measured(charging.due)(now=SOON)
    claimed, cancelled = at_once(partial(charging.claim, row, now=SOON), partial(cancel, made))
    payment = read(made[0])
    if claimed is None:
        assert payment.status == CANCELLED
    elif isinstance(cancelled, errors.Conflict):
        assert (payment.status, payment.refunds) == (PENDING, ())
    else:
        assert payment.status == PENDING
        assert payment.unwanted == payment.amount


def test_a_second_cancellation_changes_nothing(wait_for_indexes):
    made = owe()
    gateway = Ledger()
    wait_for_indexes()
    run(gateway)
    cancel(made)
    now_of = [read(made[0])]
    assert payments.cancel_writes(now_of, by="ann", reason="Again", now=SOON) == (now_of, [])
    _, too_late = payments.cancel_writes(made, by="ann", reason="Again", now=SOON)
    with pytest.raises(errors.Conflict):  # what was read before somebody else cancelled
        table.transact(too_late)


def act(action, payment, **more):
    return action("ann", payment.due_at, payment.id, by="kim", now=SOON, **more)


def test_a_payment_can_be_paid_early_from_another_card(wait_for_indexes):
    _, second, _ = owe(3)
    assert act(payments.pay_early, second, method="other").method == "other"
    again = act(payments.pay_early, second)
    assert (again.next_at, again.version) == (SOON, 2)
    wait_for_indexes()
    gateway = Ledger()
    assert run(gateway) == Counter(processed=2)
    assert read(second).status == PROCESSED
    assert act(payments.pay_early, second).status == PROCESSED
    assert counted(second.due_at.date()) == {"processed": (1, Decimal("30.00"))}


def test_a_payment_can_be_given_another_card():
    _, second, _ = owe(3)
    assert act(measured(payments.change_method), second, method="other").method == "other"


def test_a_payment_that_was_given_up_can_be_tried_again(wait_for_indexes, monkeypatch):
    monkeypatch.setattr(charging, "RETRY_AFTER", ())
    (payment,) = owe(method="declines")
    gateway = Ledger()
    wait_for_indexes()
    run(gateway)
    assert read(payment).final is True
    act(measured(payments.retry_now), payment, method="approves")
    wait_for_indexes()
    assert run(gateway) == Counter(processed=1)
    assert gateway.asked == [f"{payment.id}-0", f"{payment.id}-1"]


def test_a_payment_that_was_given_up_is_charged_to_a_card_that_is_given_then(wait_for_indexes, monkeypatch):
    monkeypatch.setattr(charging, "RETRY_AFTER", ())
    first, second, _ = owe(3, method="declines")
    gateway = Ledger()
    wait_for_indexes()
    assert run(gateway) == Counter(failed=1)
    act(payments.change_method, first, method="")
    assert read(first).final is True  # without a card there is nothing to try
    act(payments.change_method, first, method="approves")
    act(payments.change_method, second, method="approves")
    wait_for_indexes()
    assert run(gateway) == Counter(processed=1)
    assert read(second).next_at == second.due_at


def test_a_payment_can_be_cancelled_and_refunded_with_a_reason(wait_for_indexes):
    first, second, _ = owe(3)
    gateway = Ledger()
    wait_for_indexes()
    run(gateway)
    act(payments.cancel, second, reason="Agreed by phone")
    assert act(payments.cancel, second, reason="Agreed by phone").version == 2
    act(payments.refund, first, reason="Broken")
    act(payments.refund, first, reason="Broken")
    wait_for_indexes()
    work(SOON, gateway)
    assert [read(payment).status for payment in (first, second)] == ["REFUNDED", "CANCELLED"]
    assert gateway.refunded == {f"txn-{first.id}-0": 1}
    assert act(payments.refund, first, reason="Broken").status == REFUNDED


@pytest.mark.parametrize(
    "action",
    [payments.retry_now, payments.cancel, payments.refund, payments.pay_early, payments.change_method],
)
def test_what_is_being_charged_just_now_is_left_alone(action, wait_for_indexes):
    (payment,) = owe()
    wait_for_indexes()
    (row,) = charging.due(now=SOON)
    claimed = charging.claim(row, now=SOON)
    more = {"reason": "x"} if action in (payments.cancel, payments.refund) else {}
    if action is payments.change_method:
        more = {"method": "other"}
    if action is payments.retry_now:
        assert act(action, payment) == claimed
        return
    with pytest.raises(errors.Conflict, match="is being charged just now"):
        act(action, payment, **more)


def test_a_payment_that_is_not_there_is_not_found():
    with pytest.raises(errors.NotFound):
        payments.cancel("ann", NOW, make_id(NOW, 5), reason="x", by="kim", now=NOW)
    with pytest.raises(errors.NotFound):
        payments.cancel("ann", NOW, "nonsense", reason="x", by="kim", now=NOW)


def test_totals_jobs_are_applied_once():
    made = payments.new_payments(make_id(NOW, 1), "ann", Decimal(90), 3, method="x", first=NOW)
    job_id = new_ulid(NOW)
    place(made, job_id)
    job = jobs.get(job_id)
    at_once(*[partial(payment_record.apply_totals, job, NOW)] * 3)
    measured(payment_record.apply_totals)(job, NOW)
    whole = payment_record.whole_totals(payment_record.totals_of_days(NOW.date(), NOW.date() + 70 * DAY))
    assert whole["open"] == payment_record.Sum(3, Decimal("90.00"))


def test_a_job_gives_back_only_what_was_asked_for(wait_for_indexes):
    asked, other = owe(order_number=1)[0], owe(order_number=2)[0]
    gateway = Ledger()
    wait_for_indexes()
    run(gateway)
    act(payments.refund, asked, reason="x")
    refs = [payment.ref | {"account": "ann"} for payment in (asked, other)]
    job = jobs.Job(new_ulid(SOON), payments.REFUND_PAYMENT, {"payments": refs})
    for _ in range(2):
        charging.refund_payments(job, SOON, gateway=gateway, currency="EUR")
    assert [read(payment).status for payment in (asked, other)] == ["REFUNDED", "PROCESSED"]
    assert gateway.refunded == {f"txn-{asked.id}-0": 1}


class Unwilling(Ledger):
    """Gives nothing back."""

    def refund(self, *args, **more):
        return ChargeDecline("The bank said no.")


def test_a_refund_that_the_gateway_refuses_is_told_and_tried_again(wait_for_indexes):
    (payment,) = owe()
    gateway = Ledger()
    wait_for_indexes()
    run(gateway)
    act(payments.refund, payment, reason="x")
    job = jobs.Job(new_ulid(SOON), payments.REFUND_PAYMENT, {"payments": [payment.ref | {"account": "ann"}]})
    with pytest.raises(errors.DataError, match="The bank said no"):
        charging.refund_payments(job, SOON, gateway=Unwilling(), currency="EUR")
    assert read(payment).status == PROCESSED
    measured(charging.refund_payments)(job, SOON, gateway=gateway, currency="EUR")
    assert read(payment).status == REFUNDED
