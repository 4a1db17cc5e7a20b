"""Signing in and out, and what a stranger can and cannot do about it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import hashers
from django.test import Client
from django.utils import timezone

from dealsite.accounts import limits, passwords
from dealsite.data import table
from dealsite.data.people import sessions, users
from dealsite.data.people.users import User
from tests.accounts.conftest import PASSWORD, sign_in
from tests.people import make_user
from tests.races import at_once

STRANGER = {"REMOTE_ADDR": "203.0.113.66"}
HOME = {"REMOTE_ADDR": "198.51.100.7"}


@pytest.mark.parametrize("name", ["ada", "ADA", " Ada ", "ada@example.org", "ADA@Example.org"])
def test_one_signs_in_by_name_or_address_in_any_letter_case(browser: Client, ada: User, name: str):
    answer = sign_in(browser, name)
    assert (answer.status_code, answer["Location"]) == (302, "/account/")
    assert b"ada@example.org" in browser.get("/account/").content


def test_the_session_cookie_is_out_of_reach_of_scripts_and_other_sites(
    browser: Client, ada: User, settings: Any
):
    sign_in(browser)
    cookie = browser.cookies[settings.SESSION_COOKIE_NAME]
    assert cookie["httponly"] is True
    assert (cookie["samesite"], cookie["path"], cookie["domain"], cookie["secure"]) == ("Lax", "/", "", "")


def test_over_https_the_cookies_are_bound_to_it(browser: Client, ada: User, settings: Any):
    settings.SESSION_COOKIE_NAME, settings.SESSION_COOKIE_SECURE = "__Host-session", True
    sign_in(browser)
    for name in ("__Host-session", "__Host-device"):
        cookie = browser.cookies[name]
        assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")


@pytest.mark.parametrize(
    ("name", "password"), [("ada", "wrong"), ("nobody", PASSWORD), ("x@example.org", PASSWORD), ("#", "x")]
)
def test_a_wrong_password_and_an_unknown_user_get_the_same_answer(
    browser: Client, ada: User, name: str, password: str
):
    answer = sign_in(browser, name, password)
    assert answer.status_code == 422
    assert answer.context["form"].non_field_errors() == [
        "The user name or e-mail and the password do not belong together."
    ]
    assert not browser.get("/account/").context


def test_known_and_unknown_users_cost_the_same(browser: Client, ada: User, hashes: Callable[[], int]):
    costs = {}
    for name in ("ada", "nobody", "ada@example.org", "nobody@example.org"):
        hashes()
        with table.metered() as meter:
            sign_in(browser, name, "wrong")
        costs[name] = (hashes(), [operation for operation, _ in meter.log])
    assert costs["ada"] == costs["nobody"] == (1, ["GetItem"] + ["UpdateItem"] * 3)
    assert (
        costs["ada@example.org"] == costs["nobody@example.org"] == (1, ["GetItem"] * 2 + ["UpdateItem"] * 3)
    )


def test_each_sign_in_makes_a_new_key_and_ends_the_session_before(browser: Client, ada: User, settings: Any):
    sign_in(browser)
    first = browser.cookies[settings.SESSION_COOKIE_NAME].value
    sign_in(browser)
    second = browser.cookies[settings.SESSION_COOKIE_NAME].value
    assert first != second
    assert len(sessions.of_user("ada", now=timezone.now())) == 1
    browser.cookies[settings.SESSION_COOKIE_NAME] = first
    assert browser.get("/account/").status_code == 302


def test_a_key_that_somebody_planted_is_not_taken_over(browser: Client, ada: User, settings: Any):
    browser.cookies[settings.SESSION_COOKIE_NAME] = "ada:" + "k" * 43
    sign_in(browser)
    assert browser.cookies[settings.SESSION_COOKIE_NAME].value != "ada:" + "k" * 43


def test_a_form_that_was_open_before_signing_in_is_no_good_afterwards(
    browser: Client, ada: User, settings: Any
):
    browser.get("/account/sign-in/")
    before = browser.cookies[settings.CSRF_COOKIE_NAME].value
    sign_in(browser)
    assert browser.cookies[settings.CSRF_COOKIE_NAME].value != before


def test_a_copied_cookie_is_worth_nothing_after_signing_out(browser: Client, ada: User, settings: Any):
    sign_in(browser)
    copied = browser.cookies[settings.SESSION_COOKIE_NAME].value
    answer = browser.post("/account/sign-out/")
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert browser.cookies[settings.SESSION_COOKIE_NAME].value == ""
    other = Client()
    other.cookies[settings.SESSION_COOKIE_NAME] = copied
    assert other.get("/account/").status_code == 302
    assert sessions.of_user("ada", now=timezone.now()) == []


def test_signing_out_takes_a_post_and_is_harmless_when_repeated(browser: Client, ada: User):
    sign_in(browser)
    assert browser.get("/account/sign-out/").status_code == 405
    assert browser.get("/account/").status_code == 200
    assert browser.post("/account/sign-out/").status_code == 302
    assert browser.post("/account/sign-out/").status_code == 302


def test_forms_need_their_csrf_token(ada: User):
    careful = Client(enforce_csrf_checks=True)
    for page in (
        "sign-in",
        "sign-up",
        "sign-out",
        "password-reset",
        "profile",
        "password",
        "delete",
        "sessions/end",
    ):
        answer = careful.post(f"/account/{page}/", {"name": "ada", "password": PASSWORD})
        assert answer.status_code == 403
        assert b"This form is too old" in answer.content


@pytest.mark.parametrize(
    "next_page", ["/brands/", "/cms/?state=draft", "/deals/01ARZ3NDEKTSV4RRFFQ69G5FAV/x/"]
)
def test_signing_in_leads_back_to_where_one_was(browser: Client, ada: User, next_page: str):
    answer = browser.post("/account/sign-in/", {"name": "ada", "password": PASSWORD, "next": next_page})
    assert answer["Location"] == next_page


@pytest.mark.parametrize(
    "next_page",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "javascript:alert(1)",
        "evil.example",
        "http:///evil.example",
        "",
    ],
)
def test_signing_in_leads_to_no_other_site(browser: Client, ada: User, next_page: str):
    answer = browser.post("/account/sign-in/", {"name": "ada", "password": PASSWORD, "next": next_page})
    assert answer["Location"] == "/account/"
    assert b"evil.example" not in browser.get("/account/sign-in/", {"next": next_page}).content


def test_a_page_that_needs_a_user_leads_to_the_sign_in_page_and_back(browser: Client, ada: User):
    answer = browser.get("/account/sessions/?x=1")
    assert answer["Location"] == "/account/sign-in/?next=%2Faccount%2Fsessions%2F%3Fx%3D1"
    page = browser.get(answer["Location"]).content
    assert b'name="next" value="/account/sessions/?x=1"' in page


# Throttles


def fail(browser: Client, times: int, **more: Any) -> list[int]:
    return [sign_in(browser, password="wrong", **more).status_code for _ in range(times)]


def test_a_stranger_is_stopped_after_five_tries_and_told_how_long_to_wait(
    browser: Client, ada: User, hashes: Callable[[], int]
):
    assert fail(browser, 5, **STRANGER) == [422] * 5
    hashes()
    answer = sign_in(browser, **STRANGER)
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 900
    assert "Please wait" in answer.context["form"].non_field_errors()[0]
    assert hashes() == 0


def test_the_owner_signs_in_from_another_address_meanwhile(browser: Client, ada: User):
    assert fail(browser, 6, **STRANGER)[-1] == 429
    assert sign_in(Client(), **HOME).status_code == 302


def test_an_unknown_name_is_stopped_in_the_same_way(browser: Client, ada: User):
    statuses = [sign_in(browser, "nobody", **STRANGER).status_code for _ in range(6)]
    assert statuses == [422] * 5 + [429]


def test_good_sign_ins_do_not_count(browser: Client, ada: User):
    assert [sign_in(Client(), **HOME).status_code for _ in range(8)] == [302] * 8


def test_a_good_sign_in_does_not_wipe_out_failures_at_other_names(browser: Client, ada: User):
    """Else whoever has an account could try others for ever from one address."""
    make_user("eve", password=passwords.hashed(PASSWORD))
    limit = limits.limit("sign-in-address").tries
    for n in range(limit - 1):
        assert sign_in(browser, f"victim{n}", "wrong", **STRANGER).status_code == 422
        if n % 10 == 0:
            assert sign_in(Client(), "eve", **STRANGER).status_code == 302
    assert sign_in(browser, "victim", "wrong", **STRANGER).status_code == 422
    assert sign_in(browser, "victim", "wrong", **STRANGER).status_code == 429


def test_many_addresses_together_are_slowed_but_not_on_a_device_that_is_known(
    browser: Client, ada: User, settings: Any
):
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"sign-in-name": (8, timedelta(minutes=5))}
    assert sign_in(browser, **HOME).status_code == 302
    browser.post("/account/sign-out/")
    statuses = [
        sign_in(Client(), password="wrong", REMOTE_ADDR=f"203.0.113.{n}").status_code for n in range(10)
    ]
    assert statuses == [422] * 8 + [429] * 2
    assert sign_in(Client(), REMOTE_ADDR="192.0.2.1").status_code == 429
    assert sign_in(browser, REMOTE_ADDR="192.0.2.1").status_code == 302


def test_the_limit_on_a_name_is_over_within_minutes():
    assert limits.limit("sign-in-name").span <= timedelta(minutes=5)


def test_a_known_device_has_a_limit_of_its_own(browser: Client, ada: User):
    sign_in(browser, **HOME)
    assert (
        fail(browser, limits.limit("sign-in-device").tries, **HOME)
        == [422] * limits.limit("sign-in-device").tries
    )
    assert sign_in(browser, **HOME).status_code == 429
    assert sign_in(Client(), **HOME).status_code == 302


def test_a_device_is_known_for_its_own_user_only(browser: Client, ada: User):
    make_user("eve", password=passwords.hashed(PASSWORD))
    sign_in(browser, "eve", **STRANGER)
    assert fail(browser, 6, **STRANGER) == [422] * 5 + [429]


def test_a_made_up_device_is_not_known(browser: Client, ada: User, settings: Any):
    browser.cookies[settings.SESSION_COOKIE_NAME.replace("session", "device")] = "ada:number:signature"
    assert fail(browser, 6, **STRANGER) == [422] * 5 + [429]


def test_tries_at_the_same_time_get_no_more_than_the_limit_through(ada: User, hashes: Callable[[], int]):
    hashes()
    outcomes = at_once(*[lambda: sign_in(Client(), password="wrong", **STRANGER).status_code] * 12)
    assert sorted(outcomes) == [422] * 5 + [429] * 7
    assert hashes() == 5


def test_neighbours_in_one_ipv6_network_count_as_one(browser: Client, ada: User):
    statuses = [
        sign_in(browser, password="wrong", REMOTE_ADDR=f"2001:db8::{n:x}").status_code for n in range(6)
    ]
    assert statuses == [422] * 5 + [429]
    assert sign_in(browser, password="wrong", REMOTE_ADDR="2001:db8:0:1::1").status_code == 422


# Hashes


def test_the_real_hasher_is_argon2id_at_the_cost_that_is_asked_for(settings: Any):
    settings.PASSWORD_HASHERS = ["dealsite.accounts.passwords.Argon2id"]
    stored = passwords.hashed(PASSWORD)
    assert stored.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    assert passwords.matches(PASSWORD, stored)
    assert not passwords.matches(PASSWORD + "x", stored)
    assert not passwords.is_outdated(stored)


def test_the_settings_name_the_real_hasher():
    from dealsite.settings import PASSWORD_HASHERS

    assert PASSWORD_HASHERS == ["dealsite.accounts.passwords.Argon2id"]


def test_a_password_is_the_same_however_its_letters_were_composed():
    assert passwords.matches("Cafe\u0301 und Kuchen", passwords.hashed("Caf\u00e9 und Kuchen"))


def test_a_hash_of_an_older_cost_is_made_anew_at_the_next_sign_in(
    browser: Client, whole_table: None, settings: Any
):
    settings.PASSWORD_HASHERS = [
        "tests.accounts.conftest.CountingHasher",
        "django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher",
    ]
    old = hashers.PBKDF2SHA1PasswordHasher().encode(PASSWORD, "saltsaltsaltsaltsaltsalt", iterations=1)
    make_user("ada", password=old)
    assert sign_in(browser).status_code == 302
    assert users.get("ada").password.startswith("md5$")
    assert browser.get("/account/").status_code == 200


def test_the_forms_lead_to_one_another_and_say_what_an_account_is_good_for(browser: Client):
    for page, other in (("sign-in", "sign-up"), ("sign-up", "sign-in")):
        html = browser.get(f"/account/{page}/?next=/brands/").content.decode()
        assert f'href="/account/{other}/?next=%2Fbrands%2F"' in html
        assert html.count('<form class="field-44') == 1
        assert "Your cart on every device" in html
    assert 'href="/account/password-reset/"' in browser.get("/account/sign-in/").content.decode()
