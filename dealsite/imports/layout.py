"""How a file is read: which column is which field of a deal, and how people wrote amounts and times in it."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from dealsite.data.names import slugify
from dealsite.data.table.ids import iso
from dealsite.text.spreadsheets import unmarked

AMOUNTS = ("price", "was_price")
TIMES = ("published_at", "expires_at")

# What headers call a field, as slugs; the first column that fits has it.
NAMES = {
    "title": "title name product product-name product-title item artikel artikelname artikelbezeichnung "
    "bezeichnung produkt produktname produkttitel titel deal angebot",
    "brand": "brand brand-name manufacturer vendor maker marke hersteller markenname lieferant",
    "category": "category category-name product-category product-type department kategorie warengruppe rubrik "
    "sortiment produktkategorie",
    "price": "price sale-price deal-price current-price offer-price new-price amount preis verkaufspreis "
    "angebotspreis aktionspreis neuer-preis brutto bruttopreis vk vk-brutto",
    "was_price": "was-price was list-price old-price original-price regular-price rrp msrp uvp streichpreis "
    "alter-preis altpreis listenpreis statt statt-preis vorher normalpreis",
    "voucher_code": "voucher-code voucher coupon coupon-code promo-code code gutschein gutscheincode "
    "gutschein-code rabattcode",
    "url": "url link product-url product-link deep-link deeplink shop-url shop-link web-address produkt-url "
    "produktlink adresse webadresse internetadresse artikel-url",
    "image_url": "image-url image image-link picture picture-url photo bild bild-url bildlink bildadresse foto",
    "description": "description text details long-description body-html body beschreibung produktbeschreibung "
    "artikelbeschreibung langtext",
    "stock": "stock quantity qty inventory pieces bestand lagerbestand menge anzahl stuckzahl verfugbar",
    "published_at": "published-at publish-at published start starts start-date starts-at valid-from live-at "
    "date veroffentlicht veroffentlicht-am veroffentlichung beginn startdatum gultig-ab ab datum von",
    "expires_at": "expires-at expires expiry end ends end-date ends-at valid-until valid-to until lauft-ab "
    "ablauf ablaufdatum ende enddatum gultig-bis bis",
}
FIELDS = tuple(NAMES)
FIELD_OF = {slug: field for field, slugs in NAMES.items() for slug in slugs.split()}

POINT, COMMA = ".", ","  # before the cents
DAY_FIRST, MONTH_FIRST = "day", "month"
CURRENCIES = re.compile(r"(?:EUR|USD|GBP|CHF|[€$£])", re.IGNORECASE)
SPACES = re.compile(r"[\s\u00a0\u202f\u2009]")
AMOUNT_PATTERNS = {
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
IN_BRACKETS = re.compile(r"\s*\([^)]*\)\s*$")  # a unit or a zone


class Unreadable(Exception):
    """This is no amount, or no time; the message says how to write one."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file is read: `columns` holds the field of each of its columns, '' for one that is left out.

    Rows without a category or brand get the one named here. Those without a time are of `moment` where
    `at_once` says so; with `drafts` they become drafts, for which no time is needed. Remarks are in `language`,
    None for the site's own.
    """

    titles: tuple[str, ...]
    columns: tuple[str, ...]
    decimal: str
    dates: str
    zone: str
    moment: datetime
    category: str = ""
    brand: str = ""
    drafts: bool = True
    at_once: bool = False
    pictures: bool = False
    language: str | None = None

    def title_of(self, field: str) -> str:
        """Return what the file calls a field; the field's own name where it has no such column."""
        return self.titles[self.columns.index(field)] if field in self.columns else field

    def cell_of(self, field: str, cells: Sequence[str]) -> str:
        """Return what a row holds of a field, as it stands in the file."""
        return cells[self.columns.index(field)] if field in self.columns else ""

    def fields_of(self, cells: Sequence[str]) -> dict[str, str]:
        """Return a row's cells by field; what the file has no column for is empty, or what is chosen for it."""
        found = dict.fromkeys(FIELDS, "") | {
            field: unmarked(cell) for field, cell in zip(self.columns, cells, strict=True) if field
        }
        found["category"] = found["category"].strip() or self.category
        found["brand"] = found["brand"].strip() or self.brand
        return found

    def read(self, field: str, value: str) -> str:
        """Return a cell as rows.py takes it; raise Unreadable."""
        value = value.strip()
        if field == "published_at" and not value and (self.drafts or self.at_once):
            return iso(self.moment)
        if not value:
            return ""
        if field in AMOUNTS:
            return amount(value, self.decimal)
        if field in TIMES:
            ends = field == "expires_at"
            return moment(value, self.dates, ZoneInfo(self.zone), ends=ends).isoformat()
        return value


