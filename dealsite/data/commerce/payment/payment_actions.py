"""What people do with a single payment: pay it early, try it again, cancel it, refund it.

Each reads the payment, changes it in one transaction with an entry in the audit log, and begins again if somebody
changed it in between. Repeating is harmless. All raise NotFound, and Conflict where the payment's status forbids it.
"""

from collections.abc import Callable
from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import table
from dealsite.data.commerce.payment.payment_record import Payment, Refund, Step
from dealsite.data.commerce.payments import cancelled, counted_change, get, refund_job
from dealsite.data.editing import audit
from dealsite.data.entities.payments import (
    CANCELLED,
    FAILED,
    PENDING,
    PROCESSED,
    REASON_CHARACTERS,
    REFUNDED,
    SCHEDULED,
)
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict, VersionConflict
from dealsite.data.table.ids import iso, new_ulid


@access_pattern("pay a payment early", "1 batch get + 1 transaction")
def pay_early(
    account: str, due_at: datetime, payment_id: str, *, method: str = "", by: str, now: datetime
) -> Payment:
    """Have a scheduled payment charged within seconds, from another card if `method` names one."""

    def change(payment: Payment) -> Payment | None:
        if payment.status == PROCESSED or (payment.next_at <= now and method in ("", payment.method)):
            return None
        _expect(payment, SCHEDULED)
        step = Step(SCHEDULED, now, by, "To be paid early")
        return payment.after(step, next_at=now, method=method or payment.method)

    return _act(account, due_at, payment_id, change, what="pay early", by=by, now=now)


@access_pattern("try a failed payment again", "1 batch get + 1 transaction")
def retry_now(
    account: str, due_at: datetime, payment_id: str, *, method: str = "", by: str, now: datetime
) -> Payment:
    """Have a failed payment tried again within seconds, from another card if `method` names one."""

    def change(payment: Payment) -> Payment | None:
        due = payment.next_at <= now and not payment.final
        if payment.status in (PENDING, PROCESSED) or (due and method in ("", payment.method)):
            return None
        _expect(payment, FAILED)
        step = Step(FAILED, now, by, "To be tried again")
        return payment.after(step, next_at=now, final=False, method=method or payment.method)

    return _act(account, due_at, payment_id, change, what="retry", by=by, now=now)


@access_pattern("charge another card", "1 batch get + 1 transaction")
def change_method(
    account: str, due_at: datetime, payment_id: str, *, method: str, by: str, now: datetime
) -> Payment:
    """Have a payment that is not paid charged from another card when its time comes."""

    def change(payment: Payment) -> Payment | None:
        if payment.method == method:
            return None
        _expect(payment, SCHEDULED, FAILED)
        return payment.after(Step(payment.status, now, by, "Another card"), method=method)

    return _act(account, due_at, payment_id, change, what="change card", by=by, now=now)


@access_pattern("cancel a payment", "1 batch get + 1 transaction")
def cancel(
    account: str, due_at: datetime, payment_id: str, *, reason: str, by: str, now: datetime
) -> Payment:
    """Cancel a payment that is neither paid nor being charged just now."""

    def change(payment: Payment) -> Payment | None:
        if payment.status == CANCELLED:
            return None
        _expect(payment, SCHEDULED, FAILED)
        return cancelled(payment, by=by, reason=reason[:REASON_CHARACTERS], now=now)

    return _act(account, due_at, payment_id, change, what="cancel", by=by, now=now, note=reason)


@access_pattern("order a refund", "1 batch get + 1 transaction")
def refund(
    account: str, due_at: datetime, payment_id: str, *, reason: str, by: str, now: datetime
) -> Payment:
    """Have a processed payment refunded."""
    reason = reason[:REASON_CHARACTERS]

    def change(payment: Payment) -> Payment | None:
        if payment.status == REFUNDED or (payment.status == PROCESSED and payment.refund):
            return None
        _expect(payment, PROCESSED)
        step = Step(PROCESSED, now, by, f"Refund asked for: {reason}")
        return payment.after(step, refund=Refund(reason, by, now))

    return _act(account, due_at, payment_id, change, what="refund", by=by, now=now, note=reason)


REFUSALS = {
    SCHEDULED: gettext_lazy("This payment is scheduled."),
    PENDING: gettext_lazy("This payment is being charged just now."),
    PROCESSED: gettext_lazy("This payment is paid."),
    FAILED: gettext_lazy("This payment failed."),
    CANCELLED: gettext_lazy("This payment is cancelled."),
    REFUNDED: gettext_lazy("This payment was refunded."),
}


def _expect(payment: Payment, *statuses: str) -> None:
    if payment.status not in statuses:
        raise Conflict(REFUSALS[payment.status])


def _act(
    account: str,
    due_at: datetime,
    payment_id: str,
    change: Callable[[Payment], Payment | None],
    *,
    what: str,
    by: str,
    now: datetime,
    note: str = "",
) -> Payment:
    """Change a payment as `change` says, which returns None where nothing is left to do."""

    def attempt() -> Payment:
        payment = get(account, due_at, payment_id)
        after = change(payment)
        if after is None:
            return payment
        writes = [
            *counted_change(payment, after),
            audit.entry_write(
                by=by,
                kind="payment",
                subject=payment.id,
                what=what,
                now=now,
                note=note,
                before={"status": payment.status, "next_at": iso(payment.next_at)},
                after={"status": after.status, "next_at": iso(after.next_at)},
            ),
        ]
        if after.refund is not None and payment.refund is None:
            writes.append(refund_job([after], now=now, job_id=new_ulid(now)))
        try:
            table.transact(writes)
        except Conflict as changed:
            raise VersionConflict() from changed
        return after

    return table.retrying(attempt)
