"""Charging what is due, refunding, and closing a day: claim, charge, record what the gateway said.

A claim is one update on the condition that the payment stands where the index showed it: of several runners one wins.
It moves the payment to PENDING until the end of a lease, when any runner may take it again. The idempotency key is made
of the payment's id and the number of its declines, so all claims of one try ask the gateway under one key and get one
answer; only when a decline is stored does the next try get another key. Whoever learns the answer records it if
the payment still waits for it: a runner that answers late, or twice, changes nothing.

The processed payments of a day that is over move to the history, where they are found as before: up to 50 in one
transaction, each to its new place under the same sort key. Wherever this ends, the next run goes on.
"""

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import structlog
from django.conf import settings

from dealsite.data import keys, table
from dealsite.data.commerce import order_record
from dealsite.data.commerce.order_changes import EXPIRE_ORDER, ExpiryPayload
from dealsite.data.commerce.order_record import Order
from dealsite.data.commerce.payment_record import Payment, Step, payment_from_item, payment_item
from dealsite.data.commerce.payments import (
    RefundPayload,
    cancelled,
    get,
    notice_writes,
    of_order,
    refund_job,
    save,
)
from dealsite.data.entities.commerce import (
    CANCELLED,
    FAILED,
    PENDING,
    PROCESSED,
    REASON_CHARACTERS,
    REFUNDED,
    SCHEDULED,
    TRANSACTION_GUARD,
)
from dealsite.data.jobs import jobs
from dealsite.data.jobs.payloads import payload_from_item
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Conflict, DataError, TooManyRequests
from dealsite.data.table.ids import from_iso, iso, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import merged
from dealsite.data.table.writes import Delete, Path, Put, Update, Write, absent, equals
from dealsite.gateways.interface import ChargeDecline, ChargeResult, Gateway, GatewayUnavailable

LEASE = timedelta(seconds=60)
RETRY_AFTER = (timedelta(days=1), timedelta(days=3), timedelta(days=5), timedelta(days=7))
KEYS_HOLD = timedelta(hours=12)  # gateways forget idempotency keys after a day: by then, look the charge up
BATCH = 100
THREADS = 4
RUNNER = "-"  # who charges: the site itself
NO_CARD = ChargeDecline("No card is on file for this payment.")

logger = structlog.get_logger(__name__)
chance = random.Random()  # noqa: S311 - spreads runners, guards nothing


class TransactionTaken(AlreadyExists):
    """The gateway's transaction id belongs to a payment already."""


def run_due(
    gateway: Gateway, *, currency: str, clock: Callable[[], datetime], only: int | None = None
) -> Counter[str]:
    """Charge up to 100 payments that are due, several at a time; return how many ended as what.

    `processed`, `failed`, `cancelled`; `unknown` where the gateway gave no answer; `left` to another runner.
    Up to 30 queries, or 3 of `only` one partition, then for each payment 1 update, 1 get, the gateway's and 1
    transaction.
    """
    rows = due(now=clock(), only=only)
    with ThreadPoolExecutor(THREADS, "charge") as threads:
        running = [
            threads.submit(copy_context().run, run_one, row, gateway, currency=currency, clock=clock)
            for row in rows
        ]
        return Counter(one.result() for one in running)


def run_one(row: Item, gateway: Gateway, *, currency: str, clock: Callable[[], datetime]) -> str:
    """Claim and charge what a row of the index shows; return what became of it, as `run_due` counts it."""
    payment = claim(row, now=clock())
    if payment is None:
        return "left"
    try:
        outcome = charge(payment, gateway, currency=currency, now=clock())
    except (GatewayUnavailable, TooManyRequests) as error:
        logger.warning("gateway_silent", payment=payment.id, reason=str(error))
        return "unknown"
    after = record(payment, outcome, now=clock())
    return after.status.lower() if after else "left"


