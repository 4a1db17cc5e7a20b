"""What holds for every answer of the site, and for what it logs (docs/asvs.csv names these tests)."""

from __future__ import annotations

import logging
import time
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from django.conf import settings as site_settings
from django.core import signing
from django.core.handlers.exception import response_for_exception
from django.forms import Form
from django.http import HttpResponse
from django.test import Client, RequestFactory

from dealsite.accounts import forms, passwords, requests
from dealsite.accounts.decorators import editors, signed_in
from dealsite.accounts.forms import PasswordField
from dealsite.accounts.passwords import Owner
from dealsite.web.page_cache import MessageCookie
from dealsite.web.pages import page_of
from tests.pages import ROUTES
from tests.setup.test_environment import settings_with

TYPED = [  # address, status, type: a page, what machines read, a redirect, refusals, a picture that is not there
    ("/account/sign-in/", 200, "text/html; charset=utf-8"),
    ("/robots.txt", 200, "text/plain; charset=utf-8"),
    ("/.well-known/security.txt", 200, "text/plain; charset=utf-8"),
    ("/sitemaps/pages.xml", 200, "application/xml; charset=utf-8"),
    ("/healthz", 200, "text/plain; charset=utf-8"),
    ("/cms/", 302, "text/html; charset=utf-8"),
    ("/nowhere/", 404, "text/html; charset=utf-8"),
    ("/media/pictures/none.webp", 404, "text/html; charset=utf-8"),
]
THE_SAME_FOR_ALL = {"reset_password_sent"}
PLACES = [
    "/static/",
    "/static/css/",
    "/media/",
    "/media/pictures/",
    "/.git/HEAD",
    "/.git/config",
    "/.env",
    "/manage.py",
]


@pytest.mark.parametrize(("address", "status", "kind"), TYPED)
def test_an_answer_says_what_it_is_and_what_a_browser_may_do_with_it(client: Client, address, status, kind):
    answer = client.get(address, HTTP_ORIGIN="https://other.example")
    assert (answer.status_code, answer["Content-Type"]) == (status, kind)
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "strict-origin-when-cross-origin"
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"
    policy = dict(
        directive.strip().partition(" ")[::2] for directive in answer["Content-Security-Policy"].split(";")
    )
    assert policy["script-src"] == "'self'"
    for directive in ("default-src", "object-src", "base-uri", "frame-ancestors"):
        assert policy[directive] == "'none'"
    assert not answer.has_header("Access-Control-Allow-Origin")
    assert not answer.has_header("Server")


@pytest.mark.parametrize("address", PLACES)
def test_no_folder_and_no_source_is_served(client: Client, address: str):
    answer = client.get(address)
    assert answer.status_code == 404
    assert b"Index of" not in answer.content


@pytest.mark.parametrize("address", ["/", "/account/sign-in/", "/healthz", "/robots.txt", "/cart/"])
def test_nothing_answers_trace_or_connect(client: Client, address: str):
    for method in ("TRACE", "CONNECT"):
        answer = client.generic(method, address, HTTP_COOKIE="planted=1")
        assert (answer.status_code, b"planted" in answer.content) == (405, False)


def test_what_only_users_see_is_stored_nowhere():
    @editors.page("none")
    def of_a_role(request: Any) -> HttpResponse:
        return HttpResponse("private")

    @signed_in.page("none")
    def of_a_user(request: Any) -> HttpResponse:
        return HttpResponse("private")

    for view in (of_a_role, of_a_user):
        request: Any = RequestFactory().get("/")
        account = SimpleNamespace(two_factor="passed")
        request.user = SimpleNamespace(
            is_authenticated=True, has_role=lambda *names: True, roles=frozenset({"editor"}), account=account
        )
        said = {part.strip() for part in view(request)["Cache-Control"].split(",")}
        assert {"private", "no-store"} <= said


def test_every_page_under_account_and_cms_is_for_users_or_never_kept(client: Client):
    for name, route in ROUTES.items():
        if (
            not route.pattern.startswith(("account/", "cms/"))
            or route.roles is not None
            or name in THE_SAME_FOR_ALL
        ):
            continue
        address = "/" + route.pattern.replace("<str:username>", "ada").replace("<str:token>", "x-y")
        answer = client.post(address) if page_of(route.view).kind == "action" else client.get(address)
        kept = answer.get("Cache-Control", "")
        assert "no-store" in kept or answer.status_code in (302, 405), name


