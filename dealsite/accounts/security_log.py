"""The security log: what happened at the site's doors, a structured line each in the log, and a row in the table.

A line is written each time. Of what failed, a stranger may cause any number: in a minute the first of each event, user
and network has a row, and the 10th, 100th and so on, which says so; so many kinds have one of a network and in all (of
one process). How often all failed is counted besides. While the table is away there are lines only: a page answers as
it would have.
"""

import threading
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import structlog
from django.http import HttpRequest
from django.utils import timezone

from dealsite.accounts.requests import client_address, network_of
from dealsite.data.entities.work import DETAIL_CHARACTERS, Event
from dealsite.data.names import normalise_username
from dealsite.data.people import security_events
from dealsite.data.people.security_events import SecurityEvent
from dealsite.data.table.errors import DataError, Invalid
from dealsite.web.counting import current_id, route_of

FAILURES: frozenset[Event] = frozenset(
    {"sign_in_failed", "code_failed", "passkey_failed", "refused", "throttled", "csrf_refused"}
)
BY_STATUS: dict[int, Event] = {403: "refused", 429: "throttled"}
MOST_ROWS = 200  # of what failed, in a minute
MOST_OF_NETWORK = 20
COUNT_EVERY = timedelta(seconds=5)

logger = structlog.get_logger(__name__)


class Failures:
    """What failed in this minute, as far as this process saw it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        self.minute = self.counted_at = datetime.min.replace(tzinfo=UTC)
        self.rows: Counter[tuple[str, ...]] = Counter()
        self.of_network: Counter[str] = Counter()
        self.uncounted = 0

    def see(self, event: Event, username: str, network: str, now: datetime) -> tuple[int, int]:
        """Return how many like it this minute had by then, 0 if it gets no row; and how many are to be counted now."""
        with self.lock:
            minute = now.replace(second=0, microsecond=0)
            if minute != self.minute:
                self.minute = minute
                self.rows.clear()
                self.of_network.clear()
            row = (event, username, network)
            if row in self.rows:
                self.rows[row] += 1
            elif len(self.rows) < MOST_ROWS and self.of_network[network] < MOST_OF_NETWORK:
                self.rows[row] = 1
                self.of_network[network] += 1
            times = self.rows[row]
            with_row = times if str(times).rstrip("0") == "1" else 0
            self.uncounted += 1
            if abs(now - self.counted_at) < COUNT_EVERY:
                return with_row, 0
            number, self.uncounted, self.counted_at = self.uncounted, 0, now
            return with_row, number


failures = Failures()


def note(request: HttpRequest, event: Event, *, username: str = "", detail: str = "") -> None:
    """Note an event of a user, by name, '' for a visitor; never a password, code, token or key.

    Not what was typed where a name was asked for: people type their passwords there. 1 put at most, and 1 update
    every 5 seconds; no budget of a page counts them.
    """
    now = timezone.now()
    try:
        username = normalise_username(username) if username else ""
    except Invalid:
        username = ""
    network = network_of(client_address(request))
    made = SecurityEvent(
        event, now, username, network, route_of(request), detail[:DETAIL_CHARACTERS], current_id()
    )
    logger.info(event, username=username, network=network, page=made.page, detail=made.detail)
    events_of(request).add(event)
    times, failed = failures.see(event, username, network, now) if event in FAILURES else (1, 0)
    if request.__dict__.get("is_unnoted"):
        return
    meter = getattr(request, "meter", None)
    try:
        with security_events.noting(meter.seconds if meter else 0.0):
            if times:
                security_events.add(replace(made, times=times if times > 1 else None))
            if failed:
                security_events.count_failures(failed, now=now)
    except (DataError, ValueError) as error:
        request.__dict__["is_unnoted"] = True  # one wait for the table is enough
        logger.warning("security_event_not_stored", reason=repr(error))


def events_of(request: HttpRequest) -> set[Event]:
    """Return the events that were noted of a request."""
    noted: set[Event] = request.__dict__.setdefault("noted_events", set())
    return noted


def note_refusal(request: HttpRequest, status: int, *, username: str) -> None:
    """Note what an answer's status says, 403 or 429, where nobody has noted more about it."""
    event = BY_STATUS[status]
    if events_of(request).isdisjoint({event, "csrf_refused"}):
        note(request, event, username=username)
