"""The list of jobs, month by month."""

from __future__ import annotations

from dataclasses import dataclass

from dealsite.data import jobs, keys, table
from dealsite.data.errors import BadCursor
from dealsite.data.ids import LAST_ULID, is_ulid, next_ulid, previous_ulid
from dealsite.data.jobs import Job

PAGE_SIZE = 25


@dataclass(frozen=True, slots=True)
class JobsPage:
    """Up to 25 jobs of a month, newest first, and the cursors of the older and newer page."""

    jobs: list[Job]
    after: str | None
    before: str | None


def of_month(month: str, *, after: str | None = None, before: str | None = None) -> JobsPage:
    """Return one page of the jobs of a month, `yyyy-mm`; BadCursor. 1 query and 1 batch get."""
    after, before = after or None, before or None
    if (after and before) or any(cursor and not is_ulid(cursor) for cursor in (after, before)):
        raise BadCursor()
    rows = table.query(
        keys.jobs_of_month(month),
        index=keys.GSI1,
        low=f"JOB#{next_ulid(before) if before else '0' * 26}",
        high=f"JOB#{previous_ulid(after) if after else LAST_ULID}",
        newest_first=not before,
        limit=PAGE_SIZE + 1,
    )
    more = len(rows) > PAGE_SIZE
    ids = [row["SK"].removeprefix("JOB#") for row in rows[:PAGE_SIZE]]
    found = jobs.get_many(ids)
    shown = [found[job_id] for job_id in ids if job_id in found]
    if before:
        shown.reverse()
        return JobsPage(shown, ids[0] if ids else next_ulid(before), ids[-1] if ids and more else None)
    newer = (ids[0] if ids else previous_ulid(after)) if after else None
    return JobsPage(shown, ids[-1] if ids and more else None, newer)
