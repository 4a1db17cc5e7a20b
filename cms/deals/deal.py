"""The page of one deal, scheduled or live: edit it, or keep its changes unpublished."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, timedelta
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.deals.pending_edits import (
    active,
    address_of,
    keep_form,
    opened_form,
    set_against,
    stands_on,
    typed_changes,
)
from cms.deals.preview import holds_a_frame
from cms.lists.list_address import after_saving, in_list, position_of
from cms.shared import undo
from cms.shared.field_merge import rebase
from cms.shared.forms import DealForm, typed
from cms.shared.requests import EditorRequest, editor_form
from cms.taxonomy.named_brands import create_brand, named_content
from dealsite.data.catalogue import activity, deals
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.content import DealContent, problems, text_problems
from dealsite.data.catalogue.deal import editing
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import page_names
from dealsite.data.editing import bulk_progress, pending_edits
from dealsite.data.editing.pending_edits import PendingEditsConflict
from dealsite.data.table.errors import Invalid, Unavailable, VersionConflict
from dealsite.data.table.parallel import together
from dealsite.web.uploads import PICTURE_FORM, takes_files

CLICKS_SHOWN = timedelta(days=29)  # before today
CHANGES_GONE = gettext_lazy(
    "The unpublished changes were published or discarded while you worked on them. "
    "This is what you typed: save it, or keep it as a draft again."
)


@takes_files(PICTURE_FORM)
@editor_form("1 batch get + 1 get + 1 query")
@holds_a_frame
def deal(request: EditorRequest, deal_id: str) -> HttpResponse:
    """One deal: its form; changed by POST."""
    if request.method == "POST":
        return change_deal(request, deal_id)
    stored, today = deals.get(deal_id), timezone.now().astimezone(UTC).date()
    reads: list[Callable[[], Any]] = [partial(pending_edits.find, stored)]
    if stored.content.shop:
        reads.append(partial(activity.of_deal, deal_id, since=today - CLICKS_SHOWN))
    kept, *counted = together(*reads)
    if kept and not kept.is_discarded and "changes" in request.GET:
        return deal_page(request, opened_form(kept), stored)
    form = DealForm.opened(typed(stored), stored.version)
    form.kept = kept
    form.changes = kept.version if kept and kept.is_discarded else 0
    by_day = {day: one.clicks for day, one in counted[0].items()} if counted else {}
    seen = {"today": by_day.get(today, 0), "month": sum(by_day.values())} if counted else None
    return deal_page(request, form, stored, seen=seen)


def change_deal(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Save the form; whatever fails, it comes back with all that was typed."""
    form = DealForm.posted(request.POST, request.FILES)
    stored: Deal | None = None
    try:
        stored = deals.get(deal_id)
        form.kept, form.opens_changes = pending_edits.find(stored), "changes" in request.GET
        return _change(request, form, stored)
    except PendingEditsConflict as overtaken:
        return changes_conflict(request, form, deals.get(deal_id), trouble=str(overtaken))
    except VersionConflict as conflict:
        return deal_conflict(request, form, conflict.current or deals.get(deal_id))
    except editing.StockChanged:
        return stock_conflict(request, form, deals.get(deal_id))
    except Invalid as error:
        form.refuse(error.fields, str(error))
        return deal_page(request, form, stored, status=422)
    except Unavailable as error:
        return deal_page(request, form, stored, deal_id=deal_id, trouble=str(error), status=503)


def _change(request: EditorRequest, form: DealForm, stored: Deal) -> HttpResponse:
    now, by = timezone.now(), request.user.username
    form.keep_times(stored.content)
    if form.chooses:
        against_changes = form.kept and request.POST.get("against") == "changes"
        form.take(typed_changes(form.kept) if form.kept and against_changes else typed(stored))
    is_valid = form.is_valid()
    action = request.POST.get("action", "save").removesuffix("-next")
    if action == "compare":  # to what another has saved meanwhile; nothing is saved
        is_overtaken = stored.version != form.version
        return (deal_conflict if is_overtaken else deal_page)(request, form, stored)
    if not is_valid:
        return deal_page(request, form, stored, status=422)
    content, brand = named_content(form, stored)
    kept = active(form)
    if kept and not stands_on(form, kept) and (form.opens_changes or action == "keep"):
        return changes_conflict(request, form, stored)
    if action == "keep":
        return _keep(request, form, stored, content, brand)
    stock = form.merge_stock(stored.stock)
    if stock and stock.choice == "theirs":  # what was sold since the form was opened stays sold
        content = replace(content, stock=stored.stock)
    form.refuse(problems(content, live_at=stored.live_at))
    if form.errors:
        return deal_page(request, form, stored, status=422)
    if stored.content == content:
        if kept and stands_on(form, kept):
            pending_edits.discard(kept, by=by, now=now)
        messages.info(request, _("Nothing was to be changed."))
        return after_saving(request, reverse("cms_deal", args=[stored.id]))
    if stored.version != form.version:
        return deal_conflict(request, form, stored)
    if stock and stock.is_conflict and content.stock != stored.stock:
        raise editing.StockChanged(stored.stock)
    if brand is None:
        brand = create_brand(form, by=by, now=now)
    writes = [pending_edits.publish_write(kept)] if kept and stands_on(form, kept) else []
    _saved, job_id = bulk_progress.edit_alone(stored, content, brand=brand, by=by, now=now, writes=writes)
    address = reverse("cms_deal", args=[stored.id])
    undo.offer_for(request, _("The deal is saved."), job_id, address)
    return after_saving(request, address)


