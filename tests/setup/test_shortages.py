"""A machine that runs short of disk, open files or memory: what the site still does, and what the operator reads."""

from __future__ import annotations

import contextlib
import errno
import functools
import http.client
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import RequestFactory

from benchmarks import soak_load
from benchmarks.soak_readings import _descendants, _name
from dealsite import environment, middleware
from dealsite.data import table
from dealsite.data.catalogue import deals
from dealsite.data.jobs import jobs
from dealsite.data.table.errors import Conflict, Unavailable
from dealsite.data.table.ids import new_ulid
from dealsite.front_door import process
from dealsite.front_door.connections import Limits
from dealsite.lake import snapshots
from dealsite.processes import heartbeat
from dealsite.worker import loop
from tests.builders import NOW
from tests.front_door.conftest import Web
from tests.jobs import run_next
from tests.setup.conftest import ROOT, alive, wait_for
from tests.setup.disks import fill

RETRY_AFTER = "5"


class Editor:
    """An editor of a running site, who publishes; `published` are the deals that the site said are there."""

    def __init__(self, site, settings) -> None:
        self.port = site.port
        settings.DYNAMODB_ENDPOINT_URL = environment.read_engine_env(site.var)["DYNAMODB_ENDPOINT_URL"]
        settings.DEALSITE_TABLE = "dealsite"
        table.reset()
        self.content = soak_load.seed(datetime.now(UTC))
        self.published: list[str] = []
        cookies = {"session": self.content.sessions[soak_load.EDITOR], "csrftoken": soak_load.CSRF}
        cookie = "; ".join(f"{name}-{self.port}={value}" for name, value in cookies.items())
        self._headers = {"Cookie": cookie, "X-CSRFToken": soak_load.CSRF, "Sec-Fetch-Site": "same-origin"}
        self._headers["Content-Type"] = "application/x-www-form-urlencoded"

    def ask(self, method: str, path: str, form: dict[str, str] | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            connection.request(method, path, urlencode(form or {}), self._headers)
            answer = connection.getresponse()
            answer.text = answer.read().decode()  # type: ignore[attr-defined] # for who asked
        return answer

    def publish(self, title: str = "") -> Any:
        draft_id = new_ulid(datetime.now(UTC))
        form = {
            "title": title or f"Lamp {draft_id}",
            "brand": "Soak 0",
            "category": "toys-hobbies",
            "price": "9.90",
        }
        form |= {"link": f"https://shop.example/{draft_id}", "description": "Bright. " * 2_000}
        form |= {"version": "0", "action": "publish"}
        answer = self.ask("POST", f"/cms/drafts/{draft_id}/", form)
        if answer.status == 302:
            self.published.append(answer.headers["Location"].split("/")[3])
        return answer


def finds(editor: Editor, word: str) -> bool:
    return f"{word} lamp" in editor.ask("GET", f"/search/?q={word}").text


@pytest.mark.thorough
def test_on_a_full_disk_pages_are_read_writes_wait_and_all_goes_on_when_there_is_room(
    start_site, small_disk, settings
):
    site = start_site("disk")
    site.wait_until_up()
    editor = Editor(site, settings)
    wait_for((site.var / "search" / "current").exists)
    assert editor.publish().status == 302
    filler = fill(small_disk)
    answers = []
    while 503 not in answers:  # the engine has a little room in its own file
        answers.append((refused := editor.publish()).status)
        assert len(answers) < 500
    assert set(answers) <= {302, 503}
    assert refused.headers["Retry-After"] == RETRY_AFTER
    wait_for(lambda: "disk is full" in site.said() or "No space left on device" in site.said())
    pages = (
        "/",
        f"/brands/{editor.content.brands[1]}/",
        f"/deals/{editor.content.deals[1]}/lamp-1/",
        "/cms/",
    )
    assert [editor.ask("GET", page).status for page in pages] == [200] * 4
    assert all(
        part in {_name(pid, site.process.pid) for pid in _descendants(site.process.pid)} for part in PARTS
    )

    filler.unlink()
    began = time.monotonic()
    wait_for(lambda: editor.publish("Zebrawood lamp").status == 302, 5)
    assert time.monotonic() - began < 5
    wait_for(lambda: finds(editor, "Zebrawood"), 20, pause=0.25)  # a limit bounds how often one may search
    assert len(editor.published) == 1 + answers.count(302) + 1
    assert deals.get_many(editor.published).keys() == set(editor.published)
    assert "500" not in {line.split()[-1] for line in site.said().splitlines() if "Internal Server" in line}
    table.reset()


PARTS = ("engine", "web processes", "worker")


# What a page says


@pytest.mark.parametrize("code", sorted(heartbeat.CODES))
def test_a_page_that_has_no_disk_or_files_answers_503_and_the_log_says_why(client_page, code, caplog):
    answer = client_page(OSError(code, os.strerror(code)))
    assert (answer.status_code, answer["Retry-After"]) == (503, RETRY_AFTER)
    assert os.strerror(code) in caplog.text


def test_a_page_that_misses_a_file_is_a_mistake_of_ours(client_page):
    assert client_page(FileNotFoundError(errno.ENOENT, "nothing there")) is None


@pytest.fixture
def ended(monkeypatch) -> list[int]:
    """The signals that this process sent itself; the clock that the kernel keeps does not run."""
    sent: list[int] = []
    monkeypatch.setattr(signal, "alarm", lambda seconds: 0)
    monkeypatch.setattr(heartbeat, "ending", [])
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append(number) if pid == os.getpid() else None)
    return sent


