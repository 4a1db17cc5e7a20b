"""A process's heartbeat, which says in the table four times a minute how it is doing; and what it does when short.

Short of disk and open files it waits for more, of memory it ends; and one that runs for months keeps small.
"""

import contextlib
import ctypes
import errno
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import datetime

import structlog
from django.utils import timezone

from dealsite import __version__
from dealsite.data.catalogue import activity
from dealsite.data.entities.operations import MACHINE_CHARACTERS, MOST_JOBS
from dealsite.data.jobs import processes
from dealsite.data.jobs.processes import DiskSpace, JobAtWork, Part, PartRestarts, Process, ProjectionState
from dealsite.data.table.errors import DataError
from dealsite.data.table.ids import new_ulid
from dealsite.web import readiness

# No space, quota used up, disk turned read-only, too many open files (of the process, of the machine), no memory.
CODES = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
SECONDS_TO_END = 9  # a web process gives what is running 8
M_ARENA_MAX = -8  # glibc's own number for it
ARENAS = 2
ending = list[int]()  # this process, once it has run out of memory


def is_shortage(error: BaseException | None) -> bool:
    """Tell whether an error is the machine's, and the same may succeed a little later."""
    no_thread = isinstance(error, RuntimeError) and "start new thread" in str(error)
    return (
        no_thread or isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in CODES)
    )


def end_if_out_of_memory(error: BaseException) -> None:
    """Ask this process to end once its answers are sent, if it has no memory; its supervisor starts another one.

    If it has not even the memory to end, the kernel ends it.
    """
    if isinstance(error, MemoryError):
        if not ending:
            signal.alarm(SECONDS_TO_END)
            ending.append(os.getpid())  # more requests that fail do not put it off
        os.kill(os.getpid(), signal.SIGTERM)


def use_few_arenas() -> None:
    """Let glibc share two pools of memory among all threads; call it before they begin.

    By default it makes up to eight for each core, and each keeps what its threads freed: a worker's grew by the minute.
    """
    with contextlib.suppress(OSError, AttributeError):  # a C library without such pools
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS)


FIRST_SECONDS, SECONDS = (
    3.0,
    15.0,
)  # until the second heartbeat, which tells what began meanwhile; until each other
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
    process_id, seconds = new_ulid(clock()), FIRST_SECONDS
    while not stop.is_set():
        try:
            now = clock()
            if part == "worker":  # web processes say so for `/readyz`, as often as somebody asks
                processes.write_heartbeat(part, now=now)
            processes.save(process(process_id, part, now=now))
            activity.flush()
        except Exception:  # one that works must not look dead for good; its own work says why aloud
            logger.debug("heartbeat_not_written", exc_info=True)
        stop.wait(seconds)
        seconds = SECONDS
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
            for name, one in readiness.projections_now(now).items()
        },
        disks=_disks(),
        parts={
            name: PartRestarts(one["restarts"], one["ended"] or "")
            for name, one in readiness.parts_now().items()
        },
        jobs=tuple(sorted(_jobs.values(), key=lambda one: one.since)[:MOST_JOBS]),  # the longest first
    )


def _disks() -> dict[str, DiskSpace]:
    try:
        found = readiness.disks_now()
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
