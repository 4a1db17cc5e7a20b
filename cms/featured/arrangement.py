"""A featured list while an editor works on it: it lives in the form alone until it is saved.

Each button sends the whole list: `deal` (the ids in order), `title` (beside each, so that the list can
be shown even when the table does not answer), `position` (the numbers as typed), `replaced` (the deal in whose
place the next one goes) and `do`, what to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Self

from django.http import QueryDict
from django.utils.translation import gettext as _

from dealsite.data.catalogue.cards import DealCard
from dealsite.data.table.ids import is_ulid
from dealsite.text.digits import number_in

MOST_ROWS = 60  # more than a page may feature, so that an editor can add first and remove then


@dataclass
class Arrangement:
    """The ids in order with their titles; `said` tells what was done, `moved` is the deal it was done to.

    `replaced` is the deal in whose place the next one goes.
    """

    ids: list[str] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    said: str = ""
    moved: str = ""
    replaced: str = ""

    @classmethod
    def of(cls, cards: list[DealCard]) -> Self:
        return cls([card.id for card in cards], {card.id: card.title for card in cards})

    @classmethod
    def posted(cls, data: QueryDict) -> Self:
        """Return the list as it was sent, with typed position numbers carried out."""
        sent = data.getlist("deal")
        titles = dict(zip(sent, data.getlist("title"), strict=False))
        ids = dict.fromkeys(deal_id for deal_id in sent if is_ulid(deal_id))
        arrangement = cls(list(ids)[:MOST_ROWS], titles)
        arrangement.renumber(dict(zip(sent, data.getlist("position"), strict=False)))
        arrangement.replace(data.get("replaced", ""))
        return arrangement

    def place(self, deal_id: str) -> int:
        return self.ids.index(deal_id) + 1

    def title(self, deal_id: str) -> str:
        return self.titles.get(deal_id) or deal_id

    def renumber(self, positions: dict[str, str]) -> None:
        """Put each deal whose number was changed at that place; a number that is none changes nothing."""
        wanted = []
        for place, deal_id in enumerate(self.ids, start=1):
            typed = positions.get(deal_id, str(place)).strip()
            if typed == str(place):
                continue
            number = number_in(typed, most=5)
            if number is None:
                said = _("“%(typed)s” is no position; “%(title)s” stays where it was.")
                self.said = said % {"typed": typed[:20], "title": self.title(deal_id)}
                continue
            wanted.append((number, deal_id))
        for _place, deal_id in wanted:
            self.ids.remove(deal_id)
        for place, deal_id in sorted(wanted):
            self._insert(deal_id, place - 1)

    def move(self, deal_id: str, by: int) -> None:
        """Move a deal up (-1) or down (+1); at the end it stays."""
        if deal_id not in self.ids:
            return
        place = self.ids.index(deal_id)
        self.ids.remove(deal_id)
        self._insert(deal_id, max(place + by, 0))

    def _insert(self, deal_id: str, index: int) -> None:
        self.ids.insert(max(index, 0), deal_id)
        self.moved = deal_id
        said = _("“%(title)s” is now at position %(place)d of %(all)d.")
        places = {"place": self.place(deal_id), "all": len(self.ids)}
        self.said = said % {"title": self.title(deal_id), **places}

    def remove(self, deal_id: str) -> None:
        if deal_id in self.ids:
            self.ids.remove(deal_id)
            self.moved = deal_id
            said = _("“%(title)s” is taken out. It stays on the page until you save.")
            self.said = said % {"title": self.title(deal_id)}

    def replace(self, deal_id: str) -> None:
        """Have the deal that is added next take the place of one that is there; none for any other."""
        self.replaced = deal_id if deal_id in self.ids else ""

    def places_before(self, saved: Sequence[str]) -> dict[str, int]:
        """Return the saved places of the deals that were moved; those that these pushed along are not among them."""
        matches = SequenceMatcher(None, saved, self.ids, autojunk=False).get_matching_blocks()
        still = {deal_id for match in matches for deal_id in saved[match.a : match.a + match.size]}
        moved = set(self.ids) - still
        return {deal_id: place for place, deal_id in enumerate(saved, start=1) if deal_id in moved}

    def changes(self, saved: Sequence[str]) -> int:
        """Return how many deals were moved, added or taken out since the list was saved."""
        return len(self.places_before(saved)) + len(set(saved) ^ set(self.ids))

    def add(self, deal_id: str, place: int | None = None) -> None:
        """Put a deal at its place, at the end, or in that of the one that it replaces; one that is there stays."""
        if deal_id in self.ids:
            said = _("“%(title)s” is at position %(place)d already.")
            self.said = said % {"title": self.title(deal_id), "place": self.place(deal_id)}
        elif len(self.ids) >= MOST_ROWS and not self.replaced:
            self.said = _("The list is full. Take some deals out first.")
        elif is_ulid(deal_id):
            if self.replaced:
                place = self.place(self.replaced)
                self.ids.remove(self.replaced)
                self.replaced = ""
            self.ids.insert(len(self.ids) if place is None else max(place - 1, 0), deal_id)
            self.moved = deal_id
            self.said = "added"  # the title is known only once the deal is read
