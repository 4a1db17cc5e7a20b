"""Payments of orders: in how many instalments, who may pay so, when each is due; and what people do with one.

Checkout and cancelling write them in their own transactions. What people do with one reads it, changes it in one
transaction with an entry in the audit log, and begins again if somebody changed it in between. Repeating is harmless.
All raise NotFound, and Conflict where the payment's status forbids it.
"""

import calendar
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.utils.timezone import get_default_timezone
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from dealsite.data import keys, table
from dealsite.data.commerce import payment_record
from dealsite.data.commerce.payment_lists import owed
from dealsite.data.commerce.payment_record import Payment, Refund, Step, payment_from_item, payment_item
from dealsite.data.editing import audit
from dealsite.data.entities.attributes import CENT, ZERO
from dealsite.data.entities.commerce import (
    CANCELLED,
    FAILED,
    PENDING,
    PLANS,
    PROCESSED,
    REASON_CHARACTERS,
    REFUNDED,
    SCHEDULED,
)
from dealsite.data.entities.people import PAYMENT_NEWS
from dealsite.data.entities.work import PAYMENT_NOTICE as PAYMENT_NOTICE
from dealsite.data.jobs import jobs
from dealsite.data.people.mails import mail_id
from dealsite.data.people.users import User
from dealsite.data.table.errors import Conflict, NotFound, VersionConflict
from dealsite.data.table.ids import RANDOM_BITS, from_iso, is_ulid, iso, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put, Update, Write, absent, equals, present, rewrite
from dealsite.text.writing import money

REFUND_PAYMENT = "refund_payment"  # the kinds of jobs
MESSAGE_KIND = PAYMENT_NEWS
SMALLEST_INSTALMENT = Decimal("1.00")
CHANGED = gettext_lazy("This payment changed meanwhile. Load it again and repeat what you did.")


def plans_for(total: Decimal) -> tuple[int, ...]:
    """Return the plans that an order of this total can have: no instalment is below 1.00."""
    return tuple(plan for plan in PLANS if plan == 1 or total / plan >= SMALLEST_INSTALMENT)


def no_credit(user: User, total: Decimal, *, now: datetime) -> str:
    """Return why a user may not pay an order in instalments, '' if they may: a sentence that says what to do.

    1 query, where nothing else speaks against it.
    """
    most, days = settings.DEALSITE_CREDIT_ORDER, settings.DEALSITE_CREDIT_DAYS
    if not most:
        return _("Orders are paid at once here.")
    if total > most:
        return _("Orders of more than %(most)s are paid at once.") % {"most": money(Decimal(most))}
    if settings.DEALSITE_CREDIT_CONFIRMED and not user.email:
        return _("Confirm your e-mail address to pay in instalments.")
    if days and now - user.created_at < timedelta(days=days):
        words = ngettext(
            "You can pay in instalments once your account is %(days)d day old.",
            "You can pay in instalments once your account is %(days)d days old.",
            days,
        )
        return words % {"days": days}
    debt, most_owed = owed(user.username), Decimal(settings.DEALSITE_CREDIT_OPEN)
    if debt.failed.count > settings.DEALSITE_CREDIT_FAILED:
        return _("A payment of yours failed. Once it is paid, you can pay in instalments again.")
    if debt.total + total > most_owed:
        words = _("You still have %(owed)s to pay: with this order that would be more than %(most)s.")
        return words % {"owed": money(debt.total), "most": money(most_owed)}
    return ""


def instalments(total: Decimal, plan: int, *, first: datetime) -> list[tuple[datetime, Decimal]]:
    """Return when what is due: amounts that add up to the total to the cent, the larger ones first.

    The first is due at `first`, the others on the same day of the following months, or on a month's last day
    where it has no such day. ValueError for a plan that there is not, or a total that is no amount.
    """
    cents = total / CENT
    if plan not in PLANS or total < 0 or cents != int(cents):
        raise ValueError(f"{total} cannot be paid in {plan} instalments.")
    each, more = divmod(int(cents), plan)
    return [
        (months_later(first, number), (each + (1 if number < more else 0)) * CENT) for number in range(plan)
    ]


