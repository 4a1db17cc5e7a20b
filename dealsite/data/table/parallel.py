"""Calls that do not wait for each other, for pages that would stand in line at a slow table."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache
from typing import Any

from .connection import CONNECTIONS


def together(*functions: Callable[[], Any]) -> list[Any]:
    """Call functions that do not need each other, side by side; return their results in this order.

    They see the caller's meters, deadline and request id, but not Django's language and time zone. The caller runs the
    first one, and what no thread has taken yet: neither busy threads nor calls within calls make it wait. Of several
    errors the first function's is raised, once nothing runs any more; what comes after it may not run at all.
    """
    threads = _threads(os.getpid())
    later = [(_start(threads, function), function) for function in functions[1:]]
    try:
        return [
            *(function() for function in functions[:1]),
            *(
                function() if not running or running.cancel() else running.result()
                for running, function in later
            ),
        ]
    finally:
        if left := [running for running, _ in later if running and not running.cancel()]:
            wait(left)


def _start(threads: ThreadPoolExecutor, function: Callable[[], Any]) -> Future[Any] | None:
    try:
        return threads.submit(copy_context().run, function)
    except RuntimeError:  # the machine has no thread to give, or the process is ending
        return None


@cache
def _threads(process: int) -> ThreadPoolExecutor:
    """Return the threads of a process: made once, after the fork; no more than there are connections."""
    return ThreadPoolExecutor(CONNECTIONS, "read")
