"""The archive of a backup: a tar with the table's items, the files and the keys, which is checked by its manifest.

table.jsonl.gz                       the items, a line each, as DynamoDB's own exports have them
media/ private/                      pictures, and files that only the back office sees
secret_key secret_key_fallbacks demo-loaded
backup.json                          the manifest, last: what is there, how large, and its hash
"""

import contextlib
import gzip
import hashlib
import io
import shutil
import tarfile
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import IO, Any

import orjson
from django.conf import settings

from dealsite.data.table.configuration import KEYS as OWN_KEYS, configuration
from dealsite.data.table.convert import Item, from_attributes, to_attributes
from dealsite.data.table.ids import from_iso, iso
from dealsite.data.table.schema import TTL_ATTRIBUTE
from dealsite.home import COMMAND

FORMAT = 1
TABLE, MANIFEST = "table.jsonl.gz", "backup.json"
MEDIA, PRIVATE = "media", "private"
KEYS = ("secret_key", "secret_key_fallbacks", "demo-loaded")
CHUNK = 1_000_000
PARTITION_KEY_BYTES, SORT_KEY_BYTES = 2048, 1024
MOST_LINE = (
    4_000_000  # bytes: an item has 400 KB, of which a line makes nine times as much at most (of empty texts)
)
TYPE_CHARACTERS, NAME_BYTES, PART_BYTES = 100, 1024, 255
DAMAGED = (
    *(tarfile.TarError, OSError, EOFError, zlib.error, RecursionError),
    *(ArithmeticError, AttributeError, KeyError, TypeError, ValueError),
)


class ArchiveError(Exception):
    """An archive cannot be written, read or restored; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive holds: items by type, and the size and SHA-256 of each file; `schemas` are those of its build."""

    made_at: str
    release: str
    schemas: dict[str, int]
    items: dict[str, int]
    files: dict[str, tuple[int, str]] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def total(self) -> int:
        """How many items there are."""
        return sum(self.items.values())


@dataclass(frozen=True, slots=True)
class Contents:
    """An archive that was read to its end and is whole; `missing` are pictures that its items name and it lacks."""

    manifest: Manifest
    missing: list[str]


class HashingReader(io.RawIOBase):
    """A file that is read once, and what came of it so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._hash, self.size = file, hashlib.sha256(), 0

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self._hash.update(content)
        self.size += len(content)
        return content

    @property
    def found(self) -> tuple[int, str]:
        return self.size, self._hash.hexdigest()

    def drain(self) -> None:
        while self.read(CHUNK):
            pass


class Writer:
    """Adds files to an archive, and their sizes and hashes to its manifest."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.files: dict[str, tuple[int, str]] = {}

    def add(self, name: str, file: IO[bytes], size: int) -> None:
        """Add a file of a size under a name."""
        reader = HashingReader(file)
        self._tar.addfile(_info(name, size), reader)
        self.files[name] = reader.found

    def close(self, manifest: Manifest) -> None:
        """Add the manifest: an archive without it is not whole."""
        content = orjson.dumps(asdict(manifest))
        self._tar.addfile(_info(MANIFEST, len(content)), io.BytesIO(content))