def months_later(first: datetime, months: int) -> datetime:
    """Return the same time of the site's day some months later: 31 January -> 28 February, but 31 March."""
    first = first.astimezone(get_default_timezone())
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    last_day = calendar.monthrange(year, month + 1)[1]
    return first.replace(year=year, month=month + 1, day=min(first.day, last_day)).astimezone(UTC)


def new_payments(
    order_id: str, account: str, total: Decimal, plan: int, *, method: str, first: datetime
) -> list[Payment]:
    """Return an order's payments, none for what is free; the same ones for the same order, so it may be repeated."""
    if not total:
        return []
    return [
        Payment(
            id=payment_id(order_id, number, first=first),
            account=account,
            amount=amount,
            due_at=due_at,
            next_at=due_at,
            order=order_id,
            number=number,
            of=plan,
            method=method,
            timeline=(Step(SCHEDULED, first),),
        )
        for number, (due_at, amount) in enumerate(instalments(total, plan, first=first), 1)
    ]


def payment_id(order_id: str, number: int, *, first: datetime) -> str:
    """Return the id of an order's n-th payment."""
    digest = hashlib.sha256(f"{order_id}#{number}".encode()).digest()
    return new_ulid(first, int.from_bytes(digest[: RANDOM_BITS // 8], "big"))


def insert_write(payment: Payment) -> Put:
    """Return the write that adds a payment; its counters are another matter (`insert_writes`)."""
    return Put(key=payment.key, item=payment_item(payment), when=(absent(),))


def insert_writes(payments: Sequence[Payment], *, now: datetime, job_id: str) -> list[Write]:
    """Return the writes that add an order's payments and count them: one each, and a job."""
    if not payments:
        return []
    counted = payment_record.totals_job(payment_record.added(payments), now=now, job_id=job_id)
    return [*(insert_write(payment) for payment in payments), counted]


def change_write(before: Payment, after: Payment) -> Update:
    """Return the write that makes one version of a payment the next, only while it is as it was read.

    Of the item, only what differs is written. Conflict where somebody was faster.
    """
    old, new = payment_item(before), payment_item(after)
    if before.refunds:  # which an earlier release noted as `refund`
        old |= {"refund": None, "refunds": None, "card": None}
    return rewrite(before.key, old, new, otherwise=Conflict(CHANGED))


class Uncounted(Conflict):
    """An order does not say what its payments come to: an earlier release placed it."""


def save(before: Payment, after: Payment, *more: Write) -> None:
    """Make one version of a payment the next, counted in its day's totals and on its order; with more writes.

    Conflict where somebody was faster. 1 transaction; for an order of an earlier release 1 get, 1 batch get, 1 update
    and 1 transaction more.
    """
    moved = payment_record.total_changes(before, after)
    change = [change_write(before, after), *payment_record.total_writes(moved), *more]
    on_order = _order_writes(before, after)
    try:
        table.transact([*change, *on_order])
    except Uncounted:
        is_there = add_up(after.account, after.order)
        table.transact([*change, *on_order] if is_there else change)


def _order_writes(before: Payment, after: Payment) -> list[Write]:
    """Return the write that has an order say what becomes of a payment; none where its amounts stay where they are."""
    was, now = payment_record.amounts_of(before), payment_record.amounts_of(after)
    moved = {("card", "money", state): now[state] - was[state] for state in was if now[state] != was[state]}
    if not after.order or not moved:
        return []
    there = present(("card", "money"))
    key = keys.order(after.account, after.order)
    return [Update(key=key, add=moved | {"version": 1}, when=(there,), otherwise=Uncounted())]


@access_pattern("add up the payments of an order", "1 get + 1 batch get + 1 update")
def add_up(username: str, order_id: str) -> bool:
    """Have an order of an earlier release say what its payments come to; False if there is no such order."""
    write = adding_up(username, order_id)
    if write:
        with suppress(Conflict):  # somebody else did, or changed it: whoever needs it, tries again
            table.write(write)
    return write is not None


def adding_up(username: str, order_id: str) -> Update | None:
    """Return the write that has an order say what its payments come to now; None if there is no such order."""
    key = keys.order(username, order_id)
    item = table.get(key)
    if item is None:
        return None
    sums = payment_record.sums(of_order(username, item["payments"]))
    as_read = equals("version", item["version"])
    return Update(key=key, set={("card", "money"): sums}, add={"version": 1}, when=(as_read,))


def cancel_writes(
    payments: Iterable[Payment], amount: Decimal | None = None, *, by: str, reason: str, now: datetime
) -> tuple[list[Payment], list[Write]]:
    """Return an order's payments as they are once so much less is to be paid (None: nothing), and the writes of that.

    First the last instalments that are not paid are cancelled, or lowered, to no less than 1.00 where earlier ones can
    bear the rest; then of what is paid, the last first, it is refunded by a job; then of one that is being charged just
    now it is noted that its money is not wanted: if the charge succeeds it is refunded, else it is lowered or
    cancelled. What is still left of `amount` then is ignored.
    One write each, two jobs. They hold while the payments are as read; Conflict otherwise.
    """
    found = {payment.id: payment for payment in payments}
    left = sum((payment.amount for payment in found.values()), Decimal(0)) if amount is None else amount
    writes: list[Write] = []
    given_back, deltas = list[Payment](), list[payment_record.Deltas]()
    last_first = sorted(found.values(), key=lambda payment: payment.number, reverse=True)
    for statuses in ((SCHEDULED, FAILED), (PROCESSED,), (PENDING,)):
        of_these = [payment for payment in last_first if payment.status in statuses and payment.kept]
        for number, payment in enumerate(of_these, 1):
            taken = min(left, payment.kept)
            less_of_it = max(payment.kept - SMALLEST_INSTALMENT, ZERO)
            others = sum((one.kept for one in of_these[number:]), ZERO)
            if SCHEDULED in statuses and less_of_it < taken < payment.kept and left - less_of_it <= others:
                taken = less_of_it
            if not taken:
                continue
            left -= taken
            after = found[payment.id] = less(payment, taken, by=by, reason=reason, now=now)
            writes.append(change_write(payment, after))
            deltas.append(payment_record.total_changes(payment, after))
            if payment.status == PROCESSED:
                given_back.append(payment)
    if given_back:
        writes.append(refund_job(given_back, now=now, job_id=new_ulid(now)))
    if moved := payment_record.combine(deltas):
        writes.append(payment_record.totals_job(moved, now=now, job_id=new_ulid(now)))
    return list(found.values()), writes


def less(payment: Payment, amount: Decimal, *, by: str, reason: str, now: datetime) -> Payment:
    """Return a payment as it is once so much of it is not wanted: lowered, cancelled, or to be refunded."""
    reason = reason[:REASON_CHARACTERS]
    if payment.status in (PENDING, PROCESSED):
        step = Step(payment.status, now, by, f"Refund of {amount:.2f} asked for: {reason}")
        return payment.after(step, refunds=(*payment.refunds, Refund(amount, reason, by, now)))
    if amount == payment.to_charge:
        return cancelled(payment, by=by, reason=reason, now=now)
    step = Step(payment.status, now, by, f"Lowered by {amount:.2f}: {reason}")
    return payment.after(step, cut=payment.cut + amount)


def cancelled(payment: Payment, *, by: str, reason: str, now: datetime) -> Payment:
    """Return a payment as it is once it is cancelled."""
    step = Step(CANCELLED, now, by, reason)
    return payment.after(step, next_at=now, final=False, claimed_by="", reason=reason, refunds=())


@dataclass(frozen=True, slots=True)
class RefundRef:
    """A payment to be refunded."""

    id: str
    due_at: datetime
    account: str


@dataclass(frozen=True, slots=True)
class RefundPayload:
    """The payments that a job refunds."""

    payments: tuple[RefundRef, ...]


def refund_job(payments: Iterable[Payment], *, now: datetime, job_id: str) -> Put:
    """Return the write of the job that refunds processed payments."""
    refs = tuple(RefundRef(payment.id, payment.due_at, payment.account) for payment in payments)
    return jobs.job_write(REFUND_PAYMENT, RefundPayload(refs), job_id=job_id, due=now)


@dataclass(frozen=True, slots=True)
class PaymentNoticePayload:
    """What became of a payment, and of how much of it; `next_at` is when a declined one is tried again.

    `ends_at` is when its order is cancelled, where it is tried no more and nothing was paid.
    """

    account: str
    order: str
    number: int
    of: int
    amount: Decimal
    status: str
    reason: str = ""
    next_at: datetime | None = None
    ends_at: datetime | None = None


def notice_writes(
    payment: Payment, *, now: datetime, ends_at: datetime | None = None, refund: int | None = None
) -> list[Write]:
    """Return the write that has an order's owner told of its payment, or of its n-th refund; none for a loaded one."""
    if not payment.order:
        return []
    told = ("account", "order", "number", "of", "reason")
    tried_again = payment.status == FAILED and not payment.final
    payload = PaymentNoticePayload(
        **{name: getattr(payment, name) for name in told},
        amount=payment.to_charge if refund is None else payment.refunds[refund].amount,
        status=payment.status if refund is None else REFUNDED,
        next_at=payment.next_at if tried_again else None,
        ends_at=ends_at,
    )
    job_id = mail_id(payment.account, payment.id, payload.status, now, refund or 0)
    return [jobs.job_write(PAYMENT_NOTICE, payload, job_id=job_id, due=now)]


def get(account: str, due_at: datetime, payment_id: str) -> Payment:
    """Return a payment, or raise NotFound. 1 batch get."""
    found = of_order(account, [{"id": payment_id, "due_at": due_at}]) if is_ulid(payment_id) else []
    if not found:
        raise NotFound(gettext_lazy("There is no such payment."))
    return found[0]


@access_pattern("an order's payments", "1 batch get")
def of_order(account: str, refs: Iterable[Mapping[str, Any]]) -> list[Payment]:
    """Return the payments that an order names (`id` and `due_at` each), in its order.

    A day may be closed while they are read, so that one is seen in neither place: then they are read once more.
    """
    places = {ref["id"]: (account, _time(ref["due_at"]), ref["id"]) for ref in refs}
    found: dict[str, Payment] = {}
    for _attempt in range(2):
        missing = [place for payment_id, place in places.items() if payment_id not in found]
        wanted = [key(*place) for place in missing for key in (keys.payment, keys.past_payment)]
        for item in table.batch_get(wanted).values() if wanted else ():
            found[item["id"]] = payment_from_item(item)
    return [found[payment_id] for payment_id in places if payment_id in found]


def _time(value: datetime | str) -> datetime:
    return from_iso(value) if isinstance(value, str) else from_iso(iso(value))


@access_pattern("pay a payment early", "1 batch get + 1 transaction")
def pay_early(
    account: str, due_at: datetime, payment_id: str, *, method: str = "", by: str, now: datetime
) -> Payment:
    """Have a scheduled payment charged within seconds, from another card if `method` names one."""

    def change(payment: Payment) -> Payment | None:
        due = payment.next_at <= now and not payment.final
        if payment.status == PROCESSED or (due and method in ("", payment.method)):
            return None
        _expect(payment, SCHEDULED)
        step = Step(SCHEDULED, now, by, "To be paid early")
        return payment.after(step, next_at=now, final=False, reason="", method=method or payment.method)

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
    """Have a payment that is not paid charged from another card when its time comes; at once if it waits for one."""

    def change(payment: Payment) -> Payment | None:
        if payment.method == method:
            return None
        _expect(payment, SCHEDULED, FAILED)
        step = Step(payment.status, now, by, "Another card")
        waits = payment.final and bool(method)
        again: dict[str, Any] = {"next_at": now, "final": False, "reason": ""} if waits else {}
        return payment.after(step, method=method, **again)

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
    """Have all that is left of a processed payment refunded."""

    def change(payment: Payment) -> Payment | None:
        if payment.status in (PROCESSED, REFUNDED) and not payment.kept:
            return None
        _expect(payment, PROCESSED)
        return less(payment, payment.kept, by=by, reason=reason, now=now)

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
        writes: list[Write] = [
            audit.entry_write(
                by=by,
                kind="payment",
                subject=payment.id,
                what=what,
                now=now,
                note=note,
                before={"status": payment.status, "next_at": iso(payment.next_at)},
                after={"status": after.status, "next_at": iso(after.next_at)},
            )
        ]
        if after.refunds != payment.refunds:
            writes.append(refund_job([after], now=now, job_id=new_ulid(now)))
        try:
            save(payment, after, *writes)
        except Conflict as changed:
            raise VersionConflict() from changed
        return after

    return table.retrying(attempt)
