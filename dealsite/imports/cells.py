"""What people write into the cells of a file: amounts, numbers of pieces, times."""

import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.utils.translation import gettext as _

from dealsite.data.entities.attributes import WRONG_YEAR, YEARS

POINT, COMMA = ".", ","  # before the cents
GROUPING = {POINT: ",", COMMA: "."}
DAY_FIRST, MONTH_FIRST = "day", "month"

SIGNS = {  # of money, and the currencies that are written with them
    "€": "EUR", "EURO": "EUR", "£": "GBP", "$": "USD CAD AUD NZD SGD HKD MXN", "US$": "USD", "CA$": "CAD", "A$": "AUD",
    "¥": "JPY CNY", "₹": "INR", "₺": "TRY", "₽": "RUB", "₴": "UAH", "₩": "KRW", "₪": "ILS", "₱": "PHP",
    "₫": "VND", "฿": "THB", "₦": "NGN", "R$": "BRL", "FR": "CHF", "KR": "SEK NOK DKK ISK", "ZŁ": "PLN",
    "KČ": "CZK", "FT": "HUF", "LEI": "RON", "ЛВ": "BGN", "RS": "INR",
}  # fmt: skip
WORD = re.compile(r"[^\d\s.,'’()\[\]+=/*_–-]+(?:\.(?=\s|$))?")
IN_BRACKETS = re.compile(r"\(([^)]*)\)|\[([^]]*)\]")
ENDS_WITH_WORD = re.compile(r"[_ /-]([^\W\d_]{3}|[^\w\s()])$")
AMOUNT_PATTERNS = {
    decimal: re.compile(
        rf"(?P<whole>\d{{1,9}}|\d{{1,3}}(?:[{grouping}'’ ]\d{{3}}){{1,3}}|(?=[{decimal}]\d))"
        rf"(?:[{decimal}](?P<cents>\d{{1,2}})?0*)?(?:[{decimal}]?[-–]{{1,2}})?",
        re.ASCII,
    )
    for decimal, grouping in GROUPING.items()
}
DIGITS_OF_STOCK = 7

DAYS = {
    "year": r"(?P<year>\d{4})[./-](?P<month>\d{1,2})[./-](?P<day>\d{1,2})",
    "numbers": r"(?P<one>\d{1,2})[./-](?P<two>\d{1,2})[./-](?P<year>\d{4}|\d{2})",
    "day": r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\.?[\s-]+(?P<word>[^\W\d_]{3,})\.?,?[\s-]+(?P<year>\d{4})",
    "word": r"(?P<word>[^\W\d_]{3,})\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{4})",
}
DATES = {
    name: re.compile(
        rf"(?:[^\W\d_]{{2,}}\.?,?\s+)?{day}"
        r"(?:(?:,?\s+(?:at\s+|um\s+)?|T)(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2})(?:[.,]\d+)?)?"
        r"(?:\s*(?P<half>[ap])\.?m\.?|\s*Uhr)?\s*(?P<zone>[A-Z]{1,5}|(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2})?)?)?",
        re.ASCII | re.IGNORECASE if name != "day" and name != "word" else re.IGNORECASE,
    )
    for name, day in DAYS.items()
}
OFFSET = re.compile(
    r"(?:UTC|GMT)?(?P<sign>[+-])(?P<hours>\d{1,2}):?(?P<minutes>\d{2})?", re.ASCII | re.IGNORECASE
)
SPAN = re.compile(r"(\d{4}-\S+)/(\d{4}-\S+)", re.ASCII)  # from one time to another, in one cell
MOST_CHARACTERS = 60  # of an amount or a time
ZONES_IN_TITLES = ("UTC", "GMT", "CET", "EET", "WET", "EST", "MST")


YES, NO = ("yes", "y", "ja", "j", "true", "1", "x"), ("", "no", "n", "nein", "false", "0", "-")


class Unreadable(Exception):
    """This is no amount, or no time; the message says how to write one."""


@cache
def _codes() -> frozenset[str]:
    from babel import Locale  # reads a file, which only imports need

    return frozenset(Locale("en").currencies)


def currencies_in(text: str) -> frozenset[str]:
    """Return the currencies, as ISO 4217 codes, that the first word that names any may mean; none where none does."""
    for word in WORD.findall(unicodedata.normalize("NFKC", text).upper()):
        bare = word.rstrip(".")
        if bare in SIGNS:
            return frozenset(SIGNS[bare].split())
        if bare in _codes() or any(unicodedata.category(letter) == "Sc" for letter in bare):
            return frozenset((bare,))
    return frozenset()


def currency_in_title(title: str) -> str:
    """Return what the title of a column says of a currency, in brackets or at its end: `USD` of `Price (USD)`."""
    in_brackets = " ".join(a or b for a, b in IN_BRACKETS.findall(title))
    found = ENDS_WITH_WORD.search(title)
    last = str(found[1]) if found else ""
    named = (in_brackets, last if _is_code_in(title, last) else "")
    return " ".join(word for word in named if currencies_in(word))


