"""HTTP requests that no address leads astray: for addresses that editors, files and other sites name.

Public addresses only: each address of a name is checked, and the connection goes to a checked one, so that a second
answer of the name server cannot change the target. No redirect is followed: whoever asks sees where it leads, and
asks again through the same guard. No server holds a request up beyond its deadline.
"""

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from http.client import HTTPException
from typing import TypeVar
from urllib.parse import urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

PORTS = {"http": 80, "https": 443}
ADDRESSES_TRIED = 2
NAT64 = ipaddress.ip_network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Answer = TypeVar("Answer")

context: Callable[[], ssl.SSLContext] = ssl.create_default_context


class Reason(Enum):
    """Why there is no answer."""

    NO_WEB_ADDRESS = auto()
    OTHER_SCHEME = auto()  # or no host
    USER_OR_PORT = auto()
    UNKNOWN_NAME = auto()
    UNREADABLE_NAME = auto()
    NO_NAME_SERVER = auto()
    PRIVATE_NETWORK = auto()
    BAD_CERTIFICATE = auto()
    UNREACHABLE = auto()
    BROKEN_OFF = auto()  # or too slow


class NoAnswer(Exception):
    """There is no answer; `reason` says why."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(reason.name)


@dataclass(frozen=True, slots=True)
class Target:
    """What a web address on its usual port leads to; `path` holds the query, too."""

    scheme: str
    host: str
    path: str


def target_of(url: str, *, schemes: Collection[str]) -> Target:
    """Return what a web address leads to; raise NoAnswer for one that is not asked."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host = host.encode("idna").decode("ascii") if not host.isascii() else host
        # A path may begin with two slashes, which are no host's.
        path = urllib3.util.parse_url(
            f"//host{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        ).request_uri
    except (ValueError, UnicodeError, urllib3.exceptions.HTTPError):
        raise NoAnswer(Reason.NO_WEB_ADDRESS) from None
    if parts.scheme not in schemes or not host:
        raise NoAnswer(Reason.OTHER_SCHEME)
    if parts.username is not None or parts.password is not None or port not in (None, PORTS[parts.scheme]):
        raise NoAnswer(Reason.USER_OR_PORT)
    return Target(parts.scheme, host, path)


def ask(
    method: str,
    target: Target,
    *,
    headers: Mapping[str, str],
    deadline: float,
    connect_seconds: float,
    read_seconds: float,
    read: Callable[[urllib3.BaseHTTPResponse], Answer],
) -> Answer:
    """Return what `read` makes of the answer, by a moment of `time.monotonic`; raise NoAnswer where there is none."""
    for address in public_addresses(target.host, PORTS[target.scheme])[:ADDRESSES_TRIED]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise NoAnswer(Reason.BROKEN_OFF)
        connection = _connection(target, address, min(connect_seconds, left))
        try:
            connection.connect()
        except (urllib3.exceptions.SSLError, ssl.SSLError):
            connection.close()
            raise NoAnswer(Reason.BAD_CERTIFICATE) from None
        except (urllib3.exceptions.HTTPError, OSError):
            connection.close()
            continue
        try:
            with _ended_at(deadline, connection):
                connection.sock.settimeout(max(min(read_seconds, deadline - time.monotonic()), 0.1))
                sent = {**headers, "Host": target.host}
                connection.request(
                    method, target.path, headers=sent, preload_content=False, decode_content=False
                )
                with closing(connection.getresponse()) as response:
                    answer = read(response)
            if time.monotonic() >= deadline:  # what looks whole may be what came until then
                raise NoAnswer(Reason.BROKEN_OFF)
            return answer
        except (urllib3.exceptions.HTTPError, HTTPException, OSError):
            raise NoAnswer(Reason.BROKEN_OFF) from None
        finally:
            connection.close()
    raise NoAnswer(Reason.UNREACHABLE)


def public_addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a host, all of them public; raise NoAnswer otherwise."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)):
            raise NoAnswer(Reason.UNKNOWN_NAME) from None
        raise NoAnswer(Reason.NO_NAME_SERVER) from None
    except (OSError, UnicodeError):
        raise NoAnswer(Reason.UNREADABLE_NAME) from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not addresses or not all(is_public(ipaddress.ip_address(address)) for address in addresses):
        raise NoAnswer(Reason.PRIVATE_NETWORK)
    return addresses


def is_public(address: Address) -> bool:
    """Tell whether an address, and the IPv4 address that it may wrap, is of the public internet."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        inner = address.sixtofour or (address.teredo or (None, None))[1]
        if inner is None and address in NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None and not is_public(inner):
            return False
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _connection(target: Target, address: str, seconds: float) -> HTTPConnection:
    if target.scheme == "http":
        return HTTPConnection(address, PORTS["http"], timeout=seconds)
    return HTTPSConnection(
        address,
        PORTS["https"],
        ssl_context=context(),
        server_hostname=target.host,  # which its certificate must be for
        timeout=seconds,
    )


@contextmanager
def _ended_at(deadline: float, connection: HTTPConnection) -> Iterator[None]:
    """Shut a connection at its deadline: time-outs alone let a server send a byte now and then for ever."""

    sock = connection.sock  # the connection forgets it once the answer begins

    def shut() -> None:
        with suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    timer = threading.Timer(max(deadline - time.monotonic(), 0.0), shut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
