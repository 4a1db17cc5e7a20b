"""The list of jobs, month by month."""

from __future__ import annotations

from dataclasses import dataclass

from dealsite.data import keys
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.paging import newest_first

PAGE_SIZE = 25


@dataclass(frozen=True, slots=True)
class JobsPage:
    """Up to 25 jobs of a month, newest first, and the cursors of the older and newer page."""

    jobs: list[Job]
    after: str | None
    before: str | None


@access_pattern("the jobs of a month", "GSI1 JOBS#yyyy-mm; JOB#id / JOB#id", "1 query + 1 batch get")
def of_month(month: str, *, after: str | None = None, before: str | None = None) -> JobsPage:
    """Return one page of the jobs of a month, `yyyy-mm`; BadCursor. 1 query and 1 batch get."""
    page = newest_first(
        keys.jobs_of_month.partition(month),
        "JOB#",
        index=keys.GSI1,
        after=after,
        before=before,
        size=PAGE_SIZE,
    )
    found = jobs.get_many(page.ids)
    return JobsPage([found[job_id] for job_id in page.ids if job_id in found], page.after, page.before)
