"""One SELECT over known tables with known functions is a question; everything else is refused before it runs."""

from __future__ import annotations

import contextlib

import duckdb
import pytest
from hypothesis import given, strategies as st

from dealsite.ask.statements import FUNCTIONS, LONGEST, TABLE_FUNCTIONS, Refused, tables_of

KNOWN = {"orders", "deals", "cart_lines"}


@pytest.fixture(scope="module")
def parser():
    with duckdb.connect() as connection:
        yield connection


QUESTIONS = {
    "SELECT 1": set(),
    "SELECT 1;": set(),
    "-- why\nSELECT count(*) FROM orders /* all */": {"orders"},
    'SELECT * FROM "ORDERS" o JOIN deals USING (id)': {"orders", "deals"},
    "FROM orders": {"orders"},
    "TABLE deals": {"deals"},
    "VALUES (1, 'a')": set(),
    "WITH a AS (SELECT * FROM orders) SELECT * FROM a": {"orders"},
    "WITH orders AS (SELECT * FROM orders) SELECT * FROM orders": {"orders"},
    "WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT * FROM n": set(),
    "SELECT (SELECT max(total) FROM orders) FROM deals": {"orders", "deals"},
    "SELECT * FROM orders WHERE id IN (SELECT id FROM cart_lines)": {"orders", "cart_lines"},
    "SELECT rank() OVER (PARTITION BY brand ORDER BY price DESC) FROM deals QUALIFY rank() OVER () < 3": {
        "deals"
    },
    "SELECT brand, sum(price) FILTER (WHERE price > 1) FROM deals GROUP BY ALL HAVING count(*) > 1": {
        "deals"
    },
    "SELECT * FROM deals UNION ALL BY NAME SELECT * FROM orders ORDER BY ALL LIMIT 10%": {"deals", "orders"},
    "SELECT CASE WHEN a IS NULL THEN 1 ELSE 2 END, a::DECIMAL(12,2), TRY_CAST(a AS DATE) FROM orders": {
        "orders"
    },
    "SELECT * EXCLUDE (a) REPLACE (b + 1 AS b), COLUMNS('x.*') FROM orders": {"orders"},
    "SELECT [x + 1 FOR x IN range(3)], list_transform([1], lambda x: x * 2), {'a': 1}.a": set(),
    "SELECT i FROM range(3) t(i), unnest([1, 2]), generate_series(1, 2)": set(),
    "SELECT now() - INTERVAL 30 DAY, current_date, DATE '2026-01-01', strftime(now(), '%Y')": set(),
    "SELECT * FROM orders PIVOT (sum(total) FOR status IN ('PLACED', 'SHIPPED'))": {"orders"},
    "SELECT * FROM orders ASOF JOIN deals ON orders.at >= deals.at": {"orders", "deals"},
    "SELECT json_extract_string(timeline, '$[0].note'), timeline->>'$[0].by' FROM orders": {"orders"},
    "SELECT 'read_csv(1)', \"copy\" FROM orders": {"orders"},
}


def test_a_question_is_taken_with_the_tables_that_it_reads(parser, subtests):
    for sql in QUESTIONS:
        with subtests.test(sql=sql):
            assert tables_of(sql, KNOWN, parser) == QUESTIONS[sql]


