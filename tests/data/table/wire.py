"""An engine on the wire that says whatever a test wants, byte by byte."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

Pieces = bytes | Iterator[bytes]
COST = {"TableName": "t", "CapacityUnits": 0.5}
ITEM = {"PK": {"S": "A"}, "SK": {"S": "A"}, "n": {"N": "1"}}


def whole(answer: Any, status: str = "200 OK", **headers: str) -> bytes:
    """An answer as the engine would send it."""
    return raw(answer if isinstance(answer, bytes) else json.dumps(answer).encode(), status, **headers)


def raw(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """An answer with any body; headers that are given replace the right ones, '' leaves one out."""
    right = {"Content-Length": str(len(body)), "x-amz-crc32": str(zlib.crc32(body))}
    right |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{name}: {value}" for name, value in right.items() if value]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


def drip(answer: bytes, seconds: float = 0.02) -> Iterator[bytes]:
    """The same answer a byte at a time."""
    for byte in answer:
        yield bytes([byte])
        time.sleep(seconds)


class Wire:
    """A server whose answers come from `say(operation, body)`; it counts the requests."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.requests: list[str] = []
        self.say: Callable[[str, Any], Pieces] = lambda operation, body: b""
        self.open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = self.listener.accept()[0]
                self.open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection, connection.makefile("rb") as file:
            while True:
                length, operation = 0, ""
                while (line := file.readline()) not in (b"\r\n", b""):
                    name, _, value = line.decode().strip().partition(": ")
                    length = int(value) if name.lower() == "content-length" else length
                    operation = value.rpartition(".")[2] if name.lower() == "x-amz-target" else operation
                if not line:
                    return
                body = json.loads(file.read(length))
                self.requests.append(operation)
                pieces = self.say(operation, body)
                for piece in [pieces] if isinstance(pieces, bytes) else pieces:
                    connection.sendall(piece)
                if pieces == b"" or (isinstance(pieces, bytes) and b"Connection: close" in pieces):
                    return

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
