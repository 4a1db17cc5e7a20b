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


def mend_stream(database: Path) -> None:
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
        newest = [
            identifier
            for (name,) in connection.execute("SELECT DISTINCT table_name FROM _stream_records").fetchall()
            for (identifier,) in connection.execute(
                "SELECT id FROM _stream_records WHERE table_name = ?"
                " ORDER BY CAST(sequence_number AS INTEGER) DESC LIMIT 1",
                (name,),
            )
        ]
        kept = ", ".join("?" * len(newest))
        while True:
            deleted = connection.execute(
                f"DELETE FROM _stream_records WHERE id IN (SELECT id FROM _stream_records"  # noqa: S608
                f" WHERE created_at < ? AND id NOT IN ({kept}) ORDER BY id LIMIT ?)",
                (before, *newest, BATCH),
            ).rowcount
            trimmed += deleted
            if deleted < BATCH:
                return trimmed
