"""What a row of an import must be, and the deal that it becomes."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dealsite.data.catalogue.categories import clean_name
from dealsite.data.catalogue.content import DealContent, problems
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.entities.attributes import WRONG_YEAR, YEARS
from dealsite.data.entities.deals import TITLE_CHARACTERS
from dealsite.data.names import as_typed, clean_text, slugify, without_joiners
from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import RANDOM_BITS, new_ulid
from dealsite.imports.csv_files import NO_ROWS, BadFile, Record, check_header
from dealsite.imports.layout import Layout, Unreadable
from dealsite.text.from_html import to_markdown

REQUIRED = ("title", "brand", "category", "price", "url", "published_at")
OPTIONAL = ("was_price", "voucher_code", "image_url", "description", "stock", "expires_at")
COLUMNS = (*REQUIRED, *OPTIONAL)
COLUMN_OF = {"link": "url"}  # fields of a deal that the file calls otherwise
STOCK = re.compile(r"\d{1,7}", re.ASCII)
PRICE = re.compile(r"\d{1,9}(\.\d{1,2})?", re.ASCII)
VALUE_CHARACTERS = 80  # of an offending value in the report
NEW_BRAND = gettext_lazy("This brand is new.")
UNDECODED = re.compile("[\ud800-\udfff]")
UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class NewDeal:
    """A row that is right: the deal to be, its brand's name, where its picture is, and the line it came from."""

    line: int
    id: str
    content: DealContent
    brand_name: str
    image_url: str = ""


@dataclass(frozen=True)
class Remark:
    """What the report says of a row: why it was rejected, or (`refused` false) what was done to it."""

    line: int
    column: str
    value: str
    reason: str
    refused: bool = True


@dataclass(frozen=True, slots=True)
class NewBrand:
    """A brand that an import makes, and the line of the first row that needs it."""

    line: int
    slug: str
    name: str


Result = NewDeal | Remark


class _Wrong(Exception):
    """A cell cannot be taken."""

    def __init__(self, column: str, reason: str) -> None:
        self.column, self.reason = column, reason
        super().__init__(reason)


def check(records: Iterable[Record]) -> Iterator[Result]:
    """Yield the deal of each row, or why it is rejected, and notes; BadFile for a wrong header, or one alone."""
    category_names.forget()  # the file may use a name that a category has got a moment ago
    rows = iter(records)
    header = next(rows, None)
    if header is None:
        raise BadFile(_("The file is empty."))
    columns, record = _columns(header), None
    for record in rows:
        if record.problem:
            yield Remark(record.line, "", "", record.problem)
        elif len(record.cells) != len(columns):
            yield _wrong_width(record.line, record.cells, len(columns))
        else:
            yield from _check_row(record.line, dict(zip(columns, record.cells, strict=True)))
    if record is None:
        raise BadFile(NO_ROWS)


def check_as(records: Iterable[Record], layout: Layout) -> Iterator[Result]:
    """Yield what `check` does of a file that is read in a way of its own; remarks use the file's words.

    Rows without any content are passed over; one that repeats the first line is left out and noted.
    """
    category_names.forget()
    rows = iter(records)
    header = next(rows, None)
    if header is None or header.problem:
        raise BadFile(_("The file does not begin with the titles of its columns any more."))
    width = len(layout.columns)
    for record in rows:
        cells = record.cells
        if len(cells) > width and not any(cell.strip() for cell in cells[width:]):
            cells = cells[:width]
        if record.problem:
            yield Remark(record.line, "", shown(record.text.rstrip("\r\n")), record.problem)
        elif not any(cell.strip() for cell in cells):
            continue
        elif cells == header.cells:
            reason = _("This row repeats the first line; it is left out.")
            yield Remark(record.line, "", "", reason, refused=False)
        elif len(cells) != width:
            yield _wrong_width(record.line, cells, width)
        else:
            yield from _check_cells(record.line, cells, layout)


def _wrong_width(line: int, cells: list[str], width: int) -> Remark:
    words = {"cells": len(cells), "width": width}
    reason = _("The row has %(cells)s cells, the header has %(width)s.") % words
    return Remark(line, "", shown(",".join(cells)), reason)


def _check_cells(line: int, cells: list[str], layout: Layout) -> Iterator[Result]:
    fields, wrong = layout.fields_of(cells), False
    for name, value in fields.items():
        try:
            fields[name] = layout.read(name, value)
        except Unreadable as error:
            wrong = True
            yield Remark(line, layout.title_of(name), shown(value), str(error))
    if wrong:
        return
    for result in _check_row(line, fields):
        if isinstance(result, Remark) and result.column:
            value = shown(layout.cell_of(result.column, cells))
            result = replace(result, column=layout.title_of(result.column), value=value)
        yield result


