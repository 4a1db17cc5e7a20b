"""Telling a shopper what became of a payment: a message in the inbox, and a mail."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.utils.formats import number_format
from django.utils.translation import gettext_lazy

from dealsite.accounts.locales import spoken
from dealsite.data.commerce import orders
from dealsite.data.commerce.payment.order_payments import MESSAGE_KIND, PaymentNoticePayload
from dealsite.data.commerce.payments import FAILED, PROCESSED, REFUNDED
from dealsite.data.jobs import jobs
from dealsite.data.jobs.payloads import from_item
from dealsite.data.people import messages, users
from dealsite.data.table.errors import NotFound

HEADLINES = {
    PROCESSED: gettext_lazy("Payment received"),
    FAILED: gettext_lazy("A payment failed"),
    REFUNDED: gettext_lazy("A payment was refunded"),
}


def send_payment_notice(job: jobs.Job, now: datetime) -> None:
    """Tell a payment's owner what became of it, unless he is gone. 2 gets, 1 batch insert.

    An order without an address for mail (the demo's) gets the message only.
    """
    said = from_item(PaymentNoticePayload, job.payload)
    try:
        user = users.get(said.account)
        order = orders.get(user.username, said.order)
    except NotFound:
        return
    with spoken(user.preferences.language):
        headline = str(HEADLINES[said.status])
        context = {
            "name": user.name,
            "said": said,
            "amount": f"{number_format(said.amount, 2)} {settings.DEALSITE_CURRENCY}",
            "next_at": said.next_at,
            "site_name": settings.DEALSITE_NAME,
            "site_url": settings.DEALSITE_URL,
        }
        text = render_to_string("accounts/mail/payment.txt", context)
        message = messages.message_item(
            user.username,
            job.id,
            kind=MESSAGE_KIND,
            headline=f"{headline}: {context['amount']}",
            deal="",
            text=render_to_string("accounts/mail/_payment.txt", context).strip(),
            order=said.order,
        )
    messages.deliver([message])
    if order.email:
        send_mail(f"{settings.DEALSITE_NAME}: {headline}", text, settings.DEFAULT_FROM_EMAIL, [user.email])
