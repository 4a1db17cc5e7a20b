"""With the client's real limits: nobody waits for more than three seconds, whatever drips or is late."""

from __future__ import annotations

import time

import pytest

from dealsite.data.table import client
from tests.faults.judge import wrong_answer
from tests.faults.proxy import FAULTS, WAITING
from tests.faults.site import REAL, Site
from tests.faults.test_pages import reference
from tests.pages import ROUTES

LONGEST = 3.0  # seconds
PAGES = ("front_page", "account", "cms_overdue_payments")  # few calls, one says who asks, and many calls
WAITS = [fault for fault in FAULTS if fault in WAITING] + ["throttled", "reset before the engine hears of it"]


@pytest.mark.sample(quick=6, whole=3)
@pytest.mark.parametrize("fault", WAITS)
@pytest.mark.parametrize("name", PAGES)
def test_nobody_waits_for_more_than_three_seconds(
    name: str, fault: str, site: Site, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(client, "pause", time.sleep)
    route = ROUTES[name]
    address, who = route.addresses(site.content)[0], route.seen_by
    whole = reference(site, address, who)
    site.forget()
    site.repaired()
    seen = site.ask_broken(who, lambda browser: browser.get(address), fault, "all", whole.calls, limits=REAL)
    assert wrong_answer(seen, whole) == ""
    assert seen.seconds < LONGEST
