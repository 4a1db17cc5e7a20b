"""Letting a live deal end now, and taking that back."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from cms.shared import undo
from cms.shared.requests import EditorRequest, editor_action
from dealsite.data.catalogue import brands, deals
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import from_iso, iso


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
        ended = deals.expire_now(stored, by=request.user.username, now=now)
        undo.offer(
            request,
            _("The deal has expired. Shoppers can still reach it, marked as over."),
            reverse("cms_undo_expiry", args=[deal_id]),
            version=ended.version,
            expires_at=iso(was) if was else "",
        )
    return redirect("cms_deal", deal_id)


@editor_action
def undo_expiry(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Give a deal back the end that it had before it was made to expire, if nothing else has changed since."""
    now = timezone.now()
    stored = deals.get(deal_id)
    expires_at = _time(request.POST.get("expires_at", ""))
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
            deals.edit(
                stored, content, version=stored.version, brand=brand, by=request.user.username, now=now
            )
            messages.success(request, _("The deal is live again, with the end that it had."))
        except Conflict as error:
            messages.error(request, str(error))
    return redirect("cms_deal", deal_id)


def _time(text: str) -> datetime | None:
    """Return the time of a form's field, None for none; what no form of ours holds is a conflict."""
    if not text:
        return None
    try:
        moment = from_iso(text)
        if iso(moment) == text:
            return moment
    except ValueError:
        pass
    raise Conflict()
