"""Fetches pictures from the web for an import, and lets no address lead it astray.

https only, public addresses only: every address of a name is checked, and the connection goes to a
checked address, so that a second answer of the name server cannot change the target. Redirects are
followed within the same host only.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from contextvars import copy_context
from dataclasses import replace
from http.client import HTTPException
from urllib.parse import urljoin, urlsplit

import urllib3
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from urllib3.connection import HTTPConnection, HTTPSConnection

from dealsite.data.cards import Picture
from dealsite.data.errors import Invalid
from dealsite.imports.rows import NewDeal
from dealsite.pictures import MAX_BYTES, store_picture

SECONDS = 20.0  # for one picture, whatever its server does
CONNECT_SECONDS, READ_SECONDS = 4.0, 6.0
REDIRECTS = 3
CHUNK = 65_536
AT_ONCE = 8
DECODED_AT_ONCE = 2  # of them: a decoded picture and its copies may take 300 MB
PORT = 443
NAT64 = ipaddress.ip_network("64:ff9b::/96")
HEADERS = {"User-Agent": "Dealsite picture import", "Accept": "image/*", "Accept-Encoding": "identity"}

TOO_SLOW = gettext_lazy("The site broke off, or took too long.")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_decoding = threading.BoundedSemaphore(DECODED_AT_ONCE)


class CannotFetch(Exception):
    """The picture cannot be had; the message says why."""


def pictures_of(new: list[NewDeal]) -> dict[int, Picture | str]:
    """Return the pictures of some deals by line, or the reason why there is none; several at once, each URL once."""
    urls = list(dict.fromkeys(deal.image_url for deal in new))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        # Each in a context of its own, so that the reasons are in the language of whoever imports.
        contexts = [copy_context() for _url in urls]
        found = pool.map(lambda context, url: context.run(_picture, url), contexts, urls)
        fetched = dict(zip(urls, found, strict=True))
    return {deal.line: _described(fetched[deal.image_url], deal.content.title) for deal in new}


def _picture(url: str) -> Picture | str:
    try:
        content = fetch(url)
        with _decoding:
            return store_picture(content, "")
    except (CannotFetch, Invalid) as error:
        return str(error)


def _described(picture: Picture | str, title: str) -> Picture | str:
    return replace(picture, alt=title) if isinstance(picture, Picture) else picture


def fetch(url: str) -> bytes:
    """Return what is at a URL, at most 10 MB; raise CannotFetch."""
    deadline = time.monotonic() + SECONDS
    for _redirect in range(REDIRECTS + 1):
        status, content, location = _get(url, deadline)
        if location is None:
            if status != 200:
                raise CannotFetch(_("The server answered %(status)s.") % {"status": status})
            return content
        try:
            target = urljoin(url, location)
            elsewhere = urlsplit(target).hostname != urlsplit(url).hostname
        except ValueError:
            raise CannotFetch(_("This is not a web address.")) from None
        if elsewhere:
            raise CannotFetch(_("The address redirects to another site."))
        url = target
    raise CannotFetch(_("The address redirects too often."))


def public_addresses(host: str) -> list[str]:
    """Return the addresses of a host, all of them public; raise CannotFetch otherwise."""
    try:
        found = socket.getaddrinfo(host, PORT, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise CannotFetch(_("The site of the picture was not found.")) from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not addresses or not all(is_public(ipaddress.ip_address(address)) for address in addresses):
        raise CannotFetch(_("The address leads into a private network."))
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


def _get(url: str, deadline: float) -> tuple[int, bytes, str | None]:
    """Return status, content and where it redirects to."""
    host, target = _parts(url)
    for address in public_addresses(host)[:2]:
        connection = HTTPSConnection(
            address,
            PORT,
            ssl_context=context(),
            server_hostname=host,  # which its certificate must be for
            timeout=CONNECT_SECONDS,
        )
        try:
            connection.connect()
        except (urllib3.exceptions.SSLError, ssl.SSLError):
            connection.close()
            raise CannotFetch(_("The site's certificate is not valid.")) from None
        except (urllib3.exceptions.HTTPError, OSError):
            connection.close()
            continue
        try:
            with ended_at(deadline, connection):
                answer = _answer(connection, host, target)
            if time.monotonic() >= deadline:  # what looks whole may be what came until then
                raise CannotFetch(TOO_SLOW)
            return answer
        except (urllib3.exceptions.HTTPError, HTTPException, OSError):
            raise CannotFetch(TOO_SLOW) from None
        finally:
            connection.close()
    raise CannotFetch(_("The site of the picture cannot be reached."))


def _answer(connection: HTTPSConnection, host: str, target: str) -> tuple[int, bytes, str | None]:
    connection.sock.settimeout(READ_SECONDS)
    connection.request(
        "GET", target, headers={**HEADERS, "Host": host}, preload_content=False, decode_content=False
    )
    with closing(connection.getresponse()) as response:
        if location := response.get_redirect_location():
            return response.status, b"", location
        content = bytearray()
        while chunk := response.read1(CHUNK):
            content += chunk
            if len(content) > MAX_BYTES:
                most = {"most": MAX_BYTES // 1_000_000}
                raise CannotFetch(_("The picture is larger than %(most)s MB.") % most)
        announced = response.headers.get("Content-Length", "")
        if announced.isascii() and announced.isdigit() and len(content) < int(announced[:20]):
            raise CannotFetch(TOO_SLOW)
        return response.status, bytes(content), None


@contextmanager
def ended_at(deadline: float, connection: HTTPConnection) -> Iterator[None]:
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


def _parts(url: str) -> tuple[str, str]:
    """Return host and request target of an https URL."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host = host.encode("idna").decode("ascii") if not host.isascii() else host
        target = request_target(parts.path, parts.query)
    except (ValueError, UnicodeError):
        raise CannotFetch(_("This is not a web address.")) from None
    if parts.scheme != "https" or not host:
        raise CannotFetch(_("Pictures are fetched from https:// addresses only."))
    if parts.username is not None or parts.password is not None or port not in (None, PORT):
        raise CannotFetch(_("The address may name neither a user nor a port."))
    return host, target


def request_target(path: str, query: str) -> str:
    """Return what a server is asked for; a path may begin with two slashes, which are no host's."""
    return urllib3.util.parse_url(f"//host{path or '/'}{f'?{query}' if query else ''}").request_uri


context: Callable[[], ssl.SSLContext] = ssl.create_default_context
