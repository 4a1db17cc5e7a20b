"""Reading the index: each process keeps it open, and looks before each search whether there is a newer commit.

One generation of files is in use, and a small file names which. A rebuild fills a new one beside it, and takes its
place by replacing that file: whoever searches meanwhile sees the old one whole, then the new one whole.

An index is whole when the files that its meta.json names are there, each with the checksum that it carries. A
segment's file never changes. At its end are a footer of JSON with the CRC32 of what stands before it, the footer's
length and a magic number (tantivy's `footer.rs`); tantivy reads them, but not the checksum.
"""

import contextlib
import os
import re
import secrets
import shutil
import struct
import threading
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import orjson
import structlog
import tantivy
from django.conf import settings

from dealsite.search.documents import FORMAT, Stored, StoredDocument
from dealsite.search.office import OfficeDocument
from dealsite.search.on_disk import FolderSearcher, open_index
from dealsite.search.queries import Found, Searcher
from dealsite.stream.consumer_status import is_panic

META, MANAGED = "meta.json", ".managed.json"
PARTS = ("idx", "pos", "term", "store", "fast", "fieldnorm")
MAGIC = 1337
TRIES = 3  # if segments are merged while they are looked at


class Broken(ValueError):
    """A file of the index is missing or damaged."""


def check_generation(generation: Path) -> None:
    """Raise Broken unless both parts of a generation are whole."""
    for kind in KINDS:
        check_files(generation / kind.part, {})


def check_files(folder: Path, whole: dict[str, tuple[int, int]]) -> None:
    """Raise Broken unless a part is whole; `whole` (name -> size, time of change) keeps what was read."""
    for tried in range(TRIES):
        meta = _read(folder / META)
        try:
            names = named(meta)
            found = {name: _look(folder / name, whole.get(name)) for name in names}
        except (OSError, ValueError, LookupError, TypeError, struct.error) as error:
            if tried + 1 < TRIES and _read(folder / META) != meta:
                continue
            raise Broken(f"{folder.name}: {error}") from error
        whole.clear()
        whole.update(found)
        return


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise Broken(str(error)) from error


def named(meta: bytes | str) -> list[str]:
    """Return the names of the files that a meta.json needs."""
    names = []
    for segment in orjson.loads(meta)["segments"]:
        stem = segment["segment_id"].replace("-", "")
        names += [f"{stem}.{part}" for part in PARTS]
        if segment.get("deletes"):
            names.append(f"{stem}.{segment['deletes']['opstamp']}.del")
    return names


def _look(file: Path, known: tuple[int, int] | None) -> tuple[int, int]:
    """Return a file's size and time of change, its checksum compared if they are not as they were."""
    found = file.stat()
    seen = (found.st_size, found.st_mtime_ns)
    if seen != known:
        content = file.read_bytes()
        length, magic = struct.unpack("<II", content[-8:])
        if magic != MAGIC or length > len(content) - 8:
            raise Broken(f"{file.name} is damaged.")
        footer = orjson.loads(content[-8 - length : -8])
        if zlib.crc32(memoryview(content)[: -8 - length]) != footer["crc"]:
            raise Broken(f"{file.name} is damaged.")
    return seen


CURRENT = "current"
KINDS: tuple[type[Stored], ...] = (StoredDocument, OfficeDocument)  # the office's part in a folder of its own


def readable(*kinds: type[Stored]) -> str:
    """Return how the generations begin that a build can read: it makes words, indexes and keeps the same of a thing."""
    kept = [(kind.fields, kind.__match_args__) for kind in kinds]
    return f"{FORMAT}-{zlib.crc32(orjson.dumps(kept)):08x}"


READABLE = readable(*KINDS)
GENERATION = re.compile(rf"{READABLE}-[0-9a-f]+")


def index_root() -> Path:
    """Return the folder of all generations."""
    return Path(settings.SEARCH_ROOT)


