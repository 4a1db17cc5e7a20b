"""Counting what a page costs in calls, capacity units and time, and the deadline of its calls."""

import contextlib
import math
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from .errors import Unavailable


@dataclass(slots=True)
class Meter:
    """What reached DynamoDB: calls, capacity units, time, and each call's operation and index."""

    calls: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    seconds: float = 0.0
    log: list[tuple[str, str | None]] = field(default_factory=list)
    failure: Unavailable | None = None  # the last

    @property
    def milliseconds(self) -> float:
        return round(self.seconds * 1000, 1)


_meters: ContextVar[tuple[Meter, ...]] = ContextVar("meters", default=())
_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)
_counting = threading.Lock()  # calls that run side by side share the meters of their page


@contextlib.contextmanager
def _within(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


@contextlib.contextmanager
def metered() -> Iterator[Meter]:
    """Count the calls made within the block; blocks nest."""
    meter = Meter()
    with _within(_meters, (*_meters.get(), meter)):
        yield meter


def unmetered() -> AbstractContextManager[None]:
    """Count nothing of what the block does; a deadline stays."""
    return _within(_meters, ())


def deadline(seconds: float) -> AbstractContextManager[None]:
    """Let no call wait beyond this many seconds from now: a page gives up while its visitor still waits."""
    return _within(_deadline, time.monotonic() + seconds)


def restart_deadline(seconds: float) -> None:
    """Count the time of the block's deadline from now on."""
    _deadline.set(time.monotonic() + seconds)


@contextlib.contextmanager
def working() -> Iterator[None]:
    """Let the block's time not count towards the deadline: the site itself is at work, nobody waits for the table."""
    started = time.monotonic()
    try:
        yield
    finally:
        limit = _deadline.get()
        if limit is not None:
            _deadline.set(limit + time.monotonic() - started)


def check_deadline() -> None:
    """Raise Unavailable once the deadline of the block has passed."""
    if seconds_left() <= 0:
        raise Unavailable(reason="no time left of what a page has for its data")


def seconds_left() -> float:
    """Return the seconds until the deadline of the block, without end where there is none."""
    limit = _deadline.get()
    return math.inf if limit is None else limit - time.monotonic()


@contextlib.contextmanager
def timed(operation: str, index: str | None) -> Iterator[tuple[Meter, ...]]:
    """Count one call and its time on every meter of the block; yields those meters."""
    meters = _meters.get()
    started = time.perf_counter()
    try:
        yield meters
    finally:
        taken = time.perf_counter() - started
        with _counting:
            for meter in meters:
                meter.calls += 1
                meter.seconds += taken
                meter.log.append((operation, index))


def note(failure: Unavailable) -> None:
    """Let every meter of the block know why the table did not answer."""
    for meter in _meters.get():
        meter.failure = failure


READS = {"GetItem", "BatchGetItem", "Query", "Scan"}


def count_units(answer: dict[str, Any], operation: str, meters: tuple[Meter, ...]) -> None:
    """Add the capacity units that an answer names."""
    consumed = answer.get("ConsumedCapacity") or ()
    units = sum(c.get("CapacityUnits", 0.0) for c in ([consumed] if isinstance(consumed, dict) else consumed))
    with _counting:
        for meter in meters:
            if operation in READS:
                meter.read_units += units
            else:
                meter.write_units += units
