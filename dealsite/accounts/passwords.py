"""Passwords: hashing, checking, and what a new one must be like."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field

from django.contrib.auth import hashers
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.utils.translation import gettext as _

MOST_CHARACTERS = 256


class _NoFields:
    """Stands where a model's `_meta` would: the similarity validator asks it for the name of a field."""

    @staticmethod
    def get_field(name: str) -> None:
        raise FieldDoesNotExist(name)


@dataclass(frozen=True)
class Owner:
    """Whose password it is to be, for the validator that compares it with his names."""

    username: str = ""
    name: str = ""
    email: str = ""
    _meta: type[_NoFields] = field(default=_NoFields, repr=False)


def hashed(password: str) -> str:
    """Return the hash of a password under a new salt."""
    return hashers.make_password(_normalised(password))


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
