"""Each way out of a question is shut more than once: by the parser, by DuckDB's switches, by the kernel."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dealsite.ask.lake import lake_in

ROOT = Path(__file__).resolve().parent.parent.parent
BEFORE = f"import json, sys; sys.path.insert(0, {str(ROOT)!r}); from dealsite.ask import child, confinement; "
# Without the parser's check, and without the check that DuckDB's own word for the statement is SELECT.
RUN = """
question = json.loads(sys.stdin.buffer.read())
{confine}
connection = child.connect(question)
{shut}
for name in ("orders", "cart_lines"):
    connection.execute(f'CREATE VIEW "{{name}}" AS {{question["views"][name]}}')
try:
    for statement in connection.extract_statements(question["sql"]):
        rows = connection.execute(statement).fetchall()
except child.duckdb.Error as error:
    print("refused:", error)
else:
    print("done:", rows)
"""
CONFINE = "confinement.confine(child.Path(question['lake']), memory=3 << 30, seconds=20, file_size=1_000_000)"
SHUT = "child.shut(connection, [question['lake']])"

FILES = {
    "read a text": "SELECT content FROM read_text('{outside}')",
    "read a CSV": "SELECT * FROM read_csv('{outside}')",
    "read a file by its name": "SELECT * FROM '{outside}.csv'",
    "list files": "SELECT * FROM glob('{folder}/*')",
    "attach a database": "ATTACH '{folder}/new.db' AS other; CREATE TABLE other.t AS SELECT 1; CHECKPOINT other",
    "copy out of the lake": "COPY orders TO '{folder}/stolen.csv'",
    "export": "EXPORT DATABASE '{folder}/stolen'",
    "load an extension of a file": "LOAD '{outside}'",
    "install an extension": "INSTALL httpfs",
    "spill into a folder": "SET temp_directory = '{folder}/spilled'; SELECT 1",
    "keep a log": "SET log_query_path = '{folder}/log'; SELECT 1",
    "keep a profile": "SET enable_profiling = 'json'; SET profiling_output = '{folder}/profile'; SELECT 1",
}
INTO_THE_LAKE = {
    "write over a file of the lake": "COPY (SELECT 1 AS id) TO '{parquet}' (FORMAT parquet)",
    "add a file to the lake": "COPY (SELECT 1 AS id) TO '{lake}/orders/1.parquet' (FORMAT parquet)",
    "make folders in the lake": "COPY (SELECT 1 AS id, 2 AS p) TO '{lake}/made' (FORMAT parquet, PARTITION_BY (p))",
    "attach a database in the lake": "ATTACH '{lake}/new.db' AS o; CREATE TABLE o.t AS SELECT 1; CHECKPOINT o",
}
SETTINGS = {
    "reach out again": "SET enable_external_access = true",
    "allow a folder more": "SET allowed_directories = ['/']",
    "take more memory": "SET memory_limit = '64GB'",
    "take more threads": "SET threads = 64",
    "unlock the settings": "SET lock_configuration = false",
    "make a secret": "CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "see Python's variables": "SELECT * FROM question",
}
# What only the parser has to refuse, since the layers behind it leave nothing to gain.
STATEMENTS = {
    "read a Parquet file": "SELECT * FROM read_parquet('{parquet}')",
    "read Parquet by another name": "SELECT * FROM parquet_scan('{parquet}')",
    "read a file of the lake by its path": "SELECT * FROM '{parquet}'",
    "read by a quoted name": 'SELECT * FROM "{outside}.csv"',
    "read what a file is": "SELECT * FROM parquet_metadata('{parquet}')",
    "read the names of its columns": "SELECT * FROM parquet_schema('{parquet}')",
    "read keys of a file": "SELECT * FROM parquet_kv_metadata('{parquet}')",
    "read bytes": "SELECT content FROM read_blob('{outside}')",
    "read JSON": "SELECT * FROM read_json('{outside}')",
    "read JSON by itself": "SELECT * FROM read_json_auto('{outside}')",
    "read lines of JSON": "SELECT * FROM read_ndjson('{outside}')",
    "read objects of JSON": "SELECT * FROM read_json_objects('{outside}')",
    "read a CSV by itself": "SELECT * FROM read_csv_auto('{outside}')",
    "guess at a CSV": "SELECT * FROM sniff_csv('{outside}')",
    "read a CSV inside an expression": "SELECT (SELECT count(*) FROM read_csv('{outside}'))",
    "read in a CTE": "WITH x AS (SELECT * FROM read_text('{outside}')) SELECT * FROM x",
    "read in a join": "SELECT * FROM orders JOIN read_text('{outside}') AS t ON true",
    "read in a condition": "SELECT 1 WHERE EXISTS (SELECT 1 FROM read_text('{outside}'))",
    "read in a lateral join": "SELECT * FROM orders, LATERAL (SELECT * FROM read_text('{outside}'))",
    "read behind a union": "SELECT 'a' UNION ALL SELECT content FROM read_text('{outside}')",
    "read in a list": "SELECT list_transform([1], x -> (SELECT max(content) FROM read_text('{outside}')))",
    "read in an order": "SELECT 1 AS a ORDER BY (SELECT max(content) FROM read_text('{outside}'))",
    "read in a recursion": "WITH RECURSIVE r AS (SELECT 1 UNION SELECT 1 FROM read_text('{outside}')) FROM r",
    "read with FROM first": "FROM read_text('{outside}')",
    "read from the network": "SELECT * FROM read_csv('http://127.0.0.1:1/x')",
    "read the host's processes": "SELECT content FROM read_text('/proc/self/environ')",
    "see the settings": "SELECT * FROM duckdb_settings()",
    "see the secrets": "SELECT * FROM duckdb_secrets()",
    "see the views": "SELECT sql FROM duckdb_views()",
    "see the extensions": "SELECT * FROM duckdb_extensions()",
    "see the databases": "SELECT * FROM duckdb_databases()",
    "see the log": "SELECT * FROM duckdb_logs()",
    "see the files in use": "SELECT * FROM duckdb_temporary_files()",
    "ask a text as a query": "SELECT * FROM query('SELECT 1')",
    "ask a table by its name": "SELECT * FROM query_table('orders')",
    "read an environment variable": "SELECT getenv('PATH')",
    "read a setting": "SELECT current_setting('temp_directory')",
    "set a pragma": "PRAGMA database_list",
    "call a function": "CALL pragma_version()",
    "make a table": "CREATE TABLE t AS SELECT 1",
    "make a macro": "CREATE MACRO m() AS TABLE SELECT * FROM read_text('{outside}')",
    "make a view": "CREATE VIEW v AS SELECT 1",
    "change a table": "UPDATE orders SET status = 'PAID'",
    "empty a table": "DELETE FROM orders",
    "drop a view": "DROP VIEW orders",
    "insert": "INSERT INTO orders VALUES (1)",
    "begin": "BEGIN TRANSACTION",
    "vacuum": "VACUUM",
    "prepare": "PREPARE p AS SELECT 1",
    "execute": "EXECUTE p",
    "explain what is no question": "EXPLAIN ANALYZE COPY orders TO '{folder}/x'",
    "import": "IMPORT DATABASE '{folder}'",
    "use another database": "USE memory",
    "detach": "DETACH memory",
}
# Ends as if it were done, but has done nothing.
IN_VAIN = ("spill into a folder", "keep a log")


@pytest.fixture
def own_lake(lake_folder: Path, tmp_path: Path) -> Path:
    """A copy of the lake, with a file beside it that is nobody's business."""
    lake = shutil.copytree(lake_folder, tmp_path / lake_folder.name)
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "outside.csv").write_text("secret\n1\n")
    return lake


