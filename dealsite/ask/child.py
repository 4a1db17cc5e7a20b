"""The process that answers one question: reads it from its input, gives up its rights, writes the answer.

Run as a script by `runs`, with an empty environment. The question is one JSON object:

    sql, views (name -> the SELECT that it stands for), folders (name -> that of its files), lake (all files),
    rows, size (bytes; both of the answer), memory (bytes), seconds, threads, progress (a file descriptor),
    parent (the process without which this one ends)

The answer is lines of JSON: {"columns": [[name, type], ...]}, then a list for each row, then {"end": {...}};
or {"refused": sentence}, of a question that cannot be answered as it stands. Anything else: it broke off.
"""

import datetime
import decimal
import json
import math
import os
import sys
import threading
import time
import types
import uuid  # noqa: F401 - nothing can be imported later, and DuckDB makes Python's own values
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

if __name__ == "__main__":  # started by path, without this project on Python's path
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

import duckdb

from dealsite.ask import confinement
from dealsite.ask.statements import Refused, tables_of


class _Utc(datetime.tzinfo):
    """UTC as pytz has it: DuckDB asks for that when a time has a zone, and here all have this one."""

    def utcoffset(self, moment: datetime.datetime | None) -> datetime.timedelta:
        return datetime.timedelta()

    def dst(self, moment: datetime.datetime | None) -> datetime.timedelta:
        return datetime.timedelta()

    def tzname(self, moment: datetime.datetime | None) -> str:
        return "UTC"

    def localize(self, moment: datetime.datetime) -> datetime.datetime:
        return moment.replace(tzinfo=self)


sys.modules.setdefault("pytz", types.SimpleNamespace(timezone=lambda _: _Utc(), utc=_Utc()))  # type: ignore[arg-type]

COLUMNS = 100  # of an answer
PORTION = 500  # rows fetched at a time
ROOM = 1 << 30  # bytes of addresses for Python, DuckDB's code and its threads' stacks
STEP = 0.2  # seconds between two notes of progress, and between two looks at the parent
ANSWER = "the answer"  # as a view
EXACT = 1 << 53  # whole numbers up to here survive JavaScript
OFF = (
    *("autoinstall_known_extensions", "autoload_known_extensions"),
    *("allow_community_extensions", "python_enable_replacements"),
)
SWITCHES = {"temp_directory": "", "home_directory": "/"} | dict.fromkeys(OFF, "false")
IN_SESSION = (
    *("TimeZone = 'UTC'", "max_expression_depth = 250"),
    *("enable_progress_bar = true", "enable_progress_bar_print = false"),
)


