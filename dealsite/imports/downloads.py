"""Fetches pictures from the web for an import: from public addresses by https only, and within one site."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from urllib3 import BaseHTTPResponse

from dealsite.data.catalogue.cards import Picture
from dealsite.data.table.errors import Invalid
from dealsite.imports.rows import NewDeal
from dealsite.pictures.uploads import MAX_BYTES, store_picture
from dealsite.web import guarded_http
from dealsite.web.guarded_http import NoAnswer, Reason

SECONDS = 20.0  # for one picture, whatever its server does
CONNECT_SECONDS, READ_SECONDS = 4.0, 6.0
REDIRECTS = 3
CHUNK = 65_536
AT_ONCE = 8
DECODED_AT_ONCE = 2  # of them: a decoded picture and its copies may take 300 MB
HEADERS = {"User-Agent": "Dealsite picture import", "Accept": "image/*", "Accept-Encoding": "identity"}

NOT_FOUND = gettext_lazy("The site of the picture was not found.")
SENTENCES = {
    Reason.NO_WEB_ADDRESS: gettext_lazy("This is not a web address."),
    Reason.OTHER_SCHEME: gettext_lazy("Pictures are fetched from https:// addresses only."),
    Reason.USER_OR_PORT: gettext_lazy("The address may name neither a user nor a port."),
    Reason.UNKNOWN_NAME: NOT_FOUND,
    Reason.UNREADABLE_NAME: NOT_FOUND,
    Reason.NO_NAME_SERVER: NOT_FOUND,
    Reason.PRIVATE_NETWORK: gettext_lazy("The address leads into a private network."),
    Reason.BAD_CERTIFICATE: gettext_lazy("The site's certificate is not valid."),
    Reason.UNREACHABLE: gettext_lazy("The site of the picture cannot be reached."),
    Reason.BROKEN_OFF: gettext_lazy("The site broke off, or took too long."),
}

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
    described = ((deal.line, fetched[deal.image_url], deal.content.title) for deal in new)
    return {line: replace(one, alt=alt) if isinstance(one, Picture) else one for line, one, alt in described}


def _picture(url: str) -> Picture | str:
    try:
        content = fetch(url)
        with _decoding:
            return store_picture(content, "")
    except (CannotFetch, Invalid) as error:
        return str(error)


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
            raise CannotFetch(SENTENCES[Reason.NO_WEB_ADDRESS]) from None
        if elsewhere:
            raise CannotFetch(_("The address redirects to another site."))
        url = target
    raise CannotFetch(_("The address redirects too often."))


def _get(url: str, deadline: float) -> tuple[int, bytes, str | None]:
    """Return status, content and where it redirects to."""
    try:
        return guarded_http.ask(
            "GET",
            guarded_http.target_of(url, schemes=("https",)),
            headers=HEADERS,
            deadline=deadline,
            connect_seconds=CONNECT_SECONDS,
            read_seconds=READ_SECONDS,
            read=_read,
        )
    except NoAnswer as none:
        raise CannotFetch(SENTENCES[none.reason]) from None


def _read(response: BaseHTTPResponse) -> tuple[int, bytes, str | None]:
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
        raise NoAnswer(Reason.BROKEN_OFF)
    return response.status, bytes(content), None
