"""Starts the engine where only this user's processes reach it, and keeps it there.

docs/decisions/0019-engine-behind-a-socket.md says how, and why.
"""

import contextlib
import http.client
import secrets
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from dealsite.data.table import sockets
from dealsite.engine import namespace
from dealsite.engine.database import RESTORE, explained, repair_stream, trim_stream
from dealsite.engine.folder import make_private
from dealsite.engine.output import BoundedLog
from dealsite.engine.programs import DATABASE, EngineError, Kind, command, environment
from dealsite.engine.supervisor import Supervisor
from dealsite.home import SET_UP
from dealsite.processes import orphans

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
            self.url = sockets.endpoint_url(folder / SOCKET)
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
        with sockets.short_name(path) as name:
            self._listener.bind(name)
        path.chmod(0o600)
        self._listener.listen(128)

    def answers(self) -> bool:
        """Whether it can be used now."""
        return self.supervisor.pid is not None and speaks_http(lambda: sockets.connect(self.url, 2))

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
