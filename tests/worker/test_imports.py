"""The worker's part of an import: checks, imports and deletes; ended anywhere, it goes on."""

from __future__ import annotations

import contextlib
import csv
import errno
import functools
import io
import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage

from dealsite.data import keys, table
from dealsite.data.catalogue import brand_merges, brands, deal_changes, deals, drafts, publishing
from dealsite.data.editing import bulk, imports
from dealsite.data.editing.imports import SourceFile
from dealsite.data.entities.imports import CHECKED, CHECKING, IMPORTED, IMPORTING
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs, parts, queue
from dealsite.data.jobs.payloads import payload_to_item
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.data.table.ids import new_ulid, time_of
from dealsite.data.table.writes import Update, exists
from dealsite.imports import downloads, layout, rows
from dealsite.imports.layout import FIELDS, Layout
from dealsite.text.writing import safe_cell, unmarked
from dealsite.worker import exports, imports as running, loop
from tests.builders import DAY, NOW, STATED, all_brands, make_brand, make_deal, make_draft
from tests.crashes import Crash, Crasher, at_any_request
from tests.imports.builders import as_csv, make_row
from tests.jobs import run_next
from tests.measuring import measured
from tests.races import at_once

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
    source_file = SourceFile("deals.csv", len(content), len(made), "utf-8", ",", chosen.titles, ".", "day")
    one = imports.create(source_file, import_id=import_id, by="eve", now=now)
    fingerprint = layout.fingerprint(TITLES)
    imports.check(
        one, payload_to_item(chosen), fingerprint=fingerprint, version=1, job_id=new_ulid(now, 2), now=now
    )
    return one.id


def order(import_id, now=NOW, left_out=()):
    one = imports.get(import_id)
    job_id = new_ulid(now, 3)
    imports.run(one, version=one.version, job_id=job_id, by="mara", now=now, left_out=left_out)


def work(now=NOW):
    while run_next(now=now):
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
        "changed": 0,
        "there": 0,
        "refused": 1,
        "brands": 2,
        "notes": 0,
        "pictures": 0,
    }
    assert [(r["line"], r["column"], r["value"], r["refused"]) for r in one.remarks] == [
        (3, "price", "x", True)
    ]
    assert all_brands() == []
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
            queue.cancel(job.id, by="eve", now=NOW)
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
    for part in (running.OLD_PART, running.SHARES, *running.OUTCOMES):
        (private / "imports" / import_id / part).write_text("[]")
    assert len(list((private / "imports" / import_id).iterdir())) == 4 + 2 + parts.MOST
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


# Rows that change what is there


def deals_to_change(number=3, **content):
    """Publish some deals, and return them with rows that mean them by id."""
    made = [
        make_deal(
            title=f"Chair {n}",
            price=Decimal("30.00"),
            was_price=Decimal("40.00"),
            stock=8,
            link=f"https://shop.example/chair/{n}",
            category="home-furniture",
            description="Old",
            deal_id=new_ulid(NOW - DAY, n),
            now=NOW - DAY,
            **content,
        )
        for n in range(number)
    ]
    return made, [dict.fromkeys(FIELDS, "") | {"id": deal.id, "price": "25"} for deal in made]


def changing(made, *, columns=FIELDS, update="all", **options):
    """Import rows of some columns."""
    options |= {"titles": tuple(columns), "columns": tuple(columns)}
    return imported(made, content=as_csv(made, columns), update=update, **options)


def undo(one, now=LATER + timedelta(minutes=1), ask=imports.undo):
    job = imports.load(one.id)[1]
    undo_id = new_ulid(now, 7)
    ask(one, job, version=one.version, undo_id=undo_id, by="eve", now=now)
    imports.undo(imports.get(one.id), job, version=one.version, undo_id=undo_id, by="eve", now=now)
    work(now)
    return bulk.get(undo_id)


