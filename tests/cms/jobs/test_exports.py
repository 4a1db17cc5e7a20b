"""Files of orders: asked for, written by a job, fetched by the back office alone, deleted after a week."""

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings as site_settings
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage

from dealsite.data.commerce import orders
from dealsite.data.editing import audit
from dealsite.data.entities.work import EXPORT
from dealsite.data.jobs import exports, jobs
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import new_ulid
from dealsite.worker import exports as files
from dealsite.worker import loop
from tests.builders import DAY, HOUR, NOW, make_deal
from tests.cms.conftest import HTMX, inputs
from tests.orders import ADDRESS, make_order

FORM = "/cms/orders/export/"


@pytest.fixture(autouse=True)
def private(tmp_path, monkeypatch):
    """A folder for private files."""
    storage = FileSystemStorage(tmp_path / "private", allow_overwrite=True)
    monkeypatch.setattr(files, "storage", lambda: storage)
    return tmp_path / "private"


@pytest.fixture
def three():
    """An order to ship, one on the way, and a cancelled one, a day apart."""
    deal = make_deal(live_at=NOW - 9 * DAY)
    made = [
        make_order(name, deal, now=NOW - days * DAY) for days, name in ((1, "ada"), (2, "bob"), (3, "cyd"))
    ]
    orders.ship("bob", made[1].id, tracking="XY 1", by="olga", now=NOW)
    orders.cancel("cyd", made[2].id, by="cyd", now=NOW)
    return made


def ask(browser, **typed):
    """Fill in the form as it is shown, and send it; return the file's id."""
    form = inputs(browser.get(FORM)) | typed
    answer = browser.post(FORM, form)
    assert answer.status_code == 302, answer.content.decode()
    return form["token"]


def fetch(browser, job_id):
    answer = browser.get(f"/cms/exports/{job_id}/")
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)


def rows(content):
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def written(browser, **typed):
    job_id = ask(browser, **typed)
    assert loop.run_next(now=NOW)
    while loop.run_next(now=NOW):
        pass
    return rows(fetch(browser, job_id))


def text(response):
    return " ".join(response.content.decode().split())


def test_a_file_holds_the_orders_of_a_span_in_the_order_they_were_placed(office, three):
    found = written(office, first="2026-11-01", last="2026-11-21")
    assert [row["Order"] for row in found] == [three[2].id, three[1].id, three[0].id]
    assert found[1] == {
        "Order": three[1].id,
        "State": "SHIPPED",
        "Placed (UTC)": "2026-11-19 12:00:00",
        "State since (UTC)": "2026-11-21 12:00:00",
        "User name": "bob",
        "E-mail": "bob@example.org",
        "Name": "Ada Lovelace",
        "Street": "12 Analytical Row",
        "Extra": "",
        "Postcode": "EC1A 1BB",
        "City": "London",
        "Country": "United Kingdom",
        "Pieces": "1",
        "Lines": "1",
        "Total": "79.90",
        "Currency": "EUR",
        "Instalments": "1",
        "Tracking number": "XY 1",
    }


@pytest.mark.parametrize(
    ("status", "number"), [("PLACED", 0), ("SHIPPED", 1), ("CANCELLED", 2), ("DELIVERED", None)]
)
def test_a_file_can_be_of_one_state(office, three, status, number):
    found = written(office, status=status, first="2026-11-01", last="2026-11-21")
    assert [row["Order"] for row in found] == ([] if number is None else [three[number].id])


@pytest.mark.parametrize("status", ["all", "SHIPPED"])
@pytest.mark.parametrize(
    ("first", "last", "number"), [("2026-11-19", "2026-11-19", 1), ("2026-11-20", "2026-11-21", 0)]
)
def test_both_days_of_a_span_are_included_and_no_other(office, three, status, first, last, number):
    found = written(office, status=status, first=first, last=last)
    assert [row["User name"] for row in found if row["User name"] == "bob"] == ["bob"] * number


def test_days_and_times_are_of_the_zone_of_whoever_asks(sign_in):
    deal = make_deal(live_at=NOW - 9 * DAY)
    make_order("ada", deal, now=datetime(2026, 11, 18, 23, 30, tzinfo=UTC))
    browser = sign_in("back office", zone="Europe/Berlin")
    (row,) = written(browser, first="2026-11-19", last="2026-11-19")
    assert row["Placed (Europe/Berlin)"] == "2026-11-19 00:30:00"


