"""Mail about orders: placed, shipped, delivered, cancelled. May be sent twice, never lost."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy

from dealsite.accounts.locales import spoken
from dealsite.data.commerce import orders
from dealsite.data.jobs.jobs import Job
from dealsite.data.jobs.payloads import from_item
from dealsite.data.people import users
from dealsite.data.people.mails import OrderNoticePayload

SUBJECTS = {
    orders.PLACED: gettext_lazy("Your order"),
    orders.SHIPPED: gettext_lazy("Your order is on its way"),
    orders.DELIVERED: gettext_lazy("Your order was delivered"),
    orders.CANCELLED: gettext_lazy("Your order was cancelled"),
}


def send_order_notice(job: Job, now: datetime) -> None:
    """Tell a shopper what has become of an order, in his language. 2 gets + 1 query."""
    notice = from_item(OrderNoticePayload, job.payload)
    status = notice.status
    order = orders.get(notice.username, notice.order)
    context = {
        "status": status,
        "order": order,
        "lines": orders.lines_of(order),
        "site_name": settings.DEALSITE_NAME,
        "site_url": settings.DEALSITE_URL,
    }
    user = users.find(order.username)
    with spoken(user.preferences.language if user else ""):
        text = render_to_string(f"accounts/mail/order_{status.lower()}.txt", context)
        subject = f"{settings.DEALSITE_NAME}: {SUBJECTS[status]}"
    send_mail(subject, text, settings.DEFAULT_FROM_EMAIL, [notice.to])
