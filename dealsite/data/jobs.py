"""Work that outlives a request: a job is written in the transaction that causes it, and a worker runs it.

An open job stands in the open-jobs partition under the time at which it may be taken. Taking one
moves that time to the end of the lease, so nobody else finds it before; finishing removes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from dealsite.data import keys, table
from dealsite.data.convert import Item
from dealsite.data.errors import Conflict, NotFound
from dealsite.data.ids import iso, time_of
from dealsite.data.writes import Put, Update, absent, equals

LEASE = timedelta(seconds=60)
MAX_TRIES = 8


@dataclass(frozen=True, slots=True)
class Job:
    """One job; `position` is its sort key among the open jobs, which changes whenever somebody takes it."""

    id: str
    kind: str
    payload: dict[str, Any]
    state: str = "open"
    tries: int = 0
    checkpoint: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    position: str | None = None

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
    for row in table.query(keys.OPEN_JOBS, index=keys.GSI3, high=keys.prefix(iso(now))[1], limit=10):
        job_id = row["SK"].removeprefix("JOB#")
        try:
            table.write(
                Update(
                    key=keys.job(job_id),
                    set={"GSI3SK": keys.job_rows(job_id, now + LEASE)["GSI3SK"]},
                    add={"tries": 1},
                    when=(equals("GSI3SK", row["GSI3SK"]),),
                )
            )
        except Conflict:
            continue
        return get(job_id)
    return None


def save_checkpoint(job: Job, checkpoint: dict[str, Any], *, now: datetime) -> Job:
    """Keep how far a job has come and renew its lease; Conflict if another worker has taken it. 1 update."""
    position = keys.job_rows(job.id, now + LEASE)["GSI3SK"]
    table.write(
        Update(key=keys.job(job.id), set={"checkpoint": checkpoint, "GSI3SK": position}, when=_mine(job))
    )
    return replace(job, checkpoint=checkpoint, position=position)


def finish(job: Job) -> None:
    """Mark a job done. 1 update."""
    table.write(
        Update(
            key=keys.job(job.id),
            set={"state": "done", "card": _card(job.kind, "done")},
            remove=("GSI3PK", "GSI3SK"),
            when=_mine(job),
        )
    )


def wait_until(job: Job, due: datetime) -> None:
    """Put a job back until a later time, its tries forgiven. 1 update."""
    position = keys.job_rows(job.id, due)["GSI3SK"]
    table.write(Update(key=keys.job(job.id), set={"GSI3SK": position, "tries": 0}, when=_mine(job)))


def fail(job: Job, error: str, *, now: datetime) -> None:
    """Put a job back for a later try, or give it up after 8. 1 update."""
    if job.tries >= MAX_TRIES:
        change = Update(
            key=keys.job(job.id),
            set={"state": "failed", "error": error[:1000], "card": _card(job.kind, "failed")},
            remove=("GSI3PK", "GSI3SK"),
            when=_mine(job),
        )
    else:
        due = now + timedelta(seconds=2**job.tries)
        change = Update(
            key=keys.job(job.id),
            set={"error": error[:1000], "GSI3SK": keys.job_rows(job.id, due)["GSI3SK"]},
            when=_mine(job),
        )
    table.write(change)


def _mine(job: Job) -> tuple[Any, ...]:
    return (equals("GSI3SK", job.position),)


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
        position=item.get("GSI3SK"),
    )
