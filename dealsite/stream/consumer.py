"""Feeds a projection from the table's stream: from its checkpoint, in order for each item, at least once.

What went wrong, turn after turn, decides what its next turn does about it.
"""

import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from django.conf import settings

from dealsite.data.table.configuration import configuration
from dealsite.data.table.errors import DataError
from dealsite.engine.programs import DATABASE
from dealsite.home import COMMAND
from dealsite.stream import consumer_status, rebuilding
from dealsite.stream.consumer_status import ConsumerStatus, SkippedRecord, is_panic
from dealsite.stream.projection import FINISHED, Checkpoint, Damaged, Projection
from dealsite.stream.rebuilding import Busy, Lock, TurnLost
from dealsite.stream.records import PAGE, Expired, ItemChange, Lost, Shard, Stream, in_order
from dealsite.web import counting

AWAY_SECONDS = 1.0  # between two tries while the table does not answer
FIRST_SECONDS, MOST_SECONDS = 0.25, 30.0  # after a failure; each further one waits twice as long
WORKED_SECONDS = 60.0  # without a failure, and waiting begins anew
TRIES = 3  # of a record alone, before it is skipped
ANEW_AFTER = 5  # failures in a row that nothing else explains: then the projection is built anew, once

OnChanges = Callable[[Sequence[ItemChange]], None]
logger = structlog.get_logger(__name__)


class Poison(Exception):
    """A change failed although it was applied alone, and what it was applied to works."""

    def __init__(self, change: ItemChange, cause: BaseException) -> None:
        super().__init__(f"{change.key[0]} {change.key[1]}: {cause!r}")
        self.change, self.cause = change, cause


@dataclass
class Troubles:
    """What is known of a projection's failures, from turn to turn.

    `anew`: it is to be built before it is fed. `careful`: its records are to be applied one at a time, as one of
    them may be at fault. `skips`: the sequences of records that were tried often enough.
    """

    projection: Projection
    anew: bool = False
    careful: bool = False
    skips: set[str] = field(default_factory=set)
    is_damaged: bool = False
    failures: int = 0
    _last: float = float("-inf")  # when the wait after the last failure was over
    _tries: dict[str, int] = field(default_factory=dict)

    def note(self, error: BaseException, *, now: datetime, ticks: float) -> float:
        """Write what ended a turn to the log, and return for how many seconds to wait before the next one."""
        name = self.projection.name
        if isinstance(error, (DataError, Busy)):
            logger.warning("consumer_waits", projection=name, reason=str(error))
            return AWAY_SECONDS
        if isinstance(error, TurnLost):
            logger.warning("consumer_begins_anew", projection=name, reason=str(error))
            return 0.0
        if isinstance(error, Poison):
            self._note_poison(error, now)
        elif isinstance(error, Lost):
            self.anew = True
            logger.warning("projection_behind", projection=name, reason=str(error))
        elif isinstance(error, Damaged):
            self.anew = self.is_damaged = True
            logger.error("projection_damaged", projection=name, reason=str(error))
        elif isinstance(error, OSError):  # the disk is full, or the folder is not ours
            logger.warning("consumer_waits", projection=name, reason=str(error))
        else:
            self.careful = True
            logger.error("consumer_failed", projection=name, exc_info=error)
        return self._pause(ticks)

    def built(self) -> None:
        """What was lost or damaged is there again, so that the next damage is another one."""
        if self.is_damaged:
            self.failures = 0
        self.anew = self.is_damaged = False

    def worked(self) -> None:
        """All that was read is applied and committed: what was skipped is behind, and nothing is suspected any more."""
        if self.careful:
            self.careful, self.failures = False, 0
            self.skips.clear()
            self._tries.clear()

    def _pause(self, ticks: float) -> float:
        if ticks - self._last >= WORKED_SECONDS:
            self.failures = 0
        self.failures += 1
        if self.failures == ANEW_AFTER:
            self.anew = True
        pause = min(FIRST_SECONDS * 2 ** (min(self.failures, 20) - 1), MOST_SECONDS)
        self._last = ticks + pause
        return float(pause)

    def _note_poison(self, error: Poison, now: datetime) -> None:
        change = error.change
        tried = self._tries[change.sequence] = self._tries.get(change.sequence, 0) + 1
        if tried < TRIES:
            logger.warning("record_fails", projection=self.projection.name, reason=str(error), tries=tried)
            return
        noted = SkippedRecord(change.key, change.sequence, repr(error.cause), now)
        try:
            consumer_status.skip(self.projection.folder, [noted])
        except OSError as trouble:  # what cannot be noted must not be lost
            logger.warning("consumer_waits", projection=self.projection.name, reason=str(trouble))
            return
        self.skips.add(change.sequence)
        self.failures = 0
        logger.error(
            "record_skipped",
            projection=self.projection.name,
            key=" ".join(change.key),
            sequence=change.sequence,
            reason=repr(error.cause),
            repair=f"{COMMAND} rebuild, or save the item again",
        )


