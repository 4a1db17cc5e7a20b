"""Search: its form as the address says it, its page, results as one types, and the few under the box of every page."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_safe

from dealsite.accounts import limits
from dealsite.accounts.requests import SiteRequest
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.entities.attributes import CENT
from dealsite.data.entities.deals import MAX_PRICE
from dealsite.data.names import is_slug, normalise
from dealsite.data.table.errors import BadCursor
from dealsite.search.finding import MOST_PAGES, SearchPage, find
from dealsite.search.question import MOST_CHARACTERS, Question
from dealsite.templatetags.design import grouped
from dealsite.web.pages import page

QUICK = 6  # deals that show under the box
QUICK_TARGET = "quick-"  # how the places for them are called
HOW = {
    "close": gettext_lazy("Some of these deals hold words that are like yours."),
    "some": gettext_lazy("No deal holds all of these words. These hold some of them."),
}
STATES = {
    "": gettext_lazy("All, expired ones last"),
    "live": gettext_lazy("Live"),
    "ending": gettext_lazy("Ending soon"),
    "expired": gettext_lazy("Expired or sold out"),
}
SORTS = {
    "": gettext_lazy("Best match"),
    "newest": gettext_lazy("Newest"),
    "price": gettext_lazy("Lowest price"),
    "discount": gettext_lazy("Highest discount"),
}
PAGE = re.compile(r"[1-9][0-9]{0,2}")
AMOUNT = re.compile(r"[0-9]{1,9}(?:[.,][0-9]{1,2})?")


@dataclass(frozen=True)
class SearchForm:
    """What stands in the form's fields, and what is wrong with it, by field."""

    words: str
    category: str
    brand: str
    price_from: str
    price_to: str
    state: str
    sort: str
    page: int
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, request: HttpRequest) -> SearchForm:
        """Return what a request asks; unknown choices are none, and a page that cannot be is a BadCursor."""
        given = request.GET
        page = given.get("page") or "1"
        if not PAGE.fullmatch(page) or int(page) > MOST_PAGES:
            raise BadCursor()
        brand, category = given.get("brand", "")[:100], given.get("category", "")
        asked = cls(
            words=normalise(given.get("q", "")[: MOST_CHARACTERS * 4])[:MOST_CHARACTERS],
            category=category if category in CATEGORIES else "",
            brand=brand if is_slug(brand) else "",
            price_from=given.get("price_from", "")[:20].strip(),
            price_to=given.get("price_to", "")[:20].strip(),
            state=given.get("state", "") if given.get("state") in STATES else "",
            sort=given.get("sort", "") if given.get("sort") in SORTS else "",
            page=int(page),
        )
        for name in ("price_from", "price_to"):
            text = getattr(asked, name)
            if text and _amount(text) is None:
                asked.errors[name] = _("Enter an amount such as 20 or 19.90.")
        low, high = _amount(asked.price_from), _amount(asked.price_to)
        if low is not None and high is not None and low > high:
            asked.errors["price_to"] = _("This must not be below the other price.")
        return asked

    @property
    def question(self) -> Question:
        """What is asked of the index; prices that are wrong filter nothing."""
        wrong = bool(self.errors)
        return Question(
            text=self.words,
            category=self.category,
            brand=self.brand,
            price_from=None if wrong else _amount(self.price_from),
            price_to=None if wrong else _amount(self.price_to),
            state=self.state,
        )

    @property
    def is_narrowed(self) -> bool:
        """Whether there is a filter to clear."""
        return any((self.category, self.brand, self.price_from, self.price_to, self.state))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked for yet."""
        return not (self.words or self.is_narrowed)

    def query(self, **changed: str | int) -> str:
        """Return the query string of this page, or of one that differs from it; what is empty is left out."""
        names = ("category", "brand", "price_from", "price_to", "state", "sort", "page")
        values = {"q": self.words, **{name: getattr(self, name) for name in names}, **changed}
        kept = {name: value for name, value in values.items() if value and (name, value) != ("page", 1)}
        return f"?{urlencode(kept)}"


def _amount(text: str) -> Decimal | None:
    """Return the amount that somebody typed, with a point or a comma; None for anything else."""
    if not AMOUNT.fullmatch(text):
        return None
    amount = Decimal(text.replace(",", ".")).quantize(CENT)
    return amount if amount <= MAX_PRICE else None


@page("none", at=("", "?q=deal+number&page=2", "?q=keybord", "?q=zzzz&price_from=x"))
@require_safe
def search(request: SiteRequest) -> HttpResponse:
    """A page of the deals that hold some words, narrowed down and sorted; for htmx its results alone."""
    asked, now = SearchForm.of(request), timezone.now()
    if not asked.is_empty:
        limits.count_use(request, "search", now=now)
    htmx = request.htmx
    if htmx and (htmx.target or "").startswith(QUICK_TARGET):
        found = find(asked.question, now=now, size=QUICK) if asked.words else SearchPage()
        context = {"asked": asked, "found": found, "now": now}
        return _answer(request, "shopping/catalogue/_quick_found.html", context)
    found = find(asked.question, now=now, sort=asked.sort, page=asked.page, narrowing=True)
    names = category_names.names()
    context = {
        "asked": asked,
        "found": found,
        "now": now,
        "note": HOW.get(found.how, "") if found.total else "",
        "states": STATES,
        "sorts": SORTS,
        "category_choices": [(slug, name, found.categories.get(slug, 0)) for slug, name in names.items()],
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
