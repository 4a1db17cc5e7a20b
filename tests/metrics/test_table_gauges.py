"""What workers read from the table for /metrics: jobs by kind and state, and for how long they wait."""

from __future__ import annotations

import pytest

from dealsite.data.table.errors import Unavailable
from dealsite.web import counting
from tests.builders import HOUR, NOW
from tests.jobs import run_next
from tests.processes.test_heartbeat import Rounds
from tests.worker.test_loop import add_job

pytestmark = pytest.mark.usefixtures("fresh_table")


def test_what_was_there_and_is_gone_is_shown_as_0(processes, shown):
    processes.begin("worker")
    add_job("dance")
    seen: set[str] = set()
    counting.read_gauges(seen, now=NOW + HOUR)
    assert shown("dealsite_jobs", kind="dance", state="due") == 1
    assert shown("dealsite_job_oldest_seconds", kind="dance") == 3600
    run_next(now=NOW)
    counting.read_gauges(seen, now=NOW)
    assert shown("dealsite_jobs", kind="dance", state="due") == 0
    assert shown("dealsite_jobs", kind="dance", state="later") == 1
    assert shown("dealsite_job_oldest_seconds", kind="dance") == 0
    assert shown("dealsite_table_read_timestamp_seconds") == NOW.timestamp()


def test_while_the_table_is_away_the_worker_tries_again(monkeypatch: pytest.MonkeyPatch):
    tried = []

    def read(*_: object, **__: object) -> None:
        tried.append(1)
        raise Unavailable

    monkeypatch.setattr(counting, "read_gauges", read)
    counting.keep_gauges(Rounds(3), clock=lambda: NOW)
    assert len(tried) == 3
