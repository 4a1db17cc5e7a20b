"""No process outlives what started it, whatever is killed; nobody else's is touched; each restart is told."""

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from dealsite.engine import server as engine_server
from dealsite.engine.server import FAILURES, Supervisor
from dealsite.pictures import encoding
from dealsite.processes import launcher, orphans
from dealsite.processes.launcher import Children, LaunchError
from dealsite.web import readiness
from tests.reach import NOBODY, only_root_can_be_nobody
from tests.setup.conftest import ROOT, alive, wait_for, wait_for_the_end_of

GONE = "999999999-1"  # the id and the start of a launcher that nobody is

Run = Callable[..., subprocess.Popen]


@pytest.fixture
def run() -> Iterator[Run]:
    """A function that starts a process, and the test kills it in the end."""
    with contextlib.ExitStack() as stack:

        def start(*command: str, **options) -> subprocess.Popen:
            process = stack.enter_context(subprocess.Popen(command, cwd=ROOT, **options))
            stack.callback(process.kill)
            return process

        yield start


def noted(path: Path, count: int = 1) -> list[int]:
    """Wait until so many process ids stand in a file."""
    wait_for(lambda: path.exists() and len(path.read_text().split()) >= count)
    return [int(word) for word in path.read_text().split()]


@pytest.fixture
def pids(tmp_path) -> Iterator[Path]:
    """A file into which the processes of a test write their ids; those that are left are killed."""
    path = tmp_path / "pids"
    yield path
    for pid in path.read_text().split() if path.exists() else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


# What a launcher starts


