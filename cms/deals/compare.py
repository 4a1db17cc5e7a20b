"""Two versions of a deal or draft beside each other, field by field."""

from collections.abc import Iterable
from dataclasses import dataclass

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
    "was_price": _("Compared with"),
    "low_seen_at": _("Seen where"),
    "low_seen_on": _("Seen on"),
    "voucher_code": _("Voucher code"),
    "article_number": _("Article number"),
    "link": _("Link"),
    "description": _("Description"),
    "picture": _("Picture"),
    "stock": _("Pieces in stock"),
    "expires_at": _("Expires"),
}


@dataclass(frozen=True)
class FieldComparison:
    """A field on both sides; `kind` says how to show it: text, money, time, picture."""

    label: str | Promise
    kind: str
    older: object
    newer: object
    is_changed: bool


KINDS = {
    "price": "money",
    "was_price": "money",
    "picture": "picture",
    "expires_at": "time",
}


def compared(older: Version, newer: Version) -> list[FieldComparison]:
    """Return all fields of two versions, in the order of the form."""
    changed = changed_fields(older, newer)
    fields = []
    for name in CONTENT_FIELDS:
        values = _value_in(older, name), _value_in(newer, name)
        fields.append(FieldComparison(LABELS[name], KINDS.get(name, "text"), *values, name in changed))
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
