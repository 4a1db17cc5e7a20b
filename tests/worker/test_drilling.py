"""The worker runs a drill in a process of its own, and ends it where the job is no longer its own."""

import sys

import pytest

from dealsite.data.table.errors import Conflict, DataError
from dealsite.worker import drilling


def say(code: str) -> tuple[str, ...]:
    return sys.executable, "-I", "-S", "-c", code


def test_the_last_line_is_what_came_of_it():
    said = drilling.restore_drill(lambda: None, say("print('Restoring: 25 %'); print('It is whole.')"))
    assert said == "It is whole."


def test_a_drill_that_fails_says_why():
    with pytest.raises(DataError, match=r"^It is damaged\.$"):
        drilling.restore_drill(lambda: None, say("import sys; sys.exit('CommandError: It is damaged.')"))


def test_a_drill_whose_job_another_worker_has_is_ended(monkeypatch):
    monkeypatch.setattr(drilling, "POLL_SECONDS", 0.01)

    def renew() -> None:
        raise Conflict()

    with pytest.raises(Conflict):
        drilling.restore_drill(renew, say("import time; time.sleep(60)"))
