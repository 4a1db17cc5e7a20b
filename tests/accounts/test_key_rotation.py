"""A new secret key: what was signed or sealed under the one before stays good while that is a fallback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyotp
import pytest
from django.core import signing
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from cms.shared import fields
from dealsite import environment
from dealsite.accounts import email_links, passwords, requests, second_factor
from dealsite.accounts.sign_in import half_of, half_signed_in
from dealsite.checks import secrets_open
from dealsite.data import keys, table
from dealsite.data.jobs import command_runs
from dealsite.data.people import two_factor, users
from dealsite.data.people.users import User
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Update
from shopping import checkout
from tests.accounts.conftest import PASSWORD, sign_in
from tests.builders import EVER, make_id
from tests.people import make_user

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
SIGNERS = ((fields, "_signer"), (email_links, "_confirming"), (email_links, "_taking_back"))
CODE = "1234-5678-9012"


@pytest.fixture
def rotate(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """A function that puts a new key in place of the one under which all was made, which stays a fallback or not."""

    def use(key: str, earlier: list[str]) -> None:
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = key, earlier
        for module, name in SIGNERS:  # as a process that starts now makes them
            monkeypatch.setattr(module, name, signing.Signer(salt=getattr(module, name).salt))

    use("the old key", [])
    return lambda keep: use("the new key", ["the old key"] if keep else [])


@pytest.mark.parametrize("keep", [True, False])
def test_signed_tokens_outlive_the_key_as_long_as_it_is_a_fallback(
    ada: User, rotate: Callable[[bool], None], keep: bool
):
    now, kim = timezone.now(), make_user("kim", confirmed=False)
    confirms = email_links.confirmation_path(kim, now=now).split("/")[-2]
    reset = passwords.make_reset_token(ada, now=now)
    link = new_ulid(now)
    table.write(Update(key=keys.user("ada"), set={"take_backs": [link]}))
    took = email_links.take_back_path(ada, "old@example.org", link).split("/")[-2]
    all_cookies = (
        requests.DEVICE,
        requests.RESET_LINK,
        requests.CONFIRM_LINK,
        requests.TAKE_BACK_LINK,
        requests.HALF,
    )
    signed = [cookie.sign(requests.Signed("ada", "text")) for cookie in all_cookies]
    picture = fields._signer.sign_object(["lamp.webp", 800, 600])
    ticket = signing.dumps([make_id(), "ada", "card"], salt=checkout.SALT)
    sealed = second_factor.seal(kim.username, SECRET)
    rotate(keep)
    good = [
        passwords.is_good_reset_token(ada, reset, now=now),
        email_links.taking_back_user(took, now=now) is not None,
        email_links.confirming_user(confirms, now=now) is not None,
        *(cookie.unsign(text) is not None for cookie, text in zip(all_cookies, signed, strict=True)),
        fields.kept(picture, "") is not None,
        _loads(ticket),
        second_factor.unseal("kim", sealed) == SECRET,
    ]
    assert good == [keep] * len(good)


@pytest.mark.parametrize("keep", [True, False])
def test_a_second_factor_and_its_recovery_codes_outlive_the_key(
    ada: User, rotate: Callable[[bool], None], keep: bool
):
    hashed = second_factor.recovery_hash("ada", CODE)
    sealed = second_factor.seal("ada", SECRET)
    two_factor.turn_on(ada, secret=sealed, recovery=[hashed], step=1, key="", now=timezone.now())
    rotate(keep)
    for code in (CODE, pyotp.TOTP(SECRET).now()):
        browser = Client()
        assert sign_in(browser)["Location"].startswith("/account/sign-in/code/")
        answer = browser.post("/account/sign-in/code/", {"code": code})
        assert answer.status_code == (302 if keep else 422)


@pytest.fixture
def renew(settings: Any, tmp_path: Path) -> Callable[[], None]:
    """A function that renews the key of a data folder, and starts the site with it."""

    def start() -> None:
        settings.SECRET_KEY = environment.secret_key(tmp_path)
        settings.SECRET_KEY_FALLBACKS = environment.secret_key_fallbacks(tmp_path)

    def again() -> None:
        call_command("rotate_key")
        start()

    settings.VAR = tmp_path
    start()
    return again


def app_of(user: User, *, recovery: tuple[str, ...] = ()) -> None:
    """Turn the second factor of a user on, under the key of now."""
    sealed = second_factor.seal(user.username, SECRET)
    two_factor.turn_on(user, secret=sealed, recovery=recovery, step=1, key="", now=timezone.now())


def give(code: str) -> Any:
    """Sign in with password and code; return the answer to the code."""
    browser = Client()
    sign_in(browser)
    return browser.post("/account/sign-in/code/", {"code": code})


def code() -> str:
    return pyotp.TOTP(SECRET).now()


@pytest.mark.parametrize("between", [True, False])
def test_an_app_outlives_two_renewals_whether_or_not_somebody_signed_in_between(
    ada: User, renew: Callable[[], None], settings: Any, between: bool
):
    app_of(ada, recovery=(second_factor.recovery_hash("ada", CODE),))
    renew()
    if between:
        assert give(CODE).status_code == 302
    renew()
    if between:  # sealed again, it needs the first key no more
        settings.SECRET_KEY_FALLBACKS = settings.SECRET_KEY_FALLBACKS[:1]
    assert give(code()).status_code == 302
    settings.SECRET_KEY_FALLBACKS = []
    assert second_factor.unseal("ada", two_factor.get("ada").secret) == SECRET


def test_a_secret_is_sealed_again_only_by_a_right_code_under_another_key(
    ada: User, renew: Callable[[], None]
):
    app_of(ada)
    sealed = two_factor.get("ada").secret
    wrong = f"{(int(code()) + 500_000) % 1_000_000:06d}"
    renew()
    assert give(wrong).status_code == 422
    assert two_factor.get("ada").secret == sealed
    assert give(code()).status_code == 302
    assert (again := two_factor.get("ada").secret) != sealed
    used = two_factor.by_code(two_factor.get("ada"), 2**40)
    assert second_factor._sealed_again(used, two_factor.get("ada")) == used
    assert two_factor.get("ada").secret == again


def test_a_secret_that_opens_under_no_key_is_an_error_that_is_said_and_counted(
    ada: User, renew: Callable[[], None], settings: Any, caplog: pytest.LogCaptureFixture
):
    app_of(ada)
    app_of(make_user("kim"))
    make_user("bob")
    assert secrets_open() == []
    renew()
    settings.SECRET_KEY_FALLBACKS = []
    two_factor.turn_off(users.get("kim"), by="kim", now=timezone.now())
    app_of(users.get("kim"))
    answer = give(code())
    assert answer.status_code == 422
    said = answer.content.decode()
    assert "cannot check the codes of your app any more" in said
    assert "and with it the recovery codes of then. Use a passkey, or ask an admin" in said
    (line,) = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
    assert "second_factor_unreadable" in line
    assert "ada" in line
    (found,) = secrets_open()
    assert (found.id, found.msg) == (
        "dealsite.second_factor_keys",
        "Secrets of authenticator apps that open under no key of the site: 1. Their codes fail.",
    )
    call_command("check_table")
    assert command_runs.checks(now=EVER)[0].unreadable == 1


def test_who_has_given_their_password_gives_the_code_under_the_new_key(
    ada: User, rotate: Callable[[bool], None]
):
    sealed = second_factor.seal("ada", SECRET)
    two_factor.turn_on(ada, secret=sealed, recovery=[], step=1, key="", now=timezone.now())
    browser = Client()
    sign_in(browser)
    rotate(True)
    assert (
        browser.post("/account/sign-in/code/", {"code": pyotp.TOTP(SECRET).now()})["Location"] == "/account/"
    )
    assert half_signed_in(half_of(users.get("ada"))) == users.get("ada")


@pytest.mark.parametrize("keep", [True, False])
def test_sessions_hang_on_no_key_of_the_site(ada: User, rotate: Callable[[bool], None], keep: bool):
    browser = Client()
    sign_in(browser)
    rotate(keep)
    assert browser.get("/account/").status_code == 200


def test_a_form_that_was_open_when_the_key_changed_is_taken(ada: User, rotate: Callable[[bool], None]):
    browser = Client(enforce_csrf_checks=True)
    page: Any = browser.get("/account/sign-in/")
    token = page.context["csrf_token"]
    rotate(True)
    sent = {"name": "ada", "password": PASSWORD, "csrfmiddlewaretoken": str(token)}
    assert browser.post("/account/sign-in/", sent).status_code == 302


def _loads(ticket: str) -> bool:
    try:
        return bool(signing.loads(ticket, salt=checkout.SALT))
    except signing.BadSignature:
        return False
