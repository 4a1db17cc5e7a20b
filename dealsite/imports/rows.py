"""What a row of an import must be, the deal that it becomes, and which deal or draft that is there it means.

That is the one with its id, else its link, else its shop's article number. Where a link stands for many, the title
tells; a time of upload never does. A number means one of the same shop, or of the same brand where the row has no link.
"""

import dataclasses
import hashlib
import re
from array import array
from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from django.utils.translation import gettext as _, gettext_lazy, ngettext

from dealsite.data.catalogue import brands, display_names, drafts
from dealsite.data.catalogue.categories import clean_name
from dealsite.data.catalogue.content import CONTENT_FIELDS, DealContent, problems, sold_by
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.catalogue.drafts import Draft, Entry
from dealsite.data.entities.deals import TITLE_CHARACTERS
from dealsite.data.names import as_typed, clean_text, normalise, slugify, without_joiners, without_unseen
from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import RANDOM_BITS, is_ulid, new_ulid, time_of
from dealsite.imports import cells
from dealsite.imports.cells import Unreadable
from dealsite.imports.csv_files import NO_ROWS, BadFile, Record, check_header
from dealsite.imports.layout import SELLERS, Layout, NameChoice, name_key
from dealsite.text.markdown import to_markdown

# Fields of a deal that the file calls otherwise.
COLUMN_OF = {"link": "url", "is_ad": "ad", "condition": "instead_of_price"}
EMPTIED = frozenset({"was_price", "voucher_code", "description", "expires_at"})  # of a deal, by an empty cell
VALUE_CHARACTERS = 80  # of an offending value in the report
DEFAULTS = ("category", "brand")  # fields that may be chosen for all rows that have none
DERIVED = ("sold", "is_ad")  # fields that others tell of where a row does not
NEW_BRAND = gettext_lazy("This brand is new.")
PATH = re.compile(r" ?[>/|,;»] ?")  # from a category to those below it
ADDRESSES = re.compile(r"(?:[,;|] ?| )(?=https?://)")  # between two of them
UNDECODED = re.compile("[\ud800-\udfff]")
UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Remark:
    """What the report says of a row: why it was rejected, or (`refused` false) what was done to it."""

    line: int
    column: str
    value: str
    reason: str
    refused: bool = True


@dataclass(frozen=True)
class NewDeal:
    """A row that can be read: the deal to be, its brand's name, where its picture is, and the line it came from.

    It may mean one that is there, `named` by its id; `lacks` says by field why it cannot be a new one, `says` names the
    fields that it would give to the one that is there, `changes` is that one where `content` is what it would
    hold then, `foreign` is a category that the site does not have.
    """

    line: int
    id: str
    content: DealContent
    brand_name: str
    image_url: str = ""
    named: str = ""
    lacks: Mapping[str, Remark] = dataclasses.field(default_factory=dict)
    says: frozenset[str] = frozenset()
    changes: Deal | Draft | None = None
    foreign: str = ""


@dataclass(frozen=True, slots=True)
class NewBrand:
    """A brand that an import makes, and the line of the first row that needs it."""

    line: int
    slug: str
    name: str


Result = NewDeal | Remark


def check(records: Iterable[Record], layout: Layout) -> Iterator[Result]:
    """Yield the deal of each row, or why it is rejected, and notes; BadFile for a header that cannot be, or one alone.

    Rows without any content are passed over; one that repeats the first line is left out and noted.
    """
    category_names.forget()  # the file may use a name that a category has got a moment ago
    rows = iter(records)
    header, record = next(rows, None), None
    if header is None:
        raise BadFile(_("The file is empty."))
    check_header(header)
    width, link, variants = len(layout.columns), "", list[int]()
    for record in rows:
        row = record.cells
        if len(row) > width and not any(cell.strip() for cell in row[width:]):
            row = row[:width]
        if record.problem:
            yield Remark(record.line, "", shown(record.text.rstrip("\r\n")), record.problem)
        elif not any(cell.strip() for cell in row):
            continue
        elif row == header.cells:
            reason = _("This row repeats the first line; it is left out.")
            yield Remark(record.line, "", "", reason, refused=False)
        elif len(row) > width:
            words = {"cells": len(row), "width": width}
            reason = _("The row has %(cells)s cells, the header has %(width)s.") % words
            yield Remark(record.line, "", shown(",".join(row)), reason)
        else:
            row = [*row, *[""] * (width - len(row))]
            texts = layout.texts_of(row)
            if texts["url"] and not texts["title"] and texts["url"] == link:
                variants.append(record.line)
                continue
            link = texts["url"]
            yield from _check_row(record.line, row, texts, layout)
    if variants:
        sentence = ngettext(
            "This row is a variant of the one above it, without its own title; it is passed over.",
            "This row and %(more)s more are variants of the ones above them, without own titles; they are passed over.",
            len(variants),
        )
        yield Remark(variants[0], "", "", sentence % {"more": f"{len(variants) - 1:,}"}, refused=False)
    if record is None:
        raise BadFile(NO_ROWS)


