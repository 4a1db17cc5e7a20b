"""Restoring a backup, of whatever engine: into an empty data folder, or into a new table and its buckets."""

import contextlib
import fcntl
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO

from django.core.files.base import File
from django.core.files.storage import storages
from django.utils.translation import gettext

from dealsite import data
from dealsite.backups import archive
from dealsite.backups.archive import MANIFEST, MEDIA, PRIVATE, TABLE, ArchiveError, scratch
from dealsite.data import SCHEMAS, table
from dealsite.data.entities.chart import RETIRED
from dealsite.data.entities.operations import COPY
from dealsite.data.entities.work import AUDIT_ENTRY, SITE
from dealsite.data.integrity import checks
from dealsite.data.integrity.problem import Pace, Problem
from dealsite.data.jobs import site_switch
from dealsite.data.table import schema
from dealsite.data.table.convert import Item
from dealsite.engine.database import RESTORING
from dealsite.engine.programs import DATABASE, kind_for
from dealsite.engine.server import Engine


@contextlib.contextmanager
def engine_aside(folder: Path) -> Iterator[None]:
    """Run an engine on a folder, and let all calls of this process go to it. Only for commands, which have one thread.

    The tables have the names that they have in the settings.
    """
    with Engine(folder, kind_for(folder)) as engine:
        url = engine.url
        table.configure(lambda: data.configuration()._replace(endpoint_url=url), translate=gettext)
        table.reset()
        try:
            yield
        finally:
            table.configure(data.configuration, translate=gettext)
            table.reset()


BATCH = 100
BATCH_BYTES = 1_000_000
MADE_BEFORE = ("secret_key", "lock")  # by a command or a site, before it can ask what is there
SQLITE = [DATABASE["native"] + ending for ending in ("-wal", "-shm", "-journal")]
MARK = Counter({AUDIT_ENTRY.type: 1})  # what a copy is marked by, besides its switch
MOVED = {MEDIA, PRIVATE, *archive.KEYS, *DATABASE.values(), *SQLITE}  # by a restore into its folder

Advance = Callable[
    [int, int], None
]  # is told how many more items were written, and how many there are in all


def into_folder(path: Path, folder: Path, *, now: datetime, advance: Advance) -> archive.Contents:
    """Restore an archive into an empty folder, which is a data folder then; ArchiveError, EngineError, OSError.

    Ended before its end it leaves a folder that no site starts on, and into which it can be called again.
    """
    folder = folder.resolve()  # the engine works in another one
    if path.resolve().is_relative_to(folder):
        raise ArchiveError(f"{path} lies in {folder}, which has to be empty. Move it elsewhere.")
    contents = _checked(path)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(folder):
        _empty(folder)
        made = folder / RESTORING
        made.mkdir(mode=0o700)
        _unpack(path, made)
        with engine_aside(made):
            schema.create_table()
            with (made / TABLE).open("rb") as file:
                _compare(_load(file, contents.manifest, now, advance, table.load))
            _mark(now)
        (made / TABLE).unlink()
        database = tuple(DATABASE.values())
        for one in sorted(made.iterdir(), key=lambda one: one.name.startswith(database)):
            if not one.name.startswith("engine") or one.name.startswith(database):
                one.replace(folder / one.name)
        shutil.rmtree(made)
    return contents


def into_table(path: Path, *, now: datetime, advance: Advance, resume: bool = False) -> archive.Contents:
    """Restore an archive into the table and the storages of the settings; ArchiveError, DataError.

    The table must be missing or empty. With `resume` what is missing is added to what an earlier call wrote; nothing
    that is there is written over, but for files of another size.
    """
    contents = _checked(path)
    schema.create_table()
    is_empty = not table.scan_page(limit=1).items
    if not is_empty and not resume:
        raise ArchiveError(
            f"The table {table.name()} holds items already. Name a new one with DEALSITE_TABLE; or, if an earlier"
            " restore of this archive did not end, go on with --resume."
        )
    _mark(now)  # first: what is inserted then writes nothing over
    with archive.opened(path) as tar:
        for name, file in archive.members(tar):
            first, _, rest = name.partition("/")
            if name == TABLE:
                loaded = _load(file, contents.manifest, now, advance, _insert) + MARK
            elif rest:
                storage = storages["default" if first == MEDIA else "private"]
                size, _ = contents.manifest.files[name]
                if storage.exists(rest) and storage.size(rest) == size:
                    continue
                storage.delete(rest)  # a part, as it is left where a process or a disk ended
                storage.save(rest, File(file, rest))
    _compare(loaded)
    return contents


