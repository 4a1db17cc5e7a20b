"""While the table is away, a page of the last five minutes stands in for the one that cannot be made, and says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.test import Client
from django.utils import timezone

from dealsite.data.catalogue.display_names import category_names
from dealsite.data.table.errors import Busy, Unavailable
from dealsite.web import page_cache
from tests.builders import HOUR, NOW
from tests.people import signed_in
from tests.seeded import SHOPPER, Content, seeded_site
from tests.table_requests import Request, handled
from tests.web.test_page_cache import ask

WORDS = "The site cannot reach its data just now"
WARNING = '111 - "Revalidation Failed"'
HTML = ("/", "/brands/", "/brands/nordlicht/", "/categories/toys-hobbies/", "/editors-choice/")
FEEDS = ("/deals.atom", "/brands/nordlicht/deals.atom", "/categories/toys-hobbies/deals.atom")
SITEMAPS = ("/sitemap.xml", "/sitemaps/brands-1.xml", f"/sitemaps/deals-{(NOW - HOUR).date()}.xml")
HTMX = {"HX-Request": "true"}


@pytest.fixture(scope="module")
def content(native_engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Content]:
    """A site with content of every kind, made once, at a time that stands still."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: NOW)
        with seeded_site(native_engine, tmp_path_factory.mktemp("stale")) as made:
            yield made


@pytest.fixture
def site(content: Content, engine: str, settings: Any) -> Content:
    """That site, for one test."""
    content.use(settings)
    category_names.forget()
    category_names.names()
    return content


