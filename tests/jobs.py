"""Running jobs as a worker does, one after the other, here and now, and the one first that is due longest."""

from datetime import datetime

from dealsite.data import keys, table
from dealsite.data.entities.work import LANES
from dealsite.data.jobs import jobs
from dealsite.worker import loop
from tests.table_requests import unseen


def places() -> list[str]:
    """Where open jobs wait, first where one is due longest; nothing sees or counts this look."""
    with unseen():
        first = {
            place: rows[0]["GSI3SK"]
            for place in jobs.everywhere(*LANES)
            if (rows := table.query(keys.open_jobs.partition(place), index=keys.GSI3, limit=1))
        }
    return sorted(first, key=first.__getitem__)


def run_next(*, now: datetime) -> bool:
    """Take and run one due job; False if there is none."""
    job = loop.take(now=now, at=places())
    if job is not None:
        loop.work_on(job, now)
    return job is not None


def run_all(*, now: datetime) -> None:
    """Run due jobs until none is left."""
    while run_next(now=now):
        pass
