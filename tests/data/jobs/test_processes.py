"""Processes: each has an item of its own for as long as it lives, and a day longer if it died."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from dealsite.data import keys, table
from dealsite.data.integrity import checks
from dealsite.data.jobs import processes
from dealsite.data.jobs.processes import DiskSpace, JobAtWork, PartRestarts, Process, ProjectionState
from dealsite.data.table import schema
from tests.builders import DAY, HOUR, NOW, make_id
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")
SECOND = timedelta(seconds=1)
FULL = Process(
    id=make_id(NOW - HOUR, 1),
    part="worker",
    machine="web-1.example",
    pid=4711,
    version="1.2.3",
    at=NOW,
    jobs=(JobAtWork("send_message", NOW - SECOND),),
    projections={"search": ProjectionState("following", 0, 3)},
    disks={"data": DiskSpace(5 * 10**12, 40, "enough")},
    parts={"engine": PartRestarts(2, "SIGKILL"), "web process 1": PartRestarts(0)},
)


def test_what_a_process_says_is_read_as_it_was_said():
    processes.save(FULL)
    assert processes.listed(now=NOW) == [FULL]
    assert FULL.began_at == NOW - HOUR
    assert checks.find() == []


def test_a_process_says_one_thing_at_a_time_and_goes_when_it_ends():
    measured(processes.save)(FULL)
    later = replace(FULL, at=NOW + SECOND, jobs=())
    processes.save(later)
    other = replace(FULL, id=make_id(NOW, 2))
    processes.save(other)
    assert measured(processes.listed)(now=NOW) == [other, later]
    for _ in range(2):
        measured(processes.remove)(other.id)
    assert processes.listed(now=NOW) == [later]


def test_a_silent_process_is_dead_after_a_minute_and_gone_after_a_day():
    processes.save(FULL)
    assert not FULL.is_dead(now=NOW + 60 * SECOND)
    assert FULL.is_dead(now=NOW + 61 * SECOND)
    assert processes.listed(now=NOW + DAY - SECOND) == [FULL]
    assert processes.listed(now=NOW + DAY) == []  # whether or not the engine has removed it
    assert schema.has_expired(table.get(keys.process(FULL.id)), now=NOW + DAY)


def test_those_that_began_last_are_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(processes, "MOST", 2)
    for number in range(4):
        processes.save(replace(FULL, id=make_id(NOW, number)))
    assert [one.id for one in processes.listed(now=NOW)] == [make_id(NOW, 3), make_id(NOW, 2)]
