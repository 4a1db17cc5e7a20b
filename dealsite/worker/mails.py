"""The jobs that send mail: about accounts, orders and payments. A mail may be sent twice, and is never lost."""

from datetime import datetime

from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext_lazy

from dealsite.accounts.locales import spoken
from dealsite.accounts.passwords import make_reset_token
from dealsite.accounts.sessions import device_name
from dealsite.data.commerce import orders
from dealsite.data.commerce.payment.order_payments import MESSAGE_KIND, PAYMENT_NOTICE, PaymentNoticePayload
from dealsite.data.commerce.payments import FAILED, PROCESSED, REFUNDED
from dealsite.data.jobs.jobs import Handler, Job
from dealsite.data.jobs.payloads import from_item
from dealsite.data.people import mails, messages, users
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import time_of

SUBJECTS = {
    "password_changed": gettext_lazy("Your password was changed"),
    "email_changed": gettext_lazy("Your e-mail address was changed"),
    "password_reset": gettext_lazy("A new password"),
    "two_factor_on": gettext_lazy("Two-factor sign-in is on"),
    "two_factor_off": gettext_lazy("Two-factor sign-in is off"),
    "recovery_code_used": gettext_lazy("A recovery code was used"),
    "passkey_added": gettext_lazy("A passkey was added"),
    "passkey_removed": gettext_lazy("A passkey was removed"),
    "new_device": gettext_lazy("A new sign-in to your account"),
    orders.PLACED: gettext_lazy("Your order"),
    orders.SHIPPED: gettext_lazy("Your order is on its way"),
    orders.DELIVERED: gettext_lazy("Your order was delivered"),
    orders.CANCELLED: gettext_lazy("Your order was cancelled"),
}
HEADLINES = {
    PROCESSED: gettext_lazy("Payment received"),
    FAILED: gettext_lazy("A payment failed"),
    REFUNDED: gettext_lazy("A payment was refunded"),
}


def send_notice(job: Job, now: datetime) -> None:
    """Tell a user what happened to their account."""
    notice = from_item(mails.NoticePayload, job.payload)
    with spoken(notice.language):
        device = device_name(notice.user_agent)
        text = _render(f"{notice.template}.txt", name=notice.name, device=device, now=time_of(job.id))
        _send(SUBJECTS[notice.template], text, notice.to)


def send_password_reset(job: Job, now: datetime) -> None:
    """Send a reset link to an address, if it is a user's. 2 gets."""
    user = users.find(from_item(mails.PasswordResetPayload, job.payload).email)
    if user is None or user.suspended_at:
        return
    path = reverse("follow_reset_link", args=[user.username, make_reset_token(user, now=now)])
    context = {"name": user.name, "username": user.username, "path": path}
    with spoken(user.preferences.language):
        text = _render("password_reset.txt", minutes=settings.PASSWORD_RESET_TIMEOUT // 60, **context)
        _send(SUBJECTS["password_reset"], text, user.email)


def send_order_notice(job: Job, now: datetime) -> None:
    """Tell a shopper what has become of an order, in their language. 2 gets + 1 query."""
    notice = from_item(mails.OrderNoticePayload, job.payload)
    order = orders.get(notice.username, notice.order)
    lines = orders.lines_of(order)
    user = users.find(order.username)
    with spoken(user.preferences.language if user else ""):
        template = f"order_{notice.status.lower()}.txt"
        text = _render(template, status=notice.status, order=order, lines=lines)
        _send(SUBJECTS[notice.status], text, notice.to)


def send_payment_notice(job: Job, now: datetime) -> None:
    """Tell a payment's owner what became of it, by message and mail, unless they are gone. 2 gets, 1 batch insert.

    An order without an address for mail (the demo's) gets the message only.
    """
    said = from_item(PaymentNoticePayload, job.payload)
    try:
        user = users.get(said.account)
        order = orders.get(user.username, said.order)
    except NotFound:
        return
    with spoken(user.preferences.language):
        amount = f"{number_format(said.amount, 2)} {settings.DEALSITE_CURRENCY}"
        context = {"name": user.name, "said": said, "amount": amount, "next_at": said.next_at}
        message = messages.message_item(
            user.username,
            job.id,
            kind=MESSAGE_KIND,
            headline=f"{HEADLINES[said.status]}: {amount}",
            deal="",
            text=_render("_payment.txt", **context).strip(),
            order=said.order,
        )
        messages.deliver([message])
        if order.email:
            _send(HEADLINES[said.status], _render("payment.txt", **context), user.email)


HANDLERS: dict[str, Handler] = {
    mails.NOTICE: send_notice,
    mails.PASSWORD_RESET: send_password_reset,
    mails.ORDER_NOTICE: send_order_notice,
    PAYMENT_NOTICE: send_payment_notice,
}


def _render(template: str, **context: object) -> str:
    site = {"site_name": settings.DEALSITE_NAME, "site_url": settings.DEALSITE_URL}
    return render_to_string(f"accounts/mail/{template}", context | site)


def _send(subject: object, text: str, to: str) -> None:
    send_mail(f"{settings.DEALSITE_NAME}: {subject}", text, settings.DEFAULT_FROM_EMAIL, [to])
