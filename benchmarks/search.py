"""Search over 41,000 deals: how fast it answers, what it reads, and how soon a published deal is found."""

from __future__ import annotations

import logging
import os
import statistics
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from benchmarks.report import two_columns

TIMES = 20  # each question in each order
PUBLISHED = 30
PATIENCE = 900.0  # seconds
WORDS = (
    *("keyboard", "mechanical keyboard", "ssd 1tb", "rtx 4070", "corsair", "noise cancelling headphones"),
    *(
        "wi-fi router",
        "bluetooth speaker waterproof",
        "usb c hub for mac",
        "coffee machine",
        "printers",
        "gaming",
    ),
    *(
        "asus laptop 16gb ram",
        "samsung tv 55",
        "office software",
        "hacendado",
        "leche",
        "star wars",
        "",
        "ke",
    ),
    *("keybord", "hedphones", "corsiar", "mechanicl keybord", "zzzzqqq"),  # every fifth one is misspelt
)
ORDERS = ("", "newest", "price", "discount")


@dataclass(frozen=True, slots=True)
class Searching:
    """Milliseconds of a search, with its counts and 25 cards; items a second; milliseconds until found."""

    deals: int
    p50: float
    p99: float
    units: float
    rebuilt: float
    found_p50: float
    found_most: float
    elsewhere_p50: float
    elsewhere_most: float
    new_machine: float  # seconds until it finds


def measure(folder: Path, load) -> Searching:
    """Load deals into an engine of their own, index them, search, and publish while the consumer runs."""
    from django.conf import settings

    from dealsite.data import table
    from dealsite.data.catalogue import buckets
    from dealsite.data.catalogue.display_names import category_names
    from dealsite.data.table import schema
    from dealsite.engine.server import Engine
    from dealsite.search.projection import SearchIndex
    from dealsite.stream import rebuilding

    table.be_patient()
    with Engine(folder) as engine:
        endpoint_url = engine.url
        settings.DYNAMODB_ENDPOINT_URL = endpoint_url
        settings.SEARCH_ROOT = folder / "search"
        table.reset()
        buckets.forget()
        category_names.forget()
        schema.create_table()
        print("Loading deals to search ...", flush=True)
        load()
        category_names.names()
        print("Indexing them ...", flush=True)
        started = time.perf_counter()
        items = rebuilding.rebuild(SearchIndex(), now=datetime.now(UTC))
        rebuilt = items / (time.perf_counter() - started)
        with table.metered() as meter:
            taken, deals = _search()
        delays = _publish()
        elsewhere, new_machine = _publish_to_another_machine(folder)
        table.reset()
    cuts = statistics.quantiles(taken, n=100)
    return Searching(
        deals,
        cuts[49],
        cuts[98],
        float(meter.read_units),
        rebuilt,
        statistics.median(delays),
        max(delays),
        statistics.median(elsewhere),
        max(elsewhere),
        new_machine,
    )


def _search() -> tuple[list[float], int]:
    """Ask each question in each order; return the milliseconds of each search, and how many deals there are."""
    from dealsite.search.finding import find
    from dealsite.search.question import Question

    now, taken = datetime.now(UTC), []
    everything = find(Question(), now=now)
    for _ in range(TIMES):
        for sort in ORDERS:
            for words in WORDS:
                started = time.perf_counter()
                find(Question(text=words), now=now, sort=sort, narrowing=True)
                taken.append((time.perf_counter() - started) * 1000)
    return taken, everything.number


def _publish() -> list[float]:
    """Publish deals one after the other; return the milliseconds from each publication until it is found."""
    from dealsite.search.projection import SearchIndex
    from dealsite.stream.consumer import consume

    stop = threading.Event()
    clock = {"clock": lambda: datetime.now(UTC)}
    consumer = threading.Thread(target=consume, args=(SearchIndex(), stop), kwargs=clock)
    consumer.start()
    try:
        _until_found("warm-up")  # and until what was loaded has been read from the stream
        return [_until_found(f"published-{number}") for number in range(PUBLISHED)]
    finally:
        stop.set()
        consumer.join()


