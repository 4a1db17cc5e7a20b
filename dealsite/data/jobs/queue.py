"""The queue: how many jobs of each kind are due, wait, rest or failed; and pausing, resuming, cancelling, retrying one.

That takes the job from its worker, which notices at its next write: at the next checkpoint.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from django.utils.translation import gettext_lazy, gettext_noop

from dealsite.data import keys, table
from dealsite.data.editing import audit
from dealsite.data.entities.work import PAUSABLE, open_rows
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job, get
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import from_iso, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import merged
from dealsite.data.table.writes import Path, Update, equals

JobState = Literal["due", "later", "paused", "failed"]
STATES: tuple[JobState, ...] = get_args(JobState)
MOST_OPEN = 1_000  # that are looked at, those due longest
TRIES = 5  # to stop a job whose parts go on
MOST_RECENT = 500  # of this month and of the last: paused and failed ones are looked for among the newest


@dataclass(frozen=True, slots=True)
class KindOfJob:
    """How many jobs of a kind there are by state, when the first of the due ones was due, and the last that failed."""

    kind: str
    jobs: Mapping[JobState, int]
    oldest: datetime | None = None
    last_failed: str = ""


@dataclass(frozen=True, slots=True)
class Queue:
    """The kinds of jobs, the one that waits longest first; `is_all` unless there are more than 1,000 open ones."""

    kinds: tuple[KindOfJob, ...]
    is_all: bool

    @property
    def oldest(self) -> datetime | None:
        """When the job that waits longest was due."""
        return self.kinds[0].oldest if self.kinds else None


@access_pattern("how many jobs wait, rest or failed", "10 queries")
def read(*, now: datetime) -> Queue:
    """Count the first 1,000 open jobs, and of the newest 500 of this month and the last the paused and failed ones.

    A job that a worker has taken waits for a later time: the end of its lease. One that rests while the site is not
    open counts as paused. 10 queries.
    """
    counts: dict[str, dict[JobState, int]] = {}
    oldest: dict[str, datetime] = {}
    last_failed: dict[str, str] = {}

    def count(kind: str, state: JobState) -> None:
        counts.setdefault(kind, dict.fromkeys(STATES, 0))[state] += 1

    rows = merged(jobs.OPEN, index=keys.GSI3, limit=MOST_OPEN + 1)
    for row in rows[:MOST_OPEN]:
        kind, due = row["card"]["kind"], from_iso(row["GSI3SK"].partition("#")[0])
        if due > now or jobs.rests(kind):
            count(kind, "later" if due > now else "paused")
        else:
            oldest.setdefault(kind, due)
            count(kind, "due")
    for day in (now, now.replace(day=1) - timedelta(days=1)):
        month = keys.jobs_of_month.partition(f"{day:%Y-%m}")
        for row in table.query(month, index=keys.GSI1, newest_first=True, limit=MOST_RECENT):
            kind, state = row["card"]["kind"], row["card"]["state"]
            if state in ("paused", "failed"):
                count(kind, state)
            if state == "failed":
                last_failed.setdefault(kind, row["SK"].removeprefix("JOB#"))
    kinds = (
        KindOfJob(kind, counts[kind], oldest.get(kind), last_failed.get(kind, ""))
        for kind in [*oldest, *sorted(counts.keys() - oldest)]
    )
    return Queue(tuple(kinds), len(rows) <= MOST_OPEN)


ALREADY = {
    "open": gettext_lazy("This job is open already."),
    "paused": gettext_lazy("This job is paused already."),
    "done": gettext_lazy("This job is done already."),
    "failed": gettext_lazy("This job is failed already."),
    "cancelled": gettext_lazy("This job is cancelled already."),
}


@access_pattern("pause a job", "1 get + 1 transaction")
def pause(job_id: str, *, by: str, now: datetime) -> None:
    """Stop a job until `resume`; harmless if it is paused. NotFound, Conflict."""
    _set_state(job_id, ("open",), "paused", "paused", by=by, now=now)


@access_pattern("resume a job", "1 get + 1 transaction")
def resume(job_id: str, *, by: str, now: datetime) -> None:
    """Go on with a paused job, not before its time, and answer for it from now on; harmless if it is open.

    NotFound, Conflict.
    """
    _set_state(job_id, ("paused",), "open", "resumed", by=by, now=now)


@access_pattern("cancel a job", "1 get + 1 transaction")
def cancel(job_id: str, *, by: str, now: datetime) -> None:
    """End a job; what it did stays. Harmless to repeat. NotFound, Conflict."""
    _set_state(job_id, ("open", "paused"), "cancelled", "cancelled", by=by, now=now)


@access_pattern("try a failed job again", "1 get + 1 transaction")
def retry(job_id: str, *, by: str, now: datetime) -> None:
    """Try a job again that failed, also one that waits for its next try; harmless if it is open. NotFound, Conflict."""
    _set_state(job_id, ("failed", "open"), "open", gettext_noop("tried again"), by=by, now=now)


def may_act(job: Job) -> tuple[str, ...]:
    """Return what an editor can do with a job now: pause, resume, cancel, retry."""
    again = ("retry",) if job.state == "failed" or job.is_put_off else ()
    if job.kind not in PAUSABLE:
        return again
    return again + {"open": ("pause", "cancel"), "paused": ("resume", "cancel")}.get(job.state, ())


def _set_state(
    job_id: str, states: tuple[str, ...], state: str, what: str, *, by: str, now: datetime
) -> None:
    job = get(job_id)
    is_next_try = job.is_put_off and "failed" in states
    if job.state == state and not is_next_try:
        return
    if job.kind not in PAUSABLE and job.state != "failed" and not is_next_try:
        raise Conflict(gettext_lazy("A job of this kind cannot be paused or cancelled."))
    if job.state not in states:
        raise Conflict(ALREADY[job.state])
    changes: dict[Path, Any] = {"state": state, ("card", "state"): state}
    remove = ["taken_by", "GSI3PK", "GSI3SK"]
    if state == "open":
        rows = open_rows(job.kind, job_id, max(now, time_of(job_id)))
        changes |= {"tries": 0, "GSI3PK": rows["GSI3PK"], "GSI3SK": rows["GSI3SK"]}
        remove = ["taken_by", "error", "ttl"]
        if "by" in job.payload and job.kind in PAUSABLE:
            changes["payload", "by"] = by
    when = (equals("state", job.state), *((equals("tries", job.tries),) if is_next_try else ()))
    update = Update(key=keys.job(job_id), set=changes, remove=remove, when=when)
    entry = audit.entry_write(by=by, kind="job", subject=job_id, what=what, now=now, note=job.kind)
    for tries_left in reversed(range(TRIES)):
        try:
            table.transact([update, entry, *(jobs.stop_writes(job, state) if state != "open" else ())])
            break
        except Conflict:
            now_there = get(job_id)
            if now_there.state == state:  # it was this very write, whose answer was lost
                break
            if not (now_there.parts and now_there.state == job.state and tries_left):
                raise
            job = now_there  # a part of it ended meanwhile
    if job.parts and state != "open":  # nobody counts on
        progress = jobs.summed(job, jobs.parts_of(job))
        table.write(Update(key=keys.job(job_id), set={"progress": progress}, when=(equals("state", state),)))