@pytest.mark.parametrize(
    ("update", "cells", "changed"),
    [
        ("", {"price": "25"}, {}),
        ("prices", {"price": "25.00"}, {"price": Decimal("25.00")}),
        ("prices", {"price": "30", "was_price": "40.0000"}, {}),
        ("prices", {"price": "25", "title": "Sofa"}, {"price": Decimal("25.00")}),
        ("prices", {"price": "30", "was_price": ""}, {"was_price": None}),
        ("prices", {"price": "", "was_price": "35"}, {"price": Decimal("35.00"), "was_price": None}),
        ("prices", {"was_price": "50"}, {"was_price": Decimal("50.00")}),
        ("prices", {"stock": "12"}, {"stock": 12}),
        ("prices", {"stock": ""}, {}),  # pieces would no longer be counted
        ("all", {"title": "Sofa", "price": ""}, {"title": "Sofa"}),
        ("all", {"title": "", "brand": "", "category": "", "url": ""}, {}),
        ("all", {"brand": "Nordlicht", "category": "Home & Furniture"}, {}),
        (
            "all",
            {"voucher_code": "x5", "description": "<b>New</b>"},
            {"voucher_code": "x5", "description": "**New**"},
        ),
        ("all", {"description": ""}, {"description": ""}),
        ("all", {"expires_at": "2027-01-01T10:00Z"}, {"expires_at": datetime(2027, 1, 1, 10, tzinfo=UTC)}),
        ("all", {"url": "https://shop.example/new"}, {"link": "https://shop.example/new"}),
        ("all", {"sold": "At a shop", "ad": "ja"}, {"sold": "shop", "is_ad": True, "stock": None}),
        (
            "all",
            {"sold": "code", "voucher_code": "x5"},
            {"sold": "code", "voucher_code": "x5", "stock": None},
        ),
        ("all", {"sold": "", "ad": ""}, {}),
        ("prices", {"sold": "shop", "price": "30"}, {}),
        ("all", {"published_at": "2026-11-21T12:00Z", "image_url": "https://shop.example/a.png"}, {}),
    ],
)
def test_a_row_changes_what_it_has_columns_for(update, cells, changed):
    (deal,), _ = deals_to_change(1, **STATED)
    if "was_price" in changed:  # nobody has said of this one that it was a low
        changed = changed | {"low_seen_at": "", "low_seen_on": None}
    one = changing([{"id": deal.id} | cells], columns=("id", *cells), update=update)
    assert (one.totals["changed"], one.totals["there"]) == ((1, 0) if changed else (0, 1))
    assert deals.get(deal.id).content == replace(deal.content, **changed)
    assert checks.find() == []


def test_lines_that_are_left_out_change_nothing():
    found, made = deals_to_change()
    titles = ("id", "price")
    content = as_csv(made, titles)
    import_id = upload_file(made, content=content, titles=titles, columns=titles, update="prices")
    work(LATER)
    assert imports.get(import_id).totals["price"] == 3
    order(import_id, left_out=[3])
    work(LATER)
    one = imports.get(import_id)
    assert (one.totals["changed"], one.totals["there"], one.totals["notes"]) == (2, 1, 1)
    assert [deals.get(deal.id).content.price for deal in found] == [25, 30, 25]
    assert [(remark["line"], remark["refused"]) for remark in one.remarks] == [(3, False)]


def test_what_rejects_a_row_is_shown_before_remarks(monkeypatch):
    monkeypatch.setattr(running, "SHOWN", 2)
    long = "word " * 80
    made = [make_row(n, title=long + str(n)) for n in range(3)] + [make_row(3, price="x")]
    import_id = upload_file(made)
    work()
    one = imports.get(import_id)
    assert [(remark["line"], remark["refused"]) for remark in one.remarks] == [(5, True), (2, False)]
    assert (one.brands[0]["rows"], one.totals["notes"]) == (3, 3)


def test_a_check_shows_what_would_change_field_by_field(private):
    _, made = deals_to_change()
    made[1] |= {"was_price": "40", "price": "30"}
    made[2] |= {"title": "Sofa"}
    import_id = upload_file(
        made,
        update="all",
        content=as_csv(made, ("id", "title", "price", "was_price")),
        titles=(columns := ("id", "title", "price", "was_price")),
        columns=columns,
    )
    work(LATER)
    one = imports.get(import_id)
    assert (one.totals["changed"], one.totals["there"], one.totals["imported"]) == (2, 1, 0)
    fields = [(change["line"], *change["fields"]) for change in one.changes]
    price, was = (
        {"name": name, "before": before, "after": after}
        for name, before, after in [("price", "30.00", "25.00"), ("was_price", "40.00", "")]
    )
    assert fields == [
        (2, price, was),
        (4, {"name": "title", "before": "Chair 2", "after": "Sofa"}, price, was),
    ]
    assert table_of(import_id, running.CHANGES)[1] == [
        "2",
        made[0]["id"],
        "Chair 0",
        "price",
        "30.00",
        "25.00",
    ]
    assert len(table_of(import_id, running.CHANGES)) == 6
    assert deals.get(made[0]["id"]).version == 1
    order(import_id)
    work(LATER)
    assert imports.get(import_id).changes == one.changes  # also after the run
    assert len(table_of(import_id, running.CHANGES)) == 6


