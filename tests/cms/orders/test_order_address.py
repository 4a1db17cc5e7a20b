"""The back office changes where an order goes, until it is shipped."""

import pytest

from dealsite.data.commerce import order_changes, orders
from tests.builders import NOW
from tests.orders import ADDRESS, make_order
from tests.people import calls

TYPED = {
    "name": "Grace Hopper",
    "street": "3 Harbour Road",
    "postcode": "20095",
    "city": "Hamburg",
    "country": "DE",
}


def page_of(order):
    return f"/cms/orders/{order.username}/{order.id}/"


def text(response):
    return " ".join(response.content.decode().split())


def now_of(order):
    return orders.get(order.username, order.id)


def ship(order):
    order_changes.ship(order.username, order.id, unpaid=True, by="olga", now=NOW)


def test_an_order_to_ship_leads_to_its_address_which_is_changed(office):
    order = make_order()
    address = page_of(order) + "address/"
    assert f'href="{address}"' in text(office.get(page_of(order)))
    asked = office.get(address)
    assert calls(asked) == ["BatchGetItem", "GetItem"]
    for value in ADDRESS.as_item().values():
        assert f'value="{value}"' in text(asked)
    assert 'autocomplete="off"' in text(asked)
    assert "shipping" not in text(asked)
    assert office.post(address, TYPED)["Location"] == page_of(order)
    shown = text(office.get(page_of(order)))
    assert "The order goes to this address now." in shown
    assert "Grace Hopper" in shown
    assert "3 Harbour Road <br> 20095 Hamburg <br> Germany" in shown
    assert now_of(order).address.name == "Grace Hopper"


def test_what_is_wrong_stands_at_its_field_and_nothing_is_changed(office):
    order = make_order()
    answer = office.post(page_of(order) + "address/", TYPED | {"street": " \u200b ", "city": "x" * 121})
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {"street", "city"}
    assert "Enter the street and the house number." in text(answer)
    assert 'value="Grace Hopper"' in text(answer)
    assert now_of(order) == order


@pytest.mark.parametrize("typed", [TYPED, {}])
def test_a_form_from_before_it_was_shipped_changes_nothing(office, typed):
    order = make_order()
    ship(order)
    answer = office.post(page_of(order) + "address/", typed)
    assert answer["Location"] == page_of(order)
    shown = text(office.get(page_of(order)))
    assert "This order is on its way: only its carrier can still take it to another address." in shown
    assert "address/" not in shown
    assert now_of(order).address == ADDRESS
    assert office.get(page_of(order) + "address/")["Location"] == page_of(order)


def test_an_order_under_another_name_is_not_there(office):
    order = make_order()
    for method in (office.get, office.post):
        assert method(f"/cms/orders/bob/{order.id}/address/", TYPED).status_code == 404
    assert now_of(order) == order
