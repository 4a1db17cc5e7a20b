"""Search: its form as the address says it, its page, results as one types, and the few under the box of every page."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from dealsite.accounts import limits
from dealsite.accounts.requests import SiteRequest
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.entities.attributes import CENT
from dealsite.data.entities.deals import CODE, HERE, MAX_PRICE, SHOP
from dealsite.data.names import is_slug, normalise
from dealsite.data.table.errors import BadCursor
from dealsite.search.finding import MOST_PAGES, REDUCTIONS, SearchHit, SearchPage, find, related
from dealsite.search.question import MOST_CHARACTERS, Question
from dealsite.text.writing import grouped, money
from dealsite.web.pages import everyone

QUICK = 6  # deals that show under the box
QUICK_TARGET = "quick-"  # how the places for them are called
NEW = 10  # deals that show where nothing is found
BRANDS_SHOWN = 5  # at once; the others unfold
MOST_CHOSEN = 20  # brands
SORTS = {
    "": gettext_lazy("Best match"),
    "price": gettext_lazy("Lowest price"),
    "newest": gettext_lazy("Newest"),
    "ending": gettext_lazy("Ending soon"),
    "discount": gettext_lazy("Most reduced"),
}
SELLERS = {
    HERE: gettext_lazy("Sold here"),
    SHOP: gettext_lazy("At a shop"),
    CODE: gettext_lazy("At a shop, with a code"),
}
PAGE = re.compile(r"[1-9][0-9]{0,2}")
AMOUNT = re.compile(r"[0-9]{1,9}(?:[.,][0-9]{1,2})?")


class Choice(NamedTuple):
    """One choice of a facet, and how many deals it leaves."""

    value: str
    label: str
    number: int
    is_chosen: bool


class Facet(NamedTuple):
    """One of the ways to narrow results down; its name is the address's. `more` unfold."""

    name: str
    legend: str
    choices: list[Choice]
    more: list[Choice]


