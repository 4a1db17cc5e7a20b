"""A table that takes 0.2 s a call, on a clock that only calls move: how long a page would wait for it."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from dealsite.data.catalogue import lists
from dealsite.data.table import client, connection, parallel

CALL = 0.2  # seconds
SLOW = lists.SLOW  # before a fixture says otherwise
SIDE_BY_SIDE = connection.CONNECTIONS + 1  # the threads, and the one that asks


class SlowTable:
    """Adds up the time of calls that wait for each other; of those side by side, that of the longest chain."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, reads_ahead: bool = True) -> None:
        self.now = 0.0
        self._free: list[float] = []  # when each thread that helps is free
        self._send = client.send
        monkeypatch.setattr(client, "send", self.send)
        monkeypatch.setattr(lists, "clock", lambda: self.now)
        monkeypatch.setattr(lists, "SLOW", SLOW if reads_ahead else inf)
        real = parallel.together
        for module in list(sys.modules.values()):
            if vars(module).get("together") is real:
                monkeypatch.setattr(module, "together", self.together)

    def send(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        self.now += CALL
        return self._send(*arguments, **options)

    def together(self, *functions: Callable[[], Any]) -> list[Any]:
        """Do what the threads do, in one: whoever is free first takes the next function."""
        started, ends, results = self.now, [self.now], []
        is_outermost = not self._free
        self._free = [started] * SIDE_BY_SIDE if is_outermost else [*self._free, started]
        heapq.heapify(self._free)
        for function in functions:
            self.now = max(started, heapq.heappop(self._free))
            results.append(function())
            ends.append(self.now)
            heapq.heappush(self._free, self.now)
        self.now = max(ends)
        if is_outermost:
            self._free = []
        else:
            heapq.heappop(self._free)
        return results

    def calls_of(self, show: Callable[[], Any]) -> int:
        """Return how many calls one after the other something takes."""
        before = self.now
        show()
        return round((self.now - before) / CALL)
