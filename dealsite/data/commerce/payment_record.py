"""A payment as it is stored, one instalment of an order or one loaded from a file; and what those due on a day come to.

    SCHEDULED -> PENDING -> PROCESSED -> REFUNDED        SCHEDULED, FAILED -> CANCELLED
                 PENDING -> FAILED -> PENDING            (PENDING -> CANCELLED: declined after its order was cancelled)
                 PENDING -> SCHEDULED                    (the first of an order that has no card: it waits for one)

What a status means stands in `status`. Before it is charged it can be lowered, which is its `cut`; what is charged can
be refunded in parts: it is PROCESSED until all of it is back. Where it is listed among all accounts' stands in its
index row alone, so that a change of status never deletes and writes anew an item of 8 KB.

The totals are kept, never summed for a page: one item a day and shard, where `open` is what is to be paid and was never
declined, `failed` what was declined and is not paid yet. What a runner has claimed stays where it was, so that a claim
is a single update. Whatever else changes a status changes the totals in the same transaction, or, where a checkout or
a cancellation has no room left, by a job of that transaction, which is applied exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from dealsite.data import keys, table
from dealsite.data.entities.attributes import CENT, ZERO
from dealsite.data.entities.commerce import (
    CANCELLED,
    FAILED,
    PAYMENT,
    PENDING,
    PROCESSED,
    REFUNDED,
    SCHEDULED,
    STATES,
    TIMELINE_STEPS,
)
from dealsite.data.entities.entity import reader, writer
from dealsite.data.jobs import jobs
from dealsite.data.jobs.payloads import payload_from_item
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import from_iso, iso, shard
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put, Update, Write, missing, present

ON_CARD = ("id", "account", "order", "number", "of", "amount", "due_at", "status")  # what lists show


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened to a payment; `by` is a user name, `runner`, or empty."""

    status: str
    at: datetime
    by: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Refund:
    """That so much of a payment is to be refunded, or was (`done_at`): why, and who said so."""

    amount: Decimal
    reason: str
    by: str
    at: datetime
    done_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LoadMark:
    """Which load wrote a payment: its id, the segment, and where in the segment the payment stood."""

    id: str
    segment: int
    position: int


@dataclass(frozen=True, slots=True)
class Payment:
    """One payment; amounts with cents, aware UTC times.

    `next_at` is the time that counts for the status: when it is to be charged (SCHEDULED), tried again (FAILED) or
    taken from a runner that is gone (PENDING); when it was processed, cancelled or refunded. `series_at` is when the
    charge that is under way, or was last, was first tried; `tries` is the number of declines. `amount` never changes.
    """

    id: str
    account: str
    amount: Decimal
    due_at: datetime
    next_at: datetime
    order: str = ""
    number: int = 1
    of: int = 1
    status: str = SCHEDULED
    method: str = ""
    tries: int = 0
    final: bool = False
    claimed_by: str = ""
    series_at: datetime | None = None
    transaction_id: str = ""
    processed_at: datetime | None = None
    reason: str = ""
    cut: Decimal = ZERO
    refunds: tuple[Refund, ...] = ()
    data: bytes = b""
    load: LoadMark | None = None
    timeline: tuple[Step, ...] = ()
    closed: bool = False
    version: int = 1

    @property
    def key(self) -> keys.Key:
        place = keys.past_payment if self.closed else keys.payment
        return place(self.account, self.due_at, self.id)

    @property
    def to_charge(self) -> Decimal:
        """What is charged, or was."""
        return self.amount - self.cut

    @property
    def refunded(self) -> Decimal:
        return sum((refund.amount for refund in self.refunds if refund.done_at), ZERO)

    @property
    def unwanted(self) -> Decimal:
        """What is still to be refunded, once it is charged."""
        return sum((refund.amount for refund in self.refunds if not refund.done_at), ZERO)

    @property
    def kept(self) -> Decimal:
        """What is left of it once all is refunded that is to be."""
        return self.to_charge - self.refunded - self.unwanted

    @property
    def ref(self) -> dict[str, str]:
        """What an order keeps of its payment."""
        return {"id": self.id, "due_at": iso(self.due_at)}

    @property
    def at(self) -> datetime | None:
        """When the last thing happened that decided its status."""
        return self.timeline[-1].at if self.timeline else None

    def after(self, step: Step, **changes: Any) -> Payment:
        """Return it as it is after a step, one version on."""
        timeline = (*self.timeline, step)
        if len(timeline) > TIMELINE_STEPS:
            timeline = (timeline[0], *timeline[-(TIMELINE_STEPS - 1) :])
        return replace(self, status=step.status, timeline=timeline, version=self.version + 1, **changes)


