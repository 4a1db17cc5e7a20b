"""Examples of what is asked of carts and orders."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from dealsite.data.catalogue import deals
from dealsite.data.catalogue.deals import Deal
from dealsite.data.commerce import carts, orders
from dealsite.data.commerce.carts import CartAddition, Line
from dealsite.data.commerce.order import saved_details
from dealsite.data.commerce.order.saved_details import PaymentCard
from dealsite.data.commerce.orders import Purchase
from dealsite.data.jobs import jobs
from tests.builders import EDITOR, NOW, make_deal, make_id
from tests.data.examples import measures
from tests.orders import ADDRESS, make_order

ANN, GUEST = carts.user_cart("ann"), carts.visitor_cart("a key")
CARD = PaymentCard("test", "test:approve", "Visa ending in 4242")


def wanted(deal: Deal | None = None) -> CartAddition:
    return CartAddition((deal or make_deal()).id, 1, make_id(), token=make_id())


def line(owner: carts.CartOwner = ANN, status: str = carts.ACTIVE) -> Line:
    carts.add(owner, wanted(), now=NOW)
    _, (found,) = carts.read_active(owner, now=NOW)
    return found if status == carts.ACTIVE else carts.move(owner, found.ref, status, now=NOW) or found


def filled() -> carts.Cart:
    line()
    return carts.read(ANN, now=NOW)


def changed() -> str:
    """Let the one deal of a cart end; return the digest of that change."""
    deals.expire_now(deals.get(line().deal), by=EDITOR, now=NOW)
    return carts.view(carts.read(ANN, now=NOW), now=NOW).digest


def purchase() -> Purchase:
    """What a checkout form with three lines and twelve instalments would send."""
    some = [make_deal(title=f"Deal {number}", stock=9) for number in range(3)]
    carts.add_many(ANN, [wanted(deal) for deal in some], now=NOW)
    head, lines = carts.read_active(ANN, now=NOW)
    return Purchase(
        order_id=make_id(),
        username="ann",
        name="Ann",
        email="ann@example.org",
        version=head.version,
        total=sum((line.total for line in lines), Decimal("0.00")),
        address=ADDRESS,
        plan=12,
        method=CARD.token,
    )


def order(**more: Any) -> orders.Order:
    return make_order("ann", **more)


def shipped() -> orders.Order:
    made = order()
    return orders.ship("ann", made.id, by="kim", now=NOW)


def new_card() -> jobs.Job:
    """The job that gives a new card to the one open payment of a user."""
    order()
    job_id = make_id()
    saved_details.save_card("ann", CARD, job_id=job_id, now=NOW)
    return jobs.get(job_id)


measures(carts.add, wanted)(lambda form: carts.add(ANN, form, now=NOW))
measures(carts.add_many, lambda: [wanted(make_deal(title=f"Deal {number}")) for number in range(3)])(
    lambda forms: carts.add_many(ANN, forms, now=NOW)
)
measures(carts.change_quantity, line)(lambda line: carts.change_quantity(ANN, line.deal, 3, now=NOW))
measures(carts.move, line)(lambda line: carts.move(ANN, line.ref, carts.SAVED, now=NOW))
measures(carts.remove, line)(lambda line: carts.remove(ANN, line.ref, now=NOW))
measures(carts.accept, changed)(lambda seen: carts.accept(ANN, seen=seen, now=NOW))
measures(carts.read, line)(lambda _: carts.read(ANN, now=NOW))
measures(carts.read_active, line)(lambda _: carts.read_active(ANN, now=NOW))
measures(carts.read_head, line)(lambda _: carts.read_head(ANN, now=NOW))
measures(carts.view, filled)(lambda cart: carts.view(cart, now=NOW))
measures(carts.merge, lambda: line(GUEST))(lambda _: carts.merge(GUEST, "ann", now=NOW))
measures(orders.get_many, make_order)(lambda order: orders.get_many([(order.username, order.id)]))
measures(orders.place, purchase)(lambda form: orders.place(form, now=NOW))
measures(orders.get, order)(lambda made: orders.get("ann", made.id))
measures(orders.found_lines, order)(orders.found_lines)
measures(orders.get_with_lines, order)(lambda made: orders.get_with_lines(made.id))
measures(orders.of_user, order)(lambda _: orders.of_user("ann", status="PLACED"))
measures(orders.account_page, order)(lambda _: orders.account_page("ann"))
measures(orders.waiting, order)(lambda _: orders.waiting("PLACED"))
measures(orders.carts_with, line)(lambda line: orders.carts_with(line.deal, carts.ACTIVE))
measures(orders.ship, order)(lambda made: orders.ship("ann", made.id, by="kim", now=NOW))
measures(orders.deliver, shipped)(lambda made: orders.deliver("ann", made.id, by="kim", now=NOW))
measures(orders.cancel, order)(lambda made: orders.cancel("ann", made.id, by="ann", now=NOW))
measures(saved_details.buyer)(lambda: saved_details.buyer("ann"))
measures(saved_details.keep_address)(lambda: saved_details.keep_address("ann", replace(ADDRESS, city="Bern")))
measures(saved_details.save_card)(lambda: saved_details.save_card("ann", CARD, job_id=make_id(), now=NOW))
measures(saved_details.forget_card)(lambda: saved_details.forget_card("ann"))
measures(saved_details.use_card, new_card)(lambda job: saved_details.use_card(job, NOW))
measures(carts.clear, line)(lambda _: carts.clear("ann"))
