"""Who may have a projection open: one process at a time, which makes room when another asks.

Three lock files in the projection's folder, freed by the system however a process ends: `open.lock` is held by
whoever has it open, `waiting.lock` by whoever wants it next, `building.lock` while a new one is made aside.
"""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

OPEN, WAITING, BUILDING = "open.lock", "waiting.lock", "building.lock"


@contextlib.contextmanager
def locked(folder: Path, name: str, *, wait: bool) -> Iterator[bool]:
    """Hold a lock for the time of the block; yields whether it was got, which without `wait` it may not be."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / name).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True  # closing the file frees the lock


def is_locked(folder: Path, name: str) -> bool:
    """Tell whether somebody holds a lock just now."""
    with locked(folder, name, wait=False) as got:
        return not got


@contextlib.contextmanager
def next_turn(folder: Path) -> Iterator[None]:
    """Ask whoever has the projection open to make room, and hold it for the time of the block."""
    with locked(folder, WAITING, wait=True), locked(folder, OPEN, wait=True):
        yield
