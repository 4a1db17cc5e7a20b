"""Pages of drafts: begin, also with the content of another, save, also by itself, publish now or at a time.

Nothing is published twice, however often a form is sent. A draft's id is made when its form is first
shown and stands in the form's address; publishing always goes through the stored draft, in one
transaction that needs it to be unpublished and at the version it was read at, and notes in it which
deal it became. So of a double click, two editors, or a try whose answer was lost, one publishes; the
others find the note and are led to the deal. The deal's own id is made from the publication time
only then, so a form left open for hours does not date its deal back.

Autosave never publishes and never overwrites another's work. What a page saved without having heard so (its answer was
lost) is known by a token, so that it is no conflict with itself. Whoever does not want it turns it off, for all pages.
"""

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from cms.deals.deal import action_of, active, as_new_draft, entry_page, keep_form, stands_on
from cms.deals.while_typing import give_price, holds_a_frame, not_told, read_link, stop
from cms.lists.list_address import after_saving, in_list
from cms.shared import requests
from cms.shared.edit_form import Show, base_of
from cms.shared.forms import DealForm, keep_times, typed, typed_deal
from cms.shared.requests import OPEN_FOR_LONG, EditorRequest
from cms.taxonomy import create_brand, named_content
from dealsite.accounts.decorators import editors
from dealsite.data.catalogue import brands, deals, drafts
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.content import DealContent, problems, text_problems
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.editing import bulk, pending_edits
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.editing.pending_edits import PendingEdits
from dealsite.data.editing.verbs.verb import Doing, Prefetched
from dealsite.data.people import profiles
from dealsite.data.table.errors import Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import is_new, is_ulid, iso, new_id, new_ulid
from dealsite.web.uploads import PICTURE_FORM, takes_files

DELETED = gettext_lazy(
    "Somebody deleted this draft while you worked on it. Save it again to keep what you wrote."
)


@editors.page("none")
@holds_a_frame
def new_draft(request: EditorRequest) -> HttpResponse:
    """An empty form, with the id that the draft will have."""
    form = DealForm.opened(typed_deal(DealContent(), ""), version=0)
    form.fields["title"].widget.attrs["autofocus"] = True
    return entry_page(request, form, "draft", new_ulid(timezone.now()))


@takes_files(PICTURE_FORM)
@editors.form("1 get")
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
            _saved, job_id = bulk.edit_alone(before, content, brand=brand, by=by, now=now)
            text = _("The draft is saved.") + form.also_said(before.updated_by)
            requests.offer_undo_for(request, text, job_id, request.path)
        return after_saving(request, reverse("cms_draft", args=[draft_id]))
    if brand is None:
        raise Invalid(brand=_("Choose a brand, or enter a new one."))
    change = (
        BulkChange("draft", "publish") if live_at <= now else BulkChange("draft", "schedule", iso(live_at))
    )
    entry, prefetched = replace(before, content=content), Prefetched({content.brand: brand})
    done = bulk.DoneAlone(change, title=content.title, by=by, now=now, entry_id=entry.id)
    change.verb.carry_out(
        entry, Doing(change.value, prefetched, done.note, by, now, announce=form.cleaned_data["announce"])
    )
    requests.offer_undo_for(request, _said(live_at, now), done.job.id, request.path)
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
    try:
        form.entry = deal = deals.get(pointer.published_as)
    except NotFound:
        return as_new_draft(request, form)
    if deal.content != named_content(form)[0]:
        form.set_against(typed(deal), deal.version)
        return entry_page(request, form, "deal", deal.id, status=409)
    messages.success(request, _said(deal.live_at, timezone.now()))
    return after_saving(request, reverse("cms_deal", args=[deal.id]))


def find_draft(draft_id: str) -> Draft | None:
    """Return a draft, or None if there is none. 1 get."""
    try:
        return drafts.get(draft_id)
    except NotFound:
        return None


@editors.action
def autosave_setting(request: EditorRequest) -> HttpResponse:
    """Turn autosave on or off for whoever is signed in. 1 update."""
    profiles.save_preferences(request.user.username, autosave="autosave" in request.POST)
    return HttpResponse(status=204)


@editors.action
def autosave(request: EditorRequest, kind: str, entry_id: str) -> JsonResponse:
    """Keep what is in a form as far as it can be stored, and say so: 200 kept, 422 not all of it, 409 overtaken.

    A draft is saved: 1 get for it, 1 for its brand, 1 transaction if anything is new. A deal's changes are kept,
    unseen by shoppers: 1 batch get and 1 get for both, 1 get for the brand, 1 transaction if anything is new.
    """
    if not is_ulid(entry_id):
        raise NotFound(_("There is no such draft."))
    form = DealForm.posted(request.POST)  # files are not sent so
    try:
        return (_save_draft if kind == "draft" else _keep_changes)(request, form, entry_id, timezone.now())
    except Invalid as error:
        return refused(form, error)
    except VersionConflict as conflict:
        return _conflict(conflict.current)


