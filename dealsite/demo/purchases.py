"""Makes up what the demo's shoppers bought and have in their carts: always the same, through the site's own checkout.

Their payments are charged by the worker, as everybody's are.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from dealsite.data.commerce import (
    cart_changes,
    carts,
    charging,
    order_changes,
    order_record,
    orders,
    payments,
)
from dealsite.data.commerce.addresses import Address
from dealsite.data.commerce.cart_changes import CartAddition
from dealsite.data.commerce.order_changes import Purchase
from dealsite.data.entities.attributes import ZERO
from dealsite.data.entities.commerce import CANCELLED, DELIVERED, PLACED, SAVED, SHIPPED
from dealsite.data.entities.deals import HERE
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.ids import RANDOM_BITS, new_ulid
from dealsite.demo.deals import DemoDeal
from dealsite.demo.people import PACKER, SHOPPERS
from dealsite.gateways.testing import TestGateway

ORDERS = 22
PLENTY = 10  # of what is scarce, these orders take nothing
APPROVED, DECLINED = "test:approve", "test:decline"  # cards of the built-in gateway
CARDS = {"sam": APPROVED, "lena": APPROVED, "tomas": DECLINED}
OLDEST, NEWEST = timedelta(days=24), timedelta(minutes=25)
BUYERS = SHOPPERS[:-1]  # the last user is made when all else is there
ADDRESSES = {
    "sam": Address("Sam Okafor", "Lime Street 14", "", "50667", "Cologne", "Germany"),
    "lena": Address("Lena Vogt", "Brückenweg 3", "c/o Haas", "8004", "Zürich", "Switzerland"),
    "tomas": Address("Tomáš Dvořák", "Na Hrázi 21", "", "180 00", "Prague", "Czechia"),
}


@dataclass(frozen=True, slots=True)
class DemoOrder:
    """An order as the demo makes it: who, when, what, and how far it came."""

    id: str
    username: str
    at: datetime
    wanted: list[tuple[str, int]]
    plan: int
    method: str
    status: str


def all_orders(deals: Sequence[DemoDeal], now: datetime) -> Iterator[DemoOrder]:
    """Yield the orders of the last weeks, oldest first: the older ones delivered, the newest still to be shipped."""
    chance = random.Random("orders")  # noqa: S311 - makes up a demo, guards nothing
    for n in range(ORDERS):
        buyer = "tomas" if n % 9 == 8 else ("sam", "lena")[n % 2]
        at = now - NEWEST - (OLDEST - NEWEST) * ((ORDERS - 1 - n) / (ORDERS - 1)) ** 1.6
        at = at.replace(microsecond=at.microsecond // 1000 * 1000)
        live = [one for one in deals if _sold_at(one, at, now)]
        chosen = chance.sample(live, min(chance.choice((1, 1, 2, 2, 3, 5)), len(live)))
        status = _status(n)
        yield DemoOrder(
            id=new_ulid(at, chance.getrandbits(RANDOM_BITS)),
            username=buyer,
            at=at,
            wanted=[(one.id, chance.choice((1, 1, 1, 2, 3))) for one in chosen],
            plan=(1, 1, 3, 1, 6, 1, 12)[n % 7],
            method=CARDS[buyer],
            status=status,
        )


def load(deals: Sequence[DemoDeal], now: datetime) -> None:
    """Place the orders that are missing, ship or cancel them as far as they came, and fill the carts."""
    for name, token in CARDS.items():
        if order_record.buyer(name).card is None:
            card = order_record.PaymentCard("test", token, "Visa ending in 4242")
            order_record.save_card(name, card, job_id=new_ulid(now), now=now)
    for order in all_orders(deals, now):
        try:
            orders.get(order.username, order.id)
        except NotFound:
            _place(order)
        _advance(order)
    _fill_carts(deals, now)


def _place(order: DemoOrder) -> None:
    owner = carts.user_cart(order.username)
    cart_changes.clear(order.username)  # what an interrupted load left there
    wanted = [CartAddition(deal, pieces, new_ulid(order.at)) for deal, pieces in order.wanted]
    cart_changes.add_many(owner, wanted, now=order.at)
    cart = carts.read(owner, now=order.at)
    if not cart.active:
        return
    address = ADDRESSES[order.username]
    total = sum((line.total for line in cart.active), ZERO)
    plan = order.plan if order.plan in payments.plans_for(total) else 1
    purchase = Purchase(
        order_id=order.id,
        username=order.username,
        name=address.name,
        email="",  # no mail is sent of what happened before anybody ran the site
        version=cart.version,
        total=total,
        address=address,
        plan=plan,
        method=order.method,
    )
    placed = order_changes.place(purchase, now=order.at)
    charging.charge_first(placed, TestGateway(), currency=settings.DEALSITE_CURRENCY, clock=lambda: order.at)


def _advance(order: DemoOrder) -> None:
    by = PACKER.username.lower()
    sent, arrived = order.at + timedelta(hours=20), order.at + timedelta(days=3)
    try:
        if order.status == CANCELLED:
            at = order.at + timedelta(hours=1)
            order_changes.cancel(order.username, order.id, by=order.username, reason="Ordered twice.", now=at)
        if order.status in (SHIPPED, DELIVERED):
            tracking = f"DS {order.id[-8:]}"
            order_changes.ship(order.username, order.id, tracking=tracking, by=by, now=sent)
        if order.status == DELIVERED:
            order_changes.deliver(order.username, order.id, by=by, now=arrived)
    except (Conflict, NotFound):
        return  # somebody has gone on with it, or it found nothing to buy


def _fill_carts(deals: Sequence[DemoDeal], now: datetime) -> None:
    """Leave something in each shopper's cart, the last piece saved for later."""
    chance = random.Random("carts")  # noqa: S311 - makes up a demo, guards nothing
    live = [one for one in deals if _sold_at(one, now, now)]
    for person in BUYERS:
        owner = carts.user_cart(person.username.lower())
        if carts.read_head(owner, now=now).lines:
            continue
        some = chance.sample(live, 4)
        wanted = [CartAddition(one.id, chance.choice((1, 1, 2)), new_ulid(now)) for one in some]
        cart_changes.add_many(owner, wanted, now=now)
        if lines := carts.read(owner, now=now).active:
            cart_changes.move(owner, lines[-1].ref, SAVED, now=now)


def _sold_at(deal: DemoDeal, at: datetime, now: datetime) -> bool:
    """Tell whether a deal was sold at its last price at some time."""
    content = deal.content
    return (
        deal.versions(now)[-1][0] <= at
        and (content.expires_at is None or content.expires_at > at)
        and content.sold == HERE
        and (content.stock is None or content.stock >= PLENTY)
    )


def _status(n: int) -> str:
    left = ORDERS - n
    if n in (4, 15):
        return CANCELLED
    if left <= 7:
        return PLACED
    return SHIPPED if left <= 11 else DELIVERED