REFUSED = {
    # More than one, or none
    "SELECT 1; SELECT 2": "one SELECT at a time",
    "SELECT 1; DROP TABLE orders": "Only one SELECT",
    "": "Ask one SELECT",
    "-- nothing": "Ask one SELECT",
    # Statements that are no SELECT
    "COPY orders TO '/tmp/x'": "Only one SELECT",
    "COPY (SELECT 1) TO 'orders.parquet' (FORMAT parquet)": "Only one SELECT",
    "ATTACH '/tmp/x.db'": "Only one SELECT",
    "INSTALL httpfs": "Only one SELECT",
    "LOAD httpfs": "Only one SELECT",
    "PRAGMA database_list": "Only one SELECT",
    "SET memory_limit = '99GB'": "Only one SELECT",
    "RESET memory_limit": "Only one SELECT",
    "CREATE TABLE t AS SELECT 1": "Only one SELECT",
    "CREATE VIEW orders AS SELECT 1": "Only one SELECT",
    "CREATE MACRO m(x) AS x": "Only one SELECT",
    "CREATE SECRET s (TYPE s3)": "Only one SELECT",
    "INSERT INTO orders VALUES (1)": "Only one SELECT",
    "UPDATE orders SET id = 1": "Only one SELECT",
    "DELETE FROM orders": "Only one SELECT",
    "DROP VIEW orders": "Only one SELECT",
    "ALTER TABLE orders RENAME TO x": "Only one SELECT",
    "EXPORT DATABASE '/tmp/x'": "Only one SELECT",
    "IMPORT DATABASE '/tmp/x'": "Only one SELECT",
    "CALL pragma_version()": "Only one SELECT",
    "EXPLAIN ANALYZE SELECT 1": "Only one SELECT",
    "PREPARE p AS SELECT 1": "Only one SELECT",
    "EXECUTE p": "Only one SELECT",
    "BEGIN": "Only one SELECT",
    "CHECKPOINT": "Only one SELECT",
    "VACUUM": "Only one SELECT",
    "USE memory": "Only one SELECT",
    "PIVOT orders ON status": "Only one SELECT",
    # Functions of tables that read something else
    "SELECT * FROM read_csv('/etc/passwd')": "read_csv cannot be used",
    "SELECT * FROM read_csv_auto('/etc/passwd')": "cannot be used",
    "SELECT * FROM read_text('/etc/passwd')": "read_text cannot be used",
    "SELECT * FROM read_blob('/etc/passwd')": "read_blob cannot be used",
    "SELECT * FROM read_json('x')": "cannot be used",
    "SELECT * FROM read_ndjson_objects('x')": "cannot be used",
    "SELECT * FROM read_parquet('x')": "cannot be used",
    "SELECT * FROM parquet_scan('x')": "cannot be used",
    "SELECT * FROM parquet_metadata('x')": "cannot be used",
    "SELECT * FROM sniff_csv('x')": "cannot be used",
    "SELECT * FROM glob('/*')": "glob cannot be used",
    "SELECT * FROM query('SELECT 1')": "query cannot be used",
    "SELECT * FROM query_table('orders')": "cannot be used",
    "SELECT * FROM duckdb_settings()": "cannot be used",
    "SELECT * FROM duckdb_secrets()": "cannot be used",
    "SELECT * FROM duckdb_logs()": "cannot be used",
    "SELECT * FROM pragma_database_size()": "cannot be used",
    "SELECT * FROM json_execute_serialized_sql('x')": "cannot be used",
    "SELECT * FROM python_map_function()": "cannot be used",
    "SELECT * FROM arrow_scan(1, 2, 3)": "cannot be used",
    "SELECT * FROM pandas_scan(1)": "cannot be used",
    "SELECT * FROM seq_scan('orders')": "cannot be used",
    "SELECT * FROM sum(1)": "sum cannot be used in FROM",
    # Functions that tell of settings, environment, other connections, or wait
    "SELECT getenv('HOME')": "getenv cannot be used",
    "SELECT current_setting('temp_directory')": "cannot be used",
    "SELECT getvariable('x')": "cannot be used",
    "SELECT nextval('s')": "cannot be used",
    "SELECT current_database()": "cannot be used",
    "SELECT current_query()": "cannot be used",
    "SELECT pg_get_viewdef(1)": "cannot be used",
    "SELECT pg_sleep(99)": "cannot be used",
    "SELECT sleep_ms(99)": "cannot be used",
    "SELECT write_log('x')": "cannot be used",
    "SELECT txid_current()": "cannot be used",
    "SELECT json_serialize_sql('SELECT 1')": "cannot be used",
    "SELECT json_deserialize_sql('x')": "cannot be used",
    "SELECT max(x) FILTER (WHERE getenv('x') = '') FROM orders": "getenv cannot be used",
    "SELECT sum(1) OVER (ORDER BY getenv('x'))": "getenv cannot be used",
    "SELECT list_transform(['HOME'], lambda x: getenv(x))": "getenv cannot be used",
    "SELECT 1 ORDER BY getenv('x')": "getenv cannot be used",
    "SELECT 1 LIMIT (SELECT getenv('x'))": "getenv cannot be used",
    "SELECT * FROM range(getenv('x')::INT)": "getenv cannot be used",
    "SELECT * FROM orders PIVOT (sum(total) FOR getenv('x') IN ('a'))": "getenv cannot be used",
    "WITH a AS (SELECT getenv('x')) SELECT 1": "getenv cannot be used",
    "SELECT GetEnv('x')": "cannot be used",
    "SELECT \"getenv\"('x')": "cannot be used",
    "SELECT main.getenv('x')": "nothing before it",
    "SELECT system.main.lower('x')": "nothing before it",
    "SELECT 'HOME'.getenv()": "getenv cannot be used",
    # Tables that are none of the lake's
    "SELECT * FROM '/etc/passwd'": "There is no table",
    "SELECT * FROM 'x.parquet'": "There is no table",
    'SELECT * FROM "s3://bucket/x.csv"': "There is no table",
    "SELECT * FROM 'https://example.org/x.json'": "There is no table",
    "SELECT * FROM parser": "There is no table",
    "SELECT * FROM duckdb_tables": "There is no table",
    "SELECT * FROM sqlite_master": "There is no table",
    "SELECT * FROM pg_class": "There is no table",
    "SELECT * FROM information_schema.tables": "nothing before or after",
    "SELECT * FROM pg_catalog.pg_settings": "nothing before or after",
    "SELECT * FROM memory.main.orders": "nothing before or after",
    "SELECT * FROM orders AT (VERSION => 1)": "nothing before or after",
    'WITH "/etc/passwd" AS (SELECT 1) SELECT * FROM "/etc/passwd"': "WITH cannot give the name",
    "SELECT * FROM (WITH duckdb_settings AS (SELECT 1) SELECT 1), duckdb_settings": "WITH cannot give",
    'SELECT * FROM (WITH "x.csv" AS (SELECT 1) SELECT 1), "x.csv"': "WITH cannot give the name",
    "WITH PG_Settings AS (SELECT 1) SELECT 1": "WITH cannot give the name",
    "SHOW TABLES": "cannot be used here",
    "DESCRIBE orders": "cannot be used here",
    "SUMMARIZE orders": "cannot be used here",
    "FROM (DESCRIBE orders)": "cannot be used here",
    "FROM (SHOW ALL TABLES)": "cannot be used here",
    # Forms
    "SELECT $1": "cannot be used here",
    "SELECT ?": "cannot be used here",
    "SELECT $name": "cannot be used here",
    "SELECT DEFAULT": "cannot be used here",
    "SELECT 1 +": "This is no SQL",
    "SELECT 'half": "This is no SQL",
    "SELECT 1\0": "NUL",
    "SELECT " + "(" * 5000 + "1" + ")" * 5000: "no SQL",
    "SELECT " + "1+" * 9000 + "1": "no SQL",
    "SELECT " + "'x'" * LONGEST: "at most 20,000 characters",
}


