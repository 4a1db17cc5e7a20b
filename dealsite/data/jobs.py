"""Work that outlives a request: a job is written in the transaction that causes it, and a worker runs it.

An open job stands in the open-jobs partition under the time at which it may be taken. Taking one
moves that time to the end of the lease, so nobody else finds it before; finishing removes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from dealsite.data import keys, table
from dealsite.data.convert import Item
from dealsite.data.errors import Conflict, NotFound
from dealsite.data.ids import iso, new_ulid, time_of
from dealsite.data.writes import Put, Update, absent, equals

LEASE = timedelta(seconds=60)
MAX_TRIES = 8


@dataclass(frozen=True, slots=True)
class Job:
    """One job; `taken_by` is the token of the worker's take, by which it knows that the job is still its own."""

    id: str
    kind: str
    payload: dict[str, Any]
    state: str = "open"
    tries: int = 0
    checkpoint: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    taken_by: str = ""

    @property
    def created_at(self) -> datetime:
        return time_of(self.id)


Handler = Callable[[Job, datetime], datetime | None]


def job_write(kind: str, payload: dict[str, Any], *, job_id: str, due: datetime) -> Put:
    """Return the write that adds a job, for the transaction that causes it."""
    item = {
        "type": "Job",
        "id": job_id,
        "kind": kind,
        "payload": payload,
        "state": "open",
        "tries": 0,
        "card": _card(kind, "open"),
        **keys.job_rows(job_id, due),
    }
    return Put(key=keys.job(job_id), item=item, when=(absent(),))


def get(job_id: str) -> Job:
    """Return a job, or raise NotFound. 1 get."""
    item = table.get(keys.job(job_id))
    if item is None:
        raise NotFound("This job does not exist.")
    return _job(item)


def take_next(*, now: datetime) -> Job | None:
    """Take the open job that is due longest, for the time of a lease; None if none is due.

    1 query, then 1 update and 1 get.
    """
    token = new_ulid(now)
    for row in table.query(keys.OPEN_JOBS, index=keys.GSI3, high=keys.prefix(iso(now))[1], limit=10):
        job_id = row["SK"].removeprefix("JOB#")
        take = Update(
            key=keys.job(job_id),
            set={"GSI3SK": _position(job_id, now + LEASE), "taken_by": token},
            add={"tries": 1},
            when=(equals("GSI3SK", row["GSI3SK"]),),
        )
        with contextlib.suppress(Conflict):  # another worker took it; or this one, if the answer was lost
            table.write(take)
        job = get(job_id)
        if job.taken_by == token:
            return job
    return None


def save_checkpoint(job: Job, checkpoint: dict[str, Any], *, now: datetime) -> Job:
    """Keep how far a job has come and renew its lease; Conflict if another worker has taken it. 1 update."""
    _change(job, {"checkpoint": checkpoint, "GSI3SK": _position(job.id, now + LEASE)})
    return replace(job, checkpoint=checkpoint)


def finish(job: Job) -> None:
    """Mark a job done. 1 update."""
    _change(job, {"state": "done", "card": _card(job.kind, "done")}, remove=("GSI3PK", "GSI3SK"))


def wait_until(job: Job, due: datetime) -> None:
    """Put a job back until a later time, its tries forgiven. 1 update."""
    _change(job, {"GSI3SK": _position(job.id, due), "tries": 0})


def fail(job: Job, error: str, *, now: datetime) -> None:
    """Put a job back for a later try, or give it up after 8. 1 update."""
    error = error[:1000]
    if job.tries < MAX_TRIES:
        _change(job, {"error": error, "GSI3SK": _position(job.id, now + timedelta(seconds=2**job.tries))})
    else:
        changes = {"state": "failed", "error": error, "card": _card(job.kind, "failed")}
        _change(job, changes, remove=("GSI3PK", "GSI3SK"))


def _change(job: Job, changes: dict[str, Any], *, remove: tuple[str, ...] = ()) -> None:
    """Change a job that this worker still holds. Repeating it, after a lost answer, is harmless."""
    table.write(
        Update(key=keys.job(job.id), set=changes, remove=remove, when=(equals("taken_by", job.taken_by),))
    )


def _position(job_id: str, due: datetime) -> str:
    return keys.job_rows(job_id, due)["GSI3SK"]


def _card(kind: str, state: str) -> Item:
    return {"kind": kind, "state": state}


def _job(item: Item) -> Job:
    return Job(
        id=item["id"],
        kind=item["kind"],
        payload=item["payload"],
        state=item["state"],
        tries=item["tries"],
        checkpoint=item.get("checkpoint", {}),
        error=item.get("error", ""),
        taken_by=item.get("taken_by", ""),
    )
