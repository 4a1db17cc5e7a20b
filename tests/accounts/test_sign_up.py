"""Making an account."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.accounts import limits
from dealsite.data.people import sessions, two_factor, users
from dealsite.data.people.users import User
from dealsite.data.table.errors import Unavailable
from tests.accounts.conftest import PASSWORD
from tests.people import make_user


def form(browser: Client, **changes: str) -> dict[str, str]:
    registration = browser.get("/account/sign-up/").context["form"].initial["registration"]
    return {
        "username": "Ada",
        "email": "ada@example.org",
        "password": PASSWORD,
        "registration": registration,
    } | changes


def test_whoever_signs_up_is_signed_in(browser: Client):
    answer = browser.post("/account/sign-up/", form(browser, next="/brands/"))
    assert (answer.status_code, answer["Location"]) == (302, "/brands/")
    page = browser.get("/account/")
    assert page.context["profile"].username == "ada"
    assert page.context["profile"].name == "Ada"
    assert "Welcome, Ada." in page.content.decode()
    assert PASSWORD not in users.get("ada").password


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"username": "ab"}, "username"),
        ({"username": "a#b"}, "username"),
        ({"username": "a\uff03b"}, "username"),
        ({"username": ""}, "username"),
        ({"username": "x" * 5000}, "username"),
        ({"email": "ada"}, "email"),
        ({"email": "ada@example"}, "email"),
        ({"email": "ada#x@example.org"}, "email"),
        ({"email": "a@b.de\nBcc: x@y.de"}, "email"),
        ({"password": "short"}, "password"),
        ({"password": "1234567890123"}, "password"),
        ({"password": "password123"}, "password"),
        ({"password": "D3als!te-2026"}, "password"),
        ({"username": "ada.lovelace", "password": "ada.lovelace1"}, "password"),
        ({"password": "ada@example.org"}, "password"),
        ({"password": "x" * 257}, "password"),
        ({"password": "correct\x07horse battery"}, "password"),
    ],
)
def test_what_cannot_be_is_said_beside_its_field(browser: Client, changes: dict[str, str], field: str):
    answer = browser.post("/account/sign-up/", form(browser, **changes))
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert f'id="id_{field}_error"'.encode() in answer.content
    assert users.count() == 0


def test_a_name_that_is_taken_is_said_so(browser: Client, ada: User):
    answer = browser.post("/account/sign-up/", form(browser, username="ADA"))
    assert answer.status_code == 409
    assert list(answer.context["form"].errors) == ["username"]
    assert users.get("ada") == ada
    assert users.count() == 1


def test_who_tries_many_names_that_are_taken_gets_one_that_is_free(browser: Client, ada: User):
    taken = [browser.post("/account/sign-up/", form(browser)).status_code for _ in range(6)]
    assert taken == [409] * 6
    assert browser.post("/account/sign-up/", form(browser, username="ada7")).status_code == 302


def test_a_form_that_is_sent_twice_makes_one_account_and_no_error(browser: Client):
    sent = form(browser)
    assert browser.post("/account/sign-up/", sent).status_code == 302
    assert Client().post("/account/sign-up/", sent).status_code == 302
    assert users.count() == 1


def test_within_an_hour_only(browser: Client, clock: Any):
    sent = form(browser)
    assert browser.post("/account/sign-up/", sent).status_code == 302
    clock(hours=1)
    assert Client().post("/account/sign-up/", sent).status_code == 302
    clock(seconds=1)
    answer = (late := Client()).post("/account/sign-up/", sent)
    assert (answer.status_code, list(answer.context["form"].errors)) == (409, ["username"])
    assert late.get("/account/").status_code == 302


@pytest.mark.parametrize("change", ["a factor", "a suspension"])
def test_a_form_that_is_sent_twice_passes_by_no_second_factor_and_no_suspension(browser: Client, change: str):
    sent, now = form(browser), timezone.now()
    browser.post("/account/sign-up/", sent)
    if change == "a factor":
        two_factor.turn_on(users.get("ada"), secret="sealed", recovery=["x"], step=1, key="", now=now)
    else:
        make_user("root", roles=["admin"])
        sessions.suspend(users.get("ada"), reason="Spam", by="root", now=now)
    other = Client()
    assert other.post("/account/sign-up/", sent).status_code == 409
    assert other.get("/account/").status_code == 302
    assert sessions.of_user("ada", now=now) == []


def test_an_answer_that_was_lost_does_not_make_ones_own_name_taken(
    browser: Client, monkeypatch: pytest.MonkeyPatch
):
    sent = form(browser)
    create = users.create

    def lost(**arguments: Any) -> User:
        create(**arguments)
        raise Unavailable()

    monkeypatch.setattr(users, "create", lost)
    assert browser.post("/account/sign-up/", sent).status_code == 503
    monkeypatch.setattr(users, "create", create)
    assert browser.post("/account/sign-up/", sent).status_code == 302
    assert users.count() == 1


def test_the_number_of_a_form_without_its_password_opens_no_account(browser: Client):
    sent = form(browser)
    browser.post("/account/sign-up/", sent)
    other = Client()
    answer = other.post("/account/sign-up/", sent | {"password": "another good password"})
    assert answer.status_code == 409
    assert other.get("/account/").status_code == 302


def test_a_form_without_its_number_is_refused(browser: Client):
    answer = browser.post("/account/sign-up/", form(browser, registration="x"))
    assert answer.status_code == 400
    assert users.count() == 0


def test_one_address_makes_so_many_accounts_and_no_more(browser: Client):
    for number in range(limits.limit("sign-up-network").tries):
        browser.post("/account/sign-up/", form(browser, registration="x", email=f"x{number}@example.org"))
    answer = browser.post("/account/sign-up/", form(browser))
    assert answer.status_code == 429
    assert users.count() == 0
    assert Client(REMOTE_ADDR="203.0.113.9").post("/account/sign-up/", form(browser)).status_code == 302


def test_the_next_page_of_a_sign_up_is_of_this_site(browser: Client):
    assert browser.post("/account/sign-up/", form(browser, next="//evil.example"))["Location"] == "/account/"


def test_a_browser_sends_an_address_as_it_was_typed(browser: Client):
    # Of type=email Chromium sends strasse.example for straße.example, which is somebody else's.
    assert browser.get("/account/sign-up/").context["form"]["email"].field.widget.input_type == "text"
