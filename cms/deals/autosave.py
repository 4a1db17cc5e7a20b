"""Autosave, a moment after each change of a form: never publishes, never overwrites another's work.

What a page saved without having heard so (its answer was lost) is known by a token, so that it is no conflict
with itself. Whoever does not want it turns it off, for all their pages.
"""

from datetime import datetime
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from cms.deals.drafts import find_draft
from cms.deals.pending_edits import active, keep_form, stands_on
from cms.shared.field_merge import base_of
from cms.shared.forms import DealForm, keep_times, typed
from cms.shared.requests import EditorRequest, editor_action
from cms.taxonomy.named_brands import named_content
from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.content import DealContent, text_problems
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.editing import pending_edits
from dealsite.data.editing.pending_edits import PendingEdits
from dealsite.data.people import profiles
from dealsite.data.table.errors import Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import is_new, is_ulid


@editor_action
def autosave_setting(request: EditorRequest) -> HttpResponse:
    """Turn autosave on or off for whoever is signed in. 1 update."""
    profiles.save_preferences(request.user.username, autosave="autosave" in request.POST)
    return HttpResponse(status=204)


@editor_action
def autosave(request: EditorRequest, kind: str, entry_id: str) -> JsonResponse:
    """Keep what is in a form as far as it can be stored, and say so: 200 kept, 422 not right yet, 409 overtaken.

    A draft is saved: 1 get for it, 1 for its brand, 1 transaction if anything is new. A deal's changes are kept,
    unseen by shoppers: 1 batch get and 1 get for both, 1 get for the brand, 1 transaction if anything is new.
    """
    if not is_ulid(entry_id):
        raise NotFound(_("There is no such draft."))
    form = posted(request)
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
    content, brand = read(form)
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
    return JsonResponse({"text": _("Draft saved %(time)s") % {"time": in_short(now)}, "fields": fields})


def _keep_changes(request: EditorRequest, form: DealForm, deal_id: str, now: datetime) -> JsonResponse:
    form.entry = deal = deals.get(deal_id)
    form.kept = pending_edits.find(deal)
    keep_times(form, deal.content)
    content, brand = read(form)
    kept = active(form)
    if kept and not stands_on(form, kept):
        return _conflict(kept)
    if kept is None and all(one.choice == "theirs" for one in form.merged(typed(deal)).values()):
        return JsonResponse({"text": ""})
    if kept is None or kept.content != content:
        kept = keep_form(form, deal, content, brand, by=request.user.username, autosave=form.token)
    text = _("Changes saved %(time)s, not published") % {"time": in_short(now)}
    return JsonResponse({"text": text, "fields": {"changes": kept.version}})


def _conflict(stored: Draft | PendingEdits | None) -> JsonResponse:
    if isinstance(stored, Draft) and stored.published_as:
        return not_saved(_("This draft was published. Save it yourself to see what became of it."), 409)
    who = {"who": stored.updated_by if stored else _("Somebody")}
    return not_saved(_("%(who)s changed this meanwhile. Save it yourself to see both versions.") % who, 409)


def posted(request: EditorRequest) -> DealForm:
    """Return the form that a page sent by itself; files are not sent so."""
    return DealForm.posted(request.POST)


def read(form: DealForm) -> tuple[DealContent, Any]:
    """Return what is in a form, and its brand or None; Invalid where something is not right yet. 1 get."""
    if not form.is_valid():
        raise Invalid
    content, brand = named_content(form)
    if content.brand and brand is None and not form.errors:
        form.add_error("brand", _("It is new: save yourself once, so that it is created."))
    form.refuse(text_problems(content))
    if form.errors:
        raise Invalid
    return content, brand


def in_short(now: datetime) -> str:
    return timezone.localtime(now).strftime("%H:%M")


def refused(form: DealForm, error: Invalid) -> JsonResponse:
    """Say what is not right yet: the first thing is enough."""
    form.refuse(error.fields)
    for name, errors in form.errors.items():
        label = f"{form.label_of(name)}: " if name in form.fields else ""
        return not_saved(f"{label}{errors[0]}", 422)
    return not_saved(str(error), 422)


def not_saved(why: str, status: int) -> JsonResponse:
    return JsonResponse({"text": _("Not saved: %(why)s") % {"why": why}}, status=status)
