"""What went wrong with a consumer, turn after turn, and what its next turn does about it."""

from dataclasses import dataclass, field
from datetime import datetime

import structlog

from dealsite.data.table.errors import DataError
from dealsite.home import COMMAND
from dealsite.stream import skipped
from dealsite.stream.leases import LeaseLost
from dealsite.stream.projection import Damaged, Projection
from dealsite.stream.rebuilding import Busy
from dealsite.stream.records import ItemChange, Lost
from dealsite.stream.skipped import SkippedRecord

AWAY_SECONDS = 1.0  # between two tries while the table does not answer
FIRST_SECONDS, MOST_SECONDS = 0.25, 30.0  # after a failure; each further one waits twice as long
WORKED_SECONDS = 60.0  # without a failure, and waiting begins anew
TRIES = 3  # of a record alone, before it is skipped
ANEW_AFTER = 5  # failures in a row that nothing else explains: then the projection is built anew, once

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
        if isinstance(error, LeaseLost):
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
            skipped.add(self.projection.folder, [noted])
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
            repair=f"{COMMAND} rebuild {self.projection.name}, or save the item again",
        )
