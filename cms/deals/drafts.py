"""Pages of drafts: begin, also with the content of another, save, publish now or at a time.

Nothing is published twice, however often a form is sent. A draft's id is made when its form is first
shown and stands in the form's address; publishing always goes through the stored draft, in one
transaction that needs it to be unpublished and at the version it was read at, and notes in it which
deal it became. So of a double click, two editors, or a try whose answer was lost, one publishes; the
others find the note and are led to the deal. The deal's own id is made from the publication time
only then, so a form left open for hours does not date its deal back.
"""

from dataclasses import replace
from datetime import datetime
from functools import partial

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.deals.deal import action_of, entry_page
from cms.deals.link_reading import read_link
from cms.deals.preview import holds_a_frame
from cms.deals.similar import give_price, not_told, stop
from cms.lists.list_address import after_saving, in_list
from cms.shared import undo
from cms.shared.edit_form import Show
from cms.shared.field_merge import base_of
from cms.shared.forms import DealForm, keep_times, typed, typed_deal
from cms.shared.requests import (
    OPEN_FOR_LONG,
    EditorRequest,
    editor_form,
    editor_page,
)
from cms.taxonomy.named_brands import create_brand, named_content
from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.content import DealContent, problems, text_problems
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.editing import bulk_progress
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.editing.verbs.verb import Doing, Prefetched
from dealsite.data.table.errors import Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import is_new, is_ulid, iso, new_id, new_ulid
from dealsite.web.uploads import PICTURE_FORM, takes_files

DELETED = gettext_lazy(
    "Somebody deleted this draft while you worked on it. Save it again to keep what you wrote."
)
DEAL_DELETED = gettext_lazy(
    "This draft was published, and its deal deleted since. Save it to keep it as a new draft."
)


@editor_page("none")
@holds_a_frame
def new_draft(request: EditorRequest) -> HttpResponse:
    """An empty form, with the id that the draft will have."""
    form = DealForm.opened(typed_deal(DealContent(), ""), version=0)
    form.fields["title"].widget.attrs["autofocus"] = True
    return entry_page(request, form, "draft", new_ulid(timezone.now()))


@takes_files(PICTURE_FORM)
@editor_form("1 get")
@holds_a_frame
def draft(request: EditorRequest, draft_id: str) -> HttpResponse:
    """One draft: its form; saved or published by POST, which also creates it."""
    if not is_ulid(draft_id):
        raise NotFound(_("There is no such draft."))
    if request.method == "POST":
        sent = DealForm.posted(request.POST, request.FILES)
        show = partial(entry_page, request, sent, "draft", draft_id)
        return sent.save(lambda: _change(request, sent, draft_id, show), show)
    stored = drafts.get(draft_id)
    if stored.published_as:
        messages.info(request, _("This draft was published. Here is the deal."))
        return redirect(in_list(request, reverse("cms_deal", args=[stored.published_as])))
    form = DealForm.opened(typed(stored), stored.version)
    form.entry = stored
    return entry_page(request, form, "draft", draft_id)