def payment_item(payment: Payment) -> Item:
    """Return a payment as it is stored, with its key and index rows; what is empty is left out."""
    pk, sk = payment.key
    stored = _store(payment)
    card = {name: stored[name] for name in (*ON_CARD, "transaction_id", "reason", "cut") if name in stored}
    if payment.refunded:
        card["refunded"] = payment.refunded
    if payment.timeline:
        card["at"] = stored["timeline"][-1]["at"]
    return {"PK": pk, "SK": sk, **PAYMENT.item(stored | {"card": card})}


_read, _store = reader(PAYMENT.shape, Payment), writer(PAYMENT.shape, Payment)


def payment_from_item(item: Item) -> Payment:
    """Return a payment from how it is stored; earlier releases could only refund a whole one, in `refund`."""
    payment = _read(item)
    if "refund" not in item or payment.refunds or payment.status == CANCELLED:
        return payment
    done_at = payment.next_at if payment.status == REFUNDED else None
    old = item["refund"]
    whole = Refund(payment.amount, old["reason"], old["by"], from_iso(old["at"]), done_at)
    return replace(payment, refunds=(whole,))


PAYMENT_TOTALS = "payment_totals"  # the kind of job
Place = tuple[date, int]  # a day and a shard
Deltas = dict[Place, dict[str, Decimal]]


class AlreadyApplied(Conflict):
    """The counters have what this job says."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A number of payments and what they come to."""

    count: int = 0
    amount: Decimal = ZERO

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.count + other.count, self.amount + other.amount)


Totals = dict[str, Sum]  # by state, each of STATES


@dataclass(frozen=True, slots=True)
class TotalsPayload:
    """What is to be added to the counters, by day and shard."""

    deltas: Mapping[str, Mapping[str, Decimal]]


def place_of(payment: Payment) -> Place:
    """Return the day and shard in whose totals a payment counts."""
    return payment.due_at.astimezone(UTC).date(), shard(payment.id, keys.PAYMENT_SHARDS)


def state_of(payment: Payment) -> str:
    """Return the state of STATES in which a payment counts."""
    if payment.status in (SCHEDULED, PENDING, FAILED):
        return "failed" if payment.tries else "open"
    return {PROCESSED: "processed", CANCELLED: "cancelled", REFUNDED: "refunded"}[payment.status]


def amounts_of(payment: Payment) -> dict[str, Decimal]:
    """Return how the amount of a payment is spread over the STATES: lowered, refunded, and the rest, which moves on."""
    found = dict.fromkeys(STATES, ZERO) | {"cancelled": payment.cut, "refunded": payment.refunded}
    found[state_of(payment)] += payment.to_charge - payment.refunded
    return found


def total_changes(before: Payment | None, after: Payment | None) -> Deltas:
    """Return what it does to the totals that a payment becomes another; None: it was not there."""
    whole: Deltas = {}
    for payment, sign in ((before, -1), (after, 1)):
        if payment is not None:
            moved = {f"{state}_amount": sign * amount for state, amount in amounts_of(payment).items()}
            moved[state_of(payment)] = Decimal(sign)
            whole = combine([whole, {place_of(payment): moved}])
    return whole


