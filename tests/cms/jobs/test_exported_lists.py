"""Lists of the CMS as files: whatever their filters, for those who may see them, and no cell a formula."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.core.files.storage import FileSystemStorage

from cms.lists import attention as shown
from dealsite.data.catalogue import deals, drafts, featured, featured_plans
from dealsite.data.catalogue.featured_versions import FeaturedEntry
from dealsite.data.commerce.order import reading
from dealsite.data.editing import audit, trash
from dealsite.data.jobs import exports, jobs
from dealsite.data.table.ids import new_ulid
from dealsite.search import attention
from dealsite.worker import export_sources, loop
from dealsite.worker import exports as files
from tests import import_files
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    NOW,
    PICTURE,
    make_announcement,
    make_brand,
    make_deal,
    make_draft,
)
from tests.cms.deals.test_buyers import put_in_cart
from tests.cms.home.test_home import break_link, damage_alt
from tests.orders import make_order
from tests.people import make_user

SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def private(tmp_path, monkeypatch):
    """A folder for private files; lists are read in small pages."""
    storage = FileSystemStorage(tmp_path / "private", allow_overwrite=True)
    monkeypatch.setattr(files, "storage", lambda: storage)
    monkeypatch.setattr(export_sources, "AT_ONCE", 3)
    monkeypatch.setattr(export_sources, "HOLDERS_AT_ONCE", 3)


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
    while loop.run_next(now=NOW):
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


def feature(page_id, *made):
    page, found = featured.load(page_id, [deal.id for deal in made])
    featured.set_featured(page, [found[deal.id] for deal in made], version=page.version, by=EDITOR, now=NOW)


def test_a_file_holds_what_lacks_something(editor, search_index):
    bare = [make_deal(title=f"Bare {n}").id for n in range(4)]
    make_deal(title="Complete", picture=PICTURE)
    make_deal(title="Bare lamp", brand="Aurora")
    make_draft(title="Bare draft")
    search_index()
    found = written(editor, "deals", lacks="picture", brand="Nordlicht")
    assert sorted(row["id"] for row in found) == bare
    drafted = written(editor, "deals", lacks="picture", state="draft")
    assert [row["title"] for row in drafted] == ["Bare draft"]


def test_a_file_of_what_words_find_waits_until_search_can_tell(editor, search_index):
    make_deal(title="Lamp")
    job_id = ask(editor, "deals", q="lamp")
    while loop.run_next(now=NOW):
        pass
    assert jobs.get(job_id).error == "Search is being set up, so nobody can tell now what is in this list."
    search_index()
    while loop.run_next(now=NOW + HOUR):
        pass
    assert jobs.get(job_id).state == "done"


def test_each_list_of_what_needs_an_editor_is_a_file(editor, search_index):
    make_deal(title="Goes live", live_at=NOW + HOUR, picture=PICTURE)
    make_deal(title="Tomorrow", live_at=NOW + DAY, picture=PICTURE)
    make_deal(title="Ends", expires_at=NOW + HOUR, picture=PICTURE)
    sold = make_deal(title="Sold", stock=0, picture=PICTURE)
    damage_alt(make_deal(title="Silent", picture=PICTURE))
    break_link(make_deal(title="Broken", picture=PICTURE))
    over = make_deal(title="Over", expires_at=NOW - HOUR / 2, picture=PICTURE)
    make_draft(title="Half done")
    feature("front", over, sold)
    feature("editors-choice", over)
    search_index()
    for topic, titles in (
        ("drafts", ["Half done"]),
        ("today", ["Goes live"]),
        ("ending", ["Ends"]),
        ("featured", ["Over", "Sold", "Over"]),
        ("links", ["Broken"]),
        ("sold-out", ["Sold"]),
        ("alt-texts", ["Silent"]),
        ("pictures", ["Half done"]),
    ):
        found = written(editor, "attention", topic=topic)
        assert [row["title"] for row in found] == titles, topic
        if topic == "links":
            assert (found[0]["link_error"], found[0]["link_broken_since (UTC)"]) == (
                "404",
                "2026-11-19 12:00:00",
            )
        elif topic == "featured":
            assert [(row["featured_on"], row["state"]) for row in found] == [
                ("front", "expired"),
                ("front", "sold_out"),
                ("editors-choice", "expired"),
            ]
        elif topic == "drafts":
            assert (found[0]["state"], found[0]["published_at (UTC)"]) == ("draft", "")
            assert {"brand", "price", "link"} <= set(found[0]["lacks"].split(", "))
        assert topic in ("links", "featured") or not any(
            row["link_error"] or row["featured_on"] for row in found
        )


def test_every_list_of_what_needs_an_editor_can_be_asked_for():
    assert list(shown.TOPICS) == list(attention.TOPICS)


def test_all_that_needs_an_editor_is_in_the_file_page_by_page_and_in_its_order(editor, search_index):
    ends = [make_deal(title=f"{n}", expires_at=NOW + (8 - n) * HOUR) for n in range(1, 8)]
    search_index()
    found = written(editor, "attention", topic="ending")
    assert [row["id"] for row in found] == [deal.id for deal in reversed(ends)]
    found = written(editor, "attention", topic="pictures")
    assert sorted(row["id"] for row in found) == [deal.id for deal in ends]


def test_what_was_put_right_is_not_in_the_file_though_search_lags(editor, search_index):
    left, gone = make_deal(title="Left"), make_deal(title="Gone")
    fixed = make_deal(title="Fixed", stock=0)
    search_index()
    deals.delete(gone, by=EDITOR, now=NOW)
    stored = deals.get(fixed.id)
    deals.edit(
        stored,
        replace(stored.content, stock=5),
        version=stored.version,
        brand=make_brand(),
        by=EDITOR,
        now=NOW,
    )
    assert written(editor, "attention", topic="sold-out") == []
    titles = [row["title"] for row in written(editor, "attention", topic="pictures")]
    assert sorted(titles) == ["Fixed", left.content.title]


def test_today_ends_where_the_editor_is(sign_in, search_index):
    make_deal(title="Late", live_at=datetime(2026, 11, 21, 23, 30, tzinfo=UTC))
    search_index()
    assert len(written(sign_in("editor"), "attention", topic="today")) == 1
    assert written(sign_in("editor", zone="Europe/Berlin"), "attention", topic="today") == []


def test_all_of_the_trash_is_a_file(editor, monkeypatch):
    monkeypatch.setattr(trash, "PAGE_SIZE", 2)
    made = [make_deal(title=f"=Deal {n}") for n in range(5)]
    for n, deal in enumerate(made):
        deals.delete(deal, by="eve", now=NOW - n * SECOND)
    drafts.delete(make_draft(title="Half done"), by="oscar", now=NOW - DAY)
    found = written(editor, "trash")
    assert [row["id"] for row in found[:-1]] == [deal.id for deal in made]
    assert found[-1]["title"] == "Half done"
    assert found[0] == {
        "id": made[0].id,
        "kind": "deal",
        "title": "'=Deal 0",
        "brand": "Nordlicht",
        "category": "peripherals-networking",
        "price": "79.90",
        "was_price": "119.00",
        "deleted_at (UTC)": "2026-11-21 12:00:00",
        "deleted_by": "eve",
        "kept_until (UTC)": "2026-12-21 12:00:00",
    }
    assert (found[-1]["kind"], found[-1]["deleted_by"]) == ("draft", "oscar")


def test_all_imports_are_a_file(editor):
    made = [import_files.upload_file(new_ulid(NOW - n * SECOND), by="@eve") for n in range(27)]
    import_files.check(made[:1], now=NOW)
    found = written(editor, "imports")
    assert [row["id"] for row in found] == made
    assert [found[0][name] for name in ("state", "new", "imported", "refused")] == ["checked", "3", "", "3"]
    assert found[1] == {
        "id": made[1],
        "brought_at (UTC)": "2026-11-21 11:59:59",
        "brought_by": "'@eve",
        "file": "Angebote.csv",
        "state": "uploaded",
        "job": "",
        "rows": "6",
        "new": "",
        "imported": "",
        "there_before": "",
        "refused": "",
    }


def test_planned_lists_of_featured_deals_are_a_file(editor):
    first, second = make_deal(title="=First"), make_deal(title="Second")
    feature("front", first)
    feature("front", second, first)
    page = featured.get("front")
    listed = [FeaturedEntry(second.id, "Second")]
    plan = featured_plans.create(page, listed, at=NOW + DAY, plan_id=new_ulid(NOW), by="eve", now=NOW)
    (row,) = written(editor, "planned-lists")
    assert row == {
        "id": plan.id,
        "page": "front",
        "shown_from (UTC)": "2026-11-22 12:00:00",
        "state": "planned",
        "deals": "1",
        "titles": f"1. Second ({second.id})",
        "planned_by": "eve",
        "changed_at (UTC)": "2026-11-21 12:00:00",
        "why": "",
        "left_out": "",
    }


def test_who_has_a_deal_is_a_file_for_the_back_office(office, monkeypatch):
    deal = make_deal(live_at=NOW - 3 * DAY, title="=Lamp")
    for n in range(7):
        put_in_cart(f"shopper{n}", deal, quantity=2, now=NOW - n * HOUR)
    put_in_cart("early", deal, now=NOW - DAY)
    put_in_cart("later", deal, saved=True)
    bought = make_order("dan", deal)
    monkeypatch.setattr(reading, "TOTALLED", 3)  # what one query reads
    found = written(office, "holders", deal=deal.id, status="ACTIVE")
    assert [row["user_name"] for row in found] == [*(f"shopper{n}" for n in range(7)), "early"]
    assert found[0] == {
        "since (UTC)": "2026-11-21 12:00:00",
        "user_name": "shopper0",
        "pieces": "2",
        "price": "79.90",
        "amount": "159.80",
        "order": "",
        "deal": deal.id,
        "title": "'=Lamp",
    }
    of_day = written(office, "holders", deal=deal.id, status="ACTIVE", day="2026-11-20")
    assert [row["user_name"] for row in of_day] == ["early"]
    (row,) = written(office, "holders", deal=deal.id, status="PURCHASED")
    assert (row["user_name"], row["order"]) == ("dan", bought.id)
    assert "Carts and buyers: Bought" in text(office.get("/cms/exports/"))


def test_a_file_is_called_what_its_list_is(editor):
    ask(editor, "attention", topic="alt-texts")
    page = text(editor.get("/cms/exports/"))
    assert "Needs attention: Pictures without alt text" in page


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


def test_lists_of_editors_and_of_the_back_office_are_for_themselves(editor, office):
    deal, token = make_deal(), new_ulid(NOW)
    for browser, what in (
        *((office, what) for what in ("deals", "brands", "trash", "imports", "attention", "planned-lists")),
        (editor, "holders"),
    ):
        sent = {"token": token, "topic": "drafts", "deal": deal.id, "status": "ACTIVE"}
        assert browser.post(f"/cms/exports/of/{what}/", sent).status_code == 403
    assert exports.newest(exports.EDITORS).exports == exports.newest(exports.OFFICE).exports == []


@pytest.mark.parametrize("what", ["users", "audit"])
def test_admins_lists_are_for_nobody_else(editor, office, what):
    for browser in (editor, office):
        answer = browser.post(f"/cms/exports/of/{what}/", {"token": new_ulid(NOW)})
        assert answer.status_code == 403
    assert exports.newest(exports.ADMINS).exports == []


def test_each_role_has_its_own_files(admin, editor, office, client):
    own, theirs = ask(editor, "deals"), ask(admin, "users")
    while loop.run_next(now=NOW):
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
    while loop.run_next(now=NOW):
        pass
    answer = editor.get(f"/cms/exports/{job_id}/")
    answer.close()
    assert answer["Content-Disposition"] == 'attachment; filename="brands-2026-11-21.csv"'


def test_a_second_click_asks_for_no_second_file(editor):
    token = new_ulid(NOW)
    for _ in range(2):
        assert editor.post("/cms/exports/of/deals/", {"token": token}).status_code == 302
    assert len(exports.newest(exports.EDITORS).exports) == 1
    (entry,) = audit.of_target("export", token)
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
        ("deals", {"lacks": "sense"}, 400),
        ("jobs", {"month": "2026-13"}, 400),
        ("attention", {}, 404),
        ("attention", {"topic": "gone"}, 400),
    ],
)
def test_what_is_no_list_is_refused(editor, what, sent, status):
    answer = editor.post(f"/cms/exports/of/{what}/", {"token": new_ulid(NOW)} | sent)
    assert answer.status_code == status
    assert exports.newest(exports.EDITORS).exports == []


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({}, 404),
        ({"status": "ACTIVE"}, 404),
        ({"deal": "0" * 26}, 404),
        ({"deal": "x", "status": "ACTIVE"}, 400),
        ({"deal": "0" * 26, "status": "GONE"}, 400),
        ({"deal": "0" * 26, "status": "ACTIVE", "day": "2026-02-30"}, 400),
    ],
)
def test_what_is_nobody_s_deal_is_refused(office, sent, status):
    answer = office.post("/cms/exports/of/holders/", {"token": new_ulid(NOW)} | sent)
    assert answer.status_code == status
    assert exports.newest(exports.OFFICE).exports == []


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


def test_the_lists_of_what_was_done_and_is_to_be_done_have_the_button(admin, search_index):
    deal, bare = make_deal(), make_deal(title="Bare")
    addresses = {
        "/cms/trash/": ("trash", []),
        "/cms/imports/": ("imports", []),
        "/cms/attention/pictures/": ("attention", ['name="topic" value="pictures"']),
        "/cms/attention/featured/": ("attention", ['name="topic" value="featured"']),
        "/cms/featured/": ("planned-lists", []),
        f"/cms/deals/{deal.id}/holders/?list=saved&day=2026-11-21": (
            "holders",
            [
                f'name="deal" value="{deal.id}"',
                'name="status" value="SAVED"',
                'name="day" value="2026-11-21"',
            ],
        ),
    }
    for address, (what, _fields) in addresses.items():  # nothing is there to be exported yet
        assert f'action="/cms/exports/of/{what}/"' not in text(admin.get(address)), address
    over = make_deal(title="Over", expires_at=NOW - HOUR / 2)
    feature("front", over)
    page, listed = featured.get("front"), [FeaturedEntry(deal.id, "x")]
    featured_plans.create(page, listed, at=NOW + DAY, plan_id=new_ulid(NOW), by="eve", now=NOW)
    deals.delete(bare, by="eve", now=NOW)
    import_files.upload_file(new_ulid(NOW))
    put_in_cart("ada", deal, saved=True)
    search_index()
    for address, (what, fields) in addresses.items():
        html = text(admin.get(address))
        assert f'action="/cms/exports/of/{what}/"' in html, address
        form = html[html.index(f'action="/cms/exports/of/{what}/"') :].split("</form>")[0]
        assert all(field in form for field in fields), address


def test_the_button_below_a_list_carries_its_filters(editor):
    make_deal(category="toys-hobbies")
    page = editor.get("/cms/deals/", {"state": "live", "category": "toys-hobbies"})
    html = page.content.decode()
    form = html[html.index('action="/cms/exports/of/deals/"') :].split("</form>")[0]
    assert 'name="state" value="live"' in form
    assert 'name="category" value="toys-hobbies"' in form
