"""Verbs that put deals on the featured list of a page, and take them off."""

from collections.abc import Iterable
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data.catalogue import featured, featured_versions
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.entries import Entry
from dealsite.data.catalogue.featured import MAX_CARDS
from dealsite.data.editing.verbs.verb import BulkResult, Doing, Prefetched, Verb
from dealsite.data.entities.texts import LINK_CHARACTERS
from dealsite.data.table.errors import Conflict, NotFound, VersionConflict


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
        """1 get + 2 batch gets more. What was deleted since is left out."""
        earlier = featured_versions.get(doing.value, int(row.before))
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
        gone = _("Left out, since they are deleted: %(titles)s") % {"titles": undone.before}
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
