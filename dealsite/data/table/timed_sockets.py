"""Sockets that give up at one moment, however slowly an answer trickles in.

A socket's own time-out begins anew with each byte. Whatever a socket of these does, its connecting and the
handshake of TLS too, it waits for no more than what is left until the moment that `until` holds.
"""

import socket
import ssl
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

from . import sockets

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


def use(pools: PoolManager, endpoint_url: str) -> None:
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
        made = sockets.connect(endpoint_url, connection.timeout)
        for option in connection.socket_options or []:
            made.setsockopt(*option)
        return made

    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            is_socket = sockets.path_in(endpoint_url) is not None
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
