"""A page of the shop as it will be with a featured list that is not set yet: for editors only, and kept nowhere."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from cms.featured.arrangement import Arrangement
from cms.featured.featured_page import PlanForm, plan_of
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.catalogue import deals, featured, feeds
from dealsite.data.catalogue.cards import EDITORS_CHOICE, FRONT, DealCard
from dealsite.data.catalogue.featured import PAGES
from dealsite.data.catalogue.relations import RelationState
from dealsite.data.table.errors import NotFound
from dealsite.web.pages import page


@page("1 get + 2 batch gets + d queries", at="?plan={plan}")
@role("editor")
@require_http_methods(["GET", "HEAD", "POST"])
def preview_featured(request: EditorRequest, page_id: str) -> HttpResponse:
    """The shop's page with the list in the form (by POST), of a plan as it will be at its time, or of now.

    What was not published by then is not on it, as shoppers will not see it either.
    """
    if page_id not in PAGES:
        raise NotFound(_("There is no such page."))
    now = timezone.now()
    ids, at = _wanted(request, page_id, now)
    found = deals.get_many(ids)
    cards = [found[deal_id].card for deal_id in ids if deal_id in found]
    visible = [card for card in cards if card.is_visible(at)]
    template, page = _shown(page_id, visible, at)
    page |= {
        "template": template,
        "first": True,
        "now": at,
        "is_later": at > now,
        "is_saved": request.method != "POST",
        "left_out": len(ids) - len(visible),
        "page_title": PAGES[page_id],
        "back": reverse("cms_featured_page", args=[page_id]),
    }
    return render(request, "cms/featured/featured_preview.html", page)


def _wanted(request: EditorRequest, page_id: str, now: datetime) -> tuple[list[str], datetime]:
    """Return the ids that the page is to show, and the time at which it is looked at."""
    if request.method == "POST":
        form = PlanForm(request.POST)
        at = form.cleaned_data["at"] if form.is_valid() else now
        return Arrangement.posted(request.POST).ids, max(at, now)
    if "plan" not in request.GET:
        return featured.get(page_id).ids, now
    plan = plan_of(page_id, request.GET["plan"])
    return plan.ids, max(plan.at, now)


def _shown(page_id: str, cards: list[DealCard], at: datetime) -> tuple[str, dict[str, Any]]:
    """Return the template of a page of the shop and what it shows. 1 batch get + d queries."""
    if page_id == EDITORS_CHOICE:
        return "shopping/catalogue/editors_choice.html", {"featured": cards}
    if page_id == FRONT:
        _featured, page = feeds.front_page(now=at)
        return "shopping/catalogue/front_page.html", {
            "featured": cards,
            "page": page,
            "feed": reverse("front_page_feed"),
        }
    category, _featured, page = feeds.category_page(page_id, now=at)
    return "shopping/catalogue/category.html", {
        "category": category,
        "relation_state": RelationState("category", page_id, *_counted(category)),
        "featured": cards,
        "page": page,
        "feed": reverse("category_feed", args=[page_id]),
        "trail": [(reverse("front_page"), _("Deals")), ("", category.name)],
    }


def _counted(category: Any) -> tuple[int, int]:
    counts = category.counts
    return (counts.likes, counts.watches) if counts else (0, 0)
