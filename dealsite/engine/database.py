"""The embedded engine's SQLite files: the stream's index and trimming, and copies of a file in use.

docs/decisions/0002-stream-mend.md says why the native engine's stream needs that.
"""

import contextlib
import sqlite3
import time
from pathlib import Path

from dealsite.engine.programs import DATABASE, EngineError
from dealsite.environment import ENGINE_ENV
from dealsite.home import COMMAND

INDEX = "app_stream_seq"
BUSY_SECONDS = 10
KEPT_SECONDS = 24 * 3600  # as long as Amazon keeps a stream's records
BATCH = 500  # records deleted at once: the engine's writes wait no longer than for that
RESTORING = ".restoring"  # in a data folder: what is being restored into it
RESTORE = (
    f"Restore a backup into an empty folder: {COMMAND} restore ARCHIVE --folder FOLDER, and name that with"
    " DEALSITE_VAR (docs/operations.md)."
)


def connect(database: Path) -> sqlite3.Connection:
    """Join the engine in its file; never creates one."""
    return sqlite3.connect(
        f"{database.resolve().as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )


def repair_stream(database: Path) -> None:
    """Give the stream's newest record an index to be found by; harmless when it is there or the engine runs."""
    with contextlib.closing(connect(database)) as connection:
        connection.execute(
            f"CREATE INDEX IF NOT EXISTS {INDEX} ON _stream_records(table_name, CAST(sequence_number AS INTEGER))"
        )


def trim_stream(database: Path, *, now: float | None = None) -> int:
    """Delete what is older than a day, but never a table's newest record, from which it counts on; how many."""
    before = int((time.time() if now is None else now) - KEPT_SECONDS)
    trimmed = 0
    with contextlib.closing(connect(database)) as connection:
        end = _first_id_since(connection, before)
        kept = _newest_ids(connection)
        marks = ", ".join("?" * len(kept))
        while True:
            deleted = connection.execute(
                f"DELETE FROM _stream_records WHERE id IN (SELECT id FROM _stream_records"  # noqa: S608
                f" WHERE id < ? AND id NOT IN ({marks}) ORDER BY id LIMIT ?)",
                (end, *kept, BATCH),
            ).rowcount
            trimmed += deleted
            if deleted < BATCH:
                return trimmed


def _first_id_since(connection: sqlite3.Connection, moment: int) -> int:
    """The id of the first record that is to stay: ids rise with time, so that nothing newer is read."""
    found = connection.execute(
        "SELECT id FROM _stream_records WHERE created_at >= ? ORDER BY id LIMIT 1", (moment,)
    ).fetchone()
    return found[0] if found else 2**63 - 1


def _newest_ids(connection: sqlite3.Connection) -> list[int]:
    names = connection.execute("SELECT table_name FROM _tables").fetchall()
    of_table = "SELECT id FROM _stream_records WHERE table_name = ?"
    newest = f"{of_table} ORDER BY CAST(sequence_number AS INTEGER) DESC LIMIT 1"
    return [identifier for name in names for (identifier,) in connection.execute(newest, name)]


def databases(var: Path) -> list[Path]:
    """The engine's SQLite files in a data folder."""
    native = var / DATABASE["native"]
    return [path for path in (native, *sorted((var / DATABASE["local"]).glob("*.db"))) if path.exists()]


def check_there(var: Path) -> None:
    """Refuse a data folder that was in use and whose table is gone: nobody wants an empty one in its place.

    Likewise one that a restore has left half full.
    """
    if (var / RESTORING).exists():
        raise EngineError(f"A restore into {var} did not end. Call it again: it begins anew.")
    if (var / ENGINE_ENV).exists() and not any(_holds_tables(path) for path in databases(var)):
        raise EngineError(
            f"The table is gone: the data folder {var} was in use, and its {DATABASE['native']} is missing or empty."
            f" {RESTORE} To begin with an empty table all the same, remove {var / ENGINE_ENV}"
        )


def _holds_tables(database: Path) -> bool:
    """Tell whether there is a table, or a file that cannot be read, of which `explained` tells more."""
    if database.name != DATABASE["native"] or not database.stat().st_size:
        return database.stat().st_size > 0
    try:
        with contextlib.closing(connect(database)) as connection:
            return bool(connection.execute("SELECT count(*) FROM _tables").fetchone()[0])
    except sqlite3.DatabaseError:
        return True


def explained(var: Path, trouble: str) -> EngineError:
    """Return the error for an engine in trouble: where its files are damaged, that is the reason."""
    for path in databases(var):
        try:
            with contextlib.closing(connect(path)) as connection:
                found = [text for (text,) in connection.execute("PRAGMA quick_check(1)")]
        except sqlite3.DatabaseError as error:
            found = [str(error)]
        if found != ["ok"]:
            return EngineError(
                f"The table's file {path} is damaged: {found[0].strip()}. {RESTORE}\n{trouble}"
            )
    return EngineError(trouble)


def copy_database(database: Path, copy: Path) -> None:
    """Copy a SQLite file that others may be writing to, as it is at one moment, and check the copy."""
    with contextlib.closing(connect(database)) as source, contextlib.closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
        problems = [text for (text,) in target.execute("PRAGMA quick_check")]
    if problems != ["ok"]:
        raise EngineError(f"The copy of {database} is damaged: {problems[0]}")
