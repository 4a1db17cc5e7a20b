"""What each view says of its page is true: what it costs, and who may see it."""

from __future__ import annotations

import inspect
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.messages import constants
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import NoReverseMatch
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from dealsite import middleware
from dealsite.accounts import requests, sign_in
from dealsite.accounts.decorators import editors, fresh, sent_again
from dealsite.data import table
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.people import profiles, sessions
from dealsite.templatetags import kept
from dealsite.templatetags.design import _brief
from dealsite.templatetags.kept import KeptNode, KeptParts
from dealsite.web import page_cache
from dealsite.web.pages import page_of
from tests.builders import EDITOR, NOW, all_brands
from tests.pages import ROUTES, Route, routes
from tests.people import signed_in as signed_in_browser
from tests.questions import budget, in_words
from tests.sampling import is_due
from tests.seeded import ADMIN, BACK_OFFICE, SHOPPER, VISITOR, Content, seeded_site
from tests.slow_table import CALL, SlowTable
from tests.table_requests import Request, handled

ROLES = {SHOPPER: (), EDITOR: ("editor",), BACK_OFFICE: ("back office",), ADMIN: ("editor", "back office")}
MOST_IN_SERIES = (
    6  # calls; at 0.2 s each, 1.2 s. tests/data/catalogue/test_slow_lists.py has lists of few deals a day
)
DATA_SECONDS = middleware.DATA_SECONDS  # before a fixture gives pages more
FREE = ("healthz", "readyz")  # which never ask who is there
OF_AN_AUDIENCE = (
    "cms_download_export",
)  # a file of the back office is not for editors, nor the other way round


