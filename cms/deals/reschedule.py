"""Publishing a scheduled deal at another time."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.shared.fields import LocalTimeField, typed_time
from cms.shared.forms import show_zone
from cms.shared.requests import EditorRequest, editor_form
from dealsite.data.catalogue import deals
from dealsite.data.catalogue.deals import Deal
from dealsite.data.table.errors import NotFound, Unavailable
from dealsite.data.table.ids import first_ulid_of, is_ulid

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
    elif "expires_at" in deals.problems(stored.content, live_at=live_at):
        form.add_error("live_at", _("The deal would expire before it goes live. Choose an earlier time."))
    if form.errors:
        return _reschedule_page(request, form, stored)
    try:
        moved = deals.reschedule(stored, live_at, new_id=new_id, by=request.user.username, now=now)
    except Unavailable as error:
        return _reschedule_page(request, form, stored, trouble=str(error), status=503)
    messages.success(request, _("The deal has its new time."))
    return redirect("cms_deal", moved.id)


def _reschedule_page(
    request: EditorRequest, form: RescheduleForm, stored: Deal, *, trouble: str = "", status: int = 200
) -> HttpResponse:
    page = {"form": form, "deal": stored, "trouble": trouble, "zone": timezone.get_current_timezone_name()}
    return render(request, "cms/deals/reschedule_deal.html", page, status=422 if form.errors else status)
