"""Threads that run what blocks, with a bound on how long anything waits for one."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dealsite.front_door.limits import QUEUE_SECONDS, QUEUED

START_SECONDS = 5.0
Result = TypeVar("Result")


class Busy(Exception):
    """No thread was free in time."""


def with_room(function: Callable[[float], Result], waited: float) -> Result:
    """Call a function where Python has 200 KB at hand for the frames of what that calls.

    Python takes memory for frames from the system in pieces of 16 KB, and gives one back as soon as calls leave it: a
    loop that stands at the end of one does so each time around. That was a fifth of a page of the CMS.
    """
    return function(waited)


# A frame of this size (items of 8 bytes), although it holds nothing, lies in a piece of 512 KB.
with_room.__code__ = with_room.__code__.replace(co_stacksize=33_000)


class Pool:
    """Some threads for one kind of work; `patience` is how many seconds to wait for one, None for any time."""

    def __init__(self, threads: int, name: str, patience: float | None = QUEUE_SECONDS) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        # Started now: a process that gets no threads ends with the reason, and does not answer each request with 500.
        all_run = threading.Barrier(threads)
        for _ in range(threads):
            self._executor.submit(all_run.wait, START_SECONDS)
        self._free = asyncio.Semaphore(threads)
        self._patience = patience
        self._queued = 0

    async def run(self, function: Callable[[float], Result]) -> Result:
        """Return what a function returns, called in a thread with the seconds that it waited for one; or Busy."""
        loop = asyncio.get_running_loop()
        asked = loop.time()
        await self._enter()
        try:
            return await loop.run_in_executor(self._executor, with_room, function, loop.time() - asked)
        finally:
            self._free.release()

    async def _enter(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        if self._patience is not None and self._queued >= QUEUED:
            raise Busy
        self._queued += 1
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError:
            raise Busy from None
        finally:
            self._queued -= 1
