"""The lake as a question sees it: the tables and columns that its asker may ask, and the SELECT that each stands for.

Whatever else the lake holds is not there for the question.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from django.conf import settings

from dealsite.lake import manifest, views
from dealsite.lake.entities import ADMIN, ENTITIES
from dealsite.lake.store import Folder


@dataclass(frozen=True, slots=True)
class LakeTable:
    """A table of the lake: its columns with their types, the SELECT over the files of this moment, their folders."""

    name: str
    columns: tuple[tuple[str, str], ...]
    select: str
    folders: tuple[str, ...]

    @property
    def is_history(self) -> bool:
        return self.name.endswith("_history")


@dataclass(frozen=True, slots=True)
class Lake:
    """The one folder that a question may read, and the tables in it that somebody with some roles may ask."""

    folder: Path
    tables: list[LakeTable]
    roles: frozenset[str]


def open_lake(roles: Collection[str]) -> Lake | None:
    """Return the site's lake as its files are now, for roles; None if this machine has none, or not all of it."""
    folder = Path(settings.VAR) / "lake"
    if (
        settings.DEALSITE_LAKE
        or not (folder / manifest.STATE).is_file()
        or not manifest.is_whole(Folder(folder))
    ):
        return None
    return lake_in(folder, roles)


def is_elsewhere() -> bool:
    """Tell whether the lake is in a bucket, where Athena answers questions."""
    return bool(settings.DEALSITE_LAKE)


def lake_in(folder: Path, roles: Collection[str]) -> Lake:
    """Return the lake in a folder as its files are now: they come and go, and so does what is returned."""
    entities = [seen for entity in ENTITIES if (seen := entity.seen_by(roles))]
    queries = views.duckdb_queries(folder, entities)
    tables = []
    for entity in entities:
        now, history = entity.table, f"{entity.table}_history"
        columns, changes = views.current_columns(entity), views.history_columns(entity)
        folders = [f"{part}/entity={now}" for part in (manifest.CURRENT, manifest.RECENT, manifest.HISTORY)]
        places = tuple(str(folder / name) for name in folders)
        tables.append(LakeTable(now, tuple(columns.items()), queries[now], places))
        tables.append(LakeTable(history, tuple(changes.items()), queries[history], places))
    return Lake(folder, sorted(tables, key=attrgetter("name")), frozenset(roles))


def may_ask(sql: str, roles: Collection[str]) -> bool:
    """Tell whether a question of the site's own names nothing that roles keep from its asker."""
    words = set(re.findall(r"\w+", sql.lower()))
    for entity in ENTITIES:
        if words.isdisjoint({entity.table, f"{entity.table}_history"}):
            continue
        seen = entity.seen_by(roles)
        if seen is None or not words.isdisjoint(entity.kinds.keys() - seen.kinds.keys()):
            return False
    return True


def keeps_reach(before: Collection[str], now: Collection[str]) -> bool:
    """Tell whether roles of now let somebody ask all that those of before did."""
    return ADMIN in now or set(before) <= set(now)