def test_what_is_no_question_is_refused_with_a_reason(parser, subtests):
    for sql in REFUSED:
        with subtests.test(sql=sql):
            with pytest.raises(Refused) as refused:
                tables_of(sql, KNOWN, parser)
            assert REFUSED[sql] in str(refused.value)


def test_a_mistake_is_shown_where_it_is(parser):
    with pytest.raises(Refused) as refused:
        tables_of("SELECT 'ä',\n  2 FROMM orders x", KNOWN, parser)
    assert str(refused.value).endswith("in line 2 at character 11.")


WORDS = (
    "SELECT FROM WHERE orders deals ( ) , * ; 1 'a' \"x\" read_csv getenv COPY TO ATTACH AS WITH a JOIN ON = "
    "UNION VALUES SET PRAGMA count :: INT . -- /* */ $1 ? [ ] { } range INSTALL query"
)
TYPED = st.one_of(
    st.text(max_size=80), st.lists(st.sampled_from(WORDS.split(" ")), max_size=14).map(" ".join)
)


@given(TYPED)
def test_whatever_is_typed_is_a_question_or_refused_and_changes_nothing(sql):
    with duckdb.connect() as connection:
        with contextlib.suppress(Refused):
            assert tables_of(sql, KNOWN, connection) <= KNOWN
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (0,)


def test_the_functions_that_are_allowed_are_duckdbs(parser):
    there = parser.execute("SELECT DISTINCT lower(function_name) FROM duckdb_functions()").fetchall()
    names = {name for (name,) in there}
    assert FUNCTIONS - names <= {"unnest"}
    assert TABLE_FUNCTIONS - names <= {"unnest"}


def test_no_function_that_is_allowed_reads_files_settings_or_the_environment():
    words = (
        "read_",
        "scan",
        "glob",
        "parquet",
        "duckdb",
        "pragma",
        "pg_",
        "setting",
        "getenv",
        "sniff",
        "attach",
    )
    more = (
        "query",
        "secret",
        "extension",
        "http",
        "log_",
        "sleep",
        "nextval",
        "currval",
        "serialize",
        "install",
    )
    found = {name for name in FUNCTIONS | TABLE_FUNCTIONS for word in (*words, *more) if word in name}
    assert found == set()
