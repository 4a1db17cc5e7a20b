"""What checkout and cancelling an order do with its payments, as writes for their own transactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.commerce.payment import payment_totals
from dealsite.data.commerce.payment.payment_record import (
    CANCELLED,
    FAILED,
    PENDING,
    PROCESSED,
    REASON_CHARACTERS,
    SCHEDULED,
    Payment,
    Refund,
    Step,
    payment_from_item,
    payment_item,
)
from dealsite.data.jobs import jobs
from dealsite.data.jobs.payloads import to_item
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.ids import from_iso, is_ulid, iso, new_ulid
from dealsite.data.table.writes import Put, Update, Write, absent, equals

REFUND_PAYMENT = "refund_payment"  # the kind of job


def insert_write(payment: Payment) -> Put:
    """Return the write that adds a payment; its counters are another matter (`insert_writes`)."""
    return Put(key=payment.key, item=payment_item(payment), when=(absent(),))


def insert_writes(payments: Sequence[Payment], *, now: datetime, job_id: str) -> list[Write]:
    """Return the writes that add an order's payments and count them: one each, and a job."""
    if not payments:
        return []
    counted = payment_totals.totals_job(payment_totals.added(payments), now=now, job_id=job_id)
    return [*(insert_write(payment) for payment in payments), counted]


def change_write(before: Payment, after: Payment) -> Update:
    """Return the write that makes one version of a payment the next, only while it is as it was read.

    Of the item, only what differs is written. Conflict where somebody was faster.
    """
    old, new = payment_item(before), payment_item(after)
    return Update(
        key=before.key,
        set={name: value for name, value in new.items() if old.get(name) != value},
        remove=[name for name in old if name not in new],
        when=(equals("version", before.version),),
        otherwise=Conflict(
            gettext_lazy("This payment changed meanwhile. Load it again and repeat what you did.")
        ),
    )


def cancel_writes(
    payments: Iterable[Payment],
    *,
    by: str,
    reason: str,
    now: datetime,
    totals_job_id: str = "",
    refund_job_id: str = "",
) -> list[Write]:
    """Return the writes that call off an order's payments, for the transaction that cancels it: one each, two jobs.

    What is not paid is cancelled; what is paid is given back by a job. Of a payment that is being charged just
    now it is noted that its money is not wanted: if the charge succeeds it is given back, else it is cancelled.
    They hold while the payments are as read; Conflict otherwise.
    """
    reason = reason[:REASON_CHARACTERS]
    wanted = Refund(reason, by, now)
    writes: list[Write] = []
    given_back: list[Payment] = []
    deltas: list[payment_totals.Deltas] = []
    for payment in payments:
        if payment.status in (SCHEDULED, FAILED):
            after = cancelled(payment, by=by, reason=reason, now=now)
            writes.append(change_write(payment, after))
            deltas.append(payment_totals.changes(payment, after))
        elif payment.status in (PENDING, PROCESSED) and payment.refund is None:
            step = Step(payment.status, now, by, f"Refund asked for: {reason}")
            writes.append(change_write(payment, payment.after(step, refund=wanted)))
            if payment.status == PROCESSED:
                given_back.append(payment)
    if given_back:
        writes.append(refund_job(given_back, now=now, job_id=refund_job_id or new_ulid(now)))
    if deltas:
        writes.append(
            payment_totals.totals_job(
                payment_totals.combine(deltas), now=now, job_id=totals_job_id or new_ulid(now)
            )
        )
    return writes


def cancelled(payment: Payment, *, by: str, reason: str, now: datetime) -> Payment:
    """Return a payment as it is once it is called off."""
    step = Step(CANCELLED, now, by, reason)
    return payment.after(step, next_at=now, final=False, claimed_by="", reason=reason)


@dataclass(frozen=True, slots=True)
class RefundRef:
    """A payment to be given back."""

    id: str
    due_at: datetime
    account: str


@dataclass(frozen=True, slots=True)
class RefundPayload:
    """The payments that a job gives back."""

    payments: tuple[RefundRef, ...]


def refund_job(payments: Iterable[Payment], *, now: datetime, job_id: str) -> Put:
    """Return the write of the job that gives back the money of processed payments."""
    refs = tuple(RefundRef(payment.id, payment.due_at, payment.account) for payment in payments)
    return jobs.job_write(REFUND_PAYMENT, to_item(RefundPayload(refs)), job_id=job_id, due=now)


def get(account: str, due_at: datetime, payment_id: str) -> Payment:
    """Return a payment, or raise NotFound. 1 batch get, consistent."""
    found = of_order(account, [{"id": payment_id, "due_at": due_at}]) if is_ulid(payment_id) else []
    if not found:
        raise NotFound(gettext_lazy("There is no such payment."))
    return found[0]


@access_pattern("an order's payments", "PAYMENTS#account, PAYHIST#account / due_at#id", "1 batch get")
def of_order(account: str, refs: Iterable[Mapping[str, Any]]) -> list[Payment]:
    """Return the payments that an order names (`id` and `due_at` each), in its order. 1 batch get, consistent.

    A day may be closed while they are read, so that one is seen in neither place: then they are read once more.
    """
    places = [(account, _time(ref["due_at"]), ref["id"]) for ref in refs]
    found: dict[str, Payment] = {}
    for _ in range(2):
        wanted = [
            key(*place)
            for place in places
            if place[2] not in found
            for key in (keys.payment, keys.past_payment)
        ]
        for item in table.batch_get(wanted).values() if wanted else ():
            found[item["id"]] = payment_from_item(item)
    return [found[place[2]] for place in places if place[2] in found]


def _time(value: datetime | str) -> datetime:
    return from_iso(value) if isinstance(value, str) else from_iso(iso(value))
