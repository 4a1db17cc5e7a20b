"""What a page costs in calls, capacity units and time, and the deadline of its calls; and what each function asks.

    @access_pattern("the deals of a day", "1 query")
    def deals_of_day(day): ...

The page of all questions is written from these, and tests hold each function to its requests.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from .errors import Unavailable

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """A question to the table, and the requests that it takes where a test measures it."""

    question: str
    requests: str


_registered: dict[Callable[..., Any], AccessPattern] = {}
ACCESS_PATTERNS = MappingProxyType(_registered)  # of all modules imported so far


def access_pattern(question: str, requests: str) -> Callable[[Function], Function]:
    """Register the question that a function asks; `requests` reads `1 batch get + 2 queries`."""

    def register(function: Function) -> Function:
        _registered[function] = AccessPattern(question, requests)
        return function

    return register


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


READS = {"GetItem", "BatchGetItem", "Query", "Scan"}


@dataclass(slots=True)
class Call:
    """One attempt of a request: how long it took, the capacity units that its answer names, and how it ended.

    `outcome`: answered, unanswered, unreadable, or what `errors.Refused.outcome` says; `retries` counts those before.
    """

    operation: str
    index: str | None
    seconds: float = 0.0
    units: float = 0.0
    outcome: str = "answered"
    retries: int = 0

    @property
    def units_kind(self) -> str:
        return "read" if self.operation in READS else "write"


Called = Callable[[Call], None]
Happened = Callable[[str, float], None]
_called: frozenset[Called] = frozenset()
_happened: frozenset[Happened] = frozenset()
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


def observe(called: Called, *happened: Happened) -> None:
    """Tell `called`, too, of every attempt of this process, and `happened` by name and number of what else counts."""
    global _called, _happened
    _called, _happened = _called | {called}, _happened.union(happened)


def tell(what: str, number: float = 1) -> None:
    """Tell the observers of this process that something happened so many times."""
    for happened in _happened:
        happened(what, number)


@contextlib.contextmanager
def timed(operation: str, index: str | None) -> Iterator[Call]:
    """Count one call on every meter of the block, and tell the observers; yields it, to say how it ended."""
    call = Call(operation, index)
    started = time.perf_counter()
    try:
        yield call
    finally:
        call.seconds = time.perf_counter() - started
        with _counting:
            for meter in _meters.get():
                meter.calls += 1
                meter.seconds += call.seconds
                meter.log.append((operation, index))
                if call.units_kind == "read":
                    meter.read_units += call.units
                else:
                    meter.write_units += call.units
        for called in _called:
            called(call)


def note(failure: Unavailable) -> None:
    """Let every meter of the block know why the table did not answer."""
    for meter in _meters.get():
        meter.failure = failure
