"""The back office's page of questions: asked, answered, paged, saved, and nobody else's."""

from __future__ import annotations

import csv
import re
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.accounts import limits
from dealsite.ask import lake as ask_lake, runs
from dealsite.data import table
from dealsite.data.editing import audit, questions
from dealsite.data.jobs import command_runs, jobs
from dealsite.data.people import security_events, users
from dealsite.data.table import errors
from dealsite.lake import snapshots
from tests.ask import lakes
from tests.builders import NOW, make_id
from tests.cms.conftest import HTMX, inputs
from tests.people import make_user

FOREVER = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"


@pytest.fixture(scope="session")
def lake_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lakes.write(tmp_path_factory.mktemp("asked") / "lake", lakes.shop())


@pytest.fixture(autouse=True)
def var(settings, tmp_path, lake_folder, monkeypatch):
    """A data folder of the test's own, and a snapshot that is there."""
    settings.VAR, settings.DEALSITE_LAKE = tmp_path / "var", ""
    monkeypatch.setattr(snapshots, "newest", lambda: lake_folder)
    monkeypatch.setattr("cms.ask.PATIENCE", 20.0)


@pytest.fixture
def office(sign_in) -> Client:
    return sign_in("back office", username="bea")


@pytest.fixture
def no_lake(monkeypatch):
    monkeypatch.setattr(snapshots, "newest", lambda: None)


def ask(browser, sql, title=""):
    """Send a question; return the page of its answer."""
    response = browser.post("/cms/ask/", {"sql": sql, "title": title})
    assert response.status_code == 302, response.content.decode()
    return browser.get(response["Location"].partition("#")[0])


def cells(response):
    body = response.content.decode().split("answer-table")[1].split("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.S)[1:]
    return [
        [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)]
        for row in rows
    ]


def test_the_page_shows_ready_questions_and_the_tables(office):
    html = office.get("/cms/ask/").content.decode()
    assert 'href="/cms/ask/?ready=best-selling-deals"' in html
    assert re.search(r"<summary[^>]*>orders</summary>", html)
    assert 'data-insert="placed_at"' in html


def test_a_ready_question_stands_in_the_editor(office):
    sent = inputs(office.get("/cms/ask/?ready=revenue-by-day"))
    assert sent["title"] == "Orders and revenue by day"
    assert sent["sql"].startswith("SELECT\n  placed_at::DATE AS day")
    assert "SELECT status" in inputs(office.get("/cms/ask/?ready=nothing"))["sql"]


def test_a_question_is_answered_as_a_table_and_a_chart(office):
    page = ask(office, "SELECT country, sum(total) AS money FROM orders GROUP BY 1 ORDER BY 2", "Countries")
    assert cells(page) == [["DE", "140.00"], ["FR", "240.00"]]
    html = page.content.decode()
    assert '<h2 class="section-title" id="answer-title">Countries</h2>' in html
    assert "Rows 1 to 2 of" in html
    assert "Bar chart by country, 2 values from DE to FR. money: at most 240 (FR), at least 140 (DE)." in html
    assert "&quot;values&quot;: [140.0, 240.0]" in html
    assert page["Cache-Control"] == "private, no-store"


def test_what_stands_in_an_answer_is_no_markup(office):
    page = ask(
        office, "SELECT '<script>alert(1)</script>' AS \"<b>\", 1 AS n UNION ALL SELECT '\"x', 2 ORDER BY 2"
    )
    html = page.content.decode()
    assert "<script>alert" not in html
    assert "<b>" not in html.replace("&lt;b&gt;", "")


def test_an_answer_has_pages(office):
    page = ask(office, "SELECT * FROM range(250)")
    assert len(cells(page)) == 100
    address = page.request["PATH_INFO"]
    last = office.get(f"{address}?page=3")
    assert cells(last)[-1] == ["249"]
    assert "Rows 201 to 250 of" in last.content.decode()
    assert 'href="?page=2"' in last.content.decode()
    assert 'href="?page=4"' not in last.content.decode()
    for wrong in ("4", "0", "-1", "x", "9999999"):
        assert office.get(f"{address}?page={wrong}").status_code in (200, 404)
    assert office.get(f"{address}?page=4").status_code == 404


def test_of_a_long_text_the_page_shows_the_beginning(office):
    page = ask(office, "SELECT repeat('x', 400000) AS long")
    assert cells(page) == [["x" * 500 + " …"]]


def test_an_answer_without_rows_says_so(office):
    assert "The answer has no rows." in ask(office, "SELECT 1 WHERE false").content.decode()


