"""Which buckets in time hold deals (days of the site, years of a brand, months of a category); and cursors.

No feed ever queries an empty bucket. The list of days is written only when a day is missing from
it; a small counter for each day tells when its first deal comes and its last one goes.

A cursor is a place in a list, so it survives the deletion of the deal that stood there.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.entities.taxonomy import (
    BUCKET_ATTRIBUTE,
    DAY_ATTRIBUTE as DAY_ATTRIBUTE,
    DAY_COUNT,
    DAYS,
    YEARS_LIST,
    listed_in,
)
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import BadCursor, Conflict, NotFound
from dealsite.data.table.ids import from_iso, is_ulid, month_of, next_ulid, previous_ulid, time_of
from dealsite.data.table.writes import Delete, Update, Write, at_least, equals, exists

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


class DayIsEmpty(Conflict):
    """A day that this process took for listed holds no deal any more: list it again."""


class LastOfDay(Conflict):
    """The deal is the last of its day: unlist the day with it."""


class MoreOfDay(Conflict):
    """The deal is not the last of its day any more."""


# Each listed day is an attribute of its own: one transaction may list a day and unlist another, and no
# expression both adds to a set and takes from it.
_listed: set[date] = set()  # days that this process has seen listed; a wrong guess costs one more try


def forget() -> None:
    """Forget which days are listed, after a change of table."""
    _listed.clear()


def listed_days(item: Item | None) -> list[str]:
    """Return the days, as ISO dates, that a year's list of days holds."""
    return [*listed_in(item or {}, DAY_ATTRIBUTE)]


def all_days() -> list[str]:
    """Return every day that holds deals, scheduled ones too, as ISO dates. 1 query."""
    low, high = keys.days.between()
    return [
        day
        for item in table.query(keys.days.partition(), low=low, high=high, limit=200)
        for day in listed_days(item)
    ]


def _attribute(day: date) -> str:
    return f"{DAY_ATTRIBUTE}{day.isoformat()}"


def _remember(days: Iterable[date], *, listed: bool) -> None:
    if len(_listed) > 10_000:
        _listed.clear()
    (_listed.update if listed else _listed.difference_update)(days)


def transact(
    writes: Sequence[Write], *, arrive: Iterable[DealCard] = (), leave: DealCard | None = None
) -> None:
    """Carry out writes and count the deals that they publish, schedule or delete. 1 transaction, 2 to unlist a day.

    NotFound for a brand or category that is not there.
    """
    arrive = list(arrive)
    days, gone = {card.live_at.date() for card in arrive}, leave and leave.live_at.date()
    counted = [count for card in arrive for count in _count_deal(card, 1)]
    counted += _count_deal(leave, -1) if leave else []
    is_last = False

    def attempt() -> None:
        nonlocal is_last
        moved = [write for card in arrive if card.live_at.date() != gone for write in _day_arrives(card)]
        if gone and gone not in days:  # else the day keeps its number of deals
            moved += _day_leaves(gone, last=is_last)
        try:
            table.transact([*writes, *counted, *moved])
        except DayIsEmpty:
            _remember(days, listed=False)
            raise
        except (LastOfDay, MoreOfDay) as error:
            is_last = isinstance(error, LastOfDay)
            raise
        _remember(days, listed=True)
        if gone and is_last:
            _remember([gone], listed=False)

    table.retrying(attempt, on=(DayIsEmpty, LastOfDay, MoreOfDay))


def move(deal_id: str, old: tuple[str, str], new: tuple[str, str]) -> list[Write]:
    """Return the counter writes of a deal whose (brand, category) changes."""
    writes: list[Write] = []
    for count, before, after in zip((_count_brand, _count_category), old, new, strict=True):
        if before != after:
            writes += [count(deal_id, before, -1), count(deal_id, after, 1)]
    return writes


def _count_deal(card: DealCard, n: int) -> list[Write]:
    return [_count_brand(card.id, card.brand, n), _count_category(card.id, card.category, n)]


def _count_brand(deal_id: str, slug: str, n: int) -> Update:
    missing = NotFound(gettext_lazy("There is no such brand."))
    return _count(keys.brand_counts(slug), f"{time_of(deal_id).year:04d}", n, missing)


def _count_category(deal_id: str, slug: str, n: int) -> Update:
    missing = NotFound(gettext_lazy("There is no such category."))
    return _count(keys.category_counts(slug), month_of(time_of(deal_id)), n, missing)


def _count(key: keys.Key, bucket: str, n: int, missing: NotFound) -> Update:
    return Update(
        key=key, add={"deals": n, f"{BUCKET_ATTRIBUTE}{bucket}": n}, when=(exists(),), otherwise=missing
    )


def _day_arrives(card: DealCard) -> list[Write]:
    day = card.live_at.date()
    counted = Update(key=keys.day_count(day), set=DAY_COUNT.item({}), add={"deals": 1})
    if day in _listed:
        return [replace(counted, set={}, when=(at_least("deals", 1),), otherwise=DayIsEmpty())]
    return [
        counted,
        Update(key=keys.days(day.year), set=DAYS.item({_attribute(day): True})),
        Update(key=keys.years(), set=YEARS_LIST.item({}), add={"years": {f"{day.year:04d}"}}),
    ]


def _day_leaves(day: date, *, last: bool) -> list[Write]:
    if not last:
        when = (at_least("deals", 2),)
        return [Update(key=keys.day_count(day), add={"deals": -1}, when=when, otherwise=LastOfDay())]
    return [
        Delete(key=keys.day_count(day), when=(equals("deals", 1),), otherwise=MoreOfDay()),
        Update(key=keys.days(day.year), remove=[_attribute(day)], when=(exists(),)),
    ]