def test_what_shoppers_type_is_no_formula_in_a_file(office):
    address = orders.Address(
        **(ADDRESS.as_item() | {"name": '=HYPERLINK("https://evil.example","x")', "extra": "@x"})
    )
    make_order("ada", address=address)
    (row,) = written(office, first="2026-11-01", last="2026-11-21")
    assert row["Name"] == '\'=HYPERLINK("https://evil.example","x")'
    assert row["Extra"] == "'@x"


def test_a_file_begins_with_a_byte_order_mark_and_keeps_every_letter(office):
    address = orders.Address(**(ADDRESS.as_item() | {"name": "Žofie Müller, “Z”", "city": "京都"}))
    make_order("ada", address=address)
    job_id = ask(office, first="2026-11-01", last="2026-11-21")
    loop.run_next(now=NOW)
    while loop.run_next(now=NOW):
        pass
    content = fetch(office, job_id)
    assert content.startswith(b"\xef\xbb\xbf")
    assert rows(content)[0]["Name"] == "Žofie Müller, “Z”"
    assert rows(content)[0]["City"] == "京都"


def test_a_file_of_more_than_one_batch_holds_each_order_once(office, monkeypatch):
    monkeypatch.setattr(exports, "READ_AT_ONCE", 3)
    monkeypatch.setattr(exports, "ORDERS_AT_ONCE", 2)
    deal = make_deal(live_at=NOW - 9 * DAY)
    made = [make_order(f"shopper{n}", deal, now=NOW - HOUR + n * timedelta(seconds=1)).id for n in range(9)]
    for status in ("all", "PLACED"):
        found = written(office, status=status, first="2026-11-21", last="2026-11-21")
        assert [row["Order"] for row in found] == made


def test_a_download_says_what_it_is_and_is_kept_by_nobody(office, three):
    job_id = ask(office, first="2026-11-01", last="2026-11-21")
    while loop.run_next(now=NOW):
        pass
    answer = office.get(f"/cms/exports/{job_id}/")
    answer.close()
    assert answer["Content-Disposition"] == 'attachment; filename="orders-2026-11-01-2026-11-21.csv"'
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cache-Control"] == "private, no-store"


def test_a_file_is_for_the_back_office_alone(office, editor, sign_in, client, three):
    job_id = ask(office, first="2026-11-01", last="2026-11-21")
    while loop.run_next(now=NOW):
        pass
    address = f"/cms/exports/{job_id}/"
    assert editor.get(address).status_code == 403
    assert job_id not in text(editor.get("/cms/exports/"))
    assert editor.get("/cms/exports/", {"list": "office"}).status_code == 403
    assert sign_in().get(address).status_code == 403
    assert client.get(address).status_code == 302
    assert client.get(f"/media/exports/{job_id}.csv").status_code == 404
    assert fetch(sign_in("admin"), job_id)


def test_private_files_do_not_lie_where_pictures_do():
    private = site_settings.STORAGES["private"]
    assert site_settings.MEDIA_ROOT not in private["OPTIONS"]["location"].parents
    assert "base_url" not in private["OPTIONS"]
    assert private["OPTIONS"]["file_permissions_mode"] == 0o600


def test_the_list_shows_how_far_a_file_is_and_then_leads_to_it(office, three):
    job_id = ask(office, first="2026-11-01", last="2026-11-21")
    page = text(office.get("/cms/exports/"))
    assert "Waiting" in page
    assert 'hx-trigger="every 2s, seen-again"' in page
    assert f"/cms/exports/{job_id}/" not in page
    assert office.get(f"/cms/exports/{job_id}/").status_code == 404
    while loop.run_next(now=NOW):
        pass
    page = text(office.get("/cms/exports/", headers=HTMX))
    for words in (
        "Ready",
        "3 rows",
        "Orders: all",
        "1 Nov 2026 to 21 Nov 2026",
        "by olga",
        f"/cms/exports/{job_id}/",
    ):
        assert words in page
    assert "every 2s" not in page
    assert "<html" not in page


def test_progress_is_noted_while_a_file_is_written(office, three, monkeypatch):
    seconds = iter(range(0, 1000, 3))
    monkeypatch.setattr(files, "monotonic", lambda: float(next(seconds)))
    noted = []
    save = jobs.save_progress

    def note(job, progress, *, now):
        noted.append(progress)
        save(job, progress, now=now)

    monkeypatch.setattr(jobs, "save_progress", note)
    ask(office, first="2026-11-01", last="2026-11-21")
    while loop.run_next(now=NOW):
        pass
    assert noted[0]["total"] == 3
    assert [note["rows"] for note in noted][-2:] == [3, 3]


