"""What the payments due on a day come to, by what has become of them: kept, never summed for a page.

One item a day and shard. `open` is what is to be paid and was never declined, `failed` what was declined and is not
paid yet; what a runner has claimed stays where it was, so that a claim is a single update. Whatever else changes a
status changes the counters in the same transaction, or, where a checkout or a cancellation has no room left, by a
job of that transaction, which is applied exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from dealsite.data import keys, table
from dealsite.data.commerce.payment.payment_record import Payment
from dealsite.data.entities.attributes import CENT
from dealsite.data.entities.payments import CANCELLED, FAILED, PENDING, PROCESSED, REFUNDED, SCHEDULED, STATES
from dealsite.data.jobs import jobs
from dealsite.data.jobs.payloads import from_item
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import shard
from dealsite.data.table.writes import Put, Update, Write, missing, present

PAYMENT_TOTALS = "payment_totals"  # the kind of job
Place = tuple[date, int]  # a day and a shard
Deltas = dict[Place, dict[str, Decimal]]


class AlreadyApplied(Conflict):
    """The counters have what this job says."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A number of payments and what they come to."""

    count: int = 0
    amount: Decimal = Decimal("0.00")

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


def changes(before: Payment | None, after: Payment | None) -> Deltas:
    """Return what it does to the totals that a payment becomes another; None: it was not there."""
    whole: Deltas = {}
    for payment, sign in ((before, -1), (after, 1)):
        if payment is not None:
            state = state_of(payment)
            moved = {state: Decimal(sign), f"{state}_amount": sign * payment.amount}
            whole = combine([whole, {place_of(payment): moved}])
    return whole


def added(payments: Iterable[Payment]) -> Deltas:
    """Return what new payments add."""
    return combine(changes(None, payment) for payment in payments)


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


def writes(deltas: Mapping[Place, Mapping[str, Decimal]]) -> list[Write]:
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
    payload = from_item(TotalsPayload, job.payload)
    mark = Update(
        key=keys.job(job.id),
        set={"applied": True},
        when=(present("kind"), missing("applied")),
        otherwise=AlreadyApplied(),
    )
    with suppress(AlreadyApplied):
        table.transact([mark, *writes(deltas_from(payload.deltas))])


@access_pattern("the totals of days", "1 batch get")
def of_days(first: date, last: date) -> dict[date, Totals]:
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


def whole(days: Mapping[date, Totals]) -> Totals:
    """Return the totals of several days as one."""
    return {state: sum((of_day[state] for of_day in days.values()), Sum()) for state in STATES}
