"""How much there is to do in the CMS: one item, which a worker writes each minute and the menu of each page shows."""

from dataclasses import asdict, dataclass
from datetime import datetime

from dealsite.data import keys, table
from dealsite.data.entities.entity import reader
from dealsite.data.entities.operations import TASK_COUNTS
from dealsite.data.jobs.site_switch import Known
from dealsite.data.table.ids import iso
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put

MOST = 100  # what is more is not counted: the menu says "99+"


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """How many of each, up to `MOST`: `featured` deals that cannot be had, `orders` to ship, `payments` that failed.

    `overdue` payments are due and not paid, failed or not.
    """

    drafts: int = 0
    featured: int = 0
    orders: int = 0
    payments: int = 0
    overdue: int = 0


_read = reader(TASK_COUNTS.shape, TaskCounts)


@access_pattern("how much there is to do", "1 get")
def read() -> TaskCounts:
    """Return what was counted last; nothing before a worker has counted."""
    item = table.get(keys.task_counts())
    return _read(item) if item else TaskCounts()


@access_pattern("store how much there is to do", "1 put")
def store(counts: TaskCounts, *, now: datetime) -> None:
    """Replace what was counted before."""
    item = TASK_COUNTS.item(asdict(counts) | {"at": iso(now)})
    table.write(Put(key=keys.task_counts(), item=item))


of_process = Known(lambda: read(), TaskCounts(), seconds=30.0)
