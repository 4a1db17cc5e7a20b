"""What the tests of accounts share: a browser for each test, a cheap hasher that counts, users with a password."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client
from django.utils import timezone

from dealsite.accounts import passwords
from dealsite.data.people import throttles
from dealsite.data.people.users import User
from tests.people import make_user

PASSWORD = "correct horse battery"


class CountingHasher(MD5PasswordHasher):
    """A hasher that takes no time, and says how often a password was hashed."""

    hashed = 0

    def encode(self, password: str, salt: str) -> str:
        CountingHasher.hashed += 1
        return super().encode(password, salt)


@pytest.fixture(autouse=True)
def _cheap_passwords(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["tests.accounts.conftest.CountingHasher"]
    CountingHasher.hashed = 0


@pytest.fixture(autouse=True)
def _one_span(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a span of the throttles begin with the test, lest one ends while it runs."""
    start = timezone.now()
    monkeypatch.setattr(throttles, "window", lambda limit, now: start)


@pytest.fixture
def hashes() -> Callable[[], int]:
    """How many passwords were hashed since the last call."""

    def since() -> int:
        number, CountingHasher.hashed = CountingHasher.hashed, 0
        return number

    return since


@pytest.fixture
def browser(whole_table: None) -> Client:
    """A browser that checks what a real one would: every POST needs its CSRF token."""
    return Client(enforce_csrf_checks=False)


@pytest.fixture
def ada(whole_table: None) -> User:
    """A shopper whose password is PASSWORD."""
    return make_user("ada", email="ada@example.org", password=passwords.hashed(PASSWORD))


def sign_in(browser: Client, name: str = "ada", password: str = PASSWORD, **more: Any) -> Any:
    """Send the sign-in form; `more` goes into the request's environment."""
    return browser.post("/account/sign-in/", {"name": name, "password": password}, **more)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[..., datetime]:
    """A function that moves the time on and returns it."""
    times = [timezone.now().replace(second=5, microsecond=0)]
    monkeypatch.setattr(timezone, "now", lambda: times[-1])

    def move(**by: float) -> datetime:
        times.append(times[-1] + timedelta(**by))
        return times[-1]

    return move
