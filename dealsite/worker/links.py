"""The worker's part of links: once a week it checks each shop's page, slowly, and keeps what it finds with the deal.

A round is a job that does a few links at a time and comes back some seconds later, so that other jobs wait for no
shop, and a crash loses a few links at most. Only public addresses are asked, at every hop, and no body is ever read.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal
from urllib.parse import urljoin, urlsplit

from django.conf import settings

from dealsite.accounts import limits
from dealsite.data.editing import links
from dealsite.data.editing.links import CHECK_LINK, CHECK_LINKS, DealLink, LinkPayload, RoundPayload
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Handler, Job
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item
from dealsite.data.table.errors import NotFound
from dealsite.web import guarded_http
from dealsite.web.guarded_http import NoAnswer, Reason

AT_ONCE = 8  # links of a portion, each on a connection of its own
OF_A_HOST = 2  # of them, one after the other
HOST_PAUSE = 1.0  # seconds between two questions to one host
BETWEEN = timedelta(seconds=4)  # from one portion to the next: two links a second at most
PAGES = 20  # of deals that one portion goes through in search of links
FEWEST_OF_NO_NAME = 3
WHILE_OFF = timedelta(hours=1)
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

sleep: Callable[[float], None] = time.sleep  # replaced in tests


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


@dataclass(frozen=True, slots=True)
class RoundCheckpoint:
    """The deal up to which a round has come, and how many links it found in which state."""

    after: str = ""
    counts: dict[str, int] = field(default_factory=dict)


def check_links(job: Job, now: datetime) -> datetime | None:
    """Check the next few links of a round; return when to go on, None at its end."""
    if job.id != links.round_id(now):
        raise jobs.Cancelled("The next round has begun.")
    if not settings.DEALSITE_CHECK_LINKS:
        return now + WHILE_OFF
    payload_from_item(RoundPayload, job.payload)
    checkpoint = payload_from_item(RoundCheckpoint, job.checkpoint)
    after, portion, more = _portion(checkpoint.after, now)
    counts = dict(checkpoint.counts)
    for linked, finding in zip(portion, believed(probe_all(portion)), strict=True):
        _keep(linked, finding, now)
        counts[finding.state] = counts.get(finding.state, 0) + 1
    jobs.save_checkpoint(job, payload_to_item(RoundCheckpoint(after, counts)), now=now)
    return now + BETWEEN if more else None


def check_link(job: Job, now: datetime) -> None:
    """Check the link of one deal; nothing is to be done where the deal is gone."""
    if not settings.DEALSITE_CHECK_LINKS:
        raise jobs.Cancelled("Links are not checked here: DEALSITE_CHECK_LINKS is off.")
    try:
        linked = links.get(payload_from_item(LinkPayload, job.payload).deal)
    except NotFound:
        raise jobs.Cancelled("The deal is gone.") from None
    (finding,) = probe_all([linked])
    _keep(linked, finding, now)


HANDLERS: dict[str, Handler] = {CHECK_LINKS: check_links, CHECK_LINK: check_link}


def probe_all(portion: Sequence[DealLink]) -> list[Finding]:
    """Return what is behind each link: several hosts at once, each host's links one after the other."""
    by_host: dict[str, list[str]] = {}
    for linked in portion:
        urls = by_host.setdefault(host_of(linked.link), [])
        if linked.link not in urls:
            urls.append(linked.link)
    found: dict[str, Finding] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for findings in pool.map(_probe_host, by_host.values()):
            found |= findings
    return [found[linked.link] for linked in portion]


def believed(findings: list[Finding]) -> list[Finding]:
    """Return findings; where no site of a portion is known at all, it is this machine that knows no names."""
    if len(findings) < FEWEST_OF_NO_NAME or any(finding.reason != NO_SUCH_NAME for finding in findings):
        return findings
    return [Finding("unsure", finding.reason) for finding in findings]


def _probe_host(urls: list[str]) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for url in urls:
        last = next(reversed(found.values()), None)
        if last and last.reason == NO_NAME_SERVER:  # waiting for it once is long enough
            found[url] = last
            continue
        if last:
            sleep(HOST_PAUSE)
        limits.take_turn("probe")
        found[url] = probe(url)
    return found


def _portion(after: str, now: datetime) -> tuple[str, list[DealLink], bool]:
    """Return the links to check next, the deal up to which they go, and whether there are more after it."""
    portion: list[DealLink] = []
    hosts: dict[str, int] = {}
    for _ in range(PAGES):
        page, more = links.page(after=after, now=now)
        for deal_id, linked in page:
            if linked is not None and linked.link:
                host = host_of(linked.link)
                if len(portion) == AT_ONCE or hosts.get(host, 0) == OF_A_HOST:
                    return after, portion, True
                hosts[host] = hosts.get(host, 0) + 1
                portion.append(linked)
            after = deal_id
        if not more:
            return after, portion, False
        if portion:
            break
    return after, portion, True


def _keep(linked: DealLink, finding: Finding, now: datetime) -> None:
    if finding.state == "works":
        links.works(linked)
    elif finding.state == "gone":
        links.fails(linked, finding.reason, now=now)


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
