"""When a deal is live: publish a scheduled one at another time, let a live one end now, and take that back."""

from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.lists.list_address import in_list
from cms.shared import undo
from cms.shared.fields import LocalTimeField, stored_time, typed_time
from cms.shared.forms import show_zone
from cms.shared.requests import EditorRequest, editor_action, editor_form
from dealsite.data.catalogue import brands, deals
from dealsite.data.catalogue.content import problems
from dealsite.data.catalogue.deal import editing, rescheduling
from dealsite.data.catalogue.deals import Deal
from dealsite.data.table.errors import Conflict, NotFound, Unavailable
from dealsite.data.table.ids import first_ulid_of, is_ulid, iso

RANDOM_PART = slice(10, 26)  # of a ULID; the first ten characters are its time


class RescheduleForm(forms.Form):
    """Another time for a deal that is not live yet."""

    live_at = LocalTimeField(label=gettext_lazy("Publish at"))

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        show_zone(self)


@editor_form("1 batch get", at="/cms/deals/{scheduled.id}/reschedule/")
def reschedule_deal(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Publish a scheduled deal at another time.

    The time is part of a deal's id, so the deal gets a new one: the new time with the old random
    part. A second click therefore asks for the very deal that the first has made, and is led there.
    """
    if not is_ulid(deal_id):
        raise NotFound(_("There is no such deal."))
    now = timezone.now()
    form = RescheduleForm(request.POST or None)
    live_at = form.cleaned_data["live_at"] if form.is_bound and form.is_valid() else None
    new_id = first_ulid_of(live_at)[:10] + deal_id[RANDOM_PART] if live_at else ""
    try:
        stored = deals.get(deal_id)
    except NotFound:
        if new_id and new_id in deals.get_many([new_id]):
            return redirect("cms_deal", new_id)
        raise
    if stored.live_at <= now:
        text = _("This deal is live already, so its publication time cannot change any more.")
        messages.error(request, text)
        return redirect("cms_deal", deal_id)
    if live_at is None:
        if not form.is_bound:
            form = RescheduleForm(initial={"live_at": typed_time(stored.live_at)})
        return _reschedule_page(request, form, stored)
    if new_id == stored.id:
        return redirect("cms_deal", stored.id)
    if live_at <= now:
        form.add_error("live_at", _("This time has passed. Choose a later one."))
    elif "expires_at" in problems(stored.content, live_at=live_at):
        form.add_error("live_at", _("The deal would expire before it goes live. Choose an earlier time."))
    if form.errors:
        return _reschedule_page(request, form, stored)
    try:
        moved = rescheduling.reschedule(stored, live_at, new_id=new_id, by=request.user.username, now=now)
    except Unavailable as error:
        return _reschedule_page(request, form, stored, trouble=str(error), status=503)
    messages.success(request, _("The deal has its new time."))
    return redirect("cms_deal", moved.id)


def _reschedule_page(
    request: EditorRequest, form: RescheduleForm, stored: Deal, *, trouble: str = "", status: int = 200
) -> HttpResponse:
    page = {"form": form, "deal": stored, "trouble": trouble, "zone": timezone.get_current_timezone_name()}
    return render(request, "cms/deals/reschedule_deal.html", page, status=422 if form.errors else status)


@editor_action
def expire_deal(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Let a live deal end now. A form that says its `version` ends only that one."""
    now = timezone.now()
    stored = deals.get(deal_id)
    if stored.live_at > now:
        messages.error(request, _("This deal is not live yet. Delete it, or give it another time."))
    elif stored.card.state(now) == "expired":
        messages.info(request, _("This deal has expired."))
    elif request.POST.get("version", str(stored.version)) != str(stored.version):
        text = _(
            "Somebody changed this deal since you opened it, so it was not ended. This is how it is now."
        )
        messages.warning(request, text)
    else:
        was = stored.content.expires_at
        ended = editing.expire_now(stored, by=request.user.username, now=now)
        text = _("The deal has expired. Shoppers can still reach it, marked as over.")
        address, expires_at = reverse("cms_undo_expiry", args=[deal_id]), iso(was) if was else ""
        undo.offer(request, text, address, version=ended.version, expires_at=expires_at)
    return redirect(in_list(request, reverse("cms_deal", args=[deal_id])))


@editor_action
def undo_expiry(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Give a deal back the end that it had before it was made to expire, if nothing else has changed since."""
    now, by = timezone.now(), request.user.username
    stored = deals.get(deal_id)
    typed = request.POST.get("expires_at", "")
    expires_at = stored_time(typed)
    if typed and expires_at is None:
        raise Conflict()
    if request.POST.get("version") != str(stored.version):
        text = _("The deal was changed since, so its end stays as it is. Give it another one in the form.")
        messages.error(request, text)
    elif expires_at is not None and expires_at <= now:
        text = _("The end that the deal had has passed meanwhile. Give it a later one in the form.")
        messages.error(request, text)
    else:
        content = replace(stored.content, expires_at=expires_at)
        brand = brands.get(content.brand)
        try:
            editing.edit(stored, content, version=stored.version, brand=brand, by=by, now=now)
            messages.success(request, _("The deal is live again, with the end that it had."))
        except Conflict as error:
            messages.error(request, str(error))
    return redirect("cms_deal", deal_id)