GATHER_SECONDS = 0.05  # in which more records come to those that were just read: fewer, larger rounds
PATIENCE_SECONDS = 0.5  # that an applied change may wait for its commit, while more come
PORTION = 5_000  # changes that are committed in any case
IDLE_SECONDS = 0.2  # between two looks at a stream with nothing new
COSTLY_SECONDS = 1.0  # where each look costs, or crosses a network
UNTOLD_SECONDS = 10.0  # between two looks at the stream of an engine whose file shows each write
TURN_SECONDS = 1.0  # between two looks whether the projection is free
CHECK_SECONDS = 1.0  # between two looks whether its files are still there
SHARDS_SECONDS = 60.0  # between two looks for new shards; the end of one is a look, too
ROOM = 20_000_000  # bytes; with less on the disk, no failure is a record's own


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
        troubles: Troubles | None = None,
        lock: Lock | None = None,
        on_changes: OnChanges = lambda changes: None,
    ) -> None:
        if checkpoint.stream != stream.arn or not checkpoint.reaches(clock()):
            raise Lost("The stream no longer holds what follows the checkpoint.")
        self.projection, self.stream = projection, stream
        self.checkpoint = self.committed = checkpoint
        self._clock, self._ticks = clock, ticks
        self._troubles, self._lock = troubles or Troubles(projection), lock
        self._on_changes = on_changes
        self._skipped = {record.key for record in consumer_status.skipped_records(projection.folder)}
        self._shards: list[Shard] = []
        self._looked_at = float("-inf")
        self._iterators: dict[str, str] = {}
        self._uncommitted = 0  # changes, of which most may say nothing to the projection
        self._waiting_since: float | None = None  # of the first that does
        self._upto: list[datetime | None] = []  # by shard the moment up to which the last round read it

    def round(self) -> int:
        """Read one page of each shard and apply it, commit where it is time to; return how many records there were."""
        began = self._clock()
        if self._ticks() - self._looked_at >= SHARDS_SECONDS:
            self._look_for_shards()
        finished = {shard for shard, last in self.checkpoint.shards.items() if last == FINISHED}
        self._upto = []
        read = sum([self._read(shard, began) for shard in in_order(self._shards, finished)])
        if not read:
            self.checkpoint = self.checkpoint.moved({}, read_at=began)
        elif None not in self._upto:  # under a load that never ends there is no moment without records
            read_at = max(self.checkpoint.read_at, min(filter(None, self._upto)))
            self.checkpoint = self.checkpoint.moved({}, read_at=read_at)
        is_last = not read or self.pause(read) >= PATIENCE_SECONDS  # no more comes before the next look
        if self._troubles.careful or self._is_time_to_commit(idle=is_last):
            self.commit()
        return read

    def commit(self) -> None:
        """Let the projection keep what it was given. Raises TurnLost where it may be another's by now."""
        if self._lock:
            self._lock.check()
        self.projection.commit(self.checkpoint)
        self.committed, self._uncommitted, self._waiting_since = self.checkpoint, 0, None
        self._troubles.worked()

    def _read(self, shard: Shard, began: datetime) -> int:
        before = self.checkpoint.shards.get(shard.id, "")
        try:
            if shard.id not in self._iterators:
                self._iterators[shard.id] = self.stream.iterator(shard.id, before)
            page = self.stream.page(self._iterators[shard.id])
        except Expired:
            del self._iterators[shard.id]
            self._upto.append(None)
            return 1  # whether there is something new, only the next round can tell
        changes = [change for change in page.changes if change.sequence > before]
        if page.records:
            self._upto.append(min(page.changes[-1].at, began) if page.changes else None)
        else:
            self._upto.append(began)
        if changes:
            self._on_changes(changes)
            is_news = self._apply(changes)
            counting.add(counting.STREAM_RECORDS, self.projection.name, by=len(changes))
            if is_news and self._waiting_since is None:
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

    def _apply(self, changes: list[ItemChange]) -> bool:
        is_news = True
        if self._troubles.careful:
            self.commit_is_possible()
            for change in changes:
                if change.sequence not in self._troubles.skips:
                    self._apply_alone(change)
        else:
            is_news = self.projection.apply(changes)
        taken = {change.key for change in changes if change.sequence not in self._troubles.skips}
        for key in taken & self._skipped:
            consumer_status.forget_skipped(self.projection.folder, key=key)
            self._skipped.discard(key)
        return is_news

    def commit_is_possible(self) -> None:
        """Commit without any change: what fails now is the disk's fault, or the projection's, and no record's."""
        if self._lock:
            self._lock.check()
        self.projection.commit(self.committed)

    def _apply_alone(self, change: ItemChange) -> None:
        """Apply and commit one change; raises Poison where it fails by itself."""
        try:
            self.projection.apply([change])
            self.projection.commit(None)
        except (OSError, DataError, MemoryError, Damaged):
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            if shutil.disk_usage(self.projection.folder).free < ROOM:
                raise OSError(f"The disk is full: {error}") from error
            raise Poison(change, error) from error

    def _look_for_shards(self) -> None:
        self._shards = self.stream.shards()
        self._looked_at = self._ticks()
        listed = {shard.id for shard in self._shards}
        gone = self.checkpoint.shards.keys() - listed
        if any(self.checkpoint.shards[shard] != FINISHED for shard in gone):
            raise Lost("A shard was trimmed before it was read to its end.")
        new = {shard: "" for shard in listed if shard not in self.checkpoint.shards}
        self.checkpoint = self.checkpoint.only(listed).moved(new)

    def pause(self, read: int) -> float:
        """Return for how many seconds to wait after a round that read so many records."""
        if read >= PAGE:
            return 0.0
        if not configuration().endpoint_url or settings.DEALSITE_PRIVATE_BUCKET:
            return COSTLY_SECONDS
        return GATHER_SECONDS if read else IDLE_SECONDS

    def _is_time_to_commit(self, *, idle: bool) -> bool:
        if self._uncommitted >= PORTION:
            return True
        if self._waiting_since is not None:
            return idle or self._ticks() - self._waiting_since >= PATIENCE_SECONDS
        return idle and self.checkpoint.read_at - self.committed.read_at >= self.projection.keep_every


