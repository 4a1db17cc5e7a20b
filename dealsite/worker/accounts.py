"""The jobs of accounts: mail to users, and what a deleted user leaves behind. Each may run twice."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext_lazy

from dealsite.accounts import languages, reset_tokens
from dealsite.data.catalogue import relations
from dealsite.data.commerce import carts
from dealsite.data.commerce.order import saved_details
from dealsite.data.editing import saved_views
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Handler, Job
from dealsite.data.jobs.payloads import from_item, to_item
from dealsite.data.people import mails, messages, sessions, users
from dealsite.data.people.removal import REMOVE_USER, RemovalCheckpoint, RemovalPayload
from dealsite.worker.order_mails import send_order_notice

SECOND_LOOK = timedelta(minutes=1)  # more than an index lags behind, and a batch of messages takes
BATCH = 100
BATCHES_AT_ONCE = 10  # well within the time of a lease

SUBJECTS = {
    "password_changed": gettext_lazy("Your password was changed"),
    "email_changed": gettext_lazy("Your e-mail address was changed"),
    "password_reset": gettext_lazy("A new password"),
    "two_factor_on": gettext_lazy("Two-factor sign-in is on"),
    "two_factor_off": gettext_lazy("Two-factor sign-in is off"),
    "recovery_code_used": gettext_lazy("A recovery code was used"),
}


def send_notice(job: Job, now: datetime) -> None:
    """Tell a user what happened to his account."""
    notice = from_item(mails.NoticePayload, job.payload)
    with languages.spoken(notice.language):
        _send(notice.template, notice.to, name=notice.name, now=now)


def send_password_reset(job: Job, now: datetime) -> None:
    """Send a reset link to an address, if it is a user's. 2 gets."""
    user = users.find(from_item(mails.PasswordResetPayload, job.payload).email)
    if user is None:
        return
    path = reverse("follow_reset_link", args=[user.username, reset_tokens.make(user, now=now)])
    minutes = settings.PASSWORD_RESET_TIMEOUT // 60
    with languages.spoken(user.preferences.language):
        _send(
            "password_reset", user.email, name=user.name, username=user.username, path=path, minutes=minutes
        )


def remove_user(job: Job, now: datetime) -> datetime | None:
    """Remove what a deleted user leaves behind: sessions, messages, cart, saved views, likes, watches and counts.

    It looks a second time when the indexes have caught up, and whoever was about to send him a message
    has done so. 1 query a page of each + 1 write each.
    """
    username = from_item(RemovalPayload, job.payload).username
    sessions.end_all(username)
    relations.remove_all(username)
    messages.delete_all(username)
    carts.clear(username)
    saved_views.forget(username)
    if from_item(RemovalCheckpoint, job.checkpoint).looked:
        return None
    jobs.save_checkpoint(job, to_item(RemovalCheckpoint(looked=True)), now=now)
    return now + SECOND_LOOK


def read_all(job: Job, now: datetime) -> datetime | None:
    """Mark many messages read, some hundreds at a time. 1 query for each 100 + 1 update each."""
    payload = from_item(messages.ReadAllPayload, job.payload)
    for _ in range(BATCHES_AT_ONCE):
        if messages.mark_all_read(payload.username, until=payload.until, limit=BATCH) < BATCH:
            return None
    return now


def mute_all(job: Job, now: datetime) -> datetime | None:
    """Mute many watches, or hear them again, some hundreds at a time. 1 query for each 100 + 1 update each."""
    payload = from_item(relations.MuteAllPayload, job.payload)
    for _ in range(BATCHES_AT_ONCE):
        if relations.mute_all(payload.username, muted=payload.muted, limit=BATCH) < BATCH:
            return None
    return now


HANDLERS: dict[str, Handler] = {
    mails.NOTICE: send_notice,
    mails.PASSWORD_RESET: send_password_reset,
    mails.ORDER_NOTICE: send_order_notice,
    saved_details.USE_CARD: saved_details.use_card,
    REMOVE_USER: remove_user,
    messages.READ_ALL: read_all,
    relations.MUTE_ALL: mute_all,
}


def _send(template: str, to: str, **context: object) -> None:
    site = {"site_name": settings.DEALSITE_NAME, "site_url": settings.DEALSITE_URL}
    text = render_to_string(f"accounts/mail/{template}.txt", context | site)
    send_mail(f"{settings.DEALSITE_NAME}: {SUBJECTS[template]}", text, settings.DEFAULT_FROM_EMAIL, [to])