def test_an_answer_can_be_had_as_csv(office):
    page = ask(office, "SELECT title, price FROM deals ORDER BY title")
    response = office.get(page.request["PATH_INFO"] + "csv/")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert "attachment" in response["Content-Disposition"]
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    assert list(csv.reader(text.splitlines())) == [
        ["title", "price"],
        ["'=Robot", "5.50"],
        ["Kettle", "20.00"],
        ["Keyboard", "80.00"],
    ]


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT totl FROM orders", "Referenced column"),
        ("COPY orders TO 'x'", "Only one SELECT can be asked"),
        ("SELECT * FROM read_text('/etc/passwd')", "read_text cannot be used"),
        ("SELECT * FROM nothing", "There is no table"),
    ],
)
def test_a_question_that_cannot_be_answered_stays_in_the_editor_with_the_reason(office, sql, words):
    page = ask(office, sql)
    assert words in page.content.decode()
    assert inputs(page)["sql"] == sql
    assert office.get(page.request["PATH_INFO"] + "csv/").status_code == 404


@pytest.mark.parametrize("sql", ["", " \n", "x" * 20_001])
def test_what_is_no_question_is_said_in_the_form(office, sql):
    response = office.post("/cms/ask/", {"sql": sql})
    assert response.status_code == 422
    assert "Please check the form" in response.content.decode()


def test_a_long_question_shows_how_far_it_is_and_can_be_cancelled(office, monkeypatch):
    monkeypatch.setattr("cms.ask.PATIENCE", 0.0)
    page = ask(office, FOREVER)
    address = page.request["PATH_INFO"]
    assert "Working on it" in page.content.decode()
    part = office.get(address, headers=HTMX)
    assert re.match(r'\s*<div [^>]*id="answer"', part.content.decode())
    assert 'hx-trigger="load delay:700ms"' in part.content.decode()
    assert "HX-Request" in part["Vary"]
    assert office.get(address + "cancel/").status_code == 405
    over = office.post(address + "cancel/", follow=True)
    assert "This question was cancelled." in over.content.decode()
    assert "hx-trigger" not in office.get(address, headers=HTMX).content.decode()


def test_a_long_questions_answer_comes_as_a_part(office, monkeypatch):
    monkeypatch.setattr("cms.ask.PATIENCE", 0.0)
    page = ask(office, "SELECT 40 + 2 AS n")
    end = time.monotonic() + 20
    while "Working" in (html := office.get(page.request["PATH_INFO"], headers=HTMX).content.decode()):
        assert time.monotonic() < end
    assert "The answer is there: 1 row." in html
    assert "<html" not in html


def test_when_too_many_ask_the_question_is_kept_in_the_form(office, monkeypatch):
    monkeypatch.setattr(runs, "SLOTS", 0)
    response = office.post("/cms/ask/", {"sql": "SELECT 1 AS kept"})
    assert response.status_code == 429
    assert inputs(response)["sql"] == "SELECT 1 AS kept"


def test_an_answer_is_nobody_elses(office, sign_in):
    address = ask(office, "SELECT 1").request["PATH_INFO"]
    other = sign_in("back office", username="bert")
    assert other.get(address).status_code == 404
    assert other.get(address + "csv/").status_code == 404
    assert other.post(address + "cancel/").status_code == 404


def test_editors_and_shoppers_ask_nothing(office, editor, sign_in):
    address = ask(office, "SELECT 1").request["PATH_INFO"]
    saved = save(office)
    for browser in (editor, sign_in(username="shopper")):
        for path in ("/cms/ask/", address, address + "csv/", saved):
            assert browser.get(path).status_code == 403
        assert browser.post("/cms/ask/", {"sql": "SELECT 1"}).status_code == 403
    assert 'href="/cms/ask/"' not in editor.get("/cms/").content.decode()


def test_no_question_is_taken_from_another_site(sign_in):
    browser = sign_in("back office", username="bea", csrf=True)
    assert browser.post("/cms/ask/", {"sql": "SELECT 1"}).status_code == 403


def test_a_question_costs_the_table_its_limits_and_its_entry_in_the_audit_log(office):
    with table.metered() as meter:
        response = office.post("/cms/ask/", {"sql": "SELECT count(*) FROM orders"})
    assert [operation for operation, _ in meter.log] == [
        "BatchGetItem",  # who is signed in
        *["UpdateItem"] * 3,
        "PutItem",
    ]
    with table.metered() as meter:
        office.get(response["Location"], headers=HTMX)
    assert [operation for operation, _ in meter.log] == ["BatchGetItem"]


