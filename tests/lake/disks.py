"""A folder that stops working at its n-th write, and DuckDB's view of a lake in a folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb

from dealsite.data.keys import Key
from dealsite.lake import views
from dealsite.lake.entities import BY_TYPE, ENTITIES, Entity
from dealsite.lake.rows import item_key
from dealsite.lake.store import Folder
from dealsite.stream.records import ItemChange
from tests.crashes import Crash

Item = dict[str, Any]


class Disk(Folder):
    """A folder; `crash_at` counts writes and deletions down, and the one at zero is done or not, as `after` says."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.crash_at: int | None = None
        self.after = False

    def put(self, path: str, content: bytes) -> None:
        if self._crashes():
            if self.after:
                self._write(path, content)
            raise Crash
        self._write(path, content)

    def _write(self, path: str, content: bytes) -> None:
        # As Folder does it, but without waiting for a disk: what a power cut does is not tried here.
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        made = target.parent / f".made-{os.getpid()}"
        made.write_bytes(content)
        made.replace(target)

    def delete(self, path: str) -> None:
        if self._crashes():
            if self.after:
                super().delete(path)
            raise Crash
        super().delete(path)

    def _crashes(self) -> bool:
        if self.crash_at is None:
            return False
        self.crash_at -= 1
        return self.crash_at < 0


def view_statements(root: Path, entities: Iterable[Entity] = ENTITIES) -> list[str]:
    """The statements that make the lake's views in a DuckDB connection."""
    queries = views.duckdb_queries(root, entities)
    return [f"CREATE OR REPLACE VIEW {views.quoted(name)} AS {query}" for name, query in queries.items()]


def connected(root: Path, entities: Iterable[Entity] = ENTITIES) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    for statement in view_statements(root, entities):
        connection.execute(statement)
    return connection


def current_rows(connection: duckdb.DuckDBPyConnection, entity: Entity) -> Counter:
    columns = ", ".join(map(views.quoted, [*entity.kinds, "day"]))
    return Counter(connection.execute(f"SELECT {columns} FROM {entity.table}").fetchall())  # noqa: S608


def expected_rows(items: Iterable[Item], entity: Entity) -> Counter:
    return Counter(
        (*(column.value(item) for column in entity.columns), entity.day(item))
        for item in items
        if item["type"] == entity.type
    )


def history_rows(connection: duckdb.DuckDBPyConnection, entity: Entity) -> Counter:
    columns = ", ".join(map(views.quoted, [*entity.kinds, "item_key", "sequence", "change", "day"]))
    return Counter(connection.execute(f"SELECT {columns} FROM {entity.table}_history").fetchall())  # noqa: S608


def expected_history(changes: Iterable[ItemChange], entity: Entity) -> Counter:
    found = []
    for change in changes:
        item = change.old if change.new is None else change.new
        assert item is not None
        if item["type"] == entity.type:
            values = [column.value(item) for column in entity.columns]
            kind = "delete" if change.new is None else "put"
            found.append((*values, item_key(change.key), change.sequence, kind, change.at.date()))
    return Counter(found)


def assert_is(root: Path, items: dict[Key, Item], changes: Iterable[ItemChange] | None) -> None:
    """The lake's views show these items, and these changes."""
    assert {str(item["type"]) for item in items.values()} <= BY_TYPE.keys()
    changes = None if changes is None else list(changes)
    concerned = [
        entity
        for entity in ENTITIES
        if list(root.glob(f"*/entity={entity.table}"))
        or any(item["type"] == entity.type for item in items.values())
    ]
    with connected(root, concerned) as connection:
        for entity in concerned:
            assert current_rows(connection, entity) == expected_rows(items.values(), entity), entity.table
            if changes is not None:
                assert history_rows(connection, entity) == expected_history(changes, entity), entity.table