@pytest.fixture(scope="module")
def content(native_engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Content]:
    """A site with content of every kind, made once, at a time that stands still."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: NOW)
        with seeded_site(native_engine, tmp_path_factory.mktemp("pages")) as made:
            yield made


@pytest.fixture
def site(content: Content, engine: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Content:
    """That site, its names of brands and categories already read, and nothing known of its admins."""
    monkeypatch.setitem(sign_in._admin_seen, "is_there", False)
    content.use(settings)
    page_cache.forget()
    category_names.forget()
    category_names.names()
    brand_names.names([brand.slug for brand in all_brands()])
    return content


def browser_of(site: Content, who: str, **options: Any) -> Client:
    return signed_in_browser(site.users[who], now=NOW, **options) if who else Client(**options)


def answer_of(browser: Client, address: str, method: str = "get") -> Any:
    """Return the answer of an address, its file closed."""
    answer = getattr(browser, method)(address)
    answer.close()
    return answer


# What the views say


def test_every_view_says_what_its_page_is():
    silent = [route.name for route in routes() if page_of(route.view) is None]
    assert silent == [], (
        "Say whom these views are for: @everyone.page, @editors.action or the like of dealsite/web/pages.py"
    )


def test_what_a_view_says_is_seen_through_all_that_guards_it():
    @sent_again
    @editors.page("1 query")
    @fresh
    def view(request: Any) -> HttpResponse:
        return HttpResponse()

    assert page_of(view).requests == "1 query"


# What they cost


OF_TARGETS = ("deal", "brand", "category")


def expected(route: Route, at: str, visitor: str) -> tuple[int, ...]:
    """Return how a page may answer: only an address that its view chose may lead to what is not there."""
    if route.page.kind == "action":
        return (405,)
    there = (200, 204, 302, 410) if visitor else (200, 204, 302, 401, 410)
    return (*there, 404, 422) if at else there


@pytest.mark.parametrize("face", ["cms", "shopping", "dealsite"])
def test_a_page_is_there_and_costs_what_its_view_says(
    face: str, site: Content, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
):
    for user in site.users.values():
        sessions.end_all(user.username)  # of other faces: a page that lists them would need another query
    slow = SlowTable(monkeypatch, reads_ahead=False)
    for name, route in ROUTES.items():
        if not route.view.__module__.startswith(face):
            continue
        visitors = dict.fromkeys([route.seen_by, *([] if name in FREE else [route.seen_by or SHOPPER])])
        for visitor, (at, address) in product(
            visitors, zip(route.page.at, route.addresses(site), strict=True)
        ):
            with subtests.test(f"{name} {address} {visitor}"):
                browser, before = browser_of(site, visitor), slow.now
                with table.metered() as meter:
                    status = answer_of(browser, address).status_code
                assert slow.now - before < (MOST_IN_SERIES + 0.5) * CALL, "waits for call after call"
                assert status in expected(route, at, visitor)
                sent = Counter(operation for operation, _ in meter.log)
                # Who is signed in, and how they stand to what the page is about.
                known = Counter(BatchGetItem=1, Query=int(name in OF_TARGETS)) if visitor else Counter()
                said = [budget(one) + known for one in route.page.requests.split(" or ")]
                if visitor == route.seen_by and at == route.page.at[0]:
                    assert sent == said[0], f"{name} sends {in_words(sent - known)}"
                else:
                    assert Counter() in [sent - one for one in said]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["cms_deals", "cms_payments", "cms_overdue_payments"])
def test_a_list_of_the_cms_is_shown_by_a_table_that_takes_a_fifth_of_a_second(
    name: str, site: Content, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(middleware, "DATA_SECONDS", DATA_SECONDS)
    route = ROUTES[name]
    browser, address = browser_of(site, route.seen_by), route.addresses(site)[0]

    def wait(request: Request) -> None:
        time.sleep(CALL)

    with handled(wait):
        assert answer_of(browser, address).status_code == 200


# Who may see them


def may_see(route: Route, visitor: str) -> bool:
    """Tell whether the decorators of a view let somebody in."""
    if route.roles is None:
        return True
    return bool(visitor) and (
        not route.roles or visitor == ADMIN or not route.roles.isdisjoint(ROLES[visitor])
    )


@pytest.mark.each_run
@pytest.mark.parametrize("visitor", [VISITOR, SHOPPER, EDITOR, BACK_OFFICE, ADMIN])
def test_a_page_is_open_to_whom_its_decorators_name_and_shut_to_all_others(visitor: str, site: Content):
    browser = browser_of(site, visitor)
    wrong: list[tuple[Any, ...]] = []
    for route in ROUTES.values():
        if not is_due(f"{route.name} {visitor}", quick=3):
            continue
        address = route.addresses(site)[0]
        answer = answer_of(browser, address)
        back = "" if route.page.kind == "action" else f"?{urlencode({'next': address})}"
        to_sign_in = answer.get("Location", "") == f"/account/sign-in/{back}"
        if may_see(route, visitor):
            if to_sign_in or (answer.status_code == 403 and route.name not in OF_AN_AUDIENCE):
                wrong.append((address, answer.status_code))
            continue
        sent = answer_of(browser, address, "post").status_code
        # A visitor's form is kept, and goes on after signing in in its place.
        if not ((answer.status_code, sent) == (403, 403) if visitor else to_sign_in and sent == 401):
            wrong.append((address, answer.status_code, sent))
    assert wrong == []


# What is kept of them


def changes(value: Any) -> Iterator[Any]:
    """Yield values like another one, each of which differs in one place."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, SafeString):
        yield SafeString(value + "x")
    elif isinstance(value, str | Promise):
        yield f"{value}x"
    elif isinstance(value, int | Decimal):
        yield value + 1
    elif isinstance(value, datetime):
        yield value + timedelta(days=40)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            for changed in changes(getattr(value, one.name)):
                yield replace(value, **{one.name: changed})
    elif isinstance(value, dict):
        for name in value:
            for changed in changes(value[name]):
                yield {**value, name: changed}
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value[:3]):
            for changed in changes(one):
                yield type(value)([*value[:number], changed, *value[number + 1 :]])


