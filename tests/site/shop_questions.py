"""What questions about carts and orders cost: how each is prepared, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from dealsite.data import carts, jobs, orders
from dealsite.data.carts import Line, Wanted
from dealsite.data.deals import Deal
from dealsite.data.orders import Purchase, buyers
from dealsite.data.orders.buyers import PaymentCard
from tests.builders import NOW, make_deal, make_id
from tests.orders import ADDRESS, make_order

ANN, GUEST = carts.user_cart("ann"), carts.visitor_cart("a key")
CARD = PaymentCard("test", "test:approve", "Visa ending in 4242")


def wanted(deal: Deal | None = None) -> Wanted:
    return Wanted((deal or make_deal()).id, 1, make_id(), token=make_id())


def line(owner: carts.CartOwner = ANN, status: str = carts.ACTIVE) -> Line:
    carts.add(owner, wanted(), now=NOW)
    _, (found,) = carts.read_active(owner, now=NOW)
    return found if status == carts.ACTIVE else carts.move(owner, found.ref, status, now=NOW) or found


def filled() -> carts.Cart:
    line()
    return carts.read(ANN, now=NOW)


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
    buyers.save_card("ann", CARD, job_id=job_id, now=NOW)
    return jobs.get(job_id)


NOTHING: Callable[[], None] = lambda: None  # noqa: E731
MEASURED: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "carts.add": (wanted, lambda form: carts.add(ANN, form, now=NOW)),
    "carts.add_many": (
        lambda: [wanted(make_deal(title=f"Deal {number}")) for number in range(3)],
        lambda forms: carts.add_many(ANN, forms, now=NOW),
    ),
    "carts.change_quantity": (line, lambda line: carts.change_quantity(ANN, line.deal, 3, now=NOW)),
    "carts.move": (line, lambda line: carts.move(ANN, line.ref, carts.SAVED, now=NOW)),
    "carts.remove": (line, lambda line: carts.remove(ANN, line.ref, now=NOW)),
    "carts.accept": (
        lambda: carts.look(filled(), now=NOW).digest,
        lambda seen: carts.accept(ANN, seen=seen, now=NOW),
    ),
    "carts.read": (line, lambda _: carts.read(ANN, now=NOW)),
    "carts.read_active": (line, lambda _: carts.read_active(ANN, now=NOW)),
    "carts.read_head": (line, lambda _: carts.read_head(ANN, now=NOW)),
    "carts.look": (filled, lambda cart: carts.look(cart, now=NOW)),
    "carts.merge": (lambda: line(GUEST), lambda _: carts.merge(GUEST, "ann", now=NOW)),
    "orders.place": (purchase, lambda form: orders.place(form, now=NOW)),
    "orders.get": (order, lambda made: orders.get("ann", made.id)),
    "orders.lines_of": (order, orders.lines_of),
    "orders.get_with_lines": (order, lambda made: orders.get_with_lines(made.id)),
    "orders.of_user": (order, lambda _: orders.of_user("ann", status="PLACED")),
    "orders.account_page": (order, lambda _: orders.account_page("ann")),
    "orders.waiting": (order, lambda _: orders.waiting("PLACED")),
    "orders.who_has": (line, lambda line: orders.who_has(line.deal, carts.ACTIVE)),
    "orders.ship": (order, lambda made: orders.ship("ann", made.id, by="kim", now=NOW)),
    "orders.deliver": (shipped, lambda made: orders.deliver("ann", made.id, by="kim", now=NOW)),
    "orders.cancel": (order, lambda made: orders.cancel("ann", made.id, by="ann", now=NOW)),
    "orders.buyers.buyer": (NOTHING, lambda _: buyers.buyer("ann")),
    "orders.buyers.keep_address": (
        NOTHING,
        lambda _: buyers.keep_address("ann", replace(ADDRESS, city="Bern")),
    ),
    "orders.buyers.save_card": (
        NOTHING,
        lambda _: buyers.save_card("ann", CARD, job_id=make_id(), now=NOW),
    ),
    "orders.buyers.forget_card": (NOTHING, lambda _: buyers.forget_card("ann")),
    "orders.buyers.use_card": (new_card, lambda job: buyers.use_card(job, NOW)),
}
