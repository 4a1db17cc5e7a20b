"""Where the lake's files lie: a folder or a bucket. A file is there whole or not at all, and never changes."""

from __future__ import annotations

import contextlib
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from django.conf import settings

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


class Folder:
    """A store on this machine's disk; a path has forward slashes and is the same in a folder and in a bucket."""

    check_seconds = 1.0  # between two looks whether all its files are there

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, path: str, content: bytes) -> tuple[int, int] | None:
        """Write a file, or write it over; return its size (bytes) and time (ns), None where that is not known."""
        target = self.root / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(dir=target.parent, prefix=".making-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                written = os.fstat(file.fileno())
            Path(made).replace(target)
            _sync(target.parent)
            return written.st_size, written.st_mtime_ns
        except BaseException:
            Path(made).unlink(missing_ok=True)
            raise

    def get(self, path: str) -> bytes | None:
        """Return a file, or None."""
        try:
            return (self.root / path).read_bytes()
        except FileNotFoundError:
            return None

    def paths(self, prefix: str) -> list[str]:
        """Return the paths of all files below a folder, sorted."""
        return sorted(self.stats(prefix))

    def stats(self, prefix: str) -> dict[str, tuple[int, int]]:
        """Return size (bytes) and time of change (ns) of all files below a folder, by their paths."""
        found = {}
        start = len(str(self.root)) + 1
        for folder, _, names in os.walk(self.root / prefix):
            for name in names:
                if name.startswith("."):
                    continue
                path = f"{folder}/{name}"
                with contextlib.suppress(FileNotFoundError):  # deleted just now
                    seen = os.stat(path)  # noqa: PTH116 - of each file of a lake, once a second
                    found[path[start:]] = (seen.st_size, seen.st_mtime_ns)
        return found

    def delete(self, path: str) -> None:
        """Remove a file; it may be gone already."""
        (self.root / path).unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """See to it that a file's name, too, outlives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Bucket:
    """A store in S3 with the same methods, below a prefix: `s3://bucket/prefix`."""

    check_seconds = 300.0  # each look costs a request for each 1,000 files

    def __init__(self, address: str, filesystem: FileSystem | None = None) -> None:
        from pyarrow import fs  # 30 MB, which only a bucket needs

        self.address = address.rstrip("/")
        self._base = self.address.removeprefix("s3://")
        self._files = filesystem or fs.S3FileSystem(region=settings.DEALSITE_REGION)
        self._below = partial(fs.FileSelector, recursive=True, allow_not_found=True)

    def put(self, path: str, content: bytes) -> tuple[int, int] | None:
        with self._files.open_output_stream(f"{self._base}/{path}") as file:
            file.write(content)
        return None

    def get(self, path: str) -> bytes | None:
        try:
            with self._files.open_input_stream(f"{self._base}/{path}") as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def paths(self, prefix: str) -> list[str]:
        return sorted(self.stats(prefix))

    def stats(self, prefix: str) -> dict[str, tuple[int, int]]:
        return {
            info.path.removeprefix(f"{self._base}/"): (info.size, info.mtime_ns)
            for info in self._files.get_file_info(self._below(f"{self._base}/{prefix}"))
            if info.is_file
        }

    def delete(self, path: str) -> None:
        if self._files.get_file_info(f"{self._base}/{path}").is_file:
            self._files.delete_file(f"{self._base}/{path}")


Store: TypeAlias = Folder | Bucket


def store_of_site() -> Store:
    """Return the site's lake: the bucket that DEALSITE_LAKE names, or `lake` in the data folder."""
    address: str = settings.DEALSITE_LAKE
    return Bucket(address) if address else Folder(settings.VAR / "lake")
