"""A proxy between site and engine that breaks what passes through it: what a network, a machine or an operator does.

Each fault is a function of one exchange: it may ask the engine, and answers or does not. An `Exchange` knows nothing of
the site; which of a page's exchanges a fault hits is what `HITS` says.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Self

from dealsite.data.table import connection
from dealsite.engine.server import random_loopback
from tests.faults.unkind import READS, WRITES, ItemKey, _inserted, _written

LATE, TOO_LATE = 0.2, 5.0  # seconds
DRIP = 0.02  # seconds between two bytes
LINES = "HTTP/1.1 {} {}\r\n"


class Gone(Exception):
    """The connection is at its end."""


@dataclass
class Answer:
    """What an engine answers, or what stands where its answer should."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    def head(self, length: int | None = None) -> bytes:
        """Return what precedes the body; `length` is what is said of it, if not the truth."""
        told = self.headers | {"Content-Length": str(len(self.body) if length is None else length)}
        lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        return (LINES.format(self.status, http.client.responses[self.status]) + lines + "\r\n").encode()


@dataclass
class Exchange:
    """One request on its way to the engine, and the ways in which its answer can come back."""

    proxy: Proxy
    client: socket.socket
    headers: dict[str, str]
    body: bytes
    number: int  # of this page's, from 1

    @property
    def operation(self) -> str:
        return self.headers["x-amz-target"].rpartition(".")[2]

    def ask(self, body: bytes | None = None) -> Answer:
        """Have the engine do it."""
        return self.proxy.ask(self.headers, self.body if body is None else body)

    def send(self, answer: Answer) -> None:
        self.client.sendall(answer.head() + answer.body)

    def wait(self, seconds: float) -> None:
        """Let time pass, but no longer than anybody looks."""
        if self.proxy.over.wait(seconds * self.proxy.scale):
            raise Gone

    def reset(self) -> None:
        """End the connection as a process that dies does."""
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Gone


Fault = Callable[[Exchange], None]
FAULTS: dict[str, Fault] = {}
WAITING = set[str]()  # those that last as long as the client waits


def named(name: str, *, waits: bool = False) -> Callable[[Fault], Fault]:
    """Give a fault its name, as docs/reliability.md has it."""

    def keep(fault: Fault) -> Fault:
        FAULTS[name] = fault
        if waits:
            WAITING.add(name)
        return fault

    return keep


# The network


@named("late by 0.2 s", waits=True)
def late(exchange: Exchange) -> None:
    answer = exchange.ask()
    exchange.wait(LATE)
    exchange.send(answer)


@named("late by 5 s", waits=True)
def too_late(exchange: Exchange) -> None:
    answer = exchange.ask()
    exchange.wait(TOO_LATE)
    exchange.send(answer)


def drip(exchange: Exchange, text: bytes) -> None:
    for place in range(len(text)):
        exchange.client.sendall(text[place : place + 1])
        exchange.wait(DRIP)


@named("headers that drip", waits=True)
def dripping_headers(exchange: Exchange) -> None:
    answer = exchange.ask()
    drip(exchange, answer.head())
    exchange.client.sendall(answer.body)


@named("a body that drips", waits=True)
def dripping_body(exchange: Exchange) -> None:
    answer = exchange.ask()
    exchange.client.sendall(answer.head())
    drip(exchange, answer.body)


