"""What editors do with a job: pause, resume, cancel, and try again what failed.

That takes the job from its worker, which notices at its next write: at the next checkpoint.
"""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy, gettext_noop

from dealsite.data import keys, table
from dealsite.data.editing import audit
from dealsite.data.entities.work import PAUSABLE
from dealsite.data.jobs.jobs import Job, get
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import time_of
from dealsite.data.table.writes import Path, Update, equals

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
    """Try a failed job again; harmless if it is open. NotFound, Conflict."""
    _set_state(job_id, ("failed",), "open", gettext_noop("tried again"), by=by, now=now)


def may(job: Job) -> tuple[str, ...]:
    """Return what an editor can do with a job now: pause, resume, cancel, retry."""
    if job.state == "failed":
        return ("retry",)
    if job.kind not in PAUSABLE:
        return ()
    return {"open": ("pause", "cancel"), "paused": ("resume", "cancel")}.get(job.state, ())


def _set_state(
    job_id: str, states: tuple[str, ...], state: str, what: str, *, by: str, now: datetime
) -> None:
    job = get(job_id)
    if job.state == state:
        return
    if job.kind not in PAUSABLE and job.state != "failed":
        raise Conflict(gettext_lazy("A job of this kind cannot be paused or cancelled."))
    if job.state not in states:
        raise Conflict(ALREADY[job.state])
    changes: dict[Path, Any] = {"state": state, ("card", "state"): state}
    remove = ["taken_by", "GSI3PK", "GSI3SK"]
    if state == "open":
        rows = keys.job_rows(job_id, max(now, time_of(job_id)))
        changes |= {"tries": 0, "GSI3PK": rows["GSI3PK"], "GSI3SK": rows["GSI3SK"]}
        remove = ["taken_by", "error", "ttl"]
        if "by" in job.payload and job.kind in PAUSABLE:
            changes["payload", "by"] = by
    update = Update(key=keys.job(job_id), set=changes, remove=remove, when=(equals("state", job.state),))
    entry = audit.entry_write(by=by, kind="job", subject=job_id, what=what, now=now, note=job.kind)
    try:
        table.transact([update, entry])
    except Conflict:
        if get(job_id).state != state:  # else it was this very write, whose answer was lost
            raise
