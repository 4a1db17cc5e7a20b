"""What tells a shopper, the log and the mail of something that happened to an order: writes for its transaction."""

from __future__ import annotations

from dealsite.data.commerce.order.order_record import CANCELLED, DELIVERED, PLACED, SHIPPED, Event, OrderCard
from dealsite.data.editing import audit
from dealsite.data.people import mails, messages
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Put, Write, absent

MESSAGE_KIND = "order"
HEADLINES = {
    PLACED: "Thank you: your order is placed",
    SHIPPED: "Your order is on its way",
    DELIVERED: "Your order was delivered",
    CANCELLED: "Your order was cancelled",
}
DONE = {PLACED: "placed", SHIPPED: "shipped", DELIVERED: "delivered", CANCELLED: "cancelled"}


def writes(card: OrderCard, event: Event, *, email: str) -> list[Write]:
    """Return a message in the inbox, a mail and an audit entry. 3 actions."""
    now = event.at
    message_id = new_ulid(now)
    item = messages.message_item(
        card.username,
        message_id,
        kind=MESSAGE_KIND,
        headline=HEADLINES[event.status],
        deal="",
        text=event.note,
        order=card.id,
    )
    return [
        Put(key=(item["PK"], item["SK"]), item=item, when=(absent(),)),
        mails.order_notice(event.status, order_id=card.id, username=card.username, to=email, now=now),
        audit.entry_write(
            by=event.by, kind="order", subject=card.id, what=DONE[event.status], now=now, note=event.note
        ),
    ]
