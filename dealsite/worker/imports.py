"""The worker's part of an import: checks a file, imports its deals, deletes it. Ended anywhere, it goes on.

An import notes after each window of rows how far it has come, and goes on after that one. What was stored of a window
that it did not note any more is recognised: the ids are made of the rows, the time of storing is that of the order.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from django.core.files.storage import Storage
from django.utils import translation
from django.utils.translation import gettext as _

from dealsite.data.catalogue import categories
from dealsite.data.catalogue.cards import Picture
from dealsite.data.editing import imports
from dealsite.data.editing.import_record import ImportPayload, ImportProgress
from dealsite.data.editing.imports import DELETE_IMPORT
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import CHECK_IMPORT, RUN_IMPORT, Handler, Job
from dealsite.data.jobs.payloads import from_item, to_item
from dealsite.imports import downloads, lines, reports, rows, uploads
from dealsite.imports.layout import Layout
from dealsite.imports.lines import BadFile
from dealsite.imports.publishing import DEALS, DRAFTS, Import
from dealsite.imports.reports import Report
from dealsite.imports.rows import NewDeal, Remark, Result
from dealsite.worker import exports

ROWS = "rows.csv"
WINDOW = 250  # rows between two notes of how far it has come
WINDOW_WITH_PICTURES = 40
PICTURES_AT_ONCE = 8  # between two notes that renew the lease: one may take 20 seconds
NOTE_SECONDS = 2.0
LATE_REMARKS = 200  # of rows that the table refused, kept with the job

monotonic: Callable[[], float] = time.monotonic  # replaced in tests


def storage() -> Storage:
    return exports.storage()


def check_import(job: Job, now: datetime) -> None:
    """Check every row of a file and store a report; jobs.Cancelled says why it cannot be read."""
    _run(job, now, dry=True)


def run_import(job: Job, now: datetime) -> None:
    """Import the deals of a file, from wherever it has come to; jobs.Cancelled says why it cannot be read."""
    _run(job, now, dry=False)


def _run(job: Job, now: datetime, *, dry: bool) -> None:
    """Work in the language of whoever had the file checked: the report is his."""
    turn = _Batch(job, now)
    with translation.override(turn.layout.language):
        turn.run(dry=dry)


def delete_import(job: Job, now: datetime) -> None:
    """Delete the files of an import; harmless if they are gone."""
    import_id = from_item(ImportPayload, job.payload).import_id
    for part in (ROWS, reports.REPORT, reports.REFUSED, reports.MENDABLE_ROWS):
        storage().delete(reports.file_name(import_id, part))


HANDLERS: dict[str, Handler] = {
    CHECK_IMPORT: check_import,
    RUN_IMPORT: run_import,
    DELETE_IMPORT: delete_import,
}


@dataclass(frozen=True, slots=True)
class ImportCheckpoint:
    """The last line up to which all is stored, what came of it, and remarks that no row shows again."""

    line: int = 0
    totals: dict[str, int] = field(default_factory=dict)
    late: tuple[Remark, ...] = ()


class _Batch:
    """One worker's turn at one import."""

    def __init__(self, job: Job, now: datetime) -> None:
        self.job, self.now, self.began = job, now, monotonic()
        self.noted_at = self.began
        self.payload = from_item(ImportPayload, job.payload)
        self.checkpoint = from_item(ImportCheckpoint, job.checkpoint)
        self.found = self._own()
        self.layout = Layout.from_item(self.found.layout)
        self.of_the_row: Remark | None = None
        self.late = list(self.checkpoint.late)

    def _own(self) -> imports.Import:
        """Return the import as it is now; jobs.Cancelled if it is another job's by now."""
        found = imports.get(self.payload.import_id)
        if found.job != self.job.id:
            raise jobs.Cancelled(_("Somebody has gone on with this import in another way."))
        return found

    def run(self, *, dry: bool) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = self._fetch(folder)
            with Report(folder) as self.report:
                try:
                    self._run(path, dry=dry)
                    self._own()  # a newer check has a report of its own, in the same place
                    mendable = self.report.finish(path, self.found.brought.separator, self.found.id)
                except BadFile as error:
                    raise jobs.Cancelled(str(error)) from None
        self._note(force=True)
        totals = asdict(self.run_.totals) | {"mendable": mendable}
        imports.finished(self.job, totals=totals, remarks=self.report.first)

    def _run(self, path: Path, *, dry: bool) -> None:
        self.run_ = Import(
            by=self.payload.by or self.found.by,
            now=self.job.created_at,
            report=self._remark,
            step=lambda rows: self._note(),
            dry_run=dry,
            pictures=self._pictures if self.layout.pictures else None,
            target=DRAFTS if self.layout.drafts else DEALS,
            window=WINDOW_WITH_PICTURES if self.layout.pictures else WINDOW,
            window_done=self._window_done,
            resumed=not dry,
        )
        totals = self.run_.totals
        if not dry:
            categories.create_all()
            for name, number in self.checkpoint.totals.items():
                setattr(totals, name, number)
            # All other remarks are counted as they are met again.
            totals.refused = sum(remark.refused for remark in self.late)
            totals.notes = len(self.late) - totals.refused
        for remark in self.late:
            self.report.add(remark)
        results = rows.check_as(lines.read(path, self.found.brought.separator), self.layout)
        self.run_.run(self._left(results))

    def _left(self, results: Iterable[Result]) -> Iterator[Result]:
        """Yield what is left to do: remarks again, deals after the last window that is stored."""
        for one in results:
            if isinstance(one, Remark):
                self.of_the_row = one
                yield one
            elif one.line > self.checkpoint.line:
                yield one

    def _remark(self, remark: Remark) -> None:
        """Take a remark down; one that is not found in the row again, when the import goes on, is kept with the job."""
        if remark is not self.of_the_row:
            remark = replace(remark, column=self.layout.title_of(remark.column) if remark.column else "")
            if len(self.late) < LATE_REMARKS:
                self.late.append(remark)
        self.report.add(remark)

    def _window_done(self, line: int) -> None:
        """Note that everything up to a line is stored."""
        if self.run_.dry_run:
            return
        totals = asdict(self.run_.totals)
        kept = {name: totals[name] for name in ("imported", "there", "brands", "pictures")}
        checkpoint = ImportCheckpoint(line, kept, tuple(self.late))
        self.job = jobs.save_checkpoint(self.job, to_item(checkpoint), now=self._at())

    def _note(self, *, force: bool = False) -> None:
        """Note how many rows are done, now and then; Conflict where an editor has cancelled it."""
        if not force and monotonic() - self.noted_at < NOTE_SECONDS:
            return
        self.noted_at = monotonic()
        totals = self.run_.totals
        about = max(self.found.brought.rows, totals.rows)
        progress = ImportProgress(totals.rows, about, totals.imported, totals.refused)
        jobs.save_progress(self.job, to_item(progress), now=self._at())

    def _at(self) -> datetime:
        return self.now + timedelta(seconds=monotonic() - self.began)

    def _pictures(self, new: list[NewDeal]) -> dict[int, Picture | str]:
        found: dict[int, Picture | str] = {}
        for first in range(0, len(new), PICTURES_AT_ONCE):
            found |= downloads.pictures_of(new[first : first + PICTURES_AT_ONCE])
            self._note(force=True)
        return found

    def _fetch(self, folder: Path) -> Path:
        """Return the file, on this machine and in UTF-8."""
        path = folder / ROWS
        try:
            with storage().open(reports.file_name(self.found.id, ROWS)) as kept, path.open("wb") as local:
                for chunk in uploads.as_utf8(kept, self.found.brought.encoding):
                    local.write(chunk)
        except FileNotFoundError:
            raise jobs.Cancelled(_("The file is gone: files are kept for a week.")) from None
        return path
