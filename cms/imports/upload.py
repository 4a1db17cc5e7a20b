"""Uploading rows: a file is inspected, stored, noted as an import and checked. Pasted rows become a file."""

from __future__ import annotations

import hashlib
import io
from datetime import datetime
from typing import IO

from django.core.files.base import File
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.shared.requests import EditorRequest
from dealsite.data.editing import imports
from dealsite.data.editing.imports import Import, SourceFile
from dealsite.data.entities.batches import NAME_OF_FILE_CHARACTERS, UPLOADED
from dealsite.data.jobs.payloads import to_item
from dealsite.data.names import as_typed
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import new_id, new_ulid
from dealsite.imports import csv_format, layout
from dealsite.imports.csv_files import CHUNK
from dealsite.imports.layout import Layout
from dealsite.worker import imports as running

GONE = gettext_lazy("This file is gone: files are kept for a week.")


def upload(
    request: EditorRequest, *, file: UploadedFile | None, rows: str, has_titles: bool, token: str
) -> Import:
    """Store a file, or one made of rows of a spreadsheet, and note the import, as `keep` does; raises BadFile."""
    name, encoding = (file.name, "") if file else (_("Pasted rows"), "utf-8")
    sent: IO[bytes] = file or _file_of(rows, has_titles=has_titles)
    found = csv_format.inspect(sent, encoding=encoding)
    source_file = source_file_of(found, name or "", sent.seek(0, io.SEEK_END) or sent.tell())
    return keep(source_file, sent, token=token, by=request.user.username, now=timezone.now())


def _file_of(rows: str, *, has_titles: bool) -> IO[bytes]:
    text = rows.replace("\r\n", "\n")
    if not has_titles:
        width = max(line.count("\t") for line in text.split("\n")) + 1
        text = "\t".join(_("Column %(number)s") % {"number": n + 1} for n in range(width)) + "\n" + text
    return io.BytesIO(text.encode("utf-8", "replace"))


def keep(source_file: SourceFile, file: IO[bytes], *, token: str, by: str, now: datetime) -> Import:
    """Note an import and store its file; a second click leads to the import of the first one.

    `token` is the id that the form had ready for it. One that is too old, or was used for something else, is not taken.
    """
    # First what sees to it that the file is deleted, then the file.
    noted = imports.create(source_file, import_id=new_id(token, now), by=by, now=now)
    is_same = (noted.by, noted.source_file) == (by, source_file)
    if not is_same or (noted.stage != UPLOADED and not _is_stored(noted.id, file)):
        noted = imports.create(source_file, import_id=new_ulid(now), by=by, now=now)
    if noted.stage == UPLOADED:
        file.seek(0)
        running.storage().save(running.file_name(noted.id, running.ROWS), File(file))
    return noted


def open_file(one: Import, part: str) -> File[bytes]:
    """Open a file of an import; NotFound when it was deleted."""
    try:
        return running.storage().open(running.file_name(one.id, part))
    except FileNotFoundError:
        raise NotFound(GONE) from None


def check_file(one: Import, chosen: Layout, *, version: int, now: datetime) -> None:
    """Have a file checked as its layout says."""
    fingerprint = layout.fingerprint(chosen.titles)
    imports.check(
        one, to_item(chosen), fingerprint=fingerprint, version=version, job_id=new_ulid(now), now=now
    )


def _is_stored(import_id: str, file: IO[bytes]) -> bool:
    """Tell whether the file of an import is this one."""
    file.seek(0)
    try:
        with running.storage().open(running.file_name(import_id, running.ROWS)) as stored:
            return _digest(stored) == _digest(file)
    except FileNotFoundError:
        return False


def _digest(file: IO[bytes] | File[bytes]) -> bytes:
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return digest.digest()


def source_file_of(upload: csv_format.Upload, name: str, size: int) -> SourceFile:
    """Return what is noted of a file."""
    found = layout.guessed(upload.titles, upload.first_rows, zone="UTC", moment=timezone.now())
    return SourceFile(
        name=as_typed(name)[-NAME_OF_FILE_CHARACTERS:] or _("Rows"),
        bytes=size,
        rows=upload.rows,
        encoding=upload.encoding,
        separator=upload.separator,
        titles=found.titles,
        columns=found.columns,
        decimal=found.decimal,
        dates=found.dates,
        samples=tuple(tuple(row) for row in upload.samples),
    )
