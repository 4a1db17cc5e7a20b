"""What workers read from the table for /metrics: jobs by kind and state, and for how long they wait."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dealsite.data import keys, table
from dealsite.data.jobs import job_counts, jobs
from dealsite.data.table.errors import Unavailable
from dealsite.data.table.writes import Update
from dealsite.metrics import table_gauges
from dealsite.worker import loop
from tests.builders import HOUR, NOW
from tests.data.examples.jobs import order, paused
from tests.processes.test_heartbeat import Rounds
from tests.worker.test_loop import add_job

pytestmark = pytest.mark.usefixtures("fresh_table")


def test_open_jobs_count_as_due_or_later_and_the_oldest_due_one_says_how_long_it_waits():
    add_job("sing", 1, due=NOW)
    add_job("sing", 2, due=NOW + timedelta(minutes=50))
    add_job("sing", 3, due=NOW + 2 * HOUR)
    add_job("dance", 4, due=NOW + 3 * HOUR)
    found = job_counts.read(now=NOW + HOUR)
    assert found.jobs == {("sing", "due"): 2, ("sing", "later"): 1, ("dance", "later"): 1}
    assert found.waits == {"sing": 3600}


def test_a_job_that_a_worker_has_taken_is_not_due_again_before_its_lease_ends():
    add_job("sing", 1)
    assert jobs.take_next(now=NOW) is not None
    assert job_counts.read(now=NOW).jobs == {("sing", "later"): 1}


def test_paused_and_failed_jobs_count_until_somebody_takes_care_of_them():
    paused(order())
    state = {"state": "failed", ("card", "state"): "failed"}
    table.write(Update(key=keys.job(add_job("sing", 9_999_999)), set=state, remove=("GSI3PK", "GSI3SK")))
    found = job_counts.read(now=NOW).jobs
    assert (found["send_message", "paused"], found["sing", "failed"]) == (1, 1)


def test_what_was_there_and_is_gone_is_shown_as_0(processes, shown):
    processes.begin("worker")
    add_job("dance")
    seen: set[tuple[str, str]] = set()
    table_gauges.read(seen, now=NOW + HOUR)
    assert shown("dealsite_jobs", kind="dance", state="due") == 1
    assert shown("dealsite_job_oldest_seconds", kind="dance") == 3600
    loop.run_next(now=NOW)
    table_gauges.read(seen, now=NOW)
    assert shown("dealsite_jobs", kind="dance", state="due") == 0
    assert shown("dealsite_jobs", kind="dance", state="later") == 1
    assert shown("dealsite_job_oldest_seconds", kind="dance") == 0
    assert shown("dealsite_table_read_timestamp_seconds") == NOW.timestamp()


def test_while_the_table_is_away_the_worker_tries_again(monkeypatch: pytest.MonkeyPatch):
    tried = []

    def read(*_: object, **__: object) -> None:
        tried.append(1)
        raise Unavailable

    monkeypatch.setattr(table_gauges, "read", read)
    table_gauges.keep(Rounds(3), clock=lambda: NOW)
    assert len(tried) == 3
