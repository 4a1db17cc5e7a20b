"""Shoppers for tests: what they put into a cart, and how they order it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from dealsite.data.catalogue import brands, deal_changes, deals, deals as stock_marks, featured, publishing
from dealsite.data.catalogue.cards import EDITORS_CHOICE, FRONT
from dealsite.data.catalogue.deals import Deal
from dealsite.data.commerce import cart_changes, carts, order_changes, orders, payment_record
from dealsite.data.commerce.addresses import Address
from dealsite.data.commerce.cart_changes import CartAddition
from dealsite.data.commerce.carts import CartOwner, user_cart, visitor_cart
from dealsite.data.commerce.order_changes import Purchase
from dealsite.data.commerce.order_record import Order
from dealsite.data.commerce.payment_record import apply_totals
from dealsite.data.jobs import jobs
from dealsite.data.table.errors import NotFound
from dealsite.data.table.paging import to_end
from tests.builders import EDITOR, HOUR, NOW, make_brand, make_category, make_content, make_id
from tests.people import give_card

ANN, BOB, GUEST = user_cart("ann"), user_cart("bob"), visitor_cart("what the cookie holds")
ADDRESS = Address(name="Ann Ash", street="1 High Street", postcode="10115", city="Berlin", country="DE")
CATEGORY = "peripherals-networking"
HANDLERS: dict[str, jobs.Handler] = {**stock_marks.HANDLERS, payment_record.PAYMENT_TOTALS: apply_totals}


def make_deals(count: int, *, live_at: datetime = NOW - HOUR, **content: Any) -> list[Deal]:
    """Publish several live deals of one brand and category, ten in each transaction."""
    make_category(CATEGORY)
    brand = make_brand("Nordlicht")
    wanted = [
        (make_id(live_at), make_content(title=f"Deal {n}", brand="nordlicht", **content), brand)
        for n in range(count)
    ]
    for first in range(0, count, 10):
        publishing.publish_many(wanted[first : first + 10], by=EDITOR, now=NOW)
    made = deals.get_many(deal_id for deal_id, _, _ in wanted)
    return [made[deal_id] for deal_id, _, _ in wanted]


def want(deal: Deal | str, quantity: int = 1, **more: Any) -> CartAddition:
    """Return what a form sends to add a deal."""
    deal_id = deal if isinstance(deal, str) else deal.id
    form: dict[str, Any] = {"deal": deal_id, "quantity": quantity, "line_id": make_id(NOW)}
    return CartAddition(**(form | more))


def add(owner: CartOwner, deal: Deal | str, quantity: int = 1, *, now: datetime = NOW, **more: Any) -> Deal:
    return cart_changes.add(owner, want(deal, quantity, **more), now=now)


def fill(owner: CartOwner, some: Sequence[Deal], quantity: int = 1, *, now: datetime = NOW) -> None:
    added = cart_changes.add_many(owner, [want(deal, quantity) for deal in some], now=now)
    assert added.refused == {}


def held(owner: CartOwner, *, now: datetime = NOW) -> dict[str, tuple[str, int]]:
    """Return what a cart holds: deal id -> status and number of pieces."""
    cart = carts.read(owner, now=now)
    lines = {line.deal: (line.status, line.quantity) for line in (*cart.active, *cart.saved)}
    entries = {deal: (entry.status, entry.quantity) for deal, entry in cart.head.lines.items()}
    assert lines == entries
    assert (cart.head.active, cart.head.saved) == (len(cart.active), len(cart.saved))
    return lines


def purchase(username: str = "ann", *, now: datetime = NOW, **more: Any) -> Purchase:
    """Return what the checkout form of a shopper's cart, as it is now, would send."""
    give_card(username, "tok_visa")
    head, lines = carts.read_active(user_cart(username), now=now)
    form: dict[str, Any] = {
        "order_id": make_id(now),
        "username": username,
        "email": f"{username}@example.org",
        "version": head.version,
        "total": sum((line.total for line in lines), Decimal("0.00")),
        "address": ADDRESS,
        "method": "tok_visa",
    }
    if "name" in Purchase.__dataclass_fields__:
        form["name"] = username
    return Purchase(**(form | more))


def buy(username: str = "ann", *of_deals: Deal, quantity: int = 1, now: datetime = NOW, **more: Any) -> Order:
    """Put deals into a shopper's cart and order all that is in it."""
    if of_deals:
        fill(user_cart(username), of_deals, quantity, now=now)
    return order_changes.place(purchase(username, now=now, **more), now=now)


def bought(order: Order) -> dict[str, int]:
    """Return what an order holds, as the table has it: deal id -> number of pieces."""
    current = orders.get(order.username, order.id)
    return {line.deal: line.quantity for line in orders.lines_of(current)}


def feature(*of_deals: Deal, pages: Sequence[str] = (FRONT, EDITORS_CHOICE, CATEGORY)) -> None:
    """Feature deals on pages."""
    for page_id in pages:
        page, found = featured.load(page_id, [deal.id for deal in of_deals])
        featured.set_featured(
            page, [found[deal.id] for deal in of_deals], version=page.version, by=EDITOR, now=NOW
        )


def stock(deal: Deal | str) -> int | None:
    return deals.get(deal if isinstance(deal, str) else deal.id).stock


def edit(deal: Deal | str, *, now: datetime = NOW, **changes: Any) -> Deal:
    """Change a deal as an editor does who has just opened it."""
    current = deals.get(deal if isinstance(deal, str) else deal.id)
    content = replace(current.content, **changes)
    brand = brands.get(content.brand)
    return deal_changes.edit(current, content, version=current.version, brand=brand, by=EDITOR, now=now)


def delete(deal: Deal | str, *, now: datetime = NOW) -> None:
    try:
        deal_changes.delete(deals.get(deal if isinstance(deal, str) else deal.id), by=EDITOR, now=now)
    except NotFound:
        return


def run_jobs(*, now: datetime = NOW) -> Counter[str]:
    """Do what waits, as the worker would, but for mail and refunds; return how many jobs of each kind there were."""
    done: Counter[str] = Counter()
    while job := jobs.take_next(now=now):
        done[job.kind] += 1
        if handler := HANDLERS.get(job.kind):
            handler(job, now)
        jobs.finish(job)
    return done


def waiting(status: str) -> list[str]:
    """Return the orders that wait, page after page."""
    pages = to_end(lambda after: orders.waiting(status, after=after))
    return [card.id for page in pages for card in page.rows]
