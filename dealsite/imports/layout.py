"""How a file is read: which column is which field of a deal, and how its cells are written."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from dealsite.data.entities.deals import CODE, HERE, SHOP, TITLE_CHARACTERS
from dealsite.data.names import as_typed, slugify
from dealsite.data.table.ids import is_ulid
from dealsite.imports import cells
from dealsite.imports.csv_format import KnownFormat, known_format
from dealsite.text.writing import unmarked

AMOUNTS = ("price", "was_price")
TIMES = ("published_at", "expires_at")

# What headers call a field, as slugs; the first column that fits has it.
NAMES = {
    "title": "title name product product-name product-title item artikel artikelname artikelbezeichnung "
    "bezeichnung produkt produktname produkttitel titel deal angebot",
    "brand": "brand brand-name manufacturer vendor maker marke hersteller markenname lieferant",
    "category": "category category-name product-category product-type department kategorie warengruppe rubrik "
    "sortiment produktkategorie",
    "price": "price current-price new-price amount preis verkaufspreis neuer-preis brutto bruttopreis vk vk-brutto",
    "instead_of_price": "instead-of-price instead-of-a-price price-text preistext statt-eines-preises",
    "was_price": "was-price was list-price old-price original-price regular-price rrp msrp uvp streichpreis "
    "alter-preis altpreis listenpreis statt statt-preis vorher normalpreis",
    "currency": "currency currency-code price-currency wahrung waehrung",
    "sold": "sold sold-by seller-kind verkauf verkauft-von",
    "voucher_code": "voucher-code voucher coupon coupon-code promo-code code gutschein gutscheincode "
    "gutschein-code rabattcode",
    "article_number": "article-number article-no item-number item-no sku mpn part-number product-number "
    "supplier-number supplier-sku manufacturer-part-number artikelnummer artikelnr artikel-nr artikel-nummer "
    "art-nr artnr bestellnummer bestell-nr herstellernummer hersteller-artikelnummer produktnummer lieferantennummer",
    "url": "url link product-url product-link deep-link deeplink shop-url shop-link web-address produkt-url "
    "produktlink adresse webadresse internetadresse artikel-url",
    "ad": "ad ad-link is-ad affiliate affiliate-link anzeige werbung werbelink",
    "image_url": "image-url image image-link picture picture-url photo bild bild-url bildlink bildadresse foto",
    "description": "description text details long-description body-html body beschreibung produktbeschreibung "
    "artikelbeschreibung langtext",
    "stock": "stock quantity qty inventory pieces bestand lagerbestand menge anzahl stuckzahl verfugbar",
    "published_at": "published-at publish-at published start starts start-date starts-at valid-from live-at live "
    "date veroffentlicht veroffentlicht-am veroffentlichung beginn startdatum gultig-ab ab datum von",
    "expires_at": "expires-at expires expiry end ends end-date ends-at valid-until valid-to until lauft-ab "
    "ablauf ablaufdatum ende enddatum gultig-bis bis",
    "id": "id deal-id",
}
SELLERS = {  # what cells call who sells a deal, as slugs
    **dict.fromkeys(("here", "sold-here", "hier", "hier-verkauft"), HERE),
    **dict.fromkeys(("shop", "at-a-shop", "bei-einem-shop"), SHOP),
    **dict.fromkeys(("code", "at-a-shop-with-a-code", "bei-einem-shop-mit-code"), CODE),
}
FIELDS = tuple(NAMES)
NEEDED = ("title", "price", "url")
FIELD_OF = {slug: field for field, slugs in NAMES.items() for slug in slugs.split()}
SALE = "sale"  # a price for which the one beside it is the price before
FIELD_OF |= {f"{word}-price": SALE for word in ("sale", "deal", "offer", "special", "promo")}
FIELD_OF |= dict.fromkeys(("angebotspreis", "aktionspreis", "sonderpreis"), SALE)
# A unit, a zone or a currency behind a title.
NOTES = re.compile(r"\s*(\([^)]*\)|\[[^]]*\])\s*$|(\s+in)?[_\s]+([A-Z]{3}|[^\w\s])$|_(utc|gmt|[a-z]{3})$")

WEB_ADDRESS = re.compile(r"(https?://|www\.)\S+", re.IGNORECASE)
PICTURE = re.compile(r"https?://\S+\.(jpe?g|png|webp|avif|gif)(\?\S*)?", re.IGNORECASE)
# What is no text, no time and no address.
OTHER = re.compile(r"\d+|true|false|yes|no|y|n|ja|nein|x|-", re.IGNORECASE)
Suits = Callable[[str], object]
SUITS: dict[str, Suits] = {  # what the cells of a field look like
    **dict.fromkeys((*AMOUNTS, SALE), cells.is_amount),
    **dict.fromkeys(TIMES, cells.is_time),
    "id": lambda cell: is_ulid(cell.upper()),
    "stock": cells.is_amount,
    "currency": cells.currencies_in,
    "sold": lambda cell: slugify(cell) in SELLERS,
    "ad": lambda cell: cell.casefold() in cells.YES + cells.NO,
    **dict.fromkeys(("url", "image_url"), WEB_ADDRESS.match),
}
KNOWN_BY_CELLS: dict[str, Suits] = {
    "image_url": PICTURE.fullmatch,
    "url": WEB_ADDRESS.fullmatch,
    "price": lambda cell: cells.currencies_in(cell) and cells.is_amount(cell),
    "title": lambda cell: " " in cell and re.search(r"[^\W\d_]{2}", cell) and not WEB_ADDRESS.match(cell),
}


@dataclass(frozen=True, slots=True)
class NameChoice:
    """What a file calls a category or brand, as `name_key` says it, and the slug of the site's own that it is."""

    name: str
    slug: str


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file is read: `columns` holds the field of each of its columns, '' for one that is left out.

    Rows without a category or brand get the one named here; `categories` and `brands` say which of the site's own the
    file's are. Those without a time are of `moment` where `at_once` says so; with `drafts` they become drafts, which
    may lack whatever they like but a title. A row that means one that is there changes its PRICES and stock, or ALL of
    it, as `update` says, or nothing, as one on a line that is `left_out`. Links that are no whole addresses are below
    that of the `shop`. Remarks are in `language`, None for the site's own.
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
    shop: str = ""
    categories: tuple[NameChoice, ...] = ()
    brands: tuple[NameChoice, ...] = ()
    update: str = ""
    left_out: tuple[int, ...] = ()

    def title_of(self, field: str) -> str:
        """Return what the file calls a field; the field's own name where it has no such column."""
        return self.titles[self.columns.index(field)] if field in self.columns else field

    def cell_of(self, field: str, row: Sequence[str]) -> str:
        """Return what a row holds of a field, as it stands in the file."""
        return row[self.columns.index(field)] if field in self.columns else ""

    def texts_of(self, row: Sequence[str]) -> dict[str, str]:
        """Return a row's cells by field; what the file has no column for is empty, or what is chosen for it."""
        found = dict.fromkeys(FIELDS, "") | {
            field: unmarked(cell).strip() for field, cell in zip(self.columns, row, strict=True) if field
        }
        found["category"] = found["category"] or self.category
        found["brand"] = found["brand"] or self.brand
        if (known := format_of(self.titles)) and known.has_ads:
            found["ad"] = found["ad"] or "yes"
        return found

    def amount(self, field: str, text: str) -> Decimal | None:
        """Return the amount in a cell, None for an empty one; its currency may stand in the column's title."""
        if not text:
            return None
        if not cells.currencies_in(text):
            cells.refuse_foreign(cells.currency_in_title(self.title_of(field)))
        return cells.amount(text, self.decimal)

    def time(self, field: str, text: str) -> datetime | None:
        """Return the time in a cell, None for an empty one; its zone may stand in the column's title."""
        if not text:
            return self.moment if field == "published_at" and (self.drafts or self.at_once) else None
        zone = cells.zone_in_title(self.title_of(field)) or ZoneInfo(self.zone)
        return cells.moment(text, self.dates, zone, ends=field == "expires_at")

    def link(self, text: str) -> str:
        """Return the whole link of a cell; '' for one that is a part of an address, where the shop's is not known."""
        known = format_of(self.titles)
        page = known.page if known else ""
        if not text or "://" in text or WEB_ADDRESS.match(text) or not (self.shop or page):
            return text
        path = page.format(quote(text)) if page and "/" not in text else quote(text.lstrip("/"), safe="/?=&%")
        return f"{self.shop.rstrip('/')}/{path}" if self.shop else ""