def _keep(
    request: EditorRequest, form: DealForm, stored: Deal, content: DealContent, brand: Brand | None
) -> HttpResponse:
    """Keep what is in the form, however incomplete, without shoppers seeing it."""
    form.refuse(text_problems(content))
    if form.errors:
        return deal_page(request, form, stored, status=422)
    by = request.user.username
    if content.brand and brand is None:
        brand = create_brand(form, by=by, now=timezone.now())
    try:
        keep_form(form, stored, content, brand, by=by)
    except VersionConflict as conflict:
        form.kept = conflict.current
        return changes_conflict(request, form, stored)
    messages.success(request, _("The changes are kept. Shoppers do not see them before they are published."))
    return after_saving(request, address_of(stored.id))


def changes_conflict(
    request: EditorRequest, form: DealForm, stored: Deal, *, trouble: str = ""
) -> HttpResponse:
    """Show what differs between the form and the unpublished changes that somebody else kept; nothing was saved."""
    form.is_valid()
    kept = pending_edits.find(stored)
    form.kept = kept
    if kept is None or kept.is_discarded:  # published or discarded meanwhile: the deal is what there is
        form.changes, form.opens_changes = (kept.version if kept else 0), False
        return deal_page(request, form, stored, trouble=trouble or str(CHANGES_GONE), status=409)
    set_against(form, kept)
    return deal_page(request, form, stored, status=409)


def deal_conflict(request: EditorRequest, form: DealForm, current: Deal) -> HttpResponse:
    """Show what differs between the form and the deal as it is now; nothing was saved."""
    form.set_against(typed(current), current.version)
    return deal_page(request, form, current, status=409)


def stock_conflict(request: EditorRequest, form: DealForm, current: Deal) -> HttpResponse:
    """Say what is left now, where the editor wanted another number than they were shown; nothing was saved."""
    form.seen = rebase(form.seen, {"stock": typed(current)["stock"]})
    text = _(
        "Pieces were sold or came back meanwhile: %(stock)s are left now. Check your number and save again."
    ) % {"stock": current.stock}
    if current.stock is None:
        text = _(
            "Pieces were sold or came back meanwhile: nobody counts them any more. Check your number and save again."
        )
    form.refuse({"stock": text})
    return deal_page(request, form, current, status=409)


def deal_page(
    request: EditorRequest,
    form: DealForm,
    stored: Deal | None,
    *,
    deal_id: str = "",
    trouble: str = "",
    status: int = 200,
    seen: dict[str, int] | None = None,
) -> HttpResponse:
    """The form of a deal, and what the deal is at; `stored` is None where the table did not answer.

    `seen`: how many went to its shop today, and in the last month.
    """
    address = reverse("cms_deal", args=[stored.id if stored else deal_id])
    kept = active(form)
    opened = bool(kept and form.opens_changes)
    page: dict[str, Any] = {
        "deal": stored,
        "kept": kept,
        "opened": opened,
        "live_address": address,
        "clicks": seen,
    }
    if opened:
        address += "?changes=1"
    if stored:
        page["state"] = stored.card.state(timezone.now())
        page["by"] = kept.updated_by if kept and form.against else stored.updated_by
        if kept and not opened and not stands_on(form, kept):
            page["autosave_note"] = _("It is not saved automatically: there are unpublished changes.")
        elif status in (200, 422):
            page["autosave_address"] = reverse("cms_autosave_changes", args=[stored.id])
        featured = [(name, title, name in stored.featured_on) for name, title in page_names().items()]
        page["featured_on"] = [(name, title) for name, title, is_on in featured if is_on]
        page["not_featured_on"] = [(name, title) for name, title, is_on in featured if not is_on]
    return edit_page(request, "cms/deals/deal.html", form, address, page | {"trouble": trouble}, status)


def edit_page(
    request: EditorRequest, template: str, form: DealForm, address: str, page: dict[str, Any], status: int
) -> HttpResponse:
    """A page with DealForm; `address` is where it is sent."""
    deal = page.get("deal")
    shown = deal or page.get("draft")
    place = position_of(shown.card) if shown else ""
    page |= {
        "form": form,
        "address": in_list(request, address, place),
        "zone": timezone.get_current_timezone_name(),
    }
    page["in_list"] = in_list(request, "", place)
    page["preview_address"] = reverse("cms_preview_deal") + (f"?deal={deal.id}" if deal else "")
    return render(request, template, page, status=status)