BY_NUMBER = ("article_number", "price", "url", "title")


@pytest.mark.parametrize(
    ("update", "cells", "changed"),
    [
        ("", {}, {}),
        ("prices", {"title": "Sofa"}, {"price": Decimal("25.00")}),
        ("prices", {"price": "30.00", "article_number": "CH 0"}, {}),
        (
            "all",
            {"price": "30.00", "url": "https://shop.example/chair/0", "article_number": "X1"},
            {"article_number": "X1"},
        ),
        ("all", {"price": "", "article_number": "", "url": "https://shop.example/chair/0"}, {}),
        (
            "all",
            {"url": "https://shop.example/moved", "article_number": "CH 0"},
            {"price": Decimal("25.00"), "link": "https://shop.example/moved", "article_number": "CH 0"},
        ),
    ],
)
def test_a_row_changes_the_deal_with_its_article_number(update, cells, changed):
    deal, _ = (
        make_deal(
            title=f"Chair {n}",
            price=Decimal("30.00"),
            link=f"https://{shop}.example/chair/{n}",
            article_number="ch 0",
            now=NOW - DAY,
        )
        for n, shop in enumerate(("shop", "other"))
    )
    row = {"article_number": "ＣＨ 0", "price": "25", "url": "https://shop.example/new"} | cells
    import_id = upload_file(
        [row], content=as_csv([row], BY_NUMBER), titles=BY_NUMBER, columns=BY_NUMBER, update=update
    )
    work(LATER)
    shown = [one["name"] for change in imports.get(import_id).changes for one in change["fields"]]
    assert set(shown) == changed.keys()
    order(import_id)
    work(LATER)
    one = imports.get(import_id)
    assert [one.totals[name] for name in ("changed", "there", "imported", "refused")] == [
        *((1, 0) if changed else (0, 1)),
        0,
        0,
    ]
    assert deals.get(deal.id).content == replace(deal.content, **changed)
    if changed:
        assert undo(one).changed == 1
        assert deals.get(deal.id).content == deal.content
    assert checks.find(retired=True) == []


def test_a_list_of_article_numbers_and_prices_changes_the_deals_of_its_brand_each_once():
    for n, brand in enumerate(("Vela", "Vela", "Luce", "Vela")):
        number = {3: "A1"}.get(n, f"A{n}")
        make_deal(
            price=Decimal(30),
            was_price=None,
            brand=brand,
            article_number=number,
            now=NOW - DAY,
            link=f"https://{brand}.example/{n}",
        )
    made = [{"article_number": f"A{n}", "price": "25"} for n in (0, 1, 2, 9)] + [
        {"article_number": "a0", "price": "9"}
    ]
    one = changing(made, columns=("article_number", "price"), update="prices", brand="Vela")
    assert [one.totals[name] for name in ("changed", "there", "imported", "refused")] == [1, 0, 0, 4]
    said = {remark["line"]: remark["reason"] for remark in one.remarks}
    assert said[3] == "2 deals have the article number A1. Say by id or link which is meant."
    assert said[6] == "An earlier row changes the same deal."
    assert "Enter the link to the shop." in {
        remark["reason"] for remark in one.remarks if remark["line"] == 4
    }
    assert table_of(one.id, running.REJECTED)[1][-1].startswith("2 deals have the article number A1.")


def test_rows_without_links_are_told_apart_by_their_article_numbers():
    made = [make_row(title="Lamp", url="", article_number=number) for number in ("1", "2", "", "")]
    totals = []
    for now in (NOW - DAY, NOW):
        content = imported(made, drafts=True, now=now, moment=NOW).totals
        totals.append([content[name] for name in ("imported", "there", "refused")])
        made = [row | {"title": "Other"} for row in made[:2]]
    assert totals == [[3, 1, 0], [0, 2, 0]]


