"""Copies a data folder, whether its site runs or not."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tarfile
import tempfile
from pathlib import Path
from typing import IO

from dealsite.engine.programs import DATABASE, EngineError
from dealsite.engine.stream import connect

ALSO_KEPT = ("secret_key", "demo-loaded", "media")


def databases(var: Path) -> list[Path]:
    """The engine's SQLite files in a data folder."""
    native = var / DATABASE["native"]
    return [path for path in (native, *sorted((var / DATABASE["local"]).glob("*.db"))) if path.exists()]


def back_up(var: Path, archive: Path) -> None:
    """Write a tar archive of a data folder; unpacked, it is a data folder again. EngineError if that cannot be.

    The database is copied first and in one piece: a picture is stored before the deal that shows it is
    written, and never changes, so the archive holds every picture that its database names.
    """
    files = databases(var)
    if not files:
        raise EngineError(f"There is no engine's data in {var}. Amazon's tables have backups of their own.")
    if archive.exists():
        raise EngineError(f"{archive} exists already.")
    # Made aside in the same folder, for its owner alone, and named when whole.
    handle, made = tempfile.mkstemp(dir=archive.resolve().parent, prefix=f".{archive.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            _write(var, files, file)
            file.flush()
            os.fsync(file.fileno())
        os.link(made, archive)  # unlike a rename, never overwrites
    finally:
        Path(made).unlink()


def _write(var: Path, files: list[Path], file: IO[bytes]) -> None:
    scratch = tempfile.TemporaryDirectory(prefix="dealsite-backup-")
    with scratch as folder, tarfile.open(fileobj=file, mode="w") as tar:
        for number, database in enumerate(files):
            copy = Path(folder) / str(number)
            copy_database(database, copy)
            tar.add(copy, database.relative_to(var).as_posix())
        for name in ALSO_KEPT:
            if (var / name).exists():
                tar.add(var / name, name)


def copy_database(database: Path, copy: Path) -> None:
    """Copy a SQLite file that others may be writing to, as it is at one moment, and check the copy."""
    with contextlib.closing(connect(database)) as source, contextlib.closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
        problems = [text for (text,) in target.execute("PRAGMA quick_check")]
    if problems != ["ok"]:
        raise EngineError(f"The copy of {database} is damaged: {problems[0]}")
