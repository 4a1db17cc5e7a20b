"""What a machine says of itself: its disks, its projections, the parts that were started again."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dealsite.data.table.ids import iso
from dealsite.stream import consumer_status
from dealsite.stream.consumer_status import SkippedRecord
from dealsite.web import readiness
from tests.builders import NOW

MEGABYTE = 10**6
SECOND = timedelta(seconds=1)


@pytest.fixture
def var(settings: Any, tmp_path: Path) -> Path:
    settings.VAR, settings.SEARCH_ROOT = tmp_path, tmp_path / "search"
    return tmp_path


def disk(monkeypatch: pytest.MonkeyPatch, free: int, size: int) -> dict[str, Any]:
    """What is said of a disk with so much free and in all, in bytes."""
    found = SimpleNamespace(f_bavail=free // 1_000, f_frsize=1_000, f_blocks=size // 1_000)
    monkeypatch.setattr(os, "statvfs", lambda path: found)
    return readiness.disks_now()["data"]


@pytest.mark.parametrize(
    ("free", "little", "too_little"),
    [
        (700 * MEGABYTE, False, False),
        (600 * MEGABYTE, False, False),
        (599 * MEGABYTE, True, False),
        (200 * MEGABYTE, True, False),
        (199 * MEGABYTE, True, True),
        (0, True, True),
    ],
)
def test_a_disk_is_full_below_the_setting_and_nearly_below_three_times_that(
    var: Path, monkeypatch: pytest.MonkeyPatch, free: int, little: bool, too_little: bool
):
    found = disk(monkeypatch, free, 100_000 * MEGABYTE)
    assert (found["little"], found["too_little"]) == (little, too_little)
    assert found["free_bytes"] == free


def test_the_setting_counts_and_0_is_never(var: Path, monkeypatch: pytest.MonkeyPatch, settings: Any):
    settings.DEALSITE_FREE_DISK_MB = 5_000
    assert disk(monkeypatch, 4_999 * MEGABYTE, 100_000 * MEGABYTE)["too_little"]
    settings.DEALSITE_FREE_DISK_MB = 0
    assert disk(monkeypatch, 0, 100_000 * MEGABYTE) == {
        "free_bytes": 0,
        "free_share": 0.0,
        "little": False,
        "too_little": False,
    }


def test_a_small_disk_is_not_full_for_being_small(var: Path, monkeypatch: pytest.MonkeyPatch):
    assert not disk(monkeypatch, 60 * MEGABYTE, 64 * MEGABYTE)["little"]
    assert disk(monkeypatch, 6 * MEGABYTE, 64 * MEGABYTE)["too_little"]
    assert disk(monkeypatch, 0, 0)["free_share"] == 0.0


def test_the_folder_of_uploads_counts_where_it_is_on_another_disk(var: Path, settings: Any):
    settings.FILE_UPLOAD_TEMP_DIR = str(var)
    assert readiness.disks_now().keys() == {"data"}
    settings.FILE_UPLOAD_TEMP_DIR = "/proc"
    assert readiness.disks_now().keys() == {"data", "uploads"}
    found = os.statvfs(var)
    assert readiness.disks_now()["data"]["free_share"] == pytest.approx(
        found.f_bavail / found.f_blocks, abs=0.01
    )


def test_a_data_folder_that_is_gone_is_an_error(settings: Any, tmp_path: Path):
    settings.VAR = tmp_path / "gone"
    with pytest.raises(OSError, match="gone"):
        readiness.disks_now()


def note(var: Path, **status: Any) -> dict[str, Any]:
    """What is said of the search index while its consumer notes this."""
    (var / "search").mkdir(exist_ok=True)
    (var / "search" / "consumer.json").write_text(json.dumps({"reason": str(var)} | status))
    return readiness.projections_now(NOW)["search"]


def test_a_projection_is_as_its_consumer_says(var: Path):
    read_at = iso(NOW - 2.5 * SECOND)
    expected = {"state": "following", "lag_seconds": 2.5, "skipped": 0}
    assert note(var, at=iso(NOW - SECOND), state="following", read_at=read_at) == expected
    assert note(var, at=iso(NOW), state="failing", read_at=read_at) == expected | {"state": "failing"}
    assert note(var, at=iso(NOW), state="building", read_at=None) == {
        "state": "building",
        "lag_seconds": None,
        "skipped": 0,
    }
    ahead = note(var, at=iso(NOW + SECOND), state="following", read_at=iso(NOW + SECOND))
    assert ahead == expected | {"lag_seconds": 0.0}  # clocks of two processes


def test_a_consumer_that_said_nothing_for_half_a_minute_does_not_run(var: Path):
    read_at = iso(NOW - 40 * SECOND)
    for seconds, state in ((29, "following"), (30, "none")):
        found = note(var, at=iso(NOW - seconds * SECOND), state="following", read_at=read_at)
        assert found == {"state": state, "lag_seconds": 40.0, "skipped": 0}


def test_where_no_consumer_has_said_anything_none_runs(var: Path):
    assert readiness.projections_now(NOW)["search"]["state"] == "none"
    assert not (var / "search").exists()
    assert note(var, at="yesterday")["state"] == "none"


def test_skipped_records_are_counted(var: Path):
    (var / "search").mkdir()
    consumer_status.skip(var / "search", [SkippedRecord(("A", key), "", "/secret", NOW) for key in "BC"])
    assert readiness.projections_now(NOW)["search"]["skipped"] == 2
    (var / "search" / "skipped.json").write_text("{}")
    assert readiness.projections_now(NOW)["search"]["skipped"] == 0


def test_the_launchers_counts_of_restarts_are_passed_on(var: Path):
    assert readiness.parts_now() == {}
    (var / "parts.json").write_text('{"engine": {"restarts": 2, "ended": "SIGKILL", "more": 1}}')
    assert readiness.parts_now() == {"engine": {"restarts": 2, "ended": "SIGKILL"}}


def test_a_file_that_says_something_else_says_nothing(var: Path, subtests: pytest.Subtests):
    for text in ["", "{", "[]", "null", "3", '{"engine": 3}', '{"engine": {}}', "\xff"]:
        with subtests.test(text=text):
            (var / "parts.json").write_text(text, "latin-1")
            assert readiness.parts_now() == {}