def test_without_a_snapshot_the_page_says_so(office, no_lake):
    page = office.get("/cms/ask/")
    assert "There is no snapshot to ask yet" in page.content.decode()
    assert office.post("/cms/ask/", {"sql": "SELECT 1"}).status_code == 422


def test_a_newer_snapshot_is_asked_for_and_the_page_says_when_it_is_there(office, monkeypatch):
    monkeypatch.setattr(ask_lake.Lake, "at", timezone.now() - timedelta(hours=1))
    html = office.get("/cms/ask/").content.decode()
    assert "As of" in html
    assert "data-poll" not in html
    page = office.post("/cms/ask/snapshot/", follow=True)
    address = page.request["PATH_INFO"] + "?" + page.request["QUERY_STRING"]
    part = office.get(address, headers=HTMX).content.decode()
    for waiting in (page.content.decode(), part):
        assert "A newer one is being made" in waiting
        assert "data-poll" in waiting
    assert part.strip().startswith("<div")
    job = jobs.take_next(now=timezone.now())
    assert (job.kind, job.id) == ("snapshot", page.request["QUERY_STRING"].removeprefix("waits="))
    with monkeypatch.context() as patched:
        patched.setattr(ask_lake.Lake, "at", timezone.now())
        assert "data-poll" not in office.get(address, headers=HTMX).content.decode()
    for _ in range(jobs.MAX_TRIES):
        jobs.fail(job, "The disk is full.", now=timezone.now())
        job = jobs.take_next(now=timezone.now() + timedelta(days=9)) or job
    failed = office.get(address).content.decode()
    assert "No newer one could be made: The disk is full." in " ".join(failed.split())
    assert "data-poll" not in failed


def test_a_snapshot_asked_for_twice_within_a_second_is_made_once(office, sign_in, monkeypatch):
    monkeypatch.setattr("cms.ask.timezone.now", lambda: NOW)
    first = office.post("/cms/ask/snapshot/")["Location"]
    assert office.post("/cms/ask/snapshot/")["Location"] == first


def test_what_waits_for_no_snapshot_is_not_found(office, settings, monkeypatch):
    monkeypatch.setattr(ask_lake.Lake, "at", timezone.now() - timedelta(hours=1))
    other = command_runs.plan(command_runs.CLOSE_DAY, due=timezone.now())
    assert office.get(f"/cms/ask/?waits={other}").status_code == 404
    assert office.get(f"/cms/ask/?waits={make_id(timezone.now())}").status_code == 404
    assert office.get("/cms/ask/?waits=x").status_code == 200
    settings.DEALSITE_NIGHTLY_SNAPSHOT = False
    assert office.post("/cms/ask/snapshot/").status_code == 404
    assert "make one of now" not in office.get("/cms/ask/").content.decode()


def save(browser, title="Orders", sql="SELECT 1", **more):
    response = browser.post("/cms/ask/questions/", {"title": title, "sql": sql, **more})
    assert response.status_code == 302, response.content.decode()
    return response["Location"]


def test_a_question_is_saved_and_all_of_the_back_office_sees_it(office, sign_in):
    address = save(office, "Big orders", "SELECT 1\r\n-- two lines")
    other = sign_in("back office", username="bert")
    assert f'href="{address}"' in other.get("/cms/ask/").content.decode()
    assert inputs(other.get(address))["sql"] == "SELECT 1\n-- two lines"
    assert questions.newest()[0].created_by == "bea"


def test_a_form_sent_twice_saves_one_question(office):
    form = inputs(office.get("/cms/ask/"))
    sent = {"title": "Once", "sql": "SELECT 1", "question_id": form["question_id"]}
    assert save(office, **sent) == save(office, **sent)
    assert len(questions.newest()) == 1


@pytest.mark.parametrize(
    ("title", "words"), [("", "Give it a title"), ("x" * 121, "at most 120"), (" ", "title")]
)
def test_a_question_without_a_fitting_title_is_not_saved(office, title, words):
    response = office.post("/cms/ask/questions/", {"title": title, "sql": "SELECT 1"})
    assert response.status_code == 422
    assert words in response.content.decode()
    assert questions.newest() == []


def test_a_saved_question_is_changed(office):
    address = save(office)
    form = inputs(office.get(address)) | {"title": "Renamed", "sql": "SELECT 2"}
    assert office.post(address, form).status_code == 302
    assert [(one.title, one.sql, one.version) for one in questions.newest()] == [("Renamed", "SELECT 2", 2)]


