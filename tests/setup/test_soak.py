"""A soak says what grew, what got slower and what went wrong, and fails for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks import soak
from benchmarks.soak_load import CONTROL, Sample
from benchmarks.soak_readings import Reading, latencies
from tests.setup.conftest import ROOT

BOUNDS = {"worker: MB": 40.0, "worker: threads": 0.0}
START = Reading({"worker: MB": 200.0, "worker: threads": 20.0, "engine.db/: MB": 1.0})


def samples(milliseconds: float, kind: str = "order", times: int = 10, at: float = 0.0) -> list[Sample]:
    return [Sample(kind, at, milliseconds / 1000) for _ in range(times)]


def slower(start: list[Sample], end: list[Sample]) -> list[str]:
    return soak.slower(latencies(start), latencies(end))


def test_what_grew_beyond_its_bound_is_named_and_nothing_else():
    within = Reading({"worker: MB": 240.0, "worker: threads": 20.0, "engine.db/: MB": 900.0})
    beyond = Reading({"worker: MB": 241.0, "worker: threads": 21.0, "engine.db/: MB": 900.0})
    assert soak.grown([START, beyond, within], BOUNDS) == []
    assert soak.grown([START, within, beyond], BOUNDS) == [
        "worker: MB: 200 at the start, 241 at the end; +40 is the bound.",
        "worker: threads: 20 at the start, 21 at the end; +0 is the bound.",
    ]


def test_what_takes_much_longer_is_named():
    assert slower(samples(50), samples(149)) == []
    assert slower(samples(50), samples(151)) == ["order: p95 50 ms at the start, 151 ms at the end."]
    assert slower(samples(100), samples(299)) == []
    assert len(slower(samples(100), samples(301))) == 1


def test_a_machine_that_got_busy_is_not_taken_for_a_site_that_got_slow():
    start, end = samples(10, CONTROL), samples(40, CONTROL)
    assert slower(samples(50) + start, samples(590) + end) == []
    assert len(slower(samples(50) + start, samples(610) + end)) == 1


def test_wrong_answers_are_counted_and_some_busy_ones_allowed():
    good = samples(1, times=990)
    assert soak.errors([*good, *[Sample("cart", 0, 1, 503)] * 9], "") == []
    assert soak.errors([*good, *[Sample("cart", 0, 1, 503)] * 11], "") == [
        "11 requests of 1001 were answered by 503."
    ]
    assert soak.errors([*good, Sample("cart", 0, 1, 500), Sample("cart", 0, 1, -1)], "") == [
        "cart: 1 x -1",
        "cart: 1 x 500",
    ]


def test_errors_of_the_log_are_counted_without_the_503s_that_were_answered():
    log = (
        "2026-11-22 23:06:19,030 INFO dealsite: fine\n"
        "2026-11-22 23:06:19,030 ERROR dealsite.stream.consumer: event='consumer_failed' request_id='1'\n"
        "2026-11-22 23:06:20,030 ERROR dealsite.stream.consumer: event='consumer_failed' request_id='2'\n"
        "2026-11-22 23:06:20,030 ERROR django.request: Service Unavailable: /cart/ request_id='3'\n"
    )
    assert soak.errors(samples(1), log) == [
        "2 x in the log: ERROR dealsite.stream.consumer: event='consumer_failed' "
    ]


@pytest.mark.parametrize(("bound", "status"), [("worker: MB=40", 0), ("worker: MB=39", 1)])
def test_the_exit_status_tells_whether_it_held(capsys, bound, status):
    later = Reading(START.values | {"worker: MB": 240.0})
    name, _, most = bound.partition("=")
    done = [*samples(20, at=2.0), *samples(20, at=9.5)]
    assert soak.report(done, [START, START, later], [0, 2, 6, 10], "", {name: float(most)}) == status
    assert "| worker: MB | 200 | 200 | 240 |" in capsys.readouterr().out


@pytest.mark.release
def test_a_soak_of_a_whole_site_fails_for_files_that_may_not_grow():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", "--minutes", "0.35", "--bound", "media/: files=0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 1, done.stderr
    assert "media/: files: " in done.stderr
    for measure in ("worker: MB", "engine: open files", "lake/: files", "stream: records"):
        assert f"| {measure} |" in done.stdout
    for kind in ("order", "publish", "picture", "question"):
        assert f"| {kind} |" in done.stdout or kind in done.stderr
    assert not [line for line in done.stderr.splitlines() if " x 4" in line or " x 500" in line], done.stderr
