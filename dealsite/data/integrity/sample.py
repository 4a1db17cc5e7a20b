"""A sample of the table: items one by one from where the last sample left off, so that each has its turn.

Checks that compare items need to see all of them, so they belong to whole runs: no sample is whole for them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dealsite.data import table
from dealsite.data.integrity.items import problems_of
from dealsite.data.integrity.problem import Problem
from dealsite.data.jobs import command_runs
from dealsite.data.table import schema

AT_ONCE = 500
Position = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """What a sample found among how many items; `position` is where the next goes on, None at the table's beginning."""

    problems: list[Problem]
    items: int
    position: Position | None


def check(
    position: Position | None,
    *,
    is_enough: Callable[[int], bool],
    seen: Callable[[], object] = lambda: None,
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