def test_a_page_without_memory_answers_503_and_its_process_ends(client_page, ended):
    assert client_page(MemoryError()).status_code == 503
    assert ended == [signal.SIGTERM]


def test_a_process_that_has_no_memory_to_end_is_ended():
    """The request to end is lost on it, and more requests that fail do not put its end off."""
    code = (
        "import signal, time\n"
        "from dealsite.processes import heartbeat\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "heartbeat.SECONDS_TO_END = 2\n"
        "end = time.monotonic() + 20\n"
        "while time.monotonic() < end:\n"
        "    heartbeat.end_if_out_of_memory(MemoryError())\n"
        "    time.sleep(0.2)\n"
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False)
    assert process.returncode == -signal.SIGALRM


@pytest.fixture
def client_page(rf: RequestFactory):
    """A function that returns the page for an error of a view."""

    def page(error):
        request = rf.get("/")
        return middleware.ErrorsMiddleware(lambda _: None).process_exception(request, error)

    return page


def test_a_shortage_outside_a_view_is_answered_as_one_within(rf, caplog):
    try:
        raise OSError(errno.ENOSPC, "No space left on device")
    except OSError:
        answer = middleware.server_error(rf.get("/"))
    assert (answer.status_code, answer["Retry-After"]) == (503, RETRY_AFTER)
    assert "No space left on device" in caplog.text


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), MemoryError()])
def test_a_request_that_fails_before_django_is_told_to_come_back(error, ended, caplog):
    def fails(environ, start_response):
        raise error

    web = Web(fails, Limits(patience=30, per_address=100, connections=100))
    try:
        connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=10)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Retry-After"]) == (503, RETRY_AFTER)
        connection.close()
    finally:
        web.close()
    assert "request_refused" in caplog.text
    assert ended == [signal.SIGTERM] * isinstance(error, MemoryError)


# What a job does


@pytest.fixture
def a_job(fresh_table, monkeypatch):
    """A function that runs a job which fails, and returns it as it is afterwards."""

    def run(error):
        def fails(job, now):
            raise error

        monkeypatch.setitem(loop.HANDLERS, "dance", fails)
        job_id = new_ulid(NOW)
        table.write(jobs.job_write("dance", {}, job_id=job_id, due=NOW))
        assert run_next(now=NOW)
        return jobs.get(job_id)

    return run


def test_a_job_that_finds_the_disk_full_waits_and_uses_up_no_try(a_job, caplog):
    job = a_job(OSError(errno.ENOSPC, "No space left on device"))
    assert (job.state, job.tries, job.error) == ("open", 0, "")
    assert not run_next(now=NOW + loop.SHORTAGE_PAUSE / 2)
    assert run_next(now=NOW + loop.SHORTAGE_PAUSE)
    assert "job_waits" in caplog.text
    assert "No space left on device" in caplog.text


def test_a_job_without_memory_uses_up_a_try_and_the_worker_ends(a_job, ended):
    assert a_job(MemoryError()).tries == 1
    assert ended == [signal.SIGTERM]


def test_a_job_with_another_fault_leaves_the_worker_running(a_job, ended):
    assert a_job(ValueError("wrong")).tries == 1
    assert ended == []


# Open files


@pytest.fixture
def files(monkeypatch):
    """A function that gives this process another hard limit of open files; what it asked for is in `asked`."""
    asked: list[tuple[int, int]] = []

    def limit(most: int) -> list[tuple[int, int]]:
        monkeypatch.setattr(resource, "getrlimit", lambda _: (most, most))
        monkeypatch.setattr(resource, "setrlimit", lambda _, both: asked.append(both))
        return asked

    return limit


