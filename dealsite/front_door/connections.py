"""The connections of a web process, and its threads: how many, and how long anything waits for one.

uvicorn parses and answers; what it leaves open is bounded here. A connection waits for a request's headers, reads its
body, runs while a page is made, and sends the answer. One look at all of them, twice a second, finds who is late.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from dealsite.accounts.requests import network_of
from dealsite.processes.heartbeat import end_if_out_of_memory

# What anybody may send: a form of DATA_UPLOAD_MAX_MEMORY_SIZE with the lines between its fields.
SMALL_BYTES = 1 << 20
HEADER_BYTES = 32_768
HEADER_COST = 32  # bytes that each header counts besides its own, as in HTTP/2: a short one takes memory too
PIPELINED = 16  # requests that wait on one connection for those before them
BODY_COST = 8  # bytes that may be sent for each byte of a body: sent alone, as a chunk, it takes six
# What a client has to send, and to take, on average of each stretch of time: half of what EDGE gives a phone.
BYTES_A_SECOND = 2_048
# Who waits longer for a thread gets 503. A request's deadline for data calls counts the waiting.
QUEUE_SECONDS = 1.0
QUEUED = 200


@dataclass(frozen=True)
class Limits:
    """Of one web process: seconds of patience, connections of one address (0 for any number), and in all."""

    patience: float
    per_address: int
    connections: int

    @property
    def longest(self) -> float:
        """Seconds for one body, or one answer, however steadily it moves: 15 minutes by default."""
        return 90 * self.patience


def limits_from_settings() -> Limits:
    """Return the limits of this site: behind a proxy all connections come from its address."""
    return Limits(
        patience=settings.DEALSITE_CLIENT_SECONDS,
        per_address=0 if settings.DEALSITE_TRUSTED_PROXIES else settings.DEALSITE_CONNECTIONS_PER_ADDRESS,
        connections=settings.DEALSITE_CONNECTIONS,
    )


START_SECONDS = 5.0
Result = TypeVar("Result")


class Busy(Exception):
    """No thread was free in time."""


def with_room(function: Callable[[float], Result], waited: float) -> Result:
    """Call a function where Python has 200 KB at hand for the frames of what that calls.

    Python takes memory for frames from the system in pieces of 16 KB, and gives one back as soon as calls leave it: a
    loop that stands at the end of one does so each time around. That was a fifth of a page of the CMS.
    """
    return function(waited)


# A frame of this size (items of 8 bytes), although it holds nothing, lies in a piece of 512 KB.
with_room.__code__ = with_room.__code__.replace(co_stacksize=33_000)


class Pool:
    """Some threads for one kind of work; `patience` is how many seconds to wait for one, None for any time."""

    def __init__(self, threads: int, name: str, patience: float | None = QUEUE_SECONDS) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        # Started now: a process that gets no threads ends with the reason, and does not answer each request with 500.
        all_run = threading.Barrier(threads)
        for _ in range(threads):
            self._executor.submit(all_run.wait, START_SECONDS)
        self._free = asyncio.Semaphore(threads)
        self._patience = patience
        self._queued = 0

    async def run(self, function: Callable[[float], Result]) -> Result:
        """Return what a function returns, called in a thread with the seconds that it waited for one; or Busy."""
        loop = asyncio.get_running_loop()
        asked = loop.time()
        await self._enter()
        try:
            return await loop.run_in_executor(self._executor, with_room, function, loop.time() - asked)
        finally:
            self._free.release()

    async def _enter(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        if self._patience is not None and self._queued >= QUEUED:
            raise Busy
        self._queued += 1
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError:
            raise Busy from None
        finally:
            self._queued -= 1


LOOK_SECONDS = 0.5
LOG_SECONDS = 10.0
LAST_SECONDS = 1.0  # for a request that may be on its way while the process ends
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
AT_ONCE = struct.pack("ii", 1, 0)
logger = structlog.get_logger(__name__)


class Phase(Enum):
    """Whom a connection waits for: in all but RUNS it is the client."""

    WAITS = "for headers"
    READS = "a body"
    RUNS = "a page"
    SENDS = "an answer"


class Connections:
    """All that are open. Where there are too many, the one that has waited longest for headers makes room."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.open: dict[Connection, None] = {}
        self.waiting: dict[Connection, None] = {}  # in the order in which they began to
        self.of_network: Counter[str] = Counter()
        self.are_last = False  # the process ends: each answer is the last one of its connection
        self._refused = 0
        self._logged = float("-inf")
        self._looks = False

    def protocol(self, **parts: Any) -> Connection:
        """Make the protocol of a new connection; the event loop calls it."""
        return Connection(self, **parts)

    def enter(self, one: Connection) -> None:
        """Take a connection in, or close it at once."""
        if not self._looks:
            self._looks = True
            self._look_later(one.loop)
        most = self.limits.per_address
        if most and self.of_network[one.network] >= most:
            fits = self._makes_room(one.network)
        else:
            fits = len(self.open) < self.limits.connections or self._makes_room()
        if fits:
            self.open[one] = None
            self.of_network[one.network] += 1
            one.begin(Phase.WAITS)
        else:
            self._refused += 1
            one.transport.abort()

    def leave(self, one: Connection) -> None:
        """Forget a connection; it may be forgotten already."""
        self.waiting.pop(one, None)
        if one in self.open:
            del self.open[one]
            self.of_network[one.network] -= 1
            if not self.of_network[one.network]:
                del self.of_network[one.network]

    def _makes_room(self, network: str = "") -> bool:
        oldest = next((one for one in self.waiting if network in ("", one.network)), None)
        if oldest is None:
            return False
        self._refused += 1
        self.leave(oldest)
        oldest.transport.abort()
        return True

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_later(min(LOOK_SECONDS, self.limits.patience / 4), self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._look_later(loop)
        now = loop.time()
        for one in list(self.open):
            one.end_if_late(now)
        if self._refused and now - self._logged > LOG_SECONDS:
            logger.warning("connections_closed", too_many=self._refused, open=len(self.open))
            self._refused, self._logged = 0, now


class Connection(HttpToolsProtocol):
    """uvicorn's, with an eye on the clock, on what waits, on the size of headers, and on what stands around a body."""

    def __init__(self, connections: Connections, **parts: Any) -> None:
        super().__init__(**parts)
        self.all = connections
        self.network = ""
        self.phase = Phase.WAITS
        self._began = self._since = 0.0
        self._moved = self._before = (
            0  # bytes in this phase, and of them before the stretch that is looked at
        )
        self._unparsed = self._header_bytes = 0
        self._is_in_headers = False
        self.answered: RequestResponseCycle | None = None

    def begin(self, phase: Phase) -> None:
        """Start the clock of another phase."""
        self.phase = phase
        self._began = self._since = self.loop.time()
        self._moved = self._before = 0
        if phase is Phase.WAITS:
            self.all.waiting.pop(self, None)
            self.all.waiting[self] = None
        else:
            self.all.waiting.pop(self, None)

    def sends(self, count: int) -> None:
        """Note that so many bytes of an answer are handed over."""
        if self.phase is not Phase.SENDS:
            self.begin(Phase.SENDS)
        self._moved += count

    def end_if_late(self, now: float) -> None:
        """Close the connection where its client has had its time."""
        patience, done = self.all.limits.patience, self._moved
        if self.phase is Phase.RUNS:
            return
        if self.phase is Phase.SENDS:
            left = self.transport.get_write_buffer_size()
            done -= left
            patience *= 2  # the kernel hands over in large pieces
            if not left:
                self._since, self._before = now, done
                if self.cycle.response_complete and not self.transport.is_closing():
                    self.begin(Phase.WAITS)
                return
        elapsed = now - self._since
        if elapsed < patience:
            return
        is_steady = done - self._before >= BYTES_A_SECOND * elapsed
        if self.phase is not Phase.WAITS and is_steady and now - self._began < self.all.limits.longest:
            self._since, self._before = now, done
        elif self.phase is Phase.READS:
            self.transport.write(TOO_SLOW)
            self.begin(Phase.SENDS)
            self.transport.close()
        else:
            if self.phase is Phase.SENDS:  # else the kernel would go on offering what nobody takes
                self.transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE
                )
            self.transport.abort()

    # What uvicorn, and the parser, call.

    def shutdown(self) -> None:
        """Answer what is under way, and what a client sends within a second: it may have done so already."""
        self.all.are_last = True
        if self.cycle is None or self.cycle.response_complete:
            self.loop.call_later(LAST_SECONDS, self._close_if_idle)
        else:
            super().shutdown()

    def _close_if_idle(self) -> None:
        if self.phase is Phase.WAITS:
            self.transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.network = _network(self.client[0]) if self.client else ""
        self.all.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.all.leave(self)
        if self.answered is not None:  # uvicorn tells only the last that came
            self.answered.disconnected = True
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request; for want of memory to read one, end: that is no fault of its client."""
        error = sys.exception()
        if error is not None and isinstance(error.__context__, MemoryError):
            end_if_out_of_memory(error.__context__)
            self.transport.abort()
        else:
            super().send_400_response(msg)

    def data_received(self, data: bytes) -> None:
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > HEADER_BYTES and not self.transport.is_closing():
            self.send_400_response("The headers are too long.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["connection"] = self  # type: ignore[typeddict-unknown-key]
        self._header_bytes, self._is_in_headers = 0, True
        if self.phase is Phase.WAITS and self.cycle is not None:
            self.begin(Phase.WAITS)  # another request of a kept connection has the whole time again

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_in_headers:
            return  # a trailer must not pass for a header that proxies set
        self._header_bytes += len(name) + len(value) + HEADER_COST
        if self._header_bytes > HEADER_BYTES:
            raise ValueError("The headers are too long.")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_in_headers, self._unparsed = False, 0
        if len(self.pipeline) == PIPELINED:  # one read brings up to 14,000
            raise ValueError("Too many requests wait.")
        self._judge_host()
        is_next = self.cycle is None or self.cycle.response_complete
        super().on_headers_complete()
        if self.all.are_last and self.cycle is not None:
            self.cycle.keep_alive = False
        if is_next:  # one that came along with the request before it begins when that is answered
            self.begin(Phase.READS)

    def _judge_host(self) -> None:
        """Refuse two Hosts, and HTTP/1.1 without one; an absolute target names its own instead (RFC 9112, 3.2)."""
        others = [(name, value) for name, value in self.headers if name != b"host"]
        hosts = len(self.headers) - len(others)
        if hosts > 1 or (not hosts and self.parser.get_http_version() == "1.1"):
            raise ValueError("One Host is needed.")
        if not self.url.startswith(b"/") and (host := urlsplit(self.url).netloc):
            self.headers[:] = [(b"host", host), *others]

    def on_body(self, body: bytes) -> None:
        self._unparsed = max(0, self._unparsed - BODY_COST * len(body))
        if self.phase is Phase.READS:
            self._moved += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unparsed = 0
        if self.phase is Phase.READS:
            self.begin(Phase.RUNS)
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self.answered = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()
        if not self.cycle.response_complete:
            is_last = not self.pipeline
            self.begin(Phase.READS if is_last and self.cycle.more_body else Phase.RUNS)


def _network(text: str) -> str:
    address = ipaddress.ip_address(text.partition("%")[0])
    return network_of(str(getattr(address, "ipv4_mapped", None) or address))
