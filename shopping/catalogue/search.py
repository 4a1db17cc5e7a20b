"""Looking for deals: the search page, its results as one types, and the few that show under the box of every page."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_safe

from dealsite.accounts.requests import SiteRequest
from dealsite.data.catalogue.display_names import category_names
from dealsite.search.finding import SearchPage, find
from dealsite.templatetags.design import grouped
from dealsite.web.pages import page
from shopping.catalogue.search_form import SORTS, STATES, SearchForm

QUICK = 6  # deals that show under the box
QUICK_TARGET = "quick-"  # how the places for them are called
HOW = {
    "close": gettext_lazy("Some of these deals hold words that are like yours."),
    "some": gettext_lazy("No deal holds all of these words. These hold some of them."),
}


@page("none", at=("", "?q=deal+number&page=2", "?q=keybord", "?q=zzzz&price_from=x"))
@require_safe
def search(request: SiteRequest) -> HttpResponse:
    """A page of the deals that hold some words, narrowed down and sorted; for htmx its results alone."""
    asked, now = SearchForm.of(request), timezone.now()
    htmx = request.htmx
    quick = bool(htmx) and str(getattr(htmx, "target", "") or "").startswith(QUICK_TARGET)
    if quick:
        found = find(asked.question, now=now, size=QUICK) if asked.words else SearchPage()
        return _answer(
            request, "shopping/catalogue/_quick_found.html", {"asked": asked, "found": found, "now": now}
        )
    found = find(asked.question, now=now, sort=asked.sort, page=asked.page, narrowing=True)
    context = {
        "asked": asked,
        "found": found,
        "now": now,
        "note": HOW.get(found.how, "") if found.total else "",
        "states": STATES,
        "sorts": SORTS,
        "category_choices": [
            (slug, name, found.categories.get(slug, 0)) for slug, name in category_names.names().items()
        ],
        "brand_known": any(slug == asked.brand for slug, *_ in found.brands),
        "before": asked.query(page=min(asked.page - 1, found.pages))
        if asked.page > 1 and found.pages
        else "",
        "after": asked.query(page=asked.page + 1) if asked.page < found.pages else "",
        "clear": asked.query(category="", brand="", price_from="", price_to="", state="", page=1),
    }
    if not htmx:
        return _answer(request, "shopping/catalogue/search.html", context)
    response = _answer(request, "shopping/catalogue/_found.html", context)
    response["HX-Replace-Url"] = reverse("search") + asked.query().rstrip("?")
    return response


def _answer(request: SiteRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    response = render(request, template, context)
    if request.htmx:
        response["HX-Trigger"] = json.dumps({"announce": {"text": _words_for(context["found"])}})
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    return response


def _words_for(found: SearchPage) -> str:
    """What screen readers hear when results come."""
    if not found.ready:
        return _("Search is not ready.")
    if not found.total:
        return _("No deals found.")
    words = ngettext("%(count)s deal found.", "%(count)s deals found.", found.total)
    return words % {"count": grouped(found.total)}
