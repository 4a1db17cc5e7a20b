"""The command palette: every page of the CMS, and deals, drafts and brands by name, a few keys away."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from cms.lists.deal_list import deal_rows, id_in, query
from cms.lists.search import find_deals, words_in
from cms.shared.navigation import Place, open_to
from cms.shared.requests import EditorRequest
from cms.taxonomy.named_brands import brands_like
from dealsite.accounts.decorators import role
from dealsite.data.catalogue.deal_lists import DealFilter
from dealsite.data.names import slugify
from dealsite.web.pages import page

MOST_SHOWN = 5  # of deals, of drafts and of brands


@dataclass(frozen=True)
class Choice:
    """Something to go to; `note` tells it from others of the same name."""

    title: str
    address: str
    icon: str
    note: str = ""


@dataclass(frozen=True)
class Group:
    """Choices of one sort."""

    title: str
    choices: list[Choice]


@page("1 query", at="?q=keyboard")
@role("editor", "back office")
@require_safe
@vary_on_headers("HX-Request")
def palette(request: EditorRequest) -> HttpResponse:
    """What goes with the words typed so far, as a page or as the options of the dialog; all pages for no words."""
    words = words_in(request.GET.get("q", ""))
    places = [_choice(place) for place in open_to(request.user) if _fits(place, words)]
    groups = [Group(_("Pages"), places)]
    if words and request.user.has_role("editor"):
        groups += [Group(_("Deals"), _deals(words, "all")), Group(_("Drafts"), _deals(words, "draft"))]
        groups += [Group(_("Brands"), _brands(words))]
    context: dict[str, Any] = {"groups": [group for group in groups if group.choices], "words": words}
    context["number"] = sum(len(group.choices) for group in groups)
    template = "cms/home/_palette_found.html" if request.htmx else "cms/home/palette.html"
    return render(request, template, context)


def _fits(place: Place, words: str) -> bool:
    """Tell whether each word begins one of the place's."""
    known = f"{place.title} {place.words}".casefold().split()
    return all(any(one.startswith(word) for one in known) for word in words.casefold().split())


def _choice(place: Place) -> Choice:
    return Choice(str(place.title), reverse(place.url_name), place.icon, place.shortcut)


def _deals(words: str, state: str) -> list[Choice]:
    """Return the deals or drafts that fit best; one alone for an id. No request to the table."""
    if deal_id := id_in(words):
        address = reverse("cms_find_deal") + query({"q": deal_id})
        return [Choice(_("Open the deal with this id"), address, "tag", deal_id)] if state == "all" else []
    now = timezone.now()
    found = find_deals(DealFilter(state, words=words), now=now).cards[:MOST_SHOWN]
    icon = "file-pen" if state == "draft" else "tag"
    return [
        Choice(row.card.title or _("Draft without a title"), row.address, icon, row.card.brand_name)
        for row in deal_rows(found, state, now)
    ]


def _brands(words: str) -> list[Choice]:
    """Return the brands that begin so, then those that hold it. 1 query."""
    found = brands_like(slugify(words))[:MOST_SHOWN]
    return [Choice(brand.name, reverse("cms_brand", args=[brand.slug]), "store") for brand in found]
