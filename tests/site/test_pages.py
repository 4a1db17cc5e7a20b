"""What each view says of its page is true: what it costs, and who may see it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from django.utils.http import urlencode

from dealsite import middleware
from dealsite.accounts import sign_in
from dealsite.accounts.decorators import editors, fresh, sent_again
from dealsite.data import table
from dealsite.data.catalogue import brands
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.people import sessions
from dealsite.web import page_cache
from dealsite.web.pages import page_of
from tests.builders import EDITOR, NOW
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
    brand_names.names([brand.slug for brand in brands.all_brands()])
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
                assert slow.now - before < (MOST_IN_SERIES + 1) * CALL, "waits for call after call"
                assert status in expected(route, at, visitor)
                sent = Counter(operation for operation, _ in meter.log)
                known = Counter(BatchGetItem=1 if visitor else 0)  # who is signed in
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
        to_sign_in = answer.get("Location", "") == f"/account/sign-in/?{urlencode({'next': address})}"
        if may_see(route, visitor):
            if to_sign_in or (answer.status_code == 403 and route.name not in OF_AN_AUDIENCE):
                wrong.append((address, answer.status_code))
            continue
        sent = answer_of(browser, address, "post").status_code
        # A visitor's form is kept, and goes on after signing in in its place.
        if not ((answer.status_code, sent) == (403, 403) if visitor else to_sign_in and sent == 401):
            wrong.append((address, answer.status_code, sent))
    assert wrong == []
