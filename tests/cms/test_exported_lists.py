"""Lists of the CMS as files: whatever their filters, for those who may see them, and no cell a formula."""

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
from django.core.files.storage import FileSystemStorage

from dealsite import exported_lists, worker
from dealsite import exports as files
from dealsite.data import audit, exports, jobs
from dealsite.data.ids import new_ulid
from tests.builders import DAY, NOW, make_announcement, make_brand, make_deal, make_draft
from tests.people import make_user

SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def private(tmp_path, monkeypatch):
    """A folder for private files; lists are read in small pages."""
    storage = FileSystemStorage(tmp_path / "private", allow_overwrite=True)
    monkeypatch.setattr(files, "storage", lambda: storage)
    monkeypatch.setattr(exported_lists, "AT_ONCE", 3)


@pytest.fixture
def admin(sign_in):
    """A browser of an admin."""
    return sign_in("admin", username="root")


def text(response):
    return " ".join(response.content.decode().split())


def ask(browser, what, **filters):
    job_id = new_ulid(NOW)
    answer = browser.post(f"/cms/exports/of/{what}/", {"token": job_id, **filters})
    assert answer.status_code == 302, text(answer)
    return job_id


def written(browser, what, **filters):
    """Return the rows of a file that is asked for, written and fetched."""
    job_id = ask(browser, what, **filters)
    while worker.run_next(now=NOW):
        pass
    answer = browser.get(f"/cms/exports/{job_id}/")
    assert answer.status_code == 200, jobs.get(job_id).error
    content = b"".join(answer.streaming_content)
    assert content.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def test_all_deals_of_a_list_are_in_its_file_newest_first(editor):
    made = [make_deal(live_at=NOW - n * SECOND, title=f"Deal {n}") for n in range(1, 9)]
    found = written(editor, "deals")
    assert [row["id"] for row in found] == [deal.id for deal in made]
    assert found[0] == {
        "id": made[0].id,
        "state": "live",
        "title": "Deal 1",
        "brand": "Nordlicht",
        "category": "peripherals-networking",
        "price": "79.90",
        "was_price": "119.00",
        "voucher_code": "",
        "url": "https://shop.example/keyboard",
        "description": "Quiet switches.",
        "published_at (UTC)": "2026-11-21 11:59:59",
        "expires_at (UTC)": "",
        "changed_at (UTC)": "2026-11-21 12:00:00",
        "changed_by": "eve",
    }


def test_a_file_holds_what_the_filters_of_its_list_show(editor):
    live = make_deal(title="Live")
    later = make_deal(title="Later", live_at=NOW + DAY, brand="Aurora", category="toys-hobbies")
    over = make_deal(title="Over", live_at=NOW - 2 * DAY, expires_at=NOW - DAY)
    for filters, ids in (
        ({"state": "scheduled"}, [later.id]),
        ({"state": "live"}, [live.id]),
        ({"state": "expired"}, [over.id]),
        ({"brand": "Aurora"}, [later.id]),
        ({"category": "toys-hobbies", "state": "all"}, [later.id]),
        ({"brand": "Nobody"}, []),
    ):
        assert [row["id"] for row in written(editor, "deals", **filters)] == ids, filters


def test_a_file_holds_what_words_find(editor, search_index):
    wanted = [make_deal(title=f"Lamp {n}").id for n in range(7)]
    make_deal(title="Chair")
    make_draft(title="Lamp draft")
    search_index()
    assert sorted(row["id"] for row in written(editor, "deals", q="lamp")) == sorted(wanted)
    assert [row["title"] for row in written(editor, "deals", q="lamp", state="draft")] == ["Lamp draft"]


