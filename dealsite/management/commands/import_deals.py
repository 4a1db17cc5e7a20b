import csv
import time
from pathlib import Path
from typing import Self, TextIO

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from dealsite.data.catalogue import categories
from dealsite.data.names import normalise_username
from dealsite.data.people import users
from dealsite.data.table.errors import Invalid, NotFound, Unavailable
from dealsite.imports import csv_files, csv_format, downloads, rows
from dealsite.imports.csv_files import BadFile, CsvFormat
from dealsite.imports.layout import FIELDS, Layout, guessed, missing
from dealsite.imports.publishing import Import
from dealsite.imports.rows import NEW_BRAND, NewBrand, Remark
from dealsite.management.command import Progress, SiteCommand
from dealsite.text.writing import safe_cell

SHOWN = 20  # remarks printed; a report holds all
BY = "import"


class _Report:
    """Keeps the first remarks, and writes all of them to a file where one is named."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.first: list[Remark] = []
        self.count = 0
        self.brands: list[str] = []
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        if self.path:
            try:
                self._file = self.path.open("w", encoding="utf-8", newline="")
            except OSError as error:
                why = f"The report cannot be written to {self.path}: {error.strerror}."
                raise CommandError(why) from None
            self._write("line", "rejected", "column", "value", "reason")
        return self

    def __exit__(self, *error: object) -> None:
        if self._file:
            self._file.close()

    def add(self, remark: Remark) -> None:
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(remark)
        rejected = "yes" if remark.refused else "no"
        self._write(remark.line, rejected, remark.column, remark.value, remark.reason)

    def add_brand(self, brand: NewBrand) -> None:
        self.brands.append(brand.name)
        self._write(brand.line, "no", "brand", brand.name, NEW_BRAND)

    def _write(self, *cells: object) -> None:
        if self._file:
            csv.writer(self._file).writerow([safe_cell(cell) for cell in cells])
            self._file.flush()


class Command(SiteCommand):
    help = (
        "Import deals from a CSV file, which may be compressed with gzip. Columns: "
        f"{', '.join(FIELDS)}. Running it again imports what is still missing. See docs/importing.md."
    )

    failures = (BadFile,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--dry-run", action="store_true", help="check everything, store nothing")
        images = "fetch the pictures of the column image_url"
        parser.add_argument("--images", action="store_true", help=images)
        parser.add_argument("--report", type=Path, help="write rejected rows and remarks to this CSV file")
        parser.add_argument("--by", default="", help="the user name that the deals are published by")

    def work(self, file: Path, dry_run: bool, images: bool, report: Path | None, by: str) -> str:
        started = time.monotonic()
        try:
            publisher = self._publisher(by)
            with csv_files.opened(file) as opened:
                upload = csv_format.inspect(opened)
            layout = self._layout(upload)
            with _Report(report) as remarks, Progress("Importing", upload.rows, self.stderr) as progress:
                run = Import(
                    by=publisher,
                    now=timezone.now(),
                    report=remarks.add,
                    step=progress.advance,
                    new_brand=remarks.add_brand,
                    dry_run=dry_run,
                    pictures=downloads.pictures_of if images else None,
                )
                if not run.dry_run:
                    categories.create_all()
                records = csv_files.read(file, CsvFormat(upload.encoding, upload.separator))
                run.run(rows.check(records, layout))
        except KeyboardInterrupt:
            raise CommandError("Interrupted. Run the same command again to import the rest.") from None
        except Unavailable as error:
            raise CommandError(f"{error} Run the same command again to import the rest.") from None
        return self._told(run, remarks, time.monotonic() - started)

    def _layout(self, upload: csv_format.Upload) -> Layout:
        zone, now = settings.DEALSITE_TIME_ZONE, timezone.now()
        layout = guessed(upload.titles, upload.first_rows, zone=zone, moment=now, drafts=False)
        lacking = missing(layout.columns)
        lacking += [one for one in ("brand", "category", "published_at") if one not in layout.columns]
        if lacking:
            raise BadFile(
                f"No column holds: {', '.join(lacking)}. Name the columns in the first line of the file."
            )
        if left_out := [
            title for title, field in zip(layout.titles, layout.columns, strict=True) if not field
        ]:
            self.stderr.write(f"Columns left out: {', '.join(map(ascii, left_out))}.")
        return layout

    def _publisher(self, username: str) -> str:
        if not username:
            return BY
        try:
            return users.get(normalise_username(username)).username
        except (NotFound, Invalid):
            raise CommandError(f"There is no user {username}.") from None

    def _told(self, run: Import, report: _Report, seconds: float) -> str:
        totals, will = run.totals, "would be " if run.dry_run else ""
        for remark in report.first:
            where = f"line {remark.line:,}" + (f", {remark.column}" if remark.column else "")
            value = f" {remark.value!r}" if remark.value else ""
            self.stdout.write(f"{'Rejected' if remark.refused else 'Note'}, {where}: {remark.reason}{value}")
        if report.count > len(report.first):
            more = "they are all in the report" if report.path else "--report FILE writes all of them"
            self.stdout.write(f"... and {report.count - len(report.first):,} more; {more}.")
        if report.brands:
            more = f" and {len(report.brands) - SHOWN:,} more" if len(report.brands) > SHOWN else ""
            self.stdout.write(f"New brands: {', '.join(report.brands[:SHOWN])}{more}.")
        return (
            f"{totals.imported:,} {will}imported, {totals.there:,} there already, {totals.refused:,} rejected; "
            f"{totals.brands:,} new brands; {totals.rows / max(seconds, 0.001):,.0f} rows a second."
        )
