"""Makes users for tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import UTC, datetime

from dealsite.data import users
from dealsite.data.ids import new_ulid
from dealsite.data.users import User

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
_numbers = itertools.count(1)


def make_user(
    username: str = "",
    *,
    email: str = "",
    password: str = "a hash",  # noqa: S107
    roles: Iterable[str] = (),
    timezone: str = "",
    registration: str = "",
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
        now=now,
    )
