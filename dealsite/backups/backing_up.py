"""Writing a backup: the table as it is at one moment (on Amazon while it is read), then the files that it names."""

import os
import tarfile
import tempfile
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.files.storage import Storage, storages

from dealsite import __version__
from dealsite.backups import archive
from dealsite.backups.archive import scratch
from dealsite.backups.restoring import engine_aside
from dealsite.buckets import SEARCH, files
from dealsite.data import SCHEMAS, table
from dealsite.data.table.ids import iso
from dealsite.engine.database import copy_database, databases
from dealsite.engine.programs import EngineError


def back_up(path: Path, *, now: datetime) -> archive.Contents:
    """Write an archive of everything, read it again and return what it holds; ArchiveError, EngineError, OSError.

    The table comes first: a picture is stored before the deal that shows it is written, and never changes, so the
    archive holds every picture that its items name.
    """
    if path.exists():
        raise archive.ArchiveError(f"{path} exists already.")
    folder = path.resolve().parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Made aside in the same folder, for its owner alone, and named when whole.
    with scratch(folder, now=now) as aside:
        made = aside / "archive"
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            with tarfile.open(fileobj=file, mode="w") as tar:
                _write(archive.Writer(tar), aside, now)
            file.flush()
            os.fsync(file.fileno())
        contents = archive.check(made)
        os.link(made, path)  # unlike a rename, never overwrites
    return contents


def _write(writer: archive.Writer, aside: Path, now: datetime) -> None:
    items = aside / archive.TABLE
    counts = _copy_table(items, aside)
    with items.open("rb") as file:
        writer.add(archive.TABLE, file, items.stat().st_size)
    items.unlink()
    for alias, folder in (("default", archive.MEDIA), ("private", archive.PRIVATE)):
        _add_files(writer, storages[alias], folder)
    for name in archive.KEYS:
        if (key := settings.VAR / name).exists():
            with key.open("rb") as file:
                writer.add(name, file, key.stat().st_size)
    schemas = {kind: known.version for kind, known in SCHEMAS.items()}
    writer.close(archive.Manifest(iso(now), __version__, schemas, counts, writer.files))


def _copy_table(items: Path, aside: Path) -> dict[str, int]:
    """Write the table's items into a file; of the embedded engine through a copy of its file, which is checked."""
    if not settings.DEALSITE_EMBEDDED:
        return _scan(items)
    found = databases(settings.VAR)
    if not found:
        raise EngineError(f"There is no engine's data in {settings.VAR}.")
    with tempfile.TemporaryDirectory(dir=aside) as folder:
        for database in found:
            copy = Path(folder) / database.relative_to(settings.VAR)
            copy.parent.mkdir(exist_ok=True)
            copy_database(database, copy)
        with engine_aside(Path(folder)):
            return _scan(items)


def _scan(items: Path) -> dict[str, int]:
    return archive.write_items(table.scan_all(consistent=True, as_stored=True), items)


def _add_files(writer: archive.Writer, storage: Storage, folder: str) -> None:
    for name in files(storage):
        if folder == archive.PRIVATE and name.startswith(SEARCH):
            continue
        try:
            file, size = storage.open(name), storage.size(name)
        except FileNotFoundError:
            continue  # its time was over a moment ago
        with file:
            writer.add(f"{folder}/{name}", file, size)
