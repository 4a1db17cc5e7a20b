"""Mail about orders: placed, shipped, delivered, cancelled. May be sent twice, never lost."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy

from dealsite.accounts import languages
from dealsite.data import orders, users
from dealsite.data.jobs import Job

SUBJECTS = {
    orders.PLACED: gettext_lazy("Your order"),
    orders.SHIPPED: gettext_lazy("Your order is on its way"),
    orders.DELIVERED: gettext_lazy("Your order was delivered"),
    orders.CANCELLED: gettext_lazy("Your order was cancelled"),
}


def send_order_notice(job: Job, now: datetime) -> None:
    """Tell a shopper what has become of an order, in his language. 2 gets + 1 query."""
    status = job.payload["status"]
    order = orders.get(job.payload["username"], job.payload["order"])
    context = {
        "status": status,
        "order": order,
        "lines": orders.lines_of(order),
        "site_name": settings.DEALSITE_NAME,
        "site_url": settings.DEALSITE_URL,
    }
    user = users.find(order.username)
    with languages.spoken(user.preferences.language if user else ""):
        text = render_to_string(f"accounts/mail/order_{status.lower()}.txt", context)
        subject = f"{settings.DEALSITE_NAME}: {SUBJECTS[status]}"
    send_mail(subject, text, settings.DEFAULT_FROM_EMAIL, [job.payload["to"]])
