"""Pending edits of a live deal: open, save, discard, restore."""

from django.urls import reverse
from django.utils import timezone

from cms.shared.forms import DealForm, typed_deal
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.deals import Deal
from dealsite.data.editing import pending_edits
from dealsite.data.editing.pending_edits import PendingEdits


def typed_changes(kept: PendingEdits) -> dict[str, str]:
    """Return unpublished changes as a deal's form's inputs hold them."""
    return typed_deal(kept.content, kept.brand_name)


def opened_form(kept: PendingEdits) -> DealForm:
    """Return the form of unpublished changes: what it stands on is the deal that they began from."""
    form = DealForm.opened(typed_changes(kept), kept.base)
    form.seen = kept.seen or form.seen
    form.kept, form.changes, form.opens_changes = kept, kept.version, True
    return form


def active(form: DealForm) -> PendingEdits | None:
    """Return the unpublished changes that there are while a form is open, None if they were discarded."""
    return form.kept if form.kept and not form.kept.is_discarded else None


def stands_on(form: DealForm, kept: PendingEdits) -> bool:
    """Tell whether a form shows changes as they are now, or its own page kept them last."""
    return kept.version == form.changes or kept.last_edit in form.autosaves


def keep_form(
    form: DealForm, deal: Deal, content: DealContent, brand: Brand | None, *, by: str, autosave: str = ""
) -> PendingEdits:
    """Keep what is in a form as the unpublished changes of its deal; VersionConflict if others were kept since."""
    return pending_edits.keep(
        deal,
        content,
        brand_name=brand.name if brand else "",
        base=form.version,
        seen=form.seen,
        before=form.kept,
        by=by,
        now=timezone.now(),
        autosave=autosave,
    )


def settle(form: DealForm, kept: PendingEdits, *, takes_unseen: bool) -> bool:
    """Merge a form with the unpublished changes that somebody else kept since, as `EditForm.settle` does."""
    is_settled = form.settle(typed_changes(kept), kept.base, takes_unseen=takes_unseen, is_newer=True)
    form.seen = kept.seen or form.seen
    form.changes, form.opens_changes, form.against = kept.version, True, "changes"
    return is_settled


def address_of(deal_id: str) -> str:
    """Return where the unpublished changes of a deal are edited."""
    return reverse("cms_deal", args=[deal_id]) + "?changes=1"