def fingerprint(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and "var" not in path.relative_to(folder).parts
    }


def filled(sql: str, lake: Path) -> str:
    parquet = lake / "orders" / "0.parquet"
    return sql.format(lake=lake, folder=lake.parent, outside=lake.parent / "outside", parquet=parquet)


def run(sql: str, lake: Path, *, confine: str = "", shut: str = "") -> str:
    """Run SQL in a process with some of the layers; return what it says."""
    question = {
        "sql": filled(sql, lake),
        "views": {table.name: table.select for table in lake_in(lake, {"admin"}).tables},
        "lake": str(lake),
        "memory": 400_000_000,
        "threads": 2,
    }
    end = subprocess.run(
        [sys.executable, "-I", "-B", "-c", BEFORE + RUN.format(confine=confine, shut=shut)],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=lake.parent,
        env={},
    )
    return end.stdout or end.stderr


@pytest.mark.sample(quick=3)
@pytest.mark.parametrize("hole", [*FILES, *INTO_THE_LAKE, *SETTINGS])
def test_the_parser_refuses(hole, ask, own_lake):
    before = fingerprint(own_lake.parent)
    sql = filled((FILES | INTO_THE_LAKE | SETTINGS)[hole], own_lake)
    answered = ask(sql, lake=lake_in(own_lake, {"admin"}))
    assert answered.state == "refused"
    assert "secret" not in answered.why
    assert fingerprint(own_lake.parent) == before