def missing(columns: Collection[str]) -> list[str]:
    """Return what new deals need that no column holds; what the site itself sells needs no link."""
    sold_here = {"sold", "stock"} & {*columns}
    return [field for field in NEEDED if field not in columns and not (field == "url" and sold_here)]


def name_key(name: str) -> str:
    """Return the one form of all ways to write the name of a category or brand of a file."""
    name = as_typed(name)[:TITLE_CHARACTERS]
    return (slugify(name) or name)[:TITLE_CHARACTERS]


@lru_cache(maxsize=20)
def format_of(titles: tuple[str, ...]) -> KnownFormat | None:
    """Return the known format that a file with such a first line has."""
    return known_format([slugify(title) for title in titles])


def guess_columns(titles: Sequence[str], rows: Sequence[Sequence[str]] = ()) -> list[str]:
    """Return the field of each column by its title, of which its first cells must be, or else by those; '' for none."""
    columns = [
        [row[n].strip() for row in rows if n < len(row) and row[n].strip()] for n in range(len(titles))
    ]
    if known := format_of(tuple(titles)):
        return _columns_of(known, titles)
    found, named = [""] * len(titles), [_field_of(title) for title in titles]
    for needs_fit in (True, False):
        for n, (field, first) in enumerate(zip(named, columns, strict=True)):
            if field not in found and (
                _fits(field, first) if needs_fit else field in NEEDED and not found[n]
            ):
                found[n] = field
    if SALE in found:
        names = {"price": "" if "was_price" in found else "was_price", SALE: "price"}
        found = [names.get(field, field) for field in found]
    for field, suits in KNOWN_BY_CELLS.items():
        for n, first in enumerate(columns):
            if field not in found and not found[n] and first and _most(first, suits):
                found[n] = field
    return found


