"""Verbs that publish drafts, copy, feature and unfeature deals, and move deals and drafts to the trash."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data.catalogue import brands, deal_changes, drafts, featured, publishing
from dealsite.data.catalogue.content import problems
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import page_names
from dealsite.data.catalogue.drafts import Draft, Entry
from dealsite.data.catalogue.featured import MAX_CARDS
from dealsite.data.editing import trash
from dealsite.data.editing.verbs.verb import BulkResult, Doing, Prefetched, Verb, published, sentences
from dealsite.data.entities.attributes import LINK_CHARACTERS
from dealsite.data.table.errors import Conflict, NotFound, VersionConflict
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
        deal_changes.delete(entry, by=by, now=now, version=entry.version, audit_context=context)


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
            deal_changes.delete(entry, by=doing.by, now=doing.now, version=version, audit_context=context)

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


class Feature(Verb[Deal]):
    """Put a deal last on a page's list; the value is the page."""

    name, icon, label = "feature", "star", gettext_lazy("Feature on a page")
    asks, kinds = "page", ("deal",)
    says = gettext_lazy("Feature on: %(value)s")
    did = gettext_lazy("“%(title)s” is on the list “%(value)s” now.")

    def prefetch(self, value: str, entries: Iterable[Entry], rows: Iterable[BulkResult] = ()) -> Prefetched:
        """Return the page. 1 get."""
        return Prefetched(page=featured.get(value))

    def refusal(self, value: str, entry: Deal, prefetched: Prefetched, now: datetime) -> str:
        if value in entry.featured_on:
            return _("It is on this page already.")
        return _("It has expired.") if entry.card.state(now) == "expired" else _no_room(prefetched)

    def carry_out(self, entry: Deal, doing: Doing) -> None:
        """1 batch get more, as for taking it back."""
        _change_list(entry, doing, doing.value, on=True)

    def changed_since(
        self, value: str, row: BulkResult, entry: Deal, prefetched: Prefetched, now: datetime
    ) -> str:
        return "" if value in entry.featured_on else _("It is not on this page any more.")

    def take_back(self, kind: str, row: BulkResult, entry: Deal, doing: Doing) -> None:
        _change_list(entry, doing, "", on=False)


class Unfeature(Feature):
    """Take a deal off a page's list; undone, it comes back to its place."""

    name, icon, label = "unfeature", "x", gettext_lazy("Remove from a page")
    says = gettext_lazy("Remove from: %(value)s")
    did = gettext_lazy("“%(title)s” is off the list “%(value)s”.")

    def refusal(self, value: str, entry: Deal, prefetched: Prefetched, now: datetime) -> str:
        return "" if value in entry.featured_on else _("It is not on this page.")

    def carry_out(self, entry: Deal, doing: Doing) -> None:
        """1 batch get more, as for taking it back."""
        _change_list(entry, doing, "", on=False)

    def changed_since(
        self, value: str, row: BulkResult, entry: Deal, prefetched: Prefetched, now: datetime
    ) -> str:
        return _("It is on this page again.") if value in entry.featured_on else _no_room(prefetched)

    def take_back(self, kind: str, row: BulkResult, entry: Deal, doing: Doing) -> None:
        _change_list(entry, doing, "", on=True, place=int(row.before) if row.before else MAX_CARDS)


class Arrange(Verb[Entry]):
    """Set the whole list of a page, as its form says; before and after are versions of the list."""

    name, asks, kinds = "arrange", "page", ()
    leaves_entry = False  # it is about no deal or draft
    says = gettext_lazy("Set the featured list: %(value)s")

    def take_back(self, kind: str, row: BulkResult, entry: Entry, doing: Doing) -> None:
        """1 get + 2 batch gets more. What was deleted or moved since is left out."""
        earlier = featured.get_version(doing.value, int(row.before))
        page, found = featured.load(doing.value, earlier.ids)
        if str(page.version) != row.after:
            raise Conflict(_("%(name)s changed it since.") % {"name": page.updated_by})
        deals = [found[one] for one in earlier.ids if one in found]
        gone = ", ".join(deal.title for deal in earlier.deals if deal.id not in found)
        context = doing.note(gone[:LINK_CHARACTERS], row.before)
        featured.set_featured(
            page, deals, version=page.version, by=doing.by, now=doing.now, audit_context=context
        )

    def also_said(self, undone: BulkResult) -> str:
        gone = _("Left out, since they were deleted or moved to another time: %(titles)s") % {
            "titles": undone.before
        }
        return gone if undone.before else ""


def _no_room(prefetched: Prefetched) -> str:
    """Return why no deal can be put on the page that is changed, in a sentence; '' if one can."""
    if prefetched.page and len(prefetched.page.ids) >= MAX_CARDS:
        return _("The page features %(number)s deals already; no more fit.") % {"number": MAX_CARDS}
    return ""


def _change_list(entry: Deal, doing: Doing, after: str, *, on: bool, place: int = MAX_CARDS) -> None:
    """Put a deal on a page, at a place or last, or take it off; what the page holds besides stays in its order."""
    prefetched = doing.prefetched
    known = prefetched.page.ids if prefetched.page else []
    page, found = featured.load(doing.value, [*known, entry.id])
    prefetched.page = page
    if page.ids != known:
        raise VersionConflict(current=page)
    if entry.id not in found:
        raise NotFound(_("It was deleted meanwhile."))
    order = [one for one in page.ids if one != entry.id]
    was = page.ids.index(entry.id) if entry.id in page.ids else 0
    if on:
        order.insert(place, entry.id)
    context = doing.note("" if on else str(was), after)
    listed = [found[one] for one in order if one in found]
    prefetched.page = featured.set_featured(
        page, listed, version=page.version, by=doing.by, now=doing.now, audit_context=context
    )
