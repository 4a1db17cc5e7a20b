"""Examples of what is asked of payments."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from dealsite.data.commerce import payments
from dealsite.data.commerce.payment import (
    charging,
    day_closing,
    payment_actions,
    payment_lists,
    payment_loads,
    payment_totals,
)
from dealsite.data.commerce.payment.payment_loads import Segment
from dealsite.data.commerce.payment.payment_record import Payment
from dealsite.data.entities.payments import SEGMENTS
from dealsite.data.jobs import jobs
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import new_ulid, shard
from dealsite.gateways.interface import ChargeResult
from dealsite.loads.payments import GeneratedSource
from tests.builders import NOW, make_id
from tests.data.examples import measures
from tests.gateways.ledger import Ledger
from tests.payments import owe, place, run

TODAY = NOW.date()
Where = tuple[str, Any, str]


def where(payment: Payment) -> Where:
    return payment.account, payment.due_at, payment.id


def due_row() -> Item:
    owe()
    (row,) = charging.due(now=NOW)
    return row


def claimed() -> Payment:
    payment = charging.claim(due_row(), now=NOW)
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


def to_refund() -> jobs.Job:
    place = paid()
    payment_actions.refund(*place, reason="x", by="kim", now=NOW)
    while job := jobs.take_next(now=NOW):
        if job.kind == payments.REFUND_PAYMENT:
            return job
        jobs.finish(job)
    raise AssertionError


def to_count() -> jobs.Job:
    job_id = new_ulid(NOW)
    made = payments.new_payments(make_id(NOW, 1), "ann", Decimal("90.00"), 3, method="x", first=NOW)
    place(made, job_id)
    return jobs.get(job_id)


SOURCE = GeneratedSource(SEGMENTS * 10, first=NOW, days=2, size=10)


def first_segment() -> Segment:
    return payment_loads.begin(SOURCE, now=NOW)[0]


measures(payments.of_order, lambda: owe(12))(
    lambda made: payments.of_order("ann", [payment.ref for payment in made])
)
measures(payment_lists.coming, owe)(lambda _: payment_lists.coming("ann", now=NOW))
measures(payment_lists.of_account, owe)(lambda _: payment_lists.of_account("ann"))
measures(payment_lists.history, owe)(lambda _: payment_lists.history("ann"))
measures(payment_lists.of_status, owe)(lambda _: payment_lists.of_status(payments.SCHEDULED, TODAY, TODAY))
measures(payment_lists.pending, claimed)(lambda _: payment_lists.pending(TODAY, TODAY))
measures(payment_lists.history_of, owe)(lambda _: payment_lists.history_of(TODAY, TODAY))
measures(payment_lists.by_transaction, paid)(lambda _: payment_lists.by_transaction("x"))
measures(payment_lists.overdue, owe)(lambda _: payment_lists.overdue(now=NOW))
measures(payment_totals.of_days, owe)(lambda _: payment_totals.of_days(TODAY, TODAY))
measures(payment_totals.apply_totals, to_count)(lambda job: payment_totals.apply_totals(job, NOW))
measures(charging.due, owe)(lambda _: charging.due(now=NOW))
measures(charging.claim, due_row)(lambda row: charging.claim(row, now=NOW))
measures(charging.record, claimed)(lambda payment: charging.record(payment, ChargeResult("t"), now=NOW))
measures(charging.refund_payments, to_refund)(
    lambda job: charging.refund_payments(job, NOW, gateway=Ledger(), currency="EUR")
)
measures(payment_actions.pay_early, lambda: where(owe(3)[1]))(
    lambda place: payment_actions.pay_early(*place, by="ann", now=NOW)
)
measures(payment_actions.retry_now, failed)(
    lambda place: payment_actions.retry_now(*place, by="ann", now=NOW)
)
measures(payment_actions.change_method, lambda: where(owe(3)[1]))(
    lambda place: payment_actions.change_method(*place, method="another", by="ann", now=NOW)
)
measures(payment_actions.cancel, lambda: where(owe()[0]))(
    lambda place: payment_actions.cancel(*place, reason="x", by="kim", now=NOW)
)
measures(payment_actions.refund, paid)(
    lambda place: payment_actions.refund(*place, reason="x", by="kim", now=NOW)
)
measures(payment_loads.begin)(lambda: payment_loads.begin(SOURCE, now=NOW))
measures(payment_loads.load_segment, first_segment)(
    lambda segment: payment_loads.load_segment(SOURCE, segment)
)
measures(day_closing.close_shard, paid)(
    lambda payment: day_closing.close_shard(TODAY + timedelta(days=1), shard(payment[2], day_closing.SHARDS))
)
