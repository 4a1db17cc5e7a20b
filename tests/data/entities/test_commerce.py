"""What carts, orders and charges may hold, and that reading and writing them loses nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from dealsite.data.commerce import carts
from dealsite.data.commerce.carts import CartOwner
from dealsite.data.commerce.order_record import order_from_item, order_item
from tests.builders import NOW
from tests.data.entities.examples_commerce import EXAMPLES, HASH, MORE
from tests.data.entities.sound import assert_is_sound, problems_with, without_key

ANN = CartOwner(username="ann")


@pytest.mark.parametrize("item", [*EXAMPLES.values(), *MORE.values()], ids=lambda one: one["PK"])
def test_an_example_is_sound(item):
    assert_is_sound(item)


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("CartHead", {"version": 0}, "version is '0'"),
        ("CartHead", {"active": -1}, "active is '-1'"),
        ("CartHead", {"username": None}, "It is nobody's."),
        ("CartHead", {"visitor": HASH}, "It is of a user and of a visitor."),
        ("CartHead", {"ttl": 1_800_000_000}, "It is a user's and has a ttl."),
        ("CartHead", {"username": None, "visitor": HASH}, "It is a visitor's and has no ttl."),
        ("CartLine", {"order": None}, "It is PURCHASED and has no order."),
        ("CartLine", {"status": "ACTIVE"}, "It is ACTIVE and has an order."),
        ("CartLine", {"status": "LOST"}, "status is 'LOST'"),
        ("CartLine", {"username": None, "visitor": HASH, "ttl": 1_800_000_000}, "A visitor has bought it."),
        ("CartLine", {"card.quantity": 0}, "card quantity is '0'"),
        ("CartLine", {"card.price": -1}, "card price is '-1'"),
        ("CartLine", {"card.title": ""}, "card title has 0 characters"),
        ("Order", {"address.street": None}, "address street is missing"),
        ("Order", {"card.plan": 5}, "It is to be paid in 5 instalments, which is no plan."),
        ("Order", {"card.money.open": Decimal(1)}, "What its payments come to is not its total."),
        ("Order", {"card.pieces": 1, "card.lines": 2}, "It has fewer pieces than lines."),
        ("Order", {"timeline": []}, "timeline has 0 entries"),
        ("Order", {"card.taken_back": -1}, "card taken_back is '-1'"),
        ("Order", {"card.unshipped": -1}, "card unshipped is '-1'"),
        ("TestCharge", {"amount": -5}, "Its amount has the wrong sign."),
        ("TestCharge", {"reason": "Declined."}, "It has 2 outcomes."),
        ("TransactionGuard", {"payment": "7"}, "payment is '7'"),
    ],
)
def test_what_an_item_may_not_be_is_said(kind, changes, said):
    found = problems_with(EXAMPLES[kind], changes)
    assert [one for one in found if said in one], found


def test_reading_and_storing_lose_nothing():
    head, line = without_key(EXAMPLES["CartHead"]), EXAMPLES["CartLine"]
    order = without_key(EXAMPLES["Order"])
    assert carts.head_item(ANN, carts.head_from_item(head, now=NOW)) == head
    assert carts.line_item(carts.line_from_item(line), ANN, None) == without_key(line)
    assert order_item(order_from_item(order)) == order


def test_a_visitors_cart_is_read_until_it_ends():
    head: dict[str, Any] = MORE["CartHead"]
    found = carts.head_from_item(head, now=NOW)
    assert (found.version, found.ends_at is not None) == (3, True)
    assert carts.head_item(CartOwner(visitor=HASH), found) == without_key(head)