def current_generation(folder: Path) -> Path | None:
    """Return the generation in use; None where there is none, or one that this build cannot read."""
    try:
        name = (folder / CURRENT).read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    return folder / name if GENERATION.fullmatch(name) and (folder / name).is_dir() else None


def new_generation(folder: Path) -> Path:
    """Make the folder of the next generation, which is not in use yet."""
    # A name that none had before: whoever still writes to a deleted one, or reads it, must not meet the new one.
    made = folder / f"{READABLE}-{secrets.token_hex(8)}"
    made.mkdir(mode=0o700, parents=True)
    return made


def use_generation(generation: Path) -> None:
    """Let a generation be the one in use, and remove the others: who reads them has their files open."""
    folder = generation.parent
    temporary = folder / f"{CURRENT}.new"
    temporary.write_text(generation.name, "ascii")
    temporary.replace(folder / CURRENT)
    for other in _generations(folder):
        if other.name != generation.name:
            shutil.rmtree(other, ignore_errors=True)


def unused_generations(folder: Path) -> list[Path]:
    """Return the generations that are not in use: one that is being made, or what was left of it."""
    used = current_generation(folder)
    return [path for path in _generations(folder) if path != used]


def index_stamp(folder: Path, part: str = "") -> tuple[int, ...]:
    """Return what changes with every commit of a part and every new generation; empty where there is no index."""
    with contextlib.suppress(OSError):
        named = os.stat(f"{folder}/{CURRENT}")  # noqa: PTH116 - each search asks: a tenth of the time of Path
        generation = _generation(folder, named.st_ino, named.st_mtime_ns)
        if generation is not None:
            written = os.stat(f"{generation}/{part}/{META}")  # noqa: PTH116
            return (named.st_ino, named.st_mtime_ns, written.st_ino, written.st_mtime_ns, written.st_size)
    return ()


@lru_cache(maxsize=4)
def _generation(folder: Path, _number: int, _changed_at: int) -> Path | None:
    return current_generation(folder)


def _generations(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [path for path in folder.iterdir() if re.fullmatch(r"\d+(?:-[0-9a-f]+)+", path.name)]


logger = structlog.get_logger(__name__)
_lock = threading.Lock()
_open: dict[tuple[Path, str], tuple[tuple[int, ...], Path, tantivy.Index]] = {}


class Unreadable(Exception):
    """The index is damaged, or was deleted while it was read; the worker builds it anew."""


@contextlib.contextmanager
def unreadable_if_it_fails() -> Iterator[None]:
    """Raise Unreadable for whatever tantivy, or what it gives back, makes of files that are not whole."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, ArithmeticError) as error:
        raise Unreadable(repr(error)) from error
    except BaseException as error:
        if is_panic(error):
            raise Unreadable(repr(error)) from error
        raise


def searcher(kind: type[Found]) -> Searcher[Found] | None:
    """Return the newest commit of a part to search in; None where there is no index, or none that can be read."""
    root = index_root()
    stamp = index_stamp(root, kind.part)
    if not stamp:
        return None
    with _lock:
        index = _renewed(root, kind.part, stamp)
        return FolderSearcher(kind, index.searcher()) if index else None


def forget() -> None:
    """Open the index anew at the next look."""
    with _lock:
        _open.clear()


def _renewed(root: Path, part: str, stamp: tuple[int, ...]) -> tantivy.Index | None:
    known = _open.get((root, part))
    if known and known[0] == stamp:
        return known[2]
    generation = current_generation(root)
    try:
        if generation is None:
            return None
        with unreadable_if_it_fails():
            if known and known[1] == generation:
                index = known[2]
            else:
                index = open_index(str(generation / part))
                index.config_reader("manual")
            index.reload()
    except Unreadable as error:
        logger.warning("search_index_unreadable", folder=str(root), reason=str(error))
        _open.pop((root, part), None)
        return None
    _open[root, part] = (stamp, generation, index)
    return index
