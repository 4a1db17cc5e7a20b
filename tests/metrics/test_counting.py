"""What several processes of a machine count is added up, and outlives those that end."""

from __future__ import annotations

import errno
import os
import struct
from typing import Any

import pytest

from dealsite.web import counting
from tests.metrics.conftest import begin
from tests.pages import routes


def test_what_all_processes_count_is_added_up(processes, shown):
    for part in ("web", "web", "worker"):
        processes.begin(part)
        counting.add(counting.PAGE_CACHE, "kept", by=2)
        counting.took(counting.JOB_SECONDS, "sing", seconds=0.5)
    assert shown("dealsite_page_cache_total", result="kept") == 6
    assert shown("dealsite_job_seconds_bucket", kind="sing", le="0.1") == 0
    assert shown("dealsite_job_seconds_bucket", kind="sing", le="1.0") == 3
    assert (shown("dealsite_processes", part="web"), shown("dealsite_processes", part="worker")) == (2, 1)


def test_who_takes_the_place_of_a_killed_process_goes_on_counting_where_that_was(processes, shown):
    assert [processes.begin("web"), processes.begin("web")] == ["web-1", "web-2"]
    counting.add(counting.MESSAGES, by=5)
    for _ in range(3):
        processes.kill("web-2")
        assert shown("dealsite_processes", part="web") == 1
        assert processes.begin("web") == "web-2"
        counting.add(counting.MESSAGES)
    assert shown("dealsite_messages_total") == 8
    assert len(list(counting.folder().glob("counter_*.db"))) == 2


def test_the_first_process_of_a_machine_begins_anew(processes, shown):
    processes.begin("worker")
    counting.add(counting.MESSAGES, by=5)
    processes.kill_all()
    processes.begin("web")
    assert shown("dealsite_messages_total") == 0


def test_what_a_dead_worker_read_from_the_table_is_shown_no_more(processes, shown):
    processes.begin("web")
    name = processes.begin("worker")
    counting.put(counting.JOBS, "sing", "due", value=3)
    assert shown("dealsite_jobs", kind="sing", state="due") == 3
    processes.kill(name)
    assert shown("dealsite_jobs", kind="sing", state="due") is None


def test_of_two_workers_the_one_that_read_last_counts(processes, shown):
    processes.begin("worker")
    counting.put(counting.JOBS, "sing", "due", value=3)
    processes.begin("worker")
    counting.put(counting.JOBS, "sing", "due", value=1)
    assert shown("dealsite_jobs", kind="sing", state="due") == 1


def test_a_command_counts_nothing(processes, shown):
    counting.add(counting.MESSAGES)
    counting.took(counting.JOB_SECONDS, "sing", seconds=1)
    counting.put(counting.READ_AT, value=1)
    assert shown("dealsite_messages_total") is None
    assert not counting.folder().exists()


def test_the_room_for_counts_is_taken_in_advance_since_a_full_disk_would_kill_the_process(processes):
    processes.begin("web")
    for kind, size in counting.FILES.items():
        assert (counting.folder() / f"{kind}_web-1.db").stat().st_blocks * 512 >= size


def test_the_counts_of_all_views_have_room_in_it(processes):
    name = processes.begin("web")
    for route in routes():
        for method in ("GET", "POST"):
            counting.add(counting.REQUESTS, route.name, method, 200)
            counting.took(counting.REQUEST_SECONDS, route.name, method, seconds=0.01)
    for kind, size in counting.FILES.items():
        used = struct.unpack("i", (counting.folder() / f"{kind}_{name}.db").read_bytes()[:4])[0]
        assert used < size * 0.6


def test_a_process_that_is_just_beginning_disturbs_nobody_who_asks(processes, shown):
    processes.begin("web")
    (counting.folder() / "counter_web-2.db").touch()
    assert shown("dealsite_messages_total") == 0


def test_a_process_that_finds_no_room_for_its_counts_goes_on_without(
    processes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    begin("web")
    counting.add(counting.MESSAGES)
    assert "event='not_counted'" in caplog.text


def test_a_name_that_somebody_asks_about_is_still_taken_by_whoever_has_it(processes):
    name = processes.begin("web")
    assert counting.running() == {name: os.getpid()}
    assert counting.running() == {name: os.getpid()}


def test_a_forked_child_leaves_the_files_of_its_parent_alone(
    processes, shown, monkeypatch: pytest.MonkeyPatch
):
    registered: dict[str, Any] = {}
    monkeypatch.setattr(os, "register_at_fork", lambda **functions: registered.update(functions))
    processes.begin("web")
    counting.add(counting.MESSAGES)
    registered["after_in_child"]()
    counting.add(counting.MESSAGES)
    assert shown("dealsite_messages_total") == 1
