"""A question sees what its asker's roles may, and nothing else of the lake is there for it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dealsite.ask import runs
from dealsite.ask.lake import Lake, lake_in, may_ask
from dealsite.data.entities.attributes import Text
from dealsite.data.entities.people import ROLES
from dealsite.data.table import errors
from dealsite.lake.entities import ADMIN, ENTITIES, OFFICE, Entity, columns
from tests.ask.test_holes import BEFORE
from tests.ask.test_runs import FOREVER
from tests.races import at_once

FOR_ADMINS = {"audit_entries", "drafts", "jobs", "messages", "security_events", "users"}
ATTACKS = [
    "SELECT * FROM {table}",
    "SELECT count(*) FROM {table}",
    'SELECT * FROM "{table}"',
    "SELECT * FROM {TABLE}",
    'SELECT * FROM "{TABLE}"',
    "FROM {table}",
    "TABLE {table}",
    "SELECT * FROM main.{table}",
    "SELECT * FROM memory.main.{table}",
    "WITH mine AS (SELECT * FROM {table}) SELECT * FROM mine",
    "WITH {table} AS (SELECT * FROM {table}) SELECT * FROM {table}",
    "WITH RECURSIVE {table} AS (SELECT * FROM main.{table}) SELECT * FROM {table}",
    "SELECT o.id FROM orders o JOIN {table} t ON true",
    "SELECT o.id FROM orders o, LATERAL (SELECT * FROM {table}) t",
    "SELECT (SELECT count(*) FROM {table}) FROM orders",
    "SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM {table})",
    "SELECT id FROM orders UNION ALL SELECT id FROM {table}",
    "SELECT {table} FROM {table}",
    "DESCRIBE {table}",
    "SHOW {table}",
    "SUMMARIZE {table}",
    "SELECT * FROM query_table('{table}')",
    "SELECT * FROM query('SELECT * FROM {table}')",
    "SELECT * FROM read_parquet('{lake}/{table}/*.parquet')",
    "SELECT * FROM '{lake}/{table}/0.parquet'",
    "SELECT * FROM glob('{lake}/{table}/*')",
    "PIVOT {table} ON id USING count(*)",
    "SELECT * FROM {table} TABLESAMPLE 10%",
    "CREATE VIEW mine AS SELECT * FROM {table}",
]
CATALOGUES = [
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM information_schema.columns",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM duckdb_views()",
    "SELECT * FROM duckdb_columns()",
    "SELECT * FROM pg_catalog.pg_class",
    "SELECT * FROM sqlite_master",
    "SHOW TABLES",
    "SHOW ALL TABLES",
    "PRAGMA show_tables",
    "CALL pragma_table_info('users')",
]


@pytest.fixture
def office(lake_folder: Path) -> Lake:
    """The lake as the back office may ask it."""
    return lake_in(lake_folder, {OFFICE})


def test_each_table_has_an_audience_and_one_that_names_none_is_for_admins(subtests: pytest.Subtests):
    for entity in ENTITIES:
        with subtests.test(entity=entity):
            assert entity.audience in ROLES
            assert entity.seen_by({ADMIN}) is entity
            assert entity.seen_by(()) is None
            assert entity.seen_by({"editor"}) is None
            assert (entity.seen_by({OFFICE}) is None) == (entity.table in FOR_ADMINS)


def test_a_table_without_an_audience_is_for_admins():
    assert Entity("New", "news", columns({"id": Text()}, "id")).seen_by({OFFICE, "editor"}) is None
    with pytest.raises(ValueError, match="No column is named b"):
        columns({"a": Text()}, "a", "b")


@pytest.mark.sample(quick=4)
@pytest.mark.parametrize("attack", ATTACKS)
def test_the_back_office_gets_at_no_table_of_admins(attack: str, ask: Any, office: Lake):
    for table in ("audit_entries", "users", "messages"):
        sql = attack.format(table=table, TABLE=table.upper(), lake=office.folder)
        answered = ask(sql, lake=office)
        assert answered.state == "refused", sql
        assert not re.search(r"\bann\b", answered.why)


def test_the_back_offices_attacks_are_good_questions_where_a_table_is_open(ask: Any, lake: Lake):
    """Else the test above would prove nothing."""
    good = [sql for sql in ATTACKS[:18] if ".{table}" not in sql and "{table} AS" not in sql]
    for sql in good:
        if sql != "SELECT id FROM orders UNION ALL SELECT id FROM {table}":
            assert ask(sql.format(table="users", TABLE="USERS"), lake=lake).state == "answered", sql


@pytest.mark.sample(quick=4)
@pytest.mark.parametrize("sql", CATALOGUES)
def test_the_back_office_sees_no_list_of_what_else_there_is(sql: str, ask: Any, office: Lake):
    assert ask(sql, lake=office).state == "refused"


def test_who_names_a_table_out_of_reach_is_told_which_tables_there_are_for_them(ask: Any, office: Lake):
    why = ask("SELECT * FROM users", lake=office).why
    assert why.startswith("There is no table 'users'. The tables are brand_counts,")
    assert "orders" in why
    for name in FOR_ADMINS:
        assert name not in why.partition(". ")[2]


def test_a_table_gives_the_columns_that_its_asker_may_see(ask: Any, rows: Any, office: Lake, lake: Lake):
    def names(sql: str, lake: Lake) -> set[str]:
        return {column.name for column in ask(sql, lake=lake).answer().columns}

    everything = "SELECT * FROM orders"
    assert names(everything, lake) - names(everything, office) == {"email_hash"}
    assert names("FROM brand_watches", lake) - names("FROM brand_watches", office) == {"username"}
    assert names("SELECT COLUMNS(*) FROM orders", office) == names(everything, office)
    assert "ann" not in str(rows("SELECT w FROM brand_watches w", lake=office))
    assert "ann" in str(rows("SELECT w FROM brand_watches w", lake=lake))
    for sql in (
        "SELECT email_hash FROM orders",
        'SELECT "EMAIL_HASH" FROM orders',
        "SELECT o.email_hash FROM orders o",
        "SELECT id FROM orders ORDER BY email_hash",
        "SELECT id FROM orders WHERE email_hash LIKE 'a%'",
        "SELECT * REPLACE (email_hash AS id) FROM orders",
        "SELECT username FROM category_likes",
    ):
        answered = ask(sql, lake=office)
        assert answered.state == "refused", sql


def test_the_back_office_asks_what_is_its_own(rows: Any, office: Lake):
    assert rows("SELECT count(*), max(username) FROM orders", lake=office) == [[3, "bob"]]


PAST_THE_PARSER = """
child.tables_of = lambda *_: {"orders"}
try:
    child.answer(json.loads(sys.stdin.buffer.read()), sys.stdout)
