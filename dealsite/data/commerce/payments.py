"""Payments: instalments of orders, and what else is charged when it comes due.

stored     a payment as it is stored           plans      instalments of an order
changes    as checkout and cancelling do       steering   as people do with a single one
running    charging what is due                refunding  giving back       notices  telling the owner
lists      everything read of them             totals     what a day's payments come to
closing    a day's payments to the history     loads      many at once
"""

from dealsite.data.commerce.payment.instalments import PLANS, instalments, new_payments, plans_for
from dealsite.data.commerce.payment.order_payments import (
    REFUND_PAYMENT,
    cancel_writes,
    insert_write,
    insert_writes,
    of_order,
)
from dealsite.data.commerce.payment.payment_record import (
    CANCELLED,
    FAILED,
    PENDING,
    PROCESSED,
    REFUNDED,
    SCHEDULED,
    STATUSES,
    Payment,
    Refund,
    Step,
    payment_from_item,
    payment_item,
)
from dealsite.data.commerce.payment.payment_totals import PAYMENT_TOTALS, totals_job

__all__ = [
    "CANCELLED",
    "FAILED",
    "PAYMENT_TOTALS",
    "PENDING",
    "PLANS",
    "PROCESSED",
    "REFUNDED",
    "REFUND_PAYMENT",
    "SCHEDULED",
    "STATUSES",
    "Payment",
    "Refund",
    "Step",
    "cancel_writes",
    "insert_write",
    "insert_writes",
    "instalments",
    "new_payments",
    "of_order",
    "payment_from_item",
    "payment_item",
    "plans_for",
    "totals_job",
]
