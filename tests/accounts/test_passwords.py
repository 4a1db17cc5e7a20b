"""Changing the password, and getting a new one by a link."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from dealsite.accounts import limits, passwords
from dealsite.data import table
from dealsite.data.people import sessions, sessions as stored_passwords, users
from dealsite.data.people.users import User
from dealsite.data.table.ids import new_ulid
from tests.accounts.conftest import PASSWORD, sign_in
from tests.jobs import run_next
from tests.people import make_user

NEW = "a much better password"


def work() -> list[Any]:
    """Run all jobs that are due; return the mail they sent, but for what tells of the test's own sign-ins."""
    while run_next(now=timezone.now()):
        pass
    sent, mail.outbox = mail.outbox, []
    return [one for one in sent if "new sign-in" not in one.subject]


def change(browser: Client, old: str = PASSWORD, new: str = NEW) -> Any:
    return browser.post("/account/password/", {"old_password": old, "password": new})


def test_a_changed_password_signs_out_everywhere_else(browser: Client, ada: User):
    other = Client()
    sign_in(browser)
    sign_in(other)
    assert change(browser)["Location"] == "/account/"
    assert browser.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302
    assert len(sessions.of_user("ada", now=timezone.now())) == 1
    assert sign_in(Client(), password=PASSWORD).status_code == 422
    assert sign_in(Client(), password=NEW).status_code == 302
    (notice,) = work()
    assert (notice.to, notice.subject) == (["ada@example.org"], "Dealsite: Your password was changed")
    assert "http://127.0.0.1:8000/account/password-reset/" in notice.body


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("wrong", NEW, "old_password"),
        (PASSWORD, "short", "password"),
        (PASSWORD, "ada@example.org", "password"),
        ("", NEW, "old_password"),
    ],
)
def test_a_password_is_not_changed_without_the_old_one_and_a_good_new_one(
    browser: Client, ada: User, old: str, new: str, field: str
):
    sign_in(browser)
    answer = change(browser, old, new)
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert users.get("ada").password == ada.password


def test_whoever_finds_an_open_browser_cannot_guess_the_password_for_long(browser: Client, ada: User):
    sign_in(browser)
    statuses = [change(browser, f"guess {n}").status_code for n in range(limits.limit("password").tries + 1)]
    assert statuses == [422] * limits.limit("password").tries + [429]
    assert change(browser).status_code == 429
    assert users.get("ada").password == ada.password


# By a link


def ask(browser: Client, email: str = "ada@example.org", **more: Any) -> Any:
    return browser.post("/account/password-reset/", {"email": email}, **more)


def link_in(message: Any) -> str:
    found = re.search(r"http://127\.0\.0\.1:8000(/account/password-reset/\S+)", message.body)
    assert found
    return found[1]


def test_a_new_password_by_a_link(browser: Client, ada: User, settings: Any):
    signed_in = Client()
    sign_in(signed_in)
    assert ask(browser, "ADA@example.org")["Location"] == "/account/password-reset/sent/"
    (message,) = work()
    assert message.to == ["ada@example.org"]

    address = link_in(message)
    followed = browser.get(address)
    assert (followed.status_code, followed["Location"]) == (302, "/account/password-reset/new/")
    assert followed["Referrer-Policy"] == "no-referrer"
    assert "no-store" in followed["Cache-Control"]
    cookie = followed.cookies[settings.SESSION_COOKIE_NAME.replace("session", "reset")]
    assert (cookie["httponly"], cookie["path"]) == (True, "/")

    page = browser.get("/account/password-reset/new/")
    assert page.status_code == 200
    assert page["Referrer-Policy"] == "strict-origin-when-cross-origin"
    assert "no-store" in page["Cache-Control"]
    assert address.split("/")[-2].encode() not in page.content
    assert browser.post("/account/password-reset/new/", {"password": "short"}).status_code == 422
    assert browser.post("/account/password-reset/new/", {"password": NEW})["Location"] == "/account/"
    assert browser.get("/account/").status_code == 200
    assert signed_in.get("/account/").status_code == 302
    assert sign_in(Client(), password=NEW).status_code == 302

    assert Client().get(address)["Location"] == "/account/password-reset/new/"
    again = Client()
    again.get(address)
    answer = again.post("/account/password-reset/new/", {"password": "yet another password"})
    assert answer.status_code == 410
    assert sign_in(Client(), password=NEW).status_code == 302