@pytest.mark.parametrize(
    ("most", "soft", "connections"),
    [(-1, 2_500, 1_000), (20_000, 2_500, 1_000), (1_044, 1_044, 500), (64, 64, 10), (20, 20, 1)],
)
def test_a_web_process_takes_as_many_connections_as_it_has_files_for(files, caplog, most, soft, connections):
    asked = files(most)
    found = process.with_open_files(Limits(patience=10, per_address=100, connections=1_000))
    assert asked == [(soft, most)]
    assert found.connections == connections
    assert ("few_open_files" in caplog.text) is (connections < 1_000)


@pytest.mark.thorough
def test_a_site_with_64_open_files_says_so_and_answers_under_a_crowd(start_site):
    site = start_site(before=("prlimit", "--nofile=64"))
    site.wait_until_up()
    assert site.said().count("event='few_open_files' limit=64 connections=10 wanted=1000") == 2
    crowd = []
    try:
        for number in range(300):
            one = socket.socket()
            one.bind((f"127.0.1.{1 + number % 10}", 0))
            one.settimeout(5)
            one.connect(("127.0.0.1", site.port))
            one.send(b"GET / HT")
            crowd.append(one)
        wait_for(lambda: "connections_closed" in site.said())
        statuses = {_status(site.port, path) for path in ("/", "/search/?q=a", "/brands/") * 3}
        assert statuses == {200}
    finally:
        for one in crowd:
            one.close()
    assert "Too many open files" not in site.said()


def _status(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


# Memory


@pytest.mark.thorough
def test_web_processes_and_worker_without_memory_are_replaced_and_say_nothing_wrong(start_site, settings):
    if shutil.which("prlimit") is None:
        pytest.skip("MEMORY IS NOT TRIED: there is no program prlimit")
    site = start_site()
    site.wait_until_up()
    editor = Editor(site, settings)
    # Searches are left out of the crowd: they have a limit, and would be told 429.
    paths = ("/", f"/brands/{editor.content.brands[1]}/", "/cms/deals/", "/cms/brands/")
    wait_for(lambda: {_tried(editor, path) for path in ("/search/?q=lamp", *paths) * 3} == {200})
    before = {pid for pid in _descendants(site.process.pid) if _name(pid, site.process.pid) in PARTS[1:]}
    for pid in before:
        held = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
        resource.prlimit(pid, resource.RLIMIT_AS, (held, held))
    statuses = set()
    end = time.monotonic() + 6
    while any(map(alive, before)) and time.monotonic() < end:
        for path in paths:
            statuses.add(_tried(editor, path))
    assert statuses <= {200, 503, 0}, str(statuses) + site.said()  # 0: the process ended while it answered
    wait_for(lambda: {_tried(editor, path) for path in paths} == {200})
    wait_for(lambda: _tried(editor, "/search/?q=lamp") == 200)
    table.reset()


def _tried(editor: Editor, path: str) -> int:
    try:
        return editor.ask("GET", path).status
    except (OSError, http.client.HTTPException):
        return 0


def test_a_thread_that_cannot_be_started_is_a_shortage():
    assert heartbeat.is_shortage(RuntimeError("can't start new thread"))


def test_conflicts_and_an_absent_table_are_no_shortages():
    assert not any(
        map(heartbeat.is_shortage, (None, Conflict(), Unavailable(), ValueError(), RuntimeError()))
    )


@pytest.mark.thorough
def test_folders_and_notes_that_are_deleted_under_a_running_site_come_back(start_site, settings):
    site = start_site()
    site.wait_until_up()
    editor = Editor(site, settings)
    settings.VAR = site.var
    with snapshots.making(now=datetime.now(UTC)):  # for the office's question
        pass
    answers: list[soak_load.Sample] = []
    load = soak_load.Load(site.port, editor.content)
    shopper, publisher, office = (
        soak_load.Browser(site.port, editor.content.sessions[name], answers.append)
        for name in ("shopper0", soak_load.EDITOR, soak_load.OFFICE)
    )
    for turn in (0, 5):  # every fifth time the back office wants a file, too
        wait_for(functools.partial(_done, load._shop, shopper, turn))
        wait_for(functools.partial(_done, load._illustrate, publisher, turn))
        wait_for(functools.partial(_done, load._answer, office, turn))
        wait_for((site.var / "media").exists)
        if not turn:
            for name in ("media", "ask", "pictures"):
                shutil.rmtree(site.var / name)
            for name in ("engine.env", "engine.log", "lock"):
                (site.var / name).unlink()
    for browser in (shopper, publisher, office):
        browser.close()
    # 503, or a kept connection that idled for too long, where the machine is busy.
    assert {one.wrong for one in answers} <= {0, 503, -1}
    assert "Traceback" not in site.said()
    table.reset()


def _done(act, browser, turn) -> bool:
    try:
        act(browser, turn)
    except soak_load.Refused:
        return False
    return True
