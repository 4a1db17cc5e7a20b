"""Starts the engine where only this user's processes reach it, keeps it there, and starts it again when it dies.

docs/decisions/0019-engine-behind-a-socket.md says how, and why.

Its output goes through a pipe into a file of bounded size, which a full disk may cut short: dynoxide aborts where it
cannot print.
"""

import contextlib
import functools
import http.client
import os
import secrets
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Self

import structlog

from dealsite.data.table.connection import connect, endpoint_url, short_name
from dealsite.engine import namespace
from dealsite.engine.database import RESTORE, explained, repair_stream, trim_stream
from dealsite.engine.namespace import end_with_parent
from dealsite.engine.programs import DATABASE, EngineError, Kind, command, environment, make_private
from dealsite.home import SET_UP
from dealsite.processes import orphans

FAILURES = 5  # so many in a row, each before QUICK_SECONDS were over, are no accident any more
QUICK_SECONDS = 10.0
PAUSE, LONGEST_PAUSE = 0.01, 30.0  # doubled with each failure
KILLED = "SIGKILL"  # which is never a process's own doing

logger = structlog.get_logger(__name__)


def name_of(code: int) -> str:
    """How a process ended, by its return code: "status 1" or "SIGKILL"."""
    if code >= 0:
        return f"status {code}"
    return next((one.name for one in signal.Signals if one == -code), f"signal {-code}")


class Supervisor:
    """Keeps one command running until stop(); `failed` is set when it is given up, and `ended` says how it ended last.

    What is needed is given up when it fails again and again; anything else is tried for ever, after longer and longer
    pauses.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environ: Mapping[str, str] | None = None,
        folder: Path | None = None,
        output: int | None = None,
        *,
        input: int = subprocess.DEVNULL,  # noqa: A002 - what Popen's own functions call it
        umask: int = -1,
        pass_fds: Sequence[int] = (),
        is_needed: bool = True,
    ) -> None:
        self.name = name
        self.command = list(command)
        self.pid: int | None = None  # None between two processes
        self.restarts = 0
        self.ended = ""
        self.failed = threading.Event()
        self._environ, self._folder, self._output = environ, folder, output
        self._input, self._umask, self._pass_fds = input, umask, pass_fds
        self.is_needed = is_needed
        self._stopping = threading.Event()
        self._started = threading.Event()
        self._lock = threading.Lock()  # held while the process is reaped: then its id may be another's
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._keep, name=f"keep-{name}", daemon=True)

    def start(self) -> None:
        """Start the command; OSError when it cannot be started at all."""
        self._thread.start()
        self._started.wait()
        if self._error:
            raise self._error

    def ask_to_end(self, number: int = signal.SIGTERM) -> None:
        """Tell the process to end, once, and start no other."""
        with self._lock:
            if self.pid and not self._stopping.is_set():
                os.kill(self.pid, number)
            self._stopping.set()

    def stop(self, patience: float = 10) -> None:
        """Ask the process to end, wait for it, and kill what is left of its group."""
        self.ask_to_end()
        if self._thread.ident is None:
            return
        self._thread.join(patience)
        with self._lock:
            if self.pid:
                os.kill(self.pid, signal.SIGKILL)
        self._thread.join(patience)

    def _keep(self) -> None:
        # The kernel sends the death signal when the thread that forked ends: so this one waits, too.
        try:
            self._run_again_and_again()
        finally:
            if not self._stopping.is_set():
                self.failed.set()
            self._started.set()

    def _run_again_and_again(self) -> None:
        failures = 0
        while True:
            began = time.monotonic()
            try:
                self.ended = self._run()
            except OSError as error:
                if not self._started.is_set():
                    self._error = error
                    return
                self.ended = str(error)
            ran = time.monotonic() - began
            failures = 0 if ran >= QUICK_SECONDS else failures + (self.ended != KILLED)
            if self.is_needed and failures >= FAILURES:
                return
            if self._stopping.wait(min(PAUSE * 2**failures, LONGEST_PAUSE)):
                return
            self.restarts += 1
            logger.warning(
                "part_restarted", part=self.name, restarts=self.restarts, ended=self.ended, ran=round(ran, 1)
            )

    def _run(self) -> str:
        """Run the process until it ends, kill what it leaves behind, and return how it ended."""
        with self._lock:
            if self._stopping.is_set():
                return ""
            process = self._start()
        self._started.set()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            # Its id is nobody else's before it is waited for; nor is that of its group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            code, self.pid = process.wait(), None
            orphans.parts.discard(process.pid)
        orphans.end_adopted()
        return name_of(code)

    def _start(self) -> subprocess.Popen[bytes]:
        with orphans.STARTING:
            # A group of its own: Ctrl-C reaches the launcher alone, which ends its children in order.
            process = subprocess.Popen(
                self.command,
                cwd=self._folder,
                env=self._environ,
                stdin=self._input,
                stdout=self._output,
                stderr=self._output,
                umask=self._umask,
                process_group=0,
                pass_fds=self._pass_fds,
                # A child must not outlive a launcher that was killed: it would go on holding the data and the port.
                preexec_fn=functools.partial(end_with_parent, os.getpid(), signal.SIGKILL),
            )
            orphans.parts.add(process.pid)
        self.pid = process.pid
        return process


MOST_BYTES = 5_000_000  # of the file, and of the one before it
NONE = -1


class BoundedLog:
    """A file that is begun anew at a size, and at each start; what it held before is kept beside it, as `.1`."""

    def __init__(self, path: Path, most: int = MOST_BYTES) -> None:
        reads, self.fd = os.pipe()  # `fd` is for the program to write to
        self._path, self._most, self._size, self._file = path, most, most, NONE
        self._thread = threading.Thread(
            target=self._copy, args=(reads,), name=f"log-{path.name}", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Keep what still comes, until nobody is left who could write, for a second at most."""
        if self.fd != NONE:
            os.close(self.fd)
            self.fd = NONE
            self._thread.join(1)

    def _copy(self, reads: int) -> None:
        while piece := os.read(reads, 65_536):
            with contextlib.suppress(OSError):  # no space: the program must not wait for it
                if self._size + len(piece) > self._most:
                    self._begin()
                self._size += os.write(self._file, piece)
        os.close(reads)
        self._end()

    def _begin(self) -> None:
        self._end()
        with contextlib.suppress(FileNotFoundError):
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._size = 0

    def _end(self) -> None:
        if self._file != NONE:
            os.close(self._file)
            self._file, self._size = NONE, self._most


