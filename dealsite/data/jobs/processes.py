"""The site's processes: what each last said of itself and its machine, every 15 seconds."""

from dataclasses import dataclass, field
from datetime import datetime

from dealsite.data import keys, table
from dealsite.data.entities.conversion import reader, writer
from dealsite.data.entities.operations import PROCESS
from dealsite.data.jobs.heartbeats import KEPT, is_missing
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.ids import epoch_seconds, time_of
from dealsite.data.table.writes import Delete, Put

MOST = 200  # that are shown, those that began last: a worker that dies each half minute leaves many behind


@dataclass(frozen=True, slots=True)
class JobAtWork:
    """A job that a worker runs, and since when."""

    kind: str
    since: datetime


@dataclass(frozen=True, slots=True)
class ProjectionState:
    """A projection of a machine; `lag` in seconds, None if not known. See `node.projections`."""

    state: str
    skipped: int
    lag: int | None = None


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """Free bytes and percent of a disk; `state` is enough, little or too_little."""

    free: int
    percent: int
    state: str


@dataclass(frozen=True, slots=True)
class PartRestarts:
    """How often a launcher started a part again, and how that ended last."""

    restarts: int
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Process:
    """One process, as of `at`."""

    id: str
    part: str
    machine: str
    pid: int
    version: str
    at: datetime
    jobs: tuple[JobAtWork, ...] = ()
    projections: dict[str, ProjectionState] = field(default_factory=dict)
    disks: dict[str, DiskSpace] = field(default_factory=dict)
    parts: dict[str, PartRestarts] = field(default_factory=dict)

    @property
    def began_at(self) -> datetime:
        return time_of(self.id)

    def is_dead(self, *, now: datetime) -> bool:
        """Tell whether it has been silent for so long that it died: one that ends takes its item away."""
        return is_missing(self.at, now=now)


_read, _store = reader(PROCESS.shape, Process), writer(PROCESS.shape, Process)


@access_pattern("say how a process is doing", "1 put")
def save(process: Process) -> None:
    """Store what a process says of itself in place of what it said before; it is kept for a day."""
    item = PROCESS.item(_store(process) | {"ttl": epoch_seconds(process.at + KEPT)})
    table.write(Put(key=keys.process(process.id), item=item))


@access_pattern("take away a process that ends", "1 delete")
def remove(process_id: str) -> None:
    """Take a process away that ends as it should; what died stays for a day. Harmless to repeat."""
    table.write(Delete(key=keys.process(process_id)))


@access_pattern("all processes of the last day", "1 query")
def listed(*, now: datetime) -> list[Process]:
    """Return the processes that live, and those that died within a day, those that began last first; up to 200."""
    rows = table.query(keys.process.partition(), newest_first=True, limit=MOST, consistent=True)
    found = [_read(row) for row in rows]
    return [one for one in found if abs(now - one.at) < KEPT]
