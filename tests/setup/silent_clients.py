"""Clients that say nothing, or next to nothing, and how long a site keeps them."""

from __future__ import annotations

import contextlib
import http.client
import select
import socket
import time

CHUNK = 100


class SilentClients:
    """500 silent sockets, 50 that send a byte a second and 20 that hardly read, from addresses of this machine."""

    def __init__(self, port: int, file: str, *, silent: int = 500) -> None:
        self.port = port
        self.open: dict[str, list[socket.socket]] = {"silent": [], "trickling": [], "reading": []}
        self.closed_after: dict[str, float] = {}
        heads = (b"", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n", b"GET / HTTP/1.1\r\nHo")
        slow = b"POST /cart/ HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n"
        get = f"GET {file} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
        for number in range(silent):
            self._connect("silent", heads[number % 3], number)
        for number in range(50):
            self._connect("trickling", slow if number % 2 else heads[2], number)
        for number in range(20):
            self._connect("reading", get, number)
        self.began = time.monotonic()

    def _connect(self, kind: str, data: bytes, number: int) -> None:
        one = socket.socket()
        if kind == "reading":
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        one.bind((f"127.0.1.{1 + number % 10}", 0))
        one.settimeout(20)
        one.connect(("127.0.0.1", self.port))
        with contextlib.suppress(OSError):
            one.sendall(data)
        one.setblocking(False)
        self.open[kind].append(one)

    def a_second(self) -> None:
        """Let each do what it does in a second, and note who was closed."""
        for kind, sockets in self.open.items():
            for one in list(sockets):
                if self._is_closed(kind, one):
                    sockets.remove(one)
                    one.close()
                    self.closed_after[kind] = time.monotonic() - self.began

    def _is_closed(self, kind: str, one: socket.socket) -> bool:
        look = select.poll()  # what came before the end would hide it from recv
        look.register(one, select.POLLRDHUP)
        if look.poll(0):
            return True
        with contextlib.suppress(OSError):
            if kind == "trickling":
                one.send(b"a")
            else:
                one.recv(CHUNK)
        return False

    def close(self) -> None:
        for sockets in self.open.values():
            for one in sockets:
                one.close()


def timed(port: int, path: str) -> tuple[int, float]:
    """Return the status of a page, and the seconds that it took; 0 for no answer."""
    began = time.monotonic()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
        except OSError:
            return 0, time.monotonic() - began
        return answer.status, time.monotonic() - began
