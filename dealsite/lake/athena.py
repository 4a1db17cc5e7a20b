"""The lake's tables and views for Amazon Athena."""

from dealsite.lake import layout, views
from dealsite.lake.columns import CHANGE, DAY, KINDS, STATE
from dealsite.lake.entities import ENTITIES, TIMELESS, Entity


def ddl(location: str, database: str, *, since: str) -> list[str]:
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
        places = [f"{location}/{part}/entity={entity.table}" for part in (layout.CURRENT, layout.HISTORY)]
        made += [
            _table(current, entity, STATE, places[0], (first, last)),
            _table(recent, entity, STATE | DAY, f"{location}/{layout.recent(entity)}"),
            _table(changes, entity, CHANGE, places[1], (since, "NOW")),
            f"{view} AS\n{views.current_query(entity, current, recent)}",
            f"{view}_history AS\n{views.history_query(entity, changes)}",
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
