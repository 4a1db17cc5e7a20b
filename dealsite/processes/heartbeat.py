"""A process's heartbeat: a thread that says in the table, four times a minute, how this process is doing."""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import datetime

import structlog
from django.utils import timezone

from dealsite import __version__
from dealsite.data.catalogue import activity
from dealsite.data.entities.operations import MACHINE_CHARACTERS, MOST_JOBS
from dealsite.data.jobs import heartbeats, processes
from dealsite.data.jobs.heartbeats import Part
from dealsite.data.jobs.processes import DiskSpace, JobAtWork, PartRestarts, Process, ProjectionState
from dealsite.data.table.errors import DataError
from dealsite.data.table.ids import new_ulid
from dealsite.web import node

SECONDS = 15.0
END_SECONDS = 1.0  # for a process that ends to say so: all has to be over in ten

_jobs: dict[object, JobAtWork] = {}
logger = structlog.get_logger(__name__)


@contextlib.contextmanager
def at_work(kind: str, now: datetime) -> Iterator[None]:
    """Say that this process is at a job of a kind within the block."""
    place = object()  # a thread may begin a job within one
    _jobs[place] = JobAtWork(kind, now)
    try:
        yield
    finally:
        del _jobs[place]


def keep(stop: threading.Event, part: Part, *, clock: Callable[[], datetime] = timezone.now) -> None:
    """Write heartbeats until `stop` is set; while the table is away, none."""
    process_id = new_ulid(clock())
    while not stop.is_set():
        try:
            now = clock()
            if part == "worker":  # web processes say so for `/readyz`, as often as somebody asks
                heartbeats.write(part, now=now)
            processes.save(process(process_id, part, now=now))
            activity.flush()
        except Exception:  # one that works must not look dead for good; its own work says why aloud
            logger.debug("heartbeat_not_written", exc_info=True)
        stop.wait(SECONDS)
    with contextlib.suppress(DataError):
        processes.remove(process_id)
        activity.flush()


def process(process_id: str, part: Part, *, now: datetime) -> Process:
    """Return what this process says of itself, and of its machine."""
    return Process(
        id=process_id,
        part=part,
        machine=socket.gethostname()[:MACHINE_CHARACTERS] or "-",
        pid=os.getpid(),
        version=__version__,
        at=now,
        projections={
            name: ProjectionState(
                one["state"],
                one["skipped"],
                None if one["lag_seconds"] is None else round(one["lag_seconds"]),
            )
            for name, one in node.projections(now).items()
        },
        disks=_disks(),
        parts={name: PartRestarts(one["restarts"], one["ended"] or "") for name, one in node.parts().items()},
        jobs=tuple(sorted(_jobs.values(), key=lambda one: one.since)[:MOST_JOBS]),  # the longest first
    )


def _disks() -> dict[str, DiskSpace]:
    try:
        found = node.disks()
    except OSError:
        return {}
    return {
        name: DiskSpace(
            one["free_bytes"],
            int(one["free_share"] * 100),
            "too_little" if one["too_little"] else "little" if one["little"] else "enough",
        )
        for name, one in found.items()
    }
