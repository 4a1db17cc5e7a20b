"""What every answer says to browsers: pages, redirects, errors and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.test import Client

from dealsite import middleware
from dealsite.data.catalogue import deals
from dealsite.data.table import errors
from tests.people import make_user, signed_in

PICTURE = f"pictures/ab/{'ab' * 16}-480.webp"
CHECKED = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
OF_PAGES = {
    **CHECKED,
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": middleware.PERMISSIONS,
}
ANSWERS = {
    "a page": ("/account/sign-in/", 200),
    "a feed": ("/robots.txt", 200),
    "a health check": ("/healthz", 200),
    "a redirect to sign in": ("/account/orders/", 302),
    "a redirect to a slash": ("/account/sign-in", 301),
    "what does not exist": ("/nowhere/", 404),
    "a picture that does not exist": ("/media/nothing.webp", 404),
    "a form without its token": ("/account/sign-in/", 403),
    "too large a body": ("/account/sign-in/", 413),
    "a method that is not allowed": ("/account/sign-out/", 405),
    "another host": ("/", 400),
    "a mistake of ours": ("/deals/01KAK2JRG0XZ0000000000000A/x/", 500),
    "no table": ("/deals/01KAK2JRG0XZ0000000000000A/x/", 503),
}


def answer_of(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    path, _ = ANSWERS[name]
    browser = Client(enforce_csrf_checks=True, raise_request_exception=False)
    error = {"a mistake of ours": ZeroDivisionError(), "no table": errors.Unavailable()}.get(name)
    if error:

        def fails(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(deals, "get_visible", fails)
    if name == "a form without its token":
        return browser.post(path)
    if name == "too large a body":
        said: dict[str, Any] = {middleware.IS_TOO_LARGE: True}  # as the web process does
        return browser.post(path, {"a": "b"}, **said)
    return browser.get(path, headers={"host": "evil.example"} if name == "another host" else None)


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_says_what_a_browser_may_do_with_it(name, fresh_table, monkeypatch):
    answer = answer_of(name, monkeypatch)
    assert answer.status_code == ANSWERS[name][1]
    assert {header: answer.get(header) for header in OF_PAGES} == OF_PAGES
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    assert "Server" not in answer


def test_a_redirect_to_https_says_it_too(settings):
    settings.SECURE_SSL_REDIRECT = True
    answer = Client().get("/account/sign-in/")
    assert (answer.status_code, answer["Location"]) == (301, "https://testserver/account/sign-in/")
    assert answer["Permissions-Policy"] == middleware.PERMISSIONS
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.parametrize(
    ("below", "said"), [(False, "max-age=31536000"), (True, "max-age=31536000; includeSubDomains")]
)
def test_https_is_bound_to_the_names_below_where_that_is_set(settings, below, said):
    settings.SECURE_HSTS_SECONDS, settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = 31_536_000, below
    assert Client().get("/account/sign-in/", secure=True)["Strict-Transport-Security"] == said


def test_no_feature_is_named_twice_and_passkeys_and_copying_stay_possible():
    names = [*middleware.DENIED, *middleware.OWN]
    assert len(names) == len(set(names))
    for feature in ("publickey-credentials-get", "publickey-credentials-create", "clipboard-write"):
        assert f"{feature}=(self)" in middleware.PERMISSIONS
    for feature in ("camera", "microphone", "geolocation", "usb", "payment"):
        assert f"{feature}=()" in middleware.PERMISSIONS


# Files: other sites may show a deal's picture, and nothing of them changes


def test_a_picture_is_answered_as_ever(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    (tmp_path / PICTURE).parent.mkdir(parents=True)
    (tmp_path / PICTURE).write_bytes(b"RIFF....WEBP")
    answer = Client().get(f"/media/{PICTURE}")
    assert b"".join(answer) == b"RIFF....WEBP"
    headers = dict(answer.headers)
    answer.close()
    assert "default-src 'none'" in headers.pop("Content-Security-Policy")
    assert headers == {
        **CHECKED,
        "Content-Type": "image/webp",
        "Content-Length": "12",
        "Content-Disposition": f'inline; filename="{Path(PICTURE).name}"',
        "Cache-Control": "public, max-age=31536000, immutable",
        "X-Frame-Options": "DENY",
    }


def test_a_static_file_is_answered_as_ever():
    answer = Client().get("/static/theme.js")
    body, headers = b"".join(answer), dict(answer.headers)
    answer.close()
    assert answer.status_code == 200
    assert b"localStorage" in body
    assert headers.pop("Last-Modified")
    assert headers.pop("ETag", "none")
    assert headers.pop("Content-Length") == str(len(body))
    assert headers.pop("Content-Type") == 'text/javascript; charset="utf-8"'
    assert headers.pop("Vary", "Accept-Encoding") == "Accept-Encoding"
    assert headers.pop("Cache-Control").startswith("max-age=")
    assert headers == CHECKED


# Signing out


def test_signing_out_clears_the_cache_and_leaves_cookies_and_storage(fresh_table):
    browser = signed_in(make_user("ada"))
    browser.cookies[site_settings.SESSION_COOKIE_NAME.replace("session", "cart")] = "k" * 43
    answer = browser.post("/account/sign-out/")
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert answer["Clear-Site-Data"] == '"cache"'
    assert list(answer.cookies) == [site_settings.SESSION_COOKIE_NAME]


def test_a_session_that_was_ended_elsewhere_leaves_no_pages_behind_either(fresh_table):
    browser = Client()
    browser.cookies[site_settings.SESSION_COOKIE_NAME] = f"ada:{'k' * 43}"
    assert browser.get("/account/")["Clear-Site-Data"] == '"cache"'
    assert "Clear-Site-Data" not in Client().get("/account/")


@pytest.mark.parametrize("path", ["/deals/%FF%FE", "/deals/%C3%A4", "/deals/%25ff"])
def test_an_address_without_its_slash_is_escaped_once(client: Client, path: str):
    answer = client.get(f"{path}?a=%25FF")
    assert answer.get("Location") == f"{path}/?a=%25FF"