def small_launcher(run: Run, script: str) -> subprocess.Popen:
    """A process that runs a part, a shell script, as the launcher does: until it is told to stop."""
    code = (
        "import signal, sys, threading\n"
        "from dealsite.engine.server import Supervisor\n"
        "from dealsite.processes import launcher, orphans\n"
        "orphans.adopt()\n"
        "part = Supervisor('part', ['/bin/sh', '-c', sys.argv[1]])\n"
        "with launcher.caught():\n"
        "    try:\n"
        "        part.start()\n"
        "        threading.Event().wait()\n"
        "    except launcher.Stopped:\n"
        "        part.stop(0.2)\n"
        "        orphans.end_adopted()\n"
    )
    environ = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    return run(
        sys.executable,
        "-c",
        code,
        script,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_part_that_ignores_signals_ends_with_a_launcher_that_is_killed(run, pids):
    one = small_launcher(run, f"trap '' TERM HUP INT; echo $$ >> {pids}; while :; do sleep 0.1; done")
    (pid,) = noted(pids)
    one.kill()
    wait_for_the_end_of(pid)


def test_what_a_part_leaves_in_its_group_ends_before_the_part_is_started_again(pids):
    """The second one says whether it found the first one's child alive."""
    found = pids.with_name("found")
    again = f"kill -0 $(head -1 {pids}) 2>/dev/null; echo $? > {found}; exec sleep 600"
    script = f"test -e {pids} && {{ {again}; }}; sleep 600 & echo $! > {pids}; kill -9 $$"
    part = Supervisor("part", ["/bin/sh", "-c", script])
    part.start()
    try:
        wait_for(lambda: found.exists() and found.read_text())
        (pid,) = noted(pids)
        wait_for_the_end_of(pid)
    finally:
        part.stop()


ESCAPES = "setsid sh -c 'echo $$ >> {0}; exec sleep 600' & setsid sh -c 'echo $$ >> {0}; exec sleep 600' &"


def test_what_escapes_into_a_session_of_its_own_ends_before_its_part_is_started_again(run, pids):
    one = small_launcher(run, ESCAPES.format(pids) + f"echo $$ > {pids}.part; wait")
    escaped = noted(pids, 2)
    (part,) = noted(pids.with_name("pids.part"))
    os.kill(part, signal.SIGKILL)
    noted(pids, 4)
    assert [pid for pid in escaped if alive(pid)] == []
    one.send_signal(signal.SIGTERM)
    said = one.communicate(timeout=60)[0]
    assert [pid for pid in noted(pids, 4) if alive(pid)] == []
    told = [line for line in said.splitlines() if "orphan_ended" in line]
    assert all(any(str(pid) in line for line in told) for pid in escaped)


def test_what_the_launcher_runs_itself_is_no_orphan(run):
    """It may load the demo content, with its pictures, while a part dies."""
    code = (
        "import subprocess, sys\n"
        "from dealsite.processes import orphans\n"
        "orphans.adopt()\n"
        "own = subprocess.Popen(['sleep', '600'])\n"
        "orphans.end_adopted()\n"
        "sys.exit(own.poll() is not None or own.kill())\n"
    )
    assert run(sys.executable, "-c", code).wait(30) == 0


def test_only_a_process_that_said_so_adopts(run):
    child = run("sleep", "600", process_group=0)
    orphans.end_adopted()
    assert child.poll() is None


def test_a_picture_is_not_read_on_when_the_web_process_is_killed(run, pids):
    """Its input stays open, and it may take a minute."""
    code = (
        "import os, subprocess, sys\n"
        "own = [sys.executable, '-I', '-B', *sys.argv[1:], str(os.getpid())]\n"
        "print(subprocess.Popen(own, env={}).pid, flush=True)\n"
        "sys.stdin.read = None; __import__('time').sleep(600)\n"
    )
    limits = ("300000000", "60")
    web = run(
        *(sys.executable, "-c", code, encoding.__file__, *limits),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    reader = int(web.stdout.readline())
    pids.write_text(str(reader))
    wait_for(lambda: b"libc" in Path(f"/proc/{reader}/maps").read_bytes())
    kept = os.dup(web.stdin.fileno())
    web.kill()
    wait_for_the_end_of(reader)
    os.close(kept)


def test_runserver_ends_what_it_reloads(run, tmp_path, pids):
    """`make dev` killed: its child is found by nobody, and would hold the port."""
    script = f"RUN_MAIN=true {sys.executable} manage.py worker 2> {tmp_path}/said & echo $! > {pids}; wait"
    environ = {
        **os.environ,
        "DEALSITE_VAR": str(tmp_path / "var"),
        "DJANGO_SETTINGS_MODULE": "dealsite.settings",
    }
    shell = run("/bin/sh", "-c", script, env=environ)
    wait_for(lambda: (tmp_path / "said").exists() and "worker_waits" in (tmp_path / "said").read_text())
    shell.kill()
    wait_for_the_end_of(*noted(pids))


# What an earlier run left behind


def left(run: Run, var: Path, launched_by: str = GONE, ids: int | None = None, **options) -> subprocess.Popen:
    here = Path("/proc/self/ns/pid").stat().st_ino
    mark = f"{launched_by}-{here if ids is None else ids} {var}"
    child = run("sleep", "600", env={"PATH": os.environ["PATH"], orphans.MARK: mark}, **options)
    wait_for(lambda: Path(f"/proc/{child.pid}/comm").read_text() == "sleep\n")
    return child


def test_what_a_killed_launcher_left_is_found_and_ended(run, tmp_path, monkeypatch, settings):
    settings.VAR = tmp_path
    monkeypatch.setattr(orphans, "adopt", lambda: None)
    one = left(run, tmp_path, process_group=0)
    said: list[str] = []
    with launcher.no_orphans(said.append):
        assert one.wait(5) == -signal.SIGKILL
    assert said == [f"Ended sleep (process {one.pid}), which an earlier run on {tmp_path} had left behind."]


def test_a_launchers_number_that_another_process_has_now_does_not_keep_it(run, tmp_path):
    one = left(run, tmp_path, launched_by=f"{os.getpid()}-1")
    assert orphans.end_earlier(tmp_path) == [f"sleep (process {one.pid})"]


def test_a_launcher_that_was_killed_and_not_waited_for_keeps_nothing(run, tmp_path):
    dead = run("sleep", "600")
    identity = orphans._identity(dead.pid).rpartition("-")[0]
    one = left(run, tmp_path, launched_by=identity)
    assert orphans.end_earlier(tmp_path) == []
    dead.kill()
    wait_for(lambda: not alive(dead.pid))
    assert orphans.end_earlier(tmp_path) == [f"sleep (process {one.pid})"]


def test_nobody_elses_process_is_ended(run, tmp_path):
    ours = orphans.mark(tmp_path)[orphans.MARK].rpartition(" ")[0].rpartition("-")[0]
    others = [
        run("sleep", "600"),
        run("sleep", "600", env={"DEALSITE_VAR": str(tmp_path)}),
        run("sleep", "600", env={orphans.MARK: f"what is this {tmp_path}"}),
        left(run, tmp_path / "other"),
        left(run, tmp_path, launched_by=ours),
        left(run, tmp_path, ids=1),  # of a container, whose launcher has its number there
    ]
    assert orphans.end_earlier(tmp_path) == []
    assert [one.poll() for one in others] == [None] * len(others)


@only_root_can_be_nobody
def test_another_users_process_is_not_ended(run, tmp_path):
    other = left(run, tmp_path, user=NOBODY)
    assert orphans.end_earlier(tmp_path) == []
    assert other.poll() is None


def test_a_number_that_became_another_process_meanwhile_is_not_killed(run, tmp_path, monkeypatch):
    other = run("sleep", "600")
    looks = iter([True, False])
    monkeypatch.setattr(orphans, "_is_left", lambda pid, var: pid == other.pid and next(looks))
    assert orphans.end_earlier(tmp_path) == []
    assert other.poll() is None


# Who has the port


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_who_holds_a_port_is_named(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as taken:
        port = taken.getsockname()[1]
        assert orphans.port_holder(port) == f"{orphans.command_name(os.getpid())} (process {os.getpid()})"
    assert orphans.port_holder(port) == ""


def test_who_only_calls_from_a_port_does_not_hold_it():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()[:2]) as caller,
    ):
        assert orphans.port_holder(caller.getsockname()[1]) == ""


def test_a_holder_that_is_not_to_be_seen_is_another_program(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(os, "readlink", lambda _: "socket:[0]")
        plan = launcher.LaunchPlan(port=taken.getsockname()[1])
        with pytest.raises(LaunchError, match="is taken by another program"):
            launcher.listener(plan)


# Restarts


@pytest.fixture
def shell() -> Iterator[Callable[..., Supervisor]]:
    """A function that keeps a shell script running."""
    with contextlib.ExitStack() as stack:

        def start(script: str, **options) -> Supervisor:
            part = Supervisor("part", ["/bin/sh", "-c", script], **options)
            stack.callback(part.stop)
            part.start()
            return part

        yield start


def test_each_restart_leaves_a_line_and_a_count(shell, tmp_path):
    with capture_logs() as logs:
        part = shell("exec sleep 600")
        first = part.pid
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: part.restarts == 1 and part.pid not in (None, first))
    ran = logs[0].pop("ran")
    assert 0 <= ran < 30
    assert logs == [
        {"event": "part_restarted", "part": "part", "restarts": 1, "ended": "SIGKILL", "log_level": "warning"}
    ]
    launcher.note_parts(tmp_path, [part])
    file = tmp_path / readiness.PARTS
    assert json.loads(file.read_text()) == {"part": {"restarts": 1, "ended": "SIGKILL"}}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_full_disk_costs_the_count_and_nothing_else(tmp_path, monkeypatch):
    launcher.note_parts(tmp_path, [Supervisor("part", ["true"])])
    before = (tmp_path / readiness.PARTS).read_text()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkstemp", full)
    launcher.note_parts(tmp_path, [])
    assert (tmp_path / readiness.PARTS).read_text() == before


def test_what_is_not_needed_is_tried_again_for_ever_after_longer_and_longer_pauses(shell, monkeypatch):
    pauses: list[float] = []
    monkeypatch.setattr(engine_server, "LONGEST_PAUSE", 0.02)
    part = shell("exit 3", is_needed=False)

    def wait(pause: float) -> bool:
        pauses.append(pause)
        return part._stopping.is_set()

    monkeypatch.setattr(part._stopping, "wait", wait)
    wait_for(lambda: part.restarts > FAILURES + 3)
    assert not part.failed.is_set()
    assert part.ended == "status 3"
    assert pauses == sorted(pauses)
    assert set(pauses[-3:]) == {0.02}


def test_what_others_kill_again_and_again_is_not_given_up(shell):
    part = shell("kill -9 $$")
    wait_for(lambda: part.restarts > FAILURES + 3)
    assert not part.failed.is_set()


def test_a_part_that_worked_for_a_while_has_not_failed(shell, monkeypatch):
    monkeypatch.setattr(engine_server, "QUICK_SECONDS", 0.0)
    part = shell("exit 3")
    wait_for(lambda: part.restarts > FAILURES + 3)
    assert not part.failed.is_set()


def test_a_program_that_is_gone_is_a_part_that_fails(tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nrm $0\n")
    program.chmod(0o755)
    children = Children()
    children.start(lambda: Supervisor("part", [str(program)]))
    (part,) = children.running
    assert part.failed.wait(30)
    assert part.restarts == FAILURES - 1
    assert "No such file" in part.ended
    with pytest.raises(LaunchError, match=r"The part ended again and again \(.*No such file"):
        launcher.watch(children, threading.Event())
    children.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_supervisor_that_breaks_down_is_not_silent(shell, monkeypatch):
    """The kernel ends its process together with the thread."""
    monkeypatch.setattr(orphans, "end_adopted", lambda: 1 / 0)
    part = shell("exec sleep 600")
    os.kill(part.pid, signal.SIGKILL)
    assert part.failed.wait(30)


# The worker


def worker(run: Run, tmp_path: Path, before: str) -> subprocess.Popen:
    """A worker without a table, in which something was changed before."""
    code = (
        "import sys, threading, time\n"
        "sys.argv = ['manage.py', 'worker']\n"
        "from dealsite.management.commands import worker\n"
        "import manage\n"
        f"{before}\n"
        "manage.main()\n"
    )
    environ = {
        **os.environ,
        "DEALSITE_VAR": str(tmp_path / "var"),
        "DJANGO_SETTINGS_MODULE": "dealsite.settings",
    }
    return run(sys.executable, "-c", code, env=environ, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    "number", [2, *(pytest.param(number, marks=pytest.mark.thorough) for number in (1, 3))]
)
def test_a_worker_that_cannot_start_a_thread_ends(run, tmp_path, number):
    before = (
        "start, started = threading.Thread.start, []\n"
        "def limited(self):\n"
        "    started.append(self)\n"
        f'    if len(started) >= {number}: raise RuntimeError("can\'t start new thread")\n'
        "    start(self)\n"
        "threading.Thread.start = limited\n"
    )
    one = worker(run, tmp_path, before)
    said = one.communicate(timeout=60)[1]
    assert (one.returncode, "worker_failed" in said, "can't start new thread" in said) == (1, True, True)


NEVER = "threading.Thread.start = lambda self: threading.Event().wait()\n"  # no memory for its first line


def test_a_worker_whose_thread_never_starts_ends(run, tmp_path):
    one = worker(run, tmp_path, f"worker.START_SECONDS = 1\n{NEVER}")
    said = one.communicate(timeout=60)[1]
    assert (one.returncode, "worker_hangs" in said) == (1, True)


def test_a_worker_that_hangs_obeys_the_request_to_end(run, tmp_path):
    one = worker(run, tmp_path, f"worker.START_SECONDS, worker.STOP_SECONDS = 600, 1\n{NEVER}")
    wait_for(lambda: handles(one.pid, signal.SIGALRM))
    one.terminate()
    said = one.communicate(timeout=60)[1]
    assert (one.returncode, "worker_hangs" in said) == (1, True)


def handles(pid: int, number: int) -> bool:
    caught = Path(f"/proc/{pid}/status").read_text().partition("SigCgt:")[2].split()[0]
    return bool(int(caught, 16) >> (number - 1) & 1)


def test_a_worker_that_works_is_not_ended_by_the_clock_of_its_start(run, tmp_path):
    left = "print('left:', signal.alarm(0), file=sys.stderr)"
    one = worker(run, tmp_path, f"import signal\nworker.loop.run = lambda stop, expire, parts, woken: {left}")
    said = one.communicate(timeout=60)[1]
    assert (one.returncode, "left: 0" in said) == (0, True)
