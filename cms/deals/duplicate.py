"""A new draft with the content of a deal or of another draft."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _

from cms.shared.requests import EditorRequest, editor_action
from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import is_ulid


@editor_action
def duplicate_deal(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Make a draft like a deal; the button names the id that it gets, so a second click makes no second one."""
    return _duplicate(request, deals.get(deal_id))


@editor_action
def duplicate_draft(request: EditorRequest, draft_id: str) -> HttpResponse:
    """The same for a draft."""
    stored = drafts.get(draft_id)
    if stored.published_as:
        return _duplicate(request, deals.get(stored.published_as))
    return _duplicate(request, stored)


def _duplicate(request: EditorRequest, original: Deal | Draft) -> HttpResponse:
    copy_id = request.POST.get("copy", "")
    if not is_ulid(copy_id):
        raise Invalid(_("This form is damaged. Load it again."))
    copy = copy_of(original, copy_id, by=request.user.username, now=timezone.now())
    title = copy.content.title or _("Without a title")
    messages.success(request, _("This is the copy of “%(title)s”: a draft of its own.") % {"title": title})
    return redirect("cms_draft", copy.id)


def copy_of(original: Deal | Draft, copy_id: str, *, by: str, now: datetime) -> Draft:
    """Make a draft with the content of a deal or draft: without its stock, and without an expiry that has passed.

    1 transaction.
    """
    content = replace(original.content, stock=None)
    if content.expires_at and content.expires_at <= now:
        content = replace(content, expires_at=None)
    brand = Brand(original.card.brand, original.card.brand_name) if content.brand else None
    return drafts.create(content, draft_id=copy_id, brand=brand, by=by, now=now)
