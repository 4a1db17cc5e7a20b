"""What questions about payments cost: how each is prepared, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

from dealsite.data import jobs, payments
from dealsite.data.convert import Item
from dealsite.data.ids import new_ulid
from dealsite.data.payments import closing, lists, loads, plans, refunding, running, steering, totals
from dealsite.data.payments.loads import Segment
from dealsite.data.payments.stored import Payment
from dealsite.gateways import Charged
from dealsite.loads.generated import GeneratedSource
from tests.builders import NOW, make_id
from tests.gateways.ledger import Ledger
from tests.payments import owe, place, run

TODAY = NOW.date()
Where = tuple[str, Any, str]


def where(payment: Payment) -> Where:
    return payment.account, payment.due_at, payment.id


def due_row() -> Item:
    owe()
    (row,) = running.due(now=NOW)
    return row


def claimed() -> Payment:
    payment = running.claim(due_row(), now=NOW)
    assert payment is not None
    return payment


def failed() -> Where:
    (payment,) = owe(method="declines")
    run(Ledger(), NOW)
    return where(payment)


def paid() -> Where:
    (payment,) = owe()
    run(Ledger(), NOW)
    return where(payment)


def to_give_back() -> jobs.Job:
    place = paid()
    steering.refund(*place, reason="x", by="kim", now=NOW)
    while job := jobs.take_next(now=NOW):
        if job.kind == payments.REFUND_PAYMENT:
            return job
        jobs.finish(job)
    raise AssertionError


def to_count() -> jobs.Job:
    job_id = new_ulid(NOW)
    made = plans.new_payments(make_id(NOW, 1), "ann", Decimal("90.00"), 3, method="x", first=NOW)
    place(made, job_id)
    return jobs.get(job_id)


SOURCE = GeneratedSource(loads.SEGMENTS * 10, first=NOW, days=2, size=10)


def first_segment() -> Segment:
    return loads.begin(SOURCE, now=NOW)[0]


MEASURED: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "payments.of_order": (
        lambda: owe(12),
        lambda made: payments.of_order("ann", [payment.ref for payment in made]),
    ),
    "payments.lists.coming": (owe, lambda _: lists.coming("ann", now=NOW)),
    "payments.lists.of_account": (owe, lambda _: lists.of_account("ann")),
    "payments.lists.history": (owe, lambda _: lists.history("ann")),
    "payments.lists.of_status": (owe, lambda _: lists.of_status(payments.SCHEDULED, TODAY, TODAY)),
    "payments.lists.history_of": (owe, lambda _: lists.history_of(TODAY, TODAY)),
    "payments.lists.by_transaction": (paid, lambda _: lists.by_transaction("x")),
    "payments.lists.overdue": (owe, lambda _: lists.overdue(now=NOW)),
    "payments.totals.of_days": (owe, lambda _: totals.of_days(TODAY, TODAY)),
    "payments.totals.apply_totals": (to_count, lambda job: totals.apply_totals(job, NOW)),
    "payments.running.due": (owe, lambda _: running.due(now=NOW)),
    "payments.running.claim": (due_row, lambda row: running.claim(row, now=NOW)),
    "payments.running.record": (claimed, lambda payment: running.record(payment, Charged("t"), now=NOW)),
    "payments.refunding.refund_payments": (
        to_give_back,
        lambda job: refunding.refund_payments(job, NOW, gateway=Ledger(), currency="EUR"),
    ),
    "payments.steering.pay_early": (
        lambda: where(owe(3)[1]),
        lambda place: steering.pay_early(*place, by="ann", now=NOW),
    ),
    "payments.steering.retry_now": (failed, lambda place: steering.retry_now(*place, by="ann", now=NOW)),
    "payments.steering.change_method": (
        lambda: where(owe(3)[1]),
        lambda place: steering.change_method(*place, method="another", by="ann", now=NOW),
    ),
    "payments.steering.cancel": (
        lambda: where(owe()[0]),
        lambda place: steering.cancel(*place, reason="x", by="kim", now=NOW),
    ),
    "payments.steering.refund": (
        paid,
        lambda place: steering.refund(*place, reason="x", by="kim", now=NOW),
    ),
    "payments.closing.close_day": (paid, lambda _: closing.close_day(TODAY + timedelta(days=1))),
    "payments.loads.begin": (lambda: None, lambda _: loads.begin(SOURCE, now=NOW)),
    "payments.loads.load_segment": (first_segment, lambda segment: loads.load_segment(SOURCE, segment)),
}
