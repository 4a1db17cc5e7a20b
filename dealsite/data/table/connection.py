"""How a request reaches DynamoDB: connections, sockets with a deadline, one attempt of one request, and a gate.

boto3 gives endpoint, credentials, region and the events that tests and tracing hook into. The few operations of
every request are signed, sent and read here, without boto3's walk over each value's shape, which costs several
times the call itself.

The gate lets pages fail at once while the table is away, and one thread asks whether it is back. It shuts after some
failures in a row: no answers, or answers that the table cannot be used. A single lost answer, or the moment that an
engine takes to start again, does not shut it, and an answer opens it. Only those who have a deadline stand before it: a
worker waits anyway.

An engine of this machine listens behind a unix socket, where only this user's processes reach it. Whoever calls it gets
no server to talk to but a TCP socket that is connected to the engine already, so that a request costs what it costs
over loopback. `unix:/path/of/the.socket` is the endpoint; the path is quoted as in a URL.

A socket's own time-out begins anew with each byte. Whatever a socket of these does, its connecting and the
handshake of TLS too, it waits for no more than what is left until the moment that `until` holds.
"""

import contextlib
import errno
import functools
import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, unquote, urlsplit

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
)
from botocore.httpsession import URLLib3Session
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

from . import convert, errors, meters
from .configuration import configuration
from .errors import Unavailable

SCHEME = "unix:"
LONGEST = 107  # bytes of a socket's path, for the kernel


def endpoint_url(path: Path) -> str:
    """Return the endpoint that a socket is."""
    return SCHEME + quote(str(path))


def path_in(endpoint_url: str) -> Path | None:
    """Return the path of an endpoint that is a socket; None for an endpoint with an address."""
    return Path(unquote(endpoint_url.removeprefix(SCHEME))) if endpoint_url.startswith(SCHEME) else None


def request_url(endpoint_url: str) -> str:
    """Return the URL that requests name: for a socket a made-up one, which no name server knows."""
    return endpoint_url if path_in(endpoint_url) is None else "http://engine.invalid"


def on_this_machine(endpoint_url: str) -> bool:
    """Whether an endpoint is an engine of this machine: a socket, or a loopback address."""
    host = urlsplit(endpoint_url).hostname or ""
    return path_in(endpoint_url) is not None or host.startswith("127.") or host in ("localhost", "::1")


@contextlib.contextmanager
def short_name(path: Path) -> Iterator[str]:
    """A name for a socket's path that the kernel takes, however deep its folder lies."""
    if len(os.fsencode(path)) <= LONGEST:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def connect(endpoint_url: str, seconds: float | None) -> socket.socket:
    """Return a TCP socket that is connected to the engine of an endpoint; OSError if there is none."""
    path = path_in(endpoint_url)
    if path is None:
        address = urlsplit(endpoint_url)
        return socket.create_connection((address.hostname or "", address.port or 80), seconds)
    with socket.socket(socket.AF_UNIX) as caller, short_name(path) as name:
        caller.settimeout(seconds)
        caller.connect(name)
        _, handed_out, _, _ = socket.recv_fds(caller, 1, 1)
    if not handed_out:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "The engine is not there.")
    connected = socket.socket(fileno=handed_out[0])
    connected.set_inheritable(False)
    connected.settimeout(seconds)
    return connected


CONNECT_TIMEOUT = 0.5  # seconds

until: ContextVar[float] = ContextVar("until")  # by time.monotonic()


def left() -> float:
    """Return the seconds that are left; TimeoutError when none are."""
    seconds = until.get() - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("The whole answer took too long.")
    return seconds


class TimedSocket(socket.socket):
    """A plain one."""

    def recv_into(self, *given: Any) -> int:
        self.settimeout(left())
        return socket.socket.recv_into(self, *given)

    def sendall(self, *given: Any) -> None:
        self.settimeout(left())
        socket.socket.sendall(self, *given)


class TimedSSLSocket(ssl.SSLSocket):
    """One that speaks TLS; what is sent goes through `send`, a part at a time."""

    def recv_into(self, *given: Any) -> int:
        self.settimeout(left())
        return super().recv_into(*given)

    def send(self, *given: Any) -> int:
        self.settimeout(left())
        return super().send(*given)

    def do_handshake(self, *given: Any) -> None:
        self.settimeout(left())
        super().do_handshake(*given)


