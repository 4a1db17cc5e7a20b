"""What becomes of an order: shipped, delivered, or cancelled with all that was bought."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.deal.stock import mark_within, with_offers
from dealsite.data.catalogue.deals import Deal
from dealsite.data.commerce import orders, payments
from dealsite.data.commerce.carts import Line
from dealsite.data.commerce.order.order_record import (
    Event,
    Order,
    clean_note,
    clean_tracking,
    moved_lines,
    notice_writes,
    order_item,
)
from dealsite.data.commerce.orders import lines_at, with_lines
from dealsite.data.entities.commerce import CANCELLED, DELIVERED, PLACED, PURCHASED, RETURNED, SHIPPED
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict, VersionConflict
from dealsite.data.table.writes import Update, Write, at_least, equals, merge

BEFORE = {SHIPPED: PLACED, DELIVERED: SHIPPED, CANCELLED: PLACED}
WORDS = {
    PLACED: pgettext_lazy("order", "placed"),
    SHIPPED: pgettext_lazy("order", "shipped"),
    DELIVERED: pgettext_lazy("order", "delivered"),
    CANCELLED: pgettext_lazy("order", "cancelled"),
}


@access_pattern("mark an order shipped", "1 get + 1 transaction")
def ship(username: str, order_id: str, *, tracking: str = "", by: str, now: datetime) -> Order:
    """Mark an order shipped; harmless if it is. NotFound, Conflict, Invalid."""
    tracking = clean_tracking(tracking)
    note = f"Tracking number {tracking}" if tracking else ""
    return _step(username, order_id, Event(SHIPPED, now, by, note), tracking=tracking)


@access_pattern("mark an order delivered", "1 get + 1 transaction")
def deliver(username: str, order_id: str, *, by: str, now: datetime) -> Order:
    """Mark an order delivered; harmless if it is. NotFound, Conflict."""
    return _step(username, order_id, Event(DELIVERED, now, by))


def _step(username: str, order_id: str, event: Event, tracking: str = "") -> Order:
    order = orders.get(username, order_id)
    if order.status == event.status:
        return order
    after = _after(order, event, tracking=tracking)
    try:
        table.transact([_order_write(order, after), *notice_writes(after, event)])
    except VersionConflict:
        current = orders.get(username, order_id)
        if current.status != event.status:
            raise Conflict(_refusal(current, event)) from None
        return current
    return after


@access_pattern(
    "cancel an order, with its lines, stock and payments", "1 get + 1 query + 2 batch gets + 1 transaction"
)
def cancel(username: str, order_id: str, *, by: str, reason: str = "", now: datetime) -> Order:
    """Cancel an order that is PLACED: stock goes back, lines become RETURNED, instalments are cancelled.

    Harmless if it is cancelled; Conflict if it was shipped, IncompleteOrder if its lines do not add up. All again while
    stock or payments change in between. One transaction, 93 actions at 25 lines of counted stock and 12 instalments.
    """
    event = Event(CANCELLED, now, by, clean_note(reason))

    def attempt() -> Order:
        order = orders.get(username, order_id)
        lines: list[Line] = []
        if order.status == PLACED:
            order, lines = with_lines(order)
        if order.status == CANCELLED:
            return order
        after = _after(order, event)
        paid = payments.of_order(username, order.payments)
        writes: list[Write] = [
            _order_write(order, after),
            *moved_lines(order, lines, RETURNED, now),
            *payments.cancel_writes(paid, by=by, reason=event.note or "The order was cancelled.", now=now),
            *notice_writes(after, event),
        ]
        deals = with_offers(line.deal for line in lines)
        writes += _stock_back(lines, deals, len(merge(writes)), now)
        try:
            table.transact(writes)
        except Conflict as changed:
            raise VersionConflict() from changed
        return after

    return table.retrying(attempt)


def late_returns(order: Order, *, now: datetime) -> list[Write]:
    """Return the writes that return the lines that are PURCHASED of a cancelled order, and their stock.

    Cancelling left some where very many lines were of one moment, before all of them were read. 1 query + 1 batch get.
    """
    lines = lines_at(order, PURCHASED, order.placed_at)
    writes = moved_lines(order, lines, RETURNED, order.closed_at)
    return writes + _stock_back(lines, with_offers(line.deal for line in lines), len(writes), now)


def _after(order: Order, event: Event, *, tracking: str = "") -> Order:
    """Return an order after an event; Conflict if that cannot happen any more."""
    if order.status != BEFORE[event.status]:
        raise Conflict(_refusal(order, event))
    return replace(
        order,
        card=replace(order.card, status=event.status),
        version=order.version + 1,
        timeline=(*order.timeline, event),
        tracking=tracking or order.tracking,
    )


def _refusal(order: Order, event: Event) -> str:
    words = {"state": WORDS[order.status], "wanted": WORDS[event.status]}
    return _("This order is %(state)s: it cannot be %(wanted)s.") % words


def _order_write(order: Order, after: Order) -> Write:
    item, old = order_item(after), order_item(order)
    return Update(
        key=keys.order(order.username, order.id),
        set={name: value for name, value in item.items() if value is not None and old.get(name) != value},
        remove=[name for name in old if name not in item],
        when=(equals("version", order.version),),
        otherwise=VersionConflict(),
    )


def _stock_back(lines: Sequence[Line], deals: dict[str, Deal], actions: int, now: datetime) -> list[Write]:
    """Return the writes that put stock back where it is counted, with the marks of what is not sold out any more."""
    writes: list[Write] = []
    on_sale: list[Deal] = []
    for line in lines:
        deal = deals.get(line.deal)
        if deal is None or deal.stock is None or not line.counted:
            continue
        when = at_least("stock", 1)
        if deal.stock == 0:
            when = equals("stock", 0)
            on_sale.append(deal)
        writes.append(Update(key=keys.offer(line.deal), add={"stock": line.quantity}, when=(when,)))
    return writes + mark_within(on_sale, actions + len(writes), sold_out=False, now=now)
