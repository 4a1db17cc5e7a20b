"""A web process's server in a thread of the test, before an application of the test's or the whole site."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dealsite.front_door.application import ID_PLACE, FrontDoor
from dealsite.front_door.connections import Limits
from dealsite.front_door.process import web_server
from dealsite.processes import heartbeat

PATIENT = Limits(patience=30, per_address=100, connections=1_000)


def echo(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer with what was sent."""
    body = environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


class Web:
    """A server, and what a client of it does."""

    def __init__(self, application: Any, limits: Limits) -> None:
        self.environs: list[dict[str, Any]] = []
        self._application = application
        listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = listening.getsockname()[1]
        self.server = web_server(FrontDoor(self._noted, f"<p>busy {ID_PLACE}</p>"), limits)
        self.connections = self.server.config.http.__self__  # type: ignore[union-attr]
        self._thread = threading.Thread(target=self.server.run, args=([listening],))
        self._thread.start()
        self._sockets: list[socket.socket] = []

    def _noted(self, environ: dict[str, Any], start_response: Any) -> Any:
        self.environs.append(environ)
        return self._application(environ, start_response)

    def stop(self) -> None:
        self.server.should_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive()

    def close(self) -> None:
        for one in self._sockets:
            one.close()
        self.stop()

    def connect(self, data: bytes = b"", address: str = "127.0.0.1", **options: int) -> socket.socket:
        """Open a connection from an address of this machine, and send something."""
        one = socket.socket()
        for name, value in options.items():
            one.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
        one.settimeout(20)
        one.bind((address, 0))
        one.connect(("127.0.0.1", self.port))
        one.sendall(data)
        self._sockets.append(one)
        return one

    def ask(self, data: bytes, address: str = "127.0.0.1") -> bytes:
        """Send a request and return all that comes until the server closes."""
        return everything(self.connect(data, address))

    def get(self, path: str, address: str = "127.0.0.1") -> tuple[int, float]:
        """Return the status of a page and the seconds that it took."""
        began = time.monotonic()
        text = self.ask(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode(), address)
        return status_of(text), time.monotonic() - began

    def request(self, method: str, path: str, **options: Any) -> tuple[int, bytes]:
        """Return the status and the body of an answer to http.client."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, path, **options)
            answer = connection.getresponse()
            return answer.status, answer.read()


def status_of(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d{3})", answer)
    return int(found[1]) if found else 0


def everything(one: socket.socket) -> bytes:
    """Read until the other side closes, in whatever way."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := one.recv(65_536):
            parts.append(part)
    return b"".join(parts)


def seconds_until_closed(one: socket.socket, began: float) -> float:
    everything(one)
    return time.monotonic() - began


def wait_for(true: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not so after {seconds} seconds"
        time.sleep(0.005)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Web]]:
    """A function that starts a server, `echo` unless another application is named; it says nowhere that it lives."""
    monkeypatch.setattr(heartbeat, "keep", lambda stop, part: None)
    started: list[Web] = []

    def start(application: Any = echo, limits: Limits = PATIENT) -> Web:
        web = Web(application, limits)
        started.append(web)
        wait_for(lambda: web.server.started)
        return web

    yield start
    for web in started:
        web.close()
