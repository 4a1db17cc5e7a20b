"""Where an editor picks deals from to feature them: the latest, those to come, a brand's or a category's.

Words narrow each of these down, as one types.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from django.utils.translation import gettext as _

from cms.shared.requests import EditorRequest
from dealsite.data.catalogue import lists
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.display_names import brand_slug, category_names
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.table.errors import BadCursor, Unavailable
from dealsite.search.lists import NOT_READY, find_deals, page_number, words_in


@dataclass
class Picker:
    """One page of deals to pick from; `after` and `before` lead on, `note` says why there is none."""

    source: str = "latest"
    brand: str = ""
    words: str = ""
    place: str = ""
    cards: list[DealCard] = field(default_factory=list)
    after: str = ""
    before: str = ""
    note: str = ""

    @classmethod
    def of(cls, request: EditorRequest, *, now: datetime, answers: bool = True) -> Self:
        """Return what the form asks for. 1 query, or as many as there are buckets to read."""
        asked = request.POST if request.method == "POST" else request.GET
        picker = cls(source=asked.get("source", "latest"), brand=asked.get("brand", "")[:100].strip())
        picker.words = words_in(asked.get("words", ""))
        action, _colon, cursor = asked.get("do", "").partition(":")
        # A change of source starts at its first page; every other button leaves the picker where it was.
        picker.place = f"{action}:{cursor}" if action in ("after", "before") else asked.get("place", "")
        if action == "pick" or not picker.place:
            picker.place = ""
        if answers:
            picker.read(now)
        else:
            picker.note = _("The deals to choose from cannot be shown just now.")
        return picker

    @property
    def sources(self) -> dict[str, Any]:
        own = {"latest": _("Latest deals"), "scheduled": _("Scheduled deals"), "brand": _("Deals of a brand")}
        return own | category_names.names()

    def read(self, now: datetime) -> None:
        slug = brand_slug(self.brand)
        chosen = DealFilter(
            "scheduled" if self.source == "scheduled" else "live",
            slug if self.source == "brand" else "",
            self.source if self.source in CATEGORIES else "",
            self.words,
        )
        if self.source == "brand" and not slug:
            self.note = _("Enter the name of a brand.")
            return
        if self.words:
            self._find(chosen, now)
            return
        direction, _colon, cursor = self.place.partition(":")
        after, before = (cursor if direction == way else None for way in ("after", "before"))
        try:
            page = lists.cms_list(chosen, now=now, after=after, before=before)
        except BadCursor:
            self.place, self.note = "", _("This page of the list is gone. Choose again.")
            return
        except Unavailable as error:
            self.note = str(error)
            return
        self.cards, self.after, self.before = page.cards, page.after or "", page.before or ""
        if not self.cards:
            self.note = _("There are no such deals.")

    def _find(self, chosen: DealFilter, now: datetime) -> None:
        """Find deals by their words; the place is the number of a page, and any other is the first."""
        number = page_number(self.place.partition(":")[2]) or 1
        found = find_deals(chosen, page=number, now=now)
        self.cards = found.cards
        self.after = str(number + 1) if number < found.pages else ""
        self.before = str(number - 1) if number > 1 else ""
        if not found.ready:
            self.note = str(NOT_READY)
        elif not found.cards:
            self.note = _("No such deals hold these words.")
