"""Who signs in on a new device is told by mail; a device that is known is not told of."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from dealsite.accounts import passwords
from dealsite.data import table
from dealsite.data.people import profiles
from dealsite.data.people.users import User
from tests.accounts.conftest import PASSWORD, sign_in
from tests.jobs import run_next

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def told() -> list[Any]:
    """Run all jobs that are due; return the mail that they sent."""
    while run_next(now=timezone.now()):
        pass
    sent, mail.outbox = mail.outbox, []
    return sent


def test_a_sign_in_on_a_new_device_is_told_with_its_name_and_time_and_not_again(ada: User):
    browser = Client(headers={"User-Agent": FIREFOX})
    sign_in(browser)
    (notice,) = told()
    assert (notice.to, notice.subject) == (["ada@example.org"], "Dealsite: A new sign-in to your account")
    assert "Firefox on Linux" in notice.body
    assert "UTC" in notice.body
    assert "http://127.0.0.1:8000/account/password-reset/" in notice.body
    browser.post("/account/sign-out/")
    sign_in(browser)
    assert told() == []
    sign_in(Client(headers={"User-Agent": FIREFOX}))
    assert len(told()) == 1


def test_it_is_told_in_the_language_of_the_user(ada: User):
    profiles.save_preferences("ada", language="de")
    sign_in(Client(headers={"User-Agent": FIREFOX, "Accept-Language": "en"}))
    (notice,) = told()
    assert notice.subject == "Dealsite: Eine neue Anmeldung bei Ihrem Konto"
    assert "Firefox auf Linux" in notice.body


def test_what_the_device_calls_itself_is_shown_as_nothing_but_a_known_name(ada: User):
    sign_in(Client(headers={"User-Agent": "https://evil.example/ click here"}))
    (notice,) = told()
    assert "evil" not in notice.body
    assert "Unknown device" in notice.body


@pytest.mark.parametrize("password", ["wrong", ""])
def test_nobody_is_told_of_a_try_that_failed(ada: User, password: str):
    sign_in(Client(), password=password)
    assert told() == []


def test_who_makes_an_account_is_not_told_of_it(browser: Client):
    page = browser.get("/account/sign-up/")
    sent = {"username": "zoe", "email": "zoe@example.org", "password": "correct horse battery"}
    registration = page.context["form"].initial["registration"]
    assert browser.post("/account/sign-up/", sent | {"registration": registration}).status_code == 302
    assert [one for one in told() if "new sign-in" in one.subject] == []


def test_session_and_notice_are_one_request(ada: User):
    with table.metered() as meter:
        sign_in(Client())
    assert [operation for operation, _ in meter.log].count("TransactWriteItems") == 1
    assert "PutItem" not in [operation for operation, _ in meter.log]
    assert passwords.matches(PASSWORD, ada.password)
