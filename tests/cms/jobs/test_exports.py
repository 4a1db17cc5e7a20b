"""Lists as CSV: all that their filters show, for those who may see them, at once or by a job, and no cell a formula."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import urlencode

import pytest
from django.conf import settings as site_settings
from django.core.files.storage import FileSystemStorage

from cms import jobs as views
from cms.lists import attention as shown, deal_list
from dealsite.data.catalogue import deal_changes, deals, drafts, featured, featured_plans, relations
from dealsite.data.catalogue.featured import FeaturedEntry
from dealsite.data.commerce import order_changes, orders
from dealsite.data.commerce.addresses import Address
from dealsite.data.editing import audit, trash
from dealsite.data.jobs import jobs
from dealsite.data.people import users
from dealsite.data.table.ids import new_ulid
from dealsite.worker import exports, exports as files
from tests import import_files
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    LINK,
    NOW,
    PICTURE,
    STATED,
    make_announcement,
    make_brand,
    make_deal,
    make_draft,
)
from tests.cms.conftest import HTMX
from tests.cms.deals.test_buyers import put_in_cart
from tests.cms.home.test_home import break_link, damage_alt
from tests.jobs import run_next
from tests.measuring import measured
from tests.orders import ADDRESS, make_order
from tests.people import make_user

SECOND = timedelta(seconds=1)
EXPORT = "/cms/jobs/export/"


@pytest.fixture(autouse=True)
def private(tmp_path, monkeypatch):
    """A folder for private files; lists are read in small pages."""
    storage = FileSystemStorage(tmp_path / "private", allow_overwrite=True)
    monkeypatch.setattr(files, "storage", lambda: storage)
    monkeypatch.setattr(exports, "AT_ONCE", 3)
    for module in (deal_list, shown):
        monkeypatch.setattr(module, "AT_ONCE", 3)
    monkeypatch.setattr(deal_list, "FOUND_AT_ONCE", 3)
    return tmp_path / "private"


@pytest.fixture
def admin(sign_in):
    """A browser of an admin."""
    return sign_in("admin", username="root")


@pytest.fixture
def long(monkeypatch):
    """Every list is too long to wait for, and there is a deal."""
    make_deal(title="Lamp", live_at=datetime(2026, 11, 20, 23, 30, tzinfo=UTC))
    monkeypatch.setattr(views, "MOST_ROWS", -1)


def text(response):
    return " ".join(response.content.decode().split())


def ask(browser, path, token=None, **filters):
    address = f"/cms/{path}" + (f"?{urlencode(filters)}" if filters else "")
    return browser.post(EXPORT, {"token": token or new_ulid(NOW), "address": address})


def rows(answer):
    assert answer.status_code == 200, text(answer)
    content = b"".join(answer.streaming_content)
    assert content.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def written(browser, path, **filters):
    """Return the rows of the file of a list."""
    return rows(ask(browser, path, **filters))


def by_job(browser, path, **filters):
    """Return the id of the job that has written the file of a list."""
    job_id = new_ulid(NOW)
    assert ask(browser, path, job_id, **filters)["Location"] == "/cms/jobs/"
    work()
    return job_id


def status(answer):
    answer.close()
    return answer.status_code


def work(now=NOW):
    while run_next(now=now):
        pass


def feature(page_id, *made):
    page, found = featured.load(page_id, [deal.id for deal in made])
    featured.set_featured(page, [found[deal.id] for deal in made], version=page.version, by=EDITOR, now=NOW)


# What a file holds


def test_all_deals_of_a_list_are_in_its_file_with_the_usual_columns_newest_first(editor):
    made = [make_deal(live_at=NOW - n * SECOND, title=f"Deal {n}", **STATED) for n in range(1, 9)]
    found = written(editor, "deals/")
    assert [row["title"] for row in found] == [deal.content.title for deal in made]
    assert found[0] == {
        "title": "Deal 1",
        "picture": "",
        "brand": "Nordlicht",
        "category": "Peripherals",
        "price": "79.90",
        "was_price": "119.00",
        "discount": "32",
        "state": "live",
        "live (UTC)": "2026-11-21 11:59:59",
        "expires (UTC)": "",
        "changed (UTC)": "",
        "id": made[0].id,
    }


def test_a_file_has_the_columns_that_the_list_shows(sign_in):
    deal, browser = make_deal(**STATED), sign_in("editor", username="nell")
    (row,) = written(browser, "deals/", columns="id,category,discount,voucher,nonsense")
    assert row == {
        "title": deal.content.title,
        "category": "Peripherals",
        "discount": "32",
        "voucher": "",
        "id": deal.id,
    }
    page = text(browser.get("/cms/deals/?columns=price,id"))
    assert 'value="/cms/deals/?state=all&amp;columns=price%2Cid"' in page


def test_a_file_holds_what_the_filters_of_its_list_show(editor):
    make_deal(title="Live")
    make_deal(title="Later", live_at=NOW + DAY, brand="Aurora", category="toys-hobbies")
    make_deal(title="Over", live_at=NOW - 2 * DAY, expires_at=NOW - DAY)
    for filters, titles in (
        ({"state": "scheduled"}, ["Later"]),
        ({"state": "live"}, ["Live"]),
        ({"state": "expired"}, ["Over"]),
        ({"brand": "Aurora"}, ["Later"]),
        ({"category": "toys-hobbies", "state": "all"}, ["Later"]),
        ({"brand": "Nobody"}, []),
    ):
        assert [row["title"] for row in written(editor, "deals/", **filters)] == titles, filters


def test_a_file_holds_what_words_find_in_the_order_of_the_list(editor, search_index):
    for n in range(7):
        make_deal(title=f"Lamp {n}", live_at=NOW - n * HOUR)
    make_deal(title="Chair")
    make_draft(title="Lamp draft")
    search_index()
    found = [row["title"] for row in written(editor, "deals/", q="lamp")]
    listed = [deal.card.title for deal in editor.get("/cms/deals/", {"q": "lamp"}).context["deals"]]
    assert found == listed
    assert sorted(found) == [f"Lamp {n}" for n in range(7)]
    assert [row["title"] for row in written(editor, "deals/", q="lamp", state="draft")] == ["Lamp draft"]


def test_a_file_of_a_sorted_list_is_in_its_order_and_has_the_column_that_it_is_sorted_by(
    editor, search_index
):
    for n, likes in enumerate((1, 0, 3, 2)):
        deal = make_deal(title=f"Liked {likes}", live_at=NOW - n * HOUR)
        for user in range(likes):
            relations.add(relations.DEAL_LIKE, deal.id, username=f"user{user}", now=NOW)
    search_index()
    found = written(editor, "deals/", sort="likes", columns="state")
    assert [(row["title"], row["likes"]) for row in found] == [(f"Liked {n}", str(n)) for n in (3, 2, 1, 0)]


def test_drafts_are_a_list_too_and_may_be_half_empty(editor):
    make_draft(title="=HYPERLINK(1)")
    make_draft(brand="Aurora")
    found = written(editor, "deals/", state="draft")
    assert sorted((row["title"], row["brand"], row["price"]) for row in found) == [
        ("", "Aurora", ""),
        ("'=HYPERLINK(1)", "", ""),
    ]


def test_a_file_holds_what_lacks_something(editor, search_index):
    bare = [make_deal(title=f"Bare {n}").content.title for n in range(4)]
    make_deal(title="Complete", picture=PICTURE)
    make_deal(title="Bare lamp", brand="Aurora")
    make_draft(title="Bare draft")
    search_index()
    found = written(editor, "deals/", lacks="picture", brand="Nordlicht")
    assert sorted(row["title"] for row in found) == bare
    drafted = written(editor, "deals/", lacks="picture", state="draft")
    assert [row["title"] for row in drafted] == ["Bare draft"]


@pytest.mark.parametrize("path", ["deals/?q=lamp", "deals/?sort=likes", "attention/pictures/"])
def test_without_search_its_lists_are_not_to_be_had_now(editor, path):
    assert ask(editor, path).status_code == 503


def test_each_list_of_what_needs_an_editor_is_a_file(editor, search_index):
    make_deal(title="Goes live", live_at=NOW + HOUR, picture=PICTURE)
    make_deal(title="Tomorrow", live_at=NOW + DAY, picture=PICTURE)
    make_deal(title="Ends", expires_at=NOW + HOUR, picture=PICTURE)
    sold = make_deal(title="Sold", stock=0, picture=PICTURE)
    damage_alt(make_deal(title="Silent", picture=PICTURE))
    make_deal(title="Aside", picture=PICTURE, stock=3, link=LINK)
    break_link(make_deal(title="Broken", picture=PICTURE, link=LINK))
    over = make_deal(title="Over", expires_at=NOW - HOUR / 2, picture=PICTURE)
    make_draft(title="Half done")
    feature("front", over, sold)
    feature("editors-choice", over)
    search_index()
    found = {topic: written(editor, f"attention/{topic}/") for topic in shown.TOPICS}
    assert {topic: [row["title"] for row in some] for topic, some in found.items()} == {
        "drafts": ["Half done"],
        "today": ["Goes live"],
        "ending": ["Ends"],
        "featured": ["Over", "Sold", "Over"],
        "links": ["Broken"],
        "links-aside": ["Aside"],
        "sold-out": ["Sold"],
        "low-stock": ["Aside"],
        "alt-texts": ["Silent"],
        "pictures": ["Half done"],
    }
    (broken,) = found["links"]
    assert (broken["link_error"], broken["link_broken_since (UTC)"]) == ("404", "2026-11-19 12:00:00")
    assert [(row["featured_on"].partition(";")[0], row["state"]) for row in found["featured"]] == [
        ("front", "expired"),
        ("front", "sold_out"),
        ("editors-choice", "expired"),
    ]
    assert {"Brand", "Price", "Link to the shop"} <= set(found["drafts"][0]["lacks"].split("; "))


def test_all_that_needs_an_editor_is_in_the_file_page_by_page_and_in_its_order(editor, search_index):
    ends = [make_deal(title=f"{n}", expires_at=NOW + (8 - n) * HOUR) for n in range(1, 8)]
    search_index()
    found = written(editor, "attention/ending/")
    assert [row["id"] for row in found] == [deal.id for deal in reversed(ends)]
    assert sorted(row["id"] for row in written(editor, "attention/pictures/")) == [deal.id for deal in ends]


def test_what_was_put_right_is_not_in_the_file_though_search_lags(editor, search_index):
    left, gone = make_deal(title="Left"), make_deal(title="Gone")
    fixed = make_deal(title="Fixed", stock=0)
    search_index()
    deal_changes.delete(gone, by=EDITOR, now=NOW)
    stored = deals.get(fixed.id)
    content = replace(stored.content, stock=5)
    deal_changes.edit(stored, content, version=stored.version, brand=make_brand(), by=EDITOR, now=NOW)
    assert written(editor, "attention/sold-out/") == []
    titles = [row["title"] for row in written(editor, "attention/pictures/")]
    assert sorted(titles) == ["Fixed", left.content.title]


def test_today_ends_where_the_editor_is(sign_in, search_index):
    make_deal(title="Late", live_at=datetime(2026, 11, 21, 23, 30, tzinfo=UTC))
    search_index()
    assert len(written(sign_in("editor"), "attention/today/")) == 1
    assert written(sign_in("editor", zone="Europe/Berlin"), "attention/today/") == []


def test_all_of_the_trash_is_a_file(editor, monkeypatch):
    monkeypatch.setattr(trash, "PAGE_SIZE", 2)
    made = [make_deal(title=f"=Deal {n}") for n in range(5)]
    for n, deal in enumerate(made):
        deal_changes.delete(deal, by="eve", now=NOW - n * SECOND)
    drafts.delete(make_draft(title="Half done"), by="oscar", now=NOW - DAY)
    found = written(editor, "trash/")
    assert [row["id"] for row in found[:-1]] == [deal.id for deal in made]
    assert (found[-1]["title"], found[-1]["kind"], found[-1]["deleted_by"]) == ("Half done", "draft", "oscar")
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


def test_all_imports_are_a_file(editor):
    made = [import_files.upload_file(new_ulid(NOW - n * SECOND), by="@eve") for n in range(27)]
    import_files.check(made[:1], now=NOW)
    found = written(editor, "imports/")
    assert [row["id"] for row in found] == made
    assert [found[0][name] for name in ("state", "imported", "rejected")] == ["checked", "3", "3"]
    assert found[1] == {
        "id": made[1],
        "file": "Angebote.csv",
        "uploaded_at (UTC)": "2026-11-21 11:59:59",
        "uploaded_by": "'@eve",
        "state": "uploaded",
        "rows": "6",
        "imported": "",
        "rejected": "",
    }


def test_planned_lists_of_featured_deals_are_a_file(editor):
    first, second = make_deal(title="=First"), make_deal(title="Second")
    feature("front", first)
    feature("front", second, first)
    page = featured.get("front")
    listed = [FeaturedEntry(second.id, "Second")]
    plan = featured_plans.create(page, listed, at=NOW + DAY, plan_id=new_ulid(NOW), by="eve", now=NOW)
    (row,) = written(editor, "featured/plans/")
    assert row == {
        "id": plan.id,
        "page": "front",
        "shown_from (UTC)": "2026-11-22 12:00:00",
        "state": "planned",
        "deals": "Second",
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
    monkeypatch.setattr(orders, "TOTALLED", 3)  # what one query reads
    address = f"deals/{deal.id}/buyers/"
    found = written(office, address)
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
    assert [row["user_name"] for row in written(office, address, day="2026-11-20")] == ["early"]
    (row,) = written(office, address, list="bought")
    assert (row["user_name"], row["order"]) == ("dan", bought.id)


def test_brands_and_categories(editor):
    for n in range(5):
        make_brand(f"Brand {n}")
    make_deal(brand="Aurora", category="toys-hobbies")
    found = {row["short_name"]: row["deals"] for row in written(editor, "brands/")}
    assert found == {"aurora": "1", "nordlicht": "0", **{f"brand-{n}": "0" for n in range(5)}}
    assert [row["name"] for row in written(editor, "brands/", letter="N")] == ["Nordlicht"]
    assert [row["name"] for row in written(editor, "brands/", q="auro")] == ["Aurora"]
    found = {row["short_name"]: row["deals"] for row in written(editor, "categories/")}
    assert found["toys-hobbies"] == "1"


def test_messages_and_jobs_of_a_month(editor):
    deal = make_deal()
    made = [make_announcement(deal.id, new_ulid(NOW - n * SECOND), headline=f"@{n}") for n in range(30)]
    found = written(editor, "messages/")
    assert [row["id"] for row in found] == made
    assert found[0]["headline"] == "'@0"
    found = written(editor, "jobs/", month="2026-11")
    assert sorted(row["id"] for row in found if row["kind"] == "send_message") == sorted(made)
    assert written(editor, "jobs/", month="2020-01") == []


def test_users_are_for_admins(admin, editor):
    for n in range(7):
        make_user(f"shopper{n}")
    found = {row["user_name"]: row for row in written(admin, "users/")}
    assert set(found) == {"root", "eve", *(f"shopper{n}" for n in range(7))}
    assert found["eve"]["roles"] == "editor"
    assert set(found["eve"]) == {
        *("user_name", "name", "email", "roles", "created_at (UTC)", "suspended_at (UTC)")
    }


def test_the_audit_log_is_for_admins_and_has_its_filters(admin, editor):
    deal = make_deal(by="eve")
    make_deal(by="oscar")
    found = written(admin, "audit/", kind="deal", subject=deal.id)
    assert [(row["person"], row["what"]) for row in found] == [("eve", "published")]
    assert "Title: " in found[0]["changes"]
    assert {row["person"] for row in written(admin, "audit/", by="oscar")} == {"oscar"}
    assert {"eve", "oscar"} <= {row["person"] for row in written(admin, "audit/")}
    assert written(admin, "audit/", day="2020-01-01") == []


# Orders


@pytest.fixture
def three():
    """An order to ship, one on the way, and a cancelled one, a day apart."""
    deal = make_deal(live_at=NOW - 9 * DAY)
    made = [
        make_order(name, deal, now=NOW - days * DAY) for days, name in ((1, "ada"), (2, "bob"), (3, "cyd"))
    ]
    measured(order_changes.ship)("bob", made[1].id, tracking="XY 1", unpaid=True, by="olga", now=NOW)
    order_changes.cancel("cyd", made[2].id, by="cyd", now=NOW)
    return made


def of_days(browser, first, last):
    sent = {"token": new_ulid(NOW), "address": "/cms/payments/?list=all", "first": first, "last": last}
    return browser.post(EXPORT, sent)


def test_orders_of_a_list_are_a_file_with_all_that_accounts_need(office, three):
    assert [row["Order"] for row in written(office, "orders/", list="placed")] == [three[0].id]
    assert written(office, "orders/", list="shipped") == [
        {
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
            "Paid": "0.00",
            "To be paid": "79.90",
            "Failed": "0.00",
            "Refunded": "0.00",
            "Tracking number": "XY 1",
            "Province": "",
            "Country code": "GB",
            "Telephone": "",
            "Bill to": "",
            "Cancelled": "0.00",
        }
    ]


def test_a_file_holds_the_orders_of_all_states_of_some_days_as_they_were_placed(office, three, search_index):
    search_index()
    found = written(office, "orders/", first="2026-11-01", last="2026-11-21")
    assert [row["Order"] for row in found] == [three[2].id, three[1].id, three[0].id]
    for first, last, names in (("2026-11-19", "2026-11-19", ["bob"]), ("2026-11-21", "2026-11-21", [])):
        assert [row["User name"] for row in written(office, "orders/", first=first, last=last)] == names


def test_without_an_index_nobody_gets_a_file_that_lacks_orders(office, three, search_index):
    assert ask(office, "orders/", first="2026-11-01").status_code == 503


def test_days_and_times_are_of_the_zone_of_whoever_asks(sign_in, search_index):
    make_order("ada", make_deal(live_at=NOW - 9 * DAY), now=datetime(2026, 11, 18, 23, 30, tzinfo=UTC))
    search_index()
    browser = sign_in("back office", zone="Europe/Berlin")
    (row,) = written(browser, "orders/", first="2026-11-19", last="2026-11-19")
    assert row["Placed (Europe/Berlin)"] == "2026-11-19 00:30:00"


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("2026-11-02", "2026-11-01", "The last day is before the first one."),
        ("2025-11-01", "2026-11-02", "Up to 366 days"),
        ("x", "2026-11-02", "Enter days such as"),
    ],
)
def test_days_that_are_none_are_refused(office, first, last, words):
    answer = of_days(office, first, last)
    assert answer.status_code == 400
    assert words in text(answer)


# What a cell holds


def test_what_people_type_is_no_formula_and_keeps_every_letter(office):
    typed = {"name": '=HYPERLINK("https://evil.example","x")', "extra": "@x", "city": "京都 “Ž”"}
    make_order("ada", address=Address(**(ADDRESS.as_item() | typed)))
    (row,) = written(office, "orders/", list="placed")
    assert row["Name"] == '\'=HYPERLINK("https://evil.example","x")'
    assert (row["Extra"], row["City"]) == ("'@x", "京都 “Ž”")


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_no_title_is_a_formula_in_a_file(editor, start):
    make_deal(title=f"{start}1+1")
    assert written(editor, "deals/")[0]["title"] == f"'{start}1+1"


# Who may


def test_whoever_may_see_a_list_may_export_it_and_nobody_else(editor, office, admin, client, sign_in):
    deal = make_deal().id
    own = {
        "editor": [
            "deals/",
            "brands/",
            "trash/",
            "imports/",
            "attention/drafts/",
            "featured/plans/",
            "messages/",
        ],
        "office": [f"deals/{deal}/buyers/", "orders/", "payments/"],
        "admin": ["users/", "audit/"],
        "both": ["jobs/"],
    }
    for name, browser in (("editor", editor), ("office", office), ("nobody", sign_in())):
        for whose, paths in own.items():
            may = whose in (name, "both") and name != "nobody"
            for path in paths:
                status = ask(browser, path).status_code
                assert (status == 403) != may, (name, path, status)
    assert rows(ask(admin, "users/"))
    assert ask(client, "deals/").status_code == 401


@pytest.mark.parametrize(
    "address", ["", "x", "/", "/cms/x/", "/cms/operations/", "/cms/deals/?q=ä", "//x/cms/"]
)
def test_what_is_no_list_is_not_found(admin, address):
    assert admin.post(EXPORT, {"token": new_ulid(NOW), "address": address}).status_code == 404


@pytest.mark.parametrize(
    ("path", "filters", "status"),
    [
        ("deals/", {"state": "gone"}, 404),
        ("deals/", {"category": "garden"}, 404),
        ("deals/", {"lacks": "sense"}, 404),
        ("deals/", {"q": "x" * 5000}, 404),
        ("jobs/", {"month": "2026-13"}, 404),
        ("attention/gone/", {}, 404),
        ("featured/garden/history/", {}, 404),
        ("orders/", {"list": "gone"}, 404),
        ("payments/", {"list": "gone"}, 404),
        ("payments/", {"first": "x"}, 400),
        ("deals/x/buyers/", {}, 404),
        ("audit/", {"kind": "deal"}, 400),
    ],
)
def test_filters_that_no_list_has_are_refused(admin, path, filters, status):
    assert ask(admin, path, **filters).status_code == status


@pytest.mark.parametrize("token", ["x", "", "01M7STV3G0896X9J4J6C8A3V0H"])  # the last is two days old
def test_a_form_of_another_time_is_refused(editor, token):
    assert editor.post(EXPORT, {"token": token, "address": "/cms/deals/"}).status_code == 400


def test_lists_are_exported_by_post_with_their_token_alone(editor, sign_in):
    assert editor.get(EXPORT).status_code == 405
    assert ask(sign_in("editor", csrf=True), "deals/").status_code == 403


def test_who_exported_what_is_noted(admin):
    ask(admin, "audit/", by="eve")
    (entry,) = audit.of_target("export", "audit")
    assert (entry.by, entry.what, entry.note) == ("root", "exported", "/cms/audit/?by=eve")


def test_a_file_is_named_for_its_list_and_day_and_kept_by_nobody(editor):
    answer = ask(editor, "brands/")
    answer.close()
    assert answer["Content-Disposition"] == 'attachment; filename="brands-2026-11-21.csv"'
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cache-Control"] == "private, no-store"


# Long lists


def test_a_list_with_more_rows_than_anybody_waits_for_is_written_by_a_job(editor, monkeypatch):
    for n in range(3):
        make_deal(title=f"Deal {n}")
    monkeypatch.setattr(views, "MOST_ROWS", 3)
    assert len(written(editor, "deals/")) == 3
    monkeypatch.setattr(views, "MOST_ROWS", 2)
    job_id = by_job(editor, "deals/")
    answer = editor.get(f"/cms/jobs/{job_id}/file/")
    assert answer["Content-Disposition"] == 'attachment; filename="deals-2026-11-21.csv"'
    assert answer["Cache-Control"] == "private, no-store"
    assert len(rows(answer)) == 3
    assert [entry.by for entry in audit.of_target("export", "deals")] == ["eve", "eve"]


def test_a_list_that_takes_longer_than_anybody_waits_is_written_by_a_job(editor, monkeypatch):
    seconds = iter([0.0, 0.5, 1.5])
    monkeypatch.setattr(views, "monotonic", lambda: next(seconds))
    for _ in range(3):
        make_deal()
    assert ask(editor, "deals/", new_ulid(NOW))["Location"] == "/cms/jobs/"


def test_the_jobs_say_how_far_a_file_is_and_then_lead_to_it(office, three, long):
    job_id = new_ulid(NOW)
    page = text(office.post(EXPORT, {"token": job_id, "address": "/cms/orders/?list=placed"}, follow=True))
    assert "This list is long. Its file is being written, and appears here." in page
    assert "Waiting" in page
    assert office.get(f"/cms/jobs/{job_id}/file/").status_code == 404
    work()
    page = text(office.get("/cms/jobs/", headers=HTMX))
    for words in ("Export", "Orders", "28 Nov 2026, 12:00 UTC", f'href="/cms/jobs/{job_id}/file/"'):
        assert words in page
    assert [row["Order"] for row in rows(office.get(f"/cms/jobs/{job_id}/file/"))] == [three[0].id]


def test_a_second_click_asks_for_no_second_file(editor, long):
    token = new_ulid(NOW)
    for _ in range(2):
        assert ask(editor, "deals/", token).status_code == 302
    assert [job.kind for job in jobs.of_month("2026-11").rows].count("export_list") == 1
    assert len(audit.of_target("export", "deals")) == 1


def test_a_file_is_for_those_who_may_see_its_list(admin, editor, office, client, sign_in, long):
    of_editors, of_admins = by_job(editor, "deals/"), by_job(admin, "users/")
    addresses = [f"/cms/jobs/{job_id}/file/" for job_id in (of_editors, of_admins)]
    statuses = {
        name: [status(browser.get(address)) for address in addresses]
        for name, browser in (("admin", admin), ("editor", editor), ("office", office), ("", sign_in()))
    }
    assert statuses == {"admin": [200, 200], "editor": [200, 403], "office": [403, 403], "": [403, 403]}
    assert [address in text(editor.get("/cms/jobs/")) for address in addresses] == [True, False]
    assert not any(address in text(office.get("/cms/jobs/")) for address in addresses)
    assert client.get(addresses[0]).status_code == 302
    assert client.get(f"/media/exports/{of_editors}.csv").status_code == 404


def test_a_job_writes_in_the_zone_of_whoever_asked(sign_in, long):
    browser = sign_in("editor", zone="Europe/Berlin")
    (row,) = rows(browser.get(f"/cms/jobs/{by_job(browser, 'deals/')}/file/"))
    assert row["live (Europe/Berlin)"] == "2026-11-21 00:30:00"


def test_a_file_is_not_written_for_who_may_not_see_its_list_any_more(sign_in, long):
    browser, job_id = sign_in("admin", username="nell"), new_ulid(NOW)
    ask(browser, "users/", job_id)
    make_user("root", roles=["admin"])
    users.take_role("nell", "admin", by="root", now=NOW)
    work()
    job = jobs.get(job_id)
    assert (job.state, job.error) == (
        "cancelled",
        "Whoever asked for this file may not see the list any more.",
    )


def test_a_file_waits_until_search_can_tell(editor, search_index, long, monkeypatch):
    search_index()
    job_id = new_ulid(NOW)
    ask(editor, "deals/", job_id, q="lamp")
    with monkeypatch.context() as patch:
        patch.setattr("dealsite.search.site_index.searcher", lambda part="": None)
        work()
    assert jobs.get(job_id).error == "Search is being set up, so nobody can tell now what is in this list."
    work(NOW + HOUR)
    assert jobs.get(job_id).state == "done"


def test_progress_is_noted_while_a_file_is_written(office, three, long, monkeypatch):
    seconds = iter(range(0, 1000, 3))
    monkeypatch.setattr(files, "monotonic", lambda: float(next(seconds)))
    noted, save = [], jobs.save_progress

    def note(job, progress, *, now):
        noted.append(progress)
        save(job, progress, now=now)

    monkeypatch.setattr(jobs, "save_progress", note)
    of_days(office, "2026-11-01", "2026-11-21")
    work()
    assert [note["rows"] for note in noted] == [1, 2, 3, 3]
    assert noted[-1]["bytes"] > 0


def test_a_file_is_gone_after_a_week(editor, private, long, monkeypatch):
    job_id = by_job(editor, "deals/")
    path = private / "exports" / f"{job_id}.csv"
    assert path.exists()
    assert not run_next(now=NOW + 7 * DAY - HOUR)
    assert run_next(now=NOW + 7 * DAY)
    assert not path.exists()


def test_a_file_that_is_missing_is_not_found(editor, private, long):
    job_id = by_job(editor, "deals/")
    (private / "exports" / f"{job_id}.csv").unlink()
    assert editor.get(f"/cms/jobs/{job_id}/file/").status_code == 404


def test_private_files_do_not_lie_where_pictures_do():
    private = site_settings.STORAGES["private"]
    assert site_settings.MEDIA_ROOT not in private["OPTIONS"]["location"].parents
    assert "base_url" not in private["OPTIONS"]
    assert private["OPTIONS"]["file_permissions_mode"] == 0o600


# The button


def test_every_list_has_its_button_with_the_filters_that_are_set(admin, search_index):
    deal, bare = make_deal(category="toys-hobbies"), make_deal(title="Bare")
    over = make_deal(title="Over", expires_at=NOW - HOUR / 2)
    feature("front", over)
    page, listed = featured.get("front"), [FeaturedEntry(deal.id, "x")]
    featured_plans.create(page, listed, at=NOW + DAY, plan_id=new_ulid(NOW), by="eve", now=NOW)
    deal_changes.delete(bare, by="eve", now=NOW)
    import_files.upload_file(new_ulid(NOW))
    put_in_cart("ada", deal, saved=True)
    make_order("ada", make_deal())
    search_index()
    for address in (
        *("/cms/trash/?", "/cms/imports/?", "/cms/featured/plans/?"),
        *("/cms/attention/pictures/?", "/cms/attention/featured/?", "/cms/orders/?list=placed"),
        *("/cms/brands/?letter=N", "/cms/categories/?", "/cms/messages/?", "/cms/jobs/?month=2026-11"),
        *("/cms/users/?", "/cms/audit/?by=eve", f"/cms/deals/{deal.id}/buyers/?list=saved&day=2026-11-21"),
        "/cms/deals/?state=live&category=toys-hobbies&columns=price%2Cid",
    ):
        html = unescape(text(admin.get(address + ("&" if "=" in address else "") + "after=")))
        assert f'name="address" value="{address}"' in html, address
        assert "Export as CSV" in html
        assert admin.post(EXPORT, {"token": new_ulid(NOW), "address": address}).status_code == 200, address


@pytest.mark.parametrize("path", ["trash/", "imports/", "featured/plans/", "attention/pictures/", "deals/"])
def test_a_list_without_rows_has_no_button(editor, search_index, path):
    search_index()
    assert "Export as CSV" not in text(editor.get(f"/cms/{path}"))
