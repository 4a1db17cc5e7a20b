"""Connections to an engine that listens where only this user's processes reach it: behind a unix socket.

Whoever calls the socket gets no server to talk to but a TCP socket that is connected to the engine already, so that a
request costs what it costs over loopback. `unix:/path/of/the.socket` is the endpoint; the path is quoted as in a URL.
"""

import contextlib
import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

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
