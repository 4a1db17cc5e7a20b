"""Raises an alarm when more tries fail than usual: a line in the log, and a mail to whom the settings name.

What the nightly check of the table found is mailed to them as well.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy

from dealsite.accounts.locales import spoken
from dealsite.data.integrity.problem import Problem
from dealsite.data.people import security_events, throttles
from dealsite.data.people.throttles import Limit
from dealsite.data.table.errors import TooManyRequests
from dealsite.home import COMMAND
from dealsite.text.lazy import Text
from dealsite.web.log_lines import printable

EVERY = timedelta(minutes=1)
ONCE_AN_HOUR = Limit("alarm", 1, timedelta(hours=1))  # by all workers together, on each day's hours
SUBJECT = "failures"
MOST_KINDS, MOST_KEYS = 20, 3  # of problems, in a mail

logger = structlog.get_logger(__name__)


def check(*, now: datetime) -> bool:
    """Raise the alarm where it has to be, and was not yet in this hour; tell whether that was so. 1 query."""
    most: int = settings.DEALSITE_ALARM_FAILURES
    span = security_events.ALARM_SPAN
    failed = sum(security_events.failures(within=span, now=now).values())
    if not most or failed < most:
        return False
    try:
        throttles.count(ONCE_AN_HOUR, SUBJECT, now=now)
    except TooManyRequests:
        return False
    logger.error("security_alarm", failures=failed, minutes=span // timedelta(minutes=1))
    if settings.DEALSITE_ALARM_MAIL:
        try:
            mail(gettext_lazy("Many tries fail"), "security_alarm", failures=failed, now=now)
        except OSError as error:  # of the mail server: the next check tries again
            throttles.undo_attempt(ONCE_AN_HOUR, SUBJECT, now=now)
            logger.warning("security_alarm_not_sent", error=repr(error))
    return True


def mail(subject: Text, template: str, **context: Any) -> None:
    """Send a mail to whom the settings name, in the site's language; OSError of the mail server."""
    site = {"site_name": settings.DEALSITE_NAME, "site_url": settings.DEALSITE_URL}
    with spoken(""):
        text = render_to_string(f"accounts/mail/{template}.txt", site | context)
        send_mail(
            f"{settings.DEALSITE_NAME}: {subject}",
            text,
            settings.DEFAULT_FROM_EMAIL,
            settings.DEALSITE_ALARM_MAIL,
        )


@dataclass(frozen=True)
class ProblemKind:
    """Problems that are alike: their sentence without its values, how many they are, and the keys of some."""

    sentence: str
    number: int
    keys: list[str]


def mail_problems(left: list[Problem]) -> None:
    """Mail what a check of the table found and nothing can be derived for."""
    kinds = _alike(left)
    try:
        mail(
            gettext_lazy("The table has problems"),
            "table_problems",
            number=len(left),
            kinds=kinds[:MOST_KINDS],
            more=len(kinds[MOST_KINDS:]),
            command=COMMAND,
        )
    except OSError as error:  # of the mail server; the page Operations says it, too
        logger.warning("nightly_check_not_sent", error=repr(error))


def _alike(problems: list[Problem]) -> list[ProblemKind]:
    """Return the kinds of some problems, those with the most first."""
    keys: dict[str, list[str]] = {}
    for problem in problems:
        keys.setdefault(printable(problem.kind), []).append(printable(" / ".join(problem.key)))
    found = [ProblemKind(sentence, len(of_kind), of_kind[:MOST_KEYS]) for sentence, of_kind in keys.items()]
    return sorted(found, key=lambda one: (-one.number, one.sentence))
