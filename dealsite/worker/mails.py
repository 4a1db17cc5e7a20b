"""The jobs that send mail: about accounts, orders and payments. A mail may be sent twice, and is never lost."""

from dataclasses import replace
from datetime import datetime
from smtplib import SMTPException, SMTPRecipientsRefused

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext_lazy

from dealsite.accounts import limits
from dealsite.accounts.email_links import CONFIRM_WITHIN, confirmation_path, confirms_address, take_back_path
from dealsite.accounts.locales import spoken
from dealsite.accounts.passwords import make_reset_token
from dealsite.accounts.requests import device_name
from dealsite.data.commerce import orders
from dealsite.data.commerce.order_lines import history
from dealsite.data.commerce.payments import MESSAGE_KIND, PAYMENT_NOTICE, PaymentNoticePayload
from dealsite.data.entities.attributes import ZERO
from dealsite.data.entities.commerce import FAILED, PLACED, PROCESSED, REFUNDED, SCHEDULED
from dealsite.data.jobs.jobs import Cancelled, Handler, Job
from dealsite.data.jobs.payloads import payload_from_item
from dealsite.data.people import mails, messages, users
from dealsite.data.people.email_addresses import TAKE_BACK_WITHIN
from dealsite.data.table.errors import NotFound, TooManyRequests
from dealsite.data.table.ids import folded, time_of
from dealsite.text.stored_words import shown
from dealsite.text.writing import money

SUBJECTS = {
    "password_changed": gettext_lazy("Your password was changed"),
    "email_changed": gettext_lazy("Your e-mail address was changed"),
    "password_reset": gettext_lazy("A new password"),
    "confirmation": gettext_lazy("Confirm your e-mail address"),
    "address_in_use": gettext_lazy("You have an account already"),
    "two_factor_on": gettext_lazy("Two-factor sign-in is on"),
    "two_factor_off": gettext_lazy("Two-factor sign-in is off"),
    "recovery_code_used": gettext_lazy("A recovery code was used"),
    "passkey_added": gettext_lazy("A passkey was added"),
    "passkey_removed": gettext_lazy("A passkey was removed"),
    "new_device": gettext_lazy("A new sign-in to your account"),
    PLACED: gettext_lazy("Your order"),
}
HEADLINES = {
    PROCESSED: gettext_lazy("Payment received"),
    FAILED: gettext_lazy("A payment failed"),
    SCHEDULED: gettext_lazy("A payment is due"),
    REFUNDED: gettext_lazy("A payment was refunded"),
}
logger = structlog.get_logger(__name__)


def send_notice(job: Job, now: datetime) -> None:
    """Tell a user what happened to their account."""
    notice = payload_from_item(mails.NoticePayload, job.payload)
    with spoken(notice.language):
        device = device_name(notice.user_agent)
        text = _render(f"{notice.template}.txt", name=notice.name, device=device, now=time_of(job.id))
        _send(notice.template, text, notice.to, now)


