"""The jobs of accounts: mail to users, and what a deleted user leaves behind. Each may run twice."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.urls import reverse

from dealsite.accounts import reset_tokens
from dealsite.data import mails, sessions, users
from dealsite.data.jobs import Handler, Job

SUBJECTS = {
    "password_changed": "Your password was changed",
    "email_changed": "Your e-mail address was changed",
    "password_reset": "A new password",
}


def send_notice(job: Job, now: datetime) -> None:
    """Tell a user what happened to his account."""
    _send(job.payload["template"], job.payload["to"], name=job.payload["name"], now=now)


def send_password_reset(job: Job, now: datetime) -> None:
    """Send a reset link to an address, if it is a user's. 2 gets."""
    user = users.find(job.payload["email"])
    if user is None:
        return
    path = reverse("follow_reset_link", args=[user.username, reset_tokens.make(user, now=now)])
    minutes = settings.PASSWORD_RESET_TIMEOUT // 60
    _send("password_reset", user.email, name=user.name, username=user.username, path=path, minutes=minutes)


def remove_user(job: Job, now: datetime) -> None:
    """Remove the sessions of a deleted user. 1 query a page + 1 delete each."""
    sessions.end_all(job.payload["username"])


HANDLERS: dict[str, Handler] = {
    mails.NOTICE: send_notice,
    mails.PASSWORD_RESET: send_password_reset,
    users.REMOVE_USER: remove_user,
}


def _send(template: str, to: str, **context: object) -> None:
    site = {"site_name": settings.DEALSITE_NAME, "site_url": settings.DEALSITE_URL}
    text = render_to_string(f"accounts/mail/{template}.txt", context | site)
    send_mail(f"{settings.DEALSITE_NAME}: {SUBJECTS[template]}", text, settings.DEFAULT_FROM_EMAIL, [to])
