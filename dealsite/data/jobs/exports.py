"""Exports of lists that are long: who asked for which, and the job that writes the file.

Another job, of the same transaction, deletes the file a week later.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils.translation import gettext as _

from dealsite.data import table
from dealsite.data.editing import audit
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job, job_write
from dealsite.data.jobs.payloads import payload_from_item
from dealsite.data.table.errors import AlreadyExists, NotFound
from dealsite.data.table.ids import new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put

EXPORT_LIST, DELETE_EXPORT = "export_list", "delete_export"  # the kinds of jobs


@dataclass(frozen=True, slots=True)
class ExportPayload:
    """The address of the list that a file is to hold, and who asked for it."""

    address: str
    by: str


@dataclass(frozen=True, slots=True)
class DeletionPayload:
    """The file that a job deletes, by the id of the job that wrote it."""

    export: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How many rows a file has so far; its size at the end."""

    rows: int = 0
    bytes: int | None = None


def kept_until(job: Job) -> datetime:
    """Return until when the file of a job is kept."""
    span: timedelta = settings.DEALSITE_RETENTION["exports"]
    return time_of(job.id) + span


@access_pattern("have a long list exported", "1 transaction")
def request(payload: ExportPayload, *, name: str, job_id: str, now: datetime) -> None:
    """Have a list written into a file; the same id again is harmless."""
    put = job_write(EXPORT_LIST, payload, job_id=job_id, due=now)
    due = kept_until(Job(job_id, EXPORT_LIST, {}))
    deletion = job_write(DELETE_EXPORT, DeletionPayload(job_id), job_id=new_ulid(now), due=due)
    with suppress(AlreadyExists):  # a second click
        once = Put(key=put.key, item=put.item, when=put.when, otherwise=AlreadyExists())
        table.transact([once, deletion, _entry(payload, name, now)])


@access_pattern("note that a list was exported", "1 put")
def note(payload: ExportPayload, *, name: str, now: datetime) -> None:
    """Note in the audit log that somebody was given a list as a file."""
    table.write(_entry(payload, name, now))


def _entry(payload: ExportPayload, name: str, now: datetime) -> Put:
    return audit.entry_write(
        by=payload.by, kind="export", subject=name, what="exported", note=payload.address, now=now
    )


@access_pattern("the job of an exported list", "1 get")
def get(job_id: str, *, now: datetime) -> tuple[Job, ExportPayload]:
    """Return the job of a file that is ready and still kept, and what it holds; NotFound."""
    job = jobs.get(job_id)
    if job.kind != EXPORT_LIST or job.state != "done" or kept_until(job) <= now:
        days = settings.DEALSITE_RETENTION["exports"].days
        raise NotFound(_("There is no such file. Files are kept for %(days)s days.") % {"days": days})
    return job, payload_from_item(ExportPayload, job.payload)
