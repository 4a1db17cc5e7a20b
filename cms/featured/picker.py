"""Where an editor picks deals from to feature them: what search finds, as they type, choose and sort."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.lists import deal_list
from cms.lists.deal_list import id_in
from dealsite.data.catalogue import deals
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.display_names import brand_slug
from dealsite.data.catalogue.lists import DealFilter
from dealsite.search.finding import known_of
from dealsite.search.lists import NOT_READY, find_deals, page_number, words_in
from dealsite.text.lazy import Text

STATES = {name: deal_list.STATES[name] for name in ("live", "ending", "scheduled")}
ORDERS = {
    "likes": gettext_lazy("Most liked"),
    "newest": gettext_lazy("Newest"),
    "discount": gettext_lazy("Biggest discount"),
    "ending": gettext_lazy("Ending first"),
}


@dataclass
class Picker:
    """One page of deals to pick from, each with its likes; `note` says why there is none."""

    words: str = ""
    state: str = "live"
    order: str = "likes"
    brand: str = ""
    category: str = ""
    page: int = 1
    found: list[tuple[DealCard, int]] = field(default_factory=list)
    after: int = 0
    before: int = 0
    note: Text = ""

    @classmethod
    def of(cls, asked: QueryDict, *, now: datetime) -> Self:
        """Return what a form asks for. No requests; 1 batch get for an id or a link."""
        state, order, category = (asked.get(name, "") for name in ("state", "sort", "category"))
        picker = cls(
            words_in(asked.get("words", "")),
            state if state in STATES else "live",
            order if order in ORDERS else "likes",
            asked.get("brand", "")[:100].strip(),
            category if category in CATEGORIES else "",
        )
        action, _colon, number = asked.get("do", "").partition(":")
        # What is asked for anew starts at its first page; every other button leaves the picker where it was.
        if action != "pick":
            picker.page = page_number(number if action == "page" else asked.get("page", "")) or 1
        picker.read(now)
        return picker

    @property
    def is_narrowed(self) -> bool:
        return bool(self.brand or self.category)

    def read(self, now: datetime) -> None:
        if deal_id := id_in(self.words):
            deal = deals.get_many([deal_id]).get(deal_id)
            self.found = [(deal.card, 0)] if deal else []
            self.note = "" if deal else _("This deal does not exist (any more).")
            return
        chosen = DealFilter(self.state, brand_slug(self.brand), self.category, self.words)
        found = find_deals(chosen, page=self.page, now=now, sort="" if self.words else self.order)
        known = known_of(card.id for card in found.cards)
        self.found = [(card, known[card.id].likes if card.id in known else 0) for card in found.cards]
        self.after = self.page + 1 if self.page < found.pages else 0
        self.before = self.page - 1
        if not found.ready:
            self.note = NOT_READY
        elif not found.cards:
            self.note = _("No such deals hold these words.") if self.words else _("There are no such deals.")
