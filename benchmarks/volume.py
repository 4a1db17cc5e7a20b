"""A million payments in half an hour, on paper: the write units a second of each partition that is written to.

Inserting, claiming and settling are taken to go on at once, at the same rate. Costs come from items as the site
itself makes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from benchmarks.capacity import Attributes, Cost, cost_of, item_size, read_units, write_units
from benchmarks.generated_payments import GeneratedSource
from dealsite.data import keys
from dealsite.data.commerce.charging import BATCH, LEASE, RUNNER
from dealsite.data.commerce.payment_record import Payment, Step, payment_item
from dealsite.data.commerce.payments import PAYMENT_NOTICE
from dealsite.data.entities.commerce import LARGEST_CHUNK, MOST_PENDING, PENDING, PROCESSED, STATES
from dealsite.data.entities.work import PLACES
from dealsite.data.jobs.jobs import job_write
from dealsite.data.table.convert import to_attributes
from dealsite.data.table.ids import new_ulid, shard

PAYMENTS, SECONDS = 1_000_000, 1800
# Units a second of a new table on demand, and of each of its indexes.
AT_ONCE = {"reads": 12_000, "writes": 4_000}
PAYMENTS_OF_AN_ACCOUNT = 12
SAMPLE = 50_000  # ids by which the fullest shard is found
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MODEL_BYTES = 8 * 1024  # of a payment's whole item, in the model
(EXAMPLE,) = (payment for payment, _, _ in GeneratedSource(1, first=NOW, size=MODEL_BYTES).payments(0, 1))
# The model's item is 8 KB in all.
EXAMPLE_OF_8_KB = replace(
    EXAMPLE, data=EXAMPLE.data[: 2 * MODEL_BYTES - item_size(to_attributes(payment_item(EXAMPLE)))]
)
COUNTED = {name: 10**6 for state in STATES for name in (state, f"{state}_amount")}
TOTALS = to_attributes({"type": "PaymentTotals", "day": "2026-11-21", "shard": 1, **COUNTED})
GUARD = 2 * write_units(200)
TURN = write_units(200)  # the count of what all workers ask the payment provider in a second


@dataclass(frozen=True, slots=True)
class Stages:
    """One payment as it is inserted, claimed and settled, and what each step costs."""

    inserted: Attributes
    claimed: Attributes
    settled: Attributes
    insert: Cost
    claim: Cost
    settle: Cost


@dataclass(frozen=True, slots=True)
class Load:
    """The write units a second that a partition takes."""

    partition: str
    what: str
    units: float


def rate() -> float:
    """Return the payments a second."""
    return PAYMENTS / SECONDS


def stages(payment: Payment, *, now: datetime, whole: bool = False) -> Stages:
    """Return what becomes of a payment and what it costs; `whole`: as if indexes held whole items."""
    token = new_ulid(now)
    claimed = replace(
        payment, status=PENDING, next_at=now + LEASE, claimed_by=token, series_at=now, version=2
    )
    settled = claimed.after(
        Step(PROCESSED, now, RUNNER),
        next_at=now,
        processed_at=now,
        transaction_id=f"pi_{'0' * 24}",
        claimed_by="",
    )
    first, second, third = (to_attributes(payment_item(one)) for one in (payment, claimed, settled))
    return Stages(
        first,
        second,
        third,
        cost_of(None, first, whole=whole),
        cost_of(first, second, whole=whole),
        cost_of(second, third, transaction=True, whole=whole),
    )


def index_rows(steps: Stages) -> float:
    """Return the write units a second of that index, with all three steps at once."""
    every = (steps.insert, steps.claim, steps.settle)
    return sum(step.indexes.get(keys.GSI3, 0) for step in every) * rate()


def fullest_share(ids: Iterable[str]) -> float:
    """Return the part of payments that the fullest of the shards has."""
    counted = Counter(shard(payment_id, keys.PAYMENT_SHARDS) for payment_id in ids)
    return max(counted.values()) / counted.total()


def partition_loads(payment: Payment, *, now: datetime) -> list[Load]:
    """Return what the partitions take of such payments, inserted, claimed and settled at once."""
    steps = stages(payment, now=now)
    share = fullest_share(new_ulid(now, number << 40) for number in range(SAMPLE))
    of_shard = rate() * share
    every, notice = [steps.insert, steps.claim, steps.settle], _notice_units()
    return [
        Load(
            "PAYMENTS#account",
            f"all {PAYMENTS_OF_AN_ACCOUNT} payments of an account within one second",
            PAYMENTS_OF_AN_ACCOUNT * sum(step.item for step in every),
        ),
        Load("GSI3 PAYMENTS#k", f"rows of the fullest shard, {share:.1%} of all", share * index_rows(steps)),
        Load(
            "PAYTOTALS#day#k",
            "settling, if all were due on one day",
            of_shard * cost_of(TOTALS, TOTALS, transaction=True).item,
        ),
        Load("THROTTLE#gateway-worker-total", "turns at the payment provider", rate() * TURN),
        Load("LOAD#id", "segments, an update for each 200", rate() / LARGEST_CHUNK * _segment_units()),
        Load(
            "GSI3 JOBS#OPEN#bulk",
            f"open notices, if all were of orders: one of {PLACES['bulk']}",
            rate() * notice[keys.GSI3] / PLACES["bulk"],
        ),
        Load("GSI1 JOBS#month", "all notices of a month, if all were of orders", rate() * notice[keys.GSI1]),
    ]


def _segment_units() -> int:
    """Return what it costs to move on a segment that keeps as much to count as it may."""
    moved = {"open": 10**3, "open_amount": 10**6}
    pending = {f"2026-11-21#{number}": moved for number in range(MOST_PENDING)}
    return write_units(item_size(to_attributes({"type": "PaymentLoadSegment", "pending": pending})))


def _notice_units() -> Counter[str]:
    """Return what each index takes of the job that tells the owner of a payment: added, taken and done."""
    payload = {
        "account": "a" * 30,
        "order": "0" * 26,
        "number": 1,
        "of": 12,
        "amount": 1,
        "status": PROCESSED,
    }
    put = job_write(PAYMENT_NOTICE, payload, job_id=new_ulid(NOW), due=NOW)
    new = to_attributes(put.item | {"PK": put.key[0], "SK": put.key[1]})
    taken = {**new, "GSI3SK": {"S": keys.open_jobs.position(NOW + timedelta(minutes=1), put.item["id"])}}
    done = {name: value for name, value in taken.items() if not name.startswith("GSI3")}
    done["card"] = to_attributes({"card": put.item["card"] | {"state": "done"}})["card"]
    steps = [cost_of(None, new), cost_of(new, taken), cost_of(taken, done)]
    return sum((Counter(step.indexes) for step in steps), Counter())


def units_by_index(payment: Payment, *, now: datetime) -> dict[str, dict[str, int]]:
    """Return the write units that each step of a payment takes of the table, "", and of each index."""
    steps = stages(payment, now=now)
    found = {
        name: {"": cost.item, **cost.indexes}
        for name, cost in (("insert", steps.insert), ("claim", steps.claim), ("settle", steps.settle))
    }
    found["claim"][""] += TURN
    found["settle"][""] += GUARD + cost_of(TOTALS, TOTALS, transaction=True).item
    return found


def reads_by_index(payment: Payment, *, due: float) -> dict[str, float]:
    """Return the read units of one payment: it is read as it is claimed, `due` is what finding 100 of them takes."""
    size = item_size(to_attributes(payment_item(payment)))
    return {"": read_units(size, consistent=True), keys.GSI3: due / BATCH}
