"""The featured list of a page, and its earlier ones: each is kept, in the transaction that sets the next one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from django.utils.translation import gettext as _

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.entities.conversion import reader, writer
from dealsite.data.entities.featured import FEATURED_VERSION
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import NotFound
from dealsite.data.table.writes import Delete, Put, Write

SHOWN = 20  # of a page
KEPT = 40


@dataclass(frozen=True, slots=True)
class FeaturedPage:
    """The featured list of a page; `version` counts the times that it was set.

    `by_hand` is the version that somebody set last, and no plan: plans made on top of it hold while it stays.
    """

    id: str
    title: str
    version: int
    cards: list[DealCard]
    updated_by: str = ""
    last_edit: str = ""
    by_hand: int = 0
    updated_at: datetime | None = None

    @property
    def ids(self) -> list[str]:
        return [card.id for card in self.cards]


@dataclass(frozen=True, slots=True)
class FeaturedEntry:
    """A deal of a list, with the title that it had then."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class FeaturedVersion:
    """A list that a page had: who set it, and when (None for one of before that was kept)."""

    page: str
    version: int
    deals: tuple[FeaturedEntry, ...]
    by: str
    at: datetime | None

    @property
    def ids(self) -> list[str]:
        return [deal.id for deal in self.deals]


@dataclass(frozen=True, slots=True)
class ListDiff:
    """What became of a list: the titles of the deals that came and went, and of those that changed their place."""

    came: tuple[str, ...]
    went: tuple[str, ...]
    moved: tuple[str, ...]


def keep_writes(page: FeaturedPage) -> list[Write]:
    """Return the writes that keep a page's list of now, and forget the one of 40 versions before it."""
    if not page.version:
        return []
    item = FEATURED_VERSION.item(_store_version(as_version(page)))
    writes: list[Write] = [Put(key=keys.featured_version(page.id, page.version), item=item)]
    if page.version > KEPT:
        writes.append(Delete(key=keys.featured_version(page.id, page.version - KEPT)))
    return writes


@access_pattern("the earlier lists of a page", "1 query")
def of_page(page_id: str) -> list[FeaturedVersion]:
    """Return the last 20 lists that a page had before the one of now, newest first."""
    partition = keys.featured_version.partition(page_id)
    rows = table.query(partition, newest_first=True, limit=SHOWN, consistent=True)
    return [from_item(row) for row in rows]


@access_pattern("one earlier list of a page", "1 get")
def get(page_id: str, version: int) -> FeaturedVersion:
    """Return an earlier list of a page, or raise NotFound."""
    item = table.get(keys.featured_version(page_id, version))
    if item is None:
        raise NotFound(_("This list is no longer kept."))
    return from_item(item)


def as_version(page: FeaturedPage) -> FeaturedVersion:
    """Return a page's list of now beside its earlier ones."""
    return FeaturedVersion(page.id, page.version, listed_of(page.cards), page.updated_by, page.updated_at)


def listed_of(cards: Sequence[DealCard]) -> tuple[FeaturedEntry, ...]:
    """Return the deals of some cards."""
    return tuple(FeaturedEntry(card.id, card.title) for card in cards)


def difference(before: Sequence[FeaturedEntry], after: Sequence[FeaturedEntry]) -> ListDiff:
    """Return what changed from one list to the next; as few deals count as moved as can explain the order."""
    old, new = {deal.id for deal in before}, {deal.id for deal in after}
    order = [deal.id for deal in before if deal.id in new]
    places = {deal_id: n for n, deal_id in enumerate(order)}
    stayed = [deal for deal in after if deal.id in old]
    in_order = _longest_rise([places[deal.id] for deal in stayed])
    return ListDiff(
        came=tuple(deal.title for deal in after if deal.id not in old),
        went=tuple(deal.title for deal in before if deal.id not in new),
        moved=tuple(deal.title for deal in stayed if places[deal.id] not in in_order),
    )


def differences(lists: Sequence[FeaturedVersion]) -> list[ListDiff | None]:
    """Return what each of a page's lists, newest first, changed; None for the oldest that is kept.

    Of the first list that the page ever had, that is all of it.
    """
    found: list[ListDiff | None] = [difference(older.deals, newer.deals) for newer, older in pairwise(lists)]
    if lists:
        found.append(difference((), lists[-1].deals) if lists[-1].version == 1 else None)
    return found


def _longest_rise(places: Sequence[int]) -> set[int]:
    """Return the most numbers that stand in rising order: those deals did not move."""
    runs: list[list[int]] = []
    for place in places:
        best: list[int] = []
        for run in runs:
            if run[-1] < place and len(run) > len(best):
                best = run
        runs.append([*best, place])
    longest: list[int] = max(runs, key=len) if runs else []
    return set(longest)


def from_item(item: Item) -> FeaturedVersion:
    """Return the earlier list of an item."""
    return _read_version(item)


_read_version = reader(FEATURED_VERSION.shape, FeaturedVersion)
_store_version = writer(FEATURED_VERSION.shape, FeaturedVersion)