def consume(
    projection: Projection,
    stop: threading.Event,
    *,
    clock: Callable[[], datetime],
    ticks: Callable[[], float] = time.monotonic,
    on_changes: OnChanges = lambda changes: None,
) -> None:
    """Keep a projection up to date until `stop` is set, building it where there is none; outlives every Exception.

    `on_changes` is told of all that the stream brings, at least once. What is no Exception, and too little memory, end
    it: then a new process is better.
    """
    troubles = Troubles(projection)
    while not stop.is_set():
        pause = TURN_SECONDS
        try:
            with rebuilding.locked(projection.folder, rebuilding.OPEN, wait=False) as lock:
                if lock and projection.leads():
                    _take_turn(projection, lock, stop, clock, troubles, on_changes)
        except MemoryError:
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            pause = troubles.note(error, now=clock(), ticks=ticks())
            _note_status(projection, clock(), "failing", reason=str(error))
        stop.wait(pause)
    with suppress(DataError):
        projection.leave()


def _take_turn(
    projection: Projection,
    lock: Lock,
    stop: threading.Event,
    clock: Callable[[], datetime],
    troubles: Troubles,
    on_changes: OnChanges,
) -> None:
    """Feed a projection until somebody else wants it; what was not committed when it raises comes again."""
    try:
        consumer = opened(
            projection, Stream.of_table(), clock=clock, troubles=troubles, lock=lock, on_changes=on_changes
        )
        checked = asked = float("-inf")
        seen: tuple[int, int] | None = None
        while not stop.is_set() and not rebuilding.is_locked(projection.folder, rebuilding.WAITING):
            if time.monotonic() - checked >= CHECK_SECONDS:
                lock.check()
                projection.check(consumer.checkpoint.read_at)
                _note_status(projection, clock(), "following", read_at=consumer.checkpoint.read_at)
                checked = time.monotonic()
            now, mark = clock(), written()  # before the stream is asked: what is written meanwhile changes it
            if mark is None or mark != seen or time.monotonic() - asked >= UNTOLD_SECONDS:
                read, asked = consumer.round(), time.monotonic()
                seen = None if read else mark
            else:
                read, consumer.checkpoint = 0, consumer.checkpoint.moved({}, read_at=now)
            if pause := consumer.pause(read):
                stop.wait(pause)
        consumer.commit()
    finally:
        try:
            projection.close()
        except BaseException as error:
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            logger.warning("projection_not_closed", projection=projection.name, reason=repr(error))