def charge_first(order: Order, gateway: Gateway, *, currency: str, clock: Callable[[], datetime]) -> str:
    """Charge what is due of an order that was just placed; return what became of it, as `run_due` counts it.

    Runners charge it if this does not. 1 batch get, then as `run_one`; no more where it was tried before.
    """
    for payment in of_order(order.username, order.payments[:1]):
        if payment.status == SCHEDULED and not payment.final:
            return run_one(payment_item(payment), gateway, currency=currency, clock=clock)
    return "left"


@access_pattern("what is to be charged now", "30 queries")
def due(*, now: datetime, limit: int = BATCH, only: int | None = None) -> list[Item]:
    """Return rows of the index of up to `limit` payments to be charged now, in an order of chance.

    Those that are SCHEDULED or to be tried again, and those whose runner did not come back. 10 queries for each of
    the three, the later ones only while there is room; 1 for each of `only` one partition, of those that it holds.
    """
    numbers = range(keys.PAYMENT_SHARDS) if only is None else [only]
    partitions = [keys.payments_by_status.partition(number) for number in numbers]
    rows: list[Item] = []
    for status in (PENDING, FAILED, SCHEDULED):
        if len(rows) < limit:
            low, high = keys.payments_by_status.until(status, now)
            rows += merged(partitions, index=keys.GSI3, low=low, high=high, limit=limit - len(rows))
    chance.shuffle(rows)  # runners that read the same rows should not all begin with the same one
    return rows


@access_pattern("claim a payment, and read it", "1 update + 1 get")
def claim(row: Item, *, now: datetime) -> Payment | None:
    """Take a payment for the time of a lease; None if it is another runner's, or no longer due."""
    token, until = new_ulid(now), now + LEASE
    status = row["GSI3SK"].partition("#")[0]
    payment_id = row["card"]["id"]
    changes: dict[Path, object] = {
        "status": PENDING,
        ("card", "status"): PENDING,
        "next_at": iso(until),
        "claimed_by": token,
        "GSI3SK": keys.payments_by_status(payment_id, PENDING, until)["GSI3SK"],
    }
    if status != PENDING:
        changes["series_at"] = iso(now)
    key = row["PK"], row["SK"]
    with contextlib.suppress(Conflict):  # another runner took it; or this one, if the answer was lost
        table.write(Update(key=key, set=changes, add={"version": 1}, when=(equals("GSI3SK", row["GSI3SK"]),)))
    item = table.get(key)
    payment = payment_from_item(item) if item else None
    return payment if payment and payment.claimed_by == token and payment.status == PENDING else None


def idempotency_key(payment: Payment) -> str:
    """Return the key of a payment's present try; it changes when a decline is stored, and only then."""
    return f"{payment.id}-{payment.tries}"


def charge(
    payment: Payment, gateway: Gateway, *, currency: str, now: datetime
) -> ChargeResult | ChargeDecline:
    """Ask the gateway for the money, or for what it said before. GatewayUnavailable: the outcome is not known.

    1 get for a payment of an order: a card that was removed is not charged, whichever payments still name it.
    """
    key = idempotency_key(payment)
    removed = bool(payment.order) and order_record.has_no_card(payment.account)
    if payment.method and (removed or (payment.series_at and now - payment.series_at > KEYS_HOLD)):
        made = gateway.find_charge(payment.method, idempotency_key=key)
        if made is not None:
            return made
    if removed or not payment.method:
        return NO_CARD
    what = f"Payment {payment.id}"
    if payment.order:
        what = f"Order {payment.order}, payment {payment.number} of {payment.of}"
    return gateway.charge(payment.method, payment.to_charge, currency, idempotency_key=key, description=what)


