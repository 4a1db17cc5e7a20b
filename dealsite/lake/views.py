"""The two views of each entity, as SQL that DuckDB and Athena both understand, and how either reads the files.

A file may hold a row that another one holds, too, or an older one of the same item: a view takes of each item the
newest state, of each change one row.
"""

from collections.abc import Iterable
from pathlib import Path

from dealsite.lake import manifest
from dealsite.lake.columns import CHANGE, DAY, KINDS, STATE
from dealsite.lake.entities import ENTITIES, TIMELESS, Entity
from dealsite.lake.manifest import superseded
from dealsite.lake.store import Folder

OF_CURRENT = {"changed_at": "time"} | DAY


def current_columns(entity: Entity) -> dict[str, str]:
    """Return the columns of an entity's view, with their SQL types."""
    return _types(entity, OF_CURRENT)


def history_columns(entity: Entity) -> dict[str, str]:
    """Return the columns of the view of an entity's changes, with their SQL types."""
    return _types(entity, _of_history(entity))


def _of_history(entity: Entity) -> dict[str, str]:
    """Return the lake's own columns of a history: an item's key may say what a column that is kept back would."""
    more = CHANGE | DAY
    return {name: kind for name, kind in more.items() if not (entity.is_partial and name == "item_key")}


def _types(entity: Entity, more: dict[str, str]) -> dict[str, str]:
    return {name: KINDS[kind].sql for name, kind in (entity.kinds | more).items()}


def current_query(entity: Entity, current: str, recent: str) -> str:
    """Return the SELECT of the entity's state of now, from its current and its recent files."""
    columns = _listed(entity, OF_CURRENT)
    found = _listed(entity, STATE | DAY)
    return (
        f"SELECT {columns} FROM (SELECT *, row_number() OVER (PARTITION BY item_key"  # noqa: S608
        f" ORDER BY sequence DESC, deleted) AS newest FROM (SELECT {found} FROM {current}"
        f" UNION ALL SELECT {found} FROM {recent}) AS states) AS ordered WHERE newest = 1 AND NOT deleted"
    )


def history_query(entity: Entity, changes: str) -> str:
    """Return the SELECT of the entity's changes, each of them once."""
    columns = _listed(entity, _of_history(entity))
    return (
        f"SELECT {columns} FROM (SELECT *, row_number() OVER (PARTITION BY item_key, sequence) AS copy"  # noqa: S608
        f" FROM {changes}) AS numbered WHERE copy = 1"
    )


def duckdb_queries(root: Path, entities: Iterable[Entity] = ENTITIES) -> dict[str, str]:
    """Return the SELECT of the views by their names, for DuckDB and a lake in a folder.

    An entity without files gets an empty view of the same columns. DuckDB must be allowed to read the folder. The
    files are those of this moment: views are good for a minute, until they may be merged and removed.
    """
    made = {}
    gone = {root / path for path in superseded(Folder(root))}
    for entity in entities:
        current = _found(root / manifest.CURRENT / f"entity={entity.table}", "day=*/*.parquet", gone)
        recent = _found(root / manifest.recent(entity), "*.parquet", gone)
        changes = _found(root / manifest.HISTORY / f"entity={entity.table}", "day=*/*.parquet", gone)
        states = _types(entity, STATE | DAY)
        files = _files(current, states, by_day=True)
        if recent or _shares_a_folder(current):
            query = current_query(entity, files, _files(recent, states))
        else:  # each item is in one file, and there once
            query = f"SELECT {_listed(entity, OF_CURRENT)} FROM {files} WHERE NOT deleted"  # noqa: S608
        made[entity.table] = query
        files = _files(changes, _types(entity, CHANGE | DAY), by_day=True)
        if _shares_a_folder(changes):
            query = history_query(entity, files)
        else:
            query = f"SELECT {_listed(entity, _of_history(entity))} FROM {files}"  # noqa: S608
        made[f"{entity.table}_history"] = query
    return made


def _listed(entity: Entity, more: dict[str, str]) -> str:
    return ", ".join(map(quoted, entity.kinds | more))


def _found(folder: Path, pattern: str, gone: set[Path]) -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if path not in gone)


def _shares_a_folder(files: list[Path]) -> bool:
    return len({file.parent for file in files}) < len(files)


def _files(files: list[Path], columns: dict[str, str], *, by_day: bool = False) -> str:
    """Return what DuckDB reads the files with; what an older file, or every file, lacks is NULL there."""
    nothing = ", ".join(f"NULL::{kind} AS {quoted(name)}" for name, kind in columns.items())
    if not files:
        return f"(SELECT {nothing} WHERE false) AS files"
    paths = ", ".join("'" + str(file).replace("'", "''") + "'" for file in files)
    by = "hive_partitioning = true, hive_types = {'day': DATE}" if by_day else "hive_partitioning = false"
    found = f"SELECT * FROM read_parquet([{paths}], union_by_name = true, {by})"  # noqa: S608
    return f"({found} UNION ALL BY NAME SELECT {nothing} WHERE false) AS files"


def quoted(name: str) -> str:
    """Return a name as SQL takes it, whatever word it is."""
    return '"' + name.replace('"', '""') + '"'


def athena_ddl(location: str, database: str, *, since: str) -> list[str]:
    """Return the statements that let Athena read the lake: three tables and two views for each entity.

    `location` is `s3://bucket/prefix`; `since` the first day (yyyy-mm-dd) that any entity was created or changed on.
    """
    made = [f"CREATE DATABASE IF NOT EXISTS `{database}`"]
    for entity in ENTITIES:
        current, recent, changes = (
            f"{database}.{entity.table}_{part}_files" for part in ("current", "recent", "change")
        )
        first = TIMELESS.isoformat() if entity.created is None else since
        last = first if entity.created is None else "NOW+2YEARS"  # a deal may be scheduled
        view = f"CREATE OR REPLACE VIEW {database}.{entity.table}"
        places = [f"{location}/{part}/entity={entity.table}" for part in (manifest.CURRENT, manifest.HISTORY)]
        made += [
            _table(current, entity, STATE, places[0], (first, last)),
            _table(recent, entity, STATE | DAY, f"{location}/{manifest.recent(entity)}"),
            _table(changes, entity, CHANGE, places[1], (since, "NOW")),
            f"{view} AS\n{current_query(entity, current, recent)}",
            f"{view}_history AS\n{history_query(entity, changes)}",
        ]
    return made


def _table(
    name: str, entity: Entity, more: dict[str, str], location: str, days: tuple[str, str] | None = None
) -> str:
    columns = (entity.kinds | more).items()
    lines = ",\n".join(f"  `{column}` {KINDS[kind].hive}" for column, kind in columns)
    text = f"CREATE EXTERNAL TABLE IF NOT EXISTS {name} (\n{lines}\n)\n"
    if days is None:
        return f"{text}STORED AS PARQUET\nLOCATION '{location}/'"
    properties = {
        "projection.enabled": "true",
        "projection.day.type": "date",
        "projection.day.format": "yyyy-MM-dd",
        "projection.day.range": ",".join(days),
        "storage.location.template": f"{location}/day=${{day}}/",
    }
    listed = ",\n".join(f"  '{key}' = '{value}'" for key, value in properties.items())
    return (
        f"{text}PARTITIONED BY (`day` date)\nSTORED AS PARQUET\nLOCATION '{location}/'\n"
        f"TBLPROPERTIES (\n{listed}\n)"
    )
