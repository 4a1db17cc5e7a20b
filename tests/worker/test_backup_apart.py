"""The worker runs large commands in processes of their own, and ends one whose job is no longer its own."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from dealsite.data.table.errors import Conflict, DataError
from dealsite.worker import schedule


def say(code: str) -> tuple[str, ...]:
    return sys.executable, "-I", "-S", "-c", code


def test_the_last_line_is_what_came_of_it():
    said = schedule.run_apart(say("print('Restoring: 25 %'); print('It is whole.')"), lambda: None)
    assert said == "It is whole."


def test_a_command_that_fails_says_why():
    with pytest.raises(DataError, match=r"^It is damaged\.$"):
        schedule.run_apart(say("import sys; sys.exit('CommandError: It is damaged.')"), lambda: None)


def test_a_command_whose_job_another_worker_has_is_ended(monkeypatch):
    monkeypatch.setattr(schedule, "POLL_SECONDS", 0.01)

    def renew() -> None:
        raise Conflict()

    with pytest.raises(Conflict):
        schedule.run_apart(say("import time; time.sleep(60)"), renew)


def test_a_nights_backup_runs_so(monkeypatch, settings):
    settings.DEALSITE_NIGHTLY_BACKUPS = 7
    monkeypatch.setattr(schedule, "run_apart", lambda command, renew: " ".join(command[3:]))
    held: Any = SimpleNamespace(renew=None)
    assert schedule.back_up(held) == "backup --keep 7 --unnoted"


def test_a_snapshot_is_made_so(monkeypatch):
    monkeypatch.setattr(schedule, "run_apart", lambda command, renew: " ".join(command[3:]))
    held: Any = SimpleNamespace(renew=None)
    (command,) = [one for one in schedule.SCHEDULE if one.kind == "snapshot"]
    assert command.work(held) == "snapshot --unnoted"


def test_a_nights_backup_that_fails_says_why(monkeypatch, settings, tmp_path):
    settings.DEALSITE_NIGHTLY_BACKUPS = 7
    (tmp_path / "file").touch()
    monkeypatch.setenv("DEALSITE_BACKUPS", str(tmp_path / "file"))
    held: Any = SimpleNamespace(renew=lambda: None)
    with pytest.raises(DataError, match="file"):
        schedule.back_up(held)