@access_pattern("store the outcome of a charge", "1 transaction")
def record(payment: Payment, outcome: ChargeResult | ChargeDecline, *, now: datetime) -> Payment | None:
    """Store what the gateway said of a payment's present try, once; return the payment as it then is.

    None where somebody else stored it; begins again after a change in between, such as a cancellation of its order.
    """
    now = from_iso(iso(now))

    def attempt() -> Payment | None:
        nonlocal payment
        after = _after(payment, outcome, now)
        try:
            save(payment, after, *_record_writes(after, now))
        except TransactionTaken:
            return _record_taken(payment, outcome, now)
        except Conflict:
            item = table.get(payment.key)
            current = payment_from_item(item) if item else None
            if current is None or current.status != PENDING or current.tries != payment.tries:
                return current if current == after else None  # ours, if the answer was lost
            payment = current
            raise
        return after

    return table.retrying(attempt, on=Conflict)


def _after(payment: Payment, outcome: ChargeResult | ChargeDecline, now: datetime) -> Payment:
    if isinstance(outcome, ChargeResult):
        return payment.after(
            Step(PROCESSED, now, RUNNER),
            next_at=now,
            processed_at=now,
            transaction_id=outcome.transaction_id,
            claimed_by="",
            reason="",
        )
    reason = outcome.reason[:REASON_CHARACTERS]
    if payment.refunds and not payment.kept:  # its order was cancelled meanwhile
        return cancelled(payment, by=RUNNER, reason=payment.refunds[-1].reason, now=now)
    if outcome == NO_CARD and payment.order and payment.number == 1 and not payment.tries:
        step = Step(SCHEDULED, now, RUNNER, reason)
        return payment.after(step, next_at=now, final=True, claimed_by="", series_at=None, reason=reason)
    final = payment.tries >= len(RETRY_AFTER)
    return payment.after(
        Step(FAILED, now, RUNNER, reason),
        next_at=now if final else now + RETRY_AFTER[payment.tries],
        tries=payment.tries + 1,
        cut=payment.cut + payment.unwanted,
        refunds=(),
        final=final,
        claimed_by="",
        series_at=None,
        reason=reason,
    )


def _record_writes(after: Payment, now: datetime) -> list[Write]:
    writes: list[Write] = []
    if after.status == PROCESSED:
        guard = {"transaction_id": after.transaction_id, "account": after.account, "payment": after.id}
        key, item = keys.transaction(after.transaction_id), TRANSACTION_GUARD.item(guard)
        writes.append(Put(key=key, item=item, when=(absent(),), otherwise=TransactionTaken()))
    ends_at = None
    if after.final and after.number == 1 and after.order and settings.DEALSITE_UNPAID_DAYS:
        ends_at = now + timedelta(days=settings.DEALSITE_UNPAID_DAYS)
        payload = ExpiryPayload(after.account, after.order)
        writes.append(jobs.job_write(EXPIRE_ORDER, payload, job_id=new_ulid(now), due=ends_at))
    if after.status != CANCELLED and after.kept:
        writes += notice_writes(after, now=now, ends_at=ends_at)
    if after.unwanted:
        writes.append(refund_job([after], now=now, job_id=new_ulid(now)))
    return writes


def _record_taken(payment: Payment, outcome: ChargeResult | ChargeDecline, now: datetime) -> Payment | None:
    """Store that a transaction id is another payment's, or this one's of another copy: no money may move again."""
    reason = "The gateway's transaction belongs to a payment that was processed before."
    logger.error("transaction_taken", payment=payment.id, outcome=repr(outcome))
    after = cancelled(payment, by=RUNNER, reason=reason, now=now)
    try:
        save(payment, after)
    except Conflict:
        return None
    return after


