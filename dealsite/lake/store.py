"""Where the lake's files lie: a folder or a bucket. A file is there whole or not at all, and never changes."""

import os
import tempfile
from pathlib import Path
from typing import TypeAlias

import pyarrow.fs as pafs
from django.conf import settings


class Folder:
    """A store on this machine's disk; a path has forward slashes and is the same in a folder and in a bucket."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, path: str, content: bytes) -> None:
        """Write a file, or write it over."""
        target = self.root / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(dir=target.parent, prefix=".making-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(made).replace(target)
            _sync(target.parent)
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
        top = self.root / prefix
        return sorted(
            (Path(folder) / name).relative_to(self.root).as_posix()
            for folder, _, names in os.walk(top)
            for name in names
            if not name.startswith(".")
        )

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

    def __init__(self, address: str, filesystem: pafs.FileSystem | None = None) -> None:
        self.address = address.rstrip("/")
        self._base = self.address.removeprefix("s3://")
        self._files = filesystem or pafs.S3FileSystem(region=settings.DEALSITE_REGION)

    def put(self, path: str, content: bytes) -> None:
        with self._files.open_output_stream(f"{self._base}/{path}") as file:
            file.write(content)

    def get(self, path: str) -> bytes | None:
        try:
            with self._files.open_input_stream(f"{self._base}/{path}") as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def paths(self, prefix: str) -> list[str]:
        selector = pafs.FileSelector(f"{self._base}/{prefix}", recursive=True, allow_not_found=True)
        return sorted(
            info.path.removeprefix(f"{self._base}/")
            for info in self._files.get_file_info(selector)
            if info.type == pafs.FileType.File
        )

    def delete(self, path: str) -> None:
        if self._files.get_file_info(f"{self._base}/{path}").type == pafs.FileType.File:
            self._files.delete_file(f"{self._base}/{path}")


Store: TypeAlias = Folder | Bucket


def store_of_site() -> Store:
    """Return the site's lake: the bucket that DEALSITE_LAKE names, or `lake` in the data folder."""
    address: str = settings.DEALSITE_LAKE
    return Bucket(address) if address else Folder(settings.VAR / "lake")
