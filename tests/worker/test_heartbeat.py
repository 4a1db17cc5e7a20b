"""The worker's heartbeat in the table."""

from __future__ import annotations

import signal
import threading

import pytest

from dealsite.data.jobs import heartbeats
from dealsite.data.table.errors import Unavailable
from dealsite.management.commands import worker
from dealsite.web import log_lines
from dealsite.worker import charging, heartbeat, loop
from tests.builders import HOUR, NOW


class Rounds(threading.Event):
    """A stop that comes after some rounds, and notes for how long each would have waited."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._number = number

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.waits.append(timeout)
        if len(self.waits) == self._number:
            self.set()
        return self.is_set()


def test_a_worker_says_four_times_a_minute_that_it_lives(fresh_table: None):
    moments = iter([NOW, NOW + HOUR])
    stop = Rounds(2)
    heartbeat.keep(stop, clock=lambda: next(moments))
    assert heartbeats.last("worker") == NOW + HOUR
    assert stop.waits == [15.0, 15.0]


def test_a_heartbeat_outlives_a_table_that_is_away(monkeypatch: pytest.MonkeyPatch):
    written = []

    def write(part: str, **options: object) -> None:
        written.append(part)
        raise Unavailable

    monkeypatch.setattr(heartbeats, "write", write)
    heartbeat.keep(Rounds(3), clock=lambda: NOW)
    assert written == ["worker"] * 3


def test_the_worker_command_has_a_heartbeat_and_logs_what_ends_a_thread(monkeypatch: pytest.MonkeyPatch):
    kept, noted = threading.Event(), threading.Event()
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(charging, "run", lambda stop: None)
    monkeypatch.setattr(heartbeat, "keep", lambda stop: kept.set())
    monkeypatch.setattr(log_lines, "note_uncaught", noted.set)
    monkeypatch.setattr(loop, "PROJECTIONS", {})
    monkeypatch.setattr(loop, "run", lambda stop, **options: kept.wait(10))
    worker.Command().handle()
    assert kept.is_set()
    assert noted.is_set()
