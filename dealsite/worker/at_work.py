"""What this worker is at just now: the jobs of its threads, for its heartbeat."""

import contextlib
from collections.abc import Iterator
from datetime import datetime

from dealsite.data.entities.operations import MOST_JOBS
from dealsite.data.jobs.processes import JobAtWork

_jobs: dict[object, JobAtWork] = {}


@contextlib.contextmanager
def on(kind: str, now: datetime) -> Iterator[None]:
    """Say that this process is at a job of a kind within the block."""
    place = object()  # a thread may begin a job within one
    _jobs[place] = JobAtWork(kind, now)
    try:
        yield
    finally:
        del _jobs[place]


def jobs() -> tuple[JobAtWork, ...]:
    """Return the jobs that this process is at, the longest first."""
    return tuple(sorted(_jobs.values(), key=lambda one: one.since)[:MOST_JOBS])
