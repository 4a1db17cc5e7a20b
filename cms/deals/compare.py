"""Two versions of a deal or draft beside each other: field by field, the changed words of texts marked."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dealsite.data.catalogue.content import CONTENT_FIELDS
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.editing.versions import Version

LABELS: dict[str, str | Promise] = {
    "title": _("Title"),
    "brand": _("Brand"),
    "category": _("Category"),
    "price": _("Price"),
    "was_price": _("Was-price"),
    "voucher_code": _("Voucher code"),
    "link": _("Link"),
    "description": _("Description"),
    "picture": _("Picture"),
    "stock": _("Pieces in stock"),
    "expires_at": _("Expires"),
}
TEXTS = ("title", "voucher_code", "link", "description")
MOST_WORDS = 1500  # longer texts are compared by lines
LEAST_ALIKE = 0.5  # texts with less in common are marked whole
LEAST_SHARED = 2  # characters between two changes that count as shared
WORD, LINE = re.compile(r"\s+|\w+|[^\w\s]"), re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True)
class TextRun:
    """A piece of a text: the same on both sides, or on this one alone."""

    text: str
    is_changed: bool


@dataclass(frozen=True)
class FieldComparison:
    """A field on both sides; `kind` says how to show it: text, money, time, number, picture."""

    name: str
    label: str | Promise
    kind: str
    older: object
    newer: object
    is_changed: bool

    @property
    def runs(self) -> tuple[list[TextRun], list[TextRun]]:
        """Both sides of a text, piece by piece; nothing for what is no text."""
        return marked(str(self.older), str(self.newer)) if self.kind == "text" else ([], [])


KINDS = {
    "price": "money",
    "was_price": "money",
    "picture": "picture",
    "stock": "number",
    "expires_at": "time",
}


def compared(older: Version, newer: Version) -> list[FieldComparison]:
    """Return all fields of two versions, in the order of the form."""
    changed = changed_fields(older, newer)
    fields = []
    for name in CONTENT_FIELDS:
        kind = KINDS.get(name, "text" if name in TEXTS else "word")
        values = _value_in(older, name), _value_in(newer, name)
        fields.append(FieldComparison(name, LABELS[name], kind, *values, name in changed))
    return fields


def changed_fields(older: Version, newer: Version) -> list[str]:
    """Return the names of the fields in which two versions differ."""
    return [name for name in CONTENT_FIELDS if getattr(older.content, name) != getattr(newer.content, name)]


def labels_of(names: Iterable[str]) -> str:
    """Return the labels of fields, with commas between."""
    return ", ".join(str(LABELS[name]) for name in names)


def _value_in(version: Version, name: str) -> object:
    value = getattr(version.content, name)
    if name == "brand":
        return version.brand_name
    return category_names.names().get(value, value) if name == "category" else value


def marked(older: str, newer: str) -> tuple[list[TextRun], list[TextRun]]:
    """Return two texts in pieces, words that only one of them has marked; very long texts by lines.

    What the two share by chance is marked, too: white space and single signs between changes, and all words of texts
    that have little in common.
    """
    left, right = WORD.findall(older), WORD.findall(newer)
    if len(left) + len(right) > 2 * MOST_WORDS:
        left, right = LINE.findall(older), LINE.findall(newer)
    matcher = SequenceMatcher(None, left, right)
    if matcher.ratio() < LEAST_ALIKE:
        return _runs([(older, True)]), _runs([(newer, True)])
    pieces: tuple[list[tuple[str, bool]], list[tuple[str, bool]]] = ([], [])
    codes = matcher.get_opcodes()
    for n, (what, i, j, k, m) in enumerate(codes):
        by_chance = 0 < n < len(codes) - 1 and len("".join(left[i:j]).strip()) < LEAST_SHARED
        for side, piece in zip(pieces, ("".join(left[i:j]), "".join(right[k:m])), strict=True):
            side.append((piece, what != "equal" or by_chance))
    return _runs(pieces[0]), _runs(pieces[1])


def _runs(pieces: Iterable[tuple[str, bool]]) -> list[TextRun]:
    """Return pieces with neighbours of one kind made one, without empty ones."""
    found = (
        ("".join(text for text, _ in of_kind), is_changed)
        for is_changed, of_kind in groupby((piece for piece in pieces if piece[0]), key=itemgetter(1))
    )
    return [TextRun(text, is_changed) for text, is_changed in found]
