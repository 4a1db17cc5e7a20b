"""What DuckDB and Athena are told about the lake."""

import re
from io import StringIO

import duckdb
import pytest
from django.core.management import CommandError, call_command

from dealsite.data.entities.attributes import Flag, Money, Text
from dealsite.lake import manifest, rows, views
from dealsite.lake.columns import DAY, KINDS, STATE
from dealsite.lake.entities import BY_TYPE, ENTITIES, Entity, columns
from dealsite.lake.projection import Lake
from tests.lake.disks import connected, view_statements
from tests.lake.items import item, key
from tests.stream.fakes import FakeStream

ORDERS = BY_TYPE["Order"]


@pytest.fixture
def lake(disk):
    stream, lake = FakeStream(), Lake(disk)
    for variant in range(1, 4):
        stream.write(key("Order", 1), item("Order", 1, variant))
    lake.apply(stream.changes)
    lake.commit(None)
    return lake


def columns_of(connection, name):
    return {row[0]: row[1].lower() for row in connection.execute(f"DESCRIBE {name}").fetchall()}


def test_an_empty_lake_has_every_view_with_every_column(tmp_path):
    with connected(tmp_path) as connection:
        for entity in ENTITIES:
            assert columns_of(connection, entity.table) == views.current_columns(entity)
            assert columns_of(connection, f"{entity.table}_history") == views.history_columns(entity)


def test_a_lake_with_files_has_the_same_columns(lake, disk):
    with connected(disk.root) as connection:
        assert columns_of(connection, "orders") == views.current_columns(ORDERS)
        assert columns_of(connection, "orders_history") == views.history_columns(ORDERS)


def test_a_column_that_files_lack_is_null_and_one_that_is_no_more_is_ignored(lake, disk, monkeypatch):
    shape = {"id": Text(), "total": Money(), "gift": Flag()}
    newer = Entity("Order", "orders", columns(shape, "id total gift"), ORDERS.created)
    with duckdb.connect() as connection:
        for statement in view_statements(disk.root, [newer]):
            connection.execute(statement)
        assert columns_of(connection, "orders") == views.current_columns(newer)
        assert connection.execute("SELECT total, gift FROM orders").fetchall() == [(30, None)]
    (path,) = disk.paths(manifest.RECENT)
    table = rows.read(disk.get(path), rows.schema(newer, STATE | DAY))
    assert table.column_names == [
        "id",
        "total",
        "gift",
        "item_key",
        "sequence",
        "changed_at",
        "deleted",
        "day",
    ]


def test_a_quote_in_a_path_is_only_a_quote(tmp_path):
    assert "it''s" in views._files([tmp_path / "it's" / "a.parquet"], {})


def test_athena_gets_three_tables_and_two_views_for_each_entity():
    statements = views.athena_ddl("s3://deals/lake", "dealsite", since="2026-01-01")
    assert len(statements) == 1 + 5 * len(ENTITIES)
    (table,) = [text for text in statements if "dealsite.orders_current_files (" in text]
    assert "`total` decimal(12,2)" in table
    assert "`placed_at` timestamp" in table
    assert "PARTITIONED BY (`day` date)" in table
    assert "LOCATION 's3://deals/lake/current/entity=orders/'" in table
    assert "'projection.day.range' = '2026-01-01,NOW+2YEARS'" in table


def test_what_athena_is_told_fits_the_files(lake, disk):
    """DuckDB reads the views' SQL over tables of the columns that Athena is given."""
    statements = views.athena_ddl("s3://deals/lake", "lake", since="2026-01-01")
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA lake")
        for text in statements:
            if text.startswith("CREATE EXTERNAL TABLE"):
                name = text.split()[6]
                listed = re.findall(r"^  `(\w+)` (\S+?),?$", text, re.MULTILINE)
                if "PARTITIONED" in text:
                    listed.append(("day", "date"))
                fields = ", ".join(f'"{column}" {kind}' for column, kind in listed)
                connection.execute(f"CREATE TABLE {name} ({fields})")
            elif text.startswith("CREATE OR REPLACE VIEW"):
                connection.execute(text)
        (recent,) = disk.paths(manifest.RECENT)
        found = f"SELECT * FROM read_parquet('{disk.root / recent}', hive_partitioning = false)"  # noqa: S608
        connection.execute(f"INSERT INTO lake.orders_recent_files BY NAME {found}")
        connection.execute(f"INSERT INTO lake.orders_recent_files BY NAME {found}")
        for path in disk.paths(manifest.HISTORY):
            changes = f"SELECT * EXCLUDE (entity) FROM read_parquet('{disk.root / path}')"  # noqa: S608
            for _ in range(2):
                connection.execute(f"INSERT INTO lake.orders_change_files BY NAME {changes}")
        assert connection.execute("SELECT total FROM lake.orders").fetchall() == [(30,)]
        totals = connection.execute("SELECT total FROM lake.orders_history ORDER BY sequence").fetchall()
        assert totals == [(10,), (20,), (30,)]
        assert columns_of(connection, "lake.orders") == views.current_columns(ORDERS)


def test_the_command_prints_the_statements():
    out = StringIO()
    call_command("lake_ddl", "--location", "s3://deals/lake", stdout=out)
    assert out.getvalue().count(";\n") == 1 + 5 * len(ENTITIES)


def test_the_command_refuses_what_no_statement_may_hold(subtests):
    for wrong in [
        ["--location", "/var/lake"],
        ["--location", "s3://deals/la'ke"],
        ["--location", "s3://deals/lake", "--database", "a;b"],
        ["--location", "s3://deals/lake", "--since", "monday"],
        [],
    ]:
        with subtests.test(wrong=wrong), pytest.raises(CommandError, match="cannot be the"):
            call_command("lake_ddl", *wrong)


def test_every_kind_has_a_type_in_sql():
    assert all(
        duckdb.sql(f"SELECT NULL::{kind} AS x").columns == ["x"]
        for kind in {kind.sql for kind in KINDS.values()}
    )
