"""Fetches what editors and files name, such as pictures for an import: from public addresses by https only."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import urljoin, urlsplit

from django.utils.translation import gettext as _, gettext_lazy
from urllib3 import BaseHTTPResponse

from dealsite.data.catalogue.cards import Picture
from dealsite.data.table.errors import Invalid
from dealsite.data.table.meters import working
from dealsite.imports.rows import NewDeal
from dealsite.pictures.uploads import MAX_BYTES, store_picture
from dealsite.web import guarded_http
from dealsite.web.guarded_http import NoAnswer, Reason

CONNECT_SECONDS, READ_SECONDS = 4.0, 6.0
CHUNK = 65_536
AT_ONCE = 8
DECODED_AT_ONCE = 2  # of them: a decoded picture and its copies may take 300 MB


@dataclass(frozen=True)
class Rules:
    """What a download may be; without `types` its server may call it whatever it likes."""

    agent: str
    accept: str
    seconds: float  # for one, whatever its server does
    most_bytes: int
    redirects: int
    leaves_site: bool = False
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What a server sent, and the address that sent it in the end."""

    content: bytes
    content_type: str
    url: str


PICTURES = Rules("Dealsite picture import", "image/*", seconds=20.0, most_bytes=MAX_BYTES, redirects=3)
NOT_FOUND = gettext_lazy("The site was not found.")
SENTENCES = {
    Reason.NO_WEB_ADDRESS: gettext_lazy("This is not a web address."),
    Reason.OTHER_SCHEME: gettext_lazy("Only https:// addresses are fetched."),
    Reason.USER_OR_PORT: gettext_lazy("The address may name neither a user nor a port."),
    Reason.UNKNOWN_NAME: NOT_FOUND,
    Reason.UNREADABLE_NAME: NOT_FOUND,
    Reason.NO_NAME_SERVER: NOT_FOUND,
    Reason.PRIVATE_NETWORK: gettext_lazy("The address leads into a private network."),
    Reason.BAD_CERTIFICATE: gettext_lazy("The site's certificate is not valid."),
    Reason.UNREACHABLE: gettext_lazy("The site cannot be reached."),
    Reason.BROKEN_OFF: gettext_lazy("The site broke off, or took too long."),
}

_decoding = threading.BoundedSemaphore(DECODED_AT_ONCE)


class CannotFetch(Exception):
    """It cannot be had; the message says why."""


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
        return picture_at(url, PICTURES)
    except (CannotFetch, Invalid) as error:
        return str(error)


def picture_at(url: str, rules: Rules) -> Picture:
    """Fetch a picture and store it, without a text for it; raise CannotFetch, or Invalid for what is no picture."""
    answer = fetch(url, rules)
    with _decoding:
        return store_picture(answer.content, "")


def fetch(url: str, rules: Rules) -> Answer:
    """Return what is at a URL, if that is what the rules say; raise CannotFetch."""
    deadline = time.monotonic() + rules.seconds
    for _redirect in range(rules.redirects + 1):
        with working():  # nobody waits for the table meanwhile
            answer, location = _get(url, rules, deadline)
        if location is None:
            return answer
        try:
            target = urljoin(url, location)
            elsewhere = urlsplit(target).hostname != urlsplit(url).hostname
        except ValueError:
            raise CannotFetch(SENTENCES[Reason.NO_WEB_ADDRESS]) from None
        if elsewhere and not rules.leaves_site:
            raise CannotFetch(_("The address redirects to another site."))
        url = target
    raise CannotFetch(_("The address redirects too often."))


def _get(url: str, rules: Rules, deadline: float) -> tuple[Answer, str | None]:
    """Return what one address answers, and where it redirects to."""
    try:
        return guarded_http.ask(
            "GET",
            guarded_http.target_of(url, schemes=("https",)),
            headers={"User-Agent": rules.agent, "Accept": rules.accept, "Accept-Encoding": "identity"},
            deadline=deadline,
            connect_seconds=CONNECT_SECONDS,
            read_seconds=READ_SECONDS,
            read=partial(_read, url, rules),
        )
    except NoAnswer as none:
        raise CannotFetch(SENTENCES[none.reason]) from None


def _read(url: str, rules: Rules, response: BaseHTTPResponse) -> tuple[Answer, str | None]:
    content_type = response.headers.get("Content-Type", "")
    if location := response.get_redirect_location():
        return Answer(b"", content_type, url), location
    if response.status != 200:
        raise CannotFetch(_("The server answered %(status)s.") % {"status": response.status})
    if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise CannotFetch(_("The server sent it compressed, although it was asked not to."))
    if rules.types and content_type.partition(";")[0].strip().lower() not in rules.types:
        raise CannotFetch(_("This is not a web page."))
    content = bytearray()
    while chunk := response.read1(CHUNK):
        content += chunk
        if len(content) > rules.most_bytes:
            most = {"most": rules.most_bytes // 1_000_000}
            raise CannotFetch(_("It is larger than %(most)s MB.") % most)
    announced = response.headers.get("Content-Length", "")
    if announced.isascii() and announced.isdigit() and len(content) < int(announced[:20]):
        raise NoAnswer(Reason.BROKEN_OFF)
    return Answer(bytes(content), content_type, url), None
