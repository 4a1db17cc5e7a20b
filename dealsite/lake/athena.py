"""The lake's tables and views for Amazon Athena."""

from __future__ import annotations

from dealsite.lake import layout, views
from dealsite.lake.columns import Kind
from dealsite.lake.entities import ENTITIES, TIMELESS, Entity

HIVE: dict[Kind, str] = {
    "text": "string",
    "integer": "bigint",
    "money": "decimal(12,2)",
    "time": "timestamp",
    "date": "date",
    "flag": "boolean",
    "json": "string",
}
KEY = {"item_key": "string", "sequence": "string", "changed_at": "timestamp"}
STATE = KEY | {"deleted": "boolean"}
CHANGE = KEY | {"change": "string"}


def ddl(location: str, database: str, *, since: str) -> list[str]:
    """Return the statements that let Athena read the lake: three tables and two views for each entity.

    `location` is `s3://bucket/prefix`; `since` the first day (yyyy-mm-dd) that any entity was created or changed on.
    """
    made = [f"CREATE DATABASE IF NOT EXISTS `{database}`"]
    for entity in ENTITIES:
        names = {
            part: f"{database}.{entity.table}_{part}"
            for part in ("current_files", "recent_files", "change_files")
        }
        first = TIMELESS.isoformat() if entity.created is None else since
        last = first if entity.created is None else "NOW+2YEARS"  # a deal may be scheduled
        made += [
            _table(
                names["current_files"],
                entity,
                STATE,
                f"{location}/{layout.CURRENT}/entity={entity.table}",
                (first, last),
            ),
            _table(
                names["recent_files"], entity, STATE | {"day": "date"}, f"{location}/{layout.recent(entity)}"
            ),
            _table(
                names["change_files"],
                entity,
                CHANGE,
                f"{location}/{layout.HISTORY}/entity={entity.table}",
                (since, "NOW"),
            ),
            f"CREATE OR REPLACE VIEW {database}.{entity.table} AS\n"
            + views.current_query(entity, names["current_files"], names["recent_files"]),
            f"CREATE OR REPLACE VIEW {database}.{entity.table}_history AS\n"
            + views.history_query(entity, names["change_files"]),
        ]
    return made


def _table(
    name: str, entity: Entity, more: dict[str, str], location: str, days: tuple[str, str] | None = None
) -> str:
    columns = {column.name: HIVE[column.kind] for column in entity.columns} | more
    lines = ",\n".join(f"  `{column}` {kind}" for column, kind in columns.items())
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
