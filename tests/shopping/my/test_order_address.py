"""A shopper changes where their order goes, until it is shipped."""

from __future__ import annotations

import pytest
from django.test import Client

from dealsite.data.commerce import order_changes, order_record, orders
from dealsite.data.commerce.order_record import Order
from tests.builders import NOW
from tests.orders import ADDRESS, make_order
from tests.people import calls, make_user, signed_in

pytestmark = pytest.mark.usefixtures("whole_table")
TYPED = {
    "name": "Grace Hopper",
    "street": "3 Harbour Road",
    "postcode": "20095",
    "city": "Hamburg",
    "country": "DE",
}


@pytest.fixture
def ada(whole_table: None) -> Client:
    return signed_in(make_user("ada"))


def page_of(order: Order) -> str:
    return f"/account/orders/{order.id}/"


def text(browser: Client, path: str) -> str:
    return " ".join(browser.get(path).content.decode().split())


def test_an_order_leads_to_its_address_which_is_changed_for_it_alone(ada: Client):
    order, other = make_order("ada"), make_order("ada")
    kept, address = order_record.buyer("ada").address, page_of(order) + "address/"
    assert f'href="{address}"' in text(ada, page_of(order))
    assert calls(ada.get(address)) == ["BatchGetItem", "GetItem"]
    assert f'value="{ADDRESS.street}"' in text(ada, address)
    assert 'autocomplete="shipping address-line1"' in text(ada, address)
    assert ada.post(address, TYPED)["Location"] == page_of(order)
    shown = text(ada, page_of(order))
    assert "Your order goes to this address now." in shown
    assert "Grace Hopper <br> 3 Harbour Road <br> 20095 Hamburg <br> Germany" in shown
    assert (orders.get("ada", other.id).address, order_record.buyer("ada").address) == (ADDRESS, kept)


def test_what_is_wrong_stands_at_its_field_and_nothing_is_changed(ada: Client):
    order = make_order("ada")
    answer = ada.post(page_of(order) + "address/", TYPED | {"country": "\u200b"})
    assert (answer.status_code, list(answer.context["form"].errors)) == (422, ["country"])
    assert "Choose the country." in answer.content.decode()
    assert orders.get("ada", order.id) == order


def test_a_form_from_before_it_was_shipped_changes_nothing(ada: Client):
    order = make_order("ada")
    order_changes.ship("ada", order.id, unpaid=True, by="kim", now=NOW)
    for method in (ada.post, ada.get):
        assert method(page_of(order) + "address/", TYPED)["Location"] == page_of(order)
        shown = text(ada, page_of(order))
        assert "This order is on its way: only its carrier can still take it to another address." in shown
        assert "/address/" not in shown
    assert orders.get("ada", order.id).address == ADDRESS


@pytest.mark.parametrize("method", ["get", "post"])
def test_anothers_order_is_not_there(ada: Client, method: str):
    order = make_order("bob")
    assert getattr(ada, method)(page_of(order) + "address/", TYPED).status_code == 404
    assert orders.get("bob", order.id) == order


def test_it_needs_the_token_of_the_form():
    order, browser = make_order("ada"), signed_in(make_user("bob"), enforce_csrf_checks=True)
    assert browser.post(page_of(order) + "address/", TYPED).status_code == 403