def guess_columns(titles: Sequence[str]) -> list[str]:
    """Return the field that each column's title names, '' where it names none, or one that another has already."""
    found: list[str] = []
    for title in titles:
        field = FIELD_OF.get(slugify(title), "") or FIELD_OF.get(slugify(IN_BRACKETS.sub("", title)), "")
        found.append(field if field not in found else "")
    return found


def fingerprint(titles: Sequence[str]) -> str:
    """Return what files with the same first line have in common."""
    words = "\n".join(slugify(title) or title for title in titles)
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


def amount(text: str, decimal: str) -> str:
    """Return an amount such as `1.299,90 €` as `1299.90`; raise Unreadable."""
    found = AMOUNT_PATTERNS[decimal].fullmatch(_bare(text))
    if not found:
        example = "1299.90" if decimal == POINT else "1299,90"
        raise Unreadable(_("Write the amount as %(example)s.") % {"example": example})
    whole, cents = GROUPS.sub("", found[1]), found[2]
    return f"{whole}.{cents}" if cents and cents.isdigit() else whole


def _bare(text: str) -> str:
    return SPACES.sub("", CURRENCIES.sub("", text))


def guess_decimal(texts: Iterable[str]) -> str:
    """Return what stands before the cents in most of some amounts."""
    bare = [_bare(text) for text in texts]
    commas = sum(bool(re.search(r",\d{1,2}$|,[-–]{1,2}$", text)) for text in bare)
    points = sum(bool(re.search(r"\.\d{1,2}$", text)) for text in bare)
    return COMMA if commas > points else POINT


def moment(text: str, dates: str, zone: ZoneInfo, *, ends: bool = False) -> datetime:
    """Return the moment (UTC) that a text means; raise Unreadable.

    A text without a zone is of `zone`; one without a time of day is the first moment of the day, with `ends` the
    last second. `dates` says what 03/04/2026 means; 2026-04-03 is always the third of April.
    """
    text = text.strip()
    naive = _naive(text, dates)
    if naive is None:
        example = "21.11.2026 09:00" if dates == DAY_FIRST else "11/21/2026 9:00 AM"
        raise Unreadable(_("Write the time as 2026-11-21 09:00 or %(example)s.") % {"example": example})
    if naive.tzinfo is not None:
        return naive
    if ends and _is_day(text):
        naive = datetime.combine(naive.date(), LAST_OF_DAY)
    return _in_zone(naive, zone)


def guess_dates(texts: Iterable[str]) -> str:
    """Return whether the day or the month comes first in some times; the day, where that cannot be told."""
    found = [match for text in texts if (match := DATE.fullmatch(text.strip()))]
    if any(int(match[1]) > 12 for match in found):
        return DAY_FIRST
    month_first = any(int(match[2]) > 12 or match[7] for match in found)
    return MONTH_FIRST if month_first else DAY_FIRST


def _is_day(text: str) -> bool:
    """Tell whether a time that can be read names no time of day."""
    if found := DATE.fullmatch(text):
        return found[4] is None
    with suppress(ValueError):
        return bool(date.fromisoformat(text))
    return False


def _naive(text: str, dates: str) -> datetime | None:
    with suppress(ValueError):
        return datetime.fromisoformat(text)
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
    full_year = int(year) + (2000 if len(year) == 2 else 0)
    with suppress(ValueError):
        return datetime(full_year, int(month), int(day), hours, int(minute or 0), int(second or 0))  # noqa: DTZ001
    return None


def _in_zone(naive: datetime, zone: ZoneInfo) -> datetime:
    """Return the one moment at which clocks show this; where they are put forward or back over it, there is none."""
    try:
        first, second = (naive.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    except (OverflowError, ValueError):
        raise Unreadable(_("This time cannot be.")) from None
    if first != second:
        sentence = _("Clocks in %(zone)s are changed over this time. Add its offset, such as +02:00.")
        raise Unreadable(sentence % {"zone": zone.key})
    return first
