"""How a request reaches DynamoDB: signed, over a connection that is kept, in its time; and a gate.

boto3 gives credentials and addresses at Amazon; an engine on this machine, or at an address of its own, costs no client
of boto3's. What goes there and back is JSON over HTTP, and is read without boto3's walk over each value's shape, which
costs several times the call itself.

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
import hashlib
import hmac
import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import quote, unquote, urlsplit

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ClosedPoolError, ConnectTimeoutError, HTTPError, NewConnectionError
from urllib3.util import Retry

from . import convert
from .configuration import configuration
from .errors import NotSent, Unavailable

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
# As it comes, and once: what is tried again is not urllib3's business.
ONCE: dict[str, Any] = {
    "retries": Retry(False),
    "redirect": False,
    "assert_same_host": False,
    "decode_content": False,
    "timeout": Timeout(connect=CONNECT_TIMEOUT),  # what follows is timed by the sockets
}

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


def new_pool(endpoint_url: str) -> HTTPConnectionPool:
    """Return a pool of connections to an endpoint, all of them sockets with a time."""
    url = urlsplit(request_url(endpoint_url))
    is_socket = path_in(endpoint_url) is not None

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
        try:
            made = connect(endpoint_url, connection.timeout)
        except OSError as error:
            raise NewConnectionError(connection, f"Nothing is handed out: {error}") from error
        for option in connection.socket_options or []:
            made.setsockopt(*option)
        return made

    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return connected(self, handed_out if is_socket else HTTPConnection._new_conn)

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return connected(self, HTTPSConnection._new_conn)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    # Headers and body go in two packets: without this, the second waits 40 ms for an acknowledgement.
    no_delay = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    given: dict[str, Any] = {"maxsize": CONNECTIONS, "socket_options": no_delay}
    if url.scheme == "http":
        return PlainPool(url.hostname or "", url.port, **given)
    from .amazon import certificates

    context = ssl.create_default_context(cafile=certificates())
    context.sslsocket_class = TimedSSLSocket
    return SecurePool(url.hostname or "", url.port, ssl_context=context, **given)


class Credentials(NamedTuple):
    """Who asks."""

    access_key: str
    secret_key: str
    token: str | None = None


class Signer:
    """Signs requests to DynamoDB in one region, by AWS Signature Version 4; a day's key is derived once."""

    def __init__(self, region: str) -> None:
        self.region = region
        self._derived: tuple[tuple[str, str], bytes] = (("", ""), b"")  # swapped at once: threads share it

    def sign(
        self, credentials: Credentials, host: str, path: str, target: str, body: bytes, *, now: float
    ) -> dict[str, str]:
        """Return the headers of a request, its signature among them. `now`: seconds since 1970."""
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
        day, secret = moment[:8], credentials.secret_key
        headers = {"content-type": CONTENT_TYPE, "host": host, "x-amz-date": moment}
        if credentials.token:
            headers["x-amz-security-token"] = credentials.token
        headers["x-amz-target"] = target
        names = ";".join(headers)
        lines = "".join([f"{name}:{value}\n" for name, value in headers.items()])
        asked = f"POST\n{quote(path)}\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
        scope = f"{day}/{self.region}/dynamodb/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(asked.encode()).hexdigest()}"
        made_of, key = self._derived
        if made_of != (day, secret):
            key = f"AWS4{secret}".encode()
            for part in (day, self.region, "dynamodb", "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._derived = (day, secret), key
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        headers["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, "
            f"SignedHeaders={names}, Signature={signature}"
        )
        return headers


CONTENT_TYPE = "application/x-amz-json-1.0"
CONNECTIONS = 8  # the embedded engine slows down above ten
TABLES, STREAMS = "dynamodb", "dynamodbstreams"  # the two services, by boto3's names
TARGETS = {TABLES: "DynamoDB_20120810", STREAMS: "DynamoDBStreams_20120810"}
NOT_SENT = (NotSent, NewConnectionError, ConnectTimeoutError, ClosedPoolError)  # nothing was connected to
UNANSWERED = (HTTPError, OSError, convert.NoAnswer)


class Service:
    """Where tables, or their streams, are: the host as it is signed, and its connections."""

    def __init__(self, endpoint_url: str) -> None:
        self.endpoint_url = endpoint_url
        url = urlsplit(request_url(endpoint_url))
        self.host = url.netloc.rpartition("@")[2].lower()
        self.path = f"{url.path.rstrip('/')}/"
        self.pool = new_pool(endpoint_url)

    def renew(self) -> None:
        """Keep none of the connections."""
        self.pool, old = new_pool(self.endpoint_url), self.pool
        old.close()


class Connection:
    """What one process keeps: who asks, where the services are, and the gate. Raises Refused without credentials."""

    def __init__(self, is_back: Callable[[Self], bool]) -> None:
        self.pid = os.getpid()
        self.gate = Gate(lambda: is_back(self))
        self.date = ""  # of the last answer
        configured = configuration()
        self.endpoint_url = configured.endpoint_url
        self._signer = Signer(configured.region)
        self._services: dict[str, Service] = {}
        self._looking_up = threading.Lock()  # boto3 makes one client at a time
        if on_this_machine(self.endpoint_url):
            # It asks for credentials but checks none: made-up ones will do.
            local_key = Credentials(configured.local_key, configured.local_key)
            self._who: Callable[[], Credentials] = lambda: local_key
            self._where: Callable[[str], str] = lambda service: self.endpoint_url
        else:
            from .amazon import Amazon

            amazon = Amazon(self.endpoint_url, configured.region)
            self._who, self._where = amazon.credentials, amazon.url

    def end(self) -> None:
        """Keep nothing open."""
        self.gate.end()
        for service in self._services.values():
            service.pool.close()

    def service(self, name: str) -> Service:
        """Return where a service is; at Amazon streams are not where the tables are."""
        if (known := self._services.get(name)) is None:
            with self._looking_up:
                if (known := self._services.get(name)) is None:
                    known = self._services[name] = Service(self._where(name))
        return known

    def send(
        self, operation: str, body: bytes, request: dict[str, Any], seconds: float, service: str = TABLES
    ) -> tuple[Any, float]:
        """Send a request once; return what it is answered, and the capacity units. Raises UNANSWERED, Refused."""
        came = self.exchange(operation, body, service, seconds)
        try:
            answer = convert.read_answer(operation, request, came.status, came.headers, came.data)
        except convert.NoAnswer:
            self.service(service).renew()  # who knows what else comes from there
            raise
        self.date = came.headers.get("Date", "")
        return answer

    def exchange(self, operation: str, body: bytes, service: str, seconds: float) -> BaseHTTPResponse:
        """Sign a request, send it, and return all that comes back within so many seconds."""
        to = self.service(service)
        target = f"{TARGETS[service]}.{operation}"
        headers = self._signer.sign(self._who(), to.host, to.path, target, body, now=time.time())
        token = until.set(time.monotonic() + seconds)
        try:
            return to.pool.urlopen("POST", to.path, body, headers, **ONCE)
        finally:
            until.reset(token)


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
