"""The token of a password-reset link: good once, since it is made from the password's hash."""

from __future__ import annotations

from datetime import UTC, datetime

from django.contrib.auth.tokens import PasswordResetTokenGenerator

from dealsite.data.people.users import User


class _TokenUser:
    """What Django's generator asks of a user."""

    last_login = None

    def __init__(self, user: User) -> None:
        self.pk, self.password, self.email = user.username, user.password, user.email

    @staticmethod
    def get_email_field_name() -> str:
        return "email"


class _Generator(PasswordResetTokenGenerator):
    key_salt = "dealsite.accounts.reset_tokens"

    def __init__(self, now: datetime) -> None:
        super().__init__()
        self.now = now

    def _now(self) -> datetime:
        return self.now.astimezone(UTC).replace(tzinfo=None)


def make(user: User, *, now: datetime) -> str:
    """Return the token that lets a user set a new password."""
    return _Generator(now).make_token(_TokenUser(user))  # type: ignore[arg-type]


def is_good(user: User, token: str, *, now: datetime) -> bool:
    """Tell whether a token is a user's, unused and not older than PASSWORD_RESET_TIMEOUT."""
    return _Generator(now).check_token(_TokenUser(user), token)  # type: ignore[arg-type]