def _is_code_in(title: str, word: str) -> bool:
    """Tell a code from a word that is spelt like one: `Price per cup` is not in Cuban pesos, `price_cup` is."""
    return word.isupper() or not word.isalpha() or f"_{word}" in title


def refuse_foreign(text: str) -> None:
    """Raise Unreadable where a text names a currency that is not the site's."""
    named, own = currencies_in(text), settings.DEALSITE_CURRENCY
    if named and own not in named:
        words = {"currency": " / ".join(sorted(named)), "own": own}
        raise Unreadable(_("This is in %(currency)s; prices here are in %(own)s.") % words)


def currency(text: str) -> str:
    """Return a text that names the site's currency unchanged; raise Unreadable."""
    refuse_foreign(text)
    if not currencies_in(text):
        raise Unreadable(_("Write the currency as its code: %(own)s.") % {"own": settings.DEALSITE_CURRENCY})
    return text


def amount(text: str, decimal: str) -> Decimal:
    """Return an amount such as `1.299,90 €` in the site's currency; raise Unreadable."""
    refuse_foreign(text[:MOST_CHARACTERS])
    number = _number(_bare(text), decimal)
    if number is None:
        example = "1299.90" if decimal == POINT else "1299,90"
        raise Unreadable(_("Write the amount as %(example)s.") % {"example": example})
    return number


def pieces(text: str, decimal: str) -> int:
    """Return a number of pieces such as `1,000` or `100.0000`; raise Unreadable."""
    number = _number(_short(text), decimal)
    if number is None or number % 1 or number >= 10**DIGITS_OF_STOCK:
        raise Unreadable(_("Write how many there are as a whole number, or leave it empty."))
    return int(number)


def is_yes(text: str) -> bool:
    """Read yes or no; '' is no."""
    word = text.strip().casefold()
    if word not in YES + NO:
        raise Unreadable(_("Enter yes or no."))
    return word in YES


def _short(text: str) -> str:
    """Return a cell to be compared; '' for one that is too long to be an amount or a time."""
    bare = " ".join(text[: 10 * MOST_CHARACTERS].split())
    return unicodedata.normalize("NFKC", bare) if len(text) <= 10 * MOST_CHARACTERS else ""


def _bare(text: str) -> str:
    """Return an amount without its currency."""
    return WORD.sub(lambda word: "" if currencies_in(word[0]) else word[0], _short(text)).strip()


def _number(text: str, decimal: str) -> Decimal | None:
    found = AMOUNT_PATTERNS[decimal].fullmatch(text)
    if not found:
        return None
    whole = re.sub(r"\D", "", found["whole"]) or "0"
    return Decimal(f"{whole}.{found['cents']}" if found["cents"] else whole)


def is_amount(text: str) -> bool:
    """Tell whether a cell may hold an amount, in whatever currency and way of writing."""
    return any(_number(_bare(text), decimal) is not None for decimal in AMOUNT_PATTERNS)


def is_time(text: str) -> bool:
    """Tell whether a cell may hold a time."""
    for dates in (DAY_FIRST, MONTH_FIRST):
        with suppress(Unreadable):
            return bool(moment(text, dates, UTC))
    return False


def guess_decimal(texts: Iterable[str]) -> str:
    """Return what stands before the cents in most of some amounts.

    Three digits behind a mark part thousands, unless they are zeros: those tell nothing.
    """
    votes = {POINT: 0, COMMA: 0}
    for bare in map(_bare, texts):
        for decimal, grouping in GROUPING.items():
            votes[decimal] += bool(re.search(rf"[{decimal}](\d{{1,2}}|\d{{4,}}|[-–]{{1,2}})$", bare))
            votes[decimal] += bool(re.fullmatch(rf"\d{{1,3}}[{grouping}](?!000)\d{{3}}", bare))
    return COMMA if votes[COMMA] > votes[POINT] else POINT


def guess_dates(texts: Iterable[str]) -> str:
    """Return whether the day or the month comes first in some times; the day, where that cannot be told."""
    found = [match for text in texts if (match := DATES["numbers"].fullmatch(_short(text)))]
    if any(int(match["one"]) > 12 for match in found):
        return DAY_FIRST
    month_first = any(int(match["two"]) > 12 or match["half"] for match in found)
    return MONTH_FIRST if month_first else DAY_FIRST