HOST = "127.0.0.1"
SOCKET = "engine.sock"
TRIM_SECONDS = 600.0
READY_SECONDS = {"native": 10.0, "local": 60.0}


def free_port(host: str = HOST) -> int:
    """A free port of a loopback address."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def random_loopback() -> str:
    """One of the sixteen million addresses of this machine, and not the first, which everybody tries."""
    return f"127.{secrets.randbelow(254) + 1}.{secrets.randbelow(256)}.{secrets.randbelow(254) + 1}"


def answers(port: int, host: str = HOST) -> bool:
    """Whether something speaks HTTP there."""
    return speaks_http(lambda: socket.create_connection((host, port), 2))


def speaks_http(connect: Callable[[], socket.socket]) -> bool:
    """Whether what answers a call speaks HTTP; an engine answers a bare GET with an error, which will do."""
    connection = http.client.HTTPConnection("localhost")
    try:
        connection.sock = connect()
        connection.request("GET", "/")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def isolated(command: list[str]) -> list[str]:
    """The command line that runs a program in a network namespace of its own."""
    # -I -S: without the site's packages, Python starts in 15 ms.
    return [sys.executable, "-I", "-S", namespace.__file__, *command]


def why_not_isolated() -> str:
    """Why a program cannot have a network namespace of its own here; "" if it can."""
    tried = subprocess.run(isolated([]), capture_output=True, text=True, timeout=30, check=False)
    return "" if tried.returncode == 0 else (tried.stderr.strip().splitlines() or ["no reason given"])[-1]


def wait_until(
    true: Callable[[], bool], supervisor: Supervisor, seconds: float, log: Path | None = None
) -> None:
    """Wait until `true()`; EngineError with the end of the log when the process dies or takes too long."""
    end = time.monotonic() + seconds
    while not true():
        if supervisor.failed.is_set() or time.monotonic() > end:
            tail = log.read_text("utf-8", "replace")[-2000:] if log and log.exists() else ""
            late = f"is not ready after {seconds:g} seconds"
            state = "does not start" if supervisor.failed.is_set() else late
            raise EngineError(f"The {supervisor.name} {state}.\n{tail}".strip())
        time.sleep(0.02)


class Engine:
    """A supervised engine, for the time of a block; `url` is its endpoint, the same after every restart.

    `exposed` says why any program of this machine can reach it; it is "" where the kernel lets the engine be alone.
    """

    def __init__(self, folder: Path, kind: Kind = "native") -> None:
        make_private(folder)
        self.folder = folder
        self.kind: Kind = kind
        self.database = folder / DATABASE[kind]
        self.log = folder / "engine.log"
        self.exposed = why_not_isolated()
        self._listener = socket.socket(socket.AF_UNIX)
        self._output = BoundedLog(self.log)
        self._trimmed = float("-inf")
        if self.exposed:
            host = random_loopback()
            port = free_port(host)
            self.url = f"http://{host}:{port}"
            serve = self._engine = command(kind, folder, host, port)
            called_on = subprocess.DEVNULL
        else:
            self.url = endpoint_url(folder / SOCKET)
            self._engine = command(kind, folder, namespace.HOST, namespace.PORT)
            serve = isolated(self._engine)
            called_on = self._listener.fileno()
        environ = environment() | orphans.mark(folder)
        self.supervisor = Supervisor(
            "engine", serve, environ, folder, self._output.fd, input=called_on, umask=0o077
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, wait until it answers, and repair its stream."""
        try:
            if shutil.which(self._engine[0]) is None:
                raise OSError(f"there is no program {self._engine[0]}")
            if not self.exposed:
                self._listen()
            self.supervisor.start()
            wait_until(self.answers, self.supervisor, READY_SECONDS[self.kind], self.log)
            if self.kind == "native":
                repair_stream(self.database)
        except OSError as error:
            self.stop()
            raise EngineError(f"The engine does not start: {error}. {SET_UP}.") from error
        except (EngineError, sqlite3.DatabaseError) as error:
            self.stop()
            raise explained(self.folder, str(error)) from error
        except BaseException:
            self.stop()
            raise

    def _listen(self) -> None:
        """Open the socket, which stays open when the engine dies: callers then wait for the next one."""
        path = self.folder / SOCKET
        path.unlink(missing_ok=True)
        with short_name(path) as name:
            self._listener.bind(name)
        path.chmod(0o600)
        self._listener.listen(128)

    def answers(self) -> bool:
        """Whether it can be used now."""
        return self.supervisor.pid is not None and speaks_http(lambda: connect(self.url, 2))

    def look_after(self) -> None:
        """Trim its stream now and then. EngineError where its file is gone: what it takes would be lost with it."""
        if not self.database.exists():
            raise EngineError(
                f"{self.database} was deleted under the running site, which has stopped to lose no more. {RESTORE}"
            )
        if self.kind == "native" and time.monotonic() - self._trimmed > TRIM_SECONDS:
            with contextlib.suppress(sqlite3.OperationalError):  # busy: the next round trims it
                trim_stream(self.database)
            self._trimmed = time.monotonic()

    def stop(self) -> None:
        """End it; what it has acknowledged is on disk."""
        self.supervisor.stop()
        self._listener.close()
        self._output.close()


SECONDS = 2.0  # to reach the engine
CHUNK = 65_536


def serve_port(endpoint_url: str, say: Callable[[str], None]) -> None:
    """Open a port at a random address of 127.0.0.0/8, say its URL, and pass bytes on until Ctrl-C."""

    class Call(BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError), connect(endpoint_url, SECONDS) as engine:
                engine.settimeout(None)
                pass_on(self.request, engine)

    with ThreadingTCPServer((random_loopback(), 0), Call) as server, contextlib.suppress(KeyboardInterrupt):
        server.daemon_threads, server.block_on_close = True, False
        host, port = server.server_address[:2]
        say(f"http://{host!s}:{port}")
        server.serve_forever()


def pass_on(one: socket.socket, other: socket.socket) -> None:
    """Give each of two sockets what comes from the other, until one of them is closed."""
    to = {one: other, other: one}
    while True:
        for ready in select.select([*to], [], [])[0]:
            if not (data := ready.recv(CHUNK)):
                return
            to[ready].sendall(data)
