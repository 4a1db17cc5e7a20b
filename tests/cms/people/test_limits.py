"""The page of limits: what is near its end, who was stopped; and the word about a proxy that nobody told of."""

from __future__ import annotations

from datetime import timedelta
from html import unescape

import pytest
from django.test import Client

from dealsite.accounts import limits
from dealsite.accounts.limit_table import ROWS
from dealsite.data.people import security_events, throttles
from dealsite.data.people.security_events import SecurityEvent
from dealsite.data.table.ids import new_ulid
from tests.builders import NOW

BEHIND = {"HTTP_X_FORWARDED_FOR": "203.0.113.1"}


@pytest.fixture
def admin(sign_in):
    return sign_in("admin", username="root")


def page(browser, address="/cms/limits/", **more) -> str:
    response = browser.get(address, **more)
    assert response.status_code == 200
    return " ".join(unescape(response.content.decode()).split())


def test_every_limit_is_listed_with_its_numbers(admin, settings):
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"order": (1234, timedelta(hours=2))}
    html = page(admin)
    for row in ROWS:
        for name in row.limits:
            assert f"<code>{name}</code>" in html
    assert "1,234 in 2 hours" in html
    assert "Nobody." in html
    assert "Near or at" not in html


def test_what_is_near_its_end_stands_out(admin, settings):
    changed = {name: (5, timedelta(hours=1)) for name in ("sign-up-total", "order-total", "search-total")}
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | changed
    for name, times in (("sign-up-total", 5), ("order-total", 3), ("retry-total", 3)):
        for _ in range(times):
            throttles.count(limits.limit(name), limits.EVERYBODY, now=NOW)
    for _ in range(4):
        assert admin.get("/search/?q=lamp").status_code == 200
    html = page(admin)
    assert "the limit of the whole site: New accounts, Searches <" in html
    assert html.count(">Reached</span>") == 1
    assert html.count(">Near</span>") == 1


def test_who_was_stopped_stands_there(admin, sign_in, settings):
    few = dict.fromkeys(("search", "search-network"), (1, timedelta(minutes=1)))
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | few
    ann = sign_in(username="ann")
    assert [ann.get("/search/?q=lamp", REMOTE_ADDR="203.0.113.5").status_code for _ in range(3)] == [
        200,
        429,
        429,
    ]
    assert [Client().get("/search/?q=lamp", REMOTE_ADDR="2001:db8::1").status_code for _ in range(2)] == [
        200,
        429,
    ]
    html = page(admin)
    assert 'href="/cms/users/ann/">ann</a>' in html
    assert "203.0.113.5" in html
    assert "a visitor" in html
    assert "2001:db8::/64" in html


def test_who_was_stopped_by_no_limit_of_the_table_stands_there_with_the_page(admin):
    stopped = SecurityEvent("throttled", NOW, "", "203.0.113.0/24", "/orders/", "", new_ulid(NOW))
    security_events.add(stopped)
    assert '<code class="text-sm text-muted">/orders/</code>' in page(admin)


@pytest.mark.parametrize("roles", [(), ("editor",), ("back office",)])
def test_the_page_is_for_admins(sign_in, roles):
    assert sign_in(*roles).get("/cms/limits/").status_code == 403


def test_an_admin_is_told_of_a_proxy_that_is_not_trusted(admin, sign_in, settings):
    said = "set DEALSITE_TRUSTED_PROXIES"
    assert said in page(admin, **BEHIND)
    assert said in page(admin, "/cms/users/", **BEHIND)
    assert said not in page(admin)
    assert said not in page(admin, REMOTE_ADDR="203.0.113.9", **BEHIND)
    assert said not in page(sign_in("editor"), "/cms/deals/", **BEHIND)
    settings.DEALSITE_TRUSTED_PROXIES = 1
    assert said not in page(admin, **BEHIND)
