"""Makes a projection afresh from a scan of the table, while its consumer goes on; and who may have one open.

One process at a time has it open, and makes room when another asks. Four lock files in the projection's folder, freed
by the system however a process ends: `open.lock` is held by whoever has it open, `waiting.lock` by whoever wants it
next, `building.lock` while a new one is made aside, `following.lock` by the web process that fetches what others made.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

import structlog

from dealsite.data import table
from dealsite.data.table.convert import Item
from dealsite.stream import consumer_status
from dealsite.stream.consumer_status import SkippedRecord
from dealsite.stream.projection import Checkpoint, Projection
from dealsite.stream.records import Stream

OPEN, WAITING, BUILDING, FOLLOWING = "open.lock", "waiting.lock", "building.lock", "following.lock"


class TurnLost(Exception):
    """Another process may feed the projection by now: a locked file was deleted, or another machine has the lease."""


@dataclass(frozen=True, slots=True)
class Lock:
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
        """Raise TurnLost unless it is still held."""
        if not self.is_held():
            raise TurnLost(f"{self.path} was deleted.")


@contextlib.contextmanager
def locked(folder: Path, name: str, *, wait: bool) -> Iterator[Lock | None]:
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
            lock = Lock(path, file)
            if lock.is_held():  # and not deleted between the opening and the lock
                yield lock  # closing the file frees the lock
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


SCANNED = 500  # items a request

logger = structlog.get_logger(__name__)


class Busy(Exception):
    """Somebody else is making this projection just now."""


def rebuild(projection: Projection, *, now: datetime) -> int:
    """Make a projection anew and put it in place of the old one; return how many items the table had.

    Where it starts in the stream is noted before the scan. What changes meanwhile comes again from there, so
    that each item ends as the table has it, whether the scan saw it before the change or after. Raises Busy, and
    TurnLost where the folder was deleted meanwhile.
    """
    with only_builder(projection) as lock:
        items = build(projection, Stream.of_table(), projection.checkpoint(), now=now, lock=lock)
        with next_turn(projection.folder):
            lock.check()
            projection.swap()
        consumer_status.forget_skipped(projection.folder, before=now)
    return items


def build_first(
    projection: Projection, stream: Stream, *, now: datetime, on_page: Callable[[], None] = lambda: None
) -> None:
    """Make a projection that there is not, or that cannot be kept; it is ours to open. Raises Busy, TurnLost."""
    with only_builder(projection) as lock:
        build(projection, stream, None, now=now, lock=lock, on_page=on_page)
        lock.check()
        projection.swap()
        consumer_status.forget_skipped(projection.folder, before=now)


@contextlib.contextmanager
def only_builder(projection: Projection) -> Iterator[Lock]:
    """Be the only one to build a projection for the time of the block; raises Busy."""
    with locked(projection.folder, BUILDING, wait=False) as lock:
        if lock is None:
            raise Busy(f"The {projection.name} is being built already.")
        yield lock


def build(
    projection: Projection,
    stream: Stream,
    known: Checkpoint | None,
    *,
    now: datetime,
    lock: Lock,
    on_page: Callable[[], None] = lambda: None,
) -> int:
    """Make a projection aside; return how many items there were. 1 request for the shards, 1 for each 500 items."""
    start = known
    if start is None or start.stream != stream.arn or not start.reaches(now):
        # From the oldest record that there is, of which some may be trimmed meanwhile: the scan comes after them.
        start = Checkpoint(stream.arn, now, {shard.id: "" for shard in stream.shards()})
    items = _Counted(lock, on_page)
    lacking = projection.build(items, start)
    for key, reason in lacking:
        logger.error("item_skipped", projection=projection.name, key=" ".join(key), reason=reason)
    consumer_status.skip(projection.folder, [SkippedRecord(key, "", reason, now) for key, reason in lacking])
    return items.number


class _Counted:
    """All items of the table as a consistent scan finds them, for as long as nobody else may build."""

    def __init__(self, lock: Lock, on_page: Callable[[], None]) -> None:
        self.number = 0
        self._lock, self._on_page = lock, on_page

    def __iter__(self) -> Iterator[Item]:
        for item in table.scan_all(limit=SCANNED, consistent=True):
            if self.number % SCANNED == 0:
                self._lock.check()
                self._on_page()
            self.number += 1
            yield item
        self._lock.check()
