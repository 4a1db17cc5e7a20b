"""The worker's part of exports: writes long lists as CSV into private storage, and deletes the files."""

import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import IO

from django.core.files.base import File
from django.core.files.storage import Storage, storages
from django.utils import timezone

from dealsite.accounts.locales import zone_of
from dealsite.data.jobs import exports, jobs
from dealsite.data.jobs.exports import DeletionPayload, ExportPayload, Progress
from dealsite.data.jobs.jobs import Handler, Job
from dealsite.data.jobs.payloads import from_item, to_item
from dealsite.data.people import users
from dealsite.data.table.errors import NotFound
from dealsite.worker.list_export import list_at

NOTE_SECONDS = 2.0  # between two notes of progress, which renew the lease

monotonic: Callable[[], float] = time.monotonic  # replaced in tests


def storage() -> Storage:
    """Return where the files lie: never the storage of pictures, which everybody may read."""
    return storages["private"]


def save(name: str, file: IO[bytes], *, until: datetime, clock: Callable[[], datetime]) -> None:
    """Save a file that another job deletes at `until`; Cancelled once that is over, and then nothing is left of it."""
    refuse_if_over(name, until, clock())
    storage().save(name, File(file))
    refuse_if_over(name, until, clock())


def refuse_if_over(name: str, until: datetime, now: datetime) -> None:
    """Raise Cancelled where a file's time is over, without the file: the job that deletes it may have come already."""
    if now >= until:
        storage().delete(name)
        raise jobs.Cancelled("The time for which this file is kept is over.")


def file_name(job_id: str) -> str:
    return f"exports/{job_id}.csv"


def write_export(job: Job, now: datetime) -> None:
    """Write the file of a job; it begins anew after a crash, and takes the place of whatever was there."""
    payload = from_item(ExportPayload, job.payload)
    name, until = file_name(job.id), exports.kept_until(job)
    refuse_if_over(name, until, now)
    began = last = monotonic()
    progress = Progress()

    def clock() -> datetime:
        return now + timedelta(seconds=monotonic() - began)

    def note(rows: int) -> None:
        nonlocal last, progress
        progress = Progress(rows)
        if monotonic() - last >= NOTE_SECONDS:
            last = monotonic()
            jobs.save_progress(job, to_item(progress), now=clock())

    shown = list_at(payload.address)
    with (
        timezone.override(zone_of(_zone_of_reader(payload.by, shown.roles))),
        tempfile.TemporaryFile() as file,
    ):
        shown.write(file, now=job.created_at, note=note)
        size = file.tell()
        file.seek(0)
        save(name, file, until=until, clock=clock)
    jobs.save_progress(job, to_item(Progress(progress.rows, size)), now=clock())


def _zone_of_reader(username: str, roles: frozenset[str]) -> str:
    """Return the zone of whoever asked for a file; Cancelled where they may not see the list any more."""
    try:
        user = users.get(username)
    except NotFound:
        user = None
    if user is None or user.suspended_at or not user.roles & {"admin", *roles}:
        raise jobs.Cancelled("Whoever asked for this file may not see the list any more.")
    return user.timezone


def delete_export(job: Job, now: datetime) -> None:
    """Delete the file that a job names; harmless if it is gone."""
    storage().delete(file_name(from_item(DeletionPayload, job.payload).export))


HANDLERS: dict[str, Handler] = {
    exports.EXPORT_LIST: write_export,
    exports.DELETE_EXPORT: delete_export,
}
