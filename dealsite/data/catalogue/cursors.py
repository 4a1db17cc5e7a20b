"""Pages of lists of deals, and the cursors where they begin: places, which survive the deletion of their deal."""

import re
from dataclasses import dataclass
from datetime import datetime

from dealsite.data.catalogue.cards import DealCard
from dealsite.data.table.errors import BadCursor
from dealsite.data.table.ids import from_iso, is_ulid, next_ulid, previous_ulid, time_of

PAGE_SIZE = 25
FIRST_ULID = "0" * 26
EXPIRY_CURSOR = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)~([0-9A-Z]{26})")


@dataclass(frozen=True, slots=True)
class Page:
    """Up to 25 cards in the list's order; `after` and `before` are the cursors of the next and previous page.

    `searched_back_to` is set where a list stopped looking before the page was full.
    """

    cards: list[DealCard]
    after: str | None = None
    before: str | None = None
    searched_back_to: datetime | None = None


class Cursor:
    """The `after` or `before` of a page address, checked; BadCursor if it names no place, or both are given.

    `place` is what stands for it in sort keys, '' for the first page.
    """

    def __init__(
        self, after: str | None = None, before: str | None = None, *, by_expiry: bool = False
    ) -> None:
        if after and before:
            raise BadCursor()
        self.onward = not before
        given = after or before or ""
        self.place = _expiry_place(given) if given and by_expiry else given
        if given and not is_ulid(self.place[-len(FIRST_ULID) :] if by_expiry else given):
            raise BadCursor()

    def moment(self, now: datetime) -> datetime:
        """Return where in time the page starts, not after `now`."""
        return min(moment_of(self.place), now) if self.place else now


def _expiry_place(cursor: str) -> str:
    match = EXPIRY_CURSOR.fullmatch(cursor)
    try:
        if match and from_iso(match[1]):
            return f"{match[1]}#{match[2]}"
    except ValueError:
        pass
    raise BadCursor()


def beside(place: str, higher: bool) -> str:
    """Return the place right after one, or right before it."""
    deal_id = place[-len(FIRST_ULID) :]
    return place[: -len(FIRST_ULID)] + (next_ulid(deal_id) if higher else previous_ulid(deal_id))


def moment_of(place: str) -> datetime:
    """Return when what stands at a place expires, or where that is not said, goes live."""
    time, _, _deal_id = place.rpartition("#")
    return from_iso(time) if time else time_of(place)


def cursor_of(place: str | None) -> str | None:
    """Return a place as addresses say it."""
    return place and place.replace("#", "~")
