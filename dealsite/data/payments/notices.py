"""What tells a shopper what became of a payment: a job of the same transaction, which sends message and mail."""

from __future__ import annotations

from datetime import datetime

from dealsite.data.convert import Item
from dealsite.data.ids import iso, new_ulid
from dealsite.data.jobs import job_write
from dealsite.data.payments.stored import FAILED, Payment
from dealsite.data.writes import Write

PAYMENT_NOTICE = "payment_notice"  # the kind of job
MESSAGE_KIND = "payment"


def notice_writes(payment: Payment, *, now: datetime) -> list[Write]:
    """Return the write that has an order's owner told of its payment; none for a payment that was loaded."""
    if not payment.order:
        return []
    payload: Item = {
        "account": payment.account,
        "order": payment.order,
        "number": payment.number,
        "of": payment.of,
        "amount": payment.amount,
        "status": payment.status,
        "reason": payment.reason,
    }
    if payment.status == FAILED and not payment.final:
        payload["next_at"] = iso(payment.next_at)
    return [job_write(PAYMENT_NOTICE, payload, job_id=new_ulid(now), due=now)]
