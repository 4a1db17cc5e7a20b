"""A snapshot as a question sees it: the tables and columns that its asker may ask, and the SELECT that each stands for.

Whatever else the snapshot holds is not there for the question.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from pathlib import Path

from dealsite.data.table.ids import time_of
from dealsite.lake import snapshots
from dealsite.lake.entities import ADMIN, ENTITIES


@dataclass(frozen=True, slots=True)
class LakeTable:
    """A table: its columns with their types, the SELECT over its files, the folder that they lie in."""

    name: str
    columns: tuple[tuple[str, str], ...]
    select: str
    folder: str


@dataclass(frozen=True, slots=True)
class Lake:
    """The one folder that a question may read, and the tables in it that somebody with some roles may ask."""

    folder: Path
    tables: list[LakeTable]
    roles: frozenset[str]

    @property
    def at(self) -> datetime:
        """The moment that it shows; what changed while the table was read may be there or not."""
        return time_of(self.folder.name)


def open_lake(roles: Collection[str]) -> Lake | None:
    """Return the newest snapshot of the table that this machine has, for roles; None if it has none. No requests."""
    folder = snapshots.newest()
    return lake_in(folder, roles) if folder else None


def lake_in(folder: Path, roles: Collection[str]) -> Lake:
    """Return the snapshot in a folder, for roles."""
    found = [
        LakeTable(
            seen.table,
            tuple(snapshots.columns_of(seen).items()),
            snapshots.query(folder, seen),
            str(folder / seen.table),
        )
        for entity in ENTITIES
        if (seen := entity.seen_by(roles))
    ]
    return Lake(folder, sorted(found, key=attrgetter("name")), frozenset(roles))


def may_ask(sql: str, roles: Collection[str]) -> bool:
    """Tell whether a question of the site's own names nothing that roles keep from its asker."""
    words = set(re.findall(r"\w+", sql.lower()))
    for entity in ENTITIES:
        if entity.table not in words:
            continue
        seen = entity.seen_by(roles)
        if seen is None or not words.isdisjoint(entity.kinds.keys() - seen.kinds.keys()):
            return False
    return True


def keeps_reach(before: Collection[str], now: Collection[str]) -> bool:
    """Tell whether roles of now let somebody ask all that those of before did."""
    return ADMIN in now or set(before) <= set(now)
