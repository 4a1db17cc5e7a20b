"""Whether a text is one SELECT over known tables with known functions.

DuckDB's own parser takes the text apart; every part of what it found must be of a kind that is named here.
What a newer DuckDB adds is thus refused until somebody has reviewed it.
"""

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import duckdb

LONGEST = 20_000  # characters
CLASSES = {
    *("BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT"),
    *("FUNCTION", "LAMBDA", "OPERATOR", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY", "TYPE", "WINDOW"),
}
TYPES = {
    *("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"),
    *("BASE_TABLE", "EMPTY", "EXPRESSION_LIST", "JOIN", "PIVOT", "SUBQUERY", "TABLE_FUNCTION"),
    *("DISTINCT_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER"),
    *("ORDER_DEFAULT", "ASCENDING", "DESCENDING"),
}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
SYSTEM = ("duckdb_", "pg_", "sqlite_", "pragma_", "information_schema")
PARSE = "SELECT json_serialize_sql($1::VARCHAR, skip_null := true, skip_empty := true)"


class Refused(Exception):
    """A sentence for whoever asked: why this is not answered."""


def _functions() -> tuple[frozenset[str], frozenset[str]]:
    lines = (Path(__file__).parent / "functions.txt").read_text("utf-8").splitlines()
    anywhere, in_from = set[str](), set[str]()
    group = anywhere
    for line in lines:
        if line.startswith("[") and line.endswith("]"):
            group = in_from if line == "[in FROM]" else anywhere
        elif not line.startswith("# "):
            group.update(word.lower() for word in line.split())
    return frozenset(anywhere), frozenset(in_from)


FUNCTIONS, TABLE_FUNCTIONS = _functions()


def tables_of(sql: str, known: Collection[str], connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return which of the known tables (lower case) a question reads, or raise Refused."""
    if len(sql) > LONGEST:
        raise Refused(f"A question has at most {LONGEST:,} characters.")
    if "\0" in sql:
        raise Refused("A question cannot hold the character NUL.")
    query = _parse(sql, connection)
    parts = list(_parts(query))
    own = {name for part in parts for name in _named(part)}
    for part in parts:
        _check(part)
    asked = {_table(part, own, known) for part in parts if part.get("type") == "BASE_TABLE"}
    return asked & set(known)


def _parse(sql: str, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    row = connection.execute(PARSE, [sql]).fetchone()
    try:
        parsed = json.loads(row[0] if row else "{}")
    except RecursionError:
        raise Refused("This is nested too deeply.") from None
    if parsed.get("error"):
        if parsed.get("error_type") == "not implemented":
            raise Refused(
                "Only one SELECT can be asked: nothing that changes, loads, shows or sets something."
            )
        raise Refused(_mistake(parsed, sql))
    statements = parsed.get("statements", [])
    if len(statements) != 1:
        raise Refused("Ask one SELECT." if not statements else "Ask one SELECT at a time.")
    statement: dict[str, Any] = statements[0]
    return statement


def _mistake(parsed: dict[str, Any], sql: str) -> str:
    """Say where the parser gave up, as people count: lines and columns from 1."""
    said = str(parsed.get("error_message", "")).strip() or "this cannot be read"
    try:
        before = sql.encode()[: int(parsed["position"])].decode(errors="ignore")
    except (KeyError, ValueError):
        return f"This is no SQL: {said}."
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return f"This is no SQL: {said}, in line {line} at character {column}."


def _parts(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every part of the tree, without recursion: how deep it is is for whoever asked to choose."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            yield found
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found


def _named(part: dict[str, Any]) -> Iterator[str]:
    """Yield the names that WITH gives; only plain ones, none that could mean a file or a system's table."""
    for entry in part.get("cte_map", {}).get("map", ()) if isinstance(part.get("cte_map"), dict) else ():
        name = str(entry.get("key", ""))
        if not NAME.fullmatch(name) or name.lower().startswith(SYSTEM):
            raise Refused(f"WITH cannot give the name {name!r}: use letters, digits and underscores.")
        yield name.lower()


def _check(part: dict[str, Any]) -> None:
    kind, sort = part.get("class"), part.get("type")
    if kind is not None and kind not in CLASSES:
        raise Refused(f"This form of expression cannot be used here ({_said(kind)}).")
    if kind is None and isinstance(sort, str) and sort not in TYPES:
        raise Refused(f"This form of SELECT cannot be used here ({_said(sort)}).")
    if sort == "TABLE_FUNCTION":
        function = part.get("function", {})
        _check_function(function, TABLE_FUNCTIONS, "in FROM")
    elif "function_name" in part:
        _check_function(part, FUNCTIONS | TABLE_FUNCTIONS, "here")


def _check_function(part: dict[str, Any], allowed: Collection[str], where: str) -> None:
    name = str(part.get("function_name", ""))
    path = part.get("qualified_name", {}).get("path", [name])
    if path != [name]:
        raise Refused(f"Write {name}(...) with nothing before it.")
    if name.lower() not in allowed:
        raise Refused(f"The function {name} cannot be used {where}.")


def _table(part: dict[str, Any], own: Collection[str], known: Collection[str]) -> str:
    name = str(part.get("table_name", ""))
    if part.get("qualified_name", {}).get("path") != [name] or "at_clause" in part:
        raise Refused(f"Write the table {name} with nothing before or after it.")
    if name.lower() not in own and name.lower() not in known:
        raise Refused(f"There is no table {name!r}. The tables are {', '.join(sorted(known))}.")
    return name.lower()


def _said(name: object) -> str:
    return str(name).replace("_", " ").lower()
