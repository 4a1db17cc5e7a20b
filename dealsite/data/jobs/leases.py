"""Leases: what one process of all machines does at a time, as an item of the table says, which it renews.

No two clocks are compared. Who wants a lease looks at it, and takes it once it stood unchanged for its span by their
own clock; who holds one gives it up before that, counting from before its last renewal. Each taking has a greater
`term`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from dealsite.data import keys, table
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.operations import LEASE
from dealsite.data.table.errors import Conflict, DataError
from dealsite.data.table.ids import epoch_seconds, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put, absent, equals

SPAN_SECONDS = 30.0  # without a renewal, and others may take it
HELD_SECONDS = 20.0  # without a renewal, and its holder no longer counts on it
RENEW_SECONDS = 10.0  # between two renewals, and between two looks of others
KEPT = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class LeaseState:
    """Who holds a lease, "" for nobody; `beat` grows with each renewal, `term` with each taking."""

    name: str
    holder: str = ""
    term: int = 0
    beat: int = 0


_read, _store = reader(LEASE.shape, LeaseState), writer(LEASE.shape, LeaseState)


@access_pattern("who holds a lease", "1 get")
def read(name: str) -> LeaseState:
    """Return how a lease stands, read consistently; of one that nobody ever took, nobody's."""
    item = table.get(keys.lease(name))
    return _read(item) if item else LeaseState(name)


@access_pattern("take, renew or give back a lease", "1 put")
def write(state: LeaseState, *, known: LeaseState, now: datetime) -> None:
    """Put a lease in the place of what is known of it, for 30 days at most. Raises Conflict where it is otherwise."""
    item = LEASE.item(_store(state) | {"ttl": epoch_seconds(now + KEPT)})
    when = (equals("holder", known.holder), equals("term", known.term), equals("beat", known.beat))
    table.write(Put(key=keys.lease(state.name), item=item, when=when if known.term else (absent(),)))


class Lease:
    """A lease as one process sees it."""

    def __init__(
        self, name: str, *, clock: Callable[[], datetime], ticks: Callable[[], float] = time.monotonic
    ) -> None:
        self.name, self._clock, self._ticks = name, clock, ticks
        self.holder = new_ulid(clock())
        self._seen = LeaseState(name)
        self._seen_at = self._looked_at = self._renewed_at = float("-inf")

    @property
    def is_held(self) -> bool:
        """Whether it was taken, and renewed lately enough for nobody else to have it. No requests."""
        return self._seen.holder == self.holder and self._ticks() - self._renewed_at < HELD_SECONDS

    def take(self, *, by_force: bool = False) -> bool:
        """Take it if nobody renews it, or `by_force` in any case; renew it where that is due; tell whether it is held.

        1 get or put each 10 seconds, and 1 put where it can be taken. Raises DataError, unless it is held still.
        """
        now = self._ticks()
        if self.is_held:
            try:
                return now - self._renewed_at < RENEW_SECONDS or self._write(self._beaten(self.holder))
            except DataError:
                return self.is_held
        if now - self._looked_at < RENEW_SECONDS and not by_force:
            return False
        self._looked_at = now
        found = read(self.name)
        if found != self._seen:
            self._seen, self._seen_at = found, self._ticks()  # after the read: it may be renewed within it
        is_free = found.holder in ("", self.holder) or now - self._seen_at >= SPAN_SECONDS
        if not is_free and not by_force:
            return False
        return self._write(LeaseState(self.name, self.holder, found.term + 1))

    def give_back(self) -> None:
        """Let others take it at once. 1 put where it is held. Raises DataError."""
        if self.is_held:
            self._write(self._beaten(""))

    def _beaten(self, holder: str) -> LeaseState:
        return LeaseState(self.name, holder, self._seen.term, self._seen.beat + 1)

    def _write(self, state: LeaseState) -> bool:
        began = self._ticks()
        try:
            write(state, known=self._seen, now=self._clock())
        except Conflict:
            self._seen = LeaseState(self.name)  # somebody else has it: how it stands, the next look tells
            return False
        self._seen, self._renewed_at = state, began
        return state.holder == self.holder
