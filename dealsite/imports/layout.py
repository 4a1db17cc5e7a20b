"""Which column of a file is which field of a deal, and how its amounts and times are to be read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from dealsite.data.names import slugify
from dealsite.data.table.ids import from_iso, iso
from dealsite.imports import formats

FIELDS = (
    *("title", "brand", "category", "price", "was_price", "voucher_code", "url", "image_url"),
    *("description", "stock", "published_at", "expires_at"),
)
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
FIELD_OF = {slug: field for field, slugs in NAMES.items() for slug in slugs.split()}

IN_BRACKETS = re.compile(r"\s*\([^)]*\)\s*$")  # a unit or a zone


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

    def as_item(self) -> dict[str, Any]:
        return {
            "titles": list(self.titles),
            "columns": list(self.columns),
            "decimal": self.decimal,
            "dates": self.dates,
            "zone": self.zone,
            "moment": iso(self.moment),
            "category": self.category,
            "brand": self.brand,
            "drafts": self.drafts,
            "at_once": self.at_once,
            "pictures": self.pictures,
            "language": self.language,
        }

    @classmethod
    def from_item(cls, item: dict[str, Any]) -> Layout:
        lists = {"titles": tuple(item["titles"]), "columns": tuple(item["columns"])}
        return cls(**(item | lists | {"moment": from_iso(item["moment"])}))

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
        """Return a cell as rows.py takes it; raise formats.Unreadable."""
        value = value.strip()
        if field == "published_at" and not value and (self.drafts or self.at_once):
            return iso(self.moment)
        if not value:
            return ""
        if field in AMOUNTS:
            return formats.amount(value, self.decimal)
        if field in TIMES:
            return formats.moment(
                value, self.dates, ZoneInfo(self.zone), ends=field == "expires_at"
            ).isoformat()
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


def unmarked(cell: str) -> str:
    """Return a cell without the apostrophe that keeps spreadsheets from taking it for a formula."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in ("=", "+", "-", "@", "\t", "\r", "\n") else cell
