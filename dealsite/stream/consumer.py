"""Feeds a projection from the table's stream: from its checkpoint, in order for each item, at least once."""

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog

from dealsite.data.table.errors import DataError
from dealsite.stream import leases, rebuilding
from dealsite.stream.projection import FINISHED, Checkpoint, Projection
from dealsite.stream.records import Expired, Lost, Shard, Stream, in_order

IDLE_SECONDS = 0.2  # between two looks at a stream with nothing new
TURN_SECONDS = 1.0  # between two looks whether the projection is free
TROUBLE_SECONDS = 5.0  # after an error
SHARDS_SECONDS = 10.0  # between two looks for new shards
KEEP_EVERY = timedelta(minutes=10)  # an idle consumer, too, says now and then that it has seen everything

logger = structlog.get_logger(__name__)


class Consumer:
    """Has one projection open and feeds it, round by round; `checkpoint` is what is applied, if not committed."""

    def __init__(
        self,
        projection: Projection,
        stream: Stream,
        checkpoint: Checkpoint,
        *,
        clock: Callable[[], datetime],
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        if checkpoint.stream != stream.arn or not checkpoint.reaches(clock()):
            raise Lost("The stream no longer holds what follows the checkpoint.")
        self.projection, self.stream = projection, stream
        self.checkpoint = self.committed = checkpoint
        self._clock, self._ticks = clock, ticks
        self._shards: list[Shard] = []
        self._looked_at = float("-inf")
        self._iterators: dict[str, str] = {}
        self._uncommitted = 0
        self._waiting_since = 0.0

    def round(self) -> int:
        """Read one page of each shard and apply it, commit where it is time to; return how many records there were."""
        began = self._clock()
        if self._ticks() - self._looked_at >= SHARDS_SECONDS:
            self._look_for_shards()
        finished = {shard for shard, last in self.checkpoint.shards.items() if last == FINISHED}
        read = sum([self._read(shard) for shard in in_order(self._shards, finished)])
        if not read:
            self.checkpoint = self.checkpoint.moved({}, read_at=began)
        if self._is_time_to_commit(idle=not read):
            self.commit()
        return read

    def commit(self) -> None:
        """Let the projection keep what it was given."""
        self.projection.commit(self.checkpoint)
        self.committed, self._uncommitted = self.checkpoint, 0

    def _read(self, shard: Shard) -> int:
        before = self.checkpoint.shards.get(shard.id, "")
        try:
            if shard.id not in self._iterators:
                self._iterators[shard.id] = self.stream.iterator(shard.id, before)
            page = self.stream.page(self._iterators[shard.id])
        except Expired:
            del self._iterators[shard.id]
            return 1  # whether there is something new, only the next round can tell
        changes = [change for change in page.changes if change.sequence > before]
        if changes:
            self.projection.apply(changes)
            if not self._uncommitted:
                self._waiting_since = self._ticks()
            self._uncommitted += len(changes)
        if page.next is None:
            del self._iterators[shard.id]
            self.checkpoint = self.checkpoint.moved({shard.id: FINISHED})
            self._look_for_shards()
            return page.records or 1  # its children may have more
        self._iterators[shard.id] = page.next
        if page.last > before:
            self.checkpoint = self.checkpoint.moved({shard.id: page.last})
        return page.records

    def _look_for_shards(self) -> None:
        self._shards = self.stream.shards()
        self._looked_at = self._ticks()
        listed = {shard.id for shard in self._shards}
        gone = self.checkpoint.shards.keys() - listed
        if any(self.checkpoint.shards[shard] != FINISHED for shard in gone):
            raise Lost("A shard was trimmed before it was read to its end.")
        new = {shard: "" for shard in listed if shard not in self.checkpoint.shards}
        self.checkpoint = self.checkpoint.only(listed).moved(new)

    def _is_time_to_commit(self, *, idle: bool) -> bool:
        if self._uncommitted:
            waited = self._ticks() - self._waiting_since
            return waited >= self.projection.patience or self._uncommitted >= self.projection.portion
        return idle and self.checkpoint.read_at - self.committed.read_at >= KEEP_EVERY


def consume(projection: Projection, stop: threading.Event, *, clock: Callable[[], datetime]) -> None:
    """Keep a projection up to date until `stop` is set, building it where there is none; outlives every error."""
    lost = False
    while not stop.is_set():
        try:
            with leases.locked(projection.folder, leases.OPEN, wait=False) as ours:
                if ours:
                    lost = not _take_turn(projection, stop, clock, anew=lost)
        except OSError as reason:  # no place for the lock: the disk is full, or the folder is not ours
            logger.warning("consumer_waits", projection=projection.name, reason=str(reason))
        stop.wait(TURN_SECONDS)


def _take_turn(
    projection: Projection, stop: threading.Event, clock: Callable[[], datetime], *, anew: bool
) -> bool:
    """Feed a projection until somebody else wants it; False if the stream has lost what would have to follow.

    An error ends the turn: what was not committed comes again in the next one.
    """
    try:
        consumer = opened(projection, Stream.of_table(), clock=clock, anew=anew)
        while not stop.is_set() and not leases.is_locked(projection.folder, leases.WAITING):
            if not consumer.round():
                stop.wait(IDLE_SECONDS)
        consumer.commit()
    except Lost as reason:
        logger.warning("projection_behind", projection=projection.name, reason=str(reason))
        return False
    except (DataError, rebuilding.Busy) as reason:
        logger.warning("consumer_waits", projection=projection.name, reason=str(reason))
        stop.wait(TROUBLE_SECONDS)
    except Exception:  # a projection's trouble must not end the worker's other work
        logger.exception("consumer_failed", projection=projection.name)
        stop.wait(TROUBLE_SECONDS)
    finally:
        projection.close()
    return True


def opened(
    projection: Projection, stream: Stream, *, clock: Callable[[], datetime], anew: bool = False
) -> Consumer:
    """Open a projection, which must be ours to open, with its consumer.

    Where there is none, where the stream no longer reaches back to it, or with `anew`, it is built first.
    """
    checkpoint = projection.open()
    if anew or checkpoint is None or checkpoint.stream != stream.arn or not checkpoint.reaches(clock()):
        projection.close()
        logger.info("projection_build", projection=projection.name, first=checkpoint is None)
        rebuilding.build_first(projection, stream, now=clock())
        checkpoint = projection.open()
        if checkpoint is None:
            raise RuntimeError(f"The {projection.name} is not there after it was built.")
    return Consumer(projection, stream, checkpoint, clock=clock)
