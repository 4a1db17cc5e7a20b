"""When a web process is ready: one check at a time, in bounded time, with bounded writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest

from dealsite.data.catalogue import categories
from dealsite.data.jobs import processes
from dealsite.data.table import schema
from dealsite.data.table.errors import DataError, Incomplete, Misconfigured, Unavailable
from dealsite.front_door.process import web_server
from dealsite.web import readiness
from dealsite.web.readiness import WARNINGS, Readiness, State
from tests.builders import NOW
from tests.front_door.conftest import PATIENT

SECOND = timedelta(seconds=1)
FOLLOWING = {"state": "following", "lag_seconds": 1.0, "skipped": 0}
ROOM = {"free_bytes": 10**10, "free_share": 0.5, "little": False, "too_little": False}


class Site:
    """A table, a worker, a disk and a projection that do as a test says; `seconds` is the time."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self.asked: list[str] = []
        self.read_error: Exception | None = None
        self.write_error: Exception | None = None
        self.worker = NOW
        self.missing: list[str] = []
        self.unknown: datetime | None = None
        self.disk: dict[str, Any] | OSError = {"data": ROOM}
        self.projections = {"search": FOLLOWING}
        self.let_go = threading.Event()
        self.let_go.set()
        self.readiness = Readiness(ticks=lambda: self.seconds, clock=lambda: NOW)

    def answer(self) -> None:
        self.asked.append("read")
        self.let_go.wait(30)
        if self.read_error:
            raise self.read_error

    def write(self, part: str, **options: Any) -> None:
        self.asked.append(f"write {part}")
        if self.write_error:
            raise self.write_error

    def disks(self) -> dict[str, Any]:
        if isinstance(self.disk, OSError):
            raise self.disk
        return self.disk

    def state(self, *, after: float = 1.0) -> State:
        self.seconds += after
        return self.readiness.state()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = Site()
    monkeypatch.setattr(schema, "answer", made.answer)
    monkeypatch.setattr(categories, "missing", lambda: made.missing)
    monkeypatch.setattr(
        processes, "last_heartbeat", lambda part: made.unknown if part == "unknown" else made.worker
    )
    monkeypatch.setattr(processes, "write_heartbeat", made.write)
    monkeypatch.setattr(readiness, "disks_now", made.disks)
    monkeypatch.setattr(readiness, "projections_now", lambda now: made.projections)
    yield made
    made.let_go.set()


def test_all_is_well(site: Site):
    state = site.state()
    assert (state.reason, state.degraded) == ("", ())
    assert state.details["worker_seconds_ago"] == 0.0


# Reads


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Unavailable(), "table"),
        (DataError("AccessDenied: x"), "table"),
        (Misconfigured("x"), "misconfigured"),
        (Incomplete(), "setup"),
        (IndexError("what nobody thought of"), "table"),
    ],
)
def test_a_table_that_cannot_be_read_is_no_place_for_visitors(site: Site, error: Exception, reason: str):
    site.read_error = error
    assert site.state().reason == reason
    site.read_error = None
    assert site.state().reason == ""


def test_a_site_that_was_never_set_up_gets_no_visitors_and_one_that_was_keeps_them(site: Site):
    site.missing = ["toys-hobbies"]
    assert site.state().reason == "setup"
    site.missing = []
    assert site.state().reason == ""
    site.missing = ["toys-hobbies"]  # lost since: all other pages are as they were
    assert site.state().reason == ""


def test_while_the_table_cannot_be_read_nothing_is_said_of_the_worker(site: Site):
    site.worker -= 100 * SECOND
    site.read_error = Unavailable()
    state = site.state()
    assert "worker" not in state.degraded
    assert state.details["disks"] == {"data": ROOM}


# Many probes, and a table that hangs


def test_an_answer_counts_for_a_second(site: Site):
    for _ in range(20):
        assert site.state(after=0.04).reason == ""
    assert site.asked.count("read") == 1
    site.read_error = Unavailable()
    assert site.state(after=0.1).reason == ""
    assert site.state(after=0.2).reason == "table"
    assert site.asked.count("read") == 2


def test_many_probes_at_once_are_one_check(site: Site):
    site.let_go.clear()
    with ThreadPoolExecutor(20) as pool:
        answers = [pool.submit(site.readiness.state) for _ in range(20)]
        site.let_go.set()
        assert {answer.result().reason for answer in answers} == {""}
    assert site.asked == ["read", "write web"]


