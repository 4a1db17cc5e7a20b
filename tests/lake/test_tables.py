"""What DuckDB and Athena are told about a snapshot."""

import re
from io import StringIO

import duckdb
import pytest
from django.core.management import CommandError, call_command

from dealsite.data.entities.attributes import Flag, Money, Text
from dealsite.lake import snapshots
from dealsite.lake.columns import KINDS
from dealsite.lake.entities import BY_TYPE, ENTITIES, Entity, columns
from tests.lake.items import item

ORDERS = BY_TYPE["Order"]


@pytest.fixture
def snapshot(tmp_path):
    snapshots.write([item("Order", 1, variant) for variant in (1, 3)], tmp_path / "it's")
    return tmp_path / "it's"


def columns_of(query):
    with duckdb.connect() as connection:
        return {row[0]: row[1].lower() for row in connection.execute(f"DESCRIBE {query}").fetchall()}


def test_a_snapshot_has_every_table_with_every_column_also_where_files_lack(snapshot, tmp_path):
    for folder in (snapshot, tmp_path / "of an earlier release"):
        for entity in ENTITIES:
            assert columns_of(snapshots.query(folder, entity)) == snapshots.columns_of(entity)


def test_a_column_that_files_lack_is_null_and_one_that_is_no_more_is_ignored(snapshot):
    shape = {"id": Text(), "total": Money(), "gift": Flag()}
    newer = Entity("Order", "orders", columns(shape, "total gift"))
    rows = duckdb.sql(f"{snapshots.query(snapshot, newer)} ORDER BY total").fetchall()
    assert rows == [(10, None), (30, None)]


def test_athena_gets_a_table_for_each_entity_with_the_columns_of_its_files(snapshot):
    statements = snapshots.athena_ddl("s3://deals/lake", "dealsite")
    assert len(statements) == 1 + len(ENTITIES)
    (orders,) = [text for text in statements if "dealsite.orders (" in text]
    assert "LOCATION 's3://deals/lake/newest/orders/'" in orders
    listed = dict(re.findall(r"^  `(\w+)` (\S+?),?$", orders, re.MULTILINE))
    files = columns_of(f"SELECT * FROM '{str(snapshot).replace(chr(39), chr(39) * 2)}/orders/0.parquet'")  # noqa: S608
    assert listed == {name: kind.replace("varchar", "string") for name, kind in files.items()}


def test_the_command_prints_the_statements():
    out = StringIO()
    call_command("lake_ddl", "--location", "s3://deals/lake", stdout=out)
    assert out.getvalue().count(";\n") == 1 + len(ENTITIES)


def test_the_command_refuses_what_no_statement_may_hold(subtests):
    for wrong in [
        ["--location", "/var/lake"],
        ["--location", "s3://deals/la'ke"],
        ["--location", "s3://deals/lake", "--database", "a;b"],
        [],
    ]:
        with subtests.test(wrong=wrong), pytest.raises(CommandError, match="cannot be the"):
            call_command("lake_ddl", *wrong)


def test_every_kind_has_a_type_in_sql():
    assert all(
        duckdb.sql(f"SELECT NULL::{kind} AS x").columns == ["x"]
        for kind in {kind.sql for kind in KINDS.values()}
    )
