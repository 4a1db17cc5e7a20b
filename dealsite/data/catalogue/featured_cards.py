"""What a deal's own transactions do to the lists that feature it: renew, remove or replace its card."""

from __future__ import annotations

from collections.abc import Iterable

from dealsite.data import keys
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.table.errors import VersionConflict
from dealsite.data.table.writes import Update, equals, present

FRONT = "front"
EDITORS_CHOICE = "editors-choice"


def page_key(page_id: str) -> keys.Key:
    """Return the key of the item that holds a page's featured list; a category's page id is its slug."""
    if page_id == FRONT:
        return keys.front_page()
    return keys.editors_choice_page() if page_id == EDITORS_CHOICE else keys.category(page_id)


def renew(pages: Iterable[str], card: DealCard) -> list[Update]:
    """Return the writes that bring a changed card to the pages that feature it."""
    return [
        Update(
            key=page_key(page),
            set={("cards", card.id): card.as_item()},
            when=(present(("cards", card.id)),),
            otherwise=VersionConflict(),
        )
        for page in pages
    ]


def remove(pages: Iterable[str], deal_id: str) -> list[Update]:
    """Return the writes that take a deleted deal's card from the pages that feature it."""
    return [
        Update(
            key=page_key(page),
            remove=(("cards", deal_id),),
            when=(present(("cards", deal_id)),),
            otherwise=VersionConflict(),
        )
        for page in pages
    ]


def replace_at(places: dict[str, int], old_id: str, card: DealCard) -> list[Update]:
    """Return the writes that put a rescheduled deal's card in its old one's place: page id -> index in `order`."""
    return [
        Update(
            key=page_key(page),
            set={("cards", card.id): card.as_item(), ("order", place): card.id},
            remove=(("cards", old_id),),
            when=(equals(("order", place), old_id), present(("cards", old_id))),
            otherwise=VersionConflict(),
        )
        for page, place in places.items()
    ]
