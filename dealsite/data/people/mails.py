"""What the worker does for users: a job each, written with what causes it. It renders and sends mail."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dealsite.data import table
from dealsite.data.entities.work import (
    CONFIRMATION as CONFIRMATION,
    EMAIL_CHANGED as EMAIL_CHANGED,
    NOTICE as NOTICE,
    ORDER_NOTICE as ORDER_NOTICE,
    PASSWORD_RESET as PASSWORD_RESET,
)
from dealsite.data.jobs.jobs import job_write
from dealsite.data.table.ids import hash_of, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put, Write

if TYPE_CHECKING:
    from dealsite.data.people.users import User


@dataclass(frozen=True, slots=True)
class NoticePayload:
    """A notice to a user about their account; `template` says which."""

    template: str
    to: str
    name: str
    language: str = ""
    user_agent: str = ""  # of the device that the notice is about, if it is about one


@dataclass(frozen=True, slots=True)
class OrderNoticePayload:
    """A mail to a shopper about an order that has come to a status; `at`: None where an earlier release wrote it."""

    status: str
    order: str
    username: str
    to: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PasswordResetPayload:
    """The user name or address, as they are compared, that a reset link was asked for."""

    email: str


@dataclass(frozen=True, slots=True)
class ConfirmationPayload:
    """The user whose pending address a link goes to."""

    username: str


@dataclass(frozen=True, slots=True)
class EmailChangedPayload:
    """A user and the address that they had before, which can take the account back."""

    username: str
    to: str


def notice(template: str, user: User, *, user_agent: str = "", now: datetime) -> Write:
    """Return the write that has a notice sent to a user about their account, in the language that they chose."""
    payload = NoticePayload(template, user.email, user.name, user.preferences.language, user_agent)
    return _job(NOTICE, payload, now)


def order_notice(
    status: str, *, order_id: str, username: str, to: str, at: datetime, now: datetime, time: int = 0
) -> Put:
    """Return the write that has a shopper told what an order has come to, `at` a moment; see `mail_id` for `time`."""
    payload = OrderNoticePayload(status, order_id, username, to, at)
    return job_write(ORDER_NOTICE, payload, job_id=mail_id(username, order_id, status, at, time), due=now)


def mail_id(username: str, about: str, status: str, at: datetime, time: int = 0) -> str:
    """Return the id of the job that tells of somebody's order, or payment, which came to a status at a moment.

    It is the same whoever asks, so that its mails are found. `time`: 0 for the first mail, 1 for the one that is sent
    once the address is confirmed, more for those that are sent again.
    """
    return new_ulid(at, int(hash_of(f"{username} {about} {status} {time}")[:20], 16))


@access_pattern("ask for a new password", "1 put")
def request_password_reset(email: str, *, now: datetime) -> None:
    """Have a reset link sent to whom a name or address means, if anybody: only the worker looks that up. 1 put."""
    table.write(_job(PASSWORD_RESET, PasswordResetPayload(email), now))


def confirmation(username: str, *, now: datetime) -> Write:
    """Return the write that has a link sent to a user's pending address."""
    return _job(CONFIRMATION, ConfirmationPayload(username), now)


@access_pattern("send the link to a pending address again", "1 put")
def request_confirmation(username: str, *, now: datetime) -> None:
    """Have a link sent to a user's pending address, if they have one: only the worker looks. 1 put."""
    table.write(confirmation(username, now=now))


def email_changed(user: User, link: str, *, now: datetime) -> Write:
    """Return the write that tells the address that a user has had so far, with a link to take it back: the job's id."""
    return job_write(EMAIL_CHANGED, EmailChangedPayload(user.username, user.email), job_id=link, due=now)


def _job(kind: str, payload: object, now: datetime) -> Write:
    return job_write(kind, payload, job_id=new_ulid(now), due=now)
