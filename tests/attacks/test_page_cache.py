"""The pages that visitors share: whatever one of them sends along, the next one gets a page without a word of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.contrib.messages import INFO
from django.contrib.messages.storage.base import Message
from django.test import Client, RequestFactory
from django.utils import timezone

from dealsite.accounts import requests
from dealsite.data.table import client
from dealsite.data.table.ids import new_ulid
from dealsite.web import page_cache
from dealsite.web.page_cache import MessageCookie
from tests.attacks.conftest import browser_of
from tests.builders import EDITOR
from tests.seeded import ADMIN, SHOPPER, Content
from tests.table_requests import Request, handled

MARK = "poisoned.example"
LINE = re.compile(rb'\n\n<p class="alert[^>]* role="status">.*?</p>\n', re.DOTALL)
# What caches have been poisoned by elsewhere, and what a page could depend on.
HEADERS = {
    "X-Forwarded-Host": MARK,
    "X-Forwarded-Server": MARK,
    "X-Host": MARK,
    "X-Original-Host": MARK,
    "Forwarded": f"host={MARK};proto=https",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Scheme": MARK,
    "X-Forwarded-Port": "444",
    "X-Forwarded-Prefix": f"/{MARK}",
    "X-Forwarded-For": f"{MARK}, 127.0.0.1",
    "X-Original-URL": f"/{MARK}/",
    "X-Rewrite-URL": f"/{MARK}/",
    "X-HTTP-Method-Override": "POST",
    "Accept-Language": f"de, {MARK}",
    "Accept": f"application/{MARK}",
    "Accept-Encoding": f"gzip, {MARK}",
    "User-Agent": f"<script>{MARK}</script>",
    "Referer": f"https://{MARK}/",
    "Origin": f"https://{MARK}",
    "Page-Language": "de",
    "HX-Current-URL": f"https://{MARK}/",
    "HX-Target": MARK,
    "HX-Request": "true",
    "HX-Boosted": "true",
    "HX-History-Restore-Request": "true",
    "HX-Trigger": MARK,
    "HX-Prompt": MARK,
    "Range": "bytes=0-9",
    "If-None-Match": f'"{MARK}"',
    "If-Modified-Since": "Sun, 22 Nov 2099 00:00:00 GMT",
    "Authorization": f"Bearer {MARK}",
    "Cache-Control": "max-age=99999",
    "Sec-Fetch-Site": "cross-site",
}
COOKIES = {
    "theme": MARK,
    "csrftoken": MARK,
    site_settings.CSRF_COOKIE_NAME: MARK,
    "utm": MARK,
    "device-8000": MARK,
}
PATHS = (
    "/",
    "/brands/nordlicht/",
    "/editors-choice/",
    "/categories/toys-hobbies/",
    "/search/?q=deal",
    "/deals.atom",
)


@pytest.fixture
def shared(site: Content, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Content:
    """The site with its cache of pages on; time stands still for it."""
    settings.DEALSITE_PAGE_CACHE_SECONDS = 2
    monkeypatch.setattr(page_cache, "clock", lambda: 100.0)
    return site


def same(content: bytes) -> bytes:
    """Return a page without the numbers that its forms get whenever it is made."""
    return re.sub(rb"[0-9A-HJKMNP-TV-Z]{26}", b"", content)


def clean(path: str) -> bytes:
    page_cache.forget()
    return same(Client().get(path).content)


@pytest.mark.sample(quick=3)
@pytest.mark.parametrize("path", PATHS)
def test_no_header_of_one_visitor_is_in_the_page_of_the_next(shared: Content, path: str):
    wanted = clean(path)
    changed = []
    for name, value in HEADERS.items():
        page_cache.forget()
        Client().get(path, headers={name: value})
        answer = Client().get(path)
        if (
            same(answer.content) != wanted
            or answer.status_code != 200
            or MARK.encode() in str(answer.headers).encode()
        ):
            changed.append(name)
    assert changed == []


def test_what_a_link_carries_along_is_in_no_page_and_shares_the_page_without_it(
    shared: Content, subtests: pytest.Subtests
):
    for path in (
        "/",
        "/?tab=hot",
        "/brands/nordlicht/",
        "/brands/",
        "/editors-choice/",
        "/about/terms/",
        "/deals.atom",
    ):
        with subtests.test(path=path):
            wanted = clean(path)
            page_cache.forget()
            link = f"{path}{'&' if '?' in path else '?'}fbclid={MARK}&utm_source={MARK}"
            assert same(Client().get(link).content) == wanted
            (pages,) = page_cache._pages._groups.values()
            assert Client().get(path).content == Client().get(f"{link}2").content
            assert len(pages) == 1


def test_no_cookie_of_one_visitor_is_in_the_page_of_the_next(shared: Content, subtests: pytest.Subtests):
    for path in PATHS:
        with subtests.test(path=path):
            wanted = clean(path)
            for name, value in COOKIES.items():
                page_cache.forget()
                browser = Client()
                browser.cookies[name] = value
                browser.get(path)
                answer = Client().get(path)
                assert same(answer.content) == wanted, name
                assert not answer.cookies


def test_nothing_of_a_user_is_in_the_page_of_the_next_visitor_nor_the_other_way(
    shared: Content, subtests: pytest.Subtests
):
    for who in [SHOPPER, EDITOR, ADMIN]:
        for path in PATHS:
            with subtests.test(path=path, who=who):
                wanted = clean(path)
                page_cache.forget()
                personal = browser_of(shared, who).get(path)
                answer = Client().get(path)
                assert same(answer.content) == wanted
                assert site_settings.SESSION_COOKIE_NAME not in answer.cookies
                again = browser_of(shared, who).get(path)
                if path != "/deals.atom":
                    assert same(personal.content) != wanted
                    assert same(again.content) != wanted


def test_no_cache_is_told_to_share_what_a_cookie_changes(shared: Content, subtests: pytest.Subtests):
    """Not even one that keeps a page by its address alone, whatever the page says that it varies by."""
    signed = [one for one in vars(requests).values() if isinstance(one, requests.SignedCookie)]
    cookies = {one.name: one.sign(requests.Signed(SHOPPER, "x" * 43)) for one in signed}
    buyer = Client()
    offer = {"offer": f"{shared.id('ending')}:79.90", "token": new_ulid(timezone.now())}
    buyer.post("/cart/add/", offer, headers={"Sec-Fetch-Site": "same-origin"})
    for browser in (buyer, browser_of(shared, SHOPPER)):
        cookies |= {name: one.value for name, one in browser.cookies.items()}
    storage: Any = MessageCookie(RequestFactory().get("/"))
    message = storage._encode([Message(INFO, "Saved.")])
    cookies |= {requests._name("look"): "list.all", MessageCookie.cookie_name: message}
    assert {"cart", "session", "messages", "look", "device", "half"} <= {
        name.split("-")[0] for name in cookies
    }
    deal = Client().get(f"/deals/{shared.id('live')}/").headers["Location"]
    for path in (*PATHS, deal, "/brands/", "/about/terms/", "/?tab=hot"):
        wanted = clean(path)
        assert "public" in Client().get(path).get("Cache-Control", "") or path.startswith("/search/")
        for name, value in cookies.items():
            with subtests.test(path=path, cookie=name):
                browser = Client()
                browser.cookies[name] = value
                answer = browser.get(path)
                if "public" in answer.get("Cache-Control", ""):
                    assert (same(answer.content), dict(answer.cookies)) == (wanted, {})


def test_a_page_of_another_host_or_scheme_is_not_kept_for_ours(shared: Content, settings: Any):
    settings.ALLOWED_HOSTS = ["testserver", MARK]
    wanted = clean("/")
    page_cache.forget()
    Client().get("/", headers={"host": MARK})
    Client().get("/", secure=True)
    assert same(Client().get("/").content) == wanted
    settings.ALLOWED_HOSTS = ["testserver"]
    page_cache.forget()
    assert Client().get("/", headers={"host": MARK}).status_code == 400
    assert same(Client().get("/").content) == wanted


@pytest.mark.sample(quick=3)
@pytest.mark.parametrize("path", ["/", "/brands/nordlicht/", "/deals.atom"])
def test_nothing_that_visitors_send_is_in_the_page_that_stands_in_while_the_table_is_away(
    shared: Content, settings: Any, monkeypatch: pytest.MonkeyPatch, path: str
):
    settings.DEALSITE_PAGE_CACHE_SECONDS, settings.DEALSITE_STALE_SECONDS = 0, 300
    wanted = clean(path)
    is_away: list[bool] = []

    def fail(request: Request) -> None:
        if is_away:
            raise OSError("The engine is away.")

    monkeypatch.setattr(client, "pause", lambda seconds: None)
    changed, shown = [], 0
    with handled(fail):
        for name, value in [
            *HEADERS.items(),
            *(("Cookie", f"{name}={value}") for name, value in COOKIES.items()),
        ]:
            page_cache.forget()
            is_away.clear()
            Client().get(path, headers={name: value})
            is_away.append(True)
            answer = Client(raise_request_exception=False).get(path)
            if answer.status_code == 503:  # what was asked for was a part, or a page of another scheme
                continue
            shown += 1
            content = LINE.sub(page_cache.PLACE, answer.content)
            if same(content) != wanted or answer.cookies or MARK.encode() in str(answer.headers).encode():
                changed.append((name, value))
    assert changed == []
    assert shown > 20


# The form that needs no token

OWN, FOREIGN = "http://testserver", "https://evil.example"
ORIGINS = {
    "neither": ({}, False),
    "a page of this site": ({"Sec-Fetch-Site": "same-origin"}, True),
    "this site, as older browsers say": ({"Origin": OWN}, True),
    "both": ({"Sec-Fetch-Site": "same-origin", "Origin": OWN}, True),
    "another site": ({"Sec-Fetch-Site": "cross-site"}, False),
    "another site that names ours": ({"Sec-Fetch-Site": "cross-site", "Origin": OWN}, False),
    "a neighbour": ({"Sec-Fetch-Site": "same-site", "Origin": OWN}, False),
    "an address that was typed": ({"Sec-Fetch-Site": "none"}, False),
    "nothing said": ({"Sec-Fetch-Site": ""}, False),
    "in capitals": ({"Sec-Fetch-Site": "SAME-ORIGIN"}, False),
    "two words": ({"Sec-Fetch-Site": "same-origin, cross-site"}, False),
    "with a space": ({"Sec-Fetch-Site": "same-origin x"}, False),
    "a foreign origin": ({"Origin": FOREIGN}, False),
    "no origin": ({"Origin": "null"}, False),
    "an empty origin": ({"Origin": ""}, False),
    "https in place of http": ({"Origin": "https://testserver"}, False),
    "another port": ({"Origin": f"{OWN}:8080"}, False),
    "the usual port": ({"Origin": f"{OWN}:80"}, False),
    "a longer name": ({"Origin": f"{OWN}.evil.example"}, False),
    "a name before": ({"Origin": "http://evil-testserver"}, False),
    "a name in front of an at": ({"Origin": f"{OWN}@evil.example"}, False),
    "a path": ({"Origin": f"{OWN}/"}, False),
    "capitals": ({"Origin": "HTTP://TESTSERVER"}, False),
    "two origins": ({"Origin": f"{OWN} {FOREIGN}"}, False),
    "two origins, ours last": ({"Origin": f"{FOREIGN}, {OWN}"}, False),
    "a referrer alone": ({"Referer": f"{OWN}/"}, False),
    "htmx alone": ({"HX-Request": "true", "X-Requested-With": "XMLHttpRequest"}, False),
    "our name forwarded": ({"Origin": FOREIGN, "X-Forwarded-Host": "evil.example"}, False),
}


def test_a_form_without_a_token_is_taken_from_pages_of_this_very_origin_alone(subtests: pytest.Subtests):
    for case in ORIGINS:
        with subtests.test(case=case):
            headers, taken = ORIGINS[case]
            assert page_cache.is_from_this_site(RequestFactory().post("/cart/add/", headers=headers)) is taken


def test_and_nothing_is_put_into_a_cart_otherwise(site: Content):
    form = {"offer": f"{site.id('ending')}:79.90"}
    for headers, taken in ORIGINS.values():
        if not taken:
            answer = Client().post("/cart/add/", form, headers=headers)
            assert (answer.status_code, dict(answer.cookies)) == (403, {})