@at_any_request
@pytest.mark.parametrize("when", ["before", "after"])
def test_changes_by_article_number_come_once_wherever_a_worker_ends(when, new_table, monkeypatch):
    monkeypatch.setattr(running, "WINDOW", 2)
    monkeypatch.setattr(running, "monotonic", lambda: 0.0)
    for at in itertools.count(1):
        new_table()
        made = [
            make_deal(
                price=Decimal(30),
                article_number=f"A{min(n, 4)}",
                link=f"https://shop.example/{n}",
                now=NOW - DAY,
            )
            for n in range(6)
        ]
        rows = [
            {"article_number": f"A{n}", "price": "25", "url": f"https://shop.example/new{n}"}
            for n in range(5)
        ]
        import_id = upload_file(
            rows, content=as_csv(rows, BY_NUMBER), titles=BY_NUMBER, columns=BY_NUMBER, update="all"
        )
        work()
        order(import_id)
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            work()
        work(LATER)
        one = imports.get(import_id)
        assert [one.totals[name] for name in ("changed", "there", "imported", "refused")] == [4, 0, 0, 1]
        assert [deals.get(deal.id).version for deal in made] == [2] * 4 + [1] * 2
        assert len(table_of(import_id, running.REJECTED)) == 2
        if not crasher.crashed:
            break
        assert at < 100
    assert at > 10


@pytest.mark.parametrize(
    ("update", "cells", "column", "reason"),
    [
        ("prices", {"price": "60"}, "was_price", "The amount to compare with must be above the price."),
        ("all", {"category": "Nowhere"}, "category", "There is no such category."),
        ("all", {"url": "ftp://x"}, "url", "full web address"),
        ("all", {"title": "Sofa", "expires_at": "2020-01-01"}, "expires_at", "before it goes live"),
    ],
)
def test_a_row_that_would_spoil_a_deal_is_rejected(update, cells, column, reason):
    (deal,), _ = deals_to_change(1)
    one = changing([{"id": deal.id} | cells], columns=("id", *cells), update=update)
    (remark,) = one.remarks
    assert (one.totals["changed"], one.totals["refused"], remark["column"]) == (0, 1, column)
    assert reason in remark["reason"]
    assert deals.get(deal.id) == deal


def test_two_rows_change_no_deal_twice():
    _, made = deals_to_change(2)
    one = changing(
        [*made, made[0] | {"price": "20"}, made[1] | {"price": "30", "was_price": "40", "stock": "8"}],
        update="prices",
    )
    assert [one.totals[name] for name in ("changed", "there", "refused")] == [2, 1, 1]
    assert one.remarks[0]["reason"] == "An earlier row changes the same deal."
    assert {deals.get(row["id"]).content.price for row in made} == {Decimal("25.00")}


def test_drafts_and_what_became_of_them_change_as_well():
    draft = make_draft(title="Chair", link="https://shop.example/a", brand="Lampadine", now=NOW - DAY)
    pointer = make_draft(title="Table", link="https://shop.example/b", now=NOW - 2 * DAY)
    deal = make_deal(title="Table", link="https://shop.example/b", draft=pointer, now=NOW - DAY)
    made = [{"id": one.id, "price": "9", "brand": "New one"} for one in (draft, pointer)]
    one = changing(made, columns=("id", "price", "brand"), drafts=True)
    assert (one.totals["changed"], one.totals["brands"]) == (2, 1)
    assert deals.get(deal.id).content.price == drafts.get(draft.id).content.price == Decimal(9)
    assert deals.get(deal.id).card.brand_name == drafts.get(draft.id).card.brand_name == "New one"
    assert undo(one).changed == 2
    assert (drafts.get(draft.id).content, deals.get(deal.id).content) == (draft.content, deal.content)
    assert checks.find() == []


def test_what_somebody_changed_or_deleted_after_the_check_is_left_alone():
    made, cells = deals_to_change(4)
    import_id = upload_file(cells, update="prices")
    work()
    order(import_id)
    brand, later = brands.get("nordlicht"), NOW + timedelta(minutes=1)
    for deal, by in ((made[0], "jonas"), (made[1], "mara")):
        deal_changes.edit(
            deal, replace(deal.content, title="Other"), version=1, brand=brand, by=by, now=later
        )
    deal_changes.delete(made[2], by="jonas", now=later)
    work(LATER)
    one = imports.get(import_id)
    assert [one.totals[name] for name in ("changed", "refused", "imported")] == [2, 2, 0]
    assert one.remarks[-1]["reason"] == "jonas changed it meanwhile."
    assert [deals.get(made[n].id).content.price for n in (0, 1, 3)] == [Decimal(30), Decimal(25), Decimal(25)]


