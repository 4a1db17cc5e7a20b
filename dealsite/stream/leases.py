"""Who may have a projection open: one process at a time, which makes room when another asks.

Three lock files in the projection's folder, freed by the system however a process ends: `open.lock` is held by
whoever has it open, `waiting.lock` by whoever wants it next, `building.lock` while a new one is made aside.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

OPEN, WAITING, BUILDING = "open.lock", "waiting.lock", "building.lock"


class LeaseLost(Exception):
    """The locked file was deleted, so that another process may lock a new one by now."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A lock that was got, for the time of its block or until its file is deleted."""

    path: Path
    file: IO[str]

    def is_held(self) -> bool:
        """Tell whether the locked file is still the one that others would lock."""
        try:
            return os.path.samestat(os.fstat(self.file.fileno()), self.path.stat())
        except OSError:
            return False

    def check(self) -> None:
        """Raise LeaseLost unless it is still held."""
        if not self.is_held():
            raise LeaseLost(f"{self.path} was deleted.")


@contextlib.contextmanager
def locked(folder: Path, name: str, *, wait: bool) -> Iterator[Lease | None]:
    """Hold a lock for the time of the block; yields None where another has it, which with `wait` cannot be."""
    path = folder / name
    while True:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as opened:
            try:
                file = opened.enter_context(path.open("a"))
            except FileNotFoundError:
                continue  # the folder was deleted just now
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield None
                return
            lease = Lease(path, file)
            if lease.is_held():  # and not deleted between the opening and the lock
                yield lease  # closing the file frees the lock
                return


def is_locked(folder: Path, name: str) -> bool:
    """Tell whether somebody holds a lock just now."""
    try:
        with (folder / name).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


@contextlib.contextmanager
def next_turn(folder: Path) -> Iterator[None]:
    """Ask whoever has the projection open to make room, and hold it for the time of the block."""
    with locked(folder, WAITING, wait=True), locked(folder, OPEN, wait=True):
        yield