def _info(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info


def write_items(items: Iterable[Item], path: Path) -> dict[str, int]:
    """Write items into a compressed file, a line each; return their numbers by type."""
    counts = Counter[str]()
    with gzip.open(path, "wb", compresslevel=4) as file:
        for item in items:
            file.write(orjson.dumps({"Item": to_attributes(item)}, option=orjson.OPT_APPEND_NEWLINE))
            counts[type_of(item)] += 1
    return dict(counts)


def read_items(file: IO[bytes] | io.RawIOBase) -> Iterator[Item]:
    """Yield the items of a compressed file; ArchiveError for what no table takes as one."""
    with gzip.open(file, "rb") as lines:
        for number, line in enumerate(iter(lambda: lines.readline(MOST_LINE + 1), b""), 1):
            if len(line) > MOST_LINE:
                raise ArchiveError(f"line {number:,} of its table is longer than any item.")
            item = from_attributes(orjson.loads(line)["Item"])
            if wrong := _wrong_attribute(item):
                raise ArchiveError(
                    f"the item in line {number:,} of its table has no {wrong}, or a wrong one."
                )
            yield item


def _wrong_attribute(item: Item) -> str:
    """Return which attribute keeps an item from being stored or expired, '' if none: its own keys are needed."""
    for index in (OWN_KEYS, *configuration().indexes.values()):
        for name, most in (index.partition_key, PARTITION_KEY_BYTES), (index.sort_key or "", SORT_KEY_BYTES):
            key = item.get(name, "" if index is OWN_KEYS else "-")
            if type(key) is not str or not 0 < len(key.encode()) <= most:
                return name
    return "" if type(item.get(TTL_ATTRIBUTE, 0)) is int else TTL_ATTRIBUTE


def type_of(item: Item) -> str:
    """Return an item's type as archives count it."""
    return str(item.get("type", "-"))[:TYPE_CHARACTERS]


def opened(path: Path) -> tarfile.TarFile:
    """Open an archive; a compressed one is refused: its headers, which are read whole, could be of any size."""
    return tarfile.open(path, "r:")


def members(tar: tarfile.TarFile) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield each file of an archive with its name, in their order; ArchiveError for what no backup holds."""
    files, folders = set[str](), set[str]()
    for member in tar:
        # A sparse file would be as long as it says, whatever the archive's own length.
        file = tar.extractfile(member) if member.isfile() and not member.issparse() else None
        first, _, rest = member.name.partition("/")
        is_ours = (first in (MEDIA, PRIVATE) and rest) or member.name in (TABLE, MANIFEST, *KEYS)
        if file is None or not is_ours or not {"", ".", ".."}.isdisjoint(member.name.split("/")):
            raise ArchiveError(
                f"It holds {member.name!r}, which is part of no backup. Archives of releases without"
                f" `{COMMAND} restore` are unpacked into an empty folder, as their own operations.md says."
            )
        above = {str(folder) for folder in PurePosixPath(member.name).parents}
        if member.name in files | folders or not files.isdisjoint(above):
            raise ArchiveError(f"it holds {member.name!r} twice.")
        encoded = member.name.encode()
        longest = max(map(len, encoded.split(b"/")))
        if len(encoded) > NAME_BYTES or longest > PART_BYTES or b"\0" in encoded:
            raise ArchiveError(f"it holds a name that no file can have: {member.name[:80]!r}.")
        files.add(member.name)
        folders |= above
        yield member.name, file


def check(path: Path) -> Contents:
    """Read an archive to its end, and compare all of it with its manifest; ArchiveError unless it is whole."""
    try:
        return _check(path)
    except ArchiveError as error:
        raise ArchiveError(f"{path} is no backup: {error}") from None
    except DAMAGED as error:
        raise ArchiveError(f"{path} is damaged, or no backup: {error}") from error


def _check(path: Path) -> Contents:
    manifest: Manifest | None = None
    found, counts, pictures = dict[str, tuple[int, str]](), Counter[str](), set[str]()
    with opened(path) as tar:
        for name, file in members(tar):
            if name == MANIFEST:
                manifest = _manifest(orjson.loads(file.read()))
                continue
            reader = HashingReader(file)
            if name == TABLE:
                for item in read_items(reader):
                    counts[type_of(item)] += 1
                    pictures.update(_pictures(item))
            reader.drain()
            found[name] = reader.found
    if manifest is None:
        raise ArchiveError("it ends before its manifest.")
    wrong = sorted(n for n in {**found, **manifest.files} if found.get(n) != manifest.files.get(n))
    if wrong:
        raise ArchiveError(f"{', '.join(wrong[:5])}: missing, or not as it was written.")
    if counts != manifest.items:
        raise ArchiveError(f"it holds {counts.total():,} items instead of {manifest.total:,}.")
    there = {name.rpartition("-")[0] for name in found}  # each size has a file of its own: NAME-480.webp
    return Contents(manifest, sorted(name for name in pictures if f"{MEDIA}/{name}" not in there))


def _manifest(read: dict[str, Any]) -> Manifest:
    if read["format"] != FORMAT:
        raise ArchiveError(f"it is of the format {read['format']}, which a newer release restores.")
    return Manifest(
        made_at=iso(from_iso(read["made_at"])),
        release=str(read["release"]),
        schemas={kind: int(version) for kind, version in read["schemas"].items()},
        items={kind: int(number) for kind, number in read["items"].items()},
        files={name: (int(size), str(said)) for name, (size, said) in read["files"].items()},
    )


def _pictures(item: Item) -> Iterator[str]:
    """Yield the names of the pictures that an item shows."""
    for holder in (item, item.get("card")):
        for name in ("picture", "logo"):
            if isinstance(holder, dict) and isinstance(picture := holder.get(name), dict):
                yield picture["name"][:NAME_BYTES]


OURS = f"dealsite-{'[0-9]' * 8}-{'[0-9]' * 6}.tar"  # what `new` calls them; others are somebody's own
SCRATCH = ".dealsite-scratch-"
LEFT_AFTER = timedelta(
    days=2
)  # longer than any command takes: whatever is older was left by one that was killed


def new_archive(now: datetime) -> Path:
    """Return the path of an archive that is made now."""
    return Path(settings.DEALSITE_BACKUPS / f"dealsite-{now:%Y%m%d-%H%M%S}.tar")


def newest_archive() -> Path:
    """Return the newest archive; ArchiveError if there is none."""
    found = sorted(settings.DEALSITE_BACKUPS.glob("*.tar"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise ArchiveError(
            f"There is no backup in {settings.DEALSITE_BACKUPS}: `{COMMAND} backup` makes one."
        )
    return Path(found[-1])


def remove_all_archives_but(kept: int) -> None:
    """Remove the oldest archives that were named by their time, all but the `kept` newest."""
    for path in sorted(settings.DEALSITE_BACKUPS.glob(OURS), reverse=True)[kept:]:
        path.unlink()


@contextlib.contextmanager
def scratch(beside: Path, *, now: datetime) -> Iterator[Path]:
    """Make a folder for the time of a block, for its owner alone; remove what killed processes have left."""
    for left in beside.glob(f"{SCRATCH}*"):
        if left.stat().st_mtime < (now - LEFT_AFTER).timestamp():
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=beside, prefix=SCRATCH) as folder:
        yield Path(folder)
