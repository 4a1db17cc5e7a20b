"""Counts tries and uses, and refuses what is too many. How many that is says limit_table.py.

A stranger who guesses a password is stopped after a few tries from one address. The limit on a user over all
addresses is wide and short, so that it slows guessing by many machines but keeps the owner out for minutes at most; and
it does not hold on a device where they have signed in before.
"""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from dealsite.accounts import requests, security_log
from dealsite.accounts.limit_table import ROWS
from dealsite.accounts.requests import client_address, is_behind_unknown_proxy, network_of, wide_network_of
from dealsite.data.people import throttles
from dealsite.data.people.throttles import Limit
from dealsite.data.table.errors import DataError, TooManyRequests
from dealsite.data.table.ids import folded, hash_of
from dealsite.data.table.parallel import together

EVERYBODY = "all"  # the subject of what is counted on the whole site
TURN_SECONDS = 5  # for which one's turn is waited for

Try = tuple[str, str]  # a limit's name, and whom it counts

_limits_of = {row.name: list(row.limits) for row in ROWS}
_in_memory = {row.name for row in ROWS if row.in_memory}
_lock = Lock()
sleep: Callable[[float], None] = time.sleep  # replaced in tests
_used: dict[str, tuple[datetime, Counter[str]]] = {}  # of a limit: the span and the uses in it, here


def limit(name: str) -> Limit:
    """Return a limit as the settings have it."""
    return Limit(name, *settings.DEALSITE_LIMITS[name])


class Tries:
    """Tries that were counted before they were made; `succeeded` gives them back."""

    def __init__(self, now: datetime) -> None:
        self.counted: list[tuple[Limit, str]] = []
        self.now = now

    def succeeded(self) -> None:
        """Give back what was counted: only failures are kept. 1 update each, all in parallel."""
        counted, self.counted = self.counted, []
        together(*(partial(throttles.undo_attempt, *one, now=self.now) for one in counted))


def count(*tries: Try, now: datetime, request: HttpRequest | None = None, username: str = "") -> Tries:
    """Count one try with several limits, or with none of them and raise TooManyRequests. 1 update each.

    `username` is whom it is about, where that is not who is signed in. Without a request, a refusal is not noted.
    """
    counted = Tries(now)
    for name, subject in tries:
        try:
            throttles.count(limit(name), subject, now=now)
        except TooManyRequests:
            counted.succeeded()
            if request:
                _note(request, name, username)
            raise
        counted.counted.append((limit(name), subject))
    return counted


def count_use(request: HttpRequest, what: str, *, now: datetime, own: str = "") -> None:
    """Count a use of what costs the site something, by who makes it, by network and in all; TooManyRequests.

    `own` is the address that is counted instead of the user or browser. 3 updates at most, none for what is counted in
    memory.
    """
    # Where an unknown proxy hides networks, all would be counted as one.
    network = "" if is_behind_unknown_proxy(request) else wide_network_of(client_address(request))
    subjects = {"": folded(own) or _own(request), "-network": network, "-total": EVERYBODY}
    tries = [(name, subject) for name in _limits_of[what] if (subject := subjects[name.removeprefix(what)])]
    if what not in _in_memory:
        count(*tries, request=request, now=now)
    elif refused := _count_here(tries, now):
        _note(request, refused.kind, "")
        raise throttles.refusal(refused, now)


def take_turn(what: str) -> None:
    """Wait until the site may do once more what all of it together does only so often; TooManyRequests after 5 seconds.

    1 update, and 1 for each span that is waited for.
    """
    in_all, waited = limit(f"{what}-total"), 0
    while True:
        try:
            return throttles.count(in_all, EVERYBODY, now=timezone.now())
        except TooManyRequests as full:
            waited += full.retry_after
            if waited > TURN_SECONDS:
                raise
            sleep(full.retry_after)


def used_here(name: str, *, now: datetime) -> int:
    """Return how often a thing that is counted in memory was used in the present span, by all, in this process."""
    span, uses = _used.get(name, (None, Counter[str]()))
    return uses[EVERYBODY] if span == throttles.window(limit(name), now) else 0


def forget() -> None:
    """Forget what this process has counted."""
    with _lock:
        _used.clear()


def _count_here(tries: list[Try], now: datetime) -> Limit | None:
    """Count with all limits, or with none and return the one that is reached. The total keeps the memory small."""
    with _lock:
        counters = []
        for name, subject in tries:
            one = limit(name)
            span = throttles.window(one, now)
            if name not in _used or _used[name][0] != span:
                _used[name] = span, Counter()
            uses = _used[name][1]
            if uses[subject] >= one.tries:
                return one
            counters.append((uses, subject))
        for uses, subject in counters:
            uses[subject] += 1
    return None


def _own(request: HttpRequest) -> str:
    """Return who makes a request: the user, where it is known already, else what the browser's cookies say.

    A made-up cookie is a budget of its own, within that of its network.
    """
    user: Any = request.user
    if request.visit.was_read and user.is_authenticated:  # type: ignore[attr-defined]
        return str(user.username)
    cookie = requests.session_in(request)
    key = cookie.key if cookie else requests.cart(request)
    return hash_of(key) if key else ""


def stranger(request: HttpRequest) -> Try:
    """Return the try of whoever signs in on a device that is not known: by address, where that is known."""
    if is_behind_unknown_proxy(request):
        return "sign-in-unknown", EVERYBODY
    return "sign-in-address", network_of(client_address(request))


def _note(request: HttpRequest, name: str, username: str) -> None:
    """Note a refusal. 1 batch get where nobody had asked yet who is signed in."""
    with suppress(DataError):
        user = getattr(request, "user", None)
        # Not the text that somebody typed as their name: it may be their password.
        security_log.note(
            request, "throttled", username=username or (user.username if user else ""), detail=name
        )
