"""Running jobs as a worker does, one after the other, here and now."""

from datetime import datetime

from dealsite.worker import loop


def run_next(*, now: datetime) -> bool:
    """Take and run one due job; False if there is none."""
    job = loop.take(now=now)
    if job is not None:
        loop.work_on(job, now)
    return job is not None


def run_all(*, now: datetime) -> None:
    """Run due jobs until none is left."""
    while run_next(now=now):
        pass
