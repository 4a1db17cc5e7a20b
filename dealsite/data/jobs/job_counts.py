"""How many jobs there are of each kind and state, and for how long the oldest has waited."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from dealsite.data import keys, table
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.ids import from_iso

MOST_OPEN = 1_000
MOST_OF_MONTH = 500


@dataclass(frozen=True, slots=True)
class JobCounts:
    """`jobs` by kind and state: due, later, paused, failed. `waits`: seconds of the oldest due job, by kind."""

    jobs: Mapping[tuple[str, str], int]
    waits: Mapping[str, float]


@access_pattern(
    "how many jobs wait", "GSI3 JOBS#OPEN / due time and id; GSI1 JOBS#yyyy-mm / JOB#id", "2 queries"
)
def read(*, now: datetime) -> JobCounts:
    """Count the first 1,000 open jobs, and the paused and failed ones of the newest 500 of this month. 2 queries."""
    jobs: Counter[tuple[str, str]] = Counter()
    waits: dict[str, float] = {}
    for row in table.query(keys.open_jobs.partition(), index=keys.GSI3, limit=MOST_OPEN):
        kind, waited = row["card"]["kind"], (now - from_iso(row["GSI3SK"].partition("#")[0])).total_seconds()
        jobs[kind, "due" if waited >= 0 else "later"] += 1
        if waited >= 0:
            waits[kind] = max(waits.get(kind, 0), waited)
    month = keys.jobs_of_month.partition(f"{now:%Y-%m}")
    for row in table.query(month, index=keys.GSI1, limit=MOST_OF_MONTH, newest_first=True):
        if row["card"]["state"] in ("paused", "failed"):
            jobs[row["card"]["kind"], row["card"]["state"]] += 1
    return JobCounts(jobs, waits)
