"""Shoppers cancel a part of an order, and ask to return one, within the site's settings."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from dealsite.data.commerce import order_changes, order_returns, orders
from dealsite.data.commerce.order_lines import history, open_return
from dealsite.data.commerce.order_record import Order
from tests.builders import NOW, make_deal
from tests.orders import make_order
from tests.people import make_user, signed_in

pytestmark = pytest.mark.usefixtures("whole_table")


@pytest.fixture
def ada(whole_table: None) -> Client:
    return signed_in(make_user("ada"))


@pytest.fixture
def order(ada: Client) -> Order:
    return make_order("ada", make_deal(title="Lamp", stock=9), make_deal(title="Desk"), quantity=2)


def text(answer: Any) -> str:
    return " ".join(answer.content.decode().split())


def place(order: Order, what: str = "") -> str:
    return f"/account/orders/{order.id}/{what}"


def lamp(order: Order) -> str:
    return next(line.id for line in orders.lines_of(order) if line.title == "Lamp")


def test_a_shopper_cancels_some_of_an_order(ada: Client, order: Order):
    assert place(order, "cancel/part/") in text(ada.get(place(order)))
    page = text(ada.get(place(order, "cancel/part/")))
    assert ("Lamp" in page, 'name="reason"' in page) == (True, False)
    sent = {f"pieces-{lamp(order)}": "1", "seen": "1"}
    assert ada.post(place(order, "cancel/part/"), sent)["Location"] == place(order)
    shown = text(ada.get(place(order)))
    assert (
        "It is cancelled. What is still to be paid is lowered, and what you paid beyond that is on" in shown
    )
    for words in ("1 × Cancelled", "1 × Placed", "€239.70", "−€79.90"):
        assert words in shown
    assert [sorted(one for one in orders.get("ada", order.id).timeline[-1].lines)] == [[lamp(order)]]


def test_a_shopper_sees_what_that_does_to_their_payments_before_it_is_done(ada: Client, order: Order):
    sent = {f"pieces-{lamp(order)}": "1", "seen": "1", "preview": "1"}
    for headers in (None, {"HX-Request": "true"}):
        shown = text(ada.post(place(order, "cancel/part/"), sent, headers=headers))
        assert ("<form" in shown) == (headers is None)
        for words in ("What happens to the payments", "−€79.90", "<del", "€319.60</del>", "€239.70 </ins>"):
            assert words in shown
    assert orders.get("ada", order.id) == order
    order_changes.ship("ada", order.id, unpaid=True, by="kim", now=NOW)
    assert 'name="preview"' not in text(ada.get(place(order, "return/")))


def test_a_shopper_asks_to_return_something_and_sees_what_is_answered(ada: Client, order: Order):
    assert place(order, "return/") not in text(ada.get(place(order)))
    order_changes.ship("ada", order.id, unpaid=True, tracking="JD 1", carrier="DHL", by="kim", now=NOW)
    assert "Return something (until 21 Dec 2026)" in text(ada.get(place(order)))
    sent = {f"pieces-{lamp(order)}": "1", "seen": "2", "reason": "Too loud"}
    for _ in range(2):
        assert ada.post(place(order, "return/"), sent).status_code == 302
    asked = open_return(orders.get("ada", order.id))
    assert asked is not None
    assert asked.lines[lamp(order)].pieces == 1
    shown = text(ada.get(place(order)))
    assert ("Return asked for" in shown, "Too loud" in shown, place(order, "return/") in shown) == (
        True,
        True,
        False,
    )
    order_returns.take_back(
        "ada", order.id, pieces={lamp(order): 1}, by="kim", reason="x", now=NOW + timedelta(days=3)
    )
    assert "1 × Returned" in text(ada.get(place(order)))


@pytest.mark.parametrize("what", ["cancel/part/", "return/"])
def test_what_cannot_be_leads_back_or_says_why(ada: Client, order: Order, what: str):
    wrong = ada.post(place(order, "cancel/part/"), {f"pieces-{lamp(order)}": "9", "seen": "1"})
    assert (wrong.status_code, "2 can be chosen now" in text(wrong)) == (409, True)
    for typed in ("1.000", "1_0"):
        wrong = ada.post(place(order, "cancel/part/"), {f"pieces-{lamp(order)}": typed, "seen": "1"})
        assert (wrong.status_code, "Enter a whole number" in text(wrong)) == (422, True)
    none = ada.post(place(order, "cancel/part/"), {"seen": "1"})
    assert (none.status_code, "Choose how many pieces" in text(none)) == (422, True)
    order_changes.cancel("ada", order.id, by="ada", now=NOW)
    answer = ada.get(place(order, what), follow=True)
    assert (answer.redirect_chain[-1][0], "Nothing of this order can be" in text(answer)) == (
        place(order),
        True,
    )


def test_a_site_can_keep_shoppers_from_cancelling_and_returning(
    ada: Client, order: Order, settings: LazySettings
):
    settings.DEALSITE_SHOPPERS_CANCEL, settings.DEALSITE_RETURN_DAYS = False, 0
    assert "Cancel" not in text(ada.get(place(order))).split("</header>")[1]
    assert ada.post(place(order, "cancel/")).status_code == 404
    sent = {f"pieces-{lamp(order)}": "1", "seen": "1"}
    assert ada.post(place(order, "cancel/part/"), sent)["Location"] == place(order)
    assert orders.get("ada", order.id) == order
    order_changes.ship("ada", order.id, unpaid=True, by="kim", now=NOW)
    assert "Return something" not in text(ada.get(place(order)))


def test_what_changed_meanwhile_is_said_and_can_be_sent_again(ada: Client, order: Order):
    stale = {f"pieces-{lamp(order)}": "1", "seen": "1"}
    order_changes.ship("ada", order.id, pieces={lamp(order): 1}, unpaid=True, by="kim", now=NOW)
    answer = ada.post(place(order, "cancel/part/"), stale)
    assert (answer.status_code, "changed meanwhile" in text(answer)) == (409, True)
    assert 'name="seen" value="2"' in text(answer)
    assert ada.post(place(order, "cancel/part/"), stale | {"seen": "2"})["Location"] == place(order)
    assert "1 × Cancelled" in text(ada.get(place(order)))


def test_cancelling_what_is_left_does_not_call_all_of_it_cancelled(ada: Client, order: Order):
    order_changes.ship("ada", order.id, pieces={lamp(order): 1}, unpaid=True, by="kim", now=NOW)
    shown = text(ada.post(place(order, "cancel/"), follow=True))
    assert ("Your order is cancelled" in shown, "It is cancelled." in shown) == (False, True)


def test_an_order_of_somebody_else_is_not_there(order: Order):
    eve = signed_in(make_user("eve"))
    for what in ("cancel/part/", "return/"):
        assert eve.get(place(order, what)).status_code == 404
        assert eve.post(place(order, what), {"seen": "1"}).status_code == 404


def test_parcels_are_shown_with_a_way_to_follow_them(ada: Client, order: Order):
    given: dict[str, Any] = {"unpaid": True, "by": "kim", "now": NOW}
    order_changes.ship("ada", order.id, pieces={lamp(order): 1}, carrier="DHL", tracking="JD 1", **given)
    shown = text(ada.get(place(order)))
    for words in ("Parcel 1", "1 × Lamp", 'href="https://www.dhl.com/', "1 × Shipped"):
        assert words in shown
    current, lines = orders.with_lines(orders.get("ada", order.id))
    assert sum(one.to_ship for one in history(current, lines).lines) == 3
