"""What this worker is at just now: the job of each of its threads, for its heartbeat."""

import contextlib
import threading
from collections.abc import Iterator
from datetime import datetime

from dealsite.data.entities.operations import MOST_JOBS
from dealsite.data.jobs.processes import JobAtWork

_jobs: dict[int, JobAtWork] = {}


@contextlib.contextmanager
def on(kind: str, now: datetime) -> Iterator[None]:
    """Say that this thread is at a job of a kind within the block."""
    thread = threading.get_ident()
    _jobs[thread] = JobAtWork(kind, now)
    try:
        yield
    finally:
        del _jobs[thread]


def jobs() -> tuple[JobAtWork, ...]:
    """Return the jobs that this process is at, the longest first."""
    return tuple(sorted(_jobs.values(), key=lambda one: one.since)[:MOST_JOBS])
