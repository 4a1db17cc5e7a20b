"""The worker's part of an import: checks a file, imports its deals, reports on its rows, deletes it.

Ended anywhere, it goes on: an import notes after each window of rows how far it has come. What was stored of a window
that it did not note any more is recognised: the ids are made of the rows, the time of storing is that of the order.
"""

from __future__ import annotations

import csv
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TextIO

from django.core.files.base import File
from django.core.files.storage import Storage
from django.utils import translation
from django.utils.translation import gettext as _

from dealsite.data.catalogue import categories
from dealsite.data.catalogue.cards import Picture
from dealsite.data.editing import imports
from dealsite.data.editing.imports import DELETE_IMPORT, ImportPayload, ImportProgress
from dealsite.data.entities.imports import OF_PRICES
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import CHECK_IMPORT, RUN_IMPORT, Handler, Job
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item
from dealsite.imports import csv_files, downloads, rows
from dealsite.imports.csv_files import BadFile, CsvFormat, Record
from dealsite.imports.layout import Layout
from dealsite.imports.publishing import DEALS, DRAFTS, Import
from dealsite.imports.rows import COLUMN_OF, NEW_BRAND, NewBrand, NewDeal, Remark
from dealsite.imports.updating import DealChange, Updating
from dealsite.text.spreadsheets import safe_cell, unmarked
from dealsite.worker import exports

ROWS, REPORT, REJECTED, CHANGES = "rows.csv", "report.csv", "refused.csv", "changes.csv"
OLD_PART = "mendable.json"  # which releases before wrote
SHOWN = 50  # remarks that the page shows; the file has all
WINDOW = 250  # rows between two notes of how far it has come
WINDOW_WITH_PICTURES = 40
PICTURES_AT_ONCE = 8  # between two notes that renew the lease: one may take 20 seconds
NOTE_SECONDS = 2.0
LATE_REMARKS = 200  # of rows that the table rejected, kept with the job
CATEGORIES = 100  # of the file that the site does not have
BRANDS = 200  # that are named on the page; the report has all

monotonic: Callable[[], float] = time.monotonic  # replaced in tests


def storage() -> Storage:
    return exports.storage()


def file_name(import_id: str, part: str) -> str:
    """Return where a file of an import lies: the one that was uploaded is its `rows.csv`."""
    return f"imports/{import_id}/{part}"


def run_import(job: Job, now: datetime) -> None:
    """Check every row of a file, or import its deals from wherever that has come to; store a report.

    It speaks the language of whoever had the file checked. jobs.Cancelled says why the file cannot be read.
    """
    turn = _Turn(job, now)
    with translation.override(turn.layout.language):
        turn.run()


def delete_import(job: Job, now: datetime) -> None:
    """Delete the files of an import; harmless if they are gone."""
    import_id = payload_from_item(ImportPayload, job.payload).import_id
    for part in (ROWS, REPORT, REJECTED, CHANGES, OLD_PART):
        storage().delete(file_name(import_id, part))


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys((CHECK_IMPORT, RUN_IMPORT), run_import),
    DELETE_IMPORT: delete_import,
}


@dataclass(frozen=True, slots=True)
class ImportCheckpoint:
    """The last line up to which all is stored, what came of it, and what no row shows again: remarks, new brands."""

    line: int = 0
    totals: dict[str, int] = field(default_factory=dict)
    late: tuple[Remark, ...] = ()
    brands: tuple[NewBrand, ...] = ()