def _save_draft(request: EditorRequest, form: DealForm, draft_id: str, now: datetime) -> JsonResponse:
    by, token = request.user.username, form.token
    form.entry = stored = find_draft(draft_id)
    if stored is None and form.version:
        return not_saved(_("Somebody deleted this draft. Save it yourself to keep what you wrote."), 409)
    if stored:
        keep_times(form, stored.content)
    content, brand = read(form, stored.content if stored else DealContent())
    if stored is None and content == DealContent():
        return JsonResponse({"text": ""})
    if stored is None and not is_new(draft_id, now):
        return not_saved(_("This page was open for long. Save it yourself to keep what you wrote."), 409)
    if stored is None:
        stored = drafts.create(content, draft_id=draft_id, brand=brand, by=by, now=now, autosave=token)
    is_mine = (
        stored.version == form.version or stored.content == content or stored.last_edit in form.autosaves
    )
    if stored.published_as or not is_mine:
        return _conflict(stored)
    if stored.content != content:
        version = stored.version
        stored = drafts.save(stored, content, version=version, brand=brand, by=by, now=now, autosave=token)
    fields = {"version": stored.version, "seen": base_of(typed(stored))}
    return _kept(form, _("Draft saved %(time)s") % {"time": in_short(now)}, fields)


def _keep_changes(request: EditorRequest, form: DealForm, deal_id: str, now: datetime) -> JsonResponse:
    form.entry = deal = deals.get(deal_id)
    form.kept = pending_edits.find(deal)
    keep_times(form, deal.content)
    kept = active(form)
    content, brand = read(form, (kept or deal).content)
    if kept and not stands_on(form, kept):
        return _conflict(kept)
    if kept is None and all(one.choice == "theirs" for one in form.merged(typed(deal)).values()):
        return JsonResponse({"text": ""})
    if kept is None or kept.content != content:
        kept = keep_form(form, deal, content, brand, by=request.user.username, autosave=form.token)
    text = _("Changes saved %(time)s, not published") % {"time": in_short(now)}
    return _kept(form, text, {"changes": kept.version})


def _kept(form: DealForm, text: str, fields: dict[str, Any]) -> JsonResponse:
    """Say that a form was kept, or what of it was not, with what its page has to know of what is stored now."""
    return (
        refused(form, Invalid(), fields=fields)
        if form.errors
        else JsonResponse({"text": text, "fields": fields})
    )


def _conflict(stored: Draft | PendingEdits | None) -> JsonResponse:
    if isinstance(stored, Draft) and stored.published_as:
        return not_saved(_("This draft was published. Save it yourself to see what became of it."), 409)
    who = {"who": stored.updated_by if stored else _("Somebody")}
    return not_saved(_("%(who)s changed this meanwhile. Save it yourself to see both versions.") % who, 409)


def read(form: DealForm, stored: DealContent) -> tuple[DealContent, Brand | None]:
    """Return what is in a form, and its brand or None; what is not right yet stays as it is stored. 1 or 2 gets.

    Invalid where nothing else is new, or where the rest does not fit what stays.
    """
    form.is_valid()
    content, brand = named_content(form)
    if content.brand and brand is None and not form.errors.get("brand"):
        form.add_error("brand", _("It is new: save yourself once, so that it is created."))
    form.refuse(text_problems(content))
    if not form.errors:
        return content, brand
    wrong = {"picture" if name == "picture_alt" else name for name in form.errors}
    content = replace(content, **{name: getattr(stored, name) for name in wrong if hasattr(stored, name)})
    if content == stored or text_problems(content):
        raise Invalid
    return content, brands.named(content.brand) if content.brand else None


def in_short(now: datetime) -> str:
    return timezone.localtime(now).strftime("%H:%M")


def refused(form: DealForm, error: Invalid, **more: Any) -> JsonResponse:
    """Say what is not right yet: the first thing is enough."""
    form.refuse(error.fields)
    for name, errors in form.errors.items():
        label = f"{form.label_of(name)}: " if name in form.fields else ""
        return not_saved(f"{label}{errors[0]}", 422, **more)
    return not_saved(str(error), 422)


def not_saved(why: str, status: int, **more: Any) -> JsonResponse:
    return JsonResponse({"text": _("Not saved: %(why)s") % {"why": why}, **more}, status=status)
