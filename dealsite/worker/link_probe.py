"""Looks whether something is behind a link: at public addresses only, at every hop. No body is ever read."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urljoin, urlsplit

from django.conf import settings

from dealsite.web import guarded_http
from dealsite.web.guarded_http import NoAnswer, Reason

SECONDS = 6.0  # for one link with all its redirects, whatever the servers do
CONNECT_SECONDS = 3.0
REDIRECTS = 5
GONE = (404, 410)
NO_SUCH_NAME = "name"  # why nothing is there, beside the status that a shop answered
NO_NAME_SERVER = "The name server does not answer."
NO_WEB_ADDRESS = "This is not a web address."
SENTENCES = {
    Reason.NO_WEB_ADDRESS: NO_WEB_ADDRESS,
    Reason.OTHER_SCHEME: NO_WEB_ADDRESS,
    Reason.UNREADABLE_NAME: NO_WEB_ADDRESS,
    Reason.USER_OR_PORT: "The address names a user or a port.",
    Reason.NO_NAME_SERVER: NO_NAME_SERVER,
    Reason.PRIVATE_NETWORK: "The address leads into a private network.",
    Reason.BAD_CERTIFICATE: "The site's certificate is not valid.",
    Reason.UNREACHABLE: "The shop cannot be reached.",
    Reason.BROKEN_OFF: "The site broke off, or took too long.",
}
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
        return Finding("unsure", NO_WEB_ADDRESS)
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
    agent = name.encode("ascii", "replace").decode("ascii")
    return {"User-Agent": agent, "Accept": "*/*", "Accept-Encoding": "identity"}


def _finding(status: int) -> Finding:
    if status in GONE:
        return Finding("gone", str(status))
    if 200 <= status < 400:
        return Finding("works")
    return Finding("unsure", f"The shop answered {status}.")


def _ask(method: str, url: str, deadline: float) -> tuple[int, str | None]:
    """Return the status of an answer, and where it redirects to; raise Unsure or Gone."""
    try:
        target = guarded_http.target_of(url, schemes=guarded_http.PORTS)
        if is_example(target.host):
            raise Unsure("The address stands for an example.")
        return guarded_http.ask(
            method,
            target,
            headers=headers(),
            deadline=deadline,
            connect_seconds=CONNECT_SECONDS,
            read_seconds=SECONDS,
            read=lambda response: (response.status, response.get_redirect_location() or None),
        )
    except NoAnswer as none:
        if none.reason is Reason.UNKNOWN_NAME:
            raise Gone(NO_SUCH_NAME) from None
        raise Unsure(SENTENCES[none.reason]) from None
