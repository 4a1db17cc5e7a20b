"""The worker's part of links: once a week it looks at each shop's page, slowly, and keeps what it finds with the deal.

A round is a job that does a few links at a time and comes back some seconds later, so that other jobs wait for
no shop, and a crash loses a few links at most.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings

from dealsite.data.editing import links
from dealsite.data.editing.links import CHECK_LINK, CHECK_LINKS, DealLink, LinkPayload, RoundPayload
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Handler, Job
from dealsite.data.jobs.payloads import from_item, to_item
from dealsite.data.table.errors import NotFound
from dealsite.worker.link_probe import NO_NAME_SERVER, NO_SUCH_NAME, Finding, host_of, probe

AT_ONCE = 8  # links of a portion, each on a connection of its own
OF_A_HOST = 2  # of them, one after the other
HOST_PAUSE = 1.0  # seconds between two questions to one host
BETWEEN = timedelta(seconds=4)  # from one portion to the next: two links a second at most
PAGES = 20  # of deals that one portion goes through in search of links
FEWEST_OF_NO_NAME = 3
WHILE_OFF = timedelta(hours=1)

sleep: Callable[[float], None] = time.sleep  # replaced in tests


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
    from_item(RoundPayload, job.payload)
    checkpoint = from_item(RoundCheckpoint, job.checkpoint)
    after, portion, more = _portion(checkpoint.after, now)
    counts = dict(checkpoint.counts)
    for linked, finding in zip(portion, believed(look_at(portion)), strict=True):
        _keep(linked, finding, now)
        counts[finding.state] = counts.get(finding.state, 0) + 1
    jobs.save_checkpoint(job, to_item(RoundCheckpoint(after, counts)), now=now)
    return now + BETWEEN if more else None


def check_link(job: Job, now: datetime) -> None:
    """Check the link of one deal; nothing is to be done where the deal is gone."""
    if not settings.DEALSITE_CHECK_LINKS:
        raise jobs.Cancelled("Links are not checked here: DEALSITE_CHECK_LINKS is off.")
    try:
        linked = links.get(from_item(LinkPayload, job.payload).deal)
    except NotFound:
        raise jobs.Cancelled("The deal is gone.") from None
    (finding,) = look_at([linked])
    _keep(linked, finding, now)


HANDLERS: dict[str, Handler] = {CHECK_LINKS: check_links, CHECK_LINK: check_link}


def look_at(portion: Sequence[DealLink]) -> list[Finding]:
    """Return what is behind each link: several hosts at once, each host's links one after the other."""
    by_host: dict[str, list[str]] = {}
    for linked in portion:
        urls = by_host.setdefault(host_of(linked.link), [])
        if linked.link not in urls:
            urls.append(linked.link)
    found: dict[str, Finding] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for findings in pool.map(_look_at_host, by_host.values()):
            found |= findings
    return [found[linked.link] for linked in portion]


def believed(findings: list[Finding]) -> list[Finding]:
    """Return findings; where no site of a portion is known at all, it is this machine that knows no names."""
    if len(findings) < FEWEST_OF_NO_NAME or any(finding.reason != NO_SUCH_NAME for finding in findings):
        return findings
    return [Finding("unsure", finding.reason) for finding in findings]


def _look_at_host(urls: list[str]) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for url in urls:
        last = next(reversed(found.values()), None)
        if last and last.reason == NO_NAME_SERVER:  # waiting for it once is long enough
            found[url] = last
            continue
        if last:
            sleep(HOST_PAUSE)
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
