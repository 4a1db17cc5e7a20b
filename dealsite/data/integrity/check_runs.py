"""Runs of the checks: when, over how much of the table, and what came of each."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from dealsite.data import keys, table
from dealsite.data.entities.entity import OWN
from dealsite.data.entities.operations import CHECK_RUN
from dealsite.data.jobs.payloads import from_item, to_item
from dealsite.data.table import schema
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.ids import epoch_seconds, time_of
from dealsite.data.table.writes import Put

CHECK_TABLE = "check_table"  # the kind of job
KEPT = timedelta(days=90)
SHOWN = 30


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A run that has ended. `scope` is whole, or sample, which saw items one by one and left off at `position`.

    `items` counts those twice that were looked at twice, to be sure; `unreadable` are secrets of second factors that
    open under no key of the site.
    """

    id: str
    scope: Literal["whole", "sample"]
    by: Literal["worker", "command"]
    items: int
    seconds: int
    problems: int
    repaired: int = 0
    unreadable: int = 0
    position: dict[str, Any] | None = None

    @property
    def at(self) -> datetime:
        """When it began."""
        return time_of(self.id)

    @property
    def left(self) -> int:
        """How many problems are still there."""
        return self.problems - self.repaired


@access_pattern("note what a check of the table found", "1 put")
def save(run: CheckRun, *, now: datetime) -> None:
    """Keep what a run found for 90 days; the same again is harmless."""
    item = CHECK_RUN.item(to_item(run) | {"ttl": epoch_seconds(now + KEPT)})
    table.write(Put(key=keys.check_run(run.id), item=item))


@access_pattern("the last checks of the table", "1 query")
def newest() -> list[CheckRun]:
    """Return the last 30 runs, newest first."""
    rows = table.query(keys.check_run.partition(), newest_first=True, limit=SHOWN, consistent=True)
    own = {*OWN, "ttl", *CHECK_RUN.gone}
    return [from_item(CheckRun, {n: v for n, v in row.items() if n not in own}) for row in rows]


def known_items() -> int:
    """Return how many items the table has, as far as that is known; 0 where it is not. 1 request a table, 1 query."""
    counted = schema.count()
    return counted or next((run.items for run in newest() if run.scope == "whole"), 0)


def position() -> dict[str, Any] | None:
    """Return where the last sample left off; None for the beginning of the table. 1 query."""
    return next((run.position for run in newest() if run.scope == "sample"), None)
