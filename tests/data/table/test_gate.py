"""The gate before a table that is away: when it shuts, who asks meanwhile, when it opens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import chain, repeat

import pytest

from dealsite.data import table
from dealsite.data.table import client, connection, errors
from dealsite.data.table.connection import FAILURES, FORGOTTEN_AFTER, LONGER_THAN, Gate
from tests.data.table.wire import COST, ITEM, Wire, whole

A = ("A", "A")
GOOD = whole({"Item": ITEM, "ConsumedCapacity": COST})


@pytest.fixture
def new_gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """A gate whose thread, once begun, waits until the test ends."""
    made = Gate(lambda: False)
    yield made
    made.end()


def is_shut(one: Gate) -> bool:
    try:
        one.check()
    except errors.Unavailable:
        return True
    return False


def shut(one: Gate, now: float = 100.0) -> None:
    for number in range(FAILURES):
        one.failed("no answer", now=now + number * LONGER_THAN)
    assert is_shut(one)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == connection.__name__]


def probes() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "table-probe"}


def wait_until(is_so: Callable[[], bool], seconds: float = 10) -> float:
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds
        time.sleep(0.005)
    return time.monotonic() - began


def test_it_shuts_after_failures_in_a_row(new_gate: Gate):
    for number in range(FAILURES - 1):
        new_gate.failed("no answer", now=100.0 + number)
        assert not is_shut(new_gate)
    new_gate.failed("no answer", now=102.0)
    assert is_shut(new_gate)


def test_an_answer_between_them_begins_a_new_row(new_gate: Gate):
    for number in range(10):
        new_gate.failed("no answer", now=100.0 + number)
        new_gate.failed("no answer", now=100.4 + number)
        new_gate.answered(now=100.5 + number)
        assert not is_shut(new_gate)


def test_failures_long_after_each_other_are_no_row(new_gate: Gate):
    for number in range(10):
        new_gate.failed("no answer", now=100.0 + number * (FORGOTTEN_AFTER + 0.1))
        assert not is_shut(new_gate)


def test_all_that_an_engine_takes_along_when_it_ends_is_one_failure(new_gate: Gate):
    for number in range(20):
        new_gate.failed("connection reset", now=100.0 + number * 0.01)
    assert not is_shut(new_gate)


def test_an_answer_opens_it_and_the_log_has_one_line_each(new_gate: Gate, caplog: pytest.LogCaptureFixture):
    shut(new_gate)
    for _ in range(40):
        assert is_shut(new_gate)
    new_gate.failed("still none", now=104.0)
    new_gate.answered(now=112.6)
    assert not is_shut(new_gate)
    assert lines(caplog) == [
        "event='table_away' reason='no answer'",
        "event='table_back' seconds=12.0 refused=41",
    ]


def test_many_threads_that_fail_begin_one_probe():
    asked = threading.Semaphore(0)
    at_once, most, lock = 0, 0, threading.Lock()
    go = threading.Event()

    def is_back() -> bool:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        asked.release()
        go.wait(10)
        with lock:
            at_once -= 1
        return True

    raced = Gate(is_back)
    before, barrier = probes(), threading.Barrier(16)

    def fail() -> None:
        barrier.wait()
        for number in range(50):
            raced.failed("no answer", now=100.0 + number)

    threads = [threading.Thread(target=fail) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(probes() - before) == 1
    assert asked.acquire(timeout=10)
    go.set()
    wait_until(lambda: not probes() - before)
    assert not is_shut(raced)
    assert most == 1


def test_without_a_thread_to_be_had_it_stays_open(new_gate: Gate, monkeypatch: pytest.MonkeyPatch):
    def no_thread(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_thread)
    for number in range(FAILURES):
        new_gate.failed("no answer", now=100.0 + number)
    assert not is_shut(new_gate)


def test_a_probe_that_fails_in_an_unknown_way_leaves_nobody_outside(monkeypatch: pytest.MonkeyPatch):
    ended: list[object] = []
    monkeypatch.setattr(threading, "excepthook", ended.append)

    def broken() -> bool:
        raise ZeroDivisionError

    one = Gate(broken)
    shut(one)
    wait_until(lambda: bool(ended))  # the thread, too: its error would count for the next test
    assert not is_shut(one)


# Through the client


def silence(seconds: float) -> Iterator[bytes]:
    time.sleep(seconds)
    yield b""


def page(seconds: float = 2.4) -> float:
    """Ask as a page does; return the seconds until it is told that the table is away."""
    began = time.monotonic()
    with table.deadline(seconds), pytest.raises(errors.Unavailable):
        table.get(A)
    return time.monotonic() - began


def away(wire: Wire) -> None:
    """Let pages find out that the table is away."""
    wire.say = lambda operation, body: b""
    kept = client.connect().gate
    wait_until(lambda: page() >= 0 and is_shut(kept))


def test_pages_fail_at_once_while_it_is_away_and_are_back_soon_after_it(wire: Wire):
    away(wire)
    wire.requests.clear()
    with table.metered() as meter:
        assert max(page() for _ in range(20)) < 1
    assert meter.calls == 0
    assert len(wire.requests) <= 3  # the probe's
    wire.say = lambda operation, body: whole({"ConsumedCapacity": COST})
    assert wait_until(lambda: not is_shut(client.connect().gate)) < 2
    with table.deadline(2):
        assert table.get(A) is None


def test_a_table_that_never_says_a_word_shuts_it_too(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "READ_TIMEOUT", 0.2)
    wire.say = lambda operation, body: silence(0.5)
    page()
    page()
    with table.metered() as meter:
        page()
    assert meter.calls == 0


def test_one_answer_that_is_lost_or_late_shuts_nothing(wire: Wire):
    for _ in range(5):
        sayings = chain([b""], repeat(GOOD))
        wire.say = lambda operation, body, sayings=sayings: next(sayings)  # type: ignore[misc]
        with table.deadline(2):
            assert table.get(A)
    assert not is_shut(client.connect().gate)


def test_refusals_of_a_table_that_works_shut_nothing(wire: Wire):
    wire.say = lambda operation, body: whole({"__type": "a#ThrottlingException"}, "400 Bad Request")
    for _ in range(3):
        with table.deadline(5), pytest.raises(errors.Busy):
            table.get(A)
    assert not is_shut(client.connect().gate)


def test_a_refused_key_shuts_it_until_it_is_taken(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "LONGER_THAN", 0.0)
    refused = whole({"__type": "a#UnrecognizedClientException", "message": "Who?"}, "400 Bad Request")
    wire.say = lambda operation, body: refused
    for _ in range(FAILURES + 1):
        page()
    with table.metered() as meter:
        page()
    assert meter.calls == 0
    assert is_shut(client.connect().gate)
    wire.say = lambda operation, body: whole({"ConsumedCapacity": COST})
    assert wait_until(lambda: not is_shut(client.connect().gate)) < 2


def test_a_worker_does_not_stand_before_it(wire: Wire):
    away(wire)
    wire.requests.clear()
    with pytest.raises(errors.Unavailable):
        table.get(A)
    assert len(wire.requests) >= 2


def test_a_page_with_hardly_any_time_left_says_nothing_of_the_table(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection, "LONGER_THAN", 0.0)
    wire.say = lambda operation, body: silence(0.3)
    for _ in range(FAILURES + 2):
        page(0.05)
    assert not is_shut(client.connect().gate)


def test_a_new_connection_has_a_gate_of_its_own(wire: Wire, caplog: pytest.LogCaptureFixture):
    before = probes()
    away(wire)
    assert len(probes() - before) == 1
    table.reset()
    assert not is_shut(client.connect().gate)
    wait_until(lambda: not probes() - before)
    (line,) = lines(caplog)
    assert "table_away" in line  # and no "table_back": the one that ended does not know
