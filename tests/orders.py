"""Makes orders for tests, as shoppers do: into the cart, then bought."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal

from dealsite.data import table
from dealsite.data.catalogue.deals import Deal
from dealsite.data.commerce import cart_changes, carts, order_changes, order_record, orders
from dealsite.data.commerce.addresses import Address
from dealsite.data.people import users
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Delete, Put
from tests.builders import NOW, make_deal
from tests.people import give_card, make_user

ADDRESS = Address(
    name="Ada Lovelace", street="12 Analytical Row", postcode="EC1A 1BB", city="London", country="GB"
)
_numbers = itertools.count(1)


def make_order(
    username: str = "ada",
    *deals: Deal,
    quantity: int = 1,
    plan: int = 1,
    address: Address = ADDRESS,
    now: datetime = NOW,
) -> order_record.Order:
    """Have a shopper, created where missing, buy some deals, or a new one."""
    shopper = buyer(username)
    owner = carts.user_cart(shopper.username)
    for deal in deals or (make_deal(),):
        number = next(_numbers)
        wanted = cart_changes.CartAddition(
            deal.id, quantity, new_ulid(now, number), token=f"t{number}", seen=deal.content.price
        )
        cart_changes.add(owner, wanted, now=now)
    give_card(username, "test-approves")
    head, lines = carts.read_active(owner, now=now)
    purchase = order_changes.Purchase(
        order_id=new_ulid(now, next(_numbers)),
        username=shopper.username,
        name=shopper.name,
        email=shopper.email or shopper.pending_email,
        version=head.version,
        total=sum((line.total for line in lines), Decimal("0.00")),
        address=address,
        plan=plan,
        method="test-approves",
    )
    return order_changes.place(purchase, now=now)


def buyer(username: str) -> users.User:
    """Return a shopper, created where missing."""
    try:
        return users.get(username)
    except errors.NotFound:
        return make_user(username)


@contextmanager
def a_line_lost(order: order_record.Order) -> Iterator[None]:
    """Take a line of an order out of the table meanwhile."""
    line = orders.lines_of(order)[0]
    key = carts.user_cart(order.username).line(line.status, line.at, line.id)
    item = table.get(key)
    table.write(Delete(key=key))
    yield
    table.write(Put(key=key, item=item))
