"""Verbs that change fields of a deal or draft: one, a few that belong together, or any, as a form or a file says."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data.catalogue import drafts
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.content import CONTENT_FIELDS, DealContent
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Entry, refusals
from dealsite.data.editing import versions
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
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import from_iso, iso

END_PASSED = gettext_lazy(
    "The end that this version had has passed: the deal would be over at once. Keep the end that it has now."
)


class Edit(Verb[Entry]):
    """Give it the content of a form; before and after are versions.

    Undone, what others changed besides stays as they left it, and what was sold stays sold.
    """

    name = "edit"
    kinds: ClassVar[tuple[str, ...]] = ()  # no menu shows it
    says = gettext_lazy("Edit")

    def make(self, entry: Entry, content: DealContent, doing: Doing) -> Entry:
        """Give an entry another content, and return it. 1 transaction."""
        stock = content.stock if content.stock != entry.content.stock else None
        context = doing.note(str(entry.version), str(entry.version + 1), stock)
        return save(entry, content, doing.prefetched, context, doing.by, doing.now)

    def is_as_left(self, row: BulkResult, entry: Entry) -> bool:
        """It is not known yet: what it was is read when it is taken back."""
        return True

    def take_back(self, kind: str, row: BulkResult, entry: Entry, doing: Doing) -> None:
        """1 query + 1 batch get more."""
        content = _as_before(row, entry)
        if _ends_before(doing.now, content, entry):
            raise Conflict(_("The end that it had has passed meanwhile."))
        self.make(entry, content, replace(doing, prefetched=brands_of([content.brand])))


class Import(Edit):
    """Give some fields what a row of a file says."""

    name = "import"
    says = gettext_lazy("Change by an import")

    def read_changed(self, kind: str, rows: Sequence[BulkResult]) -> Mapping[str, Entry]:
        changed = [row.id for row in rows]
        return drafts.get_entries("deal", changed) | drafts.get_entries("draft", changed)


class RestoreVersion(Edit):
    """Give it the content of an earlier version; a deal keeps stock and end unless the value asks for those of then."""

    name, label = "restore-version", gettext_lazy("Restore a version")
    kinds, asks = ("deal", "draft"), "version"
    all_counts = True
    says = gettext_lazy("Restore version %(value)s")
    did = gettext_lazy("“%(title)s” is as it was in version %(value)s.")

    def carry_out(self, entry: Entry, doing: Doing) -> None:
        """1 get + 1 batch get more."""
        number, *also = doing.value.split()
        content = versions.get(entry.history_id, int(number)).content
        if isinstance(entry, Deal):
            now = entry.content
            stock = content.stock if "stock" in also or content.sold != HERE else now.stock
            content = replace(
                content, stock=stock, expires_at=content.expires_at if "end" in also else now.expires_at
            )
        if content == entry.content:
            raise Conflict(_("It is as it was in this version already."))
        if _ends_before(doing.now, content, entry):
            raise Conflict(END_PASSED)
        self.make(entry, content, replace(doing, prefetched=brands_of([content.brand])))


def _ends_before(now: datetime, content: DealContent, entry: Entry) -> bool:
    """Tell whether an entry would get an end that has passed."""
    ends = content.expires_at
    return ends is not None and ends <= now and ends != entry.content.expires_at


def _as_before(row: BulkResult, entry: Entry) -> DealContent:
    """Return what an entry holds without a change; Conflict where somebody changed the same fields since. 1 query."""
    now = entry.content
    before, after = versions.around(entry.history_id, int(row.before))
    left = after.content if after else now
    fields = [name for name in CONTENT_FIELDS if getattr(before.content, name) != getattr(left, name)]
    values = {name: getattr(before.content, name) for name in fields if name != "stock"}
    is_as_left = all(getattr(now, name) == getattr(left, name) for name in values)
    was, stock = before.content.stock, now.stock
    if row.stock is not None or (was is not None and left.stock is None):  # it was set
        is_as_left = is_as_left and str(entry.version) == row.after
        stock = was if None in (was, row.stock, stock) else max(0, stock + was - row.stock)  # type: ignore[operator]
    if not is_as_left:
        raise Conflict(_("%(name)s changed it since.") % {"name": entry.updated_by})
    return replace(now, **values, stock=stock)


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
