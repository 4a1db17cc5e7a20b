"""What can be done to deals and drafts: each verb once, for one and for many, in the order that menus show them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data.catalogue.deals import Deal
from dealsite.data.editing import links, pending_edits
from dealsite.data.editing.verbs.fields import (
    ChangeBrand,
    ChangeCategory,
    Describe,
    Edit,
    Import,
    RestoreVersion,
    SetStock,
    SetVoucher,
)
from dealsite.data.editing.verbs.prices import End, Reschedule, SetEnd, SetPrice, SetWasPrice
from dealsite.data.editing.verbs.publish import (
    Arrange,
    Duplicate,
    Feature,
    MoveToTrash,
    Publish,
    Schedule,
    Unfeature,
)
from dealsite.data.editing.verbs.verb import BulkResult, Doing, Prefetched, Verb
from dealsite.data.table.errors import Conflict


class AcceptLink(Verb[Deal]):
    """Take an editor's word that a link is fine; undone, it is checked at once."""

    name, label, kinds = "accept-link", gettext_lazy("This link is fine"), ("deal",)
    asks = "link"
    says = gettext_lazy("Call a link fine")
    did = gettext_lazy("The link of “%(title)s” counts as fine for 30 days.")

    def refusal(self, value: str, entry: Deal, prefetched: Prefetched, now: datetime) -> str:
        return "" if entry.content.link == value else _("This deal has another link by now.")

    def carry_out(self, entry: Deal, doing: Doing) -> None:
        context = doing.note("", doing.value)
        links.accept(entry.id, link=doing.value, by=doing.by, now=doing.now, audit_context=context)

    def is_as_left(self, row: BulkResult, entry: Deal) -> bool:
        return entry.content.link == row.after

    def take_back(self, kind: str, row: BulkResult, entry: Deal, doing: Doing) -> None:
        context = doing.note(row.after, "")
        links.take_back(entry.id, link=row.after, by=doing.by, now=doing.now, audit_context=context)


class DiscardChanges(Verb[Deal]):
    """Discard the unpublished changes of a deal, of the version that the value says."""

    name, label, kinds = "discard-changes", gettext_lazy("Discard unpublished changes"), ("deal",)
    asks = "changes"
    says = label
    did = gettext_lazy("The unpublished changes of “%(title)s” are discarded. Shoppers never saw them.")

    def carry_out(self, entry: Deal, doing: Doing) -> None:
        """1 get more, as for taking it back."""
        kept = pending_edits.find(entry)
        if kept is None or kept.is_discarded:
            raise Conflict(_("There are no unpublished changes any more."))
        if str(kept.version) != doing.value:
            raise Conflict(_("Somebody went on with these changes meanwhile. This is how they are now."))
        context = doing.note(doing.value, str(kept.version + 1))
        pending_edits.discard(kept, by=doing.by, now=doing.now, audit_context=context)

    def is_as_left(self, row: BulkResult, entry: Deal) -> bool:
        """It is not known yet: the changes are read when they come back."""
        return True

    def take_back(self, kind: str, row: BulkResult, entry: Deal, doing: Doing) -> None:
        kept = pending_edits.find(entry)
        if kept is None or not kept.is_discarded or str(kept.version) != row.after:
            raise Conflict(_("These changes cannot come back: others were kept or published since."))
        context = doing.note(row.after, row.before)
        pending_edits.restore(kept, by=doing.by, now=doing.now, audit_context=context)


ALL: tuple[Verb[Any], ...] = (
    Publish(),
    Schedule(),
    End(),
    SetEnd(),
    SetPrice(),
    Feature(),
    ChangeCategory(),
    ChangeBrand(),
    SetVoucher(),
    SetStock(),
    SetWasPrice(),
    Unfeature(),
    Reschedule(),
    Duplicate(),
    MoveToTrash(),
    Describe(),
    AcceptLink(),
    DiscardChanges(),
    RestoreVersion(),
    Arrange(),
    Edit(),
    Import(),
)
VERBS = {verb.name: verb for verb in ALL}


def of_kind(kind: str) -> list[Verb[Any]]:
    """Return what a menu can offer to do to deals or drafts."""
    return [verb for verb in ALL if kind in verb.kinds and verb.icon]


@dataclass(frozen=True, slots=True)
class BulkChange:
    """What is done to deals (`kind` deal), drafts or the list of a page: a verb by its name, and the value it needs.

    That is a time in ISO, a slug, the id of a page, a number, a code, words, a link, or the rule of a price.
    """

    kind: str
    action: str
    value: str = ""

    @property
    def verb(self) -> Verb[Any]:
        return VERBS[self.action]


@dataclass(frozen=True, slots=True)
class BulkTarget:
    """A deal or draft to be changed, with the value that it had when it was chosen."""

    id: str
    title: str
    seen: str = ""
