"""The queue: how many jobs of each kind are due, wait for a later time, rest, or failed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

from dealsite.data import keys, table
from dealsite.data.jobs import jobs
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.ids import from_iso

JobState = Literal["due", "later", "paused", "failed"]
STATES: tuple[JobState, ...] = get_args(JobState)
MOST_OPEN = 1_000  # that are looked at, those due longest
MOST_RECENT = 500  # of this month and of the last: paused and failed ones are looked for among the newest


@dataclass(frozen=True, slots=True)
class KindOfJob:
    """How many jobs of a kind there are by state, when the first of the due ones was due, and the last that failed."""

    kind: str
    jobs: Mapping[JobState, int]
    oldest: datetime | None = None
    last_failed: str = ""


@dataclass(frozen=True, slots=True)
class Queue:
    """The kinds of jobs, the one that waits longest first; `is_all` unless there are more than 1,000 open ones."""

    kinds: tuple[KindOfJob, ...]
    is_all: bool

    @property
    def oldest(self) -> datetime | None:
        """When the job that waits longest was due."""
        return self.kinds[0].oldest if self.kinds else None


@access_pattern("how many jobs wait, rest or failed", "3 queries")
def read(*, now: datetime) -> Queue:
    """Count the first 1,000 open jobs, and of the newest 500 of this month and the last the paused and failed ones.

    A job that a worker has taken waits for a later time: the end of its lease. One that rests while the site is not
    open counts as paused. 3 queries.
    """
    counts: dict[str, dict[JobState, int]] = {}
    oldest: dict[str, datetime] = {}
    last_failed: dict[str, str] = {}

    def count(kind: str, state: JobState) -> None:
        counts.setdefault(kind, dict.fromkeys(STATES, 0))[state] += 1

    page = table.query_page(keys.open_jobs.partition(), index=keys.GSI3, limit=MOST_OPEN)
    for row in page.items:
        kind, due = row["card"]["kind"], from_iso(row["GSI3SK"].partition("#")[0])
        if due > now or jobs.rests(kind):
            count(kind, "later" if due > now else "paused")
        else:
            oldest.setdefault(kind, due)
            count(kind, "due")
    for day in (now, now.replace(day=1) - timedelta(days=1)):
        month = keys.jobs_of_month.partition(f"{day:%Y-%m}")
        for row in table.query(month, index=keys.GSI1, newest_first=True, limit=MOST_RECENT):
            kind, state = row["card"]["kind"], row["card"]["state"]
            if state in ("paused", "failed"):
                count(kind, state)
            if state == "failed":
                last_failed.setdefault(kind, row["SK"].removeprefix("JOB#"))
    kinds = (
        KindOfJob(kind, counts[kind], oldest.get(kind), last_failed.get(kind, ""))
        for kind in [*oldest, *sorted(counts.keys() - oldest)]
    )
    return Queue(tuple(kinds), page.start is None)
