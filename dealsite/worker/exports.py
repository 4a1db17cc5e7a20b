"""The worker's part of exports: writes them as CSV into private storage, and deletes them.

Spreadsheets open such files: they begin with a byte order mark, without which Excel takes UTF-8 for another
encoding, and no cell can be taken for a formula.
"""

import csv
import io
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import IO

from django.core.files.base import File
from django.core.files.storage import Storage, storages

from dealsite.data.entities.work import EXPORTS
from dealsite.data.jobs import exports, jobs
from dealsite.data.jobs.exports import DeletionPayload, Progress
from dealsite.data.jobs.jobs import Handler, Job
from dealsite.data.jobs.payloads import from_item, to_item
from dealsite.text.spreadsheets import safe_cell
from dealsite.worker.export_lists import LISTS

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
    payload = exports.payload_of(job)
    listed = LISTS[payload.what]
    name, until = file_name(job.id), job.created_at + exports.kept_for()
    refuse_if_over(name, until, now)
    began = last = monotonic()
    progress = Progress()

    def clock() -> datetime:
        return now + timedelta(seconds=monotonic() - began)

    def note(**changes: int) -> None:
        nonlocal last, progress
        progress = replace(progress, **changes)
        if monotonic() - last >= NOTE_SECONDS:
            last = monotonic()
            jobs.save_progress(job, to_item(progress), now=now + timedelta(seconds=last - began))

    with tempfile.TemporaryFile() as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        write = csv.writer(text).writerow
        write(listed.titles(payload.zone))
        for row in listed.rows(payload, now, note):
            write([safe_cell(cell) for cell in row])
            note(rows=progress.rows + 1)
        text.flush()
        progress = replace(progress, bytes=file.tell())
        file.seek(0)
        save(name, file, until=until, clock=clock)
        text.detach()
    jobs.save_progress(job, to_item(progress), now=clock())


def delete_export(job: Job, now: datetime) -> None:
    """Delete the file that a job names; harmless if it is gone."""
    storage().delete(file_name(from_item(DeletionPayload, job.payload).export))


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(EXPORTS, write_export),
    exports.DELETE_EXPORT: delete_export,
}
