"""The log has one line for each event, whatever text it holds and whatever becomes of the line."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import pty
import re
import resource
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dealsite.front_door import process
from dealsite.management.commands import run as run_command, web as web_command
from dealsite.web import log_lines
from dealsite.web.log_lines import OneLine

FORGED = "ada\n2026-01-01 00:00:00,000 ERROR forged\r\x1b[2J\x85\u2028\u202eend"
EVENTS = f"""
import logging, django, structlog, threading
django.setup()
from dealsite.web import log_lines
log_lines.note_uncaught()
logger, forged = structlog.get_logger("dealsite.test"), {FORGED!r}
class Odd:
    __repr__ = lambda self: forged
logger.info("signed_in", username=forged, odd=Odd())
logging.getLogger("django.request").error("Internal Server Error: %s", forged)
for fails in (logger.exception, logging.getLogger("elsewhere").exception):
    try:
        raise RuntimeError(forged)
    except RuntimeError:
        fails("it_failed")
with structlog.contextvars.bound_contextvars(request_id="R1"):
    logger.warning("bound")
def end():
    raise ValueError(forged)
thread = threading.Thread(target=end, name="lost")
thread.start()
thread.join()
print("at the end")
"""


def run(code: str, stderr: Any = subprocess.PIPE, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run code as the site's processes run theirs."""
    environ = {
        **{name: text for name, text in os.environ.items() if name != "DEALSITE_LOG_FORMAT"},
        "DJANGO_SETTINGS_MODULE": "dealsite.settings",
        "PYTHONUNBUFFERED": "1",
        **environ,
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environ,
        text=True,
        check=True,
    )


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return run(EVENTS, DEALSITE_LOG_FORMAT="text").stderr.split("\n")


def test_each_event_is_one_line_with_its_traceback(lines: list[str]):
    assert len(lines) == 7
    assert lines[-1] == ""
    assert all(line.isprintable() for line in lines)
    said = [line.split(" ", 3)[3] for line in lines[:-1]]
    assert [line.split(" ")[2] for line in lines[:-1]] == [
        "INFO",
        "ERROR",
        "ERROR",
        "ERROR",
        "WARNING",
        "ERROR",
    ]
    assert said[0].startswith(
        "dealsite.test: event='signed_in' username='ada\\n2026-01-01 00:00:00,000 ERROR"
    )
    assert said[1].startswith("django.request: Internal Server Error: ada\\n2026")
    assert "Traceback (most recent call last):\\n" in said[2]
    assert "Traceback (most recent call last):\\n" in said[3]
    assert "\\nRuntimeError: ada\\n" in said[3]
    assert said[4] == "dealsite.test: event='bound' request_id='R1'"
    assert said[5].startswith(
        "dealsite.web.log_lines: event='thread_ended' thread='lost' exception='Traceback"
    )


def test_lines_are_json_where_the_output_is_no_terminal():
    found = [json.loads(line) for line in run(EVENTS).stderr.splitlines()]
    assert [one["level"] for one in found] == ["info", "error", "error", "error", "warning", "error"]
    assert found[0] | {"timestamp": ""} == {
        "event": "signed_in",
        "username": FORGED,
        "odd": FORGED,
        "level": "info",
        "logger": "dealsite.test",
        "timestamp": "",
    }
    assert found[1]["event"] == f"Internal Server Error: {FORGED}"
    assert "RuntimeError: ada\n" in found[2]["exception"]
    assert "RuntimeError: ada\n" in found[3]["exception"]
    assert found[4]["request_id"] == "R1"
    assert (found[5]["event"], found[5]["thread"]) == ("thread_ended", "lost")
    assert all(one["timestamp"].endswith("Z") for one in found)


@pytest.mark.parametrize("log_format", log_lines.FORMATS)
def test_a_full_disk_under_the_log_stops_nothing(log_format: str):
    with Path("/dev/full").open("w") as full:
        assert run(EVENTS, full, DEALSITE_LOG_FORMAT=log_format).stdout == "at the end\n"


def test_lines_are_text_at_a_terminal_and_where_there_is_no_output_at_all_nothing_fails(
    monkeypatch: pytest.MonkeyPatch,
):
    terminal, other = pty.openpty()
    with os.fdopen(terminal), os.fdopen(other, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        assert log_lines.usual_format() == "text"
    monkeypatch.setattr(sys, "stderr", None)
    assert log_lines.usual_format() == "json"


WORK = """
import django, structlog
django.setup()
for name in ("dealsite.worker.loop", "dealsite.stream.consumer", "dealsite.web"):
    structlog.get_logger(name).info(name)
structlog.get_logger("dealsite.worker.loop").warning("failed")
"""


def test_a_terminal_sees_of_work_only_what_went_wrong():
    terminal, other = pty.openpty()
    with os.fdopen(terminal, "rb", 0) as shows, os.fdopen(other, "wb", 0) as stderr:
        run(WORK, stderr)
        stderr.write(b"end\n")
        seen = b""
        while not seen.endswith(b"end\r\n"):
            seen += shows.read(65_536)
    assert re.findall(r"event='(.*?)'", seen.decode()) == ["dealsite.web", "failed"]


@pytest.mark.parametrize(
    ("level", "is_terminal", "of_work"),
    [("INFO", True, "WARNING"), ("INFO", False, "INFO"), ("DEBUG", True, "DEBUG"), ("ERROR", True, "ERROR")],
)
def test_all_work_is_logged_where_lines_are_collected_or_somebody_asks_for_it(
    monkeypatch: pytest.MonkeyPatch, level: str, is_terminal: bool, of_work: str
):
    monkeypatch.setattr(log_lines, "is_terminal", lambda: is_terminal)
    assert log_lines.level_of_work(level) == of_work


def test_another_format_is_an_error():
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run("import dealsite.settings", DEALSITE_LOG_FORMAT="xml")
    assert "DEALSITE_LOG_FORMAT should be one of text, json" in failed.value.stderr


def test_a_thread_that_is_told_to_end_is_no_event(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    log_lines.note_uncaught()
    thread = threading.Thread(target=sys.exit)
    thread.start()
    thread.join()
    assert caplog.messages == []


def test_a_line_that_needs_no_change_stays_as_it_is():
    line = "Größe 5 € – event='a' it's\\n fine"
    assert OneLine().format(logging.LogRecord("x", 20, "", 1, line, (), None)) == line


def test_a_web_process_logs_what_ends_a_thread(monkeypatch: pytest.MonkeyPatch):
    done: list[str] = []
    monkeypatch.setattr(log_lines, "note_uncaught", lambda: done.append("noted"))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    server = SimpleNamespace(run=lambda **_: done.append("run"))
    monkeypatch.setattr(process, "web_server", lambda *_: server)
    with socket.socket() as listening:
        process.serve(listening)
    assert done == ["noted", "run"]


@pytest.mark.parametrize("command", [run_command, web_command])
def test_a_launcher_that_cannot_say_anything_goes_on(command: Any):
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    command.Command(stdout=Full()).say("The worker is started again.")