def use_timed_sockets(pools: PoolManager, endpoint_url: str) -> None:
    """Have a pool manager take such sockets, to the engine behind a socket where the endpoint is one."""

    def connected(connection: HTTPConnection, connect: Callable[[Any], socket.socket]) -> socket.socket:
        connection.timeout = min(CONNECT_TIMEOUT, left())
        timed = TimedSocket(fileno=connect(connection).detach())
        try:
            timed.settimeout(left())
        except TimeoutError:
            timed.close()
            raise
        return timed

    def handed_out(connection: HTTPConnection) -> socket.socket:
        made = connect(endpoint_url, connection.timeout)
        for option in connection.socket_options or []:
            made.setsockopt(*option)
        return made

    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            is_socket = path_in(endpoint_url) is not None
            return connected(self, handed_out if is_socket else HTTPConnection._new_conn)

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return connected(self, HTTPSConnection._new_conn)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    pools.connection_pool_kw["ssl_context"].sslsocket_class = TimedSSLSocket
    pools.pool_classes_by_scheme.update(
        http=PlainPool, https=SecurePool
    )  # botocore's managers of proxies share it


ADMIN_TIMEOUT = 20.0  # seconds; creating a table is no page
ADMIN_ATTEMPTS = 2
CONNECTIONS = 8  # the embedded engine slows down above ten

TABLES, STREAMS = "dynamodb", "dynamodbstreams"  # the two services, by boto3's names
TARGETS = {TABLES: "DynamoDB_20120810", STREAMS: "DynamoDBStreams_20120810"}
NOT_SENT = (EndpointConnectionError, ConnectTimeoutError)  # nothing was connected to
UNANSWERED = (HTTPClientError, BotoCoreError, OSError, convert.NoAnswer)


class Session(URLLib3Session):  # type: ignore[misc]
    """botocore's HTTP pool, with one time for connecting, sending and the whole answer: `seconds()`, or the page's."""

    def __init__(self, endpoint_url: str, seconds: Callable[[], float]) -> None:
        # Headers and body go in two packets: without this, the second waits 40 ms for an acknowledgement.
        options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
        timeout = (CONNECT_TIMEOUT, ADMIN_TIMEOUT)
        super().__init__(timeout=timeout, max_pool_connections=CONNECTIONS, socket_options=options)
        use_timed_sockets(self._manager, endpoint_url)
        self.seconds = seconds

    def send(self, request: Any) -> Any:
        token = until.set(time.monotonic() + min(self.seconds(), meters.seconds_left()))
        try:
            return super().send(request)
        finally:
            until.reset(token)


class AdminSession(Session):
    """One whose answers are checked before boto3 reads them, which takes anything for an answer."""

    def send(self, request: Any) -> Any:
        answer = super().send(request)
        operation = request.headers["X-Amz-Target"].decode().rpartition(".")[2]
        try:
            convert.check_answer(
                operation, {}, convert.read_answer(answer.status_code, answer.headers, answer.content)
            )
        except convert.NoAnswer as error:
            self.close()
            raise HTTPClientError(error=error) from error
        except errors.Refused:
            pass  # boto3 reads it, too
        return answer


