"""The command import_deals as an operator sees it."""

import csv
import gzip
import io

import pytest
from django.core.management import CommandError, call_command

from dealsite.data.catalogue import deals
from dealsite.data.table.errors import Unavailable
from dealsite.imports.publishing import Import
from dealsite.imports.rows import Remark
from dealsite.management.commands.import_deals import _Report
from tests.imports.builders import as_csv, check_file, make_row, write_csv
from tests.people import make_user


def run(*arguments):
    """Run the command; return what it prints."""
    out = io.StringIO()
    call_command("import_deals", *map(str, arguments), stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_a_file_is_imported_and_counted(whole_table, tmp_path):
    path = tmp_path / "deals.csv.gz"
    path.write_bytes(gzip.compress(as_csv([make_row(0), make_row(1), make_row(2, price="free")])))
    printed = run(path)
    assert "Rejected, line 4, price: Write the amount as 1299.90." in printed
    assert "2 imported, 0 there already, 1 rejected; 1 new brands" in printed
    assert "0 imported, 2 there already, 1 rejected" in run(path)
    new = [one for one in check_file(path) if hasattr(one, "content")]
    assert deals.get(new[0].id).updated_by == "import"


def test_new_brands_are_named(whole_table, tmp_path):
    made = [make_row(n, brand=f"Brand {n:02}") for n in range(22)]
    path, report = write_csv(tmp_path, [*made, make_row(30, brand="Brand 07")]), tmp_path / "report.csv"
    named = ", ".join(f"Brand {n:02}" for n in range(20))
    assert f"New brands: {named} and 2 more.\n" in run(path, "--dry-run", "--report", report)
    assert f"New brands: {named} and 2 more.\n" in run(path, "--report", report)
    with report.open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["value"] for row in written] == [row["brand"] for row in made]
    assert written[7] == {
        "line": "9",
        "rejected": "no",
        "column": "brand",
        "value": "Brand 07",
        "reason": "This brand is new.",
    }
    assert "New brands" not in run(path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (as_csv([]), "The file names its columns, and holds no row."),
        (b"PK\x03\x04xl/", "This is an Excel workbook. Save it as CSV."),
        (b"\x00\x01", "This is no text file."),
    ],
)
def test_a_file_without_deals_is_an_error(whole_table, tmp_path, content, why):
    with pytest.raises(CommandError, match=why):
        run(write_csv(tmp_path, content))


def test_a_dry_run_says_what_would_be(whole_table, tmp_path):
    path = write_csv(tmp_path, [make_row()])
    assert "1 would be imported" in run(path, "--dry-run")
    assert "1 imported" in run(path)


def test_the_report_holds_every_remark_and_no_formula(whole_table, tmp_path):
    made = [make_row(n, price=f"={n}") for n in range(30)]
    report = tmp_path / "report.csv"
    printed = run(write_csv(tmp_path, made), "--report", report)
    assert "and 10 more; they are all in the report." in printed
    with report.open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert len(written) == 30
    assert written[4] == {
        "line": "6",
        "rejected": "yes",
        "column": "price",
        "value": "'=4",
        "reason": "Write the amount as 1299.90.",
    }


def test_neither_a_columns_name_nor_a_reason_is_a_formula_in_the_report(tmp_path):
    with _Report(tmp_path / "report.csv") as report:
        report.add(Remark(2, "=column", "\n=value", "@reason"))
    lines = (tmp_path / "report.csv").read_bytes().decode().splitlines(keepends=True)
    assert list(csv.reader(lines))[1] == [
        "2", "yes", "'=column", "'\n=value", "'@reason",
    ]  # fmt: skip


def test_a_publisher_is_a_user_who_exists(whole_table, tmp_path):
    path = write_csv(tmp_path, [make_row()])
    with pytest.raises(CommandError, match="There is no user mara"):
        run(path, "--by", "mara")
    make_user("Mara")
    run(path, "--by", "MARA")
    assert deals.get(check_file(path)[0].id).updated_by == "mara"


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "The file is empty."), (b"a,b\n1,2\n", "No column holds: title, price, url, brand")],
)
def test_a_wrong_file_is_one_clear_error(whole_table, tmp_path, content, message):
    with pytest.raises(CommandError, match=message):
        run(write_csv(tmp_path, content))


def test_a_report_that_cannot_be_written_is_said_before_anything_is_imported(whole_table, tmp_path):
    path = write_csv(tmp_path, [make_row()])
    with pytest.raises(CommandError, match="The report cannot be written"):
        run(path, "--report", tmp_path / "none" / "report.csv")
    assert "1 would be imported" in run(path, "--dry-run")


@pytest.mark.parametrize("error", [KeyboardInterrupt, Unavailable])
def test_whatever_stops_it_the_operator_hears_how_to_go_on(whole_table, tmp_path, monkeypatch, error):
    def stopped(run, results):
        raise error

    monkeypatch.setattr(Import, "run", stopped)
    with pytest.raises(CommandError, match="Run the same command again to import the rest"):
        run(write_csv(tmp_path, [make_row()]))
