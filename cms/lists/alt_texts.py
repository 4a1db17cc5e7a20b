"""Giving a picture its words where it is listed without; what was typed comes back where it cannot be taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.lists.quick_actions import back, back_address, say_changed
from cms.shared.requests import EditorRequest, editor_action
from dealsite.accounts.decorators import sent_again
from dealsite.data.catalogue import brands, deals, drafts
from dealsite.data.catalogue.content import ALT_CHARACTERS, UNSTORABLE, DealContent, text_problems
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.table.errors import Conflict, Invalid, NotFound, VersionConflict

CHANGED = gettext_lazy(
    "Somebody changed this meanwhile. See whether your words still fit, and save them again."
)
Thing = TypeVar("Thing", Deal, Draft)


@editor_action
@sent_again
def describe_deal(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Give a deal's picture its alt text."""

    def save(stored: Deal, content: DealContent) -> None:
        now, by = timezone.now(), request.user.username
        brand = brands.get(content.brand)
        deals.edit(stored, content, version=stored.version, brand=brand, by=by, now=now)

    return _describe(request, lambda: deals.get(deal_id), save)


@editor_action
@sent_again
def describe_draft(request: EditorRequest, draft_id: str) -> HttpResponse:
    """Give a draft's picture its alt text."""

    def save(stored: Draft, content: DealContent) -> None:
        now, by = timezone.now(), request.user.username
        brand = brands.get(content.brand) if content.brand else None
        drafts.save(stored, content, version=stored.version, brand=brand, by=by, now=now)

    return _describe(request, lambda: drafts.get(draft_id), save)


def _describe(
    request: EditorRequest, read: Callable[[], Thing], save: Callable[[Thing, DealContent], None]
) -> HttpResponse:
    """Store the words that were typed for a picture; where they cannot be taken, a page gives them back."""
    stored = read()
    alt = " ".join(request.POST.get("alt", "")[: ALT_CHARACTERS * 4].split())
    if stored.content.picture is None:
        say_changed(request)
    elif stored.content.picture.alt == alt and alt:
        messages.info(request, _("This was done already."))
    elif request.POST.get("version") != str(stored.version):
        return _words_page(request, stored, alt, CHANGED, status=409)
    else:
        described = replace(stored.content, picture=replace(stored.content.picture, alt=alt))
        problem = text_problems(described).get("picture_alt")
        if not alt or UNSTORABLE.search(alt):
            problem = _("Describe the picture for those who cannot see it.")
        if problem:
            return _words_page(request, stored, alt, problem, status=422)
        try:
            save(stored, described)
        except VersionConflict:
            return _words_page(request, read(), alt, CHANGED, status=409)
        except (Conflict, Invalid, NotFound) as error:
            return _words_page(request, stored, alt, str(error), status=error.status)
        messages.success(request, _("The alt text is saved."))
    return back(request)


def _words_page(
    request: EditorRequest, stored: Deal | Draft, alt: str, trouble: str | Promise, *, status: int
) -> HttpResponse:
    """A picture as it is now, with the words that were typed for it."""
    is_deal = isinstance(stored, Deal)
    page = {
        "stored": stored,
        "state": stored.card.state(timezone.now()) if is_deal else "draft",
        "address": reverse("cms_describe_deal" if is_deal else "cms_describe_draft", args=[stored.id]),
        "leave": back_address(request),
        "back": request.POST.get("back", ""),
        "alt": UNSTORABLE.sub("", alt),
        "most": ALT_CHARACTERS,
        "trouble": trouble,
    }
    return render(request, "cms/lists/describe.html", page, status=status)
