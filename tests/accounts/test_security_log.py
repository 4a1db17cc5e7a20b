"""The security log: each word of it arises from a real request, as a line and a row; a stranger cannot flood it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, get_args

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.accounts import security_log
from dealsite.accounts.email_links import confirmation_path
from dealsite.accounts.security_log import FAILURES
from dealsite.ask.lake import lake_in
from dealsite.data import table
from dealsite.data.entities.work import Event
from dealsite.data.people import security_events, users
from dealsite.data.people.users import User
from dealsite.data.table.errors import Unavailable
from dealsite.data.table.ids import new_ulid
from tests.accounts.conftest import PASSWORD, sign_in
from tests.accounts.test_two_factor import App, set_up
from tests.people import make_user, signed_in

NEW = "another quiet tram"
PROFILE = ("name", "email", "old_password", "version", "timezone", "language")


def rows(event: str = "") -> list[dict[str, Any]]:
    """The rows of the security log, as what their lists show."""
    items = [item["card"] for item in table.scan_all(consistent=True) if item["type"] == "SecurityEvent"]
    return [card for card in items if not event or card["event"] == event]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[str], list[str]]:
    """A function that returns the log's lines of an event."""
    caplog.set_level(logging.INFO)
    return lambda event: [text for text in caplog.messages if text.startswith(f"event='{event}'")]


@pytest.fixture
def root(ada: User) -> Client:
    """An admin's browser, their password given just now."""
    return signed_in(make_user("root", roles=["admin"]), now=timezone.now())


# Each word of the log, and a request that it arises from. `home` is Ada's browser, `root` an admin's.
REQUESTS: dict[str, Callable[[Client, Client, Client], Any]] = {
    "signed_in": lambda browser, home, root: sign_in(browser),
    "sign_in_failed": lambda browser, home, root: sign_in(browser, password="wrong"),
    "code_failed": lambda browser, home, root: set_up(home, code="000000"),
    "signed_up": lambda browser, home, root: sign_up(browser),
    "signed_out": lambda browser, home, root: home.post("/account/sign-out/"),
    "refused": lambda browser, home, root: home.get("/cms/users/"),
    "throttled": lambda browser, home, root: [sign_in(browser, password="wrong") for _ in range(3)][-1],
    "csrf_refused": lambda browser, home, root: sign_in(Client(enforce_csrf_checks=True)),
    "question_asked": lambda browser, home, root: root.post("/cms/ask/", {"sql": "SELECT 1"}),
    "export_asked": lambda browser, home, root: root.post(
        "/cms/jobs/export/", {"address": "/cms/audit/", "token": token()}
    ),
    "password_changed": lambda browser, home, root: home.post(
        "/account/password/", {"old_password": PASSWORD, "password": NEW, "password_again": NEW}
    ),
    "password_reset_asked": lambda browser, home, root: browser.post(
        "/account/password-reset/", {"email": "ada@example.org"}
    ),
    "factor_changed": lambda browser, home, root: set_up(home),
    "email_changed": lambda browser, home, root: confirm_another(home),
    "account_suspended": lambda browser, home, root: root.post("/cms/users/ada/suspend/", {"reason": "spam"}),
    "passkey_failed": lambda browser, home, root: browser.post("/account/sign-in/", {"passkey": "{}"}),
    "roles_changed": lambda browser, home, root: root.post("/cms/users/ada/give-role/", {"role": "editor"}),
    "sessions_ended": lambda browser, home, root: home.post("/account/sessions/end-others/"),
    "account_deleted": lambda browser, home, root: home.post("/account/delete/", {"old_password": PASSWORD}),
}
OF_NOBODY = {"csrf_refused", "password_reset_asked", "passkey_failed"}  # which say no user


def token() -> str:
    return new_ulid(timezone.now())


def confirm_another(home: Client) -> Any:
    sent = dict(zip(PROFILE, ["Ada", "new@example.org", PASSWORD, "1", "", ""], strict=True))
    assert home.post("/account/profile/", sent).status_code == 302
    home.get(confirmation_path(users.get("ada"), now=timezone.now()))
    return home.post("/account/email/confirm/")


def sign_up(browser: Client) -> Any:
    sent = {"username": "bob", "name": "Bob", "email": "bob@example.org", "password": NEW}
    return browser.post("/account/sign-up/", sent | {"registration": token()})


def test_each_word_of_the_log_has_a_request_that_it_arises_from():
    assert set(REQUESTS) == set(get_args(Event))