@access_pattern("refund a payment", "1 batch get + 1 transaction")
def refund_payments(job: jobs.Job, now: datetime, *, gateway: Gateway, currency: str) -> None:
    """Carry out a job of this kind: each refund of each payment once, however often it is run.

    DataError where the gateway refuses or does not answer: the job is tried again.
    """
    failed: list[str] = []
    for ref in payload_from_item(RefundPayload, job.payload).payments:
        payment = get(ref.account, ref.due_at, ref.id)
        for number, refund in enumerate(payment.refunds):
            if payment.status != PROCESSED or refund.done_at:
                continue
            key = f"{payment.id}-refund" + (f"-{number + 1}" if number else "")
            try:
                outcome = gateway.refund(payment.transaction_id, refund.amount, currency, idempotency_key=key)
            except GatewayUnavailable as error:
                outcome = ChargeDecline(str(error))
            if isinstance(outcome, ChargeDecline):
                failed.append(f"Payment {payment.id}: {outcome.reason}")
            else:
                payment = record_refund(payment, number, now=now)
    if failed:
        raise DataError(" ".join(failed))


def record_refund(payment: Payment, number: int, *, now: datetime) -> Payment:
    """Store that a payment's n-th refund is done; harmless if it is. 1 transaction; more while its day is closed."""

    def attempt() -> Payment:
        nonlocal payment
        refund = payment.refunds[number]
        if refund.done_at:
            return payment
        refunds = list(payment.refunds)
        refunds[number] = replace(refund, done_at=now)
        step, next_at = Step(REFUNDED, now, RUNNER, refund.reason), now
        if payment.refunded + refund.amount < payment.to_charge:
            step = replace(step, status=PROCESSED, note=f"Refunded {refund.amount}: {refund.reason}")
            next_at = payment.next_at
        after = payment.after(step, next_at=next_at, refunds=tuple(refunds))
        try:
            save(payment, after, *notice_writes(after, now=now, refund=number))
        except Conflict:
            payment = get(payment.account, payment.due_at, payment.id)
            raise
        return after

    return table.retrying(attempt, on=Conflict)


CLOSED_AT_ONCE = 50  # payments that one transaction moves: two actions each
SHARDS = keys.PAYMENT_SHARDS


@access_pattern("close a day in one shard", "2 queries + 1 batch get + 1 transaction")
def close_shard(day: date, number: int, *, advance: Callable[[int], None] = lambda _: None) -> int:
    """Move the payments of one shard processed until the end of a day (UTC) to the history; return how many were moved.

    Days before it that were never closed are closed, too; so is what was refunded. `advance` is told the number of
    each batch. Several shards may be closed at once.
    """
    end = day + timedelta(days=1)
    midnight = datetime(end.year, end.month, end.day, tzinfo=UTC)
    moved = 0
    for status in (PROCESSED, REFUNDED):
        start = None
        while True:
            rows = table.query_page(
                keys.payments_by_status.partition(number),
                index=keys.GSI3,
                low=f"{status}#",
                high=f"{status}#{iso(midnight)}",
                limit=CLOSED_AT_ONCE,
                start=start,
            )
            count = _move([(row["PK"], row["SK"]) for row in rows.items])
            moved += count
            advance(count)
            start = rows.start
            if start is None:
                break
    return moved


def closing_in_words(moved: int) -> str:
    """Say how many payments were moved."""
    return f"{moved:,} payments moved to the history."


def _move(places: Sequence[keys.Key]) -> int:
    """Move the payments at these places, but for any that is not processed; return how many were moved."""
    tried: set[str] = set()

    def attempt() -> int:
        found = [payment_from_item(item) for item in table.batch_get(places).values()]
        ready = [payment for payment in found if payment.status in (PROCESSED, REFUNDED)]
        gone = len(tried - {payment.id for payment in ready})  # they moved, though the answer was lost
        if not ready:
            return gone
        try:
            table.transact([write for payment in ready for write in _move_writes(payment)])
        except Conflict:
            tried.update(payment.id for payment in ready)
            raise
        return gone + len(ready)

    return table.retrying(attempt, on=Conflict)


def _move_writes(payment: Payment) -> list[Write]:
    past = replace(payment, closed=True, version=payment.version + 1)
    return [
        Delete(key=payment.key, when=(equals("version", payment.version),)),
        Put(key=past.key, item=payment_item(past), when=(absent(),)),
    ]