def test_a_table_that_hangs_is_slow_and_probes_do_not_pile_up(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(readiness, "WAIT_SECONDS", 0.05)
    site.let_go.clear()
    before = threading.active_count()
    assert site.state().reason == "slow"
    monkeypatch.setattr(readiness, "WAIT_SECONDS", 60)  # for which nobody must wait: the check began long ago
    assert [site.state(after=61).reason for _ in range(50)] == ["slow"] * 50
    assert site.asked == ["read"]
    assert threading.active_count() == before + 1
    check = next(one for one in threading.enumerate() if one.name == "readiness")
    site.let_go.set()
    check.join(10)
    assert site.state(after=0).reason == ""  # what it found in the end


def test_a_check_and_its_answer_fit_into_two_and_a_half_seconds():
    assert readiness.CALLS_SECONDS < readiness.WAIT_SECONDS < 2.5


def test_the_calls_of_a_check_end(site: Site, monkeypatch: pytest.MonkeyPatch):
    began = []

    def answer() -> None:
        from dealsite.data.table.meters import _deadline

        began.append(_deadline.get())

    monkeypatch.setattr(schema, "answer", answer)
    site.state()
    assert began[0] is not None


# Writes


def test_a_process_writes_every_five_seconds_at_most_however_often_it_is_asked(site: Site):
    for _ in range(100):
        site.state(after=0.1)
    assert site.asked.count("write web") == 2
    assert site.asked.count("read") == 10


def test_writes_that_fail_for_a_quarter_of_a_minute_are_a_reason(site: Site):
    assert site.state().reason == ""
    site.write_error = Unavailable()
    seen = [(site.state(after=5), site.seconds) for _ in range(5)]
    assert [(state.reason, "write" in state.degraded) for state, _ in seen] == [
        ("", True),
        ("", True),
        ("", True),
        ("write", False),
        ("write", False),
    ]
    assert seen[3][0].details["written_seconds_ago"] == 20.0
    site.write_error = None
    state = site.state(after=5)
    assert (state.reason, state.degraded, state.details["written_seconds_ago"]) == ("", (), 0.0)


def test_a_failed_write_is_not_tried_again_at_once(site: Site):
    site.write_error = Unavailable()
    for _ in range(9):
        assert site.state(after=0.5).reason == "write"
    assert site.asked.count("write web") == 1


def test_a_process_that_never_could_write_is_not_ready(site: Site):
    site.write_error = Unavailable()
    state = site.state()
    assert (state.reason, state.details["written_seconds_ago"]) == ("write", None)


# Disks, workers, projections


def test_a_full_disk_is_a_reason_and_one_that_fills_up_a_warning(site: Site):
    site.disk = {"data": ROOM, "uploads": ROOM | {"little": True}}
    assert (site.state().reason, site.state().degraded) == ("", ("disk",))
    site.disk = {"data": ROOM, "uploads": ROOM | {"little": True, "too_little": True}}
    assert site.state().reason == "disk"
    site.disk = OSError("It is gone.")
    assert site.state().reason == "disk"
    site.read_error = Unavailable()
    assert site.state().reason == "table"  # the first reason counts


@pytest.mark.parametrize(
    ("projection", "is_said"),
    [
        ({"lag_seconds": None}, False),
        ({"lag_seconds": 60.0}, False),
        ({"lag_seconds": 60.1}, True),
        ({"state": "none", "lag_seconds": 0.1}, True),
        ({"state": "building", "lag_seconds": None}, True),
        ({"state": "failing"}, True),
    ],
)
def test_a_projection_that_nobody_feeds_or_that_is_behind_is_a_warning(
    site: Site, projection: dict[str, Any], is_said: bool
):
    site.projections = {"search": FOLLOWING | projection}
    assert (site.state().reason, site.state().degraded) == ("", ("search",) if is_said else ())


def test_skipped_records_are_a_warning(site: Site):
    site.projections = {"search": FOLLOWING | {"skipped": 1}}
    assert (site.state().reason, site.state().degraded) == ("", ("skipped",))


def test_a_worker_without_heartbeat_for_a_minute_is_a_warning(site: Site):
    site.worker = NOW - 60 * SECOND
    assert site.state().degraded == ()
    site.worker = NOW - 61 * SECOND
    state = site.state()
    assert (state.reason, state.degraded, state.details["worker_seconds_ago"]) == ("", ("worker",), 61.0)


def test_jobs_of_a_newer_build_are_a_warning_while_workers_meet_them(site: Site):
    site.unknown = NOW - 119 * SECOND
    assert (site.state().reason, site.state().degraded) == ("", ("jobs",))
    site.unknown = NOW - 120 * SECOND
    assert site.state().degraded == ()


# Ending


def test_a_process_that_is_told_to_end_says_so_before_it_asks_anything(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(readiness, "of_process", site.readiness)
    server = web_server(lambda *_: None, PATIENT)  # type: ignore[arg-type]
    assert site.state().reason == ""
    server.handle_exit(15, None)
    assert site.state().reason == "stopping"
    assert server.should_exit
    assert site.asked.count("read") == 1


def test_each_projection_has_a_word():
    assert readiness.projections_now(NOW).keys() <= WARNINGS.keys()