@pytest.mark.parametrize("event", REQUESTS)
def test_what_happens_at_the_doors_is_noted(
    event: str,
    browser: Client,
    ada: User,
    root: Client,
    lines: Any,
    monkeypatch: Any,
    settings: Any,
    tmp_path: Any,
):
    home = signed_in(ada, now=timezone.now())
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"sign-in": (2, timedelta(minutes=15))}
    settings.DEALSITE_URL = "http://localhost:8000"  # where there are passkeys
    monkeypatch.setattr("cms.ask.open_lake", lambda roles: lake_in(tmp_path, roles))
    answer = REQUESTS[event](browser, home, root)
    answer = answer[0] if isinstance(answer, tuple) else answer
    (row,) = rows(event)
    name = {"signed_up": "bob", "question_asked": "root", "export_asked": "root"}.get(event, "ada")
    assert row["username"] == ("" if event in OF_NOBODY else name)
    assert row["network"] == "127.0.0.1"
    assert row["page"] == f"/{answer.wsgi_request.resolver_match.route}"
    assert row["request"] == answer["X-Request-ID"]
    (line,) = lines(event)
    for text in (f"request_id='{row['request']}'", f"username='{row['username']}'", "network='127.0.0.1'"):
        assert text in line


def test_what_was_typed_as_a_name_is_not_kept(browser: Client, ada: User, lines: Any):
    for name in (PASSWORD, "hunter2hunter2"):
        sign_in(browser, name, "ada")
    (row,) = rows("sign_in_failed")
    assert row["username"] == ""
    assert not any("hunter2" in line or PASSWORD in line for line in lines("sign_in_failed"))


def test_a_name_that_cannot_be_a_users_is_noted_as_nobodys(rf: Any, whole_table: None):
    for name in ("a#b", "x" * 90, "\x00"):
        security_log.note(rf.get("/"), "refused", username=name)
    assert [row["username"] for row in rows()] == [""]


# A stranger who floods it


