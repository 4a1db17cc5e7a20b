"""Whether an index's files are whole: those that its meta.json names are there, each with the checksum that it carries.

A segment's file never changes. At its end are a footer of JSON with the CRC32 of what stands before it, the
footer's length and a magic number (tantivy's `footer.rs`); tantivy reads them, but not the checksum.
"""

import struct
import zlib
from pathlib import Path

import orjson

META = "meta.json"
PARTS = ("idx", "pos", "term", "store", "fast", "fieldnorm")
MAGIC = 1337
TRIES = 3  # if segments are merged while they are looked at


class Broken(ValueError):
    """A file of the index is missing or damaged."""


def check(generation: Path, whole: dict[str, tuple[int, int]]) -> None:
    """Raise Broken unless a generation is whole; `whole` (name -> size, time of change) keeps what was read."""
    for tried in range(TRIES):
        meta = _read(generation / META)
        try:
            names = _named(meta)
            found = {name: _look(generation / name, whole.get(name)) for name in names}
        except (OSError, ValueError, LookupError, TypeError, struct.error) as error:
            if tried + 1 < TRIES and _read(generation / META) != meta:
                continue
            raise Broken(f"{generation.name}: {error}") from error
        whole.clear()
        whole.update(found)
        return


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise Broken(str(error)) from error


def _named(meta: bytes) -> list[str]:
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
