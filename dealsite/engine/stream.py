"""Keeps the native engine's stream fast and short. docs/decisions/0002-stream-mend.md says why and how."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path

INDEX = "app_stream_seq"
BUSY_SECONDS = 10
KEPT_SECONDS = 24 * 3600  # as long as Amazon keeps a stream's records
BATCH = 500  # records deleted at once: the engine's writes wait no longer than for that


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
    newest = (
        "SELECT id FROM _stream_records WHERE table_name = ?"
        " ORDER BY CAST(sequence_number AS INTEGER) DESC LIMIT 1"
    )
    return [identifier for name in names for (identifier,) in connection.execute(newest, name)]