@pytest.mark.thorough
def test_the_parser_refuses_every_other_way_of_saying_it(ask, own_lake, subtests):
    for hole in STATEMENTS:
        with subtests.test(hole=hole):
            before = fingerprint(own_lake.parent)
            answered = ask(filled(STATEMENTS[hole], own_lake), lake=lake_in(own_lake, {"admin"}))
            assert answered.state == "refused", answered
            assert fingerprint(own_lake.parent) == before


@pytest.mark.sample(quick=3)
@pytest.mark.parametrize("hole", [*FILES, *SETTINGS])
def test_duckdbs_switches_refuse_what_passes_the_parser(hole, own_lake):
    before = fingerprint(own_lake.parent)
    said = run((FILES | SETTINGS)[hole], own_lake, shut=SHUT)
    assert said.startswith("refused:"), said
    assert fingerprint(own_lake.parent) == before


@pytest.mark.sample(quick=3)
@pytest.mark.parametrize("hole", [*FILES, *INTO_THE_LAKE])
def test_the_kernel_refuses_what_passes_duckdb(hole, own_lake):
    before = fingerprint(own_lake.parent)
    said = run((FILES | INTO_THE_LAKE)[hole], own_lake, confine=CONFINE)
    assert not said.startswith("done:") or said == "done: []\n" or hole in IN_VAIN, said
    assert fingerprint(own_lake.parent) == before


@pytest.mark.parametrize("hole", INTO_THE_LAKE)
def test_duckdbs_switches_alone_would_let_the_lake_be_written(hole, own_lake):
    """Why there are more layers than DuckDB's own; once this fails, DuckDB has become better."""
    before = fingerprint(own_lake.parent)
    run(INTO_THE_LAKE[hole], own_lake, shut=SHUT)
    assert fingerprint(own_lake.parent) != before


@pytest.mark.parametrize("hole", ["read a text", "read a file by its name", "copy out of the lake", "export"])
def test_without_any_layer_the_hole_is_open(hole, own_lake):
    """Else the tests above would prove nothing."""
    assert run(FILES[hole], own_lake).startswith("done:")


def test_the_lake_is_read_with_all_layers(own_lake):
    assert run("SELECT count(*) FROM orders", own_lake, confine=CONFINE, shut=SHUT) == "done: [(3,)]\n"


def test_a_second_statement_behind_the_first_is_never_run(ask, own_lake):
    before = fingerprint(own_lake.parent)
    for sql in ("SELECT 1; COPY orders TO '{folder}/x'", "SELECT 1 /*;*/; ATTACH '{folder}/x' --"):
        assert ask(filled(sql, own_lake), lake=lake_in(own_lake, {"admin"})).state == "refused"
    assert fingerprint(own_lake.parent) == before


def test_nothing_secret_is_in_the_lake_that_questions_see(rows, lake):
    for table in lake.tables:
        names = [name for name, _ in table.columns]
        assert {"password", "email", "method", "address", "session"}.isdisjoint(names), table.name
    assert rows("SELECT count(*) FROM users WHERE email_hash LIKE '%@%'") == [[0]]
