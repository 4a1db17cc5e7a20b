"""Verbs that give one field of a deal or draft another value, or a few that belong together."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.entries import Entry, refusals
from dealsite.data.editing.verbs.verb import (
    BulkResult,
    Doing,
    Prefetched,
    Verb,
    brands_of,
    published,
    save,
    sentences,
)
from dealsite.data.entities.deals import AT_SHOPS, HERE, SHOP
from dealsite.data.table.ids import from_iso, iso

PARSERS: dict[str, Any] = {
    "expires_at": from_iso,
    "price": Decimal,
    "was_price": Decimal,
    "low_seen_on": date.fromisoformat,
    "stock": int,
}


class FieldVerb(Verb[Entry]):
    """One that replaces the values of some fields; undone only where they still are as it left them."""

    fields: ClassVar[tuple[str, ...]]
    same: ClassVar[Any]  # said of what has the value already
    replaces = needs_brands = True

    def value_in(self, held: DealContent | DealCard) -> str:
        texts = [_as_text(getattr(held, name)) for name in self.fields]
        return texts[0] if len(texts) == 1 else json.dumps(texts, ensure_ascii=False)

    def value_after(self, value: str, entry: Entry, now: datetime) -> str:
        return self.value_in(self.content_after(value, entry.content))

    def content_after(self, value: str, content: DealContent) -> DealContent:
        """Return a content with the value in the place of its own."""
        return self.with_packed(content, value)

    def with_packed(self, content: DealContent, text: str) -> DealContent:
        """Return a content with the values that `value_in` returned of another."""
        texts = [text] if len(self.fields) == 1 else json.loads(text)
        values = zip(self.fields, texts, strict=True)
        return replace(content, **{name: _parsed(name, one) for name, one in values})

    def refusal(self, value: str, entry: Entry, prefetched: Prefetched, now: datetime) -> str:
        if found := published(entry):
            return found
        if found := self.misfit(value, entry.content):
            return found
        content = self.content_after(value, entry.content)
        if content == entry.content:
            return str(self.same)
        return sentences(refusals(entry, content))

    def misfit(self, value: str, content: DealContent) -> str:
        """Return why a content cannot have a value, where that is more than what stands against any; else ''."""
        return ""

    def carry_out(self, entry: Entry, doing: Doing) -> None:
        content = self.content_after(doing.value, entry.content)
        context = doing.note(self.value_in(entry.content), self.value_left(content, entry))
        save(entry, content, doing.prefetched, context, doing.by, doing.now)

    def value_left(self, content: DealContent, entry: Entry) -> str:
        """Return what is noted as the value after: what an entry is given."""
        return self.value_in(content)

    def take_back(self, kind: str, row: BulkResult, entry: Entry, doing: Doing) -> None:
        context = doing.note(row.after, row.before)
        content = self.content_before(row, entry.content)
        save(entry, content, doing.prefetched, context, doing.by, doing.now)

    def content_before(self, row: BulkResult, content: DealContent) -> DealContent:
        """Return what an entry held before, as far as this verb changed it."""
        return self.with_packed(content, row.before)


def _as_text(value: Any) -> str:
    if isinstance(value, datetime):
        return iso(value)
    return f"{value:.2f}" if isinstance(value, Decimal) else "" if value is None else str(value)


def _parsed(name: str, text: str) -> Any:
    if name not in PARSERS:
        return text
    return PARSERS[name](text) if text else None


class ChangeCategory(FieldVerb):
    """Move to another category."""

    name, icon, label = "category", "layers", gettext_lazy("Change category")
    asks, fields = "category", ("category",)
    same = gettext_lazy("It is in this category already.")
    says = gettext_lazy("Change category to %(value)s")
    did = gettext_lazy("“%(title)s” is in the category %(value)s now.")


class ChangeBrand(FieldVerb):
    """Make it one of another brand."""

    name, icon, label = "brand", "store", gettext_lazy("Change brand")
    asks, fields = "brand", ("brand",)
    same = gettext_lazy("It is of this brand already.")
    says = gettext_lazy("Change brand to %(value)s")
    did = gettext_lazy("“%(title)s” is of the brand %(value)s now.")

    def prefetch(self, value: str, entries: Iterable[Entry], rows: Iterable[BulkResult] = ()) -> Prefetched:
        return brands_of([value, *(entry.content.brand for entry in entries), *(row.before for row in rows)])


class SetStock(FieldVerb):
    """Say how many there are. Undone, what was sold since stays sold: after its value stands its version."""

    name, icon, label = "stock", "package", gettext_lazy("Set stock")
    asks, fields = "stock", ("stock",)
    same = gettext_lazy("It has this stock already.")
    replaces, all_counts = False, True  # lists do not show it
    says = gettext_lazy("Set stock to %(value)s")
    did = gettext_lazy("The stock of “%(title)s” is %(value)s now.")

    def value_in(self, held: DealContent | DealCard) -> str:
        return super().value_in(held) if isinstance(held, DealContent) else ""

    def value_left(self, content: DealContent, entry: Entry) -> str:
        return f"{self.value_in(content)} {entry.version + 1}"

    def misfit(self, value: str, content: DealContent) -> str:
        return "" if content.sold == HERE else _("A shop sells it, so nobody counts.")

    def is_as_left(self, row: BulkResult, entry: Entry) -> bool:
        return row.after.endswith(f" {entry.version}")

    def content_before(self, row: BulkResult, content: DealContent) -> DealContent:
        if not row.before or content.stock is None:
            return super().content_before(row, content)
        return replace(
            content, stock=max(0, int(row.before) + content.stock - int(row.after.partition(" ")[0]))
        )


class SetVoucher(FieldVerb):
    """Say with which code a shop sells it; '' is with none."""

    name, icon, label = "voucher", "ticket", gettext_lazy("Set voucher code")
    asks, fields = "voucher", ("voucher_code",)
    same = gettext_lazy("It has this code already.")
    says = gettext_lazy("Set voucher code to %(value)s")
    did = gettext_lazy("The voucher code of “%(title)s” is %(value)s now.")

    def misfit(self, value: str, content: DealContent) -> str:
        return "" if content.sold in AT_SHOPS else _("It is sold here, where no code is needed.")

    def with_packed(self, content: DealContent, text: str) -> DealContent:
        return replace(super().with_packed(content, text), sold=SHOP).fitted()


class Describe(FieldVerb):
    """Say what its picture shows, for those who cannot see it."""

    name, label = "alt-text", gettext_lazy("Describe the picture")
    asks, fields = "alt", ("picture",)
    same = gettext_lazy("It has these words already.")
    says = gettext_lazy("Set alt text to %(value)s")
    did = gettext_lazy("The alt text of “%(title)s” is saved.")

    def value_in(self, held: DealContent | DealCard) -> str:
        return held.picture.alt if held.picture else ""

    def with_packed(self, content: DealContent, text: str) -> DealContent:
        picture = content.picture
        return replace(content, picture=replace(picture, alt=text)) if picture else content

    def misfit(self, value: str, content: DealContent) -> str:
        return "" if content.picture else _("It has no picture any more.")
