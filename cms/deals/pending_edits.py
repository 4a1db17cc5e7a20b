"""Pending edits of a live deal: open, save, discard, restore."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from cms.lists.list_address import in_list
from cms.shared import undo
from cms.shared.forms import DealForm, typed_deal
from cms.shared.requests import EditorRequest, editor_action
from dealsite.data.catalogue import deals
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.deals import Deal
from dealsite.data.editing import pending_edits
from dealsite.data.editing.audit import NO_CONTEXT, AuditContext
from dealsite.data.editing.pending_edits import PendingEdits
from dealsite.data.table.errors import VersionConflict


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


def audit_context_of(form: DealForm) -> AuditContext:
    """Return what publishing a form does besides: it ends the changes that the form shows."""
    kept = active(form)
    if kept and stands_on(form, kept):
        return AuditContext(writes=(pending_edits.publish_write(kept),))
    return NO_CONTEXT


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


def set_against(form: DealForm, kept: PendingEdits) -> None:
    """Let a form show what differs between it and the changes that somebody else kept."""
    form.set_against(typed_changes(kept), kept.base)
    form.seen = kept.seen or form.seen
    form.kept, form.changes, form.opens_changes, form.against = kept, kept.version, True, "changes"


def address_of(deal_id: str) -> str:
    """Return where the unpublished changes of a deal are edited."""
    return reverse("cms_deal", args=[deal_id]) + "?changes=1"


@editor_action
def discard_changes(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Discard unpublished changes, if they are still those that the editor saw."""
    kept = pending_edits.find(deals.get(deal_id))
    if kept is None or kept.is_discarded:
        messages.info(request, _("There are no unpublished changes any more."))
        return redirect(in_list(request, reverse("cms_deal", args=[deal_id])))
    try:
        if request.POST.get("version") != str(kept.version):
            raise VersionConflict
        pending_edits.discard(kept, by=request.user.username, now=timezone.now())
    except VersionConflict:
        meanwhile = _("Somebody went on with these changes meanwhile. This is how they are now.")
        messages.warning(request, meanwhile)
        return redirect(in_list(request, address_of(deal_id)))
    text = _("The unpublished changes are discarded. Shoppers never saw them.")
    undo.offer(request, text, reverse("cms_bring_back_changes", args=[deal_id]), version=kept.version + 1)
    return redirect(in_list(request, reverse("cms_deal", args=[deal_id])))


@editor_action
def restore_changes(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Take back that unpublished changes were discarded, unless others were kept since."""
    kept = pending_edits.find(deals.get(deal_id))
    if kept and kept.is_discarded and request.POST.get("version") == str(kept.version):
        try:
            pending_edits.restore(kept, by=request.user.username, now=timezone.now())
        except VersionConflict:
            kept = None
        else:
            messages.success(request, _("The unpublished changes are back."))
            return redirect(address_of(deal_id))
    if kept is None or kept.is_discarded:
        messages.warning(request, _("These changes cannot come back: others were kept or published since."))
        return redirect("cms_deal", deal_id)
    messages.info(request, _("There are unpublished changes. This is how they are now."))
    return redirect(address_of(deal_id))
