"""Running jobs as a worker does, one after the other, here and now, and the one first that is due longest."""

from datetime import datetime

from dealsite.data import keys, table
from dealsite.data.entities.work import LANES
from dealsite.data.jobs import jobs
from dealsite.worker import loop


def run_next(*, now: datetime) -> bool:
    """Take and run one due job; False if there is none."""
    first = {
        place: [
            row["GSI3SK"] for row in table.query(keys.open_jobs.partition(place), index=keys.GSI3, limit=1)
        ]
        for place in jobs.everywhere(*LANES)
    }
    job = loop.take(
        now=now, at=sorted(first, key=lambda place: first[place] or ["~"])
    )  # none: an index may lag
    if job is not None:
        loop.work_on(job, now)
    return job is not None


def run_all(*, now: datetime) -> None:
    """Run due jobs until none is left."""
    while run_next(now=now):
        pass
