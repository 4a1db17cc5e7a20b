"""A gate before a table that is away: pages fail at once instead of waiting, and one thread asks whether it is back.

It shuts after some failures in a row: no answers, or answers that the table cannot be used. A single lost answer, or
the moment that an engine takes to start again, does not shut it, and an answer opens it. Only those who have a
deadline stand before it: a worker waits anyway.
"""

import logging
import threading
import time
from collections.abc import Callable

from .errors import Unavailable

FAILURES = 3  # in a row
LONGER_THAN = (
    0.3  # seconds since the first of them; all that was under way when an engine ended fails at once
)
FORGOTTEN_AFTER = 5.0  # seconds without a further one
PROBE_EVERY = 0.25  # seconds

logger = logging.getLogger(__name__)


class Gate:
    """The gate of one process; `is_back` asks the table once, and tells whether it can be used."""

    def __init__(self, is_back: Callable[[], bool]) -> None:
        self._is_back = is_back
        self._lock = threading.Lock()
        self._failures = self._refused = 0
        self._first = self._last = 0.0
        self._shut_at: float | None = None
        self._reason = ""
        self._ended = threading.Event()

    def check(self) -> None:
        """Raise Unavailable while the gate is shut."""
        if self._shut_at is None:
            return
        with self._lock:
            self._refused += 1
        raise Unavailable(reason=self._reason, is_said=True)

    def answered(self, *, now: float) -> None:
        """The table answers: open the gate, forget what failed."""
        if not self._failures:
            return
        with self._lock:
            shut_at, self._shut_at, self._failures = self._shut_at, None, 0
            refused, self._refused = self._refused, 0
        if shut_at is not None and not self._ended.is_set():
            logger.warning("event='table_back' seconds=%.1f refused=%d", now - shut_at, refused)

    def failed(self, reason: object, *, now: float) -> None:
        """Shut the gate if this was one failure too many, and begin to ask for the table."""
        with self._lock:
            if not self._failures or now - self._last > FORGOTTEN_AFTER:
                self._first, self._failures = now, 0
            self._last, self._failures = now, self._failures + 1
            is_too_many = self._failures >= FAILURES and now - self._first >= LONGER_THAN
            if self._shut_at is not None or not is_too_many or self._ended.is_set():
                return
            self._shut_at, self._reason = now, str(reason)
        logger.error("event='table_away' reason=%r", self._reason)
        try:
            threading.Thread(target=self._probe, name="table-probe", daemon=True).start()
        except RuntimeError:  # no thread to be had: then visitors ask
            self.answered(now=now)

    def end(self) -> None:
        """Let nobody stand before this gate any more, and the thread end: without a word, it does not know."""
        self._ended.set()

    def _probe(self) -> None:
        try:
            while self._shut_at is not None and not self._ended.wait(PROBE_EVERY):
                if self._is_back():
                    return
        finally:
            self.answered(now=time.monotonic())