def test_drafts_are_a_list_too_and_may_be_half_empty(editor):
    make_draft(title="=HYPERLINK(1)")
    make_draft(brand="Aurora", stock=3)
    found = written(editor, "deals", state="draft")
    assert sorted((row["title"], row["brand"], row["stock"]) for row in found) == [
        ("", "Aurora", "3"),
        ("'=HYPERLINK(1)", "", ""),
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_no_title_is_a_formula_in_a_file(editor, start):
    make_deal(title=f"{start}1+1")
    assert written(editor, "deals")[0]["title"] == f"'{start}1+1"


def test_times_are_of_the_zone_of_whoever_asks(sign_in):
    make_deal(live_at=datetime(2026, 11, 20, 23, 30, tzinfo=UTC))
    (row,) = written(sign_in("editor", zone="Europe/Berlin"), "deals")
    assert row["published_at (Europe/Berlin)"] == "2026-11-21 00:30:00"


def test_brands_and_categories(editor):
    for n in range(5):
        make_brand(f"Brand {n}")
    make_deal(brand="Aurora", category="toys-hobbies")
    found = {row["short_name"]: row["deals"] for row in written(editor, "brands")}
    assert found == {"aurora": "1", "nordlicht": "0", **{f"brand-{n}": "0" for n in range(5)}}
    found = {row["short_name"]: row["deals"] for row in written(editor, "categories")}
    assert found["toys-hobbies"] == "1"


def test_messages_and_jobs_of_a_month(editor):
    deal = make_deal()
    made = [make_announcement(deal.id, new_ulid(NOW - n * SECOND), headline=f"@{n}") for n in range(30)]
    found = written(editor, "messages")
    assert [row["id"] for row in found] == made
    assert found[0]["headline"] == "'@0"
    kinds = {row["kind"] for row in written(editor, "jobs", month="2026-11")}
    assert {"send_message", "editors_export"} <= kinds
    assert written(editor, "jobs", month="2020-01") == []


def test_users_are_for_admins(admin, editor):
    for n in range(7):
        make_user(f"shopper{n}")
    found = {row["user_name"]: row for row in written(admin, "users")}
    assert set(found) == {"root", "eve", *(f"shopper{n}" for n in range(7))}
    assert found["eve"]["roles"] == "editor"
    assert not any("password" in name for name in found["eve"])


def test_the_audit_log_is_for_admins_and_has_its_filters(admin, editor):
    deal = make_deal(by="eve")
    make_deal(by="oscar")
    found = written(admin, "audit", kind="deal", subject=deal.id)
    assert [(row["person"], row["what"]) for row in found] == [("eve", "published")]
    assert "title: " in found[0]["changes"]
    assert {row["person"] for row in written(admin, "audit", by="oscar")} == {"oscar"}
    assert {"eve", "oscar"} <= {row["person"] for row in written(admin, "audit")}
    assert written(admin, "audit", day="2020-01-01") == []


@pytest.mark.parametrize("what", ["users", "audit"])
def test_admins_lists_are_for_nobody_else(editor, office, what):
    for browser in (editor, office):
        answer = browser.post(f"/cms/exports/of/{what}/", {"token": new_ulid(NOW)})
        assert answer.status_code == 403
    assert exports.newest(exports.ADMINS).exports == []


def test_each_role_has_its_own_files(admin, editor, office, client):
    own, theirs = ask(editor, "deals"), ask(admin, "users")
    while worker.run_next(now=NOW):
        pass
    assert f"/cms/exports/{own}/" in text(editor.get("/cms/exports/"))
    assert editor.get("/cms/exports/", {"list": "admins"}).status_code == 403
    assert office.get("/cms/exports/", {"list": "editors"}).status_code == 403
    assert f"/cms/exports/{theirs}/" in text(admin.get("/cms/exports/", {"list": "admins"}))
    assert f"/cms/exports/{own}/" in text(admin.get("/cms/exports/", {"list": "editors"}))
    assert editor.get(f"/cms/exports/{theirs}/").status_code == 403
    assert office.get(f"/cms/exports/{own}/").status_code == 403
    assert client.get(f"/cms/exports/{own}/").status_code == 302
    assert admin.get("/cms/exports/", {"list": "x"}).status_code == 404


def test_a_download_is_named_for_its_list_and_day(editor):
    job_id = ask(editor, "brands")
    while worker.run_next(now=NOW):
        pass
    answer = editor.get(f"/cms/exports/{job_id}/")
    answer.close()
    assert answer["Content-Disposition"] == 'attachment; filename="brands-2026-11-21.csv"'


def test_a_second_click_asks_for_no_second_file(editor):
    token = new_ulid(NOW)
    for _ in range(2):
        assert editor.post("/cms/exports/of/deals/", {"token": token}).status_code == 302
    assert len(exports.newest(exports.EDITORS).exports) == 1
    (entry,) = audit.of_subject("export", token)
    assert (entry.by, entry.what) == ("eve", "asked for a file of deals")


@pytest.mark.parametrize(
    ("what", "sent", "status"),
    [
        ("orders", {}, 404),
        ("x", {}, 404),
        ("deals", {"token": "x"}, 400),
        ("deals", {"token": ""}, 400),
        ("deals", {"state": "gone"}, 400),
        ("deals", {"category": "garden"}, 400),
        ("deals", {"q": "x" * 401}, 400),
        ("deals", {"q": "\x00"}, 400),
        ("jobs", {"month": "2026-13"}, 400),
    ],
)
def test_what_is_no_list_is_refused(editor, what, sent, status):
    answer = editor.post(f"/cms/exports/of/{what}/", {"token": new_ulid(NOW)} | sent)
    assert answer.status_code == status
    assert exports.newest(exports.EDITORS).exports == []


def test_lists_are_exported_by_post_with_their_token_alone(editor, sign_in):
    assert editor.get("/cms/exports/of/deals/").status_code == 405
    browser = sign_in("editor", csrf=True)
    assert browser.post("/cms/exports/of/deals/", {"token": new_ulid(NOW)}).status_code == 403


@pytest.mark.parametrize(
    "page",
    [
        "deals/?state=live&category=toys-hobbies",
        "brands/",
        "categories/",
        "messages/",
        "jobs/",
        "users/",
        "audit/",
    ],
)
def test_every_list_has_the_button(admin, page):
    make_deal(category="toys-hobbies")
    answer = text(admin.get(f"/cms/{page}"))
    assert f'action="/cms/exports/of/{page.split("/")[0]}/"' in answer
    assert "Export this list" in answer


def test_the_button_below_a_list_carries_its_filters(editor):
    make_deal(category="toys-hobbies")
    page = editor.get("/cms/deals/", {"state": "live", "category": "toys-hobbies"})
    html = page.content.decode()
    form = html[html.index('action="/cms/exports/of/deals/"') :].split("</form>")[0]
    assert 'name="state" value="live"' in form
    assert 'name="category" value="toys-hobbies"' in form