def written() -> tuple[int, int] | None:
    """Return what each write to the engine of this machine changes; None where no file shows it."""
    if not settings.DEALSITE_EMBEDDED:
        return None
    try:
        found = os.stat(f"{settings.VAR}/{DATABASE['native']}-wal")  # noqa: PTH116 - some ten times a second
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size)


def _note_status(
    projection: Projection, now: datetime, state: str, *, read_at: datetime | None = None, reason: str = ""
) -> None:
    """Note how the consumer is doing, for the site's operator; a consumer that fails keeps its last `read_at`."""
    before = consumer_status.status(projection.folder) if state == "failing" else None
    try:
        read_at = before.read_at if before else read_at
        consumer_status.note_status(projection.folder, ConsumerStatus(now, state, read_at, reason))
    except OSError as error:
        logger.warning("status_not_noted", projection=projection.name, reason=str(error))


def opened(
    projection: Projection,
    stream: Stream,
    *,
    clock: Callable[[], datetime],
    troubles: Troubles | None = None,
    lock: Lock | None = None,
    on_changes: OnChanges = lambda changes: None,
) -> Consumer:
    """Open a projection, which must be ours to open, with its consumer.

    It is built first where there is none, where the stream no longer reaches back to it, or where it is damaged.
    """
    troubles = troubles or Troubles(projection)
    checkpoint = None if troubles.anew else projection.open()
    if checkpoint is None or checkpoint.stream != stream.arn or not checkpoint.reaches(clock()):
        projection.close()
        logger.info("projection_build", projection=projection.name, first=checkpoint is None)
        rebuilding.build_first(
            projection, stream, now=clock(), on_page=lambda: _note_status(projection, clock(), "building")
        )
        checkpoint = projection.open()
        if checkpoint is None:
            raise Damaged(f"The {projection.name} is not there after it was built.")
        troubles.built()
    return Consumer(
        projection, stream, checkpoint, clock=clock, troubles=troubles, lock=lock, on_changes=on_changes
    )
