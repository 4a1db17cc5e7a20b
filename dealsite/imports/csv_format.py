"""What a file is, told by its bytes and its headings: encoding, separator, whose format, or why it is no CSV."""

import csv
import io
import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data.entities.imports import MAX_COLUMNS, SAMPLES
from dealsite.data.names import as_typed
from dealsite.imports.cells import MONTH_FIRST
from dealsite.imports.csv_files import (
    GZIP,
    NO_LETTERS,
    NO_ROWS,
    SEPARATORS,
    UNDECODED,
    BadFile,
    CsvFormat,
    File,
    check_header,
    count,
    decoder,
    encoding_of,
    hinted_separator,
    records,
)

START_BYTES = 300_000  # from which a file is recognised
SNIFFED_LINES, SNIFFED_CHARACTERS = 20, 20_000
ZIP = b"PK\x03\x04"
EXCEL = gettext_lazy("This is an Excel workbook. Save it as CSV.")
PICTURE = gettext_lazy("This is a picture, no CSV file.")
OTHERS = {  # what other files begin with
    GZIP: gettext_lazy("This file is compressed with gzip. Unpack it first."),
    b"\xd0\xcf\x11\xe0": EXCEL,
    b"%PDF": gettext_lazy("This is a PDF file. Save its table as CSV."),
    **dict.fromkeys((b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"II*\x00", b"MM\x00*"), PICTURE),
    **dict.fromkeys(
        (b"<!doctype html", b"<html"), gettext_lazy("This is a web page, no CSV file. Save it as CSV.")
    ),
}
IN_ARCHIVES = {
    b"xl/": EXCEL,
    b"opendocument.spreadsheet": gettext_lazy("This is an OpenDocument spreadsheet. Save it as CSV."),
    b"": gettext_lazy("This is a zip archive. Unpack it, and take the CSV file in it."),
}
TITLE_CHARACTERS = 60
START_ROWS = 200  # from which the columns are found out
SAMPLE_CHARACTERS, SAMPLE_CHARACTERS_OF_A_ROW = 60, 6_000
CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
MOST_NO_LETTERS = 0.05


@dataclass(frozen=True, slots=True)
class Upload:
    """What was found out about a file: `rows` is about how many it has, `samples` holds the first ones."""

    encoding: str
    separator: str
    titles: list[str]
    samples: list[list[str]]
    rows: int
    first_rows: list[list[str]] = field(default_factory=list)


def format_of(file: File, *, encoding: str = "", separator: str = "") -> CsvFormat:
    """Find out what is not given of a file's format; BadFile where it is no CSV. Reads the file once or twice."""
    file.seek(0)
    start = file.read(START_BYTES)
    if other := _other_file(start):
        raise BadFile(other)
    is_given = bool(encoding)
    encoding = encoding or encoding_of(file, start)
    text = decoder(encoding).decode(start).removeprefix("\ufeff")
    if not text.strip():
        raise BadFile(_("The file is empty."))
    if not is_given and not _is_text(text):
        raise BadFile(_("This is no text file. Save the table as CSV."))
    return CsvFormat(encoding, separator or _separator(text))


def _other_file(start: bytes) -> str:
    """Return a sentence on a file that is known by its first bytes; '' if it may be CSV."""
    if start.startswith(ZIP):
        return str(next(sentence for name, sentence in IN_ARCHIVES.items() if name in start))
    first = start[:100].lstrip().lower()
    found = (text for magic, text in OTHERS.items() if start.startswith(magic) or first.startswith(magic))
    return str(next(found, ""))


def _is_text(text: str) -> bool:
    """Tell a text from junk: a damaged cell is no reason to refuse a file, a first line of control characters is."""
    if CONTROL.search(_first_line(text)):
        return False
    sample = text[:SNIFFED_CHARACTERS]
    wrong = sum(unicodedata.category(c) in NO_LETTERS and not UNDECODED.match(c) for c in sample)
    return wrong <= len(sample) * MOST_NO_LETTERS


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "")


def _separator(text: str) -> str:
    """Return the separator that the first line names, or by which most lines have as many cells as the first one."""
    lines = text[:SNIFFED_CHARACTERS].splitlines()
    if hint := hinted_separator(lines[0]):
        return hint
    return max(SEPARATORS, key=lambda separator: _fit(lines[:SNIFFED_LINES], separator))


def _fit(lines: Sequence[str], separator: str) -> int:
    """Return how many separators there are in the lines that have as many as the first one."""
    widths = []
    with suppress(csv.Error):  # a cell too long, or a NUL; what was read before says enough
        for cells in csv.reader((f"{line}\n" for line in lines), delimiter=separator):
            widths += [len(cells)] if cells else []
    return widths.count(widths[0]) * (widths[0] - 1) if widths else 0


