"""The lines of an order: what was bought, read to the end and compared with what the order says.

They stand in the cart's partition by the moment at which they were bought. Several orders of a user can be of one
moment, so this may be read past the lines of others. Read there they are right at once, also right after checkout;
the index holds the lines of one order alone, but may be behind, and lacks whether stock was counted.
"""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.commerce.cart.cart_record import Line, line_from_item, user_cart
from dealsite.data.commerce.order import reading
from dealsite.data.commerce.order.order_record import Order, OrderCard
from dealsite.data.entities.commerce import CANCELLED, PURCHASED, RETURNED
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.ids import is_ulid

AT_ONCE = 1_000
INCOMPLETE = gettext_lazy(
    "The lines of order %(id)s do not add up: there are %(found)s of %(lines)s lines, %(found_pieces)s of %(pieces)s "
    "pieces, and %(found_total)s of %(total)s."
)


class IncompleteOrder(Conflict):
    """The lines of an order do not add up to what it says: nothing may be packed, told or cancelled by them."""

    def __init__(self, card: OrderCard, lines: Sequence[Line]) -> None:
        self.card = card
        found, pieces, total = _sums(lines)
        wanted = {
            "id": card.id,
            "lines": card.lines,
            "pieces": card.pieces,
            "total": number_format(card.total, 2),
        }
        there = {"found": found, "found_pieces": pieces, "found_total": number_format(total, 2)}
        super().__init__(INCOMPLETE % (wanted | there))


def _sums(lines: Sequence[Line]) -> tuple[int, int, Decimal]:
    total = sum((line.total for line in lines), Decimal("0.00"))
    return len(lines), sum(line.quantity for line in lines), total


def _problem(card: OrderCard, lines: Sequence[Line]) -> IncompleteOrder | None:
    as_it_says = (card.lines, card.pieces, card.total)
    return None if _sums(lines) == as_it_says else IncompleteOrder(card, lines)


@access_pattern("the lines of an order, right at once", "1 query")
def found_lines(order: Order) -> tuple[Order, list[Line], IncompleteOrder | None]:
    """Return an order with those of its lines that are there, by their ids, and what is wrong: for pages that say so.

    If it was cancelled since it was read, as it is now. 1 query for each 1,000 lines of the user's of that moment;
    1 get more where they do not add up, and as much again where the order has changed.
    """
    while True:
        cancelled = order.status == CANCELLED
        place = (RETURNED, order.closed_at) if cancelled else (PURCHASED, order.placed_at)
        lines = lines_at(order, *place)
        problem = _problem(order.card, lines)
        if problem is None:
            return order, lines, None
        current = reading.get(order.username, order.id)
        if current.version == order.version:
            return order, lines, problem
        order = current


def with_lines(order: Order) -> tuple[Order, list[Line]]:
    """Return an order with its lines, as `found_lines`; IncompleteOrder if they do not add up."""
    order, lines, problem = found_lines(order)
    if problem:
        raise problem
    return order, lines


def lines_of(order: Order) -> list[Line]:
    """Return the lines of an order, as `with_lines`."""
    return with_lines(order)[1]


def lines_at(order: Order, status: str, at: datetime) -> list[Line]:
    """Return those lines of an order that came to a status at a moment."""
    low, high = keys.cart_line.between(status, at)
    partition = user_cart(order.username).partition
    rows = table.query_all(partition, low=low, high=high, limit=AT_ONCE, consistent=True)
    return [line_from_item(row) for row in rows if row.get("order") == order.id]


@access_pattern("an order with its lines by its id", "1 query")
def get_with_lines(order_id: str) -> tuple[OrderCard, list[Line]]:
    """Return the card and the lines of anybody's order; NotFound and IncompleteOrder, also in a change's first moment.

    `found_lines` is right at once.
    """
    if not is_ulid(order_id):
        raise NotFound(reading.NO_ORDER)
    rows = list(table.query_all(keys.order_lines.partition(order_id), index=keys.GSI1, limit=AT_ONCE))
    cards = [OrderCard.from_item(row["card"]) for row in rows if row["type"] == "Order"]
    if not cards:
        raise NotFound(reading.NO_ORDER)
    lines = [line_from_item(row) for row in rows if row["type"] == "CartLine"]
    if problem := _problem(cards[0], lines):
        raise problem
    return cards[0], lines