def sums(payments: Iterable[Payment]) -> dict[str, Decimal]:
    """Return what payments come to, by state."""
    found = dict.fromkeys(STATES, ZERO)
    for payment in payments:
        for state, amount in amounts_of(payment).items():
            found[state] += amount
    return found


def added(payments: Iterable[Payment]) -> Deltas:
    """Return what new payments add."""
    return combine(total_changes(None, payment) for payment in payments)


def combine(parts: Iterable[Mapping[Place, Mapping[str, Decimal]]]) -> Deltas:
    """Return several changes as one."""
    whole: Deltas = {}
    for part in parts:
        for place, moved in part.items():
            counters = whole.setdefault(place, {})
            for name, value in moved.items():
                counters[name] = counters.get(name, Decimal(0)) + value
    kept = {place: {name: n for name, n in counters.items() if n} for place, counters in whole.items()}
    return {place: counters for place, counters in kept.items() if counters}


def opposite(deltas: Deltas) -> Deltas:
    """Return what takes a change back."""
    return {place: {name: -value for name, value in moved.items()} for place, moved in deltas.items()}


def total_writes(deltas: Mapping[Place, Mapping[str, Decimal]]) -> list[Write]:
    """Return the writes that change the counters: one for each day and shard."""
    return [
        Update(
            key=keys.payment_totals(*place),
            set={"type": "PaymentTotals", "day": place[0].isoformat(), "shard": place[1]},
            add=dict(moved),
        )
        for place, moved in sorted(deltas.items())
    ]


def totals_job(deltas: Deltas, *, now: datetime, job_id: str) -> Put:
    """Return the write of a job that changes the counters, for a transaction without room for them."""
    return jobs.job_write(PAYMENT_TOTALS, TotalsPayload(deltas_map(deltas)), job_id=job_id, due=now)


def deltas_map(deltas: Deltas) -> dict[str, dict[str, Decimal]]:
    """Return changes as they are stored."""
    return {f"{day.isoformat()}#{number}": moved for (day, number), moved in deltas.items()}


def deltas_from(stored: Mapping[str, Mapping[str, Decimal]]) -> Deltas:
    """Return changes from how they are stored."""
    found: Deltas = {}
    for place, moved in stored.items():
        day, _, number = place.partition("#")
        found[date.fromisoformat(day), int(number)] = {name: Decimal(value) for name, value in moved.items()}
    return found


@access_pattern("count what a checkout did", "1 transaction")
def apply_totals(job: jobs.Job, now: datetime) -> None:
    """Carry out a job of this kind, once and for all."""
    payload = payload_from_item(TotalsPayload, job.payload)
    mark = Update(
        key=keys.job(job.id),
        set={"applied": True},
        when=(present("kind"), missing("applied")),
        otherwise=AlreadyApplied(),
    )
    with suppress(AlreadyApplied):
        table.transact([mark, *total_writes(deltas_from(payload.deltas))])


@access_pattern("the totals of days", "1 batch get")
def totals_of_days(first: date, last: date) -> dict[date, Totals]:
    """Return the totals of each day of a span, both ends included."""
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    items = table.batch_get(
        keys.payment_totals(day, number) for day in days for number in range(keys.PAYMENT_SHARDS)
    )
    found = {day: dict.fromkeys(STATES, Sum()) for day in days}
    for item in items.values():
        of_day = found[date.fromisoformat(item["day"])]
        for state in STATES:
            amount = Decimal(item.get(f"{state}_amount", 0)).quantize(CENT)
            of_day[state] += Sum(int(item.get(state, 0)), amount)
    return found


def whole_totals(days: Mapping[date, Totals]) -> Totals:
    """Return the totals of several days as one."""
    return {state: sum((of_day[state] for of_day in days.values()), Sum()) for state in STATES}
