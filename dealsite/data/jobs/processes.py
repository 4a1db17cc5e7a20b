"""The site's processes: what each last said of itself and its machine, and when a worker last was alive."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from dealsite.data import keys, table
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.operations import HEARTBEAT, PROCESS
from dealsite.data.table.ids import epoch_seconds, from_iso, iso, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Delete, Put

Part = Literal["worker", "web", "unknown"]  # the last one: a worker met a job of a kind that it does not know
HEARTBEAT_KEPT = timedelta(days=1)  # then nobody asks any more how long ago it was
MISSING_AFTER = timedelta(minutes=1)  # four heartbeats; a worker that is started again is back long before


@access_pattern("say that a process lives", "1 put")
def write_heartbeat(part: Part, *, now: datetime) -> None:
    """Say that a process of a part lives. All of a part write the same item, since one that lives is enough."""
    item = HEARTBEAT.item({"part": part, "at": iso(now), "ttl": epoch_seconds(now + HEARTBEAT_KEPT)})
    table.write(Put(key=keys.heartbeat(part), item=item))


@access_pattern("when a process last said that it lives", "1 get")
def last_heartbeat(part: Part) -> datetime | None:
    """Return when a process of a part last said that it lives; None if none did for a day."""
    item = table.get(keys.heartbeat(part))
    return from_iso(item["at"]) if item else None


def heartbeat_is_missing(at: datetime | None, *, now: datetime) -> bool:
    """Tell whether a part's last heartbeat is so old, or so far ahead, that none of its processes can be alive."""
    return at is None or abs(now - at) > MISSING_AFTER


MOST = 200  # that are shown, those that began last: a worker that dies each half minute leaves many behind


@dataclass(frozen=True, slots=True)
class JobAtWork:
    """A job that a worker runs, and since when."""

    kind: str
    since: datetime


@dataclass(frozen=True, slots=True)
class ProjectionState:
    """A projection of a machine; `lag` in seconds, None if not known. See `readiness.projections_now`."""

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
        return heartbeat_is_missing(self.at, now=now)


_read, _store = reader(PROCESS.shape, Process), writer(PROCESS.shape, Process)


@access_pattern("say how a process is doing", "1 put")
def save(process: Process) -> None:
    """Store what a process says of itself in place of what it said before; it is kept for a day."""
    item = PROCESS.item(_store(process) | {"ttl": epoch_seconds(process.at + HEARTBEAT_KEPT)})
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
    return [one for one in found if abs(now - one.at) < HEARTBEAT_KEPT]
