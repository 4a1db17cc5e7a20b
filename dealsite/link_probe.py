"""Looks whether something is behind a link, and lets no address lead it astray.

Public addresses only, at every hop: each address of a name is checked, and the connection goes to a checked
one, so that a second answer of the name server cannot change the target. No body is ever read.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPException
from typing import Literal
from urllib.parse import urljoin, urlsplit

import urllib3
from django.conf import settings
from urllib3.connection import HTTPConnection, HTTPSConnection

from dealsite.imports import downloads

SECONDS = 6.0  # for one link with all its redirects, whatever the servers do
CONNECT_SECONDS = 3.0
REDIRECTS = 5
PORTS = {"http": 80, "https": 443}
GONE = (404, 410)
NO_SUCH_NAME = "name"  # why nothing is there, beside the status that a shop answered
NO_NAME_SERVER = "The name server does not answer."
# Names that stand for examples and lead nowhere (RFC 2606): demo content has such links.
EXAMPLES = (".example", ".test", ".invalid", ".localhost", "example.com", "example.net", "example.org")

State = Literal["works", "gone", "unsure"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is behind a link: it works, nothing is there (gone), or nobody can tell from here (unsure), and why.

    `reason` of gone is the shop's status, or `name` where nobody knows the site; of unsure it is a sentence.
    """

    state: State
    reason: str = ""


class Unsure(Exception):
    """Nobody can tell from here; the message says why."""


class Gone(Exception):
    """There is nothing; the message says why."""


def probe(url: str) -> Finding:
    """Return what is behind a link: asked for by HEAD and, where that is refused, by GET."""
    deadline = time.monotonic() + SECONDS
    try:
        for _ in range(REDIRECTS + 1):
            status, location = _ask("HEAD", url, deadline)
            if status >= 400:  # not every server answers to HEAD as it does to GET
                status, location = _ask("GET", url, deadline)
            if location is None:
                return _finding(status)
            url = urljoin(url, location)
    except Gone as reason:
        return Finding("gone", str(reason))
    except Unsure as reason:
        return Finding("unsure", str(reason))
    except ValueError:  # a shop may redirect to what no library takes for an address
        return Finding("unsure", "This is not a web address.")
    return Finding("unsure", "It redirects too often.")


def host_of(url: str) -> str:
    """Return the host of a link in small letters, '' where there is none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_example(host: str) -> bool:
    """Tell whether a host is one of those that stand for examples only."""
    return any(host == name.lstrip(".") or host.endswith(f".{name.lstrip('.')}") for name in EXAMPLES)


def headers() -> Mapping[str, str]:
    """Return what a check says of itself: shops can see who asks, and where to complain."""
    name = f"{settings.DEALSITE_NAME} link check (+{settings.DEALSITE_URL})"
    return {
        "User-Agent": name.encode("ascii", "replace").decode("ascii"),
        "Accept": "*/*",
        "Accept-Encoding": "identity",
    }


def _finding(status: int) -> Finding:
    if status in GONE:
        return Finding("gone", str(status))
    if 200 <= status < 400:
        return Finding("works")
    return Finding("unsure", f"The shop answered {status}.")


def _ask(method: str, url: str, deadline: float) -> tuple[int, str | None]:
    """Return the status of an answer, and where it redirects to; raise Unsure or Gone."""
    scheme, host, target = _parts(url)
    for address in _addresses(host, PORTS[scheme])[:2]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Unsure(downloads.TOO_SLOW)
        connection = _connection(scheme, address, host, min(CONNECT_SECONDS, left))
        try:
            connection.connect()
        except (urllib3.exceptions.SSLError, ssl.SSLError):
            connection.close()
            raise Unsure("The site's certificate is not valid.") from None
        except (urllib3.exceptions.HTTPError, OSError):
            connection.close()
            continue
        try:
            with downloads.ended_at(deadline, connection):
                connection.sock.settimeout(max(deadline - time.monotonic(), 0.1))
                sent = {**headers(), "Host": host}
                connection.request(method, target, headers=sent, preload_content=False, decode_content=False)
                with closing(connection.getresponse()) as response:
                    answer = response.status, response.get_redirect_location() or None
            if time.monotonic() >= deadline:  # what looks whole may be what came until then
                raise Unsure(downloads.TOO_SLOW)
            return answer
        except (urllib3.exceptions.HTTPError, HTTPException, OSError):
            raise Unsure(downloads.TOO_SLOW) from None
        finally:
            connection.close()
    raise Unsure("The shop cannot be reached.")


def _connection(scheme: str, address: str, host: str, seconds: float) -> HTTPConnection:
    if scheme == "http":
        return HTTPConnection(address, PORTS["http"], timeout=seconds)
    return HTTPSConnection(
        address,
        PORTS["https"],
        ssl_context=downloads.context(),
        server_hostname=host,  # which its certificate must be for
        timeout=seconds,
    )


def _addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a host, all of them public."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)):
            raise Gone(NO_SUCH_NAME) from None
        raise Unsure(NO_NAME_SERVER) from None
    except (OSError, UnicodeError):
        raise Unsure("This is not a web address.") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not addresses or not all(downloads.is_public(ipaddress.ip_address(one)) for one in addresses):
        raise Unsure("The address leads into a private network.")
    return addresses


def _parts(url: str) -> tuple[str, str, str]:
    """Return scheme, host and request target of a web address on its usual port; raise Unsure."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host = host.encode("idna").decode("ascii") if not host.isascii() else host
        target = downloads.request_target(parts.path, parts.query)
    except (ValueError, UnicodeError, urllib3.exceptions.HTTPError):
        raise Unsure("This is not a web address.") from None
    if parts.scheme not in PORTS or not host:
        raise Unsure("This is not a web address.")
    if parts.username is not None or parts.password is not None or port not in (None, PORTS[parts.scheme]):
        raise Unsure("The address names a user or a port.")
    if is_example(host):
        raise Unsure("The address stands for an example.")
    return parts.scheme, host, target