def deal_id(link: str, title: str, published_at: datetime) -> str:
    """Return the id of an imported deal: its publication time, and a hash of its link and title."""
    digest = hashlib.sha256(f"{link}\n{without_joiners(title)}".encode()).digest()
    return new_ulid(published_at, int.from_bytes(digest[: RANDOM_BITS // 8]))


def shown(value: str) -> str:
    """Return an offending value as a report can show it: short, on one line, nothing hidden in it."""
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in value)
    return text if len(text) <= VALUE_CHARACTERS else text[: VALUE_CHARACTERS - 1] + "…"


def _check_row(line: int, row: list[str], texts: dict[str, str], layout: Layout) -> Iterator[Result]:
    def remark(column: str, reason: str, value: str = "", *, refused: bool = True) -> Remark:
        value = shown(value or layout.cell_of(column, row))
        return Remark(line, layout.title_of(column), value, reason, refused=refused)

    values, wrong = dict[str, Any](), False
    for field, text in texts.items():
        try:
            values[field] = READ.get(field, _as_it_is)(layout, field, _shown_only(text))
        except Unreadable as error:
            wrong = True
            yield remark(field, str(error), text)
    if wrong:
        return
    title, brand_name, live_at = values["title"], values["brand"], values["published_at"]
    price, was_price = values["price"], values["was_price"]
    if price is None and "price" in layout.columns:
        price, was_price = was_price, None  # of what is not on sale, some files have only the price before
    elif was_price is not None and was_price in (0, price):
        reason = _("This is no price to compare with; it is left out.")
        yield remark("was_price", reason, refused=False)
        was_price = None
    code, stock = clean_text(values["voucher_code"]).strip(), values["stock"]
    content = DealContent(
        title=shortened(title),
        brand=_chosen(layout.brands, brand_name) or slugify(brand_name),
        category=values["category"],
        price=price,
        condition=clean_text(values["instead_of_price"]).strip(),
        was_price=was_price,
        sold=values["sold"] or sold_by(stock, code),
        voucher_code=code,
        article_number=values["article_number"],
        link=values["url"],
        is_ad=values["ad"],
        description=clean_text(to_markdown(values["description"])).strip(),
        stock=stock,
        expires_at=values["expires_at"],
    ).fitted()
    if content.stock != stock:
        yield remark("stock", _("Only what is sold here has a stock; it is left out."), refused=False)
    lacks, foreign = problems(content, live_at=live_at or layout.moment), ""
    if texts["category"] and not content.category:
        foreign = as_typed(texts["category"])
        known = {"categories": ", ".join(category_names.names().values())}
        lacks["category"] = _("There is no such category. There are: %(categories)s.") % known
    if layout.drafts:
        lacks = {name: said for name, said in lacks.items() if name == "title" or getattr(content, name)}
    elif live_at is None:
        lacks["published_at"] = _("Enter the time of publication.")
    if content.title != title:
        reason = _("Shortened to %(most)s characters.") % {"most": TITLE_CHARACTERS}
        yield remark("title", reason, title, refused=False)
    yield NewDeal(
        line,
        deal_id(content.link or content.article_number, title, live_at or layout.moment),
        content,
        brand_name,
        values["image_url"],
        named=values["id"],
        lacks={name: remark(COLUMN_OF.get(name, name), str(reason)) for name, reason in lacks.items()},
        says=frozenset(
            name
            for name in CONTENT_FIELDS
            if COLUMN_OF.get(name, name) in layout.columns
            and (name in EMPTIED or getattr(content, name) not in ("", None))
            and (name not in (*DEFAULTS, *DERIVED) or layout.cell_of(COLUMN_OF.get(name, name), row).strip())
        ),
        foreign=foreign[:TITLE_CHARACTERS],
    )


def _shown_only(text: str) -> str:
    if "\x00" in text:
        raise Unreadable(_("This holds a NUL character."))
    if UNDECODED.search(text):
        raise Unreadable(_("This is not UTF-8. Save the file in UTF-8."))
    return UNSHOWN.sub(" ", text.replace("\r\n", "\n")).strip()


def shortened(title: str) -> str:
    """Return a title as long as a deal's may be, cut between two words."""
    if len(title) <= TITLE_CHARACTERS:
        return title
    cut = title[: TITLE_CHARACTERS - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:.–-") + "…"


def _brand(layout: Layout, field: str, text: str) -> str:
    try:
        return clean_name(text) if text else ""
    except Invalid as error:
        raise Unreadable(str(error)) from None


def _category(layout: Layout, field: str, text: str) -> str:
    """Return the category that a text names, or the last that a path of categories does; '' for none."""
    text = as_typed(text)
    own = (_chosen(layout.categories, text), *map(category_names.find, (text, *reversed(PATH.split(text)))))
    return next(filter(None, own), "")


def _chosen(choices: Iterable[NameChoice], name: str) -> str:
    """Return what was chosen for a name of the file; '' for nothing."""
    return next((choice.slug for choice in choices if choice.name == name_key(name)), "")


def _sold(layout: Layout, field: str, text: str) -> str:
    """Return who sells it, '' where the row does not say so."""
    if text and slugify(text) not in SELLERS:
        raise Unreadable(_("Enter here, shop or code."))
    return SELLERS.get(slugify(text), "")


def _image(layout: Layout, field: str, text: str) -> str:
    """Return the first of some addresses of pictures."""
    return ADDRESSES.split(as_typed(text))[0].strip(" ,;|")


def _id(layout: Layout, field: str, text: str) -> str:
    """Return the id of a deal or draft; '' for what other programs call one."""
    return text.upper() if is_ulid(text.upper()) else ""


def _as_it_is(layout: Layout, field: str, text: str) -> str:
    return text


READ: dict[str, Callable[[Layout, str, str], Any]] = {
    "id": _id,
    **dict.fromkeys(("title", "article_number"), lambda layout, field, text: as_typed(text)),
    "brand": _brand,
    "category": _category,
    "currency": lambda layout, field, text: cells.currency(text) if text else "",
    "price": Layout.amount,
    "was_price": Layout.amount,
    "url": lambda layout, field, text: layout.link(text),
    "sold": _sold,
    "ad": lambda layout, field, text: cells.is_yes(text),
    "image_url": _image,
    "stock": lambda layout, field, text: cells.pieces(text, layout.decimal) if text else None,
    "published_at": Layout.time,
    "expires_at": Layout.time,
}


def stored_at(one: Entry) -> datetime | None:
    """Return when a deal or draft was stored first; None for a draft that was changed since."""
    if isinstance(one, Deal):
        return one.created_at
    return one.updated_at if one.version == 1 else None


def deals_there(ids: Iterable[str]) -> dict[str, Entry]:
    """Return those of some deals that are there, with their stock. 1 batch get for each 50."""
    return drafts.get_entries("deal", ids)


def drafts_there(ids: Iterable[str]) -> dict[str, Entry]:
    """Return those of some drafts that are there, or are deals by now, as these. Requests: those of 3 reads."""
    ids = list(ids)
    found = drafts.get_many(ids)
    published = deals_there(one.published_as for one in found.values() if one.published_as)
    found_as_deals = {one.id: published.get(one.published_as) for one in found.values() if one.published_as}
    there = deals_there(ids) | found | found_as_deals
    return {one: it for one, it in there.items() if it}


@dataclass
class Identities:
    """Finds what the rows of one file mean. `read` returns those of some ids that are there, as `deals_there` does.

    What was stored at `now` was stored by this run: rows with one link and several titles, or times, are several deals.
    """

    read: Callable[[Iterable[str]], dict[str, Entry]]
    now: datetime

    def __post_init__(self) -> None:
        self._meant: dict[str, str] = {}  # id -> the title of the row that means it by its link or number
        self._in_file: set[object] = set()  # ids, or links, titles and times, of the rows that are new

    def find(self, rows: Collection[NewDeal]) -> tuple[dict[int, Entry | None], dict[int, str]]:
        """Return by line what rows mean, and why that is unclear.

        That is what is there, and None for those that repeat a new one; new ones are left out.

        Requests: those of `read` for their ids; for those that are not found a query for each link, and `read` again;
        then the same for each article number, and those of `brands.named_by` twice for rows without a link.
        """
        by_id = self.read({one for row in rows for one in (row.id, row.named) if one})
        found: dict[int, Entry | None] = {}
        for row in rows:
            if there := by_id.get(row.named) or by_id.get(row.id):
                found[row.line] = there
        left = [row for row in rows if row.line not in found and row.content.link]
        links = {row.line: display_names.same_link(row.content.link) for row in left}
        linked = self._with_names(set(links.values()))
        for fits in (self._has_title, self._has_only_link):
            for row in left:
                if row.line not in found and (one := fits(row, links[row.line], linked[links[row.line]])):
                    found[row.line] = one
                    self._meant[one.id] = row.content.title
        unclear = self._find_by_number([row for row in rows if row.line not in found], found)
        for row in rows:
            own = {row.id, (links.get(row.line, row.id), _same(row.content.title), time_of(row.id))}
            if row.line not in found and not self._in_file.isdisjoint(own):
                found[row.line] = None
            elif row.line not in found and row.line not in unclear and not row.lacks:
                self._in_file |= own
        return found, unclear

    def _with_names(self, names: Collection[str]) -> dict[str, list[Entry]]:
        """Return what has some links and article numbers now."""
        known = display_names.all_known_by(names)
        there = self.read({target for some in known.values() for target in some})
        found = {
            name: {one.id: one for target in some if (one := there.get(target)) and name in one.content.names}
            for name, some in known.items()
        }  # a draft that was published is there twice
        return {name: list(some.values()) for name, some in found.items()}

    def _find_by_number(self, rows: list[NewDeal], found: dict[int, Entry | None]) -> dict[int, str]:
        """Find what rows mean by their article numbers; return by line why that is unclear."""
        numbers = {row.line: display_names.same_number(row.content.article_number) for row in rows}
        numbered = self._with_names({*numbers.values()} - {""})
        unlinked = [row for row in rows if numbered.get(numbers[row.line]) and not row.content.link]
        slugs = {one.content.brand for row in unlinked for one in (row, *numbered[numbers[row.line]])} - {""}
        named = {slug: brand.slug for slug, brand in brands.named_by(slugs).items()} if slugs else {}
        unclear = {}
        for row in rows:
            there = [
                one
                for one in numbered.get(numbers[row.line], ())
                if not self._is_own(one) and _are_of_one_shop(row.content, one.content, named)
            ]
            if len(there) > 1:
                words = {"count": len(there), "number": shown(row.content.article_number)}
                sentence = _(
                    "%(count)s deals have the article number %(number)s. Say by id or link which is meant."
                )
                unclear[row.line] = sentence % words
            elif there and self._meant.setdefault(there[0].id, row.content.title) == row.content.title:
                found[row.line] = there[0]
        return unclear

    def _has_title(self, row: NewDeal, link: str, there: list[Entry]) -> Entry | None:
        fitting = (one for one in there if _same(one.content.title) == _same(row.content.title))
        return next(
            (one for one in fitting if not self._is_own(one) or time_of(one.id) == time_of(row.id)), None
        )

    def _has_only_link(self, row: NewDeal, link: str, there: list[Entry]) -> Entry | None:
        if len(there) != 1 or display_names.is_of_many(link) or self._is_own(there[0]):
            return None
        return there[0] if self._meant.get(there[0].id, row.content.title) == row.content.title else None

    def _is_own(self, one: Entry) -> bool:
        return stored_at(one) == self.now


def _are_of_one_shop(row: DealContent, there: DealContent, named: Mapping[str, str]) -> bool:
    """Tell whether a row's link leads to the shop of one that is there, or its brand is the same if it has none."""
    of_row, of_there = (
        (display_names.shop_of(one.link) if row.link else named.get(one.brand, "")) for one in (row, there)
    )
    return bool(of_row) and of_row == of_there


def _same(title: str) -> str:
    return without_unseen(normalise(title)).casefold()


class Shares:
    """Which rows of a file each part of an import takes, so that several workers share it.

    Rows that may mean the same deal go to one part, which reads them in their order: what becomes of one of them
    depends on those before it. Otherwise each part takes as many rows as the others, one behind the other.
    """

    def __init__(self) -> None:
        self._lines = array("L")
        self._known: dict[int, int] = {}  # what a deal may be known by, hashed -> the first line that says so
        self._earlier: dict[int, int] = {}  # line -> an earlier one that it belongs to

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, row: NewDeal, there: Entry | None) -> None:
        """Note the next row, and what it means that is there already."""
        self._lines.append(row.line)
        names = {row.id, row.named, there.id if there else ""}
        for name in names.union(display_names.names_of(row.content.link, row.content.article_number)) - {""}:
            one, other = self._first(row.line), self._first(self._known.setdefault(hash(name), row.line))
            if one != other:
                self._earlier[max(one, other)] = min(one, other)

    def starts(self, parts: int) -> list[tuple[int, int]]:
        """Return from which line on rows belong to which of up to so many parts, wherever that changes."""
        size = -(-len(self) // parts)
        number_of: dict[int, int] = {}  # without those whose rows all belong to others
        found: list[tuple[int, int]] = []
        for number, line in enumerate(self._lines):
            first = self._first(line)
            part = (number if first == line else bisect(self._lines, first) - 1) // size
            part = number_of.setdefault(part, len(number_of))
            if not found or found[-1][1] != part:
                found.append((line, part))
        return found

    def _first(self, line: int) -> int:
        """Return the first line of all that belong to one."""
        while (earlier := self._earlier.get(line)) is not None:
            self._earlier[line] = line = self._earlier.get(earlier, earlier)
        return line


def part_of(line: int, starts: Sequence[Sequence[int]]) -> int:
    """Return which part a line belongs to."""
    return starts[max(bisect(starts, line, key=itemgetter(0)) - 1, 0)][1]
