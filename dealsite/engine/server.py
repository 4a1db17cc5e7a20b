"""Starts the engine on a free loopback port and keeps it there."""

import contextlib
import http.client
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from dealsite.engine.database import repair_stream
from dealsite.engine.programs import DATABASE, EngineError, Kind, command, environment
from dealsite.engine.supervisor import Supervisor

HOST = "127.0.0.1"
READY_SECONDS = {"native": 10.0, "local": 60.0}


def port_is_free(port: int, host: str = HOST) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_port(preferred: int = 0) -> int:
    """A free loopback port; the preferred one if it is free."""
    if preferred and port_is_free(preferred):
        return preferred
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def answers(port: int, host: str = HOST) -> bool:
    """Whether something speaks HTTP there; an engine answers a bare GET with an error, which will do."""
    connection = http.client.HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", "/")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


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
    """A supervised engine, for the time of a block; `url` is its endpoint, the same after every restart."""

    def __init__(self, folder: Path, kind: Kind = "native", *, port: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.kind: Kind = kind
        self.port = free_port(port)
        self.url = f"http://{HOST}:{self.port}"
        self.database = folder / DATABASE[kind]
        self.log = folder / "engine.log"
        self._output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        serve = command(kind, folder, self.port)
        self.supervisor = Supervisor("engine", serve, environment(), folder, self._output)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, wait until it answers, and repair its stream."""
        try:
            self.supervisor.start()
        except OSError as error:
            self.stop()
            raise EngineError(f"The engine does not start: {error}. Run make setup.") from error
        try:
            wait_until(self._answers, self.supervisor, READY_SECONDS[self.kind], self.log)
            if self.kind == "native":
                repair_stream(self.database)
        except BaseException:
            self.stop()
            raise

    def _answers(self) -> bool:
        return self.supervisor.pid is not None and answers(self.port)

    def stop(self) -> None:
        """End it; what it has acknowledged is on disk."""
        self.supervisor.stop()
        with contextlib.suppress(OSError):
            os.close(self._output)
