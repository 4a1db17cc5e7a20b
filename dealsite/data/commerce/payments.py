"""Payments: instalments of orders, and what else is charged when it comes due.

payment_record    a payment as it is stored           order_payments  an order's: instalments, writes, notices
payment_actions   what people do with a single one    charging        charging what is due, and refunding
payment_lists     everything read of them             payment_totals  what a day's payments come to
day_closing       a day's payments to the history     payment_loads   many at once
"""

from dealsite.data.commerce.payment.order_payments import (
    REFUND_PAYMENT,
    cancel_writes,
    insert_write,
    insert_writes,
    instalments,
    new_payments,
    of_order,
    plans_for,
)
from dealsite.data.commerce.payment.payment_record import Payment, Step
from dealsite.data.commerce.payment.payment_totals import PAYMENT_TOTALS
from dealsite.data.entities.commerce import PLANS
from dealsite.data.entities.payments import (
    CANCELLED,
    FAILED,
    PENDING,
    PROCESSED,
    REFUNDED,
    SCHEDULED,
    STATUSES,
)
