"""Giving money back: the job that a cancelled order or the back office leaves."""

from __future__ import annotations

from datetime import datetime

from dealsite.data import jobs, table
from dealsite.data.errors import Busy, Conflict, DataError
from dealsite.data.ids import from_iso
from dealsite.data.payments import totals
from dealsite.data.payments.changes import change_write, get
from dealsite.data.payments.notices import notice_writes
from dealsite.data.payments.running import RUNNER, TRIES
from dealsite.data.payments.stored import PROCESSED, REFUNDED, Payment, Step
from dealsite.gateways.interface import Declined, Gateway, GatewayUnavailable


def refund_payments(job: jobs.Job, now: datetime, *, gateway: Gateway, currency: str) -> None:
    """Carry out a job of this kind: each payment once, however often it is run.

    DataError where the gateway refuses or does not answer: the job is tried again. For each payment 1 batch get,
    the gateway's request, 1 transaction.
    """
    failed: list[str] = []
    for ref in job.payload["payments"]:
        payment = get(ref["account"], from_iso(ref["due_at"]), ref["id"])
        if payment.status != PROCESSED or payment.refund is None:
            continue
        try:
            outcome = gateway.refund(
                payment.transaction_id,
                payment.amount,
                currency,
                idempotency_key=f"{payment.id}-refund",
            )
        except GatewayUnavailable as error:
            failed.append(f"Payment {payment.id}: {error}")
            continue
        if isinstance(outcome, Declined):
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
                    *totals.writes(totals.changes(payment, after)),
                    *notice_writes(after, now=now),
                ]
            )
        except Conflict:
            payment = get(payment.account, payment.due_at, payment.id)
            continue
        return after
    raise Busy()