class _Turn:
    """One worker's turn at one import."""

    def __init__(self, job: Job, now: datetime) -> None:
        self.job, self.now, self.began = job, now, monotonic()
        self.noted_at = self.began
        self.payload = payload_from_item(ImportPayload, job.payload)
        self.checkpoint = payload_from_item(ImportCheckpoint, job.checkpoint)
        self.found = self._own()
        self.layout = payload_from_item(Layout, self.found.layout)
        file = self.found.source_file
        self.read_as = CsvFormat(file.encoding, file.separator)
        self.is_check = job.kind == CHECK_IMPORT
        self.late, self.brands = list(self.checkpoint.late), list(self.checkpoint.brands)

    def _own(self) -> imports.Import:
        """Return the import as it is now; jobs.Cancelled if it is another job's by now."""
        found = imports.get(self.payload.import_id)
        if found.job != self.job.id:
            raise jobs.Cancelled(_("Somebody has gone on with this import in another way."))
        return found

    def run(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = self._fetch(folder)
            with Report(folder, changes=self.is_check) as self.report:
                try:
                    self._run(path, dry=self.is_check)
                    self._own()  # a newer check has a report of its own, in the same place
                    self.report.finish(path, self.read_as, self.found.id)
                except BadFile as error:
                    raise jobs.Cancelled(str(error)) from None
        self._note(force=True)
        new = [asdict(brand) for brand in self.brands]
        for brand in new if self.is_check else ():
            brand["rows"] = self.run_.rows_of[brand["slug"]]
        foreign = [{"name": name, "rows": rows} for name, rows in self.run_.foreign.most_common(CATEGORIES)]
        totals, remarks = asdict(self.run_.totals) | self.report.counts, self.report.first
        changes = self.report.first_changes if self.is_check else None
        imports.finished(
            self.job, totals=totals, remarks=remarks, brands=new, categories=foreign, changes=changes
        )

    def _run(self, path: Path, *, dry: bool) -> None:
        by, update = self.payload.by or self.found.by, self.layout.update
        updating = (
            Updating(self.found.id, self.job, by, update, self.layout.moment, self._at) if update else None
        )
        self.run_ = Import(
            by=by,
            now=self.job.created_at,
            report=self.report.add,
            late=self._late,
            done=self.checkpoint.line,
            step=lambda rows: self._note(),
            new_brand=self._new_brand,
            dry_run=dry,
            pictures=self._pictures if self.layout.pictures else None,
            target=DRAFTS if self.layout.drafts else DEALS,
            window=WINDOW_WITH_PICTURES if self.layout.pictures else WINDOW,
            window_done=self._window_done,
            resumed=not dry,
            named={brand.slug for brand in self.brands},
            updating=updating,
            left_out=self.layout.left_out,
            change=lambda change: self.report.add_change(change, self.layout),
        )
        totals = self.run_.totals
        if not dry:
            categories.create_all()
            for name, number in self.checkpoint.totals.items():
                setattr(totals, name, number)
            # All other remarks are counted again, as they come up again.
            totals.refused = sum(remark.refused for remark in self.late)
            totals.notes = len(self.late) - totals.refused
        for remark in self.late:
            self.report.add(remark)
        for brand in self.brands:
            self.report.add_brand(brand)
        results = rows.check(csv_files.read(path, self.read_as), self.layout)
        self.run_.run(results)

    def _late(self, remark: Remark) -> None:
        """Take a remark down that is not found in the row again when the import goes on: it is kept with the job."""
        remark = replace(remark, column=self.layout.title_of(remark.column) if remark.column else "")
        if len(self.late) < LATE_REMARKS:
            self.late.append(remark)
        self.report.add(remark)

    def _new_brand(self, brand: NewBrand) -> None:
        if len(self.brands) < BRANDS:
            self.brands.append(brand)
        self.report.add_brand(brand)

    def _window_done(self, line: int) -> None:
        """Note that everything up to a line is stored."""
        if self.run_.dry_run:
            return
        totals = asdict(self.run_.totals)
        kept = {name: totals[name] for name in ("imported", "changed", "there", "brands", "pictures")}
        checkpoint = ImportCheckpoint(line, kept, tuple(self.late), tuple(self.brands))
        self.job = jobs.save_checkpoint(self.job, payload_to_item(checkpoint), now=self._at())

    def _note(self, *, force: bool = False) -> None:
        """Note how many rows are done, now and then; Conflict where an editor has cancelled it."""
        if not force and monotonic() - self.noted_at < NOTE_SECONDS:
            return
        self.noted_at = monotonic()
        totals = self.run_.totals
        about = max(self.found.source_file.rows, totals.rows)
        progress = ImportProgress(totals.rows, about, totals.imported, totals.refused)
        jobs.save_progress(self.job, payload_to_item(progress), now=self._at())

    def _at(self) -> datetime:
        return self.now + timedelta(seconds=monotonic() - self.began)

    def _pictures(self, new: list[NewDeal]) -> dict[int, Picture | str]:
        found: dict[int, Picture | str] = {}
        for first in range(0, len(new), PICTURES_AT_ONCE):
            found |= downloads.pictures_of(new[first : first + PICTURES_AT_ONCE])
            self._note(force=True)
        return found

    def _fetch(self, folder: Path) -> Path:
        """Return the file, on this machine."""
        path = folder / ROWS
        try:
            with storage().open(file_name(self.found.id, ROWS)) as kept, path.open("wb") as local:
                shutil.copyfileobj(kept, local)
        except FileNotFoundError:
            raise jobs.Cancelled(_("The file is gone: files are kept for a week.")) from None
        return path


class Report:
    """The remarks of one run, and the changes that a check found, as files for spreadsheets.

    Memory holds the first ones of each, those that reject a row before all others, and why lines were rejected.
    """

    def __init__(self, folder: Path, *, changes: bool) -> None:
        self.folder = folder
        self.counts = Counter[str]()  # of the changes, by field
        self._first: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
        self.first_changes: list[dict[str, Any]] = []
        self.reasons: dict[int, str] = {}
        self.parts = (REPORT, REJECTED, CHANGES) if changes else (REPORT, REJECTED)
        self._file = (folder / REPORT).open("w", encoding="utf-8-sig", newline="")
        self._changes = (folder / CHANGES).open("w", encoding="utf-8-sig", newline="")
        self._write(_("Line"), _("Refused"), _("Column"), _("Value"), _("Reason"))
        self._write(_("Line"), _("Id"), _("Title"), _("Field"), _("Before"), _("After"), file=self._changes)

    def __enter__(self) -> Report:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._changes.close()

    @property
    def first(self) -> list[dict[str, Any]]:
        return [*self._first[True], *self._first[False]][:SHOWN]

    def add(self, remark: Remark) -> None:
        if remark.refused:
            said = f"{remark.column}: {remark.reason}" if remark.column else remark.reason
            earlier = self.reasons.get(remark.line, "")
            self.reasons[remark.line] = sys.intern(f"{earlier} {said}".strip())
        if len(first := self._first[remark.refused]) < SHOWN:
            first.append(asdict(remark))
        refused = _("yes") if remark.refused else _("no")
        self._write(remark.line, refused, remark.column, remark.value, remark.reason)

    def add_brand(self, brand: NewBrand) -> None:
        self._write(brand.line, _("no"), _("Brand"), brand.name, NEW_BRAND)

    def add_change(self, change: DealChange, layout: Layout) -> None:
        if len(self.first_changes) < SHOWN:
            self.first_changes.append(asdict(change) | {"fields": [asdict(one) for one in change.fields]})
        self.counts.update(one.name for one in change.fields if one.name in OF_PRICES)
        for one in change.fields:
            title = layout.title_of(COLUMN_OF.get(one.name, one.name))
            self._write(
                change.line, change.id, change.title, title, one.before, one.after, file=self._changes
            )

    def finish(self, path: Path, read_as: CsvFormat, import_id: str) -> None:
        """Write the rejected rows, in the columns of the file and with their reasons behind them, and store all."""
        self._file.close()
        self._changes.close()
        with (self.folder / REJECTED).open("w", encoding="utf-8-sig", newline="") as file:
            write = csv.writer(file).writerow
            width = 0
            for record in csv_files.read(path, read_as):
                if width and record.line not in self.reasons:
                    continue
                cells = [_clean(cell) for cell in _cells(record, read_as.separator, width)]
                last = self.reasons[record.line] if width else str(csv_files.REASONS)
                write([*(safe_cell(unmarked(cell)) for cell in cells), safe_cell(last)])
                width = width or len(cells)
        for part in self.parts:
            with (self.folder / part).open("rb") as file:
                name = file_name(import_id, part)
                storage().delete(name)
                storage().save(name, File(file))

    def _write(self, *cells: object, file: TextIO | None = None) -> None:
        csv.writer(file or self._file).writerow([safe_cell(cell) for cell in cells])


def _cells(record: Record, separator: str, width: int) -> list[str]:
    """Return a rejected row's cells, as well as they can be told apart where its quotes are wrong."""
    if record.problem:
        bare = [cell.strip().strip('"') for cell in record.text.rstrip("\r\n").split(separator)]
        return (bare + [""] * width)[: max(width, len(bare))]
    return record.cells + [""] * (width - len(record.cells))


def _clean(text: str) -> str:
    """Return a text that can be written as UTF-8: what could not be read of it becomes question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
