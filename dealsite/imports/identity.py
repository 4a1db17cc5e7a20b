"""Which deal or draft that is there a row means: the one with its id, else its link, else its shop's article number.

Where a link stands for many, the title tells; a time of upload never does. A number means one of the same shop, or of
the same brand where the row has no link.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from dealsite.data.catalogue import brands, drafts, entries, known_by
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.entries import Entry
from dealsite.data.names import normalise, without_unseen
from dealsite.data.table.ids import time_of
from dealsite.imports.rows import NewDeal, shown


def stored_at(one: Entry) -> datetime | None:
    """Return when a deal or draft was stored first; None for a draft that was changed since."""
    if isinstance(one, Deal):
        return one.created_at
    return one.updated_at if one.version == 1 else None


def deals_there(ids: Iterable[str]) -> dict[str, Entry]:
    """Return those of some deals that are there, with their stock. 1 batch get for each 50."""
    return entries.get_many("deal", ids)


def drafts_there(ids: Iterable[str]) -> dict[str, Entry]:
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

    read: Callable[[Iterable[str]], dict[str, Entry]]
    now: datetime

    def __post_init__(self) -> None:
        self._meant: dict[str, str] = {}  # id -> the title of the row that means it by its link or number
        self._in_file: set[object] = set()  # ids, or links, titles and times, of the rows that are new

    def find(self, rows: Collection[NewDeal]) -> tuple[dict[int, Entry | None], dict[int, str]]:
        """Return by line what rows mean, and why that is unclear.

        That is what is there, and None for those that repeat a new one; new ones are left out.

        Requests: those of `read` for their ids; for those that are not found a query for each link, and `read` again;
        then the same for each article number, and those of `brands.named_by` twice for rows without a link.
        """
        by_id = self.read({one for row in rows for one in (row.id, row.named) if one})
        found: dict[int, Entry | None] = {}
        for row in rows:
            if there := by_id.get(row.named) or by_id.get(row.id):
                found[row.line] = there
        left = [row for row in rows if row.line not in found and row.content.link]
        links = {row.line: known_by.same_link(row.content.link) for row in left}
        linked = self._with_names(set(links.values()))
        for fits in (self._has_title, self._has_only_link):
            for row in left:
                if row.line not in found and (one := fits(row, links[row.line], linked[links[row.line]])):
                    found[row.line] = one
                    self._meant[one.id] = row.content.title
        unclear = self._find_by_number([row for row in rows if row.line not in found], found)
        for row in rows:
            own = {row.id, (links.get(row.line, row.id), _same(row.content.title), time_of(row.id))}
            if row.line not in found and not self._in_file.isdisjoint(own):
                found[row.line] = None
            elif row.line not in found and row.line not in unclear and not row.lacks:
                self._in_file |= own
        return found, unclear

    def _with_names(self, names: Collection[str]) -> dict[str, list[Entry]]:
        """Return what has some links and article numbers now."""
        known = known_by.all_known_by(names)
        there = self.read({target for some in known.values() for target in some})
        found = {
            name: {one.id: one for target in some if (one := there.get(target)) and name in one.content.names}
            for name, some in known.items()
        }  # a draft that was published is there twice
        return {name: list(some.values()) for name, some in found.items()}

    def _find_by_number(self, rows: list[NewDeal], found: dict[int, Entry | None]) -> dict[int, str]:
        """Find what rows mean by their article numbers; return by line why that is unclear."""
        numbers = {row.line: known_by.same_number(row.content.article_number) for row in rows}
        numbered = self._with_names({*numbers.values()} - {""})
        unlinked = [row for row in rows if numbered.get(numbers[row.line]) and not row.content.link]
        slugs = {one.content.brand for row in unlinked for one in (row, *numbered[numbers[row.line]])} - {""}
        named = {slug: brand.slug for slug, brand in brands.named_by(slugs).items()} if slugs else {}
        unclear = {}
        for row in rows:
            there = [
                one
                for one in numbered.get(numbers[row.line], ())
                if not self._is_own(one) and _are_of_one_shop(row.content, one.content, named)
            ]
            if len(there) > 1:
                words = {"count": len(there), "number": shown(row.content.article_number)}
                sentence = _(
                    "%(count)s deals have the article number %(number)s. Say by id or link which is meant."
                )
                unclear[row.line] = sentence % words
            elif there and self._meant.setdefault(there[0].id, row.content.title) == row.content.title:
                found[row.line] = there[0]
        return unclear

    def _has_title(self, row: NewDeal, link: str, there: list[Entry]) -> Entry | None:
        fitting = (one for one in there if _same(one.content.title) == _same(row.content.title))
        return next(
            (one for one in fitting if not self._is_own(one) or time_of(one.id) == time_of(row.id)), None
        )

    def _has_only_link(self, row: NewDeal, link: str, there: list[Entry]) -> Entry | None:
        if len(there) != 1 or known_by.is_of_many(link) or self._is_own(there[0]):
            return None
        return there[0] if self._meant.get(there[0].id, row.content.title) == row.content.title else None

    def _is_own(self, one: Entry) -> bool:
        return stored_at(one) == self.now


def _are_of_one_shop(row: DealContent, there: DealContent, named: Mapping[str, str]) -> bool:
    """Tell whether a row's link leads to the shop of one that is there, or its brand is the same if it has none."""
    of_row, of_there = (
        (known_by.shop_of(one.link) if row.link else named.get(one.brand, "")) for one in (row, there)
    )
    return bool(of_row) and of_row == of_there


def _same(title: str) -> str:
    return without_unseen(normalise(title)).casefold()
