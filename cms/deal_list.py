"""The list of deals and drafts, by state, brand, category and words; and finding one by its id or link."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from cms.requests import EditorRequest
from cms.search import NOT_READY, find_deals, page_number, words_in
from dealsite.accounts.decorators import role
from dealsite.data import category_names, deal_lists, deals, drafts
from dealsite.data.cards import DealCard
from dealsite.data.categories import CATEGORIES
from dealsite.data.errors import BadCursor, NotFound
from dealsite.data.feeds import Page
from dealsite.data.ids import slugify
from dealsite.search.finding import Found

STATES = {
    "all": "All deals",
    "draft": "Drafts",
    "scheduled": "Scheduled",
    "live": "Live",
    "ending": "Ending soon",
    "expired": "Expired",
}
ID_PATTERN = re.compile(r"(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])", re.IGNORECASE)


@role("editor")
@require_safe
@vary_on_headers("HX-Request")
def deal_list(request: EditorRequest) -> HttpResponse:
    """One page of deals, newest first; of those that hold some words, by how well they fit."""
    state = request.GET.get("state", "all")
    if state not in STATES:
        raise NotFound("There is no such list of deals.")
    brand = slugify(request.GET.get("brand", "")[:200])
    category = request.GET.get("category", "")
    if category and category not in CATEGORIES:
        raise NotFound("There is no such category.")
    words = words_in(request.GET.get("q", ""))
    if words:
        return found_deals(request, words, state=state, brand=brand, category=category)
    now, not_found = timezone.now(), ""
    try:
        page = deal_lists.cms_list(
            state=state,
            brand=brand,
            category=category,
            now=now,
            after=request.GET.get("after") or None,
            before=request.GET.get("before") or None,
        )
    except NotFound:
        page, not_found = Page([]), f"There is no brand “{request.GET.get('brand', '')[:80]}”."
    chosen = {"state": state, "brand": brand, "category": category}
    context: dict[str, Any] = {
        "page": page,
        "rows": rows(page.cards, state, now),
        "after": page.after and query(chosen | {"after": page.after}),
        "before": page.before and query(chosen | {"before": page.before}),
        "not_found": not_found,
    }
    return _list_page(request, chosen, context, status=404 if not_found else 200)


def found_deals(request: EditorRequest, words: str, *, state: str, brand: str, category: str) -> HttpResponse:
    """One page of the deals or drafts of a state that hold some words, those that fit best first."""
    if id_in(words) and not request.htmx:
        return redirect(reverse("cms_find_deal") + query({"q": words}))
    number = page_number(request.GET.get("page", "1"))
    if not number:
        raise BadCursor()
    now = timezone.now()
    found = find_deals(words, state=state, now=now, brand=brand, category=category, page=number)
    chosen = {"q": words, "state": state, "brand": brand, "category": category}
    empty = f"Nothing here holds the words “{words}”."
    if id_in(words):
        found, empty = Found(), "Press Enter to open the deal with this id."
    context: dict[str, Any] = {
        "words": words,
        "rows": rows(found.cards, state, now),
        "after": query(chosen | {"page": str(number + 1)}) if number < found.pages else "",
        "before": query(chosen | {"page": str(number - 1)}) if number > 1 else "",
        "empty": empty if found.ready else NOT_READY,
        "note": f"{found.total:,} found" if found.total else "",
    }
    return _list_page(request, chosen, context)


def _list_page(
    request: EditorRequest, chosen: dict[str, str], context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """The whole page, or for htmx the list and the tabs over it."""
    context |= {
        "state": chosen["state"],
        "category": chosen["category"],
        "brand": request.GET.get("brand", "")[:80],
        "states": [(name, label, query(chosen | {"state": name})) for name, label in STATES.items()],
        "category_choices": category_names.names(),
    }
    if not request.htmx:
        return render(request, "cms/deals.html", context, status=status)
    response = render(request, "cms/_deals_found.html", context, status=status)
    response["HX-Replace-Url"] = request.path + query(chosen)
    return response


def rows(cards: list[DealCard], listed: str, now: datetime) -> list[tuple[DealCard, str, str]]:
    """Return each card with its state now and the address of its form; those of a list of drafts are drafts."""
    if listed == "draft":
        return [(card, "draft", reverse("cms_draft", args=[card.id])) for card in cards]
    return [(card, card.state(now), reverse("cms_deal", args=[card.id])) for card in cards]


def query(values: dict[str, str]) -> str:
    """Return a query string of what is set."""
    return "?" + urlencode({name: value for name, value in values.items() if value})


@role("editor")
@require_safe
def find_deal(request: EditorRequest) -> HttpResponse:
    """Lead to the deal or draft whose id or link was pasted."""
    text = request.GET.get("q", "")[:2000].strip()
    deal_id = id_in(text)
    if deal_id:
        if deal_id in deals.get_many([deal_id]):
            return redirect("cms_deal", deal_id)
        try:
            drafts.get(deal_id)
        except NotFound:
            pass
        else:
            return redirect("cms_draft", deal_id)
    return render(
        request, "cms/find_deal.html", {"text": text, "deal_id": deal_id}, status=404 if text else 200
    )


def id_in(text: str) -> str:
    """Return the id of a deal or draft in a pasted id or link, '' if there is none."""
    found = ID_PATTERN.search(text)
    return found.group().upper() if found else ""
