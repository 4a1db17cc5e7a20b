"""The worker's part of an import: checks, imports and deletes; ended anywhere, it goes on."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
from datetime import datetime, timedelta

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage

from dealsite.data import table
from dealsite.data.catalogue import brands, drafts
from dealsite.data.catalogue.deal import publishing
from dealsite.data.editing import imports
from dealsite.data.editing.imports import SourceFile
from dealsite.data.entities.batches import CHECKED, CHECKING, IMPORTED, IMPORTING
from dealsite.data.integrity import checks
from dealsite.data.jobs import job_actions, jobs
from dealsite.data.jobs.payloads import to_item
from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import new_ulid, time_of
from dealsite.imports import downloads, layout, rows
from dealsite.imports.layout import FIELDS, Layout
from dealsite.text.spreadsheets import safe_cell, unmarked
from dealsite.worker import exports, loop
from dealsite.worker import imports as running
from tests.builders import DAY, NOW, make_deal
from tests.crashes import Crash, Crasher, at_any_request
from tests.imports.builders import as_csv, make_row
from tests.measuring import measured

LATER = NOW + jobs.LEASE + timedelta(seconds=1)
TITLES = tuple(FIELDS)


@pytest.fixture(autouse=True)
def private(tmp_path, monkeypatch):
    """A folder for private files."""
    storage = FileSystemStorage(tmp_path / "private", allow_overwrite=True)
    monkeypatch.setattr(exports, "storage", lambda: storage)
    return tmp_path / "private"


def upload_file(made, *, content=None, now=NOW, **options):
    """Bring a file with some rows, ready to be checked; returns the import."""
    content = as_csv(made) if content is None else content
    filled = {
        "titles": TITLES,
        "columns": tuple(layout.guess_columns(TITLES)),
        "decimal": ".",
        "dates": "day",
        "zone": "UTC",
        "moment": now,
        "drafts": False,
    }
    chosen = Layout(**(filled | options))
    import_id = new_ulid(now, 1)
    name = running.file_name(import_id, running.ROWS)
    running.storage().delete(name)
    running.storage().save(name, ContentFile(content))
    source_file = SourceFile("deals.csv", len(content), len(made), "utf-8", ",", TITLES, ".", "day")
    one = imports.create(source_file, import_id=import_id, by="eve", now=now)
    fingerprint = layout.fingerprint(TITLES)
    imports.check(one, to_item(chosen), fingerprint=fingerprint, version=1, job_id=new_ulid(now, 2), now=now)
    return one.id


def order(import_id, now=NOW):
    one = imports.get(import_id)
    imports.run(one, version=one.version, job_id=new_ulid(now, 3), by="mara", now=now)


def work(now=NOW):
    while loop.run_next(now=now):
        pass


def imported(made, **options):
    import_id = upload_file(made, **options)
    work(LATER)
    order(import_id, options.get("now", NOW))
    work(LATER)
    return imports.get(import_id)


def kept(import_id, part):
    with running.storage().open(running.file_name(import_id, part)) as file:
        return file.read()


def table_of(import_id, part):
    return list(csv.reader(io.StringIO(kept(import_id, part).decode("utf-8-sig"), newline="")))


pytestmark = pytest.mark.usefixtures("fresh_table", "all_are_editors")


def test_a_check_counts_and_stores_nothing_but_its_report():
    import_id = upload_file([make_row(0), make_row(1, price="x"), make_row(2, brand="New")])
    work()
    one = imports.get(import_id)
    assert one.stage == CHECKED
    assert one.totals == {
        "imported": 2,
        "there": 0,
        "refused": 1,
        "brands": 2,
        "notes": 0,
        "pictures": 0,
    }
    assert [(r["line"], r["column"], r["value"], r["refused"]) for r in one.remarks] == [
        (3, "price", "x", True)
    ]
    assert brands.all_brands() == []
    assert {row["type"] for row in table.scan_all()} == {"Import", "ImportLayout", "Job", "AuditEntry"}


def test_deals_are_imported_once_by_whoever_ordered_it():
    one = imported([make_row(n) for n in range(5)] + [make_row(0)])
    assert (one.stage, one.totals["imported"], one.totals["there"]) == (IMPORTED, 5, 1)
    found = [deal for deal in table.scan_all() if deal["type"] == "Deal"]
    assert {deal["created_by"] for deal in found} == {"mara"}
    assert len(found) == 5
    assert checks.find() == []


def test_rows_can_become_drafts_and_do_not_again_what_they_are_already():
    made = [make_row(n, published_at="" if n == 1 else make_row(n)["published_at"]) for n in range(3)]
    one = imported(made, drafts=True)
    assert one.totals["imported"] == 3
    found = [item for item in table.scan_all() if item["type"] == "Draft"]
    assert sorted(item["card"]["title"] for item in found) == ["Lamp 0", "Lamp 1", "Lamp 2"]
    assert NOW in {time_of(item["id"]) for item in found}
    again = imported(made[:1], drafts=True, now=NOW + timedelta(seconds=1))
    assert (again.totals["imported"], again.totals["there"]) == (0, 1)
    assert checks.find() == []


def test_a_row_that_is_a_deal_already_does_not_become_a_draft():
    imported([make_row(0)])
    one = imported([make_row(0), make_row(1)], drafts=True, now=NOW + timedelta(seconds=1))
    assert (one.totals["imported"], one.totals["there"]) == (1, 1)


def test_a_row_without_a_time_is_published_when_the_check_was_ordered():
    one = imported([make_row(0, published_at="")], at_once=True)
    (deal,) = [item for item in table.scan_all() if item["type"] == "Deal"]
    assert (one.totals["imported"], time_of(deal["id"])) == (1, NOW)


def test_rejected_rows_come_back_in_their_own_columns_and_can_be_imported_fixed():
    one = imported([make_row(0), make_row(1, price="x", title="=cmd|calc"), make_row(2, url="@y")])
    refused = table_of(one.id, running.REJECTED)
    assert refused[0] == [*TITLES, "Why it was rejected"]
    assert [row[0] for row in refused[1:]] == ["'=cmd|calc", "Lamp 2"]
    assert refused[1][-1] == "price: Write the amount as 1299.90."
    content = (
        kept(one.id, running.REJECTED).replace(b",x,", b",5,").replace(b"'@y", b"https://shop.example/y")
    )
    again = imported([1, 2], content=content, now=NOW + timedelta(seconds=1))
    assert (again.totals["imported"], again.totals["refused"]) == (2, 0)
    titles = {item["card"]["title"] for item in table.scan_all() if item["type"] == "Deal"}
    assert titles == {"Lamp 0", "=cmd|calc", "Lamp 2"}


def test_the_report_names_line_column_value_and_reason_and_holds_no_formula():
    import_id = upload_file(
        [make_row(0, price="=1+1", title="t" * 400), make_row(1, title="long word " * 40)]
    )
    work()
    assert table_of(import_id, running.REPORT) == [
        ["Line", "Refused", "Column", "Value", "Reason"],
        ["2", "yes", "price", "'=1+1", "Write the amount as 1299.90."],
        ["3", "no", "title", rows.shown(("long word " * 40).strip()), "Shortened to 300 characters."],
        ["3", "no", "Brand", "Lampadine", "This brand is new."],
    ]


@pytest.mark.parametrize("title", ["=1+1", "'=1+1", "''=1+1", " =1+1", "\u200b\uff1d1+1", "'quoted", "Lamp"])
def test_a_rejected_row_means_in_its_file_what_it_meant_in_the_one_that_was_uploaded(title):
    import_id = upload_file([make_row(0, price="x", title=title)])
    work()
    (_, cells) = table_of(import_id, running.REJECTED)
    assert cells[0] == safe_cell(unmarked(title))
    assert unmarked(cells[0]) == unmarked(title)


def test_hostile_rows_are_refused_alone():
    content = (
        as_csv([make_row(0)])
        + b"x" * 400_000
        + b"\n\x00,\xff\xfe,"
        + ",".join(["\u202e👩"] * 10).encode()
        + b"\n"
        + ",".join(FIELDS).encode()
        + b"\n"
        + as_csv([make_row(1)]).split(b"\n", 1)[1]
        + b'"never closed'
    )
    one = imported([1, 2], content=content)
    assert (one.totals["imported"], one.totals["refused"], one.totals["notes"]) == (2, 3, 1)
    assert checks.find() == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "The file is empty."), (b'"open\n', "Line 1 should name the columns.")],
    ids=["empty", "open"],
)
def test_a_file_that_is_another_one_now_ends_the_check(content, reason):
    import_id = upload_file([], content=content)
    work()
    one, job = imports.load(import_id)
    assert (one.stage, job.state) == (CHECKING, "cancelled")
    assert reason in job.error


def test_a_file_that_is_gone_ends_the_check():
    import_id = upload_file([make_row(0)])
    running.storage().delete(running.file_name(import_id, running.ROWS))
    work()
    assert measured(imports.load)(import_id)[1].error == "The file is gone: files are kept for a week."


def test_a_check_that_was_ordered_again_leaves_the_older_one():
    import_id = upload_file([make_row(0)])
    one = imports.get(import_id)
    measured(imports.check)(one, one.layout, fingerprint="f", version=2, job_id=new_ulid(NOW, 9), now=NOW)
    work()
    assert imports.get(import_id).stage == CHECKED
    assert jobs.get(one.job).state == "cancelled"


def test_a_check_that_ends_late_leaves_the_report_of_the_newer_one_alone(monkeypatch):
    import_id = upload_file([make_row(0, price="1,50")])  # the older check refuses it
    one, check = imports.get(import_id), rows.check

    def late(*arguments):
        monkeypatch.setattr(rows, "check", check)
        other = one.layout | {"decimal": ","}
        imports.check(one, other, fingerprint="f", version=2, job_id=new_ulid(NOW, 9), now=NOW)
        work()
        return check(*arguments)

    monkeypatch.setattr(rows, "check", late)
    work()
    assert [row[0] for row in table_of(import_id, running.REPORT)] == ["Line", "2"]  # its titles, a new brand
    assert imports.get(import_id).totals["refused"] == 0
    assert jobs.get(one.job).state == "cancelled"


def test_progress_is_noted_and_an_editor_can_cancel_it(monkeypatch):
    seconds = iter(range(0, 100_000, 3))
    monkeypatch.setattr(running, "monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr(running, "WINDOW", 10)
    import_id = upload_file([make_row(n) for n in range(100)])
    work()
    assert jobs.get(imports.get(import_id).job).progress["done"] == 100
    order(import_id)
    save, noted = jobs.save_progress, []

    def note(job, progress, *, now):
        noted.append(progress["done"])
        if progress["done"] >= 40 and imports.load(import_id)[1].state != "cancelled":
            job_actions.cancel(job.id, by="eve", now=NOW)
        save(job, progress, now=now)

    monkeypatch.setattr(jobs, "save_progress", note)
    work()
    one, job = imports.load(import_id)
    assert (one.stage, job.state) == (IMPORTING, "cancelled")
    stored = sum(item["type"] == "Deal" for item in table.scan_all())
    assert 40 <= stored < 100
    monkeypatch.setattr(jobs, "save_progress", save)
    measured(imports.run)(
        one,
        version=one.version,
        job_id=new_ulid(NOW + timedelta(seconds=1), 8),
        by="mara",
        now=NOW + timedelta(seconds=1),
    )
    work(LATER)
    one = imports.get(import_id)
    assert (one.stage, one.totals["imported"], one.totals["there"]) == (IMPORTED, 100 - stored, stored)
    assert checks.find() == []


def test_files_are_deleted_after_a_week(private):
    import_id = upload_file([make_row(0, price="x")])
    work()
    (private / "imports" / import_id / running.OLD_PART).write_text("[]")
    assert len(list((private / "imports" / import_id).iterdir())) == 4
    work(NOW + 7 * DAY)
    assert list((private / "imports" / import_id).iterdir()) == []
    assert imports.get(import_id).totals["refused"] == 1


def test_pictures_are_fetched_by_few_and_rows_without_one_are_noted(monkeypatch):
    asked = []

    def none(new):
        asked.append(len(new))
        return {deal.line: "The server answered 404." for deal in new}

    monkeypatch.setattr(downloads, "pictures_of", none)
    made = [make_row(n, image_url=f"https://images.example/{n}.png") for n in range(20)]
    one = imported(made, pictures=True)
    assert asked == [8, 8, 4]
    assert (one.totals["imported"], one.totals["notes"]) == (20, 20)
    assert one.remarks[0]["reason"] == "Imported without its picture. The server answered 404."


def test_a_row_that_the_table_refuses_is_in_the_report_too(monkeypatch):
    publish = publishing.publish_many

    def refuse_one(new, **options):
        if any(content.title == "Lamp 1" for _, content, _ in new):
            raise Invalid("It cannot be.")
        publish(new, **options)

    monkeypatch.setattr(publishing, "publish_many", refuse_one)
    one = imported([make_row(n) for n in range(3)])
    assert (one.totals["imported"], one.totals["refused"]) == (2, 1)
    assert table_of(one.id, running.REJECTED)[1][0] == "Lamp 1"


@at_any_request
@pytest.mark.parametrize("drafts_wanted", [False, True], ids=["deals", "drafts"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_may_end_at_any_request(when, drafts_wanted, new_table, monkeypatch):
    monkeypatch.setattr(running, "WINDOW", 4)
    monkeypatch.setattr(
        running, "monotonic", lambda: 0.0
    )  # on a slow machine the lease would end after LATER
    made = [make_row(n, brand=f"Brand {n % 2}") for n in range(9)] + [make_row(99, price="x")]
    seen = set()
    for at in itertools.count(1):
        new_table()
        import_id = upload_file(made, drafts=drafts_wanted)
        work()
        order(import_id)
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            work()
        seen.add(sum(item["type"] in ("Deal", "Draft") for item in table.scan_all(consistent=True)))
        work(LATER)
        one, job = imports.load(import_id)
        assert (one.stage, job.state) == (IMPORTED, "done")
        assert [one.totals[name] for name in ("imported", "there", "refused", "brands")] == [9, 0, 1, 2]
        assert sorted(brand["name"] for brand in one.brands) == ["Brand 0", "Brand 1"]
        assert sum(row[-1] == "This brand is new." for row in table_of(import_id, running.REPORT)) == 2
        assert sum(item["type"] in ("Deal", "Draft") for item in table.scan_all(consistent=True)) == 9
        assert len(table_of(import_id, running.REJECTED)) == 2
        assert [str(problem) for problem in checks.find()] == []
        if not crasher.crashed:
            break
        assert at < 100
    assert at > 10
    assert {0, 9} < seen


def test_a_deal_of_before_is_never_counted_as_imported():
    row = make_row(0)
    deal_id = rows.deal_id(row["url"], row["title"], datetime.fromisoformat(row["published_at"]))
    make_deal(deal_id=deal_id, now=NOW - DAY)
    one = imported([row])
    assert (one.totals["imported"], one.totals["there"]) == (0, 1)
    assert drafts.get_many([deal_id]) == {}
