"""How the states of orders and payments are called, and which colour says so."""

from datetime import datetime

from django import template

from dealsite.data import orders, payments
from dealsite.data.ids import iso

register = template.Library()

ORDERS = {
    orders.PLACED: ("Placed", "scheduled"),
    orders.SHIPPED: ("Shipped", "ending"),
    orders.DELIVERED: ("Delivered", "live"),
    orders.CANCELLED: ("Cancelled", ""),
}
PAYMENTS = {
    payments.SCHEDULED: ("Scheduled", "scheduled"),
    payments.PENDING: ("Being charged", "ending"),
    payments.PROCESSED: ("Paid", "live"),
    payments.FAILED: ("Failed", "failed"),
    payments.CANCELLED: ("Called off", ""),
    payments.REFUNDED: ("Given back", ""),
}


@register.filter
def order_status(status: str) -> str:
    """An order's status in words."""
    return ORDERS[status][0]


@register.filter
def order_state(status: str) -> str:
    """The look of an order's status, for `data-state`."""
    return ORDERS[status][1]


@register.filter
def payment_status(status: str) -> str:
    """A payment's status in words."""
    return PAYMENTS[status][0]


@register.filter
def payment_state(status: str) -> str:
    """The look of a payment's status, for `data-state`."""
    return PAYMENTS[status][1]


@register.filter
def key_time(when: datetime) -> str:
    """A time as keys and forms have it."""
    return iso(when)
