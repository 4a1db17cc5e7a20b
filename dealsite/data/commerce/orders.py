"""Orders: placed from a cart, worked off by the back office.

order_record   an order as it is stored, and what tells of it     checkout     placing one
saved_details  address and card for the next one                  fulfilment   shipping, delivering, cancelling
order_lines    what was bought, compared with what the order says
reading        everything else that is read of them
"""

from dealsite.data.commerce.order.checkout import Purchase, place
from dealsite.data.commerce.order.fulfilment import cancel, deliver, ship
from dealsite.data.commerce.order.order_lines import (
    IncompleteOrder,
    found_lines,
    get_with_lines,
    lines_of,
    with_lines,
)
from dealsite.data.commerce.order.order_record import Address, Event, Order, OrderCard
from dealsite.data.commerce.order.reading import (
    TOTALLED,
    OrdersPage,
    account_page,
    carts_with,
    get,
    get_many,
    of_user,
    placed_between,
    waiting,
)
from dealsite.data.entities.commerce import CANCELLED, DELIVERED, PLACED, SHIPPED
from dealsite.data.entities.commerce import ORDER_STATUSES as STATUSES