def moment(text: str, dates: str, zone: tzinfo, *, ends: bool = False) -> datetime:
    """Return the moment (UTC) that a text means; raise Unreadable.

    A text without a zone is of `zone`; one without a time of day is the first moment of the day there, with `ends`
    the last second. `dates` says what 03/04/2026 means; 2026-04-03 is always the third of April.
    """
    text = _short(text)
    if span := SPAN.fullmatch(text):
        text = span[2 if ends else 1]
    day, clock, own_zone = _parts(text, dates)
    zone = own_zone or zone
    try:
        if clock is not None:
            found = _in_zone(clock, zone)
        elif ends:
            found = _first_of(day + timedelta(days=1), zone) - timedelta(seconds=1)
        else:
            found = _first_of(day, zone)
    except (OverflowError, ValueError):
        raise Unreadable(str(WRONG_YEAR)) from None
    if found.year not in YEARS:
        raise Unreadable(str(WRONG_YEAR))
    return found.replace(microsecond=found.microsecond // 1000 * 1000)


def _parts(text: str, dates: str) -> tuple[date, datetime | None, tzinfo | None]:
    """Return the day that a text names, the time of that day and the zone, each None where it names none."""
    with suppress(ValueError):
        return date.fromisoformat(text), None, None
    with suppress(ValueError):
        at = datetime.fromisoformat(text)
        return at.date(), at.replace(tzinfo=None), at.tzinfo
    with suppress(ValueError):
        for found in filter(None, (pattern.fullmatch(text) for pattern in DATES.values())):
            parts = found.groupdict()
            zone = zone_named(parts["zone"]) if parts["zone"] else None
            if parts["zone"] and zone is None:
                break
            day = _day(parts, dates)
            return day, _clock(day, parts), zone
    example = "21.11.2026 09:00" if dates == DAY_FIRST else "11/21/2026 9:00 AM"
    raise Unreadable(_("Write the time as 2026-11-21 09:00 or %(example)s.") % {"example": example})


def _day(parts: dict[str, str], dates: str) -> date:
    """Return the day that was found in a text; ValueError where there is none."""
    year = int(parts["year"]) + (2000 if len(parts["year"]) == 2 else 0)
    if "one" in parts:
        day, month = (parts["one"], parts["two"]) if dates == DAY_FIRST else (parts["two"], parts["one"])
    else:
        day, month = parts["day"], parts.get("month") or str(_month(parts["word"]))
    return date(year, int(month), int(day))


def _clock(day: date, parts: dict[str, str | None]) -> datetime | None:
    if parts["hour"] is None:
        return None
    hour = int(parts["hour"])
    if parts["half"]:
        if not 1 <= hour <= 12:
            raise ValueError("Halves of a day have twelve hours.")
        hour = hour % 12 + (12 if parts["half"].lower() == "p" else 0)
    minute, second = int(parts["minute"] or 0), int(parts["second"] or 0)
    return datetime(day.year, day.month, day.day, hour, minute, second)  # noqa: DTZ001


def _month(word: str) -> int:
    """Return the number of a month that is named, or begun, in a language of the site; ValueError."""
    for number, names in _months().items():
        if any(name.startswith(word.casefold()) for name in names):
            return number
    raise ValueError("There is no such month.")


@cache
def _months() -> dict[int, list[str]]:
    from babel import Locale

    languages = [Locale.parse(code, sep="-") for code, _name in settings.LANGUAGES]
    return {
        number: [locale.months["format"]["wide"][number].casefold() for locale in languages]
        for number in range(1, 13)
    }


@lru_cache(maxsize=200)
def zone_named(name: str) -> tzinfo | None:
    """Return the zone that a name (`UTC`, `Europe/Berlin`) or an offset (`+02:00`) means; None where it means none."""
    if found := OFFSET.fullmatch(name):
        ahead = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"] or 0))
        with suppress(ValueError):
            return timezone(-ahead if found["sign"] == "-" else ahead)
        return None
    if name.upper() in ("Z", "UTC", "GMT"):
        return UTC
    known = {zone.casefold(): zone for zone in available_timezones()}
    key = known.get(name.casefold())
    return ZoneInfo(key) if key else None


@lru_cache(maxsize=200)
def zone_in_title(title: str) -> tzinfo | None:
    """Return the zone that a column's title names: `published_at (UTC)`, `Start Europe/Berlin`, `post_date_gmt`."""
    for word in re.findall(r"[A-Za-z]+/[A-Za-z_/+-]+|(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2})?|[A-Za-z]+", title):
        if ("/" in word or OFFSET.fullmatch(word) or word.upper() in ZONES_IN_TITLES) and (
            zone := zone_named(word)
        ):
            return zone
    return None


def _first_of(day: date, zone: tzinfo) -> datetime:
    """Return the first moment of a day; where clocks are put forward over midnight, the one at which they are."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def _in_zone(naive: datetime, zone: tzinfo) -> datetime:
    """Return the one moment at which clocks show this; where they are put forward or back over it, there is none."""
    first, second = (naive.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first != second:
        sentence = _("Clocks in %(zone)s are changed over this time. Add its offset, such as +02:00.")
        raise Unreadable(sentence % {"zone": zone})
    return first
