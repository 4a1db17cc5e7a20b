"""What somebody has bought before, to find it again and to buy it again."""

from __future__ import annotations

from decimal import Decimal
from urllib.parse import quote

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.data.catalogue import deal_changes, deals
from dealsite.data.commerce import carts
from dealsite.data.table.ids import iso
from tests.builders import DAY, EDITOR, HOUR, NOW, make_deal, make_id
from tests.orders import make_order
from tests.people import calls, make_user, signed_in
from tests.shop import edit

pytestmark = pytest.mark.usefixtures("whole_table")
OWN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def ada(whole_table: None, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    return signed_in(make_user("ada"))


def text(browser: Client, path: str = "/account/bought/") -> str:
    return " ".join(browser.get(path).content.decode().split())


def test_what_was_bought_leads_to_its_deal_and_its_order(ada: Client):
    lamp = make_deal(title="A lamp", price=Decimal("10.00"), was_price=None)
    order = make_order("ada", lamp, quantity=3)
    make_order("bob", make_deal(title="A chair"))
    assert calls(ada.get("/account/bought/")) == ["BatchGetItem", "Query"]
    page = text(ada)
    for part in (
        'aria-current="page"',
        f'href="/deals/{lamp.id}/a-lamp/"',
        "3 × €10.00",
        f'href="/account/orders/{order.id}/"',
        'Buy again<span class="sr-only">: A lamp</span>',
    ):
        assert part in page
    assert "A chair" not in page


def test_it_is_bought_again_at_todays_price(ada: Client):
    lamp = make_deal(title="A lamp", price=Decimal("10.00"), was_price=None)
    make_order("ada", lamp, quantity=3)
    edit(lamp, price=Decimal("12.00"))
    assert f'name="offer" value="{lamp.id}"' in text(ada)
    assert ada.post("/cart/add/", {"offer": lamp.id}, headers=OWN)["Location"] == "/cart/"
    _, lines = carts.read_active(carts.user_cart("ada"), now=NOW)
    assert [(line.deal, line.quantity, line.price) for line in lines] == [(lamp.id, 1, Decimal("12.00"))]


def test_what_is_over_says_so(ada: Client):
    lamp = make_deal(title="A lamp")
    make_order("ada", lamp)
    deal_changes.expire_now(deals.get(lamp.id), by=EDITOR, now=NOW - HOUR)
    ada.post("/cart/add/", {"offer": lamp.id}, headers=OWN)
    assert "The deal “A lamp” has expired." in text(ada, "/cart/")


def test_pages_lead_on_and_back(ada: Client):
    lamp = make_deal(live_at=NOW - 3 * DAY)
    made = [make_order("ada", lamp, now=NOW - number * HOUR) for number in range(27)]
    first = ada.get("/account/bought/")
    second = ada.get("/account/bought/" + first.context["after"])
    back = ada.get("/account/bought/" + second.context["before"])
    found = [[line.order for line in page.context["lines"]] for page in (first, second, back)]
    ids = [order.id for order in made]
    assert found == [ids[:25], ids[25:], ids[:25]]
    assert ada.get("/account/bought/?after=x").status_code == 400


def test_who_bought_nothing_is_led_to_the_deals(ada: Client):
    assert "What you buy will be here, to find it again and to buy it again." in text(ada)
    assert "There is nothing on this page." in text(
        ada, f"/account/bought/?after={quote(f'{iso(NOW)}#{make_id()}')}"
    )


def test_a_visitor_is_led_to_sign_in(client: Client):
    assert client.get("/account/bought/")["Location"].startswith("/account/sign-in/")
