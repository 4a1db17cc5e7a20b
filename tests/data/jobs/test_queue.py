"""The queue: what is due and not taken, by kind, the one that waits longest first."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dealsite.data.jobs import command_runs, jobs, queue
from dealsite.data.jobs.queue import KindWaiting, Queue
from tests.builders import DAY, HOUR, NOW

pytestmark = pytest.mark.usefixtures("whole_table")


def test_what_is_due_waits_until_a_worker_takes_it(wait_for_indexes, monkeypatch):
    assert queue.waiting(now=NOW) == Queue((), True)
    for kind, due in (("a", NOW), ("b", NOW - HOUR), ("b", NOW - DAY), ("c", NOW + timedelta(seconds=1))):
        command_runs.plan(kind, due=due)
    wait_for_indexes()
    kinds = (KindWaiting("b", 2, NOW - DAY), KindWaiting("a", 1, NOW))
    assert queue.waiting(now=NOW) == Queue(kinds, True)
    assert queue.waiting(now=NOW).jobs == 3
    monkeypatch.setattr(queue, "MOST", 2)
    assert queue.waiting(now=NOW) == Queue((KindWaiting("b", 2, NOW - DAY),), False)
    assert jobs.take_next(now=NOW) is not None
    wait_for_indexes()
    assert queue.waiting(now=NOW).kinds[0] == KindWaiting("b", 1, NOW - HOUR)
