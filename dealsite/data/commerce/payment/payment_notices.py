"""What tells a shopper what became of a payment: a job of the same transaction, which sends message and mail."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from dealsite.data.commerce.payment.payment_record import FAILED, Payment
from dealsite.data.jobs.jobs import job_write
from dealsite.data.jobs.payloads import to_item
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Write

PAYMENT_NOTICE = "payment_notice"  # the kind of job
MESSAGE_KIND = "payment"


@dataclass(frozen=True, slots=True)
class PaymentNoticePayload:
    """What became of a payment; `next_at` is when a declined one is tried again."""

    account: str
    order: str
    number: int
    of: int
    amount: Decimal
    status: str
    reason: str = ""
    next_at: datetime | None = None


def notice_writes(payment: Payment, *, now: datetime) -> list[Write]:
    """Return the write that has an order's owner told of its payment; none for a payment that was loaded."""
    if not payment.order:
        return []
    payload = PaymentNoticePayload(
        account=payment.account,
        order=payment.order,
        number=payment.number,
        of=payment.of,
        amount=payment.amount,
        status=payment.status,
        reason=payment.reason,
        next_at=payment.next_at if payment.status == FAILED and not payment.final else None,
    )
    return [job_write(PAYMENT_NOTICE, to_item(payload), job_id=new_ulid(now), due=now)]
