"""The verbs that make a deal of a draft, a draft of either, and move both to the trash."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data.catalogue import brands, drafts
from dealsite.data.catalogue.content import problems
from dealsite.data.catalogue.deal import deleting, publishing
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import page_names
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.catalogue.entries import Entry
from dealsite.data.editing import trash
from dealsite.data.editing.verbs.verb import (
    BulkResult,
    Doing,
    Prefetched,
    Verb,
    published,
    sentences,
)
from dealsite.data.table.ids import from_iso, new_ulid


class Publish(Verb[Draft]):
    """Make a deal of a draft; undone, the deal goes to the trash and the draft is one again."""

    name, icon, label, kinds = "publish", "send", gettext_lazy("Publish"), ("draft",)
    makes, all_counts, needs_brands = "deal", True, True
    says = gettext_lazy("Publish drafts")
    did = gettext_lazy("“%(title)s” is published.")

    def refusal(self, value: str, entry: Draft, prefetched: Prefetched, now: datetime) -> str:
        if found := published(entry):
            return found
        live_at = from_iso(value) if value else now
        if live_at < now:
            return _("This time has passed. Choose a later one.")
        lacks = problems(entry.content, live_at=live_at)
        if not lacks and entry.content.brand not in prefetched.brands:
            return _("Its brand does not exist. Save the draft to add it.")
        return sentences(lacks)

    def carry_out(self, entry: Draft, doing: Doing) -> None:
        deal_id = new_ulid(from_iso(doing.value) if doing.value else doing.now)
        publishing.publish(
            entry.content,
            deal_id=deal_id,
            brand=doing.prefetched.brands[entry.content.brand],
            by=doing.by,
            now=doing.now,
            draft=entry,
            announce=doing.announce,
            audit_context=doing.note("", deal_id),
        )

    def take_back(self, kind: str, row: BulkResult, entry: Entry, doing: Doing) -> None:
        """2 gets more."""
        assert isinstance(entry, Deal)  # noqa: S101 - what it made
        pointer, context = drafts.get(row.id), doing.note(row.after, "")
        brand, by, now = brands.get(entry.card.brand), doing.by, doing.now
        reopen = drafts.reopen_writes(pointer, entry.content, brand, deal_id=entry.id, by=by, now=now)
        context = replace(context, writes=(*context.writes, *reopen))
        deleting.delete(entry, by=by, now=now, version=entry.version, audit_context=context)


class Schedule(Publish):
    """Publish a draft at a time to come."""

    name, icon, label, asks = "schedule", "calendar-clock", gettext_lazy("Schedule"), "future"
    says = gettext_lazy("Publish at %(value)s")
    did = gettext_lazy("“%(title)s” goes live at its time: %(value)s.")


class Duplicate(Verb[Entry]):
    """Make a draft like it: without its stock, and without an end that has passed. Undone, the draft is deleted."""

    name, icon, label = "duplicate", "copy", gettext_lazy("Duplicate as a draft")
    makes, needs_brands = "draft", True
    says = gettext_lazy("Duplicate as drafts")
    did = gettext_lazy("This is the copy of “%(title)s”: a draft of its own.")

    def carry_out(self, entry: Entry, doing: Doing) -> None:
        copy_id, content = new_ulid(doing.now), replace(entry.content, stock=None)
        if content.expires_at and content.expires_at <= doing.now:
            content = replace(content, expires_at=None)
        drafts.create(
            content,
            draft_id=copy_id,
            brand=doing.prefetched.brands.get(content.brand),
            by=doing.by,
            now=doing.now,
            audit_context=doing.note("", copy_id),
        )

    def take_back(self, kind: str, row: BulkResult, entry: Entry, doing: Doing) -> None:
        """1 get more."""
        assert isinstance(entry, Draft)  # noqa: S101 - what it made
        drafts.delete(entry, by=doing.by, now=doing.now, audit_context=doing.note(row.after, ""))


class MoveToTrash(Verb[Entry]):
    """Delete it, for 30 days in a way that can be taken back, but for its places on featured lists, the value after."""

    name, icon, label = "delete", "trash-2", gettext_lazy("Move to the trash")
    all_counts, leaves_entry = True, False
    says = label
    did = gettext_lazy("“%(title)s” is in the trash, where it stays for 30 days.")

    def carry_out(self, entry: Entry, doing: Doing) -> None:
        """1 batch get or 1 get more."""
        pages = sorted(entry.featured_on) if isinstance(entry, Deal) else []
        context = doing.note(str(entry.version), " ".join(pages))
        if isinstance(entry, Draft):
            drafts.delete(entry, by=doing.by, now=doing.now, audit_context=context)
        else:
            version = entry.version
            deleting.delete(entry, by=doing.by, now=doing.now, version=version, audit_context=context)

    def take_back(self, kind: str, row: BulkResult, entry: Entry, doing: Doing) -> None:
        """2 gets more."""
        version, context = int(row.before) if row.before else None, doing.note(row.after, "")
        trash.restore(kind, row.id, by=doing.by, now=doing.now, version=version, audit_context=context)

    def also_said(self, undone: BulkResult) -> str:
        return not_featured_again(undone.before.split())


def not_featured_again(page_ids: Sequence[str]) -> str:
    """Return that what came back from the trash was on the lists of some pages; '' for none."""
    names = page_names()
    pages = ", ".join(names[page] for page in page_ids if page in names)
    where = _("It was featured on: %(pages)s. Feature it there again if it is to be.")
    return where % {"pages": pages} if pages else ""
