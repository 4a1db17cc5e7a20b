"""Where a program's output goes: through a pipe into a file of bounded size, which a full disk may cut short.

A program that wrote into the file itself would end with the disk's space: dynoxide aborts where it cannot print.
"""

import contextlib
import os
import threading
from pathlib import Path

MOST_BYTES = 5_000_000  # of the file, and of the one before it
NONE = -1


class BoundedLog:
    """A file that is begun anew at a size, and at each start; what it held before is kept beside it, as `.1`."""

    def __init__(self, path: Path, most: int = MOST_BYTES) -> None:
        reads, self.fd = os.pipe()  # `fd` is for the program to write to
        self._path, self._most, self._size, self._file = path, most, most, NONE
        self._thread = threading.Thread(
            target=self._copy, args=(reads,), name=f"log-{path.name}", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Keep what still comes, until nobody is left who could write, for a second at most."""
        if self.fd != NONE:
            os.close(self.fd)
            self.fd = NONE
            self._thread.join(1)

    def _copy(self, reads: int) -> None:
        while piece := os.read(reads, 65_536):
            with contextlib.suppress(OSError):  # no space: the program must not wait for it
                if self._size + len(piece) > self._most:
                    self._begin()
                self._size += os.write(self._file, piece)
        os.close(reads)
        self._end()

    def _begin(self) -> None:
        self._end()
        with contextlib.suppress(FileNotFoundError):
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._size = 0

    def _end(self) -> None:
        if self._file != NONE:
            os.close(self._file)
            self._file, self._size = NONE, self._most
