"""Which deal or draft that is there a row means: the one with its id, else the one with its link.

Where a link stands for many, the title tells; a time of upload never does.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from dealsite.data.catalogue import drafts, known_by
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.editing.bulk_change import applying
from dealsite.data.names import normalise, without_unseen
from dealsite.data.table.ids import time_of
from dealsite.imports.rows import NewDeal

There = Deal | Draft


def stored_at(one: There) -> datetime | None:
    """Return when a deal or draft was stored first; None for a draft that was changed since."""
    if isinstance(one, Deal):
        return one.created_at
    return one.updated_at if one.version == 1 else None


def deals_there(ids: Iterable[str]) -> dict[str, There]:
    """Return those of some deals that are there, with their stock. 1 batch get for each 50."""
    return applying.read("deal", ids)


def drafts_there(ids: Iterable[str]) -> dict[str, There]:
    """Return those of some drafts that are there, or are deals by now, as these. Requests: those of 3 reads."""
    ids = list(ids)
    found = drafts.get_many(ids)
    published = deals_there(one.published_as for one in found.values() if one.published_as)
    found_as_deals = {one.id: published.get(one.published_as) for one in found.values() if one.published_as}
    there = deals_there(ids) | found | found_as_deals
    return {one: it for one, it in there.items() if it}


@dataclass
class Identities:
    """Finds what the rows of one file mean. `read` returns those of some ids that are there, as `deals_there` does.

    What was stored at `now` was stored by this run: rows with one link and several titles, or times, are several deals.
    """

    read: Callable[[Iterable[str]], dict[str, There]]
    now: datetime

    def __post_init__(self) -> None:
        self._meant: dict[str, str] = {}  # id -> the title of the row that means it by its link
        self._in_file: set[object] = set()  # ids, or links, titles and times, of the rows that are new

    def find(self, rows: Collection[NewDeal]) -> dict[int, There | None]:
        """Return by line what rows mean that is there, and None for those that repeat a new one; new ones are left out.

        Requests: those of `read` for their ids; for those that are not found a query for each link, and `read` again.
        """
        by_id = self.read({one for row in rows for one in (row.id, row.named) if one})
        found: dict[int, There | None] = {}
        for row in rows:
            if there := by_id.get(row.named) or by_id.get(row.id):
                found[row.line] = there
        left = [row for row in rows if row.line not in found and row.content.link]
        links = {row.line: known_by.same_link(row.content.link) for row in left}
        linked = self._with_links(set(links.values()))
        for fits in (self._has_title, self._has_only_link):
            for row in left:
                if row.line not in found and (one := fits(row, links[row.line], linked[links[row.line]])):
                    found[row.line] = one
                    self._meant[one.id] = row.content.title
        for row in rows:
            own = {row.id, (links.get(row.line, row.id), _same(row.content.title), time_of(row.id))}
            if row.line not in found and not self._in_file.isdisjoint(own):
                found[row.line] = None
            elif row.line not in found and not row.lacks:
                self._in_file |= own
        return found

    def _with_links(self, links: Collection[str]) -> dict[str, list[There]]:
        known = known_by.all_known_by(links)
        there = self.read({target for some in known.values() for target in some})
        return {
            link: [
                there[target]
                for target in some
                if target in there and known_by.same_link(there[target].content.link) == link
            ]
            for link, some in known.items()
        }

    def _has_title(self, row: NewDeal, link: str, there: list[There]) -> There | None:
        fitting = (one for one in there if _same(one.content.title) == _same(row.content.title))
        return next(
            (one for one in fitting if not self._is_own(one) or time_of(one.id) == time_of(row.id)), None
        )

    def _has_only_link(self, row: NewDeal, link: str, there: list[There]) -> There | None:
        if len(there) != 1 or known_by.is_of_many(link) or self._is_own(there[0]):
            return None
        return there[0] if self._meant.get(there[0].id, row.content.title) == row.content.title else None

    def _is_own(self, one: There) -> bool:
        return stored_at(one) == self.now


def _same(title: str) -> str:
    return without_unseen(normalise(title)).casefold()
