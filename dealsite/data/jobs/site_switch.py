"""The site's switch: open, read-only, maintenance, or a copy that rests; one item, which each process reads often.

A process knows it as of two seconds ago. While the table is away it goes by what it knew last: the switch makes no page
fail, and none wait for longer than a moment.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from dealsite.data import keys, table
from dealsite.data.editing import audit
from dealsite.data.entities.entity import reader
from dealsite.data.entities.operations import (
    CLOSED_FOR_MAINTENANCE,
    COPY,
    OPEN,
    READ_ONLY,
    SITE_SWITCH,
    SwitchState,
)
from dealsite.data.entities.work import SITE
from dealsite.data.table import meters
from dealsite.data.table.errors import DataError
from dealsite.data.table.ids import iso
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put

T = TypeVar("T")
SECONDS = 2.0
CALL_SECONDS = 0.4  # for a read: so little says nothing of the table, and is no more than a page can spare

clock: Callable[[], float] = time.monotonic
DONE = {
    OPEN: "opened",
    READ_ONLY: "made read-only",
    CLOSED_FOR_MAINTENANCE: "closed for maintenance",
    COPY: "marked as a copy",
}
COPY_RESTS = (
    "This is a copy of the site: it runs no jobs, sends no mails and charges no cards, and nothing can be changed."
    " If it is to be the site, say so by the command switch_site open."
)


@dataclass(frozen=True, slots=True)
class SiteSwitch:
    """How the switch stands: since when, by whom ("-" for the command), and what visitors are told."""

    state: SwitchState = OPEN
    message: str = ""
    by: str = SITE
    at: datetime | None = None

    @property
    def is_open(self) -> bool:
        return self.state == OPEN

    @property
    def is_copy(self) -> bool:
        return self.state == COPY

    @property
    def is_by_command(self) -> bool:
        return self.by == SITE


@access_pattern("how the site's switch stands", "1 get")
def read() -> SiteSwitch:
    """Return how the switch stands; open where nobody ever touched it."""
    item = table.get(keys.site_switch())
    return _read_switch(item) if item else SiteSwitch()


@access_pattern("turn the site's switch", "1 transaction")
def switch_site(state: SwitchState, *, message: str, by: str, now: datetime) -> SiteSwitch:
    """Open or close the site, whatever it was before; other processes know it two seconds later."""
    item = SITE_SWITCH.item({"state": state, "message": message, "by": by, "at": iso(now)})
    entry = audit.entry_write(by=by, kind="site", subject=SITE, what=DONE[state], now=now, note=message)
    table.transact([Put(key=keys.site_switch(), item=item), entry])
    switched = SiteSwitch(state, message, by, now)
    of_process.keep(switched)
    return switched


_read_switch = reader(SITE_SWITCH.shape, SiteSwitch)


class Known(Generic[T]):
    """What a process knows of an item that it reads every few seconds: one thread at a time does.

    Others wait for that only in a process that nobody asked for long, whose knowledge may be of yesterday.
    """

    def __init__(self, read: Callable[[], T], before: T, seconds: float) -> None:
        self.read, self.known, self.seconds = read, before, seconds
        self.was_read = False
        self._read_at = float("-inf")
        self._lock = threading.Lock()

    def current(self) -> T:
        """Return what is known, as of `seconds` ago at most, or as it was known last. 1 get every `seconds`."""
        age = clock() - self._read_at
        patience = CALL_SECONDS if age >= 2 * self.seconds else 0
        if age >= self.seconds and self._lock.acquire(timeout=patience):
            try:
                if clock() - self._read_at >= self.seconds:  # no other thread has read it meanwhile
                    self._read()
            finally:
                self._lock.release()
        return self.known

    def _read(self) -> None:
        try:
            with meters.unmetered(), meters.deadline(min(CALL_SECONDS, meters.seconds_left())):
                self.keep(self.read())
        except DataError:
            pass  # what was known goes on
        finally:
            self._read_at = clock()

    def keep(self, known: T) -> None:
        """Go by what this process knows anyway."""
        self.known, self.was_read, self._read_at = known, True, clock()

    def forget(self) -> None:
        """Read it again at the next look."""
        self._read_at = float("-inf")


class KnownSwitch(Known[SiteSwitch]):
    """What a process knows of the switch, two seconds old at most."""

    def __init__(self) -> None:
        super().__init__(lambda: read(), SiteSwitch(), SECONDS)

    def lets_work(self) -> bool:
        """Tell whether jobs and payments go on here: on no copy, and nowhere before the switch was read once."""
        return not self.current().is_copy and self.was_read


of_process = KnownSwitch()
