"""A message to very many users: how fast a worker sends it, beside what the engine itself can write; what it costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from benchmarks import table_client
from benchmarks.report import two_columns

ROOT = Path(__file__).resolve().parent.parent
USERS = 100_000
BATCH = 25
ANSWER_SECONDS = 60
THREADS = 4
WRITE_UNIT_PRICE = 0.7625 / 1_000_000  # dollars, on demand, in Frankfurt


@dataclass(frozen=True, slots=True)
class Sending:
    """Rates in messages a second, memory in MB."""

    users: int
    rate: float
    engine_rate: float
    memory_at_first: float
    memory_at_most: float
    write_units: float

    @property
    def share(self) -> float:
        """The worker's rate as a part of the engine's own."""
        return self.rate / self.engine_rate


def measure(folder: Path, users: int = USERS) -> Sending:
    """Fill an engine with users, let it write as fast as it can, then let a worker in a process of its own send."""
    from django.conf import settings

    from dealsite.data import table
    from dealsite.data.catalogue import buckets
    from dealsite.data.table import schema
    from dealsite.engine.server import Engine

    with Engine(folder) as engine:
        endpoint_url = engine.url
        settings.DYNAMODB_ENDPOINT_URL = endpoint_url
        table.reset()
        buckets.forget()
        schema.create_table()
        print(f"Making {users:,} users ...", flush=True)
        write(endpoint_url, map(_user, range(users)))
        announce()
        print("Sending ...", flush=True)
        before = _bare_rate(endpoint_url, 1, users // 4)
        told = _worker(endpoint_url)
        after = _bare_rate(endpoint_url, 2, users // 4)
        table.reset()
    if told["sent"] != users:
        raise SystemExit(f"{told['sent']:,} messages went to {users:,} users.")
    return Sending(
        users,
        users / told["seconds"],
        2 / (1 / before + 1 / after),
        told["memory"][0],
        max(told["memory"]),
        told["write_units"],
    )


def _worker(endpoint_url: str) -> dict[str, Any]:
    environ = {**os.environ, "DYNAMODB_ENDPOINT_URL": endpoint_url}
    command = [sys.executable, "-m", "benchmarks.sending"]
    done = subprocess.run(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _bare_rate(endpoint_url: str, number: int, count: int) -> float:
    """Return how many messages a second the engine takes by BatchWriteItem, from requests that are ready made."""
    from dealsite.data.table.ids import new_ulid

    message_id = new_ulid(datetime.now(UTC), number)
    bodies = list(requests(_message(n, message_id) for n in range(count)))
    started = time.perf_counter()
    post(endpoint_url, bodies)
    return count / (time.perf_counter() - started)


def write(endpoint_url: str, items: Iterable[dict[str, Any]]) -> None:
    """Write items by BatchWriteItem, past the site's own code."""
    bodies = requests(items)
    while chunk := list(islice(bodies, 400)):
        post(endpoint_url, chunk)


def requests(items: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Yield the bodies of BatchWriteItem that put items, 25 each."""
    from dealsite.data import table
    from dealsite.data.table.convert import to_attributes

    left = iter(items)
    while batch := list(islice(left, BATCH)):
        puts = [{"PutRequest": {"Item": to_attributes(item)}} for item in batch]
        yield orjson.dumps({"RequestItems": {table.name(): puts}, "ReturnConsumedCapacity": "TOTAL"})


def post(endpoint_url: str, bodies: list[bytes]) -> None:
    """Send ready-made requests, four at a time, as fast as the engine answers."""
    http = table_client.pool_of(endpoint_url)("engine.invalid", maxsize=THREADS)
    headers = table_client.HEADERS | {"X-Amz-Target": "DynamoDB_20120810.BatchWriteItem"}

    def send(body: bytes) -> None:
        answer = http.urlopen("POST", "/", body=body, headers=headers, timeout=ANSWER_SECONDS)
        if answer.status != 200 or orjson.loads(answer.data).get("UnprocessedItems"):
            raise SystemExit(f"The engine answers {answer.status}: {answer.data[:300]!r}")

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(send, bodies))


def _user(number: int) -> dict[str, Any]:
    from dealsite.data import keys
    from dealsite.data.table.ids import iso

    username = f"user{number:06d}"
    pk, sk = keys.user(username)
    return {
        "PK": pk,
        "SK": sk,
        "type": "User",
        "username": username,
        "name": username,
        "email": f"{username}@example.org",
        "password": "-",
        "created_at": iso(datetime.now(UTC)),
        "registration": "-",
        "roles": {"editor"},
        **keys.user_index(username),
    }


def _message(number: int, message_id: str) -> dict[str, Any]:
    from dealsite.data.people.messages import message_item

    return message_item(f"user{number:06d}", message_id, **WORDS)


WORDS = {"kind": "hot_deal", "headline": "Mechanical keyboard with quiet switches", "deal": "0" * 26}


def announce() -> None:
    """Publish a deal and order a message about it to all users."""
    from dealsite.data.catalogue import brands, categories, publishing
    from dealsite.data.catalogue.content import DealContent
    from dealsite.data.people import announcements
    from dealsite.data.table.ids import new_ulid

    now = datetime.now(UTC)
    categories.create("peripherals-networking")
    brand = brands.create("Nordlicht", by="bench", now=now)
    content = DealContent(
        title=WORDS["headline"],
        brand=brand.slug,
        category="peripherals-networking",
        price=Decimal("79.90"),
        link="https://shop.example/keyboard",
    )
    deal_id = new_ulid(now - timedelta(minutes=1))
    publishing.publish(content, deal_id=deal_id, brand=brand, by="bench", now=now)
    announcements.send(
        deal_id,
        message_id=new_ulid(now),
        headline=WORDS["headline"],
        text="",
        audience=announcements.Audience(),
        by="user000000",
        now=now,
    )


def table_of(sending: Sending) -> str:
    """Return the results as a Markdown table."""
    rows = [
        ("messages", f"{sending.users:,}"),
        ("messages a second", f"{sending.rate:,.0f}"),
        ("the engine's own rate, BatchWriteItem", f"{sending.engine_rate:,.0f}"),
        ("share of it", f"{sending.share:.0%}"),
        ("worker's memory at first, MB", f"{sending.memory_at_first:.0f}"),
        ("worker's memory at most, MB", f"{sending.memory_at_most:.0f}"),
        ("write units on Amazon DynamoDB", f"{sending.write_units:,.0f}"),
        ("their price on demand, US dollars", f"{sending.write_units * WRITE_UNIT_PRICE:.2f}"),
    ]
    return two_columns("a message to all users", rows)
