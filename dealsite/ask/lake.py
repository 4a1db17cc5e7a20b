"""The lake as a question sees it: tables, their columns, and the SELECT that each stands for."""

from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from django.conf import settings

from dealsite.lake import layout, views
from dealsite.lake.entities import ENTITIES


@dataclass(frozen=True, slots=True)
class LakeTable:
    """A table of the lake: its columns with their types, and the SELECT over the files of this moment."""

    name: str
    columns: tuple[tuple[str, str], ...]
    select: str

    @property
    def is_history(self) -> bool:
        return self.name.endswith("_history")


@dataclass(frozen=True, slots=True)
class Lake:
    """The one folder that a question may read, and its tables."""

    folder: Path
    tables: list[LakeTable]


def open_lake() -> Lake | None:
    """Return the site's lake as its files are now; None if there is none on this machine."""
    folder = Path(settings.VAR) / "lake"
    if settings.DEALSITE_LAKE or not (folder / layout.STATE).is_file():
        return None
    return lake_in(folder)


def is_elsewhere() -> bool:
    """Tell whether the lake is in a bucket, where Athena answers questions."""
    return bool(settings.DEALSITE_LAKE)


def lake_in(folder: Path) -> Lake:
    """Return the lake in a folder as its files are now: they come and go, and so does what is returned."""
    queries = views.duckdb_queries(folder)
    tables = []
    for entity in ENTITIES:
        now, history = entity.table, f"{entity.table}_history"
        tables.append(LakeTable(now, tuple(views.current_columns(entity).items()), queries[now]))
        tables.append(LakeTable(history, tuple(views.history_columns(entity).items()), queries[history]))
    return Lake(folder, sorted(tables, key=attrgetter("name")))
