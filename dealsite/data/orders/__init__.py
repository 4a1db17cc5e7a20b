"""Orders: placed from a cart, worked off by the back office.

stored     an order as it is stored, its address and its timeline
checkout   placing one        handling   shipping, delivering, cancelling        reading   everything read of them
"""

from dealsite.data.orders.checkout import Purchase, place
from dealsite.data.orders.handling import cancel, deliver, ship
from dealsite.data.orders.reading import (
    Holders,
    OrdersPage,
    account_page,
    get,
    get_many,
    get_with_lines,
    lines_of,
    of_user,
    waiting,
    who_has,
)
from dealsite.data.orders.stored import (
    CANCELLED,
    DELIVERED,
    PLACED,
    SHIPPED,
    STATUSES,
    Address,
    Event,
    Order,
    OrderCard,
)

__all__ = [
    "CANCELLED",
    "DELIVERED",
    "PLACED",
    "SHIPPED",
    "STATUSES",
    "Address",
    "Event",
    "Holders",
    "Order",
    "OrderCard",
    "OrdersPage",
    "Purchase",
    "account_page",
    "cancel",
    "deliver",
    "get",
    "get_many",
    "get_with_lines",
    "lines_of",
    "of_user",
    "place",
    "ship",
    "waiting",
    "who_has",
]
