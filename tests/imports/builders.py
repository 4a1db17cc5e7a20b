"""Makes CSV files for tests of the import."""

import csv
import io
from datetime import UTC, datetime, timedelta

from dealsite.imports import csv_files, csv_format, rows
from dealsite.imports.csv_files import Record
from dealsite.imports.layout import FIELDS, guessed
from dealsite.imports.publishing import Import
from dealsite.imports.rows import Remark

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
START = datetime(2026, 11, 1, 8, 0, tzinfo=UTC)


def make_row(n=0, **cells):
    """A row that is right, the n-th one."""
    row = {
        "title": f"Lamp {n}",
        "brand": "Lampadine",
        "category": "home-furniture",
        "price": "12.50",
        "was_price": "",
        "url": f"https://shop.example/{n}",
        "image_url": "",
        "description": "A *lamp*.",
        "published_at": (START + timedelta(minutes=n)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "expires_at": "",
    }
    return row | cells


def as_csv(made, columns=FIELDS):
    """The bytes of a file with some rows."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, columns, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(made)
    return file.getvalue().encode()


def write_csv(folder, made):
    path = folder / "deals.csv"
    path.write_bytes(made if isinstance(made, bytes) else as_csv(made))
    return path


def records_of(path):
    """The records of a file, in the format that is found out."""
    with csv_files.opened(path) as file:
        read_as = csv_format.format_of(file)
    return csv_files.read(path, read_as)


def results_of(path):
    """What comes of the rows of a file, read as its first line and rows tell."""
    with csv_files.opened(path) as file:
        found = csv_format.inspect(file)
    layout = guessed(found.titles, found.first_rows, zone="UTC", moment=NOW, drafts=False)
    return rows.check(records_of(path), layout)


def as_new(results):
    """What is said of rows, and the deals of those that can be new ones."""
    for one in results:
        yield from getattr(one, "lacks", {}).values() or [one]


def check_file(path):
    return list(as_new(results_of(path)))


def check_rows(made):
    """What comes of some rows."""
    titles = tuple(make_row())
    records = [Record(n, list(row.values())) for n, row in enumerate(made, 2)]
    layout = guessed(titles, [], zone="UTC", moment=NOW, drafts=False)
    return list(as_new(rows.check([Record(1, list(titles)), *records], layout)))


def run_import(path, **options):
    """Import a file; return the totals, the remarks and the number of steps counted."""
    remarks: list[Remark] = []
    steps: list[int] = []
    options = {"by": "mara", "now": NOW, **options}
    run = Import(report=remarks.append, step=steps.append, **options)
    totals = run.run(results_of(path))
    return totals, remarks, sum(steps)
