"""The time zone of the times that a page shows: the user's own, found out only when a time is shown."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from functools import cache, cached_property

from django.conf import settings


class UserZone(tzinfo):
    """The zone whose name a function returns ('' for the site's), which is called on first use.

    So a page without times does not ask who is signed in; and a part of a page shows the same
    zone as the whole, though the part's template never looks at the user.
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
def choices() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return all zones as a form's grouped choices: [("Europe", [("Europe/Berlin", "Berlin"), ...]), ...]."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name in sorted(zoneinfo.available_timezones()):
        region, _, place = name.partition("/")
        if place and region not in ("Etc", "SystemV", "posix", "right"):
            groups.setdefault(region, []).append((name, place.replace("_", " ").replace("/", ", ")))
    return [("", [("UTC", "UTC")]), *groups.items()]
