"""A site is replaced under its visitors: nobody is refused, and what does not come up replaces nothing."""

import contextlib
import functools
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dealsite.engine.server import Supervisor
from dealsite.processes import launcher, launcher as children_module
from dealsite.processes.launcher import BACKLOG, Children
from tests.setup.conftest import ROOT, alive, wait_for

REQUESTS = 400

# Parts that are replaced


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Iterator[Children]:
    monkeypatch.setattr(children_module, "END_SECONDS", 1.0)
    made = Children()
    yield made
    made.stop()


def serving(children: Children, script: str) -> Callable[[], Supervisor]:
    """What makes a part: a shell that runs a script, says that it serves, and waits."""
    command = ["/bin/sh", "-c", f"{script}; echo $$ > /dev/fd/{children.tells}; exec sleep 60"]
    return lambda: Supervisor("web", command, pass_fds=(children.tells,))


def test_a_part_is_told_to_end_when_another_one_serves_in_its_place(children, tmp_path):
    note = f"ls {tmp_path} > {tmp_path}/before-$$"  # whom the new one found
    children.start(serving(children, f"trap '' TERM; {note}"), serves=True)
    children.wait_until_they_serve()
    (first,) = children.running
    old = first.pid
    assert children.replace()
    (second,) = children.running
    assert second.pid != old
    assert alive(second.pid)
    assert not alive(old)
    assert f"before-{old}" in (tmp_path / f"before-{second.pid}").read_text()


def test_a_part_that_does_not_come_up_leaves_the_old_one(children, tmp_path, caplog):
    children.start(serving(children, f"test ! -e {tmp_path}/broken || exit 3"), serves=True)
    children.wait_until_they_serve()
    (first,) = children.running
    old = first.pid
    (tmp_path / "broken").touch()
    assert not children.replace()
    assert children.running == [first]
    assert (first.pid, alive(old)) == (old, True)
    assert "event='reload_failed' part='web' reason='The web does not start.'" in caplog.text


def test_a_worker_that_does_not_come_up_leaves_the_old_one_and_keeps_no_site_from_starting(
    children, tmp_path, monkeypatch
):
    monkeypatch.setattr(children_module, "SERVES_SECONDS", 0.5)
    broken = tmp_path / "broken"
    broken.touch()
    command = [
        "/bin/sh",
        "-c",
        f"test ! -e {broken} || exit 3; echo $$ > /dev/fd/{children.tells}; exec sleep 60",
    ]
    children.start(
        lambda: Supervisor("worker", command, pass_fds=(children.tells,), is_needed=False), serves=True
    )
    children.wait_until_they_serve()
    broken.unlink()
    assert children.replace()
    broken.touch()
    (good,) = children.running
    old = good.pid
    assert not children.replace()
    assert (children.running, alive(old)) == ([good], True)


def test_all_parts_are_told_to_end_before_one_of_them_is_waited_for():
    children = Children()
    for name in ("one", "two"):
        script = "trap 'sleep 1; exit' TERM; echo; while :; do sleep 0.01; done"
        children.start(functools.partial(Supervisor, name, ["/bin/sh", "-c", script]))
    time.sleep(0.1)
    began = time.monotonic()
    children.stop()
    assert time.monotonic() - began < 1.9


# The socket and the signals


def test_the_socket_that_systemd_holds_is_taken(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as held:
        monkeypatch.setattr(launcher, "FIRST_FD", held.fileno())
        monkeypatch.setenv("LISTEN_FDS", "1")
        monkeypatch.setenv("LISTEN_PID", "1")  # meant for another process
        assert launcher.inherited() is None
        monkeypatch.setenv("LISTEN_PID", str(os.getpid()))
        with launcher.listener(launcher.LaunchPlan(port=1)) as taken:
            assert taken.getsockname() == held.getsockname()


@pytest.mark.parametrize("terminal", [True, False])
def test_sighup_reloads_the_site_unless_it_says_that_its_terminal_was_closed(monkeypatch, terminal):
    monkeypatch.setattr(launcher, "has_terminal", lambda: terminal)
    ended = False
    try:
        with launcher.caught() as reload:
            os.kill(os.getpid(), signal.SIGHUP)
            assert reload.wait(5)
    except launcher.Stopped:
        ended = True
    assert ended == terminal


# A whole site


class Clients:
    """Four clients that ask for pages, 400 in all, whatever happens to the site."""

    def __init__(self, port: int) -> None:
        self.port, self.answers = port, list[object]()
        self._threads = [threading.Thread(target=self._ask) for _ in range(4)]

    def ask_once(self) -> object:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            try:
                connection.request("GET", "/search/")
                answer = connection.getresponse()
                answer.read()
                return answer.status
            except (OSError, http.client.HTTPException) as error:
                return error

    def _ask(self) -> None:
        while len(self.answers) < REQUESTS:
            self.answers.append(self.ask_once())
            time.sleep(0.1)

    def __enter__(self) -> "Clients":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.join()


def start(held: socket.socket, var: Path) -> subprocess.Popen:
    """Start a site on a socket, as systemd does, without a terminal."""
    command = ["/bin/sh", "-c", f"LISTEN_PID=$$ exec {sys.executable} -m dealsite run"]
    environ = {"LISTEN_FDS": "1", "DEALSITE_VAR": str(var), "PORT": str(held.getsockname()[1])}
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DEALSITE_DEMO": "no"} | environ,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=(launcher.FIRST_FD,),
        preexec_fn=lambda: os.dup2(held.fileno(), launcher.FIRST_FD),
        start_new_session=True,
    )


@pytest.mark.thorough
@pytest.mark.parametrize("is_reload", [True, pytest.param(False, marks=pytest.mark.release)])
def test_none_of_400_requests_is_refused_while_a_site_is_replaced(tmp_path, is_reload):
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as held:
        site = start(held, tmp_path / "var")
        try:
            clients = Clients(held.getsockname()[1])
            wait_for(lambda: clients.ask_once() == 200, 60)
            with clients:
                wait_for(lambda: len(clients.answers) > 40)
                if is_reload:
                    site.send_signal(signal.SIGHUP)
                else:
                    site.terminate()
                    assert site.wait(60) == 0
                    site = start(held, tmp_path / "var")
            assert [answer for answer in clients.answers if answer != 200] == []
        finally:
            site.terminate()
            site.wait(60)


def test_a_site_that_is_started_without_standard_input_gives_its_number_to_no_socket():
    code = (
        "from dealsite.processes import launcher; launcher.open_standard_streams();"
        "made = launcher.listener(launcher.LaunchPlan(port=0)); print(made.fileno())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        preexec_fn=lambda: os.close(0),
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) >= launcher.FIRST_FD