def inspect(file: File, *, encoding: str = "", separator: str = "") -> Upload:
    """Return what a file is; its encoding and separator are found out where they are not given. Raises BadFile."""
    found = format_of(file, encoding=encoding, separator=separator)
    file.seek(0)
    start = file.read(START_BYTES)
    first = list(islice(records(io.BytesIO(start), found), START_ROWS + 1))
    if not first:
        raise BadFile(_("The file is empty."))
    header, *rest = first
    check_header(header)
    if len(header.cells) > MAX_COLUMNS:
        raise BadFile(_("The file has more than %(most)s columns.") % {"most": MAX_COLUMNS})
    is_all = len(start) < START_BYTES and len(rest) < START_ROWS
    if is_all and not any(record.problem or any(map(str.strip, record.cells)) for record in rest):
        raise BadFile(NO_ROWS)
    titles = [
        as_typed(cell)[:TITLE_CHARACTERS] or _("Column %(number)s") % {"number": number}
        for number, cell in enumerate(header.cells, 1)
    ]
    width = len(titles)
    first_rows = [
        record.cells + [""] * (width - len(record.cells))
        for record in rest
        if any(record.cells) and len(record.cells) <= width
    ]
    most = min(SAMPLE_CHARACTERS, SAMPLE_CHARACTERS_OF_A_ROW // width)
    samples = [[_sample(cell, most) for cell in cells] for cells in first_rows[:SAMPLES]]
    rows = max(count(file), len(rest))
    return Upload(found.encoding, found.separator, titles, samples, rows, first_rows)


def _sample(cell: str, most: int) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in cell).split())
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass(frozen=True, slots=True)
class KnownFormat:
    """A format that is known by all of one of `marks`; `page` is where below a shop's address the page of a cell is.

    `dates` says what 03/04/2026 means in it, '' where the cells tell. `has_ads`: its links earn money.
    """

    name: str
    marks: tuple[str, ...]
    columns: Mapping[str, str]
    page: str = ""
    dates: str = ""
    has_ads: bool = False


KNOWN_FORMATS = (
    KnownFormat(
        "Shopify",
        ("handle title vendor", "url-handle title vendor"),
        {
            "title": "title",
            "brand": "vendor",
            "category": "product-category type",
            "price": "variant-price price",
            "was_price": "variant-compare-at-price compare-at-price",
            "stock": "variant-inventory-qty inventory-quantity",
            "description": "body-html description",
            "image_url": "image-src product-image-url",
            "article_number": "variant-sku sku",
            "url": "handle url-handle",
        },
        page="products/{}",
    ),
    KnownFormat(
        "WooCommerce",
        ("type sku name regular-price sale-price",),
        {
            "title": "name",
            "brand": "brands brand",
            "category": "categories",
            "price": "sale-price",
            "was_price": "regular-price",
            "stock": "stock",
            "description": "description short-description",
            "image_url": "images",
            "article_number": "sku",
            "url": "external-url",
            "expires_at": "date-sale-price-ends",
        },
    ),
    KnownFormat(
        "Magento",
        ("sku attribute-set-code name", "sku attribute-set name url-key"),
        {
            "title": "name",
            "brand": "manufacturer brand",
            "category": "categories",
            "price": "special-price",
            "was_price": "price",
            "stock": "qty",
            "description": "description short-description",
            "image_url": "base-image",
            "article_number": "sku",
            "url": "url-key",
            "expires_at": "special-price-to-date special-to-date",
        },
        page="{}.html",
        dates=MONTH_FIRST,
    ),
    KnownFormat(
        "PrestaShop",
        (
            "product-id name reference price-tax-incl",
            "product-id name url-rewritten",
            "id name url-rewritten",
        ),
        {
            "title": "name",
            "brand": "manufacturer brand",
            "category": "categories-x-y-z categories category",
            "price": "price-tax-incl price-tax-included price-tax-excluded",
            "stock": "quantity",
            "description": "description summary",
            "image_url": "image-urls-x-y-z image-urls image",
            "article_number": "reference reference-sharp",
            "url": "product-url url-rewritten",
            "expires_at": "discount-to-yyyy-mm-dd discount-to",
        },
        page="{}.html",
    ),
    KnownFormat(
        "Google Merchant",
        ("title link image-link", "title link availability"),
        {
            "title": "title",
            "brand": "brand",
            "category": "product-type google-product-category",
            "price": "sale-price",
            "was_price": "price",
            "stock": "quantity",
            "description": "description",
            "image_url": "image-link",
            "article_number": "id mpn",
            "url": "link",
            "expires_at": "sale-price-effective-date",
        },
    ),
    KnownFormat(
        "Awin",
        ("aw-deep-link product-name",),
        {
            "title": "product-name",
            "brand": "brand-name",
            "category": "merchant-category category-name",
            "price": "search-price store-price display-price",
            "was_price": "rrp-price product-price-old base-price",
            "currency": "currency",
            "description": "description product-short-description",
            "image_url": "merchant-image-url aw-image-url",
            "article_number": "aw-product-id merchant-product-id",
            "url": "aw-deep-link merchant-deep-link",
            "published_at": "valid-from",
            "expires_at": "valid-to",
        },
        has_ads=True,
    ),
)


def known_format(slugs: Sequence[str]) -> KnownFormat | None:
    """Return the format of a file whose columns are called so, None where it is none of these."""
    there = set(slugs)
    found = (one for one in KNOWN_FORMATS if any(there.issuperset(marks.split()) for marks in one.marks))
    return next(found, None)