@pytest.mark.thorough
def test_a_kept_part_is_another_one_for_each_of_its_values(site: Content, monkeypatch: pytest.MonkeyPatch):
    shown: dict[Any, list[tuple[dict[str, Any], Callable[[dict[str, Any]], str]]]] = {}
    get = KeptParts.get

    def note(parts: KeptParts, owner: Any, values: dict[str, Any], make: Callable[[], str]) -> SafeString:
        if isinstance(owner, KeptNode):
            context = inspect.getclosurevars(make).nonlocals["page"].new({})
            render = lambda values: owner.nodelist.render(context.new(values))  # noqa: E731
        else:
            render = partial(render_to_string, owner) if owner != "brief" else lambda values: _brief(**values)
        shown.setdefault(owner, []).append((values, render))
        return get(parts, owner, values, make)

    monkeypatch.setattr(KeptParts, "get", note)
    for route in ROUTES.values():
        if route.page.kind in ("page", "part") and route.view.__module__.startswith(("cms", "shopping")):
            for address in route.addresses(site):
                answer_of(browser_of(site, route.seen_by), address)
    monkeypatch.undo()
    assert len(shown) > 30
    differ = set()
    for owner, examples in shown.items():
        parts = KeptParts()
        for values, render in examples[:3]:
            parts.get(owner, values, partial(render, values))
            for changed in changes(values):
                try:
                    fresh = render(changed)
                except (LookupError, NoReverseMatch, TypeError, ValueError):  # no page has such values
                    continue
                assert parts.get(owner, changed, partial(render, changed)) == fresh, changed
                differ |= {owner} if fresh != render(values) else set()
    assert len(differ) > 25


def cookies_of(site: Content) -> dict[str, dict[str, str]]:
    """Return what browsers of all kinds of visitors send."""
    profiles.save_preferences(BACK_OFFICE, language="de")
    found: dict[str, dict[str, str]] = {"nobody": {}}
    for who in site.users:
        browser = browser_of(site, who)
        found[who] = {name: morsel.value for name, morsel in browser.cookies.items()}
    found["a session that is over"] = {django_settings.SESSION_COOKIE_NAME: f"{SHOPPER}:{'x' * 43}"}
    answer = HttpResponse()
    for look in requests.LOOKS:
        requests.set_look(answer, look)
        found[look] = {name: morsel.value for name, morsel in answer.cookies.items()}
    answer.cookies.clear()
    requests.set_cart(answer, requests.new_key())
    request = RequestFactory().get("/")
    notes = page_cache.MessageCookie(request)
    notes.add(constants.SUCCESS, "For one visitor alone")
    notes.update(answer)
    for name, morsel in answer.cookies.items():
        found[name] = {name: morsel.value}
    return found


SECRETS = re.compile(rb'name="(?:token|csrfmiddlewaretoken)" value="\w*"')  # another one each time


@pytest.mark.thorough
def test_nobody_is_shown_what_was_made_for_another(site: Content, settings: Any):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 600
    visitors = cookies_of(site)
    addresses = [
        address
        for route in ROUTES.values()
        if route.view.__module__.startswith("shopping")
        and route.roles is None
        and route.page.kind != "action"
        for address in route.addresses(site)
    ]

    def shown(cookies: dict[str, str], address: str) -> tuple[int, bytes, str]:
        browser = Client()
        browser.cookies.load(cookies)
        answer = browser.get(address)
        content = answer.getvalue().replace(answer["X-Request-ID"].encode(), b"")
        return answer.status_code, SECRETS.sub(b"", content), answer.get("Cache-Control", "")

    for address in addresses:
        alone = {}
        for name, cookies in visitors.items():
            page_cache.forget()
            kept.of_process.__init__()  # type: ignore[misc]
            alone[name] = shown(cookies, address)
        for name in [*visitors, *reversed(visitors), *visitors]:
            assert shown(visitors[name], address) == alone[name], f"{address} as {name}"
    page_cache.forget()