def test_pieces_that_are_sold_at_this_moment_do_not_stop_a_new_stock(monkeypatch):
    (deal,), _ = deals_to_change(1)
    save, left = deal_changes.edit, list[int]()

    def edit(*arguments, **options):
        if left:
            table.write(Update(key=keys.offer(deal.id), set={"stock": left.pop()}, when=(exists(),)))
        return save(*arguments, **options)

    monkeypatch.setattr(deal_changes, "edit", edit)
    left.append(5)
    one = changing([{"id": deal.id, "stock": "24"}], columns=("id", "stock"), update="prices")
    assert (one.totals["changed"], deals.get(deal.id).stock) == (1, 24)
    left.append(20)
    assert (undo(one).changed, deals.get(deal.id).stock) == (1, 1)  # of 5 pieces 4 were sold


@pytest.mark.parametrize(
    ("cells", "changed"),
    [
        ({"voucher_code": ""}, {"sold": "shop", "voucher_code": ""}),
        ({"voucher_code": "y6", "stock": "9"}, {"voucher_code": "y6"}),  # nobody counts what a shop sells
        ({"sold": "here", "stock": "9"}, {"sold": "here", "stock": 9}),
        ({"sold": "shop", "title": "Sofa"}, {"title": "Sofa"}),  # it has a code still
        ({"ad": "no"}, {"is_ad": False}),
    ],
)
def test_a_row_changes_who_sells_it_and_what_goes_with_that(cells, changed):
    deal = make_deal(deal_id=new_ulid(NOW - DAY, 1), now=NOW - DAY, voucher_code="x5", is_ad=True)
    one = changing([{"id": deal.id} | cells], columns=("id", *cells))
    assert one.totals["changed"] == 1
    assert deals.get(deal.id).content == replace(deal.content, **changed)
    assert undo(one).changed == 1
    assert deals.get(deal.id).content == deal.content
    assert checks.find() == []


def test_what_a_file_gave_to_a_shop_is_counted_again_when_that_is_undone():
    (deal,), _ = deals_to_change(1)
    one = changing([{"id": deal.id, "sold": "shop"}], columns=("id", "sold"))
    assert (deals.get(deal.id).content.sold, deals.get(deal.id).stock) == ("shop", None)
    assert undo(one).changed == 1
    assert deals.get(deal.id).content == deal.content


@pytest.mark.parametrize(
    ("stock", "given", "left", "then"),
    [
        (8, "24", 22, 6),
        (8, "2", 0, 6),
        (3, "1", 0, 2),
        (None, "24", 20, None),
        (8, "8", 5, 5),
        (2, "1", None, 2),
    ],
)
def test_an_undo_takes_away_what_the_import_added_to_the_stock(stock, given, left, then):
    (deal,), _ = deals_to_change(1)
    brand = brands.get("nordlicht")
    deal = deal_changes.edit(
        deal, replace(deal.content, stock=stock), version=1, brand=brand, by="eve", now=NOW - DAY
    )
    one = changing([{"id": deal.id, "price": "25", "stock": given}], columns=("id", "price", "stock"))
    change = {"set": {"stock": left}} if left is not None else {"remove": ("stock",)}
    table.write(Update(key=keys.offer(deal.id), when=(exists(),), **change))
    assert undo(one).changed == 1
    assert deals.get(deal.id).content == replace(deal.content, stock=then)


def test_an_undo_leaves_what_was_changed_since_and_comes_once():
    made, cells = deals_to_change(3)
    one = changing(cells, update="prices")
    changed = deals.get(made[0].id)
    deal_changes.edit(
        changed,
        replace(changed.content, price=Decimal("19.00")),
        version=2,
        brand=brands.get("nordlicht"),
        by="jonas",
        now=LATER + timedelta(hours=1),
    )
    deal_changes.delete(deals.get(made[1].id), by="jonas", now=LATER)
    done = undo(one, ask=measured(imports.undo))
    assert (done.changed, done.job.state) == (1, "done")
    refused = bulk.rows(done.job.id, "REFUSED")
    assert [row.reason for row in refused] == ["jonas changed it since.", "It was deleted since."]
    again, job = imports.load(one.id)
    with pytest.raises(Conflict, match="nothing to undo"):
        imports.undo(again, job, version=again.version, undo_id=new_ulid(LATER, 1), by="eve", now=LATER)
    assert not imports.may_be_undone(one, job, one.at + timedelta(days=30))
    with pytest.raises(Conflict, match="were undone"):
        imports.run(again, version=again.version, job_id=new_ulid(LATER, 2), by="eve", now=LATER)
    assert checks.find() == []