def test_a_password_is_masked_and_filled_in_by_its_manager():
    classes: list[Any] = [one for one in vars(forms).values() if isinstance(one, type)]
    fields = [
        field
        for form in classes
        if issubclass(form, Form)
        for name, field in form.base_fields.items()
        if "password" in name
    ]
    assert len(fields) >= 5
    for field in fields:
        assert isinstance(field, PasswordField)
        html = field.widget.render("password", "typed")
        assert 'type="password"' in html
        assert "typed" not in html  # never sent back
        assert field.widget.attrs["autocomplete"] in ("current-password", "new-password")


def test_a_value_never_makes_a_line_of_its_own_in_the_log(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO):
        structlog.get_logger("tests").info("signed_in", username="ada\n2026-01-01 ERROR forged\r\x1b[2J")
    (record,) = [record for record in caplog.records if "signed_in" in record.getMessage()]
    assert not set(record.getMessage()) & set("\n\r\x1b")


def test_lines_of_the_log_are_in_utc_and_name_their_time():
    assert "%(asctime)s" in site_settings.LOGGING["formatters"]["plain"]["format"]
    assert time.tzname[0] == "UTC"
    assert site_settings.USE_TZ


def test_logs_go_where_the_inventory_says_and_nowhere_else():
    handlers = site_settings.LOGGING["handlers"]
    assert {handler["class"] for handler in handlers.values()} == {"logging.StreamHandler"}
    assert not any(
        "mail_admins" in logger.get("handlers", ()) for logger in site_settings.LOGGING["loggers"].values()
    )


def test_a_mistake_of_ours_is_logged_with_its_cause(caplog: pytest.LogCaptureFixture):
    request = RequestFactory().get("/somewhere/")
    with caplog.at_level(logging.ERROR, logger="django.request"):
        try:
            raise RuntimeError("broken")
        except RuntimeError as error:
            response_for_exception(request, error)
    (record,) = [record for record in caplog.records if record.name == "django.request"]
    assert record.getMessage().startswith("Internal Server Error")
    assert record.exc_info
    assert str(record.exc_info[1]) == "broken"


def test_a_signature_of_one_purpose_is_worth_nothing_for_another():
    kinds = (requests.DEVICE, requests.RESET_LINK, requests.HALF)
    for kind in kinds:
        text = kind.sign(requests.Signed("ada", "number"))
        assert [other.unsign(text) is not None for other in kinds] == [other is kind for other in kinds]
        assert kind.unsign(text[:-1] + ("A" if text[-1] != "A" else "B")) is None


def test_signatures_are_of_256_bits_under_the_sites_key(settings):
    assert signing.Signer(salt="x").algorithm == "sha256"
    text = requests.DEVICE.sign(requests.Signed("ada", "number"))
    settings.SECRET_KEY = "of another site" * 4
    assert requests.DEVICE.unsign(text) is None


@pytest.mark.parametrize("length", [64, 100, passwords.MOST_CHARACTERS])
def test_long_passwords_of_any_letters_are_taken_whole(length: int):
    password = ("Grüße aus 東京 – " * 40)[:length]
    passwords.check(password, Owner("ada", "Ada", "ada@example.org"))
    stored = passwords.hashed(password)
    assert passwords.matches(password, stored)
    assert not passwords.matches(password[:-1], stored)


def test_what_stands_in_the_address_is_no_field_of_a_form(client: Client):
    answer = client.post("/account/sign-in/?name=ada&password=correct+horse+battery", {"next": "/"})
    assert set(answer.context["form"].errors) == {"name", "password"}


def test_the_way_to_https_is_shown_to_pages_and_not_to_machines(client: Client, settings):
    settings.SECURE_SSL_REDIRECT = True
    answer = client.get("/account/sign-in/")
    assert (answer.status_code, answer["Location"]) == (301, "https://testserver/account/sign-in/")
    assert client.get("/healthz").status_code == 200


def test_every_cookie_of_a_public_site_is_bound_to_its_host(tmp_path):
    names = settings_with(
        tmp_path, "SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME", DEALSITE_URL="https://deals.example"
    )
    assert set(names.values()) == {"__Host-session", "__Host-csrftoken"}
    assert MessageCookie.cookie_name == site_settings.SESSION_COOKIE_NAME.replace("session", "messages")
    signed = [one for one in vars(requests).values() if isinstance(one, requests.SignedCookie)]
    assert len(signed) == 6
    for one in signed:
        assert one.name == site_settings.SESSION_COOKIE_NAME.replace("session", one.short_name)


def test_sessions_are_long_random_and_made_anew():
    keys = {requests.new_key() for _ in range(100)}
    assert len(keys) == 100
    assert requests.KEY_BYTES * 8 == 256
    assert all(requests.KEY_PATTERN.fullmatch(key) for key in keys)
