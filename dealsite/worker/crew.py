"""The threads that run a worker's jobs, and where it looks for the next one.

Bulk work never takes the last threads, so that what somebody waits for begins at once, and mail before all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from itertools import chain, cycle
from random import sample

import structlog

from dealsite.data.entities.work import LANES, Lane, places
from dealsite.data.jobs import jobs
from dealsite.data.table.errors import Unavailable

ROOM: dict[Lane, int] = {"mail": 4, "asked": 3, "bulk": 2}  # a job of a lane begins while fewer than that run

logger = structlog.get_logger(__name__)


class Crew:
    """The threads that run jobs; `woken` is set as one ends. Leaving the block waits for what runs."""

    def __init__(self, woken: threading.Event) -> None:
        self._woken = woken
        self._threads = ThreadPoolExecutor(max(ROOM.values()), "job")
        self._running: set[Future[None]] = set()

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *error: object) -> None:
        self._threads.shutdown()

    @property
    def is_busy(self) -> bool:
        return bool(self._running)

    def lanes(self) -> list[Lane]:
        """Return the lanes of which a job may begin now, those that come first before the others."""
        return [lane for lane in LANES if len(self._running) < ROOM[lane]]

    def start(self, work: Callable[[], None]) -> None:
        """Let a thread run a job."""
        future = self._threads.submit(work)
        self._running.add(future)
        future.add_done_callback(lambda _: self._woken.set())

    def check(self) -> None:
        """Let go of what has ended; raises what a job's thread died of, but for a table that is away."""
        for future in [one for one in self._running if one.done()]:
            self._running.remove(future)
            try:
                future.result()
            except Unavailable as error:  # the lease brings the job back
                logger.warning("worker_waits", reason=str(error))


class Lookout:
    """Where a worker looks for jobs: everywhere while some come, else at one place after the other.

    It knows when the next job at each place is due, as of its last look there.
    """

    def __init__(self) -> None:
        self._due: dict[str, datetime] = {}
        bulk, others = places("bulk"), [*places("mail"), *places("asked")]
        at_random = zip(sample(bulk, len(bulk)), sample(others, len(others)), strict=True)
        self._next = cycle(chain(*at_random))  # every other is bulk, of which workers share the parts

    def note(self, place: str, due: datetime | None) -> None:
        """Keep when the next job at a place is due; None for no job there."""
        if due is None:
            self._due.pop(place, None)
        else:
            self._due[place] = due

    def places(self, lanes: Iterable[Lane], *, now: datetime, everywhere: bool) -> list[str]:
        """Return where to look now for jobs of some lanes."""
        if everywhere:
            return jobs.everywhere(*lanes)
        one = next(self._next)
        return [one, *(place for place, due in self._due.items() if due <= now and place != one)]
