"""A featured list while an editor works on it: it lives in the form alone until it is saved.

Each button sends the whole list: `deal` (the ids in order), `title` (beside each, so that the list can
be shown even when the table does not answer), `position` (the numbers as typed) and `do`, what to do.
"""

from dataclasses import dataclass, field
from typing import Self

from django.http import QueryDict
from django.utils.translation import gettext as _

from dealsite.data.catalogue.cards import DealCard
from dealsite.data.table.ids import is_ulid
from dealsite.text.digits import number_in

MOST_ROWS = 60  # more than a page may feature, so that an editor can add first and remove then


@dataclass
class Arrangement:
    """The ids in order with their titles; `said` tells what was done, `moved` is the deal it was done to."""

    ids: list[str] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    said: str = ""
    moved: str = ""

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

    def add(self, deal_id: str) -> None:
        """Put a deal at the end; one that is in the list stays where it is."""
        if deal_id in self.ids:
            said = _("“%(title)s” is at position %(place)d already.")
            self.said = said % {"title": self.title(deal_id), "place": self.place(deal_id)}
        elif len(self.ids) >= MOST_ROWS:
            self.said = _("The list is full. Take some deals out first.")
        elif is_ulid(deal_id):
            self.ids.append(deal_id)
            self.moved = deal_id
            self.said = "added"  # the title is known only once the deal is read