def fail(rf: Any, username: str = "", network: str = "192.0.2.1", event: Event = "sign_in_failed") -> None:
    security_log.note(rf.get("/", REMOTE_ADDR=network), event, username=username)


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A clock at the beginning of a minute, and a function that moves it on."""
    times = [timezone.now().replace(second=0, microsecond=0)]
    monkeypatch.setattr(timezone, "now", lambda: times[-1])
    return lambda **by: times.append(times[-1] + timedelta(**by))


def test_of_what_fails_the_same_way_there_is_a_row_a_minute_and_a_line_each_time(
    rf: Any, whole_table: None, still: Any, lines: Any
):
    for _ in range(5):
        fail(rf, "ada")
    fail(rf, "bob")
    fail(rf, "ada", event="code_failed")
    assert sorted((row["event"], row["username"]) for row in rows()) == [
        ("code_failed", "ada"),
        ("sign_in_failed", "ada"),
        ("sign_in_failed", "bob"),
    ]
    assert len(lines("sign_in_failed")) == 6
    still(minutes=1)
    fail(rf, "ada")
    assert len(rows("sign_in_failed")) == 3


def test_the_10th_and_the_100th_in_a_minute_have_a_row_that_says_so(rf: Any, whole_table: None, still: Any):
    for _ in range(120):
        fail(rf, "ada")
    assert sorted(row.get("times", 1) for row in rows()) == [1, 10, 100]
    assert sorted(one.times or 1 for one in security_events.page(username="ada").rows) == [1, 10, 100]
    still(minutes=1)
    fail(rf, "ada")
    assert sorted(row.get("times", 1) for row in rows()) == [1, 1, 10, 100]


def test_one_network_fills_the_log_with_so_many_rows_a_minute_and_leaves_room_for_others(
    rf: Any, whole_table: None, still: Any
):
    for number in range(30):
        fail(rf, f"user{number}")
    fail(rf, "ada", "198.51.100.1")
    assert len(rows()) == security_log.MOST_OF_NETWORK + 1 == 21


def test_all_networks_together_have_so_many_rows_a_minute_and_what_is_remembered_stays_small(
    rf: Any, whole_table: None, still: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(security_log, "MOST_ROWS", 10)
    for number in range(15):
        fail(rf, "ada", f"192.0.2.{number}")
    assert len(rows()) == 10
    assert len(security_log.failures.rows) == len(security_log.failures.of_network) == 10


def test_what_succeeds_has_a_row_each_time(rf: Any, whole_table: None, still: Any):
    for _ in range(3):
        fail(rf, "ada", event="signed_in")
    assert len(rows("signed_in")) == 3


def test_each_failure_is_counted_though_few_have_rows_and_few_calls_count_them(
    rf: Any, whole_table: None, still: Any, monkeypatch: pytest.MonkeyPatch
):
    counted: list[int] = []
    count = security_events.count_failures

    def counts(number: int, *, now: datetime) -> None:
        counted.append(number)
        count(number, now=now)

    monkeypatch.setattr(security_events, "count_failures", counts)
    for _second in range(0, 60, 2):
        for _ in range(4):
            fail(rf, "ada")
        still(seconds=2)
    assert len(counted) <= 13
    fail(rf, "ada", event="signed_in")
    still(minutes=1)
    fail(rf, "ada")
    found = security_events.failures(within=timedelta(minutes=5), now=timezone.now())
    assert sum(found.values()) == 30 * 4 + 1


# While the table is away


@pytest.mark.parametrize(("what", "status"), [("csrf", 403), ("role", 403), ("wrong", 422)])
def test_a_page_answers_the_same_where_the_row_cannot_be_written(
    what: str, status: int, browser: Client, ada: User, lines: Any, monkeypatch: pytest.MonkeyPatch
):
    def away(*args: Any, **more: Any) -> None:
        raise Unavailable

    monkeypatch.setattr(security_events, "add", away)
    monkeypatch.setattr(security_events, "count_failures", away)
    ways = {
        "csrf": lambda: sign_in(Client(enforce_csrf_checks=True)),
        "role": lambda: signed_in(ada, now=timezone.now()).get("/cms/users/"),
        "wrong": lambda: sign_in(browser, password="wrong"),
    }
    assert ways[what]().status_code == status
    event = {"csrf": "csrf_refused", "role": "refused", "wrong": "sign_in_failed"}[what]
    assert len(lines(event)) == 1
    assert rows() == []


def test_where_a_row_cannot_be_written_the_page_waits_for_it_once(
    rf: Any, whole_table: None, lines: Any, monkeypatch: pytest.MonkeyPatch
):
    tried: list[str] = []

    def away(event: security_events.SecurityEvent) -> None:
        tried.append(event.event)
        raise Unavailable

    monkeypatch.setattr(security_events, "add", away)
    request = rf.get("/")
    for event in ("signed_up", "signed_in"):
        security_log.note(request, event)
        assert len(lines(event)) == 1
    assert tried == ["signed_up"]


def test_a_slow_page_notes_what_happened_and_one_that_waited_for_the_table_does_not(
    rf: Any, whole_table: None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(security_events, "NOTING_SECONDS", 60.0)  # however busy the machine is
    request = rf.get("/")
    with table.deadline(-1.0), table.metered() as request.meter:
        security_log.note(request, "signed_in")
        request.meter.seconds = 60.0
        security_log.note(request, "signed_out")
    assert [row["event"] for row in rows()] == ["signed_in"]


def test_failures_are_words_of_the_log():
    assert set(get_args(Event)) > FAILURES


# Changes by somebody else are noted with the account that they are made to


def test_a_change_of_roles_says_which_and_by_whom(root: Client):
    root.post("/cms/users/ada/give-role/", {"role": "editor"})
    root.post("/cms/users/ada/take-role/", {"role": "editor"})
    assert sorted(row["detail"] for row in rows("roles_changed")) == [
        "given the role editor, by root",
        "lost the role editor, by root",
    ]
    assert root.post("/cms/users/nobody/give-role/", {"role": "editor"}).status_code == 404
    assert len(rows("roles_changed")) == 2
    assert users.get("ada").roles == frozenset()


def test_a_forged_session_cookie_signs_nobody_out_in_the_log(browser: Client, ada: User, settings: Any):
    browser.cookies[settings.SESSION_COOKIE_NAME] = "ada:" + "x" * 43
    browser.post("/account/sign-out/")
    assert rows("signed_out") == []


def test_a_form_from_another_site_is_noted_where_there_is_no_token_either(browser: Client, ada: User):
    answer = browser.post("/cart/add/", {}, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    (row,) = rows()
    assert (row["event"], row["detail"]) == ("csrf_refused", "from another site")


def test_codes_that_fail_at_sign_in_are_noted(browser: Client, ada: User):
    home = signed_in(ada, now=timezone.now())
    _, app = set_up(home)
    assert isinstance(app, App)
    sign_in(browser)
    assert browser.post("/account/sign-in/code/", {"code": "000000"}).status_code == 422
    assert [row["username"] for row in rows("code_failed")] == ["ada"]