@pytest.mark.parametrize("first", ["undo", "run"])
def test_of_undoing_and_going_on_with_a_cancelled_import_one_happens(first, monkeypatch):
    monkeypatch.setattr(running, "WINDOW", 2)
    made, cells = deals_to_change(4)
    import_id = upload_file(cells, update="prices")
    work()
    order(import_id)
    save, windows = jobs.save_checkpoint, itertools.count()

    def cancelled(job, *arguments, **options):
        if next(windows) == 0:
            queue.cancel(job.id, by="eve", now=NOW)
        return save(job, *arguments, **options)

    monkeypatch.setattr(jobs, "save_checkpoint", cancelled)
    work()
    one, job = imports.load(import_id)
    assert (one.stage, job.state) == (IMPORTING, "cancelled")
    assert [deals.get(deal.id).content.price for deal in made] == [25, 25, 30, 30]
    ways = {
        "undo": lambda: imports.undo(
            one, job, version=one.version, undo_id=new_ulid(LATER, 7), by="eve", now=LATER
        ),
        "run": lambda: imports.run(one, version=one.version, job_id=new_ulid(LATER, 8), by="eve", now=LATER),
    }
    ways.pop(first)()
    with pytest.raises(Conflict):
        ways.popitem()[1]()
    work(LATER)
    right = [30, 30, 30, 30] if first == "undo" else [25, 25, 25, 25]
    assert [deals.get(deal.id).content.price for deal in made] == right
    if first == "run":
        assert imports.get(import_id).totals["changed"] == 4
        assert undo(imports.get(import_id), LATER + DAY).changed == 4
        assert {deals.get(deal.id).content.price for deal in made} == {30}
    assert checks.find() == []


def test_a_deal_of_a_merged_brand_becomes_one_of_the_other():
    (deal,), cells = deals_to_change(1)
    other = make_brand("Lampadine")
    brand_merges.merge(brands.get_with_counts("nordlicht"), other, by="eve", now=NOW + DAY)
    one = changing(cells, update="prices")
    changed = deals.get(deal.id)
    assert (one.totals["changed"], changed.content.brand, changed.card.brand_name) == (
        1,
        "lampadine",
        "Lampadine",
    )
    assert undo(one).changed == 1
    assert deals.get(deal.id).content == replace(deal.content, brand="lampadine")


def test_nothing_is_changed_after_the_import_was_cancelled(monkeypatch):
    made, cells = deals_to_change()
    import_id = upload_file(cells, update="prices")
    work()
    order(import_id)
    edit, edits = deal_changes.edit, itertools.count()

    def cancelled(*arguments, **options):
        if next(edits) == 1:
            queue.cancel(imports.get(import_id).job, by="eve", now=NOW)
        return edit(*arguments, **options)

    monkeypatch.setattr(deal_changes, "edit", cancelled)
    work()
    assert next(edits) == 2
    assert [deals.get(deal.id).version for deal in made] == [2, 1, 1]
    assert imports.load(import_id)[1].state == "cancelled"


@at_any_request
@pytest.mark.parametrize("when", ["before", "after"])
def test_changes_and_their_undo_may_end_at_any_request(when, new_table, monkeypatch):
    monkeypatch.setattr(running, "WINDOW", 2)
    monkeypatch.setattr(running, "monotonic", lambda: 0.0)
    for at in itertools.count(1):
        new_table()
        (*made, other), cells = deals_to_change(4)
        import_id = upload_file([*cells, make_row(0), cells[0] | {"price": "50"}], update="prices")
        work()
        order(import_id, left_out=[5])
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            work()
        work(LATER)
        one, job = imports.load(import_id)
        assert (one.stage, job.state) == (IMPORTED, "done")
        assert [one.totals[name] for name in ("changed", "imported", "there", "refused")] == [3, 1, 1, 1]
        assert (one.totals["notes"], deals.get(other.id)) == (1, other)
        found = [deals.get(deal.id) for deal in made]
        assert {(deal.version, deal.content.price) for deal in found} == {(2, Decimal("25.00"))}
        imports.undo(one, job, version=one.version, undo_id=new_ulid(LATER, 7), by="eve", now=LATER)
        with Crasher(at, when) as undo_crasher, contextlib.suppress(Crash):
            work(LATER)
        work(LATER + 2 * jobs.LEASE)
        found = [deals.get(deal.id) for deal in made]
        assert {(deal.version, deal.content) for deal in found} == {(3, deal.content) for deal in made}
        assert [str(problem) for problem in checks.find()] == []
        if not crasher.crashed and not undo_crasher.crashed:
            break
        assert at < 100
    assert at > 10


