"""Imports of deals: uploaded once, checked and imported by one job at a time, listed newest first."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from dealsite.data.catalogue import drafts
from dealsite.data.editing import audit, imports
from dealsite.data.editing.imports import SourceFile
from dealsite.data.entities.imports import CHECKED, CHECKING, IMPORTED, IMPORTING, UPLOADED
from dealsite.data.jobs import jobs, queue
from dealsite.data.table import errors, schema
from dealsite.data.table.ids import new_ulid
from tests.builders import DAY, EDITOR, NOW, make_brand, make_content, make_id
from tests.data.entities.examples_batches import EXAMPLES, LAYOUT, TOTALS
from tests.measuring import measured
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")
SECOND = timedelta(seconds=1)
FILE = SourceFile(
    name="deals.csv",
    bytes=120,
    rows=3,
    encoding="utf-8",
    separator=";",
    titles=("Artikel", "Preis"),
    decimal=",",
    dates="day",
    samples=(("Lampe", "12,50"), ("", "1")),
)


def upload_file(now=NOW, source_file=FILE):
    return imports.create(source_file, import_id=new_ulid(now), by=EDITOR, now=now)


def check(one, **options):
    filled = {"fingerprint": "f" * 64, "version": one.version, "job_id": new_ulid(NOW), "now": NOW}
    imports.check(one, LAYOUT, **(filled | options))
    return imports.get(one.id)


def run(one, **options):
    filled = {"version": one.version, "job_id": new_ulid(NOW), "by": EDITOR, "now": NOW}
    imports.run(one, **(filled | options))
    return imports.get(one.id)


def finish(one, totals=TOTALS):
    imports.finished(jobs.get(one.job), totals=totals, remarks=EXAMPLES["Import"]["remarks"])
    return imports.get(one.id)


def test_a_file_is_noted_with_its_deletion_and_with_who_uploaded_it(wait_for_indexes):
    one = upload_file()
    assert imports.get(one.id) == one
    assert (one.source_file, one.by, one.stage, one.version) == (FILE, EDITOR, UPLOADED, 1)
    assert one.kept_until == NOW + 7 * DAY
    wait_for_indexes()
    (entry,) = audit.of_target("import", one.id)
    assert (entry.by, entry.what, entry.note) == (EDITOR, "brought a file", "deals.csv")
    assert jobs.take_next(now=NOW + 7 * DAY - SECOND) is None
    deletion = jobs.take_next(now=NOW + 7 * DAY)
    assert (deletion.kind, deletion.payload) == (imports.DELETE_IMPORT, {"import": one.id})


def test_bringing_it_again_under_the_same_id_is_harmless():
    one = measured(imports.create)(FILE, import_id=new_ulid(NOW), by=EDITOR, now=NOW)
    assert imports.create(FILE, import_id=one.id, by="oscar", now=NOW) == one


def test_a_second_click_is_harmless():
    one = upload_file()
    other = replace(FILE, encoding="cp1252")
    measured(imports.read_again)(one, other, version=1)
    imports.read_again(one, other, version=1)
    one = measured(imports.get)(one.id)
    check(one, job_id=new_ulid(NOW, 1))
    job = jobs.get(check(one, job_id=new_ulid(NOW, 2)).job)
    measured(imports.finished)(job, totals=TOTALS, remarks=EXAMPLES["Import"]["remarks"])
    checked = imports.get(one.id)
    assert (checked.version, checked.job) == (3, new_ulid(NOW, 1))
    run(checked, job_id=new_ulid(NOW, 3))
    assert run(checked, job_id=new_ulid(NOW, 4)).job == new_ulid(NOW, 3)
    assert finish(imports.get(one.id)).stage == IMPORTED
    imports.run(imports.get(one.id), version=3, job_id=new_ulid(NOW, 5), by=EDITOR, now=NOW)
    assert imports.get(one.id).stage == IMPORTED
    with pytest.raises(errors.Conflict):
        run(checked, job_id=new_ulid(NOW, 6), by="oscar")
    assert measured(jobs.get_many)([new_ulid(NOW, n) for n in (2, 4, 5, 6)]) == {}


def test_a_check_in_another_way_meanwhile_is_a_conflict():
    one = upload_file()
    check(one)
    with pytest.raises(errors.VersionConflict):
        imports.check(
            one, LAYOUT | {"drafts": False}, fingerprint="f", version=1, job_id=new_ulid(NOW), now=NOW
        )


def test_the_way_from_a_file_to_deals(wait_for_indexes):
    one = check(upload_file())
    assert (one.stage, one.version, one.layout) == (CHECKING, 2, LAYOUT)
    assert jobs.get(one.job).kind == jobs.CHECK_IMPORT
    one = finish(one)
    assert (one.stage, one.totals, one.remarks) == (CHECKED, TOTALS, EXAMPLES["Import"]["remarks"])
    one = run(one)
    assert (one.stage, one.version, one.totals) == (IMPORTING, 3, TOTALS)
    assert jobs.get(one.job).payload == {"import": one.id, "by": EDITOR}
    one = finish(one, TOTALS | {"imported": 1})
    assert (one.stage, one.totals["imported"]) == (IMPORTED, 1)
    wait_for_indexes()
    what = {entry.what for entry in audit.of_target("import", one.id)}
    assert what == {"brought a file", "imported"}


def test_how_a_file_is_read_is_remembered_by_its_first_line():
    assert measured(imports.layout_of)("f" * 64) == {}
    check(upload_file())
    assert imports.layout_of("f" * 64) == LAYOUT
    assert imports.layout_of("e" * 64) == {}


def test_how_a_file_is_read_is_forgotten_a_year_after_its_last_use(wait_for_indexes):
    check(upload_file())
    wait_for_indexes()
    schema.delete_expired(now=NOW + 364 * DAY)
    later = NOW + 200 * DAY
    check(upload_file(now=later), now=later, job_id=new_ulid(later))
    wait_for_indexes()
    schema.delete_expired(now=later + 364 * DAY)
    assert imports.layout_of("f" * 64) == LAYOUT
    schema.delete_expired(now=later + 365 * DAY)
    wait_for_indexes()
    assert imports.layout_of("f" * 64) == {}


def test_a_file_can_be_taken_for_another_one_until_it_is_checked():
    one = upload_file()
    other = replace(FILE, encoding="cp1252", titles=("A", "B"), samples=())
    imports.read_again(one, other, version=1)
    assert imports.get(one.id).source_file == other
    with pytest.raises(errors.VersionConflict):
        imports.read_again(one, FILE, version=1)
    checked = check(imports.get(one.id))
    with pytest.raises(errors.VersionConflict):
        imports.read_again(checked, FILE, version=checked.version)


def test_a_file_can_be_checked_again_in_another_way():
    one = finish(check(upload_file()))
    again = check(one)
    assert (again.stage, again.totals, again.remarks) == (CHECKING, {}, [])
    assert again.job != one.job


def test_what_an_older_check_found_is_not_taken_for_the_newer_ones():
    one = check(upload_file())
    old = jobs.get(one.job)
    check(one)
    with pytest.raises(errors.Conflict):
        imports.finished(old, totals=TOTALS, remarks=[])
    assert imports.get(one.id).totals == {}


def test_nothing_is_imported_that_was_not_checked_and_nothing_checked_that_is_imported():
    one = upload_file()
    with pytest.raises(errors.Conflict):
        run(one)
    checking = check(one)
    with pytest.raises(errors.Conflict):
        run(checking)
    running = run(finish(checking))
    with pytest.raises(errors.Conflict):
        check(running)
    with pytest.raises(errors.Conflict):
        run(running)  # it goes on
    with pytest.raises(errors.Conflict):
        run(finish(running))


def test_an_import_that_was_cancelled_can_go_on(wait_for_indexes):
    one = run(finish(check(upload_file())))
    queue.cancel(one.job, by=EDITOR, now=NOW)
    again = run(one)
    assert (again.stage, again.job != one.job) == (IMPORTING, True)
    assert jobs.get(again.job).state == "open"


def test_of_many_who_start_an_import_at_once_one_does(wait_for_indexes):
    one = finish(check(upload_file()))

    def start(by):
        try:
            return run(one, by=by).job
        except errors.VersionConflict:
            return "late"

    outcomes = at_once(*[partial(start, f"editor{n}") for n in range(12)])
    assert outcomes.count("late") == 11
    wait_for_indexes()
    kinds = [entry.what for entry in audit.of_target("import", one.id)]
    assert kinds.count("imported") == 1


def test_several_drafts_are_stored_all_or_none(wait_for_indexes):
    brand, content = make_brand(), make_content()
    first, second, third = (make_id(NOW) for _ in range(3))
    measured(drafts.create_many)([(first, content, brand), (second, content, brand)], by=EDITOR, now=NOW)
    assert measured(drafts.get_many)([first, second, third]).keys() == {first, second}
    assert drafts.get(first).content == content
    with pytest.raises(errors.AlreadyExists):
        drafts.create_many([(third, content, brand), (second, content, brand)], by=EDITOR, now=NOW)
    assert drafts.get_many([third]) == {}
    wait_for_indexes()
    assert [entry.what for entry in audit.of_target("draft", first)] == ["started with 1 others"]


def test_of_many_who_store_the_same_drafts_at_once_one_does():
    brand, content, draft_id = make_brand(), make_content(), make_id(NOW)

    def store():
        try:
            return drafts.create_many([(draft_id, content, brand)], by=EDITOR, now=NOW)
        except errors.AlreadyExists:
            return "there"

    assert at_once(*[store] * 10).count("there") == 9


@pytest.mark.parametrize("import_id", ["", "x", "a#b", new_ulid(NOW, 7)])
def test_an_import_that_nobody_uploaded_is_not_found(import_id):
    with pytest.raises(errors.NotFound):
        imports.get(import_id)


def test_imports_are_listed_newest_first_on_pages_that_skip_and_repeat_nothing(wait_for_indexes):
    made = [upload_file(NOW + number * SECOND).id for number in range(60)][::-1]
    wait_for_indexes()
    first = imports.newest()
    second = imports.newest(after=first.after)
    third = imports.newest(after=second.after)
    assert [[one.id for one in page.rows] for page in (first, second, third)] == [
        made[:25],
        made[25:50],
        made[50:],
    ]
    assert (first.before, third.after) == (None, None)
    assert [one.id for one in imports.newest(before=third.before).rows] == made[25:50]


def test_the_list_tells_how_far_each_has_come(wait_for_indexes):
    working, done = check(upload_file()), finish(check(upload_file(NOW - SECOND)))
    wait_for_indexes()
    first, second = measured(imports.newest)().rows
    assert (first.id, first.card["stage"], first.job) == (working.id, CHECKING, jobs.get(working.job))
    assert (second.id, second.card["totals"], second.job) == (done.id, TOTALS, None)


@pytest.mark.parametrize(
    "cursors", [{"after": "x"}, {"before": "x"}, {"after": "0" * 26, "before": "0" * 26}]
)
def test_a_damaged_cursor_is_refused(cursors):
    with pytest.raises(errors.BadCursor):
        imports.newest(**cursors)
