"""The page of one deal, scheduled or live: edit it, or keep its changes unpublished."""

from collections.abc import Iterable
from datetime import UTC, timedelta
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from cms.deals.link_reading import read_link
from cms.deals.pending_edits import (
    active,
    address_of,
    keep_form,
    opened_form,
    settle,
    stands_on,
    typed_changes,
)
from cms.deals.preview import holds_a_frame
from cms.deals.similar import show_while_typing
from cms.lists.attention import topics_of
from cms.lists.list_address import after_saving, in_list, position_of
from cms.shared import undo
from cms.shared.edit_form import Show
from cms.shared.forms import NOUNS, DealForm, keep_times, typed
from cms.shared.requests import EditorRequest, editor_form
from cms.taxonomy.named_brands import create_brand, named_content
from dealsite.data.catalogue import activity, deals
from dealsite.data.catalogue.activity import Day
from dealsite.data.catalogue.content import problems, text_problems
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import page_names
from dealsite.data.editing import bulk_progress, pending_edits
from dealsite.data.table.parallel import together
from dealsite.web.uploads import PICTURE_FORM, takes_files

ACTIVITY_SHOWN = timedelta(days=29)  # before today


@takes_files(PICTURE_FORM)
@editor_form("1 batch get + 1 get + 1 query")
@holds_a_frame
def deal(request: EditorRequest, deal_id: str) -> HttpResponse:
    """One deal: its form; changed by POST."""
    if request.method == "POST":
        form = DealForm.posted(request.POST, request.FILES)
        show = partial(entry_page, request, form, "deal", deal_id)
        return form.save(lambda: _change(request, form, deal_id, show), show)
    stored, today = deals.get(deal_id, likes=True), timezone.now().astimezone(UTC).date()
    kept, by_day = together(
        partial(pending_edits.find, stored),
        partial(activity.of_deal, deal_id, since=today - ACTIVITY_SHOWN),
    )
    if kept and not kept.is_discarded and "changes" in request.GET:
        form = opened_form(kept)
    else:
        form = DealForm.opened(typed(stored), stored.version)
        form.kept, form.changes = kept, kept.version if kept and kept.is_discarded else 0
    form.entry = stored
    return entry_page(
        request, form, "deal", deal_id, happened=(by_day.get(today, Day()), _sum(by_day.values()))
    )


def action_of(request: EditorRequest) -> str:
    """Return what the button says is to be done, without where it leads then."""
    return request.POST.get("action", "save").partition("-")[0]


def _sum(days: Iterable[Day]) -> Day:
    return Day(*map(sum, zip(Day(), *days, strict=True)))


def _change(request: EditorRequest, form: DealForm, deal_id: str, show: Show) -> HttpResponse:
    form.entry = stored = deals.get(deal_id)
    form.kept, form.opens_changes = pending_edits.find(stored), "changes" in request.GET
    now, by = timezone.now(), request.user.username
    action = action_of(request)
    kept = active(form)
    keep_times(form, stored.content)
    form.take_chosen(typed_changes(kept) if kept and form.against else typed(stored))
    is_valid = form.is_valid()
    if action == "compare":  # to what another has saved meanwhile; nothing is saved
        return show(status=form.compare(typed(stored), stored.version))
    if action == "read":
        return show(status=read_link(request, form))
    if not is_valid:
        return show(status=422)
    overtaken = kept and (form.opens_changes or action == "keep") and not stands_on(form, kept)
    if kept and overtaken and not settle(form, kept, takes_unseen=action == "keep"):
        return show(status=409)
    if action == "keep":
        return _keep(request, form, stored, show)
    sold = "" if stored.version != form.version else _("Pieces were sold or came back meanwhile.")
    if not form.settle(typed(stored), stored.version):
        return show(status=409, trouble=sold)
    content, brand = named_content(form)
    form.refuse(problems(content, live_at=stored.live_at))
    if form.errors:
        return show(status=422)
    address, writes = reverse("cms_deal", args=[stored.id]), []
    if kept and stands_on(form, kept):
        writes = [pending_edits.publish_write(kept)]
    if stored.content == content:
        if kept and writes:
            pending_edits.discard(kept, by=by, now=now)
        messages.info(request, _("Nothing was to be changed."))
        return after_saving(request, address)
    brand = brand or create_brand(form, by=by, now=now)
    _saved, job_id = bulk_progress.edit_alone(stored, content, brand=brand, by=by, now=now, writes=writes)
    undo.offer_for(request, _("The deal is saved.") + form.also_said(stored.updated_by), job_id, address)
    return after_saving(request, address)


def _keep(request: EditorRequest, form: DealForm, stored: Deal, show: Show) -> HttpResponse:
    """Keep what is in the form, however incomplete, without shoppers seeing it."""
    content, brand = named_content(form)
    form.refuse(text_problems(content))
    if form.errors:
        return show(status=422)
    by, before = request.user.username, form.kept
    if content.brand and brand is None:
        brand = create_brand(form, by=by, now=timezone.now())
    keep_form(form, stored, content, brand, by=by)
    text = _("The changes are kept. Shoppers do not see them before they are published.")
    messages.success(request, text + form.also_said(before.updated_by if before else ""))
    return after_saving(request, address_of(stored.id))


def entry_page(
    request: EditorRequest,
    form: DealForm,
    kind: str,
    entry_id: str,
    *,
    trouble: str = "",
    status: int = 200,
    happened: tuple[Day, Day] | None = None,
) -> HttpResponse:
    """The form of a deal or draft, and what that is at. `happened`: to it to it, today and in the last month."""
    entry, kept, address = form.entry, active(form), reverse(f"cms_{kind}", args=[entry_id])
    opened, place = bool(kept and form.opens_changes), position_of(entry.card) if entry else ""
    is_deal = kind == "deal"
    page: dict[str, Any] = {
        "form": form,
        "kind": kind,
        "noun": NOUNS[kind],
        "entry": entry,
        "entry_id": entry_id,
        "kept": kept,
        "opened": opened,
        "happened": happened,
        "draft_action": "keep" if is_deal else "save",
        "publish_action": "save" if is_deal else "publish",
        "publish_label": _("Publish changes") if is_deal else _("Publish now"),
        "live_address": address,
        "address": in_list(request, f"{address}?changes=1" if opened else address, place),
        "in_list": in_list(request, "", place),
        "list_address": reverse("cms_deals") + ("?state=draft" if kind == "draft" else ""),
        "preview_address": reverse("cms_preview_deal") + (f"?deal={entry_id}" if is_deal else ""),
        "zone": timezone.get_current_timezone_name(),
        "trouble": trouble,
    }
    if entry and not trouble:
        theirs = kept if kept and form.against else entry
        page |= {"by": theirs.updated_by, "at": theirs.updated_at}
    if kept and not opened and not stands_on(form, kept):
        page["autosave_note"] = _("It is not saved automatically: there are unpublished changes.")
    elif status in (200, 422):  # where somebody else was faster, the editor decides how it goes on
        page["autosave_address"] = reverse("cms_autosave", args=[kind, entry_id])
    if not is_deal:
        show_while_typing(form, entry_id)
    page["state"] = "draft"
    if isinstance(entry, Deal):
        page["state"] = state = entry.card.state(timezone.now())
        page["problems"] = topics_of(entry, state)
        featured = [(name, title, name in entry.featured_on) for name, title in page_names().items()]
        page["featured_on"] = [(name, title) for name, title, is_on in featured if is_on]
        page["not_featured_on"] = [(name, title) for name, title, is_on in featured if not is_on]
    return render(request, "cms/deals/entry.html", page, status=status)
