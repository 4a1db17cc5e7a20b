"""The worker's part of an import: checks a file, imports its deals, reports on its rows, deletes it.

Ended anywhere, it goes on: an import notes after each window of rows how far it has come. What was stored of a window
that it did not note any more is recognised: the ids are made of the rows, the time of storing is that of the order.

A check says how a large file can be shared out. Its import is split into parts then, which workers share; once all are
done, the import itself goes through the whole file for the report.
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TextIO

from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage
from django.utils import translation
from django.utils.translation import gettext as _

from dealsite.data.catalogue import categories
from dealsite.data.catalogue.cards import Picture
from dealsite.data.editing import imports
from dealsite.data.editing.imports import DELETE_IMPORT, ImportPayload, ImportProgress
from dealsite.data.entities.imports import OF_PRICES
from dealsite.data.jobs import jobs, parts
from dealsite.data.jobs.jobs import CHECK_IMPORT, RUN_IMPORT, Handler, Job
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item
from dealsite.imports import csv_files, downloads, rows
from dealsite.imports.csv_files import BadFile, CsvFormat, Record
from dealsite.imports.layout import Layout
from dealsite.imports.publishing import DEALS, DRAFTS, Import, Totals
from dealsite.imports.rows import COLUMN_OF, NEW_BRAND, NewBrand, NewDeal, Remark, Shares, part_of
from dealsite.imports.updating import DealChange, Updating
from dealsite.text.writing import safe_cell, unmarked
from dealsite.worker import exports

ROWS, REPORT, REJECTED, CHANGES = "rows.csv", "report.csv", "refused.csv", "changes.csv"
OLD_PART = "mendable.json"  # which releases before wrote
SHARES = "shares.json"  # from which line on rows belong to which part, as its check found
OUTCOMES = tuple(f"part-{number}.json" for number in range(parts.MOST))
SHOWN = 50  # remarks that the page shows; the file has all
WINDOW = 250  # rows between two notes of how far it has come
WINDOW_WITH_PICTURES = 40
PICTURES_AT_ONCE = 8  # between two notes that renew the lease: one may take 20 seconds
PART_ROWS = 1_000  # in a part, on average, at least
PART_ROWS_WITH_PICTURES = 160
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


def run_import(job: Job, now: datetime) -> datetime | None:
    """Check every row of a file, or import its deals from wherever that has come to; store a report.

    It speaks the language of whoever had the file checked. Returns when to look after its parts, None when it is done.
    jobs.Cancelled says why the file cannot be read.
    """
    turn = _Turn(job, now)
    with translation.override(turn.layout.language):
        return turn.run()


def run_part(job: Job, part: Job, now: datetime) -> datetime | None:
    """Import the rows of a part from wherever it has come to; returns when it goes on, None when it is done.

    jobs.Failed says why the file cannot be read.
    """
    turn = _Turn(job, now, part)
    with translation.override(turn.layout.language):
        try:
            return turn.run_part(parts.payload_of(part).number)
        except (BadFile, jobs.Cancelled) as error:
            raise jobs.Failed(str(error)) from None


def delete_import(job: Job, now: datetime) -> None:
    """Delete the files of an import; harmless if they are gone."""
    import_id = payload_from_item(ImportPayload, job.payload).import_id
    for part in (ROWS, REPORT, REJECTED, CHANGES, OLD_PART, SHARES, *OUTCOMES):
        storage().delete(file_name(import_id, part))


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys((CHECK_IMPORT, RUN_IMPORT), run_import),
    DELETE_IMPORT: delete_import,
}
PARTS = {RUN_IMPORT: run_part}


@dataclass(frozen=True, slots=True)
class ImportCheckpoint:
    """The last line up to which all is stored, what came of it, and what no row shows again: remarks, new brands."""

    line: int = 0
    totals: dict[str, int] = field(default_factory=dict)
    late: tuple[Remark, ...] = ()
    brands: tuple[NewBrand, ...] = ()


class _Turn:
    """One worker's turn at one import, or at a part of it."""

    def __init__(self, job: Job, now: datetime, part: Job | None = None) -> None:
        self.job, self.now, self.began = job, now, monotonic()
        self.taken = part or job
        self.noted_at = self.began
        self.payload = payload_from_item(ImportPayload, job.payload)
        self.checkpoint = payload_from_item(ImportCheckpoint, self.taken.checkpoint)
        self.found = self._own()
        self.layout = payload_from_item(Layout, self.found.layout)
        file = self.found.source_file
        self.read_as = CsvFormat(file.encoding, file.separator)
        self.is_check = job.kind == CHECK_IMPORT
        self.line, self.is_cut = self.checkpoint.line, False

    def _own(self) -> imports.Import:
        """Return the import as it is now; jobs.Cancelled if it is another job's by now."""
        found = imports.get(self.payload.import_id)
        if found.job != self.job.id:
            raise jobs.Cancelled(_("Somebody has gone on with this import in another way."))
        return found

    def run(self) -> datetime | None:
        """Check or import a whole file; or split that into parts, and report on what they did."""
        if self.job.parts:
            if (again := parts.look_after(self.job, now=self.now)) is not None:
                return again
            self.checkpoint = self._of_parts()
        elif not self.is_check:
            categories.create_all()
            if not self.job.checkpoint and (starts := self._read(SHARES)):
                progress = payload_to_item(ImportProgress(0, self.found.source_file.rows, 0, 0))
                count = 1 + max(part for _, part in starts)
                return parts.split(self.job, [parts.ANY] * count, progress=progress, now=self.now)
        with self._file() as path:
            try:
                self._go_through(self._records(path))
                self._own()  # a newer check has a report of its own, in the same place
                self.report.finish(path, self.read_as, self.found.id)
            except BadFile as error:
                raise jobs.Cancelled(str(error)) from None
        if self.is_check:
            self._share_out()
        self._note(force=True)
        new = [asdict(brand) for brand in self.brands[:BRANDS]]
        for brand in new if self.is_check else ():
            brand["rows"] = self.run_.rows_of[brand["slug"]]
        foreign = [{"name": name, "rows": rows} for name, rows in self.run_.foreign.most_common(CATEGORIES)]
        totals, remarks = asdict(self.run_.totals) | self.report.counts, self.report.first
        changes = self.report.first_changes if self.is_check else None
        imports.finished(
            self.job, totals=totals, remarks=remarks, brands=new, categories=foreign, changes=changes
        )
        return None

    def run_part(self, number: int) -> datetime | None:
        """Import the rows of a part until none is left or the turn is over."""
        before = self._outcome(number)
        if before and before.line == self.checkpoint.line:  # it ended its turn, and none has died since
            self.checkpoint = before
        with self._file() as path:
            self._go_through(self._records_of(path, number))
        self._window_done(self.line)
        self._note(force=True)
        self._write(OUTCOMES[number], {self.job.id: payload_to_item(self._done(self.line))})
        return self._at() if self.is_cut else None

    def _records(self, path: Path) -> Iterator[Record]:
        for record in csv_files.read(path, self.read_as):
            yield record
            self._note()

    def _records_of(self, path: Path, number: int) -> Iterator[Record]:
        """Yield the first line of a file, and what belongs to a part until its turn is over."""
        starts, records = self._read(SHARES), self._records(path)
        yield next(records)
        until = None
        for record in records:
            if part_of(record.line, starts) != number:
                continue
            if record.line > self.line:
                until = until or monotonic() + jobs.TURN_SECONDS
                if monotonic() >= until:
                    self.is_cut = True
                    return
                self.line = record.line
            yield record

    def _outcome(self, number: int) -> ImportCheckpoint | None:
        """Return all that a part had to say at the end of its last turn; None if it had none."""
        found = (self._read(OUTCOMES[number]) or {}).get(self.job.id)
        return payload_from_item(ImportCheckpoint, found) if found else None

    def _of_parts(self) -> ImportCheckpoint:
        """Return what all parts have done."""
        found = [one for number in range(self.job.parts) if (one := self._outcome(number))]
        if len(found) < self.job.parts:
            raise _gone()
        totals = Counter[str]()
        for one in found:
            totals.update(one.totals)
        told = [brand for one in found for brand in one.brands]
        first = {brand.slug: brand for brand in sorted(told, key=lambda brand: -brand.line)}
        brands = sorted(first.values(), key=lambda brand: brand.line)
        totals["brands"] -= len(told) - len(brands)  # who went on may have told of what another part made
        late = sorted((remark for one in found for remark in one.late), key=lambda remark: remark.line)
        return ImportCheckpoint(sys.maxsize, totals, tuple(late), tuple(brands))

    def _share_out(self) -> None:
        """Keep how the import is to be split; of a small file, or one whose rows belong together, not at all."""
        least = PART_ROWS_WITH_PICTURES if self.layout.pictures else PART_ROWS
        starts = self.shares.starts(min(max(len(self.shares) // least, 1), parts.MOST))
        storage().delete(file_name(self.found.id, SHARES))  # of an earlier check
        if any(part for _, part in starts):
            self._write(SHARES, starts)

    def _go_through(self, records: Iterator[Record]) -> None:
        """Check or import some records, from wherever that has come to."""
        by, update = self.payload.by or self.found.by, self.layout.update
        updating = (
            Updating(self.found.id, self.taken, by, update, self.layout.moment, self._at) if update else None
        )
        self.late, self.brands, self.shares = (
            list(self.checkpoint.late),
            list(self.checkpoint.brands),
            Shares(),
        )
        self.run_ = Import(
            by=by,
            now=self.job.created_at,
            report=self.report.add,
            late=self._late,
            done=self.checkpoint.line,
            step=lambda rows: self._note(),
            new_brand=self._new_brand,
            dry_run=self.is_check,
            pictures=self._pictures if self.layout.pictures else None,
            target=DRAFTS if self.layout.drafts else DEALS,
            window=WINDOW_WITH_PICTURES if self.layout.pictures else WINDOW,
            window_done=self._window_done,
            resumed=not self.is_check,
            named={brand.slug for brand in self.brands},
            updating=updating,
            left_out=self.layout.left_out,
            change=lambda change: self.report.add_change(change, self.layout),
            shares=self.shares if self.is_check else None,
            totals=Totals(**self.checkpoint.totals),
        )
        # All other remarks are counted again, as they come up again.
        self.run_.totals.refused = sum(remark.refused for remark in self.late)
        self.run_.totals.notes = len(self.late) - self.run_.totals.refused
        for remark in self.late:
            self.report.add(remark)
        for brand in self.brands:
            self.report.add_brand(brand)
        self.run_.run(rows.check(records, self.layout))

    def _late(self, remark: Remark) -> None:
        """Take a remark down that is not found in the row again when the import goes on."""
        remark = replace(remark, column=self.layout.title_of(remark.column) if remark.column else "")
        self.late.append(remark)
        self.report.add(remark)

    def _new_brand(self, brand: NewBrand) -> None:
        self.brands.append(brand)
        self.report.add_brand(brand)

    def _done(self, line: int) -> ImportCheckpoint:
        totals = asdict(self.run_.totals)
        kept = {name: totals[name] for name in ("imported", "changed", "there", "brands", "pictures")}
        return ImportCheckpoint(line, kept, tuple(self.late), tuple(self.brands))

    def _window_done(self, line: int) -> None:
        """Note that everything up to a line is stored, and the first of what no row shows again."""
        if self.is_check:
            return
        done = self._done(line)
        kept = replace(done, late=done.late[:LATE_REMARKS], brands=done.brands[:BRANDS])
        self.taken = jobs.save_checkpoint(self.taken, payload_to_item(kept), now=self._at())

    def _note(self, *, force: bool = False) -> None:
        """Note how many rows are done, now and then; Conflict where an editor has cancelled it."""
        if not force and monotonic() - self.noted_at < NOTE_SECONDS:
            return
        self.noted_at = monotonic()
        totals = self.run_.totals
        done = {"done": totals.rows, "imported": totals.imported, "refused": totals.refused}
        if self.taken.id == self.job.id:  # a part leaves it to its job how many there are
            done["total"] = max(self.found.source_file.rows, totals.rows)
        jobs.save_progress(self.taken, self.taken.progress | done, now=self._at())

    def _at(self) -> datetime:
        return self.now + timedelta(seconds=monotonic() - self.began)

    def _pictures(self, new: list[NewDeal]) -> dict[int, Picture | str]:
        found: dict[int, Picture | str] = {}
        for first in range(0, len(new), PICTURES_AT_ONCE):
            found |= downloads.pictures_of(new[first : first + PICTURES_AT_ONCE])
            self._note(force=True)
        return found

    @contextmanager
    def _file(self) -> Iterator[Path]:
        """Have the file on this machine, and a report of what is said of it; that of a part nobody reads."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = folder / ROWS
            try:
                with storage().open(file_name(self.found.id, ROWS)) as kept, path.open("wb") as local:
                    shutil.copyfileobj(kept, local)
            except FileNotFoundError:
                raise _gone() from None
            with Report(folder, changes=self.is_check) as self.report:
                yield path

    def _read(self, part: str) -> Any:
        """Return what a file of the import holds as JSON, None where it is not there, or was not written whole."""
        with suppress(FileNotFoundError, ValueError), storage().open(file_name(self.found.id, part)) as kept:
            return json.load(kept)
        return None

    def _write(self, part: str, content: object) -> None:
        storage().save(file_name(self.found.id, part), ContentFile(json.dumps(content).encode()))


def _gone() -> jobs.Cancelled:
    return jobs.Cancelled(_("The file is gone: files are kept for a week."))


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
                storage().save(file_name(import_id, part), File(file))

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
