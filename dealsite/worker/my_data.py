"""The worker's part of "My data": writes all that is stored about a person into a zip file, and deletes it a day later.

In it are one JSON file of everything, and a CSV file of each type, whose columns are those of the entity chart.
"""

import csv
import json
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any

from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.personal import cell, columns
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Handler, Job
from dealsite.data.jobs.payloads import from_item
from dealsite.data.people import my_data, users
from dealsite.data.people.my_data import DeletionPayload, MyDataPayload, OwnItem
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import iso
from dealsite.text.spreadsheets import safe_cell
from dealsite.worker.exports import NOTE_SECONDS, refuse_if_over, save, storage

monotonic: Callable[[], float] = time.monotonic  # replaced in tests


def write_my_data(job: Job, now: datetime) -> None:
    """Write the file of a job, and tell whose it is; it begins anew after a crash."""
    username, began = from_item(MyDataPayload, job.payload).username, monotonic()
    last, written = began, 0
    name, until = my_data.file_name(job.id), job.created_at + my_data.KEPT
    refuse_if_over(name, until, now)

    def clock() -> datetime:
        return now + timedelta(seconds=monotonic() - began)

    def note() -> None:
        nonlocal last, written
        written += 1
        if monotonic() - last >= NOTE_SECONDS:
            last = monotonic()
            jobs.save_progress(job, {"rows": written}, now=clock())

    try:
        user = users.get(username)
    except NotFound:
        raise jobs.Cancelled("This user was deleted.") from None
    with tempfile.TemporaryFile() as file:
        write_zip(my_data.all_items(username), file, username=username, now=now, note=note)
        file.seek(0)
        save(name, file, until=until, clock=clock)
    my_data.tell(user, now=now)


def write_zip(
    items: Iterable[OwnItem],
    file: IO[bytes],
    *,
    username: str,
    now: datetime,
    note: Callable[[], None] = lambda: None,
) -> dict[str, int]:
    """Write what is stored about a person as a zip file; return how many items of each type there are."""
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name, ExitStack() as open_files:
        folder = Path(name)
        all_of_it = open_files.enter_context((folder / "my-data.json").open("w", encoding="utf-8"))
        all_of_it.write(f'{{"username": {json.dumps(username)}, "written_at": "{iso(now)}", "items": [')
        tables: dict[str, Any] = {}
        for one in items:
            if one.type not in tables:
                text = (folder / f"{one.type}.csv").open("w", encoding="utf-8-sig", newline="")
                tables[one.type] = csv.writer(open_files.enter_context(text)).writerow
                tables[one.type](columns(ENTITIES[one.type].shape))
            all_of_it.write(",\n" if counts else "\n")
            said = {"type": one.type, **one.attributes}
            all_of_it.write(json.dumps(said, ensure_ascii=False, default=_plain))
            paths = columns(ENTITIES[one.type].shape)
            tables[one.type]([safe_cell(_text(cell(one.attributes, path))) for path in paths])
            counts[one.type] = counts.get(one.type, 0) + 1
            note()
        about = {type_: ENTITIES[type_].about for type_ in sorted(counts)}
        all_of_it.write(f'\n], "types": {json.dumps(about, ensure_ascii=False, indent=1)}}}\n')
        open_files.close()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, path.name)
    return counts


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """Return what JSON has no word for: sets as lists, amounts as text."""
    return sorted(value) if isinstance(value, (set, frozenset)) else str(value)


def delete_my_data(job: Job, now: datetime) -> None:
    """Delete the file that a job names; harmless if it is gone."""
    storage().delete(my_data.file_name(from_item(DeletionPayload, job.payload).file))


HANDLERS: dict[str, Handler] = {
    my_data.MY_DATA: write_my_data,
    my_data.DELETE_MY_DATA: delete_my_data,
}
