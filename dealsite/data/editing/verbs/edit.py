"""Verbs that change any fields at once: what a form says, a row of a file, or an earlier version."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import ClassVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data.catalogue import entries
from dealsite.data.catalogue.content import CONTENT_FIELDS, DealContent
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.entries import Entry
from dealsite.data.editing import versions
from dealsite.data.editing.verbs.verb import (
    BulkResult,
    Doing,
    Verb,
    brands_of,
    save,
)
from dealsite.data.entities.deals import HERE
from dealsite.data.table.errors import Conflict

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
        return entries.get_many("deal", changed) | entries.get_many("draft", changed)


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
