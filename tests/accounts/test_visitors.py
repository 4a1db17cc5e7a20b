"""Who makes a request: found out when somebody asks, at the cost of one call, and never guessed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.template import engines
from django.test import Client, RequestFactory
from django.urls import get_resolver, path
from django.utils import timezone
from django.views.decorators.cache import cache_control

from dealsite.accounts.decorators import editors, signed_in
from dealsite.accounts.requests import client_address, device_name, network_of
from dealsite.data import keys, table
from dealsite.data.entities.people import ROLES
from dealsite.data.people import profiles, sessions, users
from dealsite.data.people.users import User
from dealsite.data.table.writes import Update
from tests.accounts.conftest import sign_in
from tests.pages import ROUTES, routes
from tests.people import NOW


def quiet(request: HttpRequest) -> HttpResponse:
    """A page that does not ask who is there."""
    return HttpResponse("quiet")


def name(request: HttpRequest) -> HttpResponse:
    template = engines["django"].from_string(
        "{{ user.name }} {{ user.roles|join:',' }}{% if user.is_authenticated %}!{% endif %}"
    )
    return HttpResponse(template.render({}, request))


def form(request: HttpRequest) -> HttpResponse:
    return HttpResponse(get_token(request))


def told(request: HttpRequest) -> HttpResponse:
    """A page that leaves a message for the next one, in a cookie."""
    messages.info(request, "Done.")
    return HttpResponse("told")


def clock(request: HttpRequest) -> HttpResponse:
    """A part of a page that shows a time and does not look at the user."""
    template = engines["django"].from_string("{{ when|date:'H:i T' }}")
    return HttpResponse(template.render({"when": datetime(2026, 7, 1, 12, tzinfo=UTC)}, request))


@editors.page("none")
def for_editors(request: HttpRequest) -> HttpResponse:
    return HttpResponse("welcome")


@signed_in.page("none")
def for_users(request: HttpRequest) -> HttpResponse:
    return HttpResponse("welcome")


urlpatterns = [
    *get_resolver("dealsite.urls").url_patterns,
    path("test/quiet", quiet),
    path("test/name", name),
    path("test/feed", cache_control(public=True)(name)),
    path("test/form", form),
    path("test/told", told),
    path("test/clock", clock),
    path("cms/test/forgot", quiet),
    path("cms/test/users", for_users),
    path("cms/test/editors", for_editors),
]


@pytest.fixture(autouse=True)
def _test_pages(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.accounts.test_visitors"


def cost(browser: Client, address: str) -> list[str]:
    with table.metered() as meter:
        browser.get(address)
    return [operation for operation, _ in meter.log]


def test_a_visitor_without_a_cookie_costs_nothing(browser: Client):
    assert cost(browser, "/test/name") == []
    assert browser.get("/test/name").content == b" "


def test_a_signed_in_page_costs_one_consistent_batch_get(browser: Client, ada: User):
    sign_in(browser)
    assert cost(browser, "/test/name") == ["BatchGetItem"]
    assert browser.get("/test/name").content == b"ada !"


def test_a_page_that_does_not_ask_costs_nothing(browser: Client, ada: User):
    sign_in(browser)
    assert cost(browser, "/test/quiet") == []


def test_the_account_page_costs_four_queries_more(browser: Client, ada: User):
    sign_in(browser)
    assert cost(browser, "/account/") == ["BatchGetItem"] + ["Query"] * 4


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "ada",
        "ada:",
        ":" + "k" * 43,
        "a#b:" + "k" * 43,
        "ADA:" + "k" * 43,
        "ada:" + "k" * 44,
        "\u00e9:" + "k" * 43,
    ],
)
def test_a_cookie_of_another_form_costs_nothing_and_is_removed(browser: Client, settings: Any, value: str):
    browser.cookies[settings.SESSION_COOKIE_NAME] = value
    with table.metered() as meter:
        answer = browser.get("/test/name")
    assert (answer.status_code, answer.content, meter.calls) == (200, b" ", 0)
    assert answer.cookies[settings.SESSION_COOKIE_NAME]["max-age"] == 0


@pytest.mark.parametrize("username", ["ada", "nobody"])
def test_a_session_that_is_over_is_a_visitor_and_its_cookie_is_removed(
    browser: Client, ada: User, settings: Any, username: str
):
    browser.cookies[settings.SESSION_COOKIE_NAME] = f"{username}:" + "k" * 43
    answer = browser.get("/test/name")
    assert (answer.status_code, answer.content) == (200, b" ")
    assert answer.cookies[settings.SESSION_COOKIE_NAME].value == ""


def test_a_good_cookie_is_left_alone(browser: Client, ada: User):
    sign_in(browser)
    assert not browser.get("/test/name").cookies


@pytest.mark.parametrize(
    ("page", "of_visitors", "of_users"),
    [
        ("/test/quiet", ("Cookie", ""), ("", "")),  # of no words, so in no language
        ("/test/name", ("Cookie", ""), ("Cookie", "private")),
        ("/test/feed", ("Cookie", "public"), ("Cookie", "private")),
        ("/test/form", ("Cookie", "private"), ("Cookie", "private")),
        ("/test/told", ("Cookie", "private"), ("", "private")),
        ("/nothing/", ("Cookie", ""), ("Cookie", "private")),
        ("/", ("HX-Request, Cookie", ""), ("HX-Request, Cookie", "private")),
        ("/deals.atom", ("Cookie", "public, max-age=300"), ("Cookie", "max-age=300, private")),
        ("/account/", ("Cookie", ""), ("Cookie", "private, no-store")),
    ],
)
def test_what_depends_on_a_session_or_holds_a_token_is_for_no_shared_cache(
    browser: Client, ada: User, page: str, of_visitors: tuple[str, str], of_users: tuple[str, str]
):
    def said() -> tuple[str, str]:
        answer = browser.get(page)
        varies = answer["Vary"].split(", ")
        varies.remove("Accept-Encoding")
        return ", ".join(varies), answer.get("Cache-Control", "")

    assert said() == of_visitors
    assert said() == of_visitors  # the page that was kept
    sign_in(browser)
    assert said() == of_users


def test_a_role_that_is_taken_away_is_gone_at_the_next_request(browser: Client, ada: User):
    sign_in(browser)
    assert browser.get("/cms/test/editors").status_code == 403
    users.give_role("ada", "editor", by="root", now=NOW)
    assert browser.get("/cms/test/editors").status_code == 200
    users.take_role("ada", "editor", by="root", now=NOW)
    assert browser.get("/cms/test/editors").status_code == 403


def test_an_admin_passes_every_role(browser: Client, ada: User):
    users.give_role("ada", "admin", by="root", now=NOW)
    sign_in(browser)
    assert browser.get("/cms/test/editors").status_code == 200


def test_last_seen_is_noted_by_a_request_an_hour_later(browser: Client, ada: User):
    sign_in(browser)
    (session,) = sessions.of_user("ada", now=timezone.now())
    earlier = timezone.now() - timedelta(hours=2)
    key = keys.session.given("ada", session.key_hash)
    table.write(Update(key=key, set={"seen_at": earlier.strftime("%Y-%m-%dT%H:%M:%S.000Z")}))
    assert cost(browser, "/test/name") == ["BatchGetItem", "UpdateItem"]
    assert cost(browser, "/test/name") == ["BatchGetItem"]
    (session,) = sessions.of_user("ada", now=timezone.now())
    assert timezone.now() - session.seen_at < timedelta(minutes=1)


# The table is down


@pytest.fixture
def engine_down(settings: Any) -> Any:
    """A function after which nothing answers where the engine was."""

    def stop() -> None:
        settings.DYNAMODB_ENDPOINT_URL = "http://127.0.0.1:9"
        table.reset()

    before = settings.DYNAMODB_ENDPOINT_URL
    yield stop
    settings.DYNAMODB_ENDPOINT_URL = before
    table.reset()


def test_without_the_table_a_signed_in_page_is_503_and_pages_for_visitors_work(
    browser: Client, ada: User, engine_down: Any
):
    sign_in(browser)
    engine_down()
    browser.raise_request_exception = False
    answer = browser.get("/account/")
    assert answer.status_code == 503
    assert answer["Retry-After"]
    assert not answer.cookies
    assert Client().get("/account/sign-in/").status_code == 200
    assert browser.get("/test/quiet").status_code == 200
    assert sign_in(Client()).status_code == 503


# Time zones


def test_times_stand_in_the_zone_of_the_user_and_in_parts_of_pages_too(
    browser: Client, ada: User, settings: Any
):
    settings.DEALSITE_TIME_ZONE = "Europe/London"
    assert browser.get("/test/clock").content == b"13:00 BST"
    sign_in(browser)
    assert browser.get("/test/clock").content == b"13:00 BST"
    profile = profiles.edit(profiles.get("ada"), name="ada", timezone="Asia/Tokyo")
    assert browser.get("/test/clock").content == b"21:00 JST"
    profiles.edit(profile, name="ada", timezone="Mars/Olympus")
    assert browser.get("/test/clock").content == b"13:00 BST"
    assert Client().get("/test/clock").content == b"13:00 BST"


# Roles of the CMS


def test_every_page_of_the_cms_names_a_role():
    pages = [route for route in routes() if route.pattern.startswith("cms/")]
    assert len(pages) > 10
    assert [route.name for route in pages if not route.roles] == []


@pytest.mark.parametrize("address", ["/cms/test/forgot", "/cms/test/users"])
def test_a_page_of_the_cms_that_forgot_its_role_is_shut_to_everybody(
    browser: Client, ada: User, address: str
):
    users.give_role("ada", "admin", by="root", now=NOW)
    assert browser.get(address).status_code == 403
    sign_in(browser)
    assert browser.get(address).status_code == 403


def test_no_view_asks_for_a_role_that_does_not_exist():
    assert {role for route in ROUTES.values() for role in route.roles or ()} == set(ROLES)


# Addresses and devices


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "203.0.113.1", "10.0.0.1"),
        (1, "203.0.113.1", "203.0.113.1"),
        (1, "6.6.6.6, 203.0.113.1", "203.0.113.1"),
        (2, "6.6.6.6, 203.0.113.1, 10.9.9.9", "203.0.113.1"),
        (2, "203.0.113.1", "10.0.0.1"),
        (1, "", "10.0.0.1"),
        (1, "nonsense", "unknown"),
        (1, "2001:DB8::1", "2001:db8::1"),
        (1, "::ffff:203.0.113.1", "203.0.113.1"),
    ],
)
def test_the_address_is_what_the_last_trusted_proxy_saw(
    settings: Any, proxies: int, forwarded: str, address: str
):
    settings.DEALSITE_TRUSTED_PROXIES = proxies
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    assert client_address(RequestFactory().get("/", headers=headers, REMOTE_ADDR="10.0.0.1")) == address


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.1", "203.0.113.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
    ],
)
def test_a_network_is_what_one_visitor_can_hold(address: str, network: str):
    assert network_of(address) == network


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0",
            "Edge on Windows",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1",
            "Safari on iPhone",
        ),
        (
            "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36",
            "Chrome on Android",
        ),
        ("curl/8.0", "curl"),
        ("", "Unknown device"),
        ("<script>", "Unknown device"),
    ],
)
def test_a_device_is_named_in_words(user_agent: str, words: str):
    assert device_name(user_agent) == words