def test_who_changes_a_question_late_sees_the_others_and_loses_nothing(office):
    address = save(office)
    mine = inputs(office.get(address)) | {"title": "Mine", "sql": "SELECT 'mine'"}
    theirs = inputs(office.get(address)) | {"title": "Theirs", "sql": "SELECT 'theirs'"}
    office.post(address, theirs)
    response = office.post(address, mine)
    html = response.content.decode()
    assert response.status_code == 409
    assert "changed this question while you worked on it" in html
    assert "SELECT &#x27;theirs&#x27;" in html
    assert inputs(response)["sql"] == "SELECT 'mine'"
    assert questions.newest()[0].title == "Theirs"


def test_a_question_is_deleted_once_confirmed(office):
    address = save(office)
    page = office.get(address + "delete/")
    assert "Delete this question?" in page.content.decode()
    assert questions.newest()
    assert office.post(address + "delete/", {"version": "9"}).status_code == 409
    assert office.post(address + "delete/", inputs(page)).status_code == 302
    assert questions.newest() == []
    assert office.get(address).status_code == 404


@pytest.mark.parametrize("question_id", ["x", make_id(NOW)])
def test_a_question_that_is_not_there_is_not_found(office, question_id):
    assert office.get(f"/cms/ask/questions/{question_id}/").status_code == 404
    assert office.post(f"/cms/ask/questions/{question_id}/", {}).status_code == 404
    assert office.get(f"/cms/ask/questions/{question_id}/delete/").status_code == 404
    assert office.get(f"/cms/ask/answers/{question_id}/").status_code == 404


def test_when_the_table_is_away_the_page_says_so(office, monkeypatch):
    def away():
        raise errors.Unavailable

    monkeypatch.setattr(questions, "newest", away)
    assert office.get("/cms/ask/").status_code == 503


# The numbers of the first page


def test_the_overview_shows_the_numbers_of_the_last_day(editor):
    html = editor.get("/cms/?view=deals").content.decode()
    assert html.count('class="figure"') == 4
    assert f"Put into carts on {lakes.TODAY - lakes.DAY:%a, {(lakes.TODAY - lakes.DAY).day} %b}" in html
    assert "data-chart" in html
    assert "style=" not in html.partition("<main")[2]


OF_EDITORS = ["Live deals", "Likes and watches", "Put into carts", "New deals", "Messages delivered"]
OF_ALL = ["Orders", "Revenue", "Sign-ups", *OF_EDITORS]


@pytest.mark.parametrize(("roles", "titles"), [(["editor"], OF_EDITORS), (["back office"], OF_ALL)])
def test_the_numbers_stand_there_as_charts_and_as_tables(sign_in, roles, titles):
    browser = sign_in(*roles)
    html = browser.get("/cms/numbers/").content.decode()
    assert [title.strip() for title in re.findall(r'<h3[^>]*id="number-[^>]*>([^<]+)</h3>', html)] == titles
    assert ("€360.00" in html) == ("Revenue" in titles)
    assert html.count('role="img"') == len(titles)
    assert html.count("<tr>") == len(titles) * 31


@pytest.mark.parametrize(("roles", "view"), [(["editor"], "deals"), (["back office"], "office")])
def test_the_figures_and_the_chart_are_those_of_a_role(sign_in, roles, view):
    html = sign_in(*roles).get("/cms/?view=office").content.decode()
    assert ("Revenue" in html) == (view == "office")
    assert html.count("<tr>") >= 1 + 14
    for line in re.findall(r'd="(M[^"]+)"', html):
        assert re.fullmatch(r"M[\d.]+ [\d.]+(L[\d.]+ [\d.]+){13}(V32H0Z)?", line)


def test_the_overview_stands_without_numbers(editor, no_lake):
    assert "no numbers yet" in editor.get("/cms/").content.decode()


def test_the_numbers_cost_the_table_nothing(editor):
    with table.metered() as meter:
        editor.get("/cms/numbers/")
    assert [operation for operation, _ in meter.log] == ["BatchGetItem"]


def test_without_a_snapshot_there_is_a_message(editor, no_lake):
    page = editor.get("/cms/numbers/")
    assert page.status_code == 200
    assert "There are no numbers yet" in page.content.decode()


def test_shoppers_see_no_numbers(sign_in):
    shopper = sign_in(username="shopper")
    for path in ("/cms/numbers/", "/cms/"):
        assert shopper.get(path).status_code == 403


# Who may ask what


def test_the_back_office_is_shown_what_it_may_ask_and_admins_all(office, sign_in):
    admin = sign_in("admin", username="root")
    for browser, is_shown in ((office, False), (admin, True)):
        html = browser.get("/cms/ask/").content.decode()
        for text in (
            "ready=messages-read",
            ">users</summary>",
            ">security_events</summary>",
            ">email_hash</dt>",
        ):
            assert (text in html) == is_shown, text
        sent = inputs(browser.get("/cms/ask/?ready=messages-read"))
        assert ("FROM messages" in sent["sql"]) == is_shown


