"""What the tests of checkout and orders share: a shopper with a card, a full cart, and the form that orders it."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from django.test import Client

from dealsite.data.catalogue.deals import Deal
from dealsite.data.commerce import cart_changes, carts
from dealsite.data.commerce.cart_changes import CartAddition
from dealsite.data.commerce.order_record import PaymentCard, save_card
from dealsite.data.table.ids import new_ulid
from tests.builders import NOW, make_deal
from tests.people import make_user, signed_in

ADDRESS = {
    "name": "Ada Ash",
    "street": "1 High Street",
    "extra": "",
    "postcode": "10115",
    "city": "Berlin",
    "country": "Germany",
}
CARD = PaymentCard("test", "test:approve", "Visa ending in 4242")


def make_shopper(username: str = "ada", *, card: bool = True) -> Client:
    """Return a browser in which a new user with a card is signed in."""
    user = make_user(username)
    if card:
        save_card(username, CARD, job_id=new_ulid(NOW), now=NOW)
    return signed_in(user)


def fill_cart(username: str = "ada", *some: Deal, quantity: int = 2) -> list[Deal]:
    """Put deals into a user's cart, one if none is named; returns them."""
    chosen = list(some) or [make_deal(title="A lamp", price=Decimal("50.00"), was_price=None)]
    wanted = [CartAddition(deal.id, quantity, new_ulid(NOW)) for deal in chosen]
    assert cart_changes.add_many(carts.user_cart(username), wanted, now=NOW).refused == {}
    return chosen


def checkout_form(browser: Client, **changes: Any) -> dict[str, Any]:
    """Return what the checkout page's form would send."""
    page = browser.get("/checkout/").content.decode()
    hidden = dict(re.findall(r'name="(order|version|total)"\s+value="([^"]*)"', page))
    assert set(hidden) == {"order", "version", "total"}
    return ADDRESS | hidden | {"plan": "1"} | changes


def place(browser: Client, **changes: Any) -> str:
    """Order what is in the cart; returns the order's id."""
    answer = browser.post("/checkout/", checkout_form(browser, **changes))
    assert answer.status_code == 302, answer.content.decode()
    order_id: str = answer["Location"].split("/")[2]
    return order_id
