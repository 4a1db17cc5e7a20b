"""What a process says of itself in the table: that it lives, and how it and its machine are."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import uvicorn

from dealsite.data.jobs import processes
from dealsite.data.table.errors import Unavailable
from dealsite.front_door.process import web_server
from dealsite.management.commands import worker
from dealsite.processes import heartbeat
from dealsite.web import counting, log_lines, readiness
from dealsite.worker import loop
from tests.builders import HOUR, NOW
from tests.front_door.conftest import PATIENT


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


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine called `one`, with what each of its processes says of it."""
    monkeypatch.setattr(socket, "gethostname", lambda: "one")
    space = {"free_bytes": 5 * 10**12, "free_share": 0.126, "little": True, "too_little": False}
    monkeypatch.setattr(readiness, "disks_now", lambda: {"data": space})
    monkeypatch.setattr(readiness, "parts_now", lambda: {"engine": {"restarts": 2, "ended": None}})
    one = {"state": "following", "lag_seconds": 1.6, "skipped": 0}
    monkeypatch.setattr(readiness, "projections_now", lambda now: {"search": one})


def seen_between(rounds: Rounds, part: processes.Part) -> list[processes.Process]:
    """Keep a heartbeat for some rounds; return what was stored after the first."""
    seen: list[processes.Process] = []
    wait = rounds.wait

    def look(timeout: float | None = None) -> bool:
        seen.extend(processes.listed(now=NOW))
        return wait(timeout)

    rounds.wait = look  # type: ignore[method-assign]
    heartbeat.keep(rounds, part, clock=lambda: NOW)
    return seen


@pytest.mark.usefixtures("fresh_table", "machine")
def test_a_worker_says_four_times_a_minute_that_it_lives():
    moments = iter([NOW, NOW, NOW + HOUR])
    stop = Rounds(2)
    heartbeat.keep(stop, "worker", clock=lambda: next(moments))
    assert processes.last_heartbeat("worker") == NOW + HOUR
    assert stop.waits == [3.0, 15.0]  # what began meanwhile is told soon


@pytest.mark.usefixtures("fresh_table", "machine")
def test_each_process_has_an_item_of_its_own_until_it_ends():
    with heartbeat.at_work("send_message", NOW):
        (one,) = seen_between(Rounds(1), "worker")
    assert (one.part, one.machine, one.pid, one.at, one.began_at) == ("worker", "one", os.getpid(), NOW, NOW)
    assert one.jobs == (processes.JobAtWork("send_message", NOW),)
    assert one.disks == {"data": processes.DiskSpace(5 * 10**12, 12, "little")}
    assert one.parts == {"engine": processes.PartRestarts(2, "")}
    assert one.projections == {"search": processes.ProjectionState("following", 0, 2)}
    assert processes.listed(now=NOW) == []
    assert heartbeat.process("x", "worker", now=NOW).jobs == ()
    with heartbeat.at_work("b", NOW + HOUR), heartbeat.at_work("a", NOW):
        assert [one.kind for one in heartbeat.process("x", "worker", now=NOW).jobs] == ["a", "b"]


@pytest.mark.usefixtures("fresh_table", "machine")
def test_a_web_process_does_not_say_that_a_worker_lives(monkeypatch: pytest.MonkeyPatch):
    (one,) = seen_between(Rounds(1), "web")
    assert one.part == "web"
    assert processes.last_heartbeat("worker") is None
    assert processes.last_heartbeat("web") is None


def test_a_full_disk_that_cannot_be_looked_at_stops_no_heartbeat(
    monkeypatch: pytest.MonkeyPatch, machine: None
):
    def gone() -> None:
        raise OSError

    monkeypatch.setattr(readiness, "disks_now", gone)
    assert heartbeat.process("x", "web", now=NOW).disks == {}


def test_a_heartbeat_outlives_a_table_that_is_away(monkeypatch: pytest.MonkeyPatch):
    written = []

    def write(*_: object, **options: object) -> None:
        written.append("tried")
        raise Unavailable

    monkeypatch.setattr(processes, "save", write)
    monkeypatch.setattr(processes, "remove", write)
    heartbeat.keep(Rounds(3), "web", clock=lambda: NOW)
    assert written == ["tried"] * 4


def test_the_worker_command_has_a_heartbeat_and_logs_what_ends_a_thread(monkeypatch: pytest.MonkeyPatch):
    kept, noted = threading.Event(), threading.Event()
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(loop, "charge", lambda stop: None)
    monkeypatch.setattr(counting, "begin", lambda part: None)
    monkeypatch.setattr(counting, "keep_gauges", lambda stop: None)
    monkeypatch.setattr(heartbeat, "keep", lambda stop, part: kept.set())
    monkeypatch.setattr(log_lines, "note_uncaught", noted.set)
    monkeypatch.setattr(loop, "consume", lambda index, stop, **named: None)
    monkeypatch.setattr(loop, "run", lambda stop, **options: kept.wait(10))
    worker.Command().handle(tells=None)
    assert kept.is_set()
    assert noted.is_set()


def test_a_web_process_that_is_told_to_end_waits_until_its_heart_is_done(monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []

    def keep(stop: threading.Event, part: str) -> None:
        stop.wait(10)
        time.sleep(0.05)  # as a call of the table takes
        said.append(part)

    async def finish(server: object, sockets: object) -> None:
        said.append("finished")

    monkeypatch.setattr(heartbeat, "keep", keep)
    monkeypatch.setattr(uvicorn.Server, "shutdown", finish)
    monkeypatch.setattr(readiness, "of_process", readiness.Readiness())
    server = web_server(lambda *_: None, PATIENT)  # type: ignore[arg-type]
    server.heart.start()
    assert said == []
    server.handle_exit(15, None)
    with ThreadPoolExecutor(1) as pool:  # a browser's loop may run in this thread
        pool.submit(lambda: asyncio.run(server.shutdown())).result()
    assert sorted(said) == ["finished", "web"]
    assert not server.heart.is_alive()