@dataclass(frozen=True)
class SearchForm:
    """What the address asks for, and what is wrong with it, by field."""

    words: str
    sold: tuple[str, ...]
    categories: tuple[str, ...]
    brands: tuple[str, ...]
    price_from: str
    price_to: str
    off: str
    expired: str
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
        brands = [brand for brand in given.getlist("brand")[:MOST_CHOSEN] if is_slug(brand)]
        asked = cls(
            words=normalise(given.get("q", "")[: MOST_CHARACTERS * 4])[:MOST_CHARACTERS],
            sold=_known(given.getlist("sold"), SELLERS),
            categories=_known(given.getlist("category"), CATEGORIES),
            brands=tuple(dict.fromkeys(brands)),
            price_from=given.get("price_from", "")[:20].strip(),
            price_to=given.get("price_to", "")[:20].strip(),
            off=next((str(low) for low in REDUCTIONS if given.get("off") == str(low)), ""),
            expired="hide" if given.get("expired") == "hide" else "",
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
            categories=self.categories,
            brands=self.brands,
            sold=self.sold,
            off_at_least=int(self.off or 0),
            price_from=None if wrong else _amount(self.price_from),
            price_to=None if wrong else _amount(self.price_to),
            state="live" if self.expired else "",
        )

    @property
    def is_narrowed(self) -> bool:
        """Whether there is a filter to clear."""
        return any((self.sold, self.categories, self.brands, self.price_from, self.price_to, self.off))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked for yet."""
        return not (self.words or self.is_narrowed)

    def fields(self, **changed: object) -> list[tuple[str, str]]:
        """Return the fields of the first page of this address, or of one that differs from it; none is empty."""
        values: dict[str, Any] = {
            "q": self.words,
            "sold": self.sold,
            "category": self.categories,
            "brand": self.brands,
            "price_from": self.price_from,
            "price_to": self.price_to,
            "off": self.off,
            "expired": self.expired,
            "sort": self.sort,
        } | changed
        listed = ((name, one if isinstance(one, tuple) else (one,)) for name, one in values.items())
        return [(name, str(value)) for name, some in listed for value in some if value]

    def query(self, **changed: object) -> str:
        """Return the query string of the same."""
        return f"?{urlencode(self.fields(**changed))}"

    def page_query(self, page: int) -> str:
        """Return the query string of one of the pages."""
        return self.query(page=page if page > 1 else "")

    def chosen(self) -> list[tuple[str, str]]:
        """Return each filter in words, and the query string without it."""
        found = [
            (label, self.query(**{name: tuple(other for other in values if other != value)}))
            for name, values, names in (
                ("sold", self.sold, SELLERS),
                ("category", self.categories, category_names.names()),
                ("brand", self.brands, brand_names.names(self.brands)),
            )
            for value in values
            for label in [str(names.get(value, value))]
        ]
        if not self.errors:
            for name, words in (("price_from", _("from %(price)s")), ("price_to", _("up to %(price)s"))):
                if (amount := _amount(getattr(self, name))) is not None:
                    found.append((words % {"price": money(amount)}, self.query(**{name: ""})))
        if self.off:
            words = _("reduced by at least %(percent)s") % {"percent": _percent(self.off)}
            found.append((words, self.query(off="")))
        return found

    def facets(self, found: SearchPage) -> list[Facet]:
        """Return the ways to narrow results down, with what is left of them."""
        counts = {slug: number for slug, (name, number) in found.brands.items()}
        names = brand_names.names(self.brands) | {slug: name for slug, (name, number) in found.brands.items()}
        by_brand = _choices(names, counts, self.brands)
        by_brand.sort(key=lambda one: (not one.is_chosen, -one.number, one.label.casefold()))
        shown = max(BRANDS_SHOWN, len(self.brands))
        off = {str(low): _percent(low) for low in REDUCTIONS}
        reduced = {str(low): number for low, number in found.reductions.items()}
        return [
            Facet("sold", _("Who sells"), _choices(SELLERS, found.sold, self.sold), []),
            Facet(
                "category",
                _("Category"),
                _choices(category_names.names(), found.categories, self.categories),
                [],
            ),
            Facet("brand", _("Brand"), by_brand[:shown], by_brand[shown:]),
            Facet("off", _("Reduced by, at least"), _choices(off, reduced, (self.off,)), []),
        ]


def _percent(low: int | str) -> str:
    # Translators: by how much a price is reduced at least.
    return _("%(percent)s%%") % {"percent": low}


def _known(given: list[str], known: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(name for name in known if name in given)


def _choices(names: Mapping[str, Any], counts: Mapping[str, int], chosen: tuple[str, ...]) -> list[Choice]:
    """Return the choices that leave something, and those that are chosen."""
    return [
        Choice(value, str(label), counts.get(value, 0), value in chosen)
        for value, label in names.items()
        if counts.get(value) or value in chosen
    ]


def _amount(text: str) -> Decimal | None:
    """Return the amount that somebody typed, with a point or a comma; None for anything else."""
    if not AMOUNT.fullmatch(text):
        return None
    amount = Decimal(text.replace(",", ".")).quantize(CENT)
    return amount if amount <= MAX_PRICE else None


@everyone.page("none", at=("", "?q=deal+number&page=2", "?q=keybord", "?q=zzzz&price_from=x"))
def search(request: SiteRequest) -> HttpResponse:
    """A page of the deals that hold some words, narrowed down and sorted; for htmx its results alone."""
    asked, now = SearchForm.of(request), timezone.now()
    if not asked.is_empty:
        limits.count_use(request, "search", now=now)
    htmx = request.htmx
    if htmx and (htmx.target or "").startswith(QUICK_TARGET):
        found = find(asked.question, now=now, size=QUICK) if asked.words else SearchPage()
        context = {"asked": asked, "found": found, "cards": found.cards[:QUICK]}
        return _answer(request, "shopping/catalogue/_quick_found.html", context)
    found = find(asked.question, now=now, sort=asked.sort, page=asked.page, narrowing=True)
    context = {
        "asked": asked,
        "found": found,
        "now": now,
        "sorts": SORTS,
        "beside": found.total or asked.is_narrowed,
        "chosen": asked.chosen(),
        "clear": asked.query(sold="", category="", brand="", price_from="", price_to="", off=""),
        "hiding": asked.query(expired="" if asked.expired else "hide"),
        "meant": asked.query(q=found.spelled),
        "facets": asked.facets(found),
        "before": asked.page_query(min(asked.page - 1, found.pages))
        if asked.page > 1 and found.pages
        else "",
        "after": asked.page_query(asked.page + 1) if asked.page < found.pages else "",
    }
    if found.ready and not found.total and asked.page == 1:
        context |= _instead(found, now)
    if not htmx:
        return _answer(request, "shopping/catalogue/search.html", context)
    response = _answer(request, "shopping/catalogue/_found.html", context)
    response["HX-Replace-Url"] = reverse("search") + asked.page_query(asked.page).rstrip("?")
    return response


def _instead(found: SearchPage, now: datetime) -> dict[str, Any]:
    """What shows where nothing is found: deals like one that is over, and new ones of the category it may be in."""
    like = related(found.over[0].card, now=now, size=NEW) if found.over and not found.near else []
    seen = Counter(card.category for card in found.cards)
    likely = seen.most_common(1)[0][0] if seen else ""
    newest = find(Question(categories=(likely,) if likely else (), state="live"), now=now, size=NEW)
    return {
        "like": [SearchHit(card) for card in like],
        "likely": likely,
        "likely_name": category_names.names().get(likely, likely),
        "newest": newest.hits,
    }


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
    if found.total:
        words = ngettext("%(count)s live deal found.", "%(count)s live deals found.", found.total)
        return words % {"count": grouped(found.total)}
    if found.near:
        return _("No live deal found, but %(count)s near.") % {"count": len(found.near)}
    return _("No live deal found.")