def _change(request: EditorRequest, form: DealForm, draft_id: str, show: Show) -> HttpResponse:
    now, by = timezone.now(), request.user.username
    action = action_of(request)
    form.entry = stored = find_draft(draft_id)
    if stored and stored.published_as:
        return _published(request, form, stored)
    if stored:
        keep_times(form, stored.content)
        form.take_chosen(typed(stored))
    is_valid = form.is_valid()
    if stored and action == "compare":  # to what another has saved meanwhile; nothing is saved
        return show(status=form.compare(typed(stored), stored.version))
    if action == "read":
        return show(status=read_link(request, form, draft_id))
    if not is_valid:
        return show(status=422)
    if action == "reprice":
        return give_price(request, form, stored, request.POST["action"].partition("-")[2], show, now)
    if stored and stored.last_edit in form.autosaves:  # what others saved before was seen then
        form.version, form.seen = stored.version, base_of(typed(stored))
    if stored and not form.settle(typed(stored), stored.version, takes_unseen=action == "save"):
        return show(status=409)
    content, brand = named_content(form)
    live_at = _live_at(form, action, now)
    form.refuse(text_problems(content) if live_at is None else problems(content, live_at=live_at))
    if form.errors:
        return show(status=422)
    if live_at and (found := not_told(form, draft_id, now)):
        if find_draft(draft_id) != stored:  # published meanwhile, so that it found itself
            raise VersionConflict
        stop(form, found, request.POST["action"])
        return show(status=422)
    if stored is None and form.version:
        form.version = 0
        return entry_page(request, form, "draft", new_id(draft_id, now), trouble=str(DELETED), status=409)
    if stored is None and not is_new(draft_id, now):
        return entry_page(request, form, "draft", new_ulid(now), trouble=str(OPEN_FOR_LONG), status=409)

    if content.brand and brand is None:
        brand = create_brand(form, by=by, now=now)
    before = stored or drafts.create(content, draft_id=draft_id, brand=brand, by=by, now=now)
    if stored is None and before.content != content:  # somebody was faster
        raise VersionConflict
    if live_at is None:
        if before.content == content:
            messages.success(request, _("The draft is saved."))
        else:
            _saved, job_id = bulk_progress.edit_alone(before, content, brand=brand, by=by, now=now)
            text = _("The draft is saved.") + form.also_said(before.updated_by)
            undo.offer_for(request, text, job_id, request.path)
        return after_saving(request, reverse("cms_draft", args=[draft_id]))
    if brand is None:
        raise Invalid(brand=_("Choose a brand, or enter a new one."))
    change = (
        BulkChange("draft", "publish") if live_at <= now else BulkChange("draft", "schedule", iso(live_at))
    )
    entry, prefetched = replace(before, content=content), Prefetched({content.brand: brand})
    done = bulk_progress.DoneAlone(change, title=content.title, by=by, now=now, entry_id=entry.id)
    change.verb.carry_out(
        entry, Doing(change.value, prefetched, done.note, by, now, announce=form.cleaned_data["announce"])
    )
    undo.offer_for(request, _said(live_at, now), done.job.id, request.path)
    return after_saving(request, reverse("cms_deal", args=[done.row.after]))


def _said(live_at: datetime, now: datetime) -> str:
    return _("The deal is published.") if live_at <= now else _("The deal is scheduled.")


def _live_at(form: DealForm, action: str, now: datetime) -> datetime | None:
    """Return when to publish, None for a draft; a time that is missing or past becomes an error."""
    if action == "publish":
        return now
    if action != "schedule":
        return None
    chosen = form.cleaned_data.get("publish_at")
    if chosen is None:
        form.add_error("publish_at", _("Choose the time at which the deal is to be published."))
    elif chosen <= now:
        form.add_error("publish_at", _("This time has passed. Choose a later one, or publish now."))
    return chosen or now


def _published(request: EditorRequest, form: DealForm, pointer: Draft) -> HttpResponse:
    """Lead to the deal that a draft became, or show what differs between it and the form."""
    form.is_valid()
    now, form.entry = timezone.now(), None
    try:
        form.entry = deal = deals.get(pointer.published_as)
    except NotFound:
        form.version = 0
        return entry_page(request, form, "draft", new_ulid(now), trouble=str(DEAL_DELETED), status=409)
    if deal.content != named_content(form)[0]:
        form.set_against(typed(deal), deal.version)
        return entry_page(request, form, "deal", deal.id, status=409)
    messages.success(request, _said(deal.live_at, now))
    return after_saving(request, reverse("cms_deal", args=[deal.id]))


def find_draft(draft_id: str) -> Draft | None:
    """Return a draft, or None if there is none. 1 get."""
    try:
        return drafts.get(draft_id)
    except NotFound:
        return None