def test_the_back_office_asks_for_no_users_and_is_told_what_it_can_ask(office, sign_in):
    page = ask(office, "SELECT * FROM users")
    assert "There is no table &#x27;users&#x27;. The tables are" in page.content.decode()
    assert cells(ask(sign_in("admin"), "SELECT count(*) FROM users")) == [["2"]]


def test_a_saved_question_is_asked_with_the_roles_of_whoever_asks_it(office, sign_in):
    admin = sign_in("admin", username="root")
    address = save(admin, "Users", "SELECT count(*) FROM users")
    sql = inputs(office.get(address))["sql"]
    assert "There is no table" in ask(office, sql).content.decode()
    assert cells(ask(admin, sql)) == [["2"]]


def test_an_answer_is_gone_when_its_askers_role_is(sign_in):
    browser = sign_in("admin", "back office", username="root")
    address = ask(browser, "SELECT count(*) FROM users").request["PATH_INFO"]
    assert browser.get(address).status_code == 200
    make_user("other", roles=["admin"])
    users.take_role("root", "admin", by="other", now=NOW)
    assert browser.get(address).status_code == 404
    assert browser.get(address + "csv/").status_code == 404
    assert browser.post(address + "cancel/").status_code == 404


def test_a_question_stands_in_the_audit_log_and_in_the_security_log(office):
    run_id = ask(office, " " * 600 + "SELECT  1").request["PATH_INFO"].split("/")[-2]
    (entry,) = audit.page(kind="question", subject=run_id).rows
    assert (entry.by, entry.what, entry.after) == ("bea", "asked", {"question": "SELECT 1"})
    (event,) = security_events.page(event="question_asked").rows
    assert (event.username, event.detail) == ("bea", run_id)


def test_a_question_that_cannot_be_noted_is_not_asked(office, monkeypatch):
    def away(*args, **more):
        raise errors.Unavailable

    monkeypatch.setattr(questions, "note_asked", away)
    assert office.post("/cms/ask/", {"sql": "SELECT 1"}).status_code == 503


def test_a_third_question_at_once_waits_and_is_not_noted(office, sign_in, monkeypatch):
    monkeypatch.setattr("cms.ask.PATIENCE", 0.0)
    addresses = [ask(office, FOREVER).request["PATH_INFO"] for _ in range(2)]
    response = office.post("/cms/ask/", {"sql": "SELECT 3 AS third"})
    assert (response.status_code, response["Retry-After"]) == (429, "5")
    assert "2 of your questions are being answered" in response.content.decode()
    assert inputs(response)["sql"] == "SELECT 3 AS third"
    assert len(audit.page(by="bea").rows) == 2
    assert sign_in("back office").post("/cms/ask/", {"sql": "SELECT 1"}).status_code == 302
    for address in addresses:
        office.post(address + "cancel/")


def test_an_answers_file_is_noted_as_an_export(office):
    address = ask(office, "SELECT 1").request["PATH_INFO"]
    b"".join(office.get(address + "csv/").streaming_content)
    assert [event.username for event in security_events.page(event="export_asked").rows] == ["bea"]


def test_questions_have_a_limit_that_the_form_tells(office, settings):
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"question-total": (1, timedelta(minutes=1))}
    ask(office, "SELECT 1 AS one")
    response = office.post("/cms/ask/", {"sql": "SELECT 2 AS two", "title": ""})
    assert (response.status_code, response["Retry-After"]) == (429, "60")
    assert "Please wait 60 seconds" in response.content.decode()


def test_the_widest_answer_makes_a_page_of_bounded_size(office):
    columns = ", ".join(f"repeat('x', 1000) AS c{number}" for number in range(100))
    wide = f"SELECT {columns} FROM range(100)"  # noqa: S608
    answer = ask(office, wide)
    assert "Rows 1 to" in answer.content.decode()
    assert len(answer.content) < 3_000_000
    assert "at most 100 columns" in ask(office, wide.replace("SELECT", "SELECT 1,")).content.decode()


def test_reading_answers_is_limited(office, monkeypatch, settings):
    address = ask(office, "SELECT 1").request["PATH_INFO"]
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"answer": (2, timedelta(minutes=1))}
    limits.forget()
    statuses = [office.get(address + path).status_code for path in ("", "csv/", "", "csv/")]
    assert statuses == [200, 200, 429, 429]
