"""A folder beside the backups for what is being made there, which is removed however the process ends.

Where it was killed, the next one removes it: nobody holds its lock any more.
"""

import contextlib
import fcntl
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

PREFIX = ".dealsite-scratch-"
LOCK = "lock"


@contextlib.contextmanager
def scratch(beside: Path) -> Iterator[Path]:
    """Make a folder for the time of a block, for its owner alone. Only for commands, which have one thread.

    What processes left behind that are gone is removed first.
    """
    before = signal.signal(signal.SIGTERM, _end)
    try:
        for left in beside.glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError):  # in use, or gone
                _remove(left, _locked(left, fcntl.LOCK_NB))
        folder, lock = _make(beside)
        try:
            yield folder
        finally:
            _remove(folder, lock)
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def _make(beside: Path) -> tuple[Path, IO[str]]:
    """Make and lock a folder: another one where somebody has removed it in between."""
    while True:
        folder = Path(tempfile.mkdtemp(dir=beside, prefix=PREFIX))
        with contextlib.suppress(FileNotFoundError):
            lock = _locked(folder)
            if (folder / LOCK).exists():
                return folder, lock
            lock.close()


def _locked(folder: Path, how: int = 0) -> IO[str]:
    lock = (folder / LOCK).open("a")  # a file: NFS locks no folders
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | how)
    except BaseException:
        lock.close()
        raise
    return lock


def _remove(folder: Path, lock: IO[str]) -> None:
    with lock:
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        folder.rmdir()  # NFS keeps a file until it is closed