class Connection:
    """What one process keeps: boto3's client for its configuration and events, and an HTTP pool."""

    def __init__(self, seconds: Callable[[], float], is_back: Callable[[Self], bool]) -> None:
        self.pid = os.getpid()
        self.gate = Gate(lambda: is_back(self))
        configured = configuration()
        self.endpoint_url, self.region = configured.endpoint_url, configured.region
        # An engine on this machine asks for credentials but checks none: made-up ones will do.
        key = configured.local_key if on_this_machine(self.endpoint_url) else None
        session = boto3.Session(key, key, region_name=self.region)
        self.credentials = session.get_credentials()
        url = request_url(self.endpoint_url)
        self._new_client = functools.partial(session.client, endpoint_url=url or None)
        config = Config(
            retries={"total_max_attempts": ADMIN_ATTEMPTS, "mode": "standard"}, parameter_validation=False
        )
        self.client = self._new_client(TABLES, config=config)
        # boto3 cannot be told otherwise where its connections come from.
        self.client._endpoint.http_session = AdminSession(self.endpoint_url, lambda: ADMIN_TIMEOUT)
        self.events = self.client.meta.events
        self.url = self.client.meta.endpoint_url.rstrip("/") + "/"
        self.http = Session(self.endpoint_url, seconds)

    @functools.cached_property
    def streams_url(self) -> str:
        """Where the streams are: at Amazon not where the tables are."""
        url: str = self._new_client(STREAMS).meta.endpoint_url
        return url.rstrip("/") + "/"

    def send(
        self, operation: str, body: bytes, request: dict[str, Any], service: str = TABLES
    ) -> convert.Answer:
        """Sign and send a request once; return its answer, whole and checked. Raises UNANSWERED, Refused."""
        headers = {
            "X-Amz-Target": f"{TARGETS[service]}.{operation}",
            "Content-Type": "application/x-amz-json-1.0",
        }
        url = self.url if service == TABLES else self.streams_url
        signed = AWSRequest(method="POST", url=url, data=body, headers=headers)
        if self.credentials is None:
            raise errors.Refused("NoCredentials", str(NoCredentialsError()), [])
        SigV4Auth(self.credentials.get_frozen_credentials(), "dynamodb", self.region).add_auth(signed)
        prepared = signed.prepare()
        came = self.events.emit_until_response(f"before-send.{service}.{operation}", request=prepared)[1]
        if came is None:
            came = self.http.send(prepared)
        try:
            answer = convert.read_answer(came.status_code, came.headers, came.content)
            convert.check_answer(operation, request, answer)
        except convert.NoAnswer:
            self.http.close()  # who knows what else comes from there
            raise
        return answer


FAILURES = 3  # in a row
LONGER_THAN = (
    0.3  # seconds since the first of them; all that was under way when an engine ended fails at once
)
FORGOTTEN_AFTER = 5.0  # seconds without a further one
PROBE_EVERY = 0.25  # seconds

logger = logging.getLogger(__name__)


class Gate:
    """The gate of one process; `is_back` asks the table once, and tells whether it can be used."""

    def __init__(self, is_back: Callable[[], bool]) -> None:
        self._is_back = is_back
        self._lock = threading.Lock()
        self._failures = self._refused = 0
        self._first = self._last = 0.0
        self._shut_at: float | None = None
        self._reason = ""
        self._ended = threading.Event()

    def check(self) -> None:
        """Raise Unavailable while the gate is shut."""
        if self._shut_at is None:
            return
        with self._lock:
            self._refused += 1
        raise Unavailable(reason=self._reason, is_said=True)

    def answered(self, *, now: float) -> None:
        """The table answers: open the gate, forget what failed."""
        if not self._failures:
            return
        with self._lock:
            shut_at, self._shut_at, self._failures = self._shut_at, None, 0
            refused, self._refused = self._refused, 0
        if shut_at is not None and not self._ended.is_set():
            logger.warning("event='table_back' seconds=%.1f refused=%d", now - shut_at, refused)

    def failed(self, reason: object, *, now: float) -> None:
        """Shut the gate if this was one failure too many, and begin to ask for the table."""
        with self._lock:
            if not self._failures or now - self._last > FORGOTTEN_AFTER:
                self._first, self._failures = now, 0
            self._last, self._failures = now, self._failures + 1
            is_too_many = self._failures >= FAILURES and now - self._first >= LONGER_THAN
            if self._shut_at is not None or not is_too_many or self._ended.is_set():
                return
            self._shut_at, self._reason = now, str(reason)
        logger.error("event='table_away' reason=%r", self._reason)
        try:
            threading.Thread(target=self._probe, name="table-probe", daemon=True).start()
        except RuntimeError:  # no thread to be had: then visitors ask
            self.answered(now=now)

    def end(self) -> None:
        """Let nobody stand before this gate any more, and the thread end: without a word, it does not know."""
        self._ended.set()

    def _probe(self) -> None:
        try:
            while self._shut_at is not None and not self._ended.wait(PROBE_EVERY):
                if self._is_back():
                    return
        finally:
            self.answered(now=time.monotonic())
