"""What a visitor asks of the search page, as its address says it: words, filters, order and page."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data.catalogue.cards import CENT
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.content import MAX_PRICE
from dealsite.data.names import normalise, slugify
from dealsite.data.table.errors import BadCursor
from dealsite.search.finding import MOST_PAGES
from dealsite.search.question import MOST_CHARACTERS, Question

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
            brand=brand if brand and slugify(brand) == brand else "",
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
        values: dict[str, str | int] = {
            "q": self.words,
            "category": self.category,
            "brand": self.brand,
            "price_from": self.price_from,
            "price_to": self.price_to,
            "state": self.state,
            "sort": self.sort,
            "page": self.page,
        }
        values |= changed
        kept = {name: value for name, value in values.items() if value and (name, value) != ("page", 1)}
        return f"?{urlencode(kept)}"


def _amount(text: str) -> Decimal | None:
    """Return the amount that somebody typed, with a point or a comma; None for anything else."""
    if not AMOUNT.fullmatch(text):
        return None
    try:
        amount = Decimal(text.replace(",", ".")).quantize(CENT)
    except InvalidOperation:
        return None
    return amount if amount <= MAX_PRICE else None