def check(path: Path, *, now: datetime, advance: Advance) -> tuple[archive.Contents, list[Problem]]:
    """Restore an archive beside it, check its whole table and remove it again; ArchiveError, EngineError, OSError.

    It needs as much room on the disk of the backups as the site's own data take.
    """
    with scratch(path.resolve().parent, now=now) as aside:
        contents = into_folder(path, aside / "var", now=now, advance=advance)
        with engine_aside(aside / "var"):
            return contents, checks.find(Pace())


def _mark(now: datetime) -> None:
    """Say that it is a copy, which rests until somebody says that it is the site."""
    site_switch.switch_site(COPY, message="", by=SITE, now=now)


def _checked(path: Path) -> archive.Contents:
    contents = archive.check(path)
    known = {kind: one.version for kind, one in SCHEMAS.items()}
    schemas = contents.manifest.schemas.items()
    newer = [kind for kind, version in schemas if version > known.get(kind, 0) and kind not in RETIRED]
    if newer:
        raise ArchiveError(
            f"{path} was made by release {contents.manifest.release}, which knows more than this one of"
            f" {', '.join(sorted(newer)[:5])}. Restore it with that release, or a later one."
        )
    return contents


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock a folder as a running site does."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ArchiveError(f"{folder} is in use by a site, or by another restore.") from None
    finally:
        os.close(opened)


def _empty(folder: Path) -> None:
    """Refuse a folder that holds anything, but for what an earlier restore moved into it: that is removed."""
    is_left_over = (folder / RESTORING).exists()
    there = sorted(one for one in folder.iterdir() if one.name not in (*MADE_BEFORE, RESTORING))
    for one in there:
        if not (is_left_over and one.name in MOVED):
            raise ArchiveError(f"{folder} is not empty: it holds {one.name}. Name an empty folder.")
    for one in [*there, folder / RESTORING]:  # the mark of an ended restore goes last
        if one.is_dir():
            shutil.rmtree(one)
        else:
            one.unlink(missing_ok=True)


def _unpack(path: Path, folder: Path) -> None:
    with archive.opened(path) as tar:
        for name, file in archive.members(tar):
            if name == MANIFEST:
                continue
            target = folder / name
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as made:
                shutil.copyfileobj(file, made)


def _insert(items: list[Item]) -> None:
    table.insert(items, as_stored=True)


def _load(
    file: IO[bytes],
    manifest: archive.Manifest,
    now: datetime,
    advance: Advance,
    write: Callable[[list[Item]], None],
) -> Counter[str]:
    """Write items, but for those that have expired; return the numbers of all by type."""
    loaded = Counter[str]()
    for batch in _batches(item for item in archive.read_items(file) if not schema.has_expired(item, now=now)):
        write(batch)
        loaded.update(map(archive.type_of, batch))
        advance(len(batch), manifest.total)
    return loaded


def _batches(items: Iterator[Item]) -> Iterator[list[Item]]:
    """Yield items 100 at a time, or fewer where they are large."""
    batch, size = list[Item](), 0
    for item in items:
        length = len(str(item))
        if batch and (len(batch) == BATCH or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += length
    if batch:
        yield batch


def _compare(loaded: Counter[str]) -> None:
    """Read the table again; ArchiveError where it has fewer items of a type than were written."""
    found = Counter(map(archive.type_of, table.scan_all(consistent=True, as_stored=True)))
    if lost := loaded - found:
        raise ArchiveError(
            f"{lost.total():,} items are missing in the table after the restore: {dict(lost)}."
        )