def _publish_to_another_machine(folder: Path) -> tuple[list[float], float]:
    """Publish on one machine; return the milliseconds until another finds it, and the seconds until a new one does.

    The bucket is moto, on this machine.
    """
    import boto3
    from django.conf import settings
    from django.test import override_settings
    from moto.server import ThreadedMotoServer

    from dealsite.search import published, reader, site_index
    from dealsite.search.finding import find
    from dealsite.search.question import Question
    from dealsite.stream.consumer import consume

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    bucket = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    bucket.start()
    host, port = bucket.get_host_and_port()
    client = {"region_name": "us-east-1", "endpoint_url": f"http://{host}:{port}"}
    os.environ |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    boto3.client("s3", **client).create_bucket(Bucket="private")
    private = {"BACKEND": "dealsite.buckets.bucket", "OPTIONS": {"bucket_name": "private", **client}}
    published_to = override_settings(
        STORAGES=settings.STORAGES | {"private": private}, DEALSITE_PRIVATE_BUCKET="private"
    )
    published_to.enable()
    stop, clock = threading.Event(), {"clock": lambda: datetime.now(UTC)}
    writes = published.SharedIndex(folder / "search")
    threads = [threading.Thread(target=consume, args=(writes, stop), kwargs=clock)]
    threads[0].start()
    try:
        while not (folder / "search" / published.POINTER).exists():
            time.sleep(0.05)
        settings.SEARCH_ROOT = folder / "another"
        reader.forget()
        started = time.perf_counter()
        threads.append(threading.Thread(target=site_index.follow, args=(stop,)))
        threads[1].start()
        while not find(Question(), now=datetime.now(UTC)).ready:
            time.sleep(0.01)
        new_machine = time.perf_counter() - started
        return [_until_found(f"elsewhere-{number}") for number in range(PUBLISHED)], new_machine
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        bucket.stop()
        published_to.disable()


def _until_found(word: str) -> float:
    from dealsite.data.catalogue import brands, publishing
    from dealsite.data.catalogue.content import DealContent
    from dealsite.data.table.ids import new_ulid
    from dealsite.search.finding import find
    from dealsite.search.question import Question

    brand = brands.names(size=1).rows[0]
    content = DealContent(
        title=f"Mechanical keyboard {word}",
        brand=brand.slug,
        category="peripherals-networking",
        price=Decimal("79.90"),
        link="https://shop.example/keyboard",
    )
    now = datetime.now(UTC)
    deal = publishing.publish(
        content, deal_id=new_ulid(now), brand=brands.get(brand.slug), by="bench", now=now
    )
    started = time.perf_counter()
    while True:
        found = find(Question(text=word), now=datetime.now(UTC), sort="newest")
        if deal.id in {card.id for card in found.cards}:
            return (time.perf_counter() - started) * 1000
        if time.perf_counter() - started > PATIENCE:
            raise SystemExit("A published deal is not found.")
        time.sleep(0.005)


def table_of(searching: Searching) -> str:
    """Return the results as a Markdown table."""
    rows = [
        ("deals", f"{searching.deals:,}"),
        ("a search, ms (p50)", f"{searching.p50:.1f}"),
        ("a search, ms (p99)", f"{searching.p99:.1f}"),
        ("read units on the table", f"{searching.units:g}"),
        ("from publishing to being found, ms (p50)", f"{searching.found_p50:.0f}"),
        ("from publishing to being found, ms (at most)", f"{searching.found_most:.0f}"),
        ("the same on another machine, ms (p50)", f"{searching.elsewhere_p50:,.0f}"),
        ("the same on another machine, ms (at most)", f"{searching.elsewhere_most:,.0f}"),
        ("from its start until a new machine finds, s", f"{searching.new_machine:.1f}"),
        ("items a second into a new index", f"{searching.rebuilt:,.0f}"),
    ]
    return two_columns("search", rows)