def test_a_file_is_gone_after_a_week(office, three, private, monkeypatch):
    job_id = ask(office, first="2026-11-01", last="2026-11-21")
    while loop.run_next(now=NOW):
        pass
    assert (private / "exports" / f"{job_id}.csv").exists()
    assert not loop.run_next(now=NOW + 7 * DAY - HOUR)
    assert loop.run_next(now=NOW + 7 * DAY)
    assert not (private / "exports" / f"{job_id}.csv").exists()
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW + 7 * DAY)
    with pytest.raises(NotFound):
        exports.get(job_id, now=NOW + 7 * DAY)


def test_a_file_that_is_still_being_written_is_not_handed_out(office, three, private):
    job_id = ask(office, first="2026-11-01", last="2026-11-21")
    files.storage().save(files.file_name(job_id), ContentFile(b"half a file"))
    assert office.get(f"/cms/exports/{job_id}/").status_code == 404


def test_a_file_that_is_missing_is_not_found(office, three, private):
    job_id = ask(office, first="2026-11-01", last="2026-11-21")
    while loop.run_next(now=NOW):
        pass
    (private / "exports" / f"{job_id}.csv").unlink()
    assert office.get(f"/cms/exports/{job_id}/").status_code == 404


def test_a_second_click_asks_for_no_second_file(office, three):
    form = inputs(office.get(FORM))
    for _ in range(2):
        assert office.post(FORM, form).status_code == 302
    assert len(exports.newest().exports) == 1


def test_it_is_noted_who_asked_for_a_file(office, three):
    job_id = ask(office, first="2026-11-01", last="2026-11-21")
    (entry,) = audit.of_target("export", job_id)
    assert (entry.by, entry.what) == ("olga", "asked for a file of orders")


def test_a_job_that_is_run_twice_leaves_one_whole_file(office, three, private):
    job_id = ask(office, first="2026-11-01", last="2026-11-21")
    job = jobs.take_next(now=NOW)
    while job.id != job_id:
        jobs.finish(job)
        job = jobs.take_next(now=NOW)
    files.write_export(job, NOW)
    files.write_export(job, NOW)
    assert [path.name for path in (private / "exports").iterdir()] == [f"{job_id}.csv"]


def test_a_file_whose_time_is_over_is_not_written_any_more(office, three, private):
    job_id = ask(office, first="2026-11-01", last="2026-11-21")
    job = jobs.get(job_id)
    with pytest.raises(jobs.Cancelled):
        files.write_export(job, job.created_at + exports.kept_for())
    assert not (private / "exports").exists()


def test_files_are_listed_newest_first_and_paged(office):
    wanted = exports.ExportRequest("orders", "", NOW - DAY, NOW, "UTC", "olga")
    made = [new_ulid(NOW + n * timedelta(seconds=1)) for n in range(30)]
    for job_id in made:
        exports.request(wanted, kind=EXPORT, job_id=job_id, now=NOW)
    first = exports.newest()
    second = exports.newest(after=first.after)
    listed = [one.job.id for one in (*first.exports, *second.exports)]
    assert listed == made[::-1]
    assert [one.job.id for one in exports.newest(before=second.before).exports] == made[:4:-1]
    assert office.get("/cms/exports/", {"after": "x"}).status_code == 400


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"first": "2026-11-02", "last": "2026-11-01"}, "This is before the first day."),
        ({"first": "2025-01-01", "last": "2026-11-01"}, "A file holds up to 366 days."),
        ({"first": "x"}, "Enter a valid date."),
        ({"status": "LOST"}, "Select a valid choice."),
        ({"token": "x"}, "This page was open for long."),
    ],
)
def test_what_cannot_be_written_is_refused(office, typed, words):
    answer = office.post(FORM, inputs(office.get(FORM)) | typed)
    assert answer.status_code == 422
    assert words in text(answer)
    assert exports.newest().exports == []


@pytest.mark.parametrize("job_id", ["x", new_ulid(NOW, 99), "a%23b"])
def test_a_file_that_nobody_asked_for_is_not_found(office, job_id):
    assert office.get(f"/cms/exports/{job_id}/").status_code == 404


def test_a_job_of_another_kind_is_no_file(office, three):
    other = next(job for job in _jobs() if job.kind != EXPORT)
    assert office.get(f"/cms/exports/{other.id}/").status_code == 404


def _jobs():

    return jobs.of_month("2026-11").jobs


def test_files_stand_among_the_jobs_too(office, editor, three):
    ask(office, first="2026-11-01", last="2026-11-21")
    while loop.run_next(now=NOW):
        pass
    page = text(editor.get("/cms/jobs/"))
    assert "File for the back office" in page
    assert "Deletion of a file" in page
