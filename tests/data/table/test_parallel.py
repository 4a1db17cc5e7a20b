"""Calls side by side: their order, their errors, whose meters and deadline they count for, and what holds them up."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
import structlog
from django.utils import translation
from django.utils.translation import gettext

from dealsite.data import table
from dealsite.data.table import connection, errors, items, meters, parallel
from dealsite.data.table.parallel import together

ME = threading.get_ident


def in_threads(number: int) -> list[Any]:
    """Return functions of which none ends before all have begun: they cannot run one after the other."""
    met = threading.Barrier(number, timeout=10)

    def wait_for_the_others(one: int) -> int:
        met.wait()
        return one

    return [partial(wait_for_the_others, one) for one in range(number)]


def test_results_come_in_the_order_of_the_functions_which_run_side_by_side():
    assert together(*in_threads(4)) == [0, 1, 2, 3]
    assert together() == []
    assert together(ME) == [ME()]  # one alone costs no thread


def test_no_more_run_at_once_than_there_are_connections_and_the_caller():
    running, most = set(), [0]
    lock = threading.Lock()

    def run(number: int) -> None:
        with lock:
            running.add(number)
            most[0] = max(most[0], len(running))
        time.sleep(0.01)
        with lock:
            running.discard(number)

    together(*(partial(run, number) for number in range(40)))
    assert 1 < most[0] <= connection.CONNECTIONS + 1


def test_they_see_the_request_and_the_deadline_of_their_caller():
    def seen(meet: Any) -> tuple[Any, ...]:
        meet()
        return ME(), structlog.contextvars.get_contextvars()["request_id"], meters._deadline.get()

    with structlog.contextvars.bound_contextvars(request_id="x"), table.deadline(5):
        threads, requests, deadlines = map(
            set, zip(*together(*(partial(seen, one) for one in in_threads(3))), strict=True)
        )
        assert deadlines == {meters._deadline.get()}
    assert (len(threads), requests) == (3, {"x"})


def test_an_error_is_told_in_the_language_of_who_reads_it():
    def fail(meet: Any) -> None:
        meet()
        raise errors.BadCursor

    first, last = in_threads(2)
    with translation.override("de"), pytest.raises(errors.BadCursor) as raised:
        together(first, partial(fail, last))
    with translation.override("de"):
        assert str(raised.value) == gettext("This page address is damaged. Start again from the first page.")
        assert "Seite" in str(raised.value)


class SlowMeter(table.Meter):
    """A meter that other threads get at between the reading and the writing of a count."""

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        time.sleep(0.0005)
        return value


def test_the_callers_meter_counts_the_calls_of_all():
    def call(operation: str) -> None:
        with meters.timed(operation, None) as call:
            call.units = 0.5

    meter = SlowMeter()
    with meters._within(meters._meters, (meter,)):
        together(*[partial(call, "GetItem")] * 30, *[partial(call, "PutItem")] * 30)
    assert (meter.calls, len(meter.log)) == (60, 60)
    assert (meter.read_units, meter.write_units) == (15, 15)
    assert meter.seconds > 0


@pytest.mark.usefixtures("fresh_table")
def test_no_call_starts_after_the_deadline_of_the_caller():
    read = partial(items.get, ("A", "A"))
    with table.deadline(-1), pytest.raises(errors.Unavailable), table.metered() as meter:
        together(read, read, read)
    assert meter.calls == 0


def test_the_error_of_the_first_function_is_raised_as_what_it_is():
    first, last = in_threads(2)

    def fail(error: Exception, meet: Any) -> None:
        meet()
        raise error

    missing = errors.NotFound("No such deal.")
    with pytest.raises(errors.NotFound) as raised:
        together(partial(fail, missing, first), partial(fail, errors.Unavailable(), last))
    assert raised.value is missing
    with pytest.raises(errors.Unavailable):
        together(lambda: 1, partial(fail, errors.Unavailable(), lambda: None))


def test_nothing_runs_any_more_once_an_error_is_raised():
    began, failed, ended = threading.Event(), threading.Event(), []

    def fail() -> None:
        began.wait(10)
        failed.set()
        raise errors.NotFound

    def run() -> None:
        began.set()
        failed.wait(10)
        time.sleep(0.05)  # the caller would have gone on by now
        ended.append(True)

    with pytest.raises(errors.NotFound):
        together(fail, run)
    assert ended == [True]


def test_what_waits_for_a_thread_does_not_run_after_an_error():
    busy, entered, ran = threading.Event(), [], []

    def hold() -> None:
        entered.append(1)
        busy.wait(10)

    with ThreadPoolExecutor(1) as other:
        held = other.submit(together, *[hold] * (connection.CONNECTIONS + 1))
        while len(entered) <= connection.CONNECTIONS:  # the caller, and every thread
            time.sleep(0.001)

        def fail() -> None:
            raise errors.NotFound

        with pytest.raises(errors.NotFound):
            together(fail, lambda: ran.append(1))
        assert together(lambda: 1, lambda: ME(), lambda: 3) == [1, ME(), 3]  # the caller does it
        busy.set()
        held.result(10)
    together(*in_threads(3))  # what was taken back is gone from the threads' line, too
    assert ran == []


def test_calls_within_calls_end_however_deep_they_go():
    def deeper(depth: int) -> int:
        return sum(together(*[partial(deeper, depth - 1)] * 5)) if depth else 1

    with ThreadPoolExecutor(4) as callers:
        assert [one.result(20) for one in [callers.submit(deeper, 4) for _ in range(4)]] == [625] * 4


def test_the_caller_does_it_all_where_the_machine_gives_no_thread(monkeypatch: Any):
    def refuse(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(parallel._threads(os.getpid()), "submit", refuse)
    assert together(ME, ME, ME) == [ME()] * 3


def test_a_forked_process_has_threads_of_its_own():
    together(*in_threads(3))
    child = os.fork()
    if not child:
        os._exit(0 if together(*in_threads(3)) == [0, 1, 2] else 1)
    assert os.waitpid(child, 0)[1] == 0