# An import that workers share


def messy(number):
    """Rows of a file, some of which belong together though they are far apart, or are wrong."""
    made = [make_row(n, brand=f"Brand {n % 3}") for n in range(number)]
    made[-1] = made[0] | {"url": "https://www.shop.example/0?utm_source=x"}
    made[-2] = made[1] | {"title": "Lamp of another name"}
    made[2] |= {"price": "x"}
    made.insert(5, made[4] | {"title": ""})  # a variant
    return made


def sharing(monkeypatch, rows_of_a_part=4):
    monkeypatch.setattr(running, "PART_ROWS", rows_of_a_part)
    monkeypatch.setattr(running, "WINDOW", 2)


def order_shared(monkeypatch, rows):
    """Order an import that workers share; return its id."""
    sharing(monkeypatch)
    import_id = upload_file(rows)
    work()
    order(import_id)
    return import_id


def stored():
    found = [item for item in table.scan_all(consistent=True) if item["type"] in ("Deal", "Draft")]
    return sorted((item["id"], item["card"]["title"]) for item in found)


def reported(import_id):
    one = imports.get(import_id)
    remarks = sorted(row for row in table_of(import_id, running.REPORT)[1:] if row[2] != "Brand")
    brands = sorted(brand["name"] for brand in one.brands)  # of which any row may come first
    return one.totals, remarks, table_of(import_id, running.REJECTED), brands


def work_until_done(import_id):
    now = LATER
    while imports.load(import_id)[1].state == "open":
        work(now)
        now += timedelta(seconds=30)
        assert now < LATER + timedelta(minutes=20)


@pytest.mark.parametrize("drafts_wanted", [False, True], ids=["deals", "drafts"])
def test_a_large_import_is_shared_and_comes_to_the_same(drafts_wanted, new_table, monkeypatch):
    whole = imported(messy(24), drafts=drafts_wanted)
    right, said = stored(), reported(whole.id)
    new_table()
    sharing(monkeypatch)
    one = imported(messy(24), drafts=drafts_wanted)
    assert jobs.get(one.job).parts == 5
    assert [part.state for part in jobs.parts_of(jobs.get(one.job))] == ["done"] * 5
    assert stored() == right
    assert reported(one.id) == said
    assert [said[0][name] for name in ("imported", "there", "refused", "brands")] == [22, 1, 1, 3]
    assert jobs.get(one.job).progress["done"] == 24
    assert checks.find() == []


def test_workers_do_parts_at_the_same_time_and_each_deal_once(monkeypatch, new_table):
    import_id = order_shared(monkeypatch, messy(32))
    assert run_next(now=LATER)
    taken = [loop.take(now=LATER, at=jobs.everywhere("bulk")) for _ in range(4)]
    assert {job.kind for job in taken} == {"part"}
    at_once(*(functools.partial(loop.work_on, job, LATER) for job in taken))
    work_until_done(import_id)
    totals, _, rejected, names = reported(import_id)
    assert [totals[name] for name in ("imported", "there", "refused", "brands")] == [30, 1, 1, 3]
    assert (len(stored()), len(rejected), names) == (30, 2, ["Brand 0", "Brand 1", "Brand 2"])
    assert checks.find() == []


