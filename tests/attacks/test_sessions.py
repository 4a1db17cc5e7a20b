"""Sessions that an attacker fixed or tampered with, reset links of others, and where `next` may lead."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.conf import settings as site_settings
from django.core import signing
from django.test import Client
from django.utils import timezone

from dealsite.accounts import passwords, requests
from dealsite.accounts.requests import is_safe
from dealsite.data.people import sessions, sessions as stored_passwords, users
from dealsite.data.table.ids import hash_of
from tests.people import make_user

PASSWORD = "correct horse battery"
SESSION, CSRF = site_settings.SESSION_COOKIE_NAME, site_settings.CSRF_COOKIE_NAME
KEY = "k" * 43


@pytest.fixture(autouse=True)
def ada(whole_table: None) -> users.User:
    """A shopper, and another one."""
    make_user("eve", password=passwords.hashed(PASSWORD), now=timezone.now())
    return make_user("ada", password=passwords.hashed(PASSWORD), now=timezone.now())


def browser_with(cookie: str) -> Client:
    browser = Client()
    browser.cookies[SESSION] = cookie.encode().decode("latin-1")  # as a web server passes it on
    return browser


def signed_in(name: str = "ada", browser: Client | None = None) -> Client:
    browser = browser or Client()
    answer = browser.post("/account/sign-in/", {"name": name, "password": PASSWORD})
    assert answer.status_code == 302
    return browser


def is_in(browser: Client) -> bool:
    return browser.get("/account/").status_code == 200


# Fixation


def test_a_session_that_was_planted_before_the_sign_in_is_not_the_one_that_begins():
    planted = f"ada:{KEY}"
    victim = signed_in(browser=browser_with(planted))
    assert victim.cookies[SESSION].value != planted
    assert is_in(victim)
    assert not is_in(browser_with(planted))


def test_the_attackers_own_session_does_not_become_the_victims_and_ends():
    attacker = signed_in("eve")
    planted = attacker.cookies[SESSION].value
    victim = signed_in(browser=browser_with(planted))
    assert b"ada@example.org" in victim.get("/account/").content
    assert not is_in(browser_with(planted))
    assert sessions.of_user("eve", now=timezone.now()) == []


def test_each_sign_in_has_a_key_and_a_token_of_its_own():
    browser = Client()
    browser.get("/account/sign-in/")
    tokens, keys = [browser.cookies[CSRF].value], []
    for _ in range(2):
        signed_in(browser=browser)
        keys.append(browser.cookies[SESSION].value)
        tokens.append(browser.cookies[CSRF].value)
    assert len({*keys}) == 2
    assert len({*tokens}) == 3


def test_the_key_is_not_what_the_table_holds():
    browser = signed_in()
    _, _, key = browser.cookies[SESSION].value.partition(":")
    (session,) = sessions.of_user("ada", now=timezone.now())
    assert key not in repr(session)
    assert not is_in(browser_with(f"ada:{hash_of(key)[:43]}"))


# Tampering


def tampered(cookie: str) -> Iterator[str]:
    """Yield what an attacker could make of a cookie that is good."""
    name, _, key = cookie.partition(":")
    for place in (0, 10, 21, 42):
        yield f"{name}:{key[:place]}{'A' if key[place] != 'A' else 'B'}{key[place + 1 :]}"
    yield f"{name}:{key[:-1]}"
    yield f"{name}:{key}A"
    yield f"{name}:{key} "
    yield f"{name}:{key.swapcase()}"
    yield f"{name}:{key[::-1]}"
    for other in (
        "eve",
        "ADA",
        "\uff41da",
        "ada#",
        "ada\uff03",
        "ad",
        "adaa",
        "",
        " ada",
        "ada\x00",
        "*",
        "root",
    ):
        yield f"{other}:{key}"
    yield f"{name}{key}"
    yield f"{key}:{name}"
    yield f"{name}::{key}"
    yield f"{name}:{key}:{key}"
    yield f"{name}:{key}; eve:{key}"
    yield f"eve:{name}:{key}"
    yield key
    yield f"{name}:"
    yield f"{name}:{'A' * 43}"
    yield f"{name}:{'-' * 43}"
    yield f'"{name}:{key}'
    yield f"{name}%3A{key}"


def test_no_changed_cookie_is_a_session_of_anybody():
    cookie = signed_in().cookies[SESSION].value
    tried = list(tampered(cookie))
    assert [other for other in tried if is_in(browser_with(other))] == []
    assert len(tried) >= 30
    assert is_in(browser_with(cookie))


@pytest.mark.parametrize(
    "salt", ["dealsite.accounts.device", "dealsite.accounts.reset", "", "django.core.signing"]
)
def test_a_cookie_that_was_signed_for_something_else_opens_no_second_step(salt: str):
    half = requests.Signed("ada", "mark")
    browser = Client()
    browser.cookies[requests.HALF.name] = signing.TimestampSigner(salt=salt or None).sign(":".join(half))
    assert browser.get("/account/sign-in/code/").status_code == 302
    browser.cookies[requests.HALF.name] = requests.HALF.sign(half)
    assert browser.get("/account/sign-in/code/").status_code == 302


# Reset links


def link_of(name: str, **more: Any) -> str:
    token = passwords.make_reset_token(users.get(name), now=more.get("now", timezone.now()))
    return f"/account/password-reset/{more.get('username', name)}/{token}/"


def takes_over(browser: Client, address: str) -> bool:
    """Tell whether a link lets somebody set a password."""
    browser.get(address, follow=True)
    answer = browser.post("/account/password-reset/new/", {"password": "a whole new password"})
    assert answer.status_code in (302, 410)
    return answer.status_code == 302


def bad_links() -> Iterator[str]:
    """Yield links that are used, too old, another user's, or changed."""
    good = link_of("ada")
    token = good.split("/")[-2]
    stamp, _, mac = token.partition("-")
    yield link_of("eve", username="ada")
    yield link_of("ada", username="eve")
    yield link_of("ada", username="ADA\uff03")
    yield link_of("ada", now=timezone.now() - timedelta(hours=1, seconds=1))
    for changed in (
        f"{stamp}-{mac[:-1]}",
        f"{stamp}-{mac}0",
        f"{stamp}-{'0' * len(mac)}",
        f"zzzzzz-{mac}",
        stamp,
        mac,
    ):
        yield f"/account/password-reset/ada/{changed}/"
    for place in (0, len(mac) // 2, len(mac) - 1):
        other = "0" if mac[place] != "0" else "1"
        yield f"/account/password-reset/ada/{stamp}-{mac[:place]}{other}{mac[place + 1 :]}/"
    yield f"/account/password-reset/ada/{mac}-{stamp}/"
    yield f"/account/password-reset/ada/{stamp}-{mac.upper()}/"
    yield f"/account/password-reset/ada/{stamp}--{mac}/"


def test_no_link_but_ones_own_fresh_one_sets_a_password(ada: users.User):
    links = list(bad_links())
    assert [address for address in links if takes_over(Client(), address)] == []
    assert len(links) >= 16
    assert users.get("ada").password == ada.password
    assert takes_over(Client(), link_of("ada"))


def test_a_link_is_good_once_and_not_after_the_password_has_changed():
    used, older = link_of("ada"), link_of("ada")
    assert takes_over(Client(), used)
    assert not takes_over(Client(), used)
    assert not takes_over(Client(), older)
    fresh = link_of("eve")
    stored_passwords.change_password(users.get("eve"), password="another hash", now=timezone.now())
    assert not takes_over(Client(), fresh)


def test_a_reset_ends_every_session():
    victim = signed_in()
    assert takes_over(Client(), link_of("ada"))
    assert not is_in(victim)


# Where `next` leads

NEXT = [
    "https://evil.example/", "http://evil.example", "HTTPS://EVIL.EXAMPLE/", "//evil.example",
    "///evil.example", "////evil.example", "/\\evil.example", "\\/evil.example", "\\\\evil.example",
    "/\\/evil.example", "/\t/evil.example", "/\n/evil.example", "/\r/evil.example", "\t//evil.example",
    " //evil.example", "\u00a0//evil.example", "\u3000//evil.example", "\x00//evil.example",
    "\x08//evil.example", "\x1f//evil.example", "/%09/evil.example", "/%5cevil.example",
    "/%2fevil.example", "https:evil.example", "https:/evil.example", "https:\\\\evil.example",
    "http:///evil.example", "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\nscript:alert(1)",
    " javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:x",
    "ftp://evil.example", "file:///etc/passwd", "evil.example", "www.evil.example", "@evil.example",
    "/@evil.example", "//testserver@evil.example/", "https://testserver@evil.example/",
    "https://testserver.evil.example/", "//evil.example%2f@testserver/", "//testserver\\@evil.example",
    "/..//evil.example", "/.//evil.example", "/brands/..//evil.example", "\uff0f\uff0fevil.example",
    "/\uff0fevil.example", "\u2044/evil.example", "/\u2215evil.example", "//evil\u3002example",
    "//\uff45vil.example", "?next=//evil.example", "#//evil.example", ";//evil.example", ".evil.example",
    "//[::1]/", "//0x7f.1/", "/\u2028/evil.example", "[https://evil.example]", "",
]  # fmt: skip


def test_signing_in_leads_to_this_site_alone_however_another_is_spelled(subtests: pytest.Subtests):
    """Also as browsers read an address: they drop tabs and line breaks, and take a backslash for a slash."""
    for asked in NEXT:
        with subtests.test(asked=asked):
            answer = Client().post("/account/sign-in/", {"name": "ada", "password": PASSWORD, "next": asked})
            location = answer["Location"]
            read = "".join(c for c in location if c not in "\t\r\n").strip(" \x00").replace("\\", "/")
            leads_to = urlsplit(urljoin("https://testserver/account/sign-in/", read))
            assert (leads_to.scheme, leads_to.netloc) == ("https", "testserver")
            assert location == "/account/" or is_safe(asked)
            with_link = Client().get("/account/sign-in/", {"next": asked}).content.decode()
            assert is_safe(asked) or not asked or "evil.example" not in with_link
