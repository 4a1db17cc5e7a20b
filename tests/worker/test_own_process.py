"""The worker runs commands that talk to another engine in processes, and ends one whose job is no longer its own."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from dealsite.data.table.errors import Conflict, DataError
from dealsite.worker import nightly, own_process


def say(code: str) -> tuple[str, ...]:
    return sys.executable, "-I", "-S", "-c", code


def test_the_last_line_is_what_came_of_it():
    said = own_process.run(say("print('Restoring: 25 %'); print('It is whole.')"), lambda: None)
    assert said == "It is whole."


def test_a_command_that_fails_says_why():
    with pytest.raises(DataError, match=r"^It is damaged\.$"):
        own_process.run(say("import sys; sys.exit('CommandError: It is damaged.')"), lambda: None)


def test_a_command_whose_job_another_worker_has_is_ended(monkeypatch):
    monkeypatch.setattr(own_process, "POLL_SECONDS", 0.01)

    def renew() -> None:
        raise Conflict()

    with pytest.raises(Conflict):
        own_process.run(say("import time; time.sleep(60)"), renew)


ENDS_ITSELF = "def end(*_): print('ended', file=open(sys.argv[2], 'w', 1)); sys.exit()"


@pytest.mark.parametrize(
    ("at_end", "is_asked"), [(ENDS_ITSELF, True), ("end = signal.SIG_IGN", False)], ids=["ends", "stays"]
)
def test_a_command_is_asked_to_end_before_it_is_killed(monkeypatch, tmp_path, at_end, is_asked):
    monkeypatch.setattr(own_process, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(own_process, "END_SECONDS", 30 if is_asked else 0.1)
    began, ended = tmp_path / "began", tmp_path / "ended"

    def renew() -> None:
        if began.exists():
            raise Conflict()

    lines = ["import signal, sys, time", at_end, "signal.signal(signal.SIGTERM, end)"]
    code = "\n".join([*lines, "open(sys.argv[1], 'w')", "time.sleep(60)"])
    with pytest.raises(Conflict):
        own_process.run((*say(code), str(began), str(ended)), renew)
    assert ended.exists() is is_asked


def test_the_backup_and_the_drill_of_a_night_run_so(monkeypatch, settings):
    settings.DEALSITE_NIGHTLY_BACKUPS = 7
    monkeypatch.setattr(own_process, "run", lambda command, renew: " ".join(command[3:]))
    held: Any = SimpleNamespace(renew=None)
    assert nightly.back_up(held) == "backup --keep 7 --unnoted"
    assert nightly.restore_drill(held) == "restore_drill --unnoted"


def test_a_drill_without_a_backup_fails_with_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("DEALSITE_BACKUPS", str(tmp_path))
    with pytest.raises(DataError, match=r"^There is no backup in .*: `manage\.py backup` makes one\.$"):
        own_process.run(own_process.manage("restore_drill"), lambda: None)