def _columns_of(known: KnownFormat, titles: Sequence[str]) -> list[str]:
    """Return the field of each column of a known format: of several columns for one field the first that is listed."""
    slugs, found = [slugify(title) for title in titles], [""] * len(titles)
    for field, candidates in known.columns.items():
        if there := [one for one in candidates.split() if one in slugs]:
            found[slugs.index(there[0])] = field
    if "price" not in found:  # nothing is on sale
        found = ["price" if field == "was_price" else field for field in found]
    return found


def _field_of(title: str) -> str:
    return FIELD_OF.get(slugify(title)) or FIELD_OF.get(slugify(NOTES.sub("", title)), "")


def _fits(field: str, first: Sequence[str]) -> bool:
    """Tell whether some cells may be of a field; a single one is not, if it says yes, no or a number."""
    is_typo = len(first) == 1 and not OTHER.fullmatch(first[0])
    return is_typo or field not in SUITS or _most(first, SUITS[field])


def _most(first: Sequence[str], suits: Suits) -> bool:
    return 2 * sum(bool(suits(cell)) for cell in first) >= len(first)


def guessed(titles: Sequence[str], rows: Sequence[Sequence[str]], **chosen: Any) -> Layout:
    """Return how a file is read by all that its first line and its first rows tell."""
    columns = guess_columns(titles, rows)
    amounts, times = (list(_cells_of(fields, columns, rows)) for fields in (AMOUNTS, TIMES))
    known = format_of(tuple(titles))
    decimal = cells.guess_decimal(amounts)
    dates = (known.dates if known else "") or cells.guess_dates(times)
    return Layout(tuple(titles), tuple(columns), decimal, dates, **chosen)


def _cells_of(fields: Sequence[str], columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    places = [n for n, field in enumerate(columns) if field in fields]
    return (row[n] for row in rows for n in places if n < len(row))


def fingerprint(titles: Sequence[str]) -> str:
    """Return what files with the same first line have in common."""
    words = "\n".join(slugify(title) or title for title in titles)
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
