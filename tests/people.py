"""Makes users for tests, and signs them in."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.test import Client

from dealsite.accounts import requests
from dealsite.data import keys, table
from dealsite.data.people import sessions, users
from dealsite.data.people.users import User
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Update, exists
from dealsite.web.pages import page_of
from tests.questions import budget

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
_numbers = itertools.count(1)


def give_card(username: str, token: str) -> None:
    """Have a user, if there is one, pay with a card."""
    card = {"gateway": "test", "token": token, "label": "Visa ending in 4242"}
    with suppress(NotFound):
        table.write(
            Update(key=keys.profile(username), set={"card": card}, when=(exists(),), otherwise=NotFound())
        )


def make_user(
    username: str = "",
    *,
    email: str = "",
    password: str = "a hash",  # noqa: S107
    roles: Iterable[str] = (),
    timezone: str = "",
    registration: str = "",
    confirmed: bool = True,
    now: datetime = NOW,
) -> User:
    """Create a user; `password` stands where the hash does."""
    username = username or f"user{next(_numbers)}"
    return users.create(
        username=username,
        email=email or f"{username}@example.org",
        password=password,
        registration=registration or new_ulid(now),
        roles=roles,
        timezone=timezone,
        confirmed=confirmed,
        now=now,
    )


def signed_in(user: User, *, now: datetime = NOW, **options: Any) -> Client:
    """Return a browser in which a user is signed in, without the form."""
    key = requests.new_key()
    sessions.start(user, key=key, user_agent="", address="127.0.0.1", now=now)
    browser = Client(**options)
    browser.cookies[settings.SESSION_COOKIE_NAME] = f"{user.username}:{key}"
    return browser


def calls(answer: Any) -> list[str]:
    """Return the operations that a page sent to the table."""
    return [operation for operation, _ in answer.wsgi_request.meter.log]


def assert_costs_as_declared(answer: Any) -> None:
    """Hold a page to what its view says, however much it shows; who is signed in costs a batch get."""
    said = page_of(answer.resolver_match.func).requests
    known = Counter(BatchGetItem=int(settings.SESSION_COOKIE_NAME in answer.wsgi_request.COOKIES))
    assert Counter(calls(answer)) in [budget(one) + known for one in said.split(" or ")], said
