"""The language and the time zone of a page: the user's own, found out only when a text or a time is shown.

So a page without texts and times does not ask who is signed in; visitors get what the site has.
"""

import zoneinfo
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from functools import cache, cached_property
from typing import Any

from django.conf import settings
from django.utils import timezone, translation
from django.utils.translation import trans_real


class UserLanguage:
    """Stands in for one of Django's translations; which one, a function says on first use ('' for the site's)."""

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

    def __getattr__(self, name: str) -> Any:
        if self._is_asking:  # what is said while one finds out who it is, about their cookie say
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


def show_as_to_visitors() -> None:
    """Show texts and times from here on as visitors see them: whose page it is may be what cannot be known."""
    timezone.activate(zone_of(""))
    activate()


def shown() -> str:
    """Return the code of the language that texts were shown in; '' if nobody has asked for it."""
    active = getattr(trans_real._active, "value", None)  # type: ignore[attr-defined]
    if isinstance(active, UserLanguage) and "_translation" not in vars(active):
        return ""
    return translation.get_language() or ""


def spoken(code: str) -> translation.override:
    """Return the context in which one speaks to somebody in the language that they chose, '' for the site's."""
    return translation.override(known(code))


class UserZone(tzinfo):
    """The zone whose name a function returns ('' for the site's), which is called on first use.

    A part of a page shows the same zone as the whole, though the part's template never looks at the user.
    """

    def __init__(self, name: Callable[[], str]) -> None:
        self._name = name

    @cached_property
    def name(self) -> str:
        return self._name()

    @property
    def chosen(self) -> bool:
        """Tell whether the user chose a zone: times then stay in it, whatever the browser's own is."""
        return bool(self.name)

    @cached_property
    def zone(self) -> zoneinfo.ZoneInfo:
        return zone_of(self.name)

    def utcoffset(self, when: datetime | None, /) -> timedelta | None:
        return self.zone.utcoffset(when)

    def dst(self, when: datetime | None, /) -> timedelta | None:
        return self.zone.dst(when)

    def tzname(self, when: datetime | None, /) -> str | None:
        return self.zone.tzname(when)

    def fromutc(self, when: datetime, /) -> datetime:
        return self.zone.fromutc(when.replace(tzinfo=self.zone)).replace(tzinfo=self)

    def __str__(self) -> str:
        return str(self.zone)


def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """Return a zone by name; the site's own for '' and for a name that this machine does not know."""
    try:
        return zoneinfo.ZoneInfo(name or settings.DEALSITE_TIME_ZONE)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return zoneinfo.ZoneInfo(settings.DEALSITE_TIME_ZONE)


@cache
def zone_choices() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return all zones as a form's grouped choices: [("Europe", [("Europe/Berlin", "Berlin"), ...]), ...]."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name in sorted(zoneinfo.available_timezones()):
        region, _, place = name.partition("/")
        if place and region not in ("Etc", "SystemV", "posix", "right"):
            groups.setdefault(region, []).append((name, place.replace("_", " ").replace("/", ", ")))
    return [("", [("UTC", "UTC")]), *groups.items()]