@named("cut in the middle of the body")
def cut(exchange: Exchange) -> None:
    answer = exchange.ask()
    exchange.client.sendall(answer.head() + answer.body[: len(answer.body) // 2])
    raise Gone


@named("cut, with a length that fits")
def cut_to_length(exchange: Exchange) -> None:
    answer = exchange.ask()
    answer.body = answer.body[: len(answer.body) // 2]
    exchange.send(answer)


@named("reset before the engine hears of it")
def reset_before(exchange: Exchange) -> None:
    exchange.reset()


@named("reset after the engine has done it")
def reset_after(exchange: Exchange) -> None:
    exchange.ask()
    exchange.reset()


@named("a letter is another one")
def other_letter(exchange: Exchange) -> None:
    """Valid JSON that says something else."""
    answer = exchange.ask()
    middle = len(answer.body) // 2
    letters = [place for place, byte in enumerate(answer.body) if chr(byte).isalnum()]
    place = min(letters, key=lambda place: abs(place - middle))
    other = b"7" if answer.body[place : place + 1] != b"7" else b"3"
    answer.body = answer.body[:place] + other + answer.body[place + 1 :]
    exchange.send(answer)


@named("a byte is none that text can hold")
def garbage(exchange: Exchange) -> None:
    answer = exchange.ask()
    middle = len(answer.body) // 2
    answer.body = answer.body[:middle] + b"\xff" + answer.body[middle + 1 :]
    exchange.send(answer)


# Something else answers


def instead(name: str, status: int, body: bytes, **headers: str) -> None:
    """Name a fault: this answer, of which the engine knows nothing."""

    def fault(exchange: Exchange) -> None:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        exchange.send(Answer(status, body, sent))

    named(name)(fault)


HTML = b"<!doctype html><title>Welcome</title><p>It works!</p>"
instead("200 {}", 200, b"{}")
instead("200 []", 200, b"[]")
instead("200 null", 200, b"null")
instead("200 with a page", 200, HTML, Content_Type="text/html")
instead("200 with nothing", 200, b"")
instead("502 with a page", 502, HTML, Content_Type="text/html")
instead("307 to elsewhere", 307, b"", Location="http://127.0.0.1:9/")


# The engine refuses


def refused(name: str, status: int, code: str, message: str) -> None:
    """Name a fault: the engine's own words, after nothing was done."""
    error = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message}
    instead(name, status, json.dumps(error).encode(), Content_Type="application/x-amz-json-1.0")


refused("throttled", 400, "ProvisionedThroughputExceededException", "The level of configured ... exceeded.")
refused("expired credentials", 400, "ExpiredTokenException", "The security token has expired.")
refused("unknown credentials", 400, "UnrecognizedClientException", "The security token is invalid.")
refused("an unknown code", 400, "TeapotException", "Short and stout.")
refused("internal error", 500, "InternalServerError", "The request processing has failed.")
refused("disk full", 500, "InternalServerError", "SQLite error: database or disk is full")
refused("table dropped", 400, "ResourceNotFoundException", "Requested resource not found")


@named("lost answers and forgotten tokens")
def forgetful(exchange: Exchange) -> None:
    """Each write is done, the answer of every other one is lost, and none is known again by its token."""
    body = json.loads(exchange.body)
    body.pop("ClientRequestToken", None)
    answer = exchange.ask(json.dumps(body).encode())
    if exchange.operation not in READS and exchange.number % 2:
        exchange.reset()
    exchange.send(answer)


# Which exchanges of a page

Hits = Callable[[Exchange, int], bool]  # of how many that the page sends when all is well
HITS: dict[str, Hits] = {
    "all": lambda exchange, calls: True,
    "the first": lambda exchange, calls: exchange.number == 1,
    "the second": lambda exchange, calls: exchange.number == 2,
    "the last": lambda exchange, calls: exchange.number == calls,
    "every other": lambda exchange, calls: exchange.number % 2 == 1,
    "reads": lambda exchange, calls: exchange.operation in READS,
    "writes": lambda exchange, calls: exchange.operation not in READS,
}


class Proxy:
    """The proxy, for the time of a block; `url` is its endpoint. It breaks nothing until it is told to."""

    def __init__(self, engine_url: str) -> None:
        self.engine_url = engine_url
        self.scale = 1.0  # of all times
        self.over = threading.Event()
        self._asking = threading.Lock()
        self._counting = threading.Lock()
        self.calls = 0
        self.hit = 0  # calls that met the fault
        self._fault: Fault | None = None
        self._hits: Hits = HITS["all"]
        self._expected = 0
        self._engine: http.client.HTTPConnection | None = None
        self._listener = socket.create_server((random_loopback(), 0))
        host, port = self._listener.getsockname()
        self.url = f"http://{host}:{port}"
        self._clients: set[socket.socket] = set()
        self.written: set[ItemKey] = set()  # what requests that reached the engine may have changed

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, name="fault-proxy", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._listener.close()
        for client in list(self._clients):
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        if self._engine:
            self._engine.close()

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count calls from 1, as those of one page."""
        with self._counting:
            self.calls = self.hit = 0
        yield

    @contextlib.contextmanager
    def broken(self, fault: Fault, hits: Hits = HITS["all"], calls: int = 0) -> Iterator[None]:
        """Let a fault hit; at the end, nothing is under way to the engine any more."""
        self.over = threading.Event()
        with self.counting():
            self._hits, self._expected, self._fault = hits, calls, fault
            try:
                yield
            finally:
                self._fault = None
                self.over.set()
                with self._asking:
                    pass

    def ask(self, headers: dict[str, str], body: bytes) -> Answer:
        """Pass a request on, as the engine's only client."""
        with self._asking:
            self._note(headers["x-amz-target"].rpartition(".")[2], body)
            passed = {name: value for name, value in headers.items() if name not in OWN}
            for attempt in range(2):
                if self._engine is None:
                    self._engine = http.client.HTTPConnection("engine")
                    self._engine.sock = connection.connect(self.engine_url, 15)
                    self._engine.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                try:
                    self._engine.request("POST", "/", body, passed)
                    answer = self._engine.getresponse()
                    content = answer.read()
                except (OSError, http.client.HTTPException):
                    self._engine.close()
                    self._engine = None
                    if attempt:
                        raise
                    continue
                told = {name: value for name, value in answer.getheaders() if name.lower() in KEPT}
                return Answer(answer.status, content, told)
            raise AssertionError

    def _note(self, operation: str, body: bytes) -> None:
        if operation == "BatchExecuteStatement":
            statements = json.loads(body)["Statements"]
            self.written.update(_inserted(statement)[1] for statement in statements)
        elif operation in WRITES:
            self.written.update(
                key for keys in _written(operation, json.loads(body)).values() for key in keys
            )

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._clients.add(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, Gone), client, client.makefile("rb") as lines:
            while line := lines.readline():
                headers: dict[str, str] = {}
                while text := lines.readline().strip():
                    name, _, value = text.decode().partition(":")
                    headers[name.lower()] = value.strip()
                assert line.startswith(b"POST"), line
                length = int(headers["content-length"])
                body = lines.read(length)
                if len(body) < length:
                    return  # the client gave up
                self._exchange(client, headers, body)
        self._clients.discard(client)

    def _exchange(self, client: socket.socket, headers: dict[str, str], body: bytes) -> None:
        with self._counting:
            self.calls += 1
            exchange = Exchange(self, client, headers, body, self.calls)
        if (fault := self._fault) and self._hits(exchange, self._expected):
            self.hit += 1
            fault(exchange)
        else:
            exchange.send(exchange.ask())


OWN = ("host", "content-length", "connection")  # headers of one connection alone
KEPT = ("content-type", "x-amz-crc32")