def test_a_link_followed_twice_sets_one_password(browser: Client, ada: User):
    ask(browser)
    address = link_in(work()[0])
    first, second = Client(), Client()
    for one in (first, second):
        one.get(address)
        assert one.get("/account/password-reset/new/").status_code == 200
    assert first.post("/account/password-reset/new/", {"password": NEW}).status_code == 302
    assert second.post("/account/password-reset/new/", {"password": "the second password"}).status_code == 410
    assert passwords.matches(NEW, users.get("ada").password)


def test_of_two_uses_of_a_link_at_the_same_time_the_later_one_is_told(
    browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch
):
    ask(browser)
    browser.get(link_in(work()[0]))
    hashed = passwords.hashed

    def meanwhile(password: str) -> str:
        stored_passwords.change_password(
            users.get("ada"), password="the other one's hash", now=timezone.now()
        )
        return hashed(password)

    monkeypatch.setattr(passwords, "hashed", meanwhile)
    assert browser.post("/account/password-reset/new/", {"password": NEW}).status_code == 410
    assert users.get("ada").password == "the other one's hash"


def test_an_unknown_address_gets_the_same_answer_at_the_same_cost_and_no_mail(browser: Client, ada: User):
    answers, costs = [], []
    make_user("eve", email="eve@example.org", confirmed=False)
    for asked in ("ada@example.org", "nobody@example.org", "Eve@example.org", "ada", "nobody", "eve"):
        with table.metered() as meter:
            answer = ask(browser, asked)
        answers.append((answer.status_code, answer["Location"]))
        costs.append([operation for operation, _ in meter.log])
    assert answers == [(302, "/account/password-reset/sent/")] * 6
    assert costs == [["UpdateItem"] * 3 + ["PutItem"]] * 6
    found = sorted(message.to[0] for message in work() if message.subject == "Dealsite: A new password")
    assert found == ["ada@example.org"] * 2 + ["eve@example.org"] * 2


@pytest.mark.parametrize(
    "email", ["", "ad", "a b", "a#b@example.org", "ada@example.org\nBcc: eve@example.org"]
)
def test_what_is_neither_name_nor_address_is_said_so(browser: Client, email: str):
    assert ask(browser, email).status_code == 422


def test_a_mailbox_gets_so_many_links_and_no_more(browser: Client, ada: User):
    statuses = [
        ask(browser, REMOTE_ADDR=f"203.0.113.{n}").status_code for n in range(limits.limit("reset").tries + 1)
    ]
    assert statuses == [302] * limits.limit("reset").tries + [429]
    assert len(work()) == limits.limit("reset").tries


def test_one_address_asks_for_so_many_links_and_no_more(browser: Client, ada: User):
    statuses = [
        ask(browser, f"x{n}@example.org").status_code for n in range(limits.limit("reset-network").tries + 1)
    ]
    assert statuses == [302] * limits.limit("reset-network").tries + [429]


@pytest.mark.parametrize("username", ["ada", "nobody", "ada@example.org", "a b", "x" * 1000])
@pytest.mark.parametrize("token", ["x", "x-y", "-", "d9c0ed-" + "0" * 32, "é"])
def test_a_made_up_link_is_over(browser: Client, ada: User, username: str, token: str):
    answer = browser.get(f"/account/password-reset/{username}/{token}/", follow=True)
    assert answer.status_code == 410
    assert browser.post("/account/password-reset/new/", {"password": NEW}).status_code == 410
    assert users.get("ada").password == ada.password


def test_a_link_is_over_after_an_hour_and_when_address_or_password_changed(whole_table: None, settings: Any):
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    ada = make_user("ada")
    token = passwords.make_reset_token(ada, now=now)
    lifetime = timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    assert lifetime == timedelta(hours=1)
    assert passwords.is_good_reset_token(ada, token, now=now + lifetime)
    assert not passwords.is_good_reset_token(ada, token, now=now + lifetime + timedelta(seconds=1))
    assert not passwords.is_good_reset_token(make_user("bob"), token, now=now)
    for changes in ({"password": "another hash"}, {"email": "new@example.org"}):
        changed = users.User(**{name: getattr(ada, name) for name in users.User.__slots__} | changes)
        assert not passwords.is_good_reset_token(changed, token, now=now)


def test_a_deleted_user_gets_no_link(browser: Client, ada: User):
    ask(browser)
    users.delete(ada, job_id=new_ulid(timezone.now()), now=timezone.now())
    assert work() == []


def test_a_reset_makes_the_device_known_so_that_strangers_cannot_keep_one_out(
    browser: Client, ada: User, settings: Any
):
    ask(browser)
    browser.get(link_in(work()[0]))
    browser.post("/account/password-reset/new/", {"password": NEW})
    assert settings.SESSION_COOKIE_NAME.replace("session", "device") in browser.cookies
