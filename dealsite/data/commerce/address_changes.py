"""Having an order go elsewhere, which can be done until it is shipped: by its shopper, or by the back office."""

from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.commerce import orders
from dealsite.data.commerce.addresses import Address, clean_address
from dealsite.data.commerce.order_changes import WORDS
from dealsite.data.commerce.order_record import MESSAGE_KIND, Order
from dealsite.data.editing import audit
from dealsite.data.entities.commerce import PLACED, SHIPPED
from dealsite.data.people import messages
from dealsite.data.table.errors import Conflict, VersionConflict
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put, Update, Write, absent, equals

CHANGED = "The address of your order was changed"  # a message's headline
ON_ITS_WAY = gettext_lazy("This order is on its way: only its carrier can still take it to another address.")
TOO_LATE = gettext_lazy("This order is %(state)s: its address cannot be changed any more.")


@access_pattern("change where an order goes", "1 get + 1 transaction")
def change_address(username: str, order_id: str, address: Address, *, by: str, now: datetime) -> Order:
    """Have an order that is PLACED go elsewhere; harmless if it goes there. NotFound, Conflict, Invalid.

    Where somebody else did it, its shopper gets a message. Neither that nor the audit log says where it goes.
    """
    address = clean_address(address)

    def attempt() -> Order:
        order = orders.get(username, order_id)
        if order.address == address:
            return order
        if why_not := too_late(order):
            raise Conflict(why_not)
        writes: list[Write] = [
            Update(
                key=keys.order(username, order_id),
                set={"address": address.as_item(), ("card", "name"): address.name},
                add={"version": 1},
                when=(equals("version", order.version),),
                otherwise=VersionConflict(),
            ),
            audit.entry_write(by=by, kind="order", subject=order_id, what="changed address", now=now),
        ]
        if by != username:
            words = {"kind": MESSAGE_KIND, "headline": CHANGED, "deal": "", "order": order_id}
            item = messages.message_item(username, new_ulid(now), **words)
            writes.append(Put(key=(item["PK"], item["SK"]), item=item, when=(absent(),)))
        table.transact(writes)
        card = replace(order.card, name=address.name)
        return replace(order, card=card, address=address, version=order.version + 1)

    return table.retrying(attempt)


def too_late(order: Order) -> str:
    """Return why an order cannot go elsewhere any more, '' while it can."""
    if order.status == PLACED:
        return ""
    return str(ON_ITS_WAY if order.status == SHIPPED else TOO_LATE % {"state": WORDS[order.status]})
