"""A page of the shop as it will be with a featured list that is not set yet: for editors only, and kept nowhere."""

from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from cms.featured.arrangement import Arrangement
from cms.featured.featured_page import PlanForm, check_page, plan_of
from cms.shared.requests import EditorRequest, editor_form
from dealsite.data.catalogue import deals, featured, feeds
from dealsite.data.catalogue.cards import EDITORS_CHOICE, FRONT, DealCard
from dealsite.data.catalogue.featured import PAGES
from dealsite.data.catalogue.relations import RelationState
from dealsite.web.pages import open_while


@editor_form("2 batch gets + 1 get + 2 queries", at="?plan={plan}")
@open_while("read-only")
def preview_featured(request: EditorRequest, page_id: str) -> HttpResponse:
    """The shop's page with the list in the form (by POST), of a plan as it will be at its time, or of now.

    What was not published by then is not on it, as shoppers will not see it either.
    """
    check_page(page_id)
    now = timezone.now()
    ids, at = _wanted(request, page_id, now)
    found = deals.get_many(ids)
    cards = [found[deal_id].card for deal_id in ids if deal_id in found]
    visible = [card for card in cards if card.is_visible(at)]
    template, page = _shop_page(page_id, visible, at)
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
    """Return the ids that the page is to show, and the time of which it is shown."""
    if request.method == "POST":
        form = PlanForm(request.POST)
        at = form.cleaned_data["at"] if form.is_valid() else now
        return Arrangement.posted(request.POST).ids, max(at, now)
    if "plan" not in request.GET:
        return featured.get(page_id).ids, now
    plan = plan_of(page_id, request.GET["plan"])
    return plan.ids, max(plan.at, now)


def _shop_page(page_id: str, cards: list[DealCard], at: datetime) -> tuple[str, dict[str, Any]]:
    """Return the template of a page of the shop and what it shows. 1 batch get and a query for each bucket."""
    if page_id == EDITORS_CHOICE:
        return "shopping/catalogue/editors_choice.html", {"featured": cards}
    if page_id == FRONT:
        _featured, page = feeds.front_page(now=at)
        context = {"featured": cards, "page": page, "feed": reverse("front_page_feed")}
        return "shopping/catalogue/front_page.html", context
    category, _featured, page = feeds.category_page(page_id, now=at)
    counts = category.counts
    likes, watches = (counts.likes, counts.watches) if counts else (0, 0)
    return "shopping/catalogue/deals_of.html", {
        "noun": category,
        "relation_state": RelationState("category", page_id, likes, watches),
        "featured": cards,
        "page": page,
        "feed": reverse("category_feed", args=[page_id]),
        "trail": [(reverse("front_page"), _("Deals")), ("", category.name)],
    }
