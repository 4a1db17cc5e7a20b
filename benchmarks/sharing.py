"""Work that several processes share, each a task at a time."""

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from dealsite.data import table

POLL_SECONDS = 0.1
Task = TypeVar("Task")
Step = TypeVar("Step")
Result = TypeVar("Result")


def share(
    tasks: Iterable[Task],
    work: Callable[[Task, Callable[[Step], None]], Result],
    *,
    processes: int,
    advance: Callable[[Step], None],
) -> list[Result]:
    """Do all tasks in forked processes; `advance` is told what `work` reports. An error of one ends all."""
    if processes == 1:
        return [work(task, advance) for task in tasks]
    table.reset()  # no process shares a connection with another
    context = multiprocessing.get_context("fork")
    steps = context.SimpleQueue()
    with context.Pool(processes, _begin, (work, steps.put)) as pool:
        running = [pool.apply_async(_work, (task,)) for task in tasks]
        while True:
            is_over = all(one.ready() for one in running)
            while not steps.empty():
                advance(steps.get())
            done = [one.get() for one in running if one.ready()]  # raises what ended it
            if is_over:
                return done
            time.sleep(POLL_SECONDS)


_shared: tuple[Callable[..., Any], Callable[..., Any]]


def _begin(*shared: Any) -> None:
    global _shared
    _shared = shared
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the pool ends it so, whatever its parent does then


def _work(task: Any) -> Any:
    work, report = _shared
    return work(task, report)
