"""The queue: jobs by kind and state, the kind that waits longest first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from dealsite.data import keys, table
from dealsite.data.entities.work import PAUSABLE
from dealsite.data.jobs import jobs, queue
from dealsite.data.jobs.queue import KindOfJob, Queue
from dealsite.data.table.writes import Update
from tests.builders import DAY, EDITOR, HOUR, NOW, make_announcement, make_deal, make_id
from tests.measuring import measured
from tests.worker.test_loop import add_job

pytestmark = pytest.mark.usefixtures("whole_table")


def order() -> str:
    return make_announcement(make_deal().id, make_id(NOW))


def kind(name: str, oldest: datetime | None = None, last_failed: str = "", **jobs: int) -> KindOfJob:
    return KindOfJob(name, {state: jobs.get(state, 0) for state in queue.STATES}, oldest, last_failed)


def test_what_is_due_waits_until_a_worker_takes_it(wait_for_indexes: Callable[[], None], monkeypatch):
    assert queue.read(now=NOW) == Queue((), True)
    add_job("a", 1, due=NOW)
    add_job("b", 2, due=NOW - HOUR)
    add_job("b", 3, due=NOW - DAY)
    add_job("c", 4, due=NOW + timedelta(seconds=1))
    wait_for_indexes()
    kinds = (kind("b", due=2, oldest=NOW - DAY), kind("a", due=1, oldest=NOW), kind("c", later=1))
    assert queue.read(now=NOW) == Queue(kinds, True)
    assert queue.read(now=NOW).oldest == NOW - DAY
    monkeypatch.setattr(queue, "MOST_OPEN", 2)
    assert queue.read(now=NOW) == Queue((kind("b", due=2, oldest=NOW - DAY),), False)
    assert jobs.take_next(now=NOW) is not None
    wait_for_indexes()
    assert queue.read(now=NOW).kinds[0] == kind("b", due=1, oldest=NOW - HOUR)


def test_a_job_that_a_worker_has_taken_is_not_due_again_before_its_lease_ends(
    wait_for_indexes: Callable[[], None],
):
    add_job("sing", 1)
    wait_for_indexes()
    assert jobs.take_next(now=NOW) is not None
    wait_for_indexes()
    assert queue.read(now=NOW).kinds == (kind("sing", later=1),)


def test_paused_and_failed_jobs_count_until_somebody_takes_care_of_them(
    wait_for_indexes: Callable[[], None], monkeypatch
):
    queue.pause(order(), by=EDITOR, now=NOW)
    state = {"state": "failed", ("card", "state"): "failed"}
    first, last = add_job("sing", 9_999_998), add_job("sing", 9_999_999)
    for job_id in (first, last):
        table.write(Update(key=keys.job(job_id), set=state, remove=("GSI3PK", "GSI3SK")))
    wait_for_indexes()
    for now in (NOW, NOW + 30 * DAY):
        assert queue.read(now=now).kinds == (
            kind("send_message", paused=1),
            kind("sing", failed=2, last_failed=last),
        )
    assert measured(queue.read)(now=NOW + 60 * DAY).kinds == ()
    monkeypatch.setattr(queue, "MOST_RECENT", 1)
    assert queue.read(now=NOW).kinds == (kind("sing", failed=1, last_failed=last),)


def test_a_job_that_rests_while_the_site_is_not_open_is_not_due(
    wait_for_indexes: Callable[[], None], monkeypatch
):
    add_job("sing", 1, due=NOW)
    order()
    wait_for_indexes()
    assert queue.read(now=NOW).kinds[0].jobs["due"] == 1
    monkeypatch.setattr(jobs, "rests", PAUSABLE.__contains__)
    assert queue.read(now=NOW).kinds == (kind("sing", due=1, oldest=NOW), kind("send_message", paused=1))
