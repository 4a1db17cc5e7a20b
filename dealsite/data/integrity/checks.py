"""Whether the table is whole: what is derived is recomputed from the items and compared.

    items     every attribute is as the entity chart says, every key and index row as the attributes say
    roots     brands, categories and featured pages that others name
    references  what an item refers to is there
    offers    each deal has its offer, which agrees with it
    prices    the last price kept of each deal is the one it has
    versions  each belongs to a deal or draft, and was before what that is now
    trash     what it lists of a thing is what it keeps, and a job will empty it
    names     brand names in deals, and in the list of brands by letter
    counts    deals, likes and watches of brands and categories; deals of months and days
    featured  the cards of featured lists, and the deals' word on where they are featured
    carts     each line in its cart's head, each cart within its limits
    orders    lines, total and status of each order, and the log of what happened to it
    people    profiles, e-mail guards and the number of users
    payments  totals, guards of transaction ids, instalments of orders
    sendings  segments and numbers of announcements
    bulk      what is noted of changes of many deals, and its number

A check sees every item once, then names its problems, with the writes that repair what is derived.
Those writes hold only while the items are as they were seen, so a repair is safe while the site runs.

A sample looks at items one by one from where the last one left off. Checks that compare items need to see all of them,
so they belong to whole runs.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from dealsite.data import table
from dealsite.data.integrity.deal_copies import Featured, KnownBy, Offers, Sellers
from dealsite.data.integrity.histories import Prices, Trash, Versions
from dealsite.data.integrity.items import WRONG_SHAPE, Items, References, Roots, problems_of
from dealsite.data.integrity.problem import Problem
from dealsite.data.integrity.shop import Carts, Orders, People
from dealsite.data.integrity.sums import Announced, BulkChanges, Payments
from dealsite.data.integrity.taxonomy import BrandNames, Counts
from dealsite.data.jobs import command_runs
from dealsite.data.table import schema
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict

AT_ONCE = 500
Position = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """What a sample found among how many items; `position` is where the next goes on, None at the table's beginning."""

    problems: list[Problem]
    items: int
    position: Position | None


def check_sample(
    position: Position | None, *, is_enough: Callable[[int], bool], seen: Callable[[], object] = lambda: None
) -> Sample:
    """Check items until it is enough, or all were seen once. `is_enough` is asked with their number. 1 scan for 500."""
    start = position["start"] if position else None
    problems: list[Problem] = []
    items = 0
    while True:
        rows = table.scan_page(limit=AT_ONCE, start=start, consistent=True)
        for item in rows.items:
            seen()
            problems += problems_of(item)
        items += len(rows.items)
        if (start := rows.start) is None:
            return Sample(problems, items, None)
        if is_enough(items):
            return Sample(problems, items, {"start": start})


def known_items(*, now: datetime) -> int:
    """Return how many items the table has, as far as that is known; 0 where it is not. 1 request, at most 1 query."""
    counted = schema.count()
    return counted or next((one.items for one in command_runs.checks(now=now) if one.scope == "whole"), 0)


def last_position(*, now: datetime) -> Position | None:
    """Return where the last sample left off; None for the beginning of the table. 1 query."""
    return next((one.position for one in command_runs.checks(now=now) if one.scope == "sample"), None)


# A repair may show what depends on it: a card repaired in a deal, then where it is featured.
ROUNDS = 4


class Check(Protocol):
    """One part of the table: sees every item once, then says what is wrong.

    Those that count name the types of what takes part: nothing is repaired while there is one that they do not see.
    """

    def see(self, item: Item) -> None: ...

    def problems(self) -> Iterator[Problem]: ...


CHECKS: list[Callable[[], Check]] = [
    *(References, Offers, Prices, Versions, Trash, BrandNames, Counts, Featured, People),
    *(Announced, BulkChanges, Payments, Carts, Orders),
]
FILLING: list[Callable[[], Check]] = [KnownBy, Sellers]  # what a release before did not write


def find(seen: Callable[[], object] = lambda: None, *, retired: bool = False) -> list[Problem]:
    """Return what is wrong with the table; `seen` is called for each item. One scan, and a second one to be sure.

    `retired`: also what is as a release before wrote it, which is no damage: what is of a retired type, to be deleted,
    and what was not written then, to be added.
    A scan is no snapshot: of what editors change while it runs it may see one half only. What is
    truly wrong is wrong in the same way in both scans.
    """
    found = _scan(seen, retired=retired)
    if not found:
        return []
    still = {(problem.key, problem.what) for problem in _scan(seen, retired=retired)}
    return [problem for problem in found if (problem.key, problem.what) in still]


def _scan(seen: Callable[[], object], *, retired: bool) -> list[Problem]:
    def items() -> Iterator[Item]:
        for item in table.scan_all(consistent=True):
            seen()
            yield item

    return judge(items(), retired=retired)


def judge(items: Iterable[Item], *, retired: bool = False) -> list[Problem]:
    """Return what is wrong with some items that are all there are.

    What a lost root is missing for is said once, of the root. Nothing is repaired that would be counted without an item
    that a check cannot read or a newer build wrote, nor what would take away the rest of a lost deal or user.
    """
    single, roots = Items(), Roots()
    checks = [make() for make in (*CHECKS, *(FILLING if retired else ()))]
    doubtful: set[Check] = set()
    for item in items:
        if not single.is_sound(item):
            continue
        for check in (roots, *checks):
            try:
                check.see(item)
            except WRONG_SHAPE as error:
                doubtful.add(check)
                single.incomplete(item, error)
    lost = _compared(roots, single, doubtful)
    doubtful |= {check for check in checks if single.unseen & getattr(check, "takes_part", frozenset())}
    roots_lost, of_lost = {problem.key for problem in lost}, roots.lost()
    found = [*single.found, *lost]
    for check in reversed(
        checks
    ):  # what only refers to something lost is said where no other check knows better
        known = {problem.key for problem in found if problem.repairs}
        for problem in _compared(check, single, doubtful):
            if problem.needs(roots_lost) or (check is checks[0] and problem.key in known):
                continue
            is_sure = check not in doubtful and not problem.needs(of_lost)
            found.append(problem if is_sure else replace(problem, repairs=()))
    if single.newer:
        return [replace(problem, repairs=()) for problem in found]
    return [*found, *single.retired] if retired else found


def _compared(check: Check, single: Items, doubtful: set[Check]) -> list[Problem]:
    """Return what a check names at the end; items that cannot be compared are wrong by themselves, as was said."""
    named: list[Problem] = []
    try:
        named += check.problems()
    except WRONG_SHAPE:
        if not single.found:
            raise
        doubtful.add(check)
    return named


def repair(problem: Problem) -> bool:
    """Carry out a problem's repair; False if there is none, or if its items changed meanwhile. 1 transaction."""
    if not problem.repairs:
        return False
    try:
        table.transact(problem.repairs)
    except Conflict:
        return False
    return True


def repair_all(seen: Callable[[], object] = lambda: None) -> tuple[list[Problem], list[Problem]]:
    """Repair what is derived; return the problems that were repaired and those that are left."""
    repaired: list[Problem] = []
    for _ in range(ROUNDS):
        found = find(seen, retired=True)
        done = [problem for problem in found if repair(problem)]
        repaired += done
        if not done:
            return repaired, found
    return repaired, find(seen)
