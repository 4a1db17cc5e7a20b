"""What the deployment of deploy/cloudformation.yml costs in a month, for sites of three sizes: plain arithmetic.

List prices of us-east-1 in dollars, as of November 2025; other regions cost up to a third more. Free tiers count only
where they are for ever. The units of a question are those of docs/access-patterns.md, which tests measure.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import django

ACCESS_PATTERNS = Path(__file__).resolve().parent.parent / "docs" / "access-patterns.md"
HOURS = 730
MILLION = 1_000_000
SECONDS = HOURS * 3600

VCPU_HOUR, GB_HOUR = 0.04048, 0.004445  # Fargate, Linux on x86
READ_UNIT, WRITE_UNIT = 0.125 / MILLION, 0.625 / MILLION  # on demand
STREAM_READ, FREE_STREAM_READS = 0.02 / 100_000, 2.5 * MILLION
TABLE_GB, RECOVERY_GB, FREE_TABLE_GB = 0.25, 0.20, 25
BALANCER_HOUR, BALANCER_GB = 0.0225, 0.008
NAT_HOUR, ADDRESS_HOUR = 0.045, 0.005
CDN_GB = (
    (1_000, 0.0),
    (9_000, 0.085),
    (40_000, 0.080),
    (100_000, 0.060),
    (350_000, 0.040),
)  # the first is free
CDN_REQUEST, CDN_FUNCTION, FREE_CDN_REQUESTS, FREE_CDN_FUNCTIONS = 1 / MILLION, 0.1 / MILLION, 1e7, 2e6
LOG_GB, BUCKET_GB, SECRET, ALARM = 0.50, 0.023, 0.40, 0.10
BUCKET_GET, BUCKET_PUT = 0.4 / MILLION, 5 / MILLION
EXPORT_GB, NIGHTS = 0.10, 30

# What one page is, on average.
PAGE_QUESTIONS = ("lists.front_page", "lists.category_page", "lists.brand_page", "deals.get_visible")
SIGNED_IN = 0.2  # of all pages
PAGE_KB, VISIT_KB, REQUESTS = (
    60,
    200,
    6,
)  # HTML as the site sends it; all that a browser loads; how many requests
LOG_LINE_KB = 0.4
SHARDS = 4  # of the stream; a table on demand begins with about four
PROCESSES = 2  # of each machine that serves pages
PUBLISHED = 2  # files of each publication of the search index
WRITES_OF_ORDER = (
    ("cart_changes.add", 2),
    ("order_changes.place", 1),
    ("charging.claim", 1),
    ("order_changes.deliver", 1),
)
WRITES_OF_NOTICE = 2  # a message in one inbox: docs/operations.md


@dataclass(frozen=True)
class Site:
    """A size of site: what happens in a month, what there is, and the machines for it."""

    name: str
    pages: int
    orders: int
    notices: int  # messages in inboxes
    published: int
    table_gb: int
    picture_gb: int
    web: tuple[int, float, float]  # tasks, vCPU, GB
    workers: int = 1
    nats: int = 1


SITES = (
    Site("small", 1 * MILLION, 2_000, 50_000, 200, 2, 2, (1, 0.5, 2)),
    Site("medium", 30 * MILLION, 50_000, 2 * MILLION, 4_000, 40, 40, (2, 1, 3)),
    Site("large", 600 * MILLION, 1 * MILLION, 100 * MILLION, 40_000, 500, 400, (8, 2, 6), 4, 2),
)


def measured() -> dict[str, list[str]]:
    """Return the keys, read units and write units (items + index rows) of each question, as the page has them."""
    lines = ACCESS_PATTERNS.read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {
        row[2].strip("`"): [row[1], *row[4:]]
        for row in rows
        if len(row) == 6 and re.fullmatch(r"\d+ \+ \d+", row[5])
    }


def units() -> dict[str, tuple[float, int]]:
    """Return the read and write units of each question, by its function."""
    return {
        name: (float(read), sum(map(int, write.split(" + "))))
        for name, (_, read, write) in measured().items()
    }


class Rest(NamedTuple):
    """What is asked though nothing happens: the row of the bill, how often a second, and dollars for each."""

    row: str
    what: str
    a_second: float
    dollars: float


STREAM, BUCKET, AT_REST = "table: stream", "search index: bucket, at most", "table: at rest"


def at_rest(site: Site) -> list[Rest]:
    """Return what a site asks by the clock."""
    from dealsite.data.jobs import leases, site_switch
    from dealsite.processes import heartbeat
    from dealsite.search import published
    from dealsite.stream import consumer
    from dealsite.web import counting
    from dealsite.worker import loop, schedule

    machines, workers, of = site.web[0], site.workers, units()
    processes, half = machines * PROCESSES, READ_UNIT / 2
    counted = 3 * of["payment_lists.of_status"][0] + of["drafts.attention_data"][0] + of["jobs.adopt"][0]
    counts = counted * READ_UNIT + WRITE_UNIT
    found = of["queue.read"][0] * READ_UNIT
    minute = schedule.EVERY.total_seconds()
    return [
        Rest(STREAM, "`GetRecords` of each shard", SHARDS / consumer.COSTLY_SECONDS, STREAM_READ),
        Rest(AT_REST, "the lease of the stream: renewed", 1 / leases.RENEW_SECONDS, WRITE_UNIT),
        Rest(AT_REST, "the same: read by standby workers", (workers - 1) / leases.RENEW_SECONDS, READ_UNIT),
        Rest(AT_REST, "workers look for jobs", workers / loop.IDLE_SECONDS, half),
        Rest(AT_REST, "workers look for payments", workers * 3 / loop.CHARGE_SECONDS, half),
        Rest(AT_REST, "workers count what is to do", workers / minute, counts),
        Rest(AT_REST, "workers read the gauges", workers / counting.GAUGES_SECONDS, found),
        Rest(AT_REST, "heartbeats", (processes + 2 * workers) / heartbeat.SECONDS, WRITE_UNIT),
        Rest(AT_REST, "the site's switch", (processes + workers) / site_switch.SECONDS, READ_UNIT),
        Rest(
            BUCKET,
            "S3: machines look for the index",
            (machines + workers) / published.LOOK_SECONDS,
            BUCKET_GET,
        ),
        Rest(BUCKET, "S3: it is published, at most", PUBLISHED / published.LOOK_SECONDS, BUCKET_PUT),
    ]


def a_month(rest: Rest) -> float:
    """Return the dollars of a month; some reads of the stream are free."""
    free = FREE_STREAM_READS if rest.row == STREAM else 0
    return (rest.a_second * SECONDS - free) * rest.dollars


def costs(site: Site) -> dict[str, float]:
    """Return the dollars of a month, by what they are for."""
    of = units()
    tasks, vcpu, gb = site.web
    machines = [(tasks, vcpu, gb), (site.workers, 0.5, 2)]
    page_reads = sum(of[name][0] for name in PAGE_QUESTIONS) / len(PAGE_QUESTIONS)
    reads = site.pages * (page_reads + SIGNED_IN * of["sessions.read"][0])
    writes = site.orders * sum(of[name][1] * times for name, times in WRITES_OF_ORDER)
    writes += site.notices * WRITES_OF_NOTICE + site.published * of["publishing.publish"][1]
    resting = dict.fromkeys((AT_REST, STREAM, BUCKET), 0.0)
    for one in at_rest(site):
        resting[one.row] += a_month(one)
    stored = max(0, site.table_gb - FREE_TABLE_GB) * TABLE_GB + site.table_gb * RECOVERY_GB
    requests = site.pages * REQUESTS
    return {
        "machines": sum(n * (v * VCPU_HOUR + g * GB_HOUR) * HOURS for n, v, g in machines),
        "table: reads": reads * READ_UNIT,
        "table: writes": writes * WRITE_UNIT,
        "table: storage and recovery": stored,
        "table: an export each night": site.table_gb * EXPORT_GB * NIGHTS,
        **resting,
        "load balancer": BALANCER_HOUR * HOURS + site.pages * PAGE_KB / MILLION * BALANCER_GB,
        "way out (NAT)": site.nats * (NAT_HOUR + ADDRESS_HOUR) * HOURS,
        "CDN: bytes": sum(_tiers(site.pages * VISIT_KB / MILLION)),
        "CDN: requests": max(0.0, requests - FREE_CDN_REQUESTS) * CDN_REQUEST
        + max(0.0, requests - FREE_CDN_FUNCTIONS) * CDN_FUNCTION,
        "logs": site.pages * LOG_LINE_KB / MILLION * LOG_GB,
        "pictures, secrets, alarms": site.picture_gb * BUCKET_GB + 6 * SECRET + 10 * ALARM,
    }


def _tiers(gb: float) -> Iterator[float]:
    for most, price in CDN_GB:
        yield min(gb, most) * price
        gb -= min(gb, most)


def rows() -> list[str]:
    """Return the table of deploy/README.md, a line each."""
    by_site = [costs(site) for site in SITES]
    found = [f"| dollars a month | {' | '.join(site.name for site in SITES)} |", "|---|---:|---:|---:|"]
    for name in by_site[0]:
        found.append(f"| {name} | {' | '.join(f'{one[name]:,.0f}' for one in by_site)} |")
    total = " | ".join(f"**{sum(one.values()):,.0f}**" for one in by_site)
    return [*found, f"| **in all** | {total} |"]


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dealsite.settings")
    os.environ.setdefault("DEALSITE_SECRET_KEY", "none")
    django.setup()
    print("\n".join(rows()))
