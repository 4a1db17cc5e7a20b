"""The language of a page: the user's own, found out only when a text is shown; visitors get the site's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from django.conf import settings
from django.utils import translation
from django.utils.translation import trans_real


class UserLanguage:
    """Stands in for one of Django's translations; which one, a function says on first use ('' for the site's).

    So a page without texts does not ask who is signed in, as one without times does not (`timezones`).
    """

    def __init__(self, code: Callable[[], str]) -> None:
        self._code = code
        self._is_asking = False

    @cached_property
    def _translation(self) -> Any:
        self._is_asking = True
        try:
            return trans_real.translation(known(self._code()))
        finally:
            self._is_asking = False

    @property
    def is_known(self) -> bool:
        """Tell whether it was asked for."""
        return "_translation" in self.__dict__

    def __getattr__(self, name: str) -> Any:
        if self._is_asking:  # what is said while one finds out who it is, about his cookie say
            return getattr(trans_real.translation(settings.LANGUAGE_CODE), name)
        return getattr(self._translation, name)


def known(code: str) -> str:
    """Return the code of a language that the site speaks: the one asked for, else the site's own."""
    return code if code in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE


def activate(code: Callable[[], str] | None = None) -> None:
    """Speak the language that a function names, from the first text on; without one the site's own."""
    if code is None:
        translation.activate(settings.LANGUAGE_CODE)
    else:
        # Django's `activate` takes a code, and has to know it at once.
        trans_real._active.value = UserLanguage(code)  # type: ignore[attr-defined]


def shown() -> str:
    """Return the code of the language that texts were shown in; '' if nobody has asked for it."""
    active = getattr(trans_real._active, "value", None)  # type: ignore[attr-defined]
    if isinstance(active, UserLanguage) and not active.is_known:
        return ""
    return translation.get_language() or ""


@contextmanager
def spoken(code: str) -> Iterator[None]:
    """Speak to somebody in the language that he chose, '' for the site's: mails and messages to him."""
    with translation.override(known(code)):
        yield


def choices() -> list[tuple[str, str]]:
    """Return the languages as a form's choices, each in its own words."""
    return [*settings.LANGUAGES]
