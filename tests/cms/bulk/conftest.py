"""What tests of changes share: three deals, and a browser that looks at a change and confirms it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dealsite.data.catalogue import deal_changes, deals
from tests.builders import DAY, HOUR, NOW, make_brand, make_category, make_deal
from tests.cms.conftest import inputs
from tests.jobs import run_next

LIST, BULK = "/cms/deals/", "/cms/deals/bulk/"
TO_TOYS = {"to_category": "toys-hobbies"}
TOYS = {"action": "category"} | TO_TOYS
LOWER = {"to_price": "-%", "amount": "10"}
KEYBOARDS = "peripherals-networking"
MINUTE = timedelta(minutes=1)


@pytest.fixture
def made() -> list[deals.Deal]:
    make_category("toys-hobbies")
    return [make_deal(live_at=NOW - (n + 1) * HOUR, now=NOW - DAY, title=f"Deal {n}") for n in range(3)]


def text_of(response: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def ids(things: list[Any]) -> list[str]:
    return [thing.id for thing in things]


def work() -> None:
    for turn in range(20):
        if not run_next(now=NOW + timedelta(seconds=turn + 1)):
            return


def order(browser: Any, **data: Any) -> Any:
    """Look at a change and confirm it; return what that leads to."""
    looked_at = browser.get(BULK, data)
    assert looked_at.status_code == 200, text_of(looked_at)
    return confirm(browser, looked_at, **data)


def confirm(browser: Any, looked_at: Any, **data: Any) -> Any:
    """Send the form of a preview."""
    address = re.search(r'action="(/cms/deals/do/\w+/)"', looked_at.content.decode())
    assert address
    sent = inputs(looked_at) | ({"deal": data["deal"]} if "deal" in data else {})
    return browser.post(address[1], sent, follow=True)


def change(deal: deals.Deal, **fields: Any) -> None:
    """Change a deal as another editor does, a minute after the page was shown."""
    content = replace(deal.content, **fields)
    deal_changes.edit(deal, content, version=deal.version, brand=make_brand(), by="olga", now=NOW + MINUTE)


def categories(made: list[deals.Deal]) -> list[str]:
    return [deals.get(deal.id).content.category for deal in made]


def job_of(browser: Any) -> str:
    """Return the id of the job that the jobs' page lists first."""
    html = browser.get("/cms/jobs/").content.decode()
    return re.findall(rf'href="{BULK}([0-9A-Z]{{26}})/"', html)[0]