@at_any_request
@pytest.mark.parametrize("update", ["", "all"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_of_a_shared_import_may_end_at_any_request(when, update, new_table, monkeypatch):
    sharing(monkeypatch)
    monkeypatch.setattr(running, "monotonic", lambda: 0.0)
    made = messy(9)
    for at in itertools.count(1):
        new_table()
        deal = make_deal(title="Old", link="https://shop.example/3", now=NOW - DAY, price=Decimal(9))
        import_id = upload_file([*made, made[3] | {"price": "3"}], update=update)
        work()
        order(import_id)
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            work()
        work_until_done(import_id)
        one, job = imports.load(import_id)
        assert (one.stage, job.state, job.parts) == (IMPORTED, "done", 2)
        counts = [one.totals[name] for name in ("imported", "changed", "there", "refused", "brands")]
        assert counts == ([6, 1, 1, 2, 3] if update else [6, 0, 3, 1, 3])
        assert len(stored()) == 7
        assert deals.get(deal.id).version == (2 if update else 1)
        assert sum(row[-1] == "This brand is new." for row in table_of(import_id, running.REPORT)) == 3
        assert [str(problem) for problem in checks.find()] == []
        if not crasher.crashed:
            break
        assert at < 150
    assert at > 30


def test_a_part_ends_its_turn_and_goes_on_with_all_that_it_had_to_say(monkeypatch):
    sharing(monkeypatch, 10)
    monkeypatch.setattr(running, "LATE_REMARKS", 1)
    seconds = itertools.count(0.0, 2.0)
    monkeypatch.setattr(running, "monotonic", lambda: next(seconds))

    def refuse(new, **options):
        raise Invalid("It cannot be.")

    monkeypatch.setattr(publishing, "publish_many", refuse)
    import_id = upload_file([make_row(n) for n in range(20)])
    work()
    order(import_id)
    turns = []

    def run_part(*given):
        turns.append(again := running.run_part(*given))
        return again

    monkeypatch.setitem(loop.PARTS, jobs.RUN_IMPORT, run_part)
    work_until_done(import_id)
    assert (imports.get(import_id).totals["refused"], len(table_of(import_id, running.REJECTED))) == (20, 21)
    assert turns.count(None) == 2 < len(turns)


@pytest.mark.parametrize("written", ["", '{"'], ids=repr)
def test_what_a_part_has_done_is_noted_again_where_the_disk_was_full(monkeypatch, private, written):
    import_id = order_shared(monkeypatch, [make_row(n) for n in range(8)])
    full, save = [True], FileSystemStorage.save

    def save_half(self, name, content):
        if full and "part-" in name:
            full.pop()
            (private / name).write_text(written)
            raise OSError(errno.ENOSPC, "No space left on device")
        return save(self, name, content)

    monkeypatch.setattr(FileSystemStorage, "save", save_half)
    work_until_done(import_id)
    one, job = imports.load(import_id)
    assert (one.stage, job.state, one.totals["imported"]) == (IMPORTED, "done", 8)
    assert [title for _, title in stored()] == [make_row(n)["title"] for n in range(8)]


def test_a_file_takes_the_place_of_the_one_before_at_once(monkeypatch, private):
    import_id = upload_file([make_row(n) for n in range(3)])
    work()
    monkeypatch.setattr(FileSystemStorage, "delete", None)
    order(import_id)
    work(LATER)
    assert imports.get(import_id).stage == IMPORTED


def test_an_import_whose_file_is_gone_fails_with_its_parts(monkeypatch):
    import_id = order_shared(monkeypatch, messy(12))
    assert run_next(now=LATER)
    running.storage().delete(running.file_name(import_id, running.ROWS))
    work_until_done(import_id)
    one, job = imports.load(import_id)
    assert (one.stage, job.state) == (IMPORTING, "failed")
    assert job.error == "The file is gone: files are kept for a week."


def test_what_a_part_of_an_earlier_run_had_to_say_is_not_taken_for_a_later_ones(monkeypatch):
    import_id = order_shared(monkeypatch, [make_row(n) for n in range(8)])
    while len(stored()) < 8:
        assert run_next(now=LATER)
    queue.cancel(imports.get(import_id).job, by="eve", now=LATER)
    one, again = imports.get(import_id), NOW + timedelta(seconds=1)
    imports.run(one, version=one.version, job_id=new_ulid(again, 8), by="mara", now=again)
    with monkeypatch.context() as died:  # each of its parts once, as its last row is stored
        died.setattr(running._Turn, "_write", lambda *_: (_ for _ in ()).throw(Crash))
        for _ in range(4):
            with contextlib.suppress(Crash):
                run_next(now=LATER)
    work_until_done(import_id)
    one = imports.get(import_id)
    assert [one.totals[name] for name in ("imported", "there")] == [0, 8]


def test_a_shared_import_that_is_cancelled_stops_and_what_is_missing_comes_later(monkeypatch):
    import_id = order_shared(monkeypatch, messy(12))
    assert run_next(now=LATER)
    assert run_next(now=LATER)
    queue.cancel(imports.get(import_id).job, by="eve", now=LATER)
    before = len(stored())
    work(LATER + DAY)
    assert 0 < len(stored()) == before < 10
    one = imports.get(import_id)
    again = NOW + timedelta(seconds=1)
    imports.run(one, version=one.version, job_id=new_ulid(again, 8), by="mara", now=again)
    work_until_done(import_id)
    one = imports.get(import_id)
    assert (one.stage, one.totals["imported"] + before, len(stored())) == (IMPORTED, 10, 10)
