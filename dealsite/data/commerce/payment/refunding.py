"""Giving money back: the job that a cancelled order or the back office leaves."""

from __future__ import annotations

from datetime import datetime

from dealsite.data import table
from dealsite.data.commerce.payment import payment_totals
from dealsite.data.commerce.payment.charging import RUNNER, TRIES
from dealsite.data.commerce.payment.order_payments import RefundPayload, change_write, get
from dealsite.data.commerce.payment.payment_notices import notice_writes
from dealsite.data.commerce.payment.payment_record import PROCESSED, REFUNDED, Payment, Step
from dealsite.data.jobs import jobs
from dealsite.data.jobs.payloads import from_item
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Busy, Conflict, DataError
from dealsite.gateways.interface import ChargeDecline, Gateway, GatewayUnavailable


@access_pattern(
    "refund a payment",
    "PAYMENTS#account, TXN#tid, PAYTOTALS#day#k, JOB#id / due_at#id, itself",
    "1 batch get + 1 transaction",
)
def refund_payments(job: jobs.Job, now: datetime, *, gateway: Gateway, currency: str) -> None:
    """Carry out a job of this kind: each payment once, however often it is run.

    DataError where the gateway refuses or does not answer: the job is tried again. For each payment 1 batch get,
    the gateway's request, 1 transaction.
    """
    failed: list[str] = []
    for ref in from_item(RefundPayload, job.payload).payments:
        payment = get(ref.account, ref.due_at, ref.id)
        if payment.status != PROCESSED or payment.refund is None:
            continue
        try:
            outcome = gateway.refund(
                payment.transaction_id, payment.amount, currency, idempotency_key=f"{payment.id}-refund"
            )
        except GatewayUnavailable as error:
            failed.append(f"Payment {payment.id}: {error}")
            continue
        if isinstance(outcome, ChargeDecline):
            failed.append(f"Payment {payment.id}: {outcome.reason}")
        else:
            record_refund(payment, now=now)
    if failed:
        raise DataError(" ".join(failed))


def record_refund(payment: Payment, *, now: datetime) -> Payment:
    """Store that a payment was given back; harmless if it is. 1 transaction; more while its day is being closed."""
    for _ in range(TRIES):
        if payment.status == REFUNDED:
            return payment
        note = payment.refund.reason if payment.refund else ""
        after = payment.after(Step(REFUNDED, now, RUNNER, note), next_at=now)
        try:
            table.transact(
                [
                    change_write(payment, after),
                    *payment_totals.writes(payment_totals.changes(payment, after)),
                    *notice_writes(after, now=now),
                ]
            )
        except Conflict:
            payment = get(payment.account, payment.due_at, payment.id)
            continue
        return after
    raise Busy()