def connect(question: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """Open an empty database in memory that reaches no file but the snapshot's, and no setting."""
    memory, threads = f"{question['memory'] // 1_000_000}MB", str(question["threads"])
    limits: dict[str, Any] = {"memory_limit": memory, "threads": threads}
    connection = duckdb.connect(":memory:", config=SWITCHES | limits)
    for setting in IN_SESSION:
        connection.execute(f"SET {setting}")
    return connection


def shut(connection: duckdb.DuckDBPyConnection, folders: Iterable[str]) -> None:
    """Let the database reach some folders only, and its settings stay as they are."""
    connection.execute(f"SET allowed_directories = [{', '.join(map(quoted, folders))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def answer(question: dict[str, Any], out: TextIO) -> None:
    """Write the answer of a question."""
    started = time.monotonic()
    connection = connect(question)
    sql, views = question["sql"], question["views"]
    asked = tables_of(sql, views, connection)
    shut(connection, sorted(question["folders"][name] for name in asked))
    for name in sorted(asked):
        connection.execute(f'CREATE VIEW "{name}" AS {views[name]}')
    (statement,) = connection.extract_statements(sql)
    if statement.type != duckdb.StatementType.SELECT:
        raise Refused("Only one SELECT can be asked.")
    _note_progress(connection, question.get("progress"), question.get("parent"))
    connection.execute(statement)
    columns = [[str(name), str(kind)] for name, kind, *_ in connection.description or ()]
    if len(columns) > COLUMNS:
        raise Refused(
            f"An answer has at most {COLUMNS} columns, and this one would have {len(columns):,}. Name those you need."
        )
    if any("INTERVAL" in kind for _, kind in columns):
        _have_spans_written(connection, sql, [kind for _, kind in columns])
    written = _line(out, {"columns": columns})
    rows, more = 0, False
    while not more and (portion := connection.fetchmany(PORTION)):
        for row in portion:
            if rows == question["rows"] or written >= question["size"]:
                more = True
                break
            written += _line(out, [cell(value) for value in row])
            rows += 1
    milliseconds = round((time.monotonic() - started) * 1000)
    _line(out, {"end": {"rows": rows, "more": more, "milliseconds": milliseconds}})


def _have_spans_written(connection: duckdb.DuckDBPyConnection, sql: str, kinds: list[str]) -> None:
    """Ask again with spans of time as text: in Python a year is 360 days."""
    cells = (f"#{n}::VARCHAR" if "INTERVAL" in kind else f"#{n}" for n, kind in enumerate(kinds, 1))
    connection.execute(f'CREATE VIEW "{ANSWER}" AS {sql}')
    connection.execute(f'SELECT {", ".join(cells)} FROM "{ANSWER}"')  # noqa: S608 - of numbers and our own words


def cell(value: Any) -> Any:
    """Return a value as JSON has it: what has no exact form there is text."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        value = value.replace(tzinfo=None)
        return value.isoformat(sep=" ", timespec="seconds" if not value.microsecond else "milliseconds")
    if isinstance(value, (list, tuple)):
        return json.dumps([cell(part) for part in value], ensure_ascii=False)
    if isinstance(value, dict):
        return json.dumps({str(key): cell(part) for key, part in value.items()}, ensure_ascii=False)
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def _line(out: TextIO, value: Any) -> int:
    # Half a surrogate pair cannot be written as UTF-8: ASCII can say everything.
    return out.write(json.dumps(value) + "\n")


def _note_progress(connection: duckdb.DuckDBPyConnection, place: int | None, parent: int | None) -> None:
    """Keep writing how many percent are done, for whoever waits; end with the parent."""
    if place is None:
        return

    def note() -> None:
        # The kernel would send its signal when the parent's thread ends, which may have been a request's.
        while os.getppid() == (parent or os.getppid()):
            percent = connection.query_progress()
            os.pwrite(place, b"%3d" % max(0, min(100, int(percent))), 0)
            time.sleep(STEP)
        os._exit(1)

    threading.Thread(target=note, daemon=True).start()


def sentence(error: duckdb.Error, lake: str) -> str:
    """Return DuckDB's words for people who asked, without where on this machine the files are."""
    if isinstance(error, duckdb.OutOfMemoryException):
        return (
            "This needs more memory than a question may have. "
            "Ask for less: fewer columns or rows, a shorter span of time, or sums instead of lists."
        )
    # Of files that are not Parquet DuckDB says this, or throws what it has no class for.
    if type(error) is duckdb.Error or (
        isinstance(error, duckdb.InvalidInputException) and lake in str(error)
    ):
        return "A file of this snapshot is damaged. Make a newer one."
    return str(error).replace(lake, "").strip()


def main() -> None:
    question = json.loads(sys.stdin.buffer.read())
    lake = Path(question["lake"])
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        try:
            memory, file_size = question["memory"] + ROOM, question["size"] + 1_000_000
            confinement.confine(lake, memory=memory, seconds=question["seconds"], file_size=file_size)
            answer(question, out)
        except (Refused, confinement.NotConfined) as refused:
            _line(out, {"refused": str(refused)})
        except duckdb.IOException:
            _line(out, {"refused": "This snapshot is gone: there are newer ones. Ask again."})
        except duckdb.Error as error:
            _line(out, {"refused": sentence(error, question["lake"])})
        except MemoryError:
            _line(out, {"refused": "This needs more memory than a question may have. Ask for less."})
        out.flush()
        os._exit(0)  # whatever DuckDB still works on does not matter any more


if __name__ == "__main__":
    main()
