"""Having the worker remove what a deleted user leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dealsite.data.jobs.jobs import job_write
from dealsite.data.jobs.payloads import to_item
from dealsite.data.table.writes import Put

REMOVE_USER = "remove_user"  # the kind of job


@dataclass(frozen=True, slots=True)
class RemovalPayload:
    """The user who was deleted."""

    username: str


@dataclass(frozen=True, slots=True)
class RemovalCheckpoint:
    """Whether what a deleted user left was looked for once."""

    looked: bool | None = None


def removal_job(username: str, *, job_id: str, now: datetime) -> Put:
    """Return the write of the job, for the transaction that deletes the user."""
    return job_write(REMOVE_USER, to_item(RemovalPayload(username)), job_id=job_id, due=now)
