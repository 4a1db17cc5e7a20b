"""Throttles: how many tries of a kind a subject has had in the current span of time.

A try is counted before it is made and taken back when it was good, so that any number of tries at
the same time gets no more than the limit through. Subjects (a user name, an address) are hashed
in the key. A lost answer may count a try twice: the limit is then reached earlier, never later.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext as _, ngettext

from dealsite.data import keys, table
from dealsite.data.table.errors import Conflict, TooManyRequests
from dealsite.data.table.ids import epoch_seconds
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Update, at_least, below, either, missing


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `tries` of a kind within each span of time."""

    kind: str
    tries: int
    span: timedelta


@access_pattern("count a try, of signing in for example", "1 update")
def count(limit: Limit, subject: str, *, now: datetime) -> None:
    """Count a try, or raise TooManyRequests with the seconds until the span is over."""
    began = window(limit, now)
    table.write(
        Update(
            key=keys.throttle(limit.kind, subject, began),
            set={"type": "Throttle", "ttl": epoch_seconds(began + limit.span)},
            add={"count": 1},
            when=(either(missing("count"), below("count", limit.tries)),),
            otherwise=refusal(limit, now),
        )
    )


@access_pattern("take back a counted try", "1 update")
def undo_attempt(limit: Limit, subject: str, *, now: datetime) -> None:
    """Take back the try that was counted at `now`."""
    key = keys.throttle(limit.kind, subject, window(limit, now))
    with suppress(Conflict):  # expired meanwhile, or taken back by an attempt whose answer was lost
        table.write(Update(key=key, add={"count": -1}, when=(at_least("count", 1),)))


def refusal(limit: Limit, now: datetime) -> TooManyRequests:
    """Return the error that says how long to wait until the span is over."""
    end = window(limit, now) + limit.span
    wait = max(1, -int((now - end) // timedelta(seconds=1)))
    sentence = _("Too many tries. Please wait %(time)s.") % {"time": in_words(wait)}
    return TooManyRequests(sentence, retry_after=wait)


@access_pattern("how far limits are used", "1 batch get")
def uses(limits: Iterable[Limit], subject: str, *, now: datetime) -> dict[str, int]:
    """Return the tries of a subject in the present span by kind. 1 batch get."""
    counts = {limit.kind: keys.throttle(limit.kind, subject, window(limit, now)) for limit in limits}
    items = table.batch_get([*counts.values()])
    return {kind: items[key]["count"] if key in items else 0 for kind, key in counts.items()}


def in_words(seconds: int) -> str:
    """Return a waiting time as people say it: 40 seconds, 12 minutes, 3 hours."""
    if seconds < 90:
        return ngettext("%(count)d second", "%(count)d seconds", seconds) % {"count": seconds}
    minutes = -(-seconds // 60)
    if minutes > 90:
        hours = -(-minutes // 60)
        return ngettext("%(count)d hour", "%(count)d hours", hours) % {"count": hours}
    return ngettext("%(count)d minute", "%(count)d minutes", minutes) % {"count": minutes}


def window(limit: Limit, now: datetime) -> datetime:
    """Return when the present span of a limit began."""
    span = int(limit.span.total_seconds())
    return datetime.fromtimestamp(epoch_seconds(now) // span * span, UTC)