def deal_id(link: str, title: str, published_at: datetime) -> str:
    """Return the id of an imported deal: its publication time, and a hash of its link and title."""
    digest = hashlib.sha256(f"{link}\n{without_joiners(title)}".encode()).digest()
    return new_ulid(published_at, int.from_bytes(digest[: RANDOM_BITS // 8]))


def shown(value: str) -> str:
    """Return an offending value as a report can show it: short, on one line, nothing hidden in it."""
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in value)
    return text if len(text) <= VALUE_CHARACTERS else text[: VALUE_CHARACTERS - 1] + "…"


def _columns(header: Record) -> list[str]:
    check_header(header)
    columns = [cell.strip().lower() for cell in header.cells]
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        sentence = ngettext(
            "The first line does not name the column %(missing)s. It should be: %(columns)s",
            "The first line does not name the columns %(missing)s. It should be: %(columns)s",
            len(missing),
        )
        raise BadFile(sentence % {"missing": ", ".join(missing), "columns": ",".join(COLUMNS)})
    for name in columns:
        if name not in COLUMNS:
            words = {"name": repr(shown(name)), "columns": ", ".join(COLUMNS)}
            raise BadFile(_("The column %(name)s is not known. Known are: %(columns)s.") % words)
        if columns.count(name) > 1:
            raise BadFile(_("The column %(name)s is there twice.") % {"name": name})
    return columns


def _check_row(line: int, cells: dict[str, str]) -> Iterator[Result]:
    try:
        cells = {name: _text(name, value) for name, value in cells.items()}
        title = as_typed(cells["title"])
        if not title:
            raise _Wrong("title", _("Enter a title."))
        live_at = _time("published_at", cells["published_at"])
        if live_at is None:
            raise _Wrong("published_at", _("Enter the time of publication."))
        brand_name = _brand(cells["brand"])
        content = DealContent(
            title=_shortened(title),
            brand=slugify(brand_name),
            category=_category(cells["category"]),
            price=_price("price", cells["price"]),
            was_price=_price("was_price", cells.get("was_price", "")),
            voucher_code=clean_text(cells.get("voucher_code", "")).strip(),
            link=cells["url"],
            description=clean_text(to_markdown(cells.get("description", ""))).strip(),
            stock=_stock(cells.get("stock", "")),
            expires_at=_time("expires_at", cells.get("expires_at", "")),
        )
    except _Wrong as wrong:
        yield Remark(line, wrong.column, shown(cells[wrong.column]), wrong.reason)
        return
    wrongs = problems(content, live_at=live_at)
    for field, reason in wrongs.items():
        column = COLUMN_OF.get(field, field)
        yield Remark(line, column, shown(cells.get(column, "")), str(reason))
    if wrongs:
        return
    if content.title != title:
        reason = _("Shortened to %(most)s characters.") % {"most": TITLE_CHARACTERS}
        yield Remark(line, "title", shown(title), reason, refused=False)
    new_id = deal_id(content.link, title, live_at)
    yield NewDeal(line, new_id, content, brand_name, cells.get("image_url", ""))


def _text(column: str, value: str) -> str:
    if "\x00" in value:
        raise _Wrong(column, _("This holds a NUL character."))
    if UNDECODED.search(value):
        raise _Wrong(column, _("This is not UTF-8. Save the file in UTF-8."))
    return UNSHOWN.sub(" ", value.replace("\r\n", "\n")).strip()


def _shortened(title: str) -> str:
    if len(title) <= TITLE_CHARACTERS:
        return title
    cut = title[: TITLE_CHARACTERS - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:.–-") + "…"


def _brand(value: str) -> str:
    try:
        return clean_name(value)
    except Invalid as error:
        raise _Wrong("brand", str(error)) from None


def _category(value: str) -> str:
    slug = category_names.find(value)
    if not slug:
        known = {"categories": ", ".join(category_names.names().values())}
        raise _Wrong("category", _("There is no such category. There are: %(categories)s.") % known)
    return slug


def _price(column: str, value: str) -> Decimal | None:
    if value and not PRICE.fullmatch(value):
        raise _Wrong(column, _("Write the amount as 12 or 12.50, with a point and without a currency."))
    return Decimal(value) if value else None


def _stock(value: str) -> int | None:
    if value and not STOCK.fullmatch(value):
        raise _Wrong("stock", _("Write how many there are as a whole number, or leave it empty."))
    return int(value) if value else None


def _time(column: str, value: str) -> datetime | None:
    if not value:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise _Wrong(column, _("Write the time as 2026-05-25T03:23:32Z.")) from None
    if moment.tzinfo is None:
        raise _Wrong(column, _("The time needs its zone: end it with Z (UTC) or +02:00."))
    with suppress(OverflowError):  # of a time at the end of the calendar, whose own year is refused as well
        moment = moment.astimezone(UTC)
    if moment.year not in YEARS:
        raise _Wrong(column, str(WRONG_YEAR))
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
