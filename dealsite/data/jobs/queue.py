"""The queue: which jobs are due and wait for a worker, by their kinds."""

from dataclasses import dataclass
from datetime import datetime

from dealsite.data import keys, table
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.ids import from_iso

MOST = 500  # jobs that are looked at, those due longest


@dataclass(frozen=True, slots=True)
class KindWaiting:
    """How many jobs of a kind wait, and when the first of them was due."""

    kind: str
    jobs: int
    oldest: datetime


@dataclass(frozen=True, slots=True)
class Queue:
    """The kinds of jobs that wait, the one that waits longest first; `is_all` unless there are more than 500."""

    kinds: tuple[KindWaiting, ...]
    is_all: bool

    @property
    def jobs(self) -> int:
        return sum(one.jobs for one in self.kinds)


@access_pattern("which jobs wait for a worker", "GSI3 JOBS#OPEN / due time and id", "1 query")
def waiting(*, now: datetime) -> Queue:
    """Return the jobs that are due and that no worker has taken, by kind; up to 500 are counted."""
    due = keys.open_jobs.until(now)[1]
    page = table.query_page(keys.open_jobs.partition(), index=keys.GSI3, high=due, limit=MOST)
    found: dict[str, KindWaiting] = {}
    for row in page.items:
        kind, at = row["card"]["kind"], from_iso(row["GSI3SK"].partition("#")[0])
        before = found.get(kind)
        found[kind] = KindWaiting(kind, before.jobs + 1 if before else 1, before.oldest if before else at)
    return Queue(tuple(found.values()), page.start is None)
