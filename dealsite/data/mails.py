"""Mail to be sent: a job each, written with what causes it; the worker renders and sends."""

from __future__ import annotations

from datetime import datetime

from dealsite.data import table
from dealsite.data.ids import new_ulid
from dealsite.data.jobs import job_write
from dealsite.data.writes import Write

NOTICE = "account_notice"  # kinds of jobs
ORDER_NOTICE = "order_notice"
PASSWORD_RESET = "password_reset_mail"  # noqa: S105


def notice(template: str, *, to: str, name: str, language: str, now: datetime) -> Write:
    """Return the write that has a notice sent to a user about his account, in the language that he chose."""
    payload = {"template": template, "to": to, "name": name, "language": language}
    return job_write(NOTICE, payload, job_id=new_ulid(now), due=now)


def order_notice(status: str, *, order_id: str, username: str, to: str, now: datetime) -> Write:
    """Return the write that has a shopper told what has become of an order."""
    payload = {"status": status, "order": order_id, "username": username, "to": to}
    return job_write(ORDER_NOTICE, payload, job_id=new_ulid(now), due=now)


def request_password_reset(email: str, *, now: datetime) -> None:
    """Have a reset link sent to an address, if it is a user's: only the worker looks that up. 1 put."""
    table.write(job_write(PASSWORD_RESET, {"email": email}, job_id=new_ulid(now), due=now))