class Clock:
    seconds = 100.0

    def pass_by(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def clock(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """Time as the cache and the pages see it."""
    settings.DEALSITE_STALE_SECONDS = 300
    clock = Clock()
    monkeypatch.setattr(page_cache, "clock", lambda: clock.seconds)
    monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(seconds=clock.seconds - 100))
    page_cache.forget()
    category_names.forget()  # that a test before could not read them: such a page is not kept
    yield clock
    page_cache.forget()


class Away:
    """The table of one test: there, or away."""

    def __init__(self) -> None:
        self.is_away = False

    def __call__(self, request: Request) -> None:
        if self.is_away:
            raise OSError("The engine is away.")


@pytest.fixture
def away(site: Content, clock: Clock) -> Iterator[Away]:
    """A switch that takes the table away from the seeded site."""
    switch = Away()
    with handled(switch):
        yield switch


@pytest.fixture
def browser() -> Client:
    return Client(raise_request_exception=False)


def deal_path(site: Content) -> str:
    deal = site.deals["live"]
    return f"/deals/{deal.id}/{deal.card.slug}/"


def without_line(content: bytes) -> bytes:
    line = re.compile(rb'\n\n<p class="alert alert-soft mb-6" role="status">.*?</p>\n', re.DOTALL)
    return line.sub(page_cache.PLACE, content)


@pytest.mark.parametrize("path", [*HTML, *FEEDS, *SITEMAPS, "deal"])
def test_every_public_page_is_shown_as_it_was(
    site: Content, away: Away, clock: Clock, browser: Client, path: str
):
    path = deal_path(site) if path == "deal" else path
    before = browser.get(path)
    assert before.status_code == 200
    assert WORDS not in before.content.decode()
    away.is_away = True
    clock.pass_by(90)
    answer = browser.get(path)
    assert answer.status_code == 200
    assert (answer["Age"], answer["Warning"]) == ("90", WARNING)
    assert answer["Cache-Control"] == "no-store"
    assert answer["Content-Type"] == before["Content-Type"]
    assert answer["Content-Length"] == str(len(answer.content))
    assert not answer.cookies
    is_page = before["Content-Type"].startswith("text/html")
    assert answer.content.decode().count(WORDS) == is_page
    assert without_line(answer.content) == before.content
    away.is_away = False
    assert "Age" not in browser.get(path)


def test_the_line_says_since_when_in_which_zone_and_is_a_status(away: Away, clock: Clock, browser: Client):
    browser.get("/")
    away.is_away = True
    clock.pass_by(61)
    html = browser.get("/").content.decode()
    line = re.search(r'<p class="alert[^>]* role="status">.*?</p>', html, re.DOTALL)
    assert line is not None
    assert f'<time datetime="{NOW:%Y-%m-%dT%H:%M:%SZ}" data-moment>' in line[0]
    assert f"{NOW:%H:%M} UTC</time>" in line[0]
    assert html.index('<main id="main"') < line.start() < html.index("<h1")


def test_the_line_speaks_the_language_of_the_page(
    away: Away, settings: Any, browser: Client, monkeypatch: pytest.MonkeyPatch
):
    settings.LANGUAGE_CODE, settings.DEALSITE_TIME_ZONE = "de", "Europe/Berlin"
    browser.get("/")
    away.is_away = True
    html = browser.get("/").content.decode()
    assert "erreicht ihre Daten gerade nicht. Sie sehen" in html
    assert re.search(r"\d\d:\d\d CET</time>", html)


def test_after_five_minutes_the_page_is_503(away: Away, clock: Clock, browser: Client):
    browser.get("/")
    away.is_away = True
    clock.pass_by(299.9)
    assert browser.get("/").status_code == 200
    clock.pass_by(0.1)
    answer = browser.get("/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert WORDS not in answer.content.decode()


def test_a_page_that_nobody_has_seen_is_503(away: Away, browser: Client):
    browser.get("/")
    away.is_away = True
    for path in ("/brands/", "/?tab=ending", "/deals.atom"):
        assert browser.get(path).status_code == 503
    assert browser.get("/", headers=HTMX).status_code == 503


def test_the_setting_turns_it_off(away: Away, clock: Clock, settings: Any, browser: Client):
    settings.DEALSITE_STALE_SECONDS = 0
    settings.DEALSITE_PAGE_CACHE_SECONDS = 2
    browser.get("/")
    away.is_away = True
    assert browser.get("/").status_code == 200
    clock.pass_by(2)
    assert browser.get("/").status_code == 503


def test_a_page_with_a_deal_whose_end_has_passed_is_not_shown(
    site: Content, away: Away, clock: Clock, browser: Client
):
    ending = site.deals["ending"]
    seconds = (ending.card.expires_at - NOW).total_seconds()
    clock.pass_by(seconds - 60)
    lists = ("/", "/brands/nordlicht/", f"/categories/{ending.card.category}/", "/editors-choice/")
    paths = (*lists, f"/deals/{ending.id}/{ending.card.slug}/")
    shown = [path for path in paths if ending.card.title in browser.get(path).content.decode()]
    assert shown == list(paths)
    browser.get("/brands/")
    away.is_away = True
    clock.pass_by(59)
    assert {browser.get(path).status_code for path in shown} == {200}
    clock.pass_by(1)
    assert {browser.get(path).status_code for path in shown} == {503}
    assert browser.get("/brands/").status_code == 200


def test_a_part_for_htmx_is_a_part(away: Away, browser: Client):
    part = browser.get("/", headers=HTMX)
    away.is_away = True
    answer = browser.get("/", headers=HTMX)
    assert (answer.content, answer["Warning"]) == (part.content, WARNING)


def test_head_is_answered_from_what_get_left_and_the_other_way(away: Away, browser: Client):
    browser.get("/")
    browser.head("/brands/")
    away.is_away = True
    assert browser.head("/")["Warning"] == WARNING
    assert WORDS in browser.get("/brands/").content.decode()


def test_a_form_that_is_sent_is_503(site: Content, away: Away, browser: Client):
    browser.get("/")
    away.is_away = True
    form = {"offer": f"{site.id('ending')}:79.90"}
    answer = browser.post("/cart/add/", form, headers={"Sec-Fetch-Site": "same-origin"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")


# Who is signed in, and what is theirs


def test_who_is_signed_in_sees_what_all_saw_and_their_cookies_stay(
    site: Content, away: Away, browser: Client
):
    before = browser.get("/brands/nordlicht/")
    user = signed_in(site.users[SHOPPER], now=NOW, raise_request_exception=False)
    mine = user.get("/brands/nordlicht/").content.decode()
    name = site.users[SHOPPER].name
    assert name in mine
    away.is_away = True
    answer = user.get("/brands/nordlicht/")
    assert answer.status_code == 200
    assert without_line(answer.content) == before.content
    assert name not in answer.content.decode()
    assert not answer.cookies
    assert "Clear-Site-Data" not in answer
    away.is_away = False
    assert name in user.get("/brands/nordlicht/").content.decode()


@pytest.mark.parametrize("cookie", ["session", "messages", "cart"])
def test_nothing_is_kept_of_who_has_an_account_a_message_or_a_cart(
    site: Content, away: Away, browser: Client, cookie: str
):
    user = Client(raise_request_exception=False)
    if cookie == "session":
        user = signed_in(site.users[SHOPPER], now=NOW, raise_request_exception=False)
    else:
        name = site_settings.SESSION_COOKIE_NAME.replace("session", cookie)
        user.cookies[name] = "k" * 43
    assert user.get("/").status_code == 200
    away.is_away = True
    assert browser.get("/").status_code == 503
    assert user.get("/").status_code == 503


def test_who_has_a_cart_sees_the_page_of_those_without_one(away: Away, browser: Client):
    before = browser.get("/")
    away.is_away = True
    browser.cookies[site_settings.SESSION_COOKIE_NAME.replace("session", "cart")] = "k" * 43
    assert without_line(browser.get("/").content) == before.content


def test_the_token_of_a_page_that_could_not_be_finished_is_not_sent(clock: Clock):
    @page_cache.for_visitors
    def view(request: Any) -> HttpResponse:
        if "signed-in" in request.headers:
            get_token(request)
            raise Busy
        return HttpResponse("page")

    view(ask())
    request = ask(signed_in="1")
    assert view(request).content == b"page"
    assert "CSRF_COOKIE_NEEDS_UPDATE" not in request.META


def test_only_an_answer_that_was_whole_stands_in(clock: Clock):
    @page_cache.for_visitors
    def view(request: Any) -> HttpResponse:
        status = request.headers.get("status")
        if status is None:
            raise Unavailable
        return HttpResponse("page", status=int(status))

    for status in ("404", "500", "206", "301"):
        view(ask(status=status))
        with pytest.raises(Unavailable):
            view(ask())
    view(ask(status="200"))
    view(ask(status="404"))
    assert view(ask()).content == b"page"


def test_other_errors_are_not_hidden(clock: Clock):
    @page_cache.for_visitors
    def view(request: Any) -> HttpResponse:
        if "wrong" in request.headers:
            raise ValueError("a mistake of ours")
        return HttpResponse("page")

    view(ask())
    with pytest.raises(ValueError, match="a mistake of ours"):
        view(ask(wrong="1"))


def test_the_log_says_that_a_page_came_from_memory(away: Away, browser: Client, caplog: Any):
    browser.get("/")
    away.is_away = True
    browser.get("/")
    lines = [record.getMessage() for record in caplog.records if "page_from_memory" in record.getMessage()]
    assert len(lines) == 1
    assert "page='/'" in lines[0]
    assert "The engine is away." in lines[0]
