"""How the states of orders and payments are called, and which colour says so."""

from datetime import datetime

from django import template
from django.utils.translation import gettext_lazy as _

from dealsite.data.commerce import orders, payments
from dealsite.data.table.ids import iso

register = template.Library()

ORDERS = {
    orders.PLACED: (_("Placed"), "scheduled"),
    orders.SHIPPED: (_("Shipped"), "ending"),
    orders.DELIVERED: (_("Delivered"), "live"),
    orders.CANCELLED: (_("Cancelled"), ""),
}
PAYMENTS = {
    payments.SCHEDULED: (_("Scheduled"), "scheduled"),
    payments.PENDING: (_("Being charged"), "ending"),
    payments.PROCESSED: (_("Paid"), "live"),
    payments.FAILED: (_("Failed"), "failed"),
    payments.CANCELLED: (_("Cancelled"), ""),
    payments.REFUNDED: (_("Refunded"), ""),
}


@register.filter
def order_status(status: str) -> str:
    """An order's status in words."""
    return str(ORDERS[status][0])


@register.filter
def order_state(status: str) -> str:
    """The look of an order's status, for `data-state`."""
    return ORDERS[status][1]


@register.filter
def payment_status(status: str) -> str:
    """A payment's status in words."""
    return str(PAYMENTS[status][0])


@register.filter
def payment_state(status: str) -> str:
    """The look of a payment's status, for `data-state`."""
    return PAYMENTS[status][1]


@register.filter
def key_time(when: datetime) -> str:
    """A time as keys and forms have it."""
    return iso(when)