except child.duckdb.Error as error:
    print("refused:", error)
"""


def test_past_the_parser_no_file_of_another_table_can_be_read(office: Lake):
    def said(table: str) -> str:
        files = f"{office.folder}/{table}/*.parquet"
        question: dict[str, Any] = {
            "sql": f"SELECT count(*) FROM read_parquet('{files}')",  # noqa: S608
            "rows": 9,
            "size": 999,
        }
        question |= {"lake": str(office.folder), "memory": 400_000_000, "threads": 2}
        question["views"] = {one.name: one.select for one in office.tables}
        question["folders"] = {one.name: one.folder for one in office.tables}
        return subprocess.run(
            [sys.executable, "-I", "-B", "-c", BEFORE + PAST_THE_PARSER],
            input=json.dumps(question),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout

    assert '"end"' in said("orders")
    for table in (
        "users",
        "payments",
    ):  # one that is not the asker's, and one that the question does not name
        assert "Permission Error" in said(table)


def test_a_question_may_reach_the_files_of_its_own_tables_alone(office: Lake):
    for table in office.tables:
        assert Path(table.folder) == office.folder / table.name


# Questions of the site's own


def test_a_ready_question_is_offered_to_those_who_can_ask_it(
    ask: Any, office: Lake, subtests: pytest.Subtests
):
    for slug in sorted(runs.ready_questions()):
        with subtests.test(slug=slug):
            sql = runs.ready_questions()[slug].sql
            assert may_ask(sql, {ADMIN})
            assert may_ask(sql, {OFFICE}) == (ask(sql, lake=office).state == "answered")
            assert may_ask(sql, {OFFICE}) == (slug not in {"cohorts-of-sign-ups", "messages-read"})
            assert not may_ask(sql, {"editor"})


def test_a_column_kept_back_keeps_its_question_back():
    assert not may_ask("SELECT email_hash FROM orders", {OFFICE})
    assert may_ask("SELECT username FROM orders", {OFFICE})
    assert not may_ask("SELECT count(DISTINCT username) FROM brand_likes", {OFFICE})


# Answers


def test_an_answer_is_gone_with_the_role_that_it_was_asked_in(
    ask: Any, lake_folder: Path, subtests: pytest.Subtests
):
    for before, now, is_seen in [
        ({ADMIN}, {ADMIN}, True),
        ({ADMIN}, {OFFICE}, False),
        ({ADMIN, OFFICE}, {OFFICE}, False),
        ({OFFICE}, {OFFICE, "editor"}, True),
        ({OFFICE}, {ADMIN}, True),
        ({OFFICE}, {"editor"}, False),
    ]:
        with subtests.test(before=before, now=now, is_seen=is_seen):
            run = ask("SELECT count(*) FROM orders", lake=lake_in(lake_folder, before))
            for look in (runs.look, runs.cancel):
                if is_seen:
                    assert look(run.id, by="bo", roles=now).answer().rows == [[3]]
                else:
                    with pytest.raises(errors.NotFound):
                        look(run.id, by="bo", roles=now)


# How many at once


def cancel_all(*working: Any) -> None:
    for run in working:
        runs.cancel(run.id, by=run.by, roles={ADMIN})


def test_somebodys_third_question_is_refused_while_two_are_answered_and_nobody_elses(ask: Any):
    working = [ask(FOREVER, patience=0.0) for _ in range(2)]
    with pytest.raises(errors.TooManyRequests, match="2 of your questions") as refused:
        ask("SELECT 1")
    assert refused.value.retry_after == 5
    assert ask("SELECT 1", by="al").state == "answered"
    cancel_all(working[0])
    assert ask("SELECT 1").state == "answered"
    cancel_all(working[1])


def test_who_is_no_user_asks_as_many_as_there_is_room_for(ask: Any):
    working = [ask(FOREVER, patience=0.0, by=" site") for _ in range(3)]
    assert [run.state for run in working] == ["working"] * 3
    cancel_all(*working)


def test_of_many_that_come_at_once_two_are_answered(ask: Any):
    outcomes = at_once(*[partial(ask, FOREVER, patience=0.0)] * 6)
    working = [run for run in outcomes if isinstance(run, runs.Run)]
    refused = [error for error in outcomes if isinstance(error, errors.TooManyRequests)]
    cancel_all(*working)
    assert (len(working), len(refused)) == (2, 4)


def test_what_is_refused_is_not_noted_and_what_cannot_be_noted_is_not_asked(ask: Any, var: Path):
    noted: list[str] = []
    note: Callable[[], None] = partial(noted.append, "asked")
    working = [ask(FOREVER, patience=0.0, on_start=note) for _ in range(2)]
    with pytest.raises(errors.TooManyRequests):
        ask("SELECT 1", on_start=note)
    assert len(noted) == 2
    cancel_all(*working)

    def fail() -> None:
        raise errors.Unavailable

    with pytest.raises(errors.Unavailable):
        ask("SELECT 1", on_start=fail)
    assert len([path for path in (var / "ask").iterdir() if path.name != "slots"]) == 2
    assert ask("SELECT 1").state == "answered"  # its slots are free again
