"""Loading payments in several processes, each a segment at a time."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dealsite.data import table
from dealsite.data.commerce.payment import payment_loads
from dealsite.data.commerce.payment.payment_loads import Segment, Source

POLL_SECONDS = 0.1
Advance = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a load came to, this run and earlier ones together; `written` in this run."""

    inserted: int
    repeated: int
    written: int


def load(
    source: Source, *, processes: int, now: datetime, advance: Advance = lambda _payments, _units: None
) -> Outcome:
    """Load what is left of a source; `advance` is told of payments written and units of the source passed.

    Ended at any point, the same call goes on. Errors of a process end the load.
    """
    left = payment_loads.begin(source, now=now)
    before = sum(segment.inserted + segment.repeated for segment in left)
    passed = sum(
        segment.position - source.bounds(segment.number, payment_loads.SEGMENTS)[0] for segment in left
    )
    advance(0, passed)
    todo = [segment for segment in left if not segment.done]
    done = [segment for segment in left if segment.done]
    if processes == 1:
        done += _one_after_the_other(source, todo, advance)
    elif todo:
        done += _side_by_side(source, todo, processes, advance)
    inserted, repeated = sum(one.inserted for one in done), sum(one.repeated for one in done)
    return Outcome(inserted, repeated, inserted + repeated - before)


def _one_after_the_other(source: Source, todo: Sequence[Segment], advance: Advance) -> Iterator[Segment]:
    for segment in todo:
        yield payment_loads.load_segment(
            source, segment, advance=lambda before, after: advance(*_step(before, after))
        )


def _side_by_side(source: Source, todo: Sequence[Segment], processes: int, advance: Advance) -> list[Segment]:
    """Fork processes that take segments as they come; what they have done comes back by a queue."""
    table.reset()  # no process shares a connection with another
    context = multiprocessing.get_context("fork")
    steps = context.SimpleQueue()
    with context.Pool(processes, _begin_process, (source, steps)) as pool:
        running = [pool.apply_async(_load_in_process, (segment,)) for segment in todo]
        while not all(one.ready() for one in running):
            while not steps.empty():
                advance(*steps.get())
            failed = [one for one in running if one.ready() and not one.successful()]
            if failed:
                failed[0].get()
            time.sleep(POLL_SECONDS)
        while not steps.empty():
            advance(*steps.get())
        return [one.get() for one in running]


_source: Source
_steps: Any


def _begin_process(source: Source, steps: Any) -> None:
    global _source, _steps
    _source, _steps = source, steps


def _load_in_process(segment: Segment) -> Segment:
    return payment_loads.load_segment(
        _source, segment, advance=lambda before, after: _steps.put(_step(before, after))
    )


def _step(before: Segment, after: Segment) -> tuple[int, int]:
    payments = after.inserted + after.repeated - before.inserted - before.repeated
    return payments, after.position - before.position
