"""Passwords: hashing, checking, what a new one must be like, and the token of a link to set one."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.contrib.auth import hashers
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.utils.translation import gettext as _

from dealsite.data.people.users import User

MOST_CHARACTERS = 256


class Argon2id(Argon2PasswordHasher):
    """Argon2id at the cost that OWASP asks for: 19 MiB, 2 passes, 1 lane; about 25 ms."""

    memory_cost = 19_456
    time_cost = 2
    parallelism = 1


class _NoFields:
    """Stands where a model's `_meta` would: the similarity validator asks it for the name of a field."""

    @staticmethod
    def get_field(name: str) -> None:
        raise FieldDoesNotExist(name)


@dataclass(frozen=True)
class Owner:
    """Whose password it is to be, for the validator that compares it with their names."""

    username: str = ""
    name: str = ""
    email: str = ""
    _meta: type[_NoFields] = field(default=_NoFields, repr=False)

    @classmethod
    def of(cls, user: User) -> Owner:
        return cls(user.username, user.name, user.email or user.pending_email)


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


def hashed(password: str) -> str:
    """Return the hash of a password under a new salt."""
    return hashers.make_password(_normalised(password))


def unusable() -> str:
    """Return what stands where a hash does and no password matches: only a link sets a new one."""
    return hashers.make_password(None)


def matches(password: str, stored: str | None) -> bool:
    """Tell whether a password is the one of a stored hash; as slow where there is none, one hash each."""
    if stored is None:
        hashed(password)
        return False
    return hashers.check_password(_normalised(password), stored)


def is_outdated(stored: str) -> bool:
    """Tell whether a hash was made at a lower cost than today's."""
    hasher = hashers.identify_hasher(stored)
    preferred = hashers.get_hasher()
    return hasher.algorithm != preferred.algorithm or preferred.must_update(stored)


def check(password: str, owner: Owner) -> None:
    """Raise ValidationError, a sentence for each reason, unless a password is good enough for its owner."""
    if len(password) > MOST_CHARACTERS:
        raise ValidationError(_("A password has at most %(most)s characters.") % {"most": MOST_CHARACTERS})
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in password):
        raise ValidationError(_("A password cannot hold control characters."))
    validate_password(_normalised(password), owner)  # type: ignore[arg-type]  # duck-typed: no model


def _normalised(password: str) -> str:
    """Return the password in the one form that every keyboard's way of writing it leads to."""
    return unicodedata.normalize("NFKC", password)


def make_reset_token(user: User, *, now: datetime) -> str:
    """Return the token that lets a user set a new password: good once, since it is made from the password's hash."""
    return _Generator(now).make_token(_TokenUser(user))  # type: ignore[arg-type]


def is_good_reset_token(user: User, token: str, *, now: datetime) -> bool:
    """Tell whether a token is a user's, unused and not older than PASSWORD_RESET_TIMEOUT."""
    return _Generator(now).check_token(_TokenUser(user), token)  # type: ignore[arg-type]
