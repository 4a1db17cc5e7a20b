"""The featured list of a page, and its last earlier ones, for undo: each is kept as the next one is set."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.display_names import page_names
from dealsite.data.entities.conversion import reader, writer
from dealsite.data.entities.featured import FEATURED_VERSION
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import NotFound
from dealsite.data.table.writes import Delete, Put, Write

KEPT = 5  # of a page


@dataclass(frozen=True, slots=True)
class FeaturedPage:
    """The featured list of a page; `version` counts the times that it was set.

    `by_hand` is the version that somebody set last, and no plan: plans made on top of it hold while it stays.
    """

    id: str
    version: int
    cards: list[DealCard]
    updated_by: str = ""
    last_edit: str = ""
    by_hand: int = 0
    updated_at: datetime | None = None

    @property
    def title(self) -> str:
        """What the page is called now."""
        return page_names()[self.id]

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


def keep_writes(page: FeaturedPage) -> list[Write]:
    """Return the writes that keep a page's list of now, and forget the one of 5 versions before it."""
    if not page.version:
        return []
    now = FeaturedVersion(page.id, page.version, listed_of(page.cards), page.updated_by, page.updated_at)
    item = FEATURED_VERSION.item(_store_version(now))
    writes: list[Write] = [Put(key=keys.featured_version(page.id, page.version), item=item)]
    if page.version > KEPT:
        writes.append(Delete(key=keys.featured_version(page.id, page.version - KEPT)))
    return writes


@access_pattern("one earlier list of a page", "1 get")
def get(page_id: str, version: int) -> FeaturedVersion:
    """Return an earlier list of a page, or raise NotFound."""
    item = table.get(keys.featured_version(page_id, version))
    if item is None:
        raise NotFound(_("This list is no longer kept."))
    return from_item(item)


def listed_of(cards: Sequence[DealCard]) -> tuple[FeaturedEntry, ...]:
    """Return the deals of some cards."""
    return tuple(FeaturedEntry(card.id, card.title) for card in cards)


from_item = reader(FEATURED_VERSION.shape, FeaturedVersion)
_store_version = writer(FEATURED_VERSION.shape, FeaturedVersion)