def send_password_reset(job: Job, now: datetime) -> None:
    """Send a reset link to the address of whom a name or address means, each of them if it is pending only.

    An address that is somebody's by now finds nobody else. 4 gets, or 2 gets + 1 query + 1 batch get.
    """
    asked = payload_from_item(mails.PasswordResetPayload, job.payload).email
    known = users.find(asked)
    if known and (known.suspended_at or (not known.email and users.find(known.pending_email))):
        return
    for user in [known] if known else users.waiting_for(asked):
        path = reverse("follow_reset_link", args=[user.username, make_reset_token(user, now=now)])
        context = {
            "name": user.name if user.email else user.username,  # a stranger reads no words of theirs
            "username": user.username,
            "path": path,
            "confirms": confirms_address(user),
        }
        with spoken(user.preferences.language):
            text = _render("password_reset.txt", minutes=settings.PASSWORD_RESET_TIMEOUT // 60, **context)
            _send("password_reset", text, user.email or user.pending_email, now)


def send_confirmation(job: Job, now: datetime) -> None:
    """Send a link to a user's pending address; if the address is another user's, tell that one instead. 3 gets."""
    user = users.find(payload_from_item(mails.ConfirmationPayload, job.payload).username)
    if user is None or not user.pending_email:
        return
    owner = users.find(user.pending_email)
    if owner and owner.username != user.username:
        with spoken(owner.preferences.language):
            text = _render("address_in_use.txt", name=owner.name, username=owner.username)
            _send("address_in_use", text, owner.email, now)
        return
    # By the user name: the address may be a stranger's, who is to read no words of theirs.
    context = {"name": user.username, "username": user.username, "path": confirmation_path(user, now=now)}
    with spoken(user.preferences.language):
        text = _render("confirmation.txt", days=CONFIRM_WITHIN.days, **context)
        _send("confirmation", text, user.pending_email, now)


def send_email_changed(job: Job, now: datetime) -> None:
    """Tell the address that a user had until now, with a link to take the account back if that is good. 1 get."""
    payload = payload_from_item(mails.EmailChangedPayload, job.payload)
    user = users.find(payload.username)
    if user is None:
        return
    days = TAKE_BACK_WITHIN.days
    path = take_back_path(user, payload.to, job.id) if job.id in user.take_backs else ""
    with spoken(user.preferences.language):
        text = _render("email_changed.txt", name=user.name, now=now, path=path, days=days)
        _send("email_changed", text, payload.to, now)


def send_order_notice(job: Job, now: datetime) -> None:
    """Tell a shopper what has become of an order, in their language; IncompleteOrder. 2 gets + 1 query."""
    notice = payload_from_item(mails.OrderNoticePayload, job.payload)
    order, lines = orders.with_lines(orders.get(notice.username, notice.order))
    user = users.find(order.username)
    event = next(
        (one for one in order.timeline if (one.status, one.at) == (notice.status, notice.at)),
        next(one for one in reversed(order.timeline) if one.status == notice.status),
    )
    so_far = order.timeline[: order.timeline.index(event) + 1]
    became = history(replace(order, timeline=so_far), lines)
    moved = became.of(event)
    with spoken(user.preferences.language if user else ""):
        context = {
            "order": order,
            "event": event,
            "lines": [(line, one.pieces, one.pieces * line.price) for line, one in moved],
            "taken_off": sum((one.amount for _line, one in moved), ZERO),
            "total": became.worth,
        }
        text = _render("order.txt", **context)
        to = user.email if user and notice.to else notice.to  # their address of today, once it is confirmed
        _send(notice.status, text, to, now, order_id=order.id, headline=event.headline)


def send_payment_notice(job: Job, now: datetime) -> None:
    """Tell a payment's owner what became of it, by message and mail, unless they are gone. 2 gets, 1 batch insert.

    An order without an address for mail (the demo's) gets the message only.
    """
    said = payload_from_item(PaymentNoticePayload, job.payload)
    try:
        user = users.get(said.account)
        order = orders.get(user.username, said.order)
    except NotFound:
        return
    with spoken(user.preferences.language):
        amount = money(said.amount)
        context = {"name": user.name, "said": said, "amount": amount, "next_at": said.next_at}
        context["ends_at"] = said.ends_at if order.status == PLACED else None  # what is shipped stays
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
            _send(said.status, _render("payment.txt", **context), user.email, now, order_id=order.id)


HANDLERS: dict[str, Handler] = {
    mails.NOTICE: send_notice,
    mails.PASSWORD_RESET: send_password_reset,
    mails.CONFIRMATION: send_confirmation,
    mails.EMAIL_CHANGED: send_email_changed,
    mails.ORDER_NOTICE: send_order_notice,
    PAYMENT_NOTICE: send_payment_notice,
}


def _render(template: str, **context: object) -> str:
    site = {"site_name": settings.DEALSITE_NAME, "site_url": settings.DEALSITE_URL}
    return render_to_string(f"accounts/mail/{template}", context | site)


def subject_of(kind: str, headline: str = "") -> str:
    """Return what a mail is about, of an order's by the headline of its event."""
    return str(SUBJECTS.get(kind) or HEADLINES.get(kind) or shown(headline))


def _send(kind: str, text: str, to: str, now: datetime, *, order_id: str = "", headline: str = "") -> None:
    """Send a mail, unless its address has had as many of this kind as it gets: what it tells of has happened anyway.

    The subject names the order by the end of its id, as lists of orders do.
    Cancelled says why one about an order was not sent. 2 updates, 1 more where it could not be: it will be tried again,
    and counts once. TooManyRequests where the site sends as many mails as it may.
    """
    if not to:
        return _leave(order_id, "There is no confirmed address.")
    if not settings.DEALSITE_SENDS_MAIL:
        logger.warning("mail_not_sent", kind=kind, reason="DEALSITE_SMTP_HOST names no mail server")
        return _leave(order_id, "The site has no mail server.")
    # Orders and payments of one shopper come in heaps, whatever has become of them.
    limit, whose = ("mail-order", folded(to)) if order_id else ("mail", f"{kind} {folded(to)}")
    try:
        tries = limits.count((limit, whose), now=now)
    except TooManyRequests:
        logger.warning("mail_not_sent", kind=kind, reason="too many")
        return _leave(order_id, "There were too many mails.")
    subject = f"{settings.DEALSITE_NAME}: {subject_of(kind, headline)}"
    if order_id:
        subject += f" ({order_id[-6:]})"
    try:
        limits.take_turn(limit)
        EmailMessage(subject, text, to=[to], headers={"Auto-Submitted": "auto-generated"}).send()
    except SMTPException as refused:
        tries.succeeded()
        raise MailRefused(refused) from None
    except Exception:
        tries.succeeded()
        raise


def _leave(order_id: str, reason: str) -> None:
    """Note with the job of a mail about an order why it was not sent, where its page says so; see stored_words.txt."""
    if order_id:
        raise Cancelled(reason)


class MailRefused(Exception):
    """The mail server did not take a mail; the message has no address in it, since logs and jobs keep it."""

    def __init__(self, refused: SMTPException) -> None:
        """Say what was refused, with the code of each answer, and none of its text: servers repeat addresses in it."""
        answers = (
            refused.recipients.values() if isinstance(refused, SMTPRecipientsRefused) else [refused.args]
        )
        codes = sorted({str(one[0]) for one in answers if one and isinstance(one[0], int)})
        super().__init__(" ".join([type(refused).__name__, *codes]))
