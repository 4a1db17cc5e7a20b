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
    "add a file to the lake": "COPY (SELECT 1 AS id) TO '{lake}/current/new.parquet' (FORMAT parquet)",
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
# Ends as if it were done, but has done nothing.
IN_VAIN = ("spill into a folder", "keep a log")


@pytest.fixture
def own_lake(lake_folder: Path, tmp_path: Path) -> Path:
    """A copy of the lake, with a file beside it that is nobody's business."""
    shutil.copytree(lake_folder, tmp_path / "lake")
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "outside.csv").write_text("secret\n1\n")
    return tmp_path / "lake"


def fingerprint(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and "var" not in path.relative_to(folder).parts
    }


def filled(sql: str, lake: Path) -> str:
    parquet = next((lake / "current" / "entity=orders").rglob("*.parquet"))
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


@pytest.mark.parametrize("hole", [*FILES, *INTO_THE_LAKE, *SETTINGS])
def test_the_parser_refuses(hole, ask, own_lake):
    before = fingerprint(own_lake.parent)
    sql = filled((FILES | INTO_THE_LAKE | SETTINGS)[hole], own_lake)
    answered = ask(sql, lake=lake_in(own_lake, {"admin"}))
    assert answered.state == "refused"
    assert "secret" not in answered.why
    assert fingerprint(own_lake.parent) == before


@pytest.mark.parametrize("hole", [*FILES, *SETTINGS])
def test_duckdbs_switches_refuse_what_passes_the_parser(hole, own_lake):
    before = fingerprint(own_lake.parent)
    said = run((FILES | SETTINGS)[hole], own_lake, shut=SHUT)
    assert said.startswith("refused:"), said
    assert fingerprint(own_lake.parent) == before


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
