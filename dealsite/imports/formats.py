"""Amounts and times as people write them in spreadsheets, and the one way in which rows.py takes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

POINT, COMMA = ".", ","  # before the cents
DAY_FIRST, MONTH_FIRST = "day", "month"
CURRENCIES = re.compile(r"(?:EUR|USD|GBP|CHF|[€$£])", re.IGNORECASE)
SPACES = re.compile(r"[\s\u00a0\u202f\u2009]")
AMOUNTS = {
    POINT: re.compile(r"(\d{1,9}|\d{1,3}(?:[,'’]\d{3})+)(?:\.(\d{1,2}))?(?:\.?[-–])?", re.ASCII),
    COMMA: re.compile(r"(\d{1,9}|\d{1,3}(?:[.'’]\d{3})+)(?:,(\d{1,2}|[-–]{1,2}))?", re.ASCII),
}
GROUPS = re.compile("[.,'’]")
DATE = re.compile(
    r"(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d{2})"
    r"(?:(?:,\s*|\s+|T)(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?(?:\s*([ap])\.?m\.?|\s*Uhr)?)?",
    re.ASCII | re.IGNORECASE,
)
LAST_OF_DAY = time(23, 59, 59)


class Unreadable(Exception):
    """This is no amount, or no time; the message says how to write one."""


def amount(text: str, decimal: str) -> str:
    """Return an amount such as `1.299,90 €` as `1299.90`; raise Unreadable."""
    bare = SPACES.sub("", CURRENCIES.sub("", text))
    found = AMOUNTS[decimal].fullmatch(bare)
    if not found:
        example = "1299.90" if decimal == POINT else "1299,90"
        raise Unreadable(_("Write the amount as %(example)s.") % {"example": example})
    whole, cents = GROUPS.sub("", found[1]), found[2]
    return f"{whole}.{cents}" if cents and cents.isdigit() else whole


def guess_decimal(texts: Iterable[str]) -> str:
    """Return what stands before the cents in most of some amounts."""
    bare = [SPACES.sub("", CURRENCIES.sub("", text)) for text in texts]
    commas = sum(bool(re.search(r",\d{1,2}$|,[-–]{1,2}$", text)) for text in bare)
    points = sum(bool(re.search(r"\.\d{1,2}$", text)) for text in bare)
    return COMMA if commas > points else POINT


def moment(text: str, dates: str, zone: ZoneInfo, *, ends: bool = False) -> datetime:
    """Return the moment (UTC) that a text means; raise Unreadable.

    A text without a zone is of `zone`; one without a time of day is the first moment of the day, with `ends` the
    last second. `dates` says what 03/04/2026 means; 2026-04-03 is always the third of April.
    """
    text = text.strip()
    naive = _iso(text) or _written(text, dates)
    if naive is None:
        example = "21.11.2026 09:00" if dates == DAY_FIRST else "11/21/2026 9:00 AM"
        raise Unreadable(_("Write the time as 2026-11-21 09:00 or %(example)s.") % {"example": example})
    if naive.tzinfo is not None:
        return naive
    if ends and (_is_iso_day(text) or ((found := DATE.fullmatch(text)) and found[4] is None)):
        naive = datetime.combine(naive.date(), LAST_OF_DAY)
    return _in_zone(naive, zone)


def guess_dates(texts: Iterable[str]) -> str:
    """Return whether the day or the month comes first in some times; the day, where that cannot be told."""
    found = [match for text in texts if (match := DATE.fullmatch(text.strip()))]
    if any(int(match[1]) > 12 for match in found):
        return DAY_FIRST
    month_first = any(int(match[2]) > 12 or match[7] for match in found)
    return MONTH_FIRST if month_first else DAY_FIRST


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _is_iso_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _written(text: str, dates: str) -> datetime | None:
    found = DATE.fullmatch(text)
    if found is None:
        return None
    one, two, year, hour, minute, second, half = found.groups()
    day, month = (one, two) if dates == DAY_FIRST else (two, one)
    hours = int(hour or 0)
    if half:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + (12 if half.lower() == "p" else 0)
    try:
        full_year = int(year) + (2000 if len(year) == 2 else 0)
        return datetime(full_year, int(month), int(day), hours, int(minute or 0), int(second or 0))  # noqa: DTZ001
    except ValueError:
        return None


def _in_zone(naive: datetime, zone: ZoneInfo) -> datetime:
    """Return the one moment at which clocks show this; where they are put forward or back over it, there is none."""
    try:
        first, second = (naive.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    except (OverflowError, ValueError):
        raise Unreadable(_("This time cannot be.")) from None
    if first != second:
        raise Unreadable(
            _("Clocks in %(zone)s are changed over this time. Add its offset, such as +02:00.")
            % {"zone": zone.key}
        )
    return first
