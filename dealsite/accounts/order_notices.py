"""Mail about orders: placed, shipped, delivered, cancelled. May be sent twice, never lost."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string

from dealsite.data import orders
from dealsite.data.jobs import Job

SUBJECTS = {
    orders.PLACED: "Your order",
    orders.SHIPPED: "Your order is on its way",
    orders.DELIVERED: "Your order was delivered",
    orders.CANCELLED: "Your order was cancelled",
}


def send_order_notice(job: Job, now: datetime) -> None:
    """Tell a shopper what has become of an order. 1 get + 1 query."""
    status = job.payload["status"]
    order = orders.get(job.payload["username"], job.payload["order"])
    context = {
        "status": status,
        "order": order,
        "lines": orders.lines_of(order),
        "site_name": settings.DEALSITE_NAME,
        "site_url": settings.DEALSITE_URL,
    }
    text = render_to_string(f"accounts/mail/order_{status.lower()}.txt", context)
    subject = f"{settings.DEALSITE_NAME}: {SUBJECTS[status]}"
    send_mail(subject, text, settings.DEFAULT_FROM_EMAIL, [job.payload["to"]])
