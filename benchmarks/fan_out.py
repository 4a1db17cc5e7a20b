"""A message to very many users: how fast workers send it, what it costs, and how long a new password waits then."""

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
from statistics import median
from typing import Any

import orjson

from benchmarks import table_client
from benchmarks.report import two_columns

ROOT = Path(__file__).resolve().parent.parent
USERS = 100_000
BATCH = 25
ANSWER_SECONDS = 60
THREADS = 4
SLOWER = (5, 50)  # milliseconds that each call takes longer where workers share
WRITE_UNIT_PRICE = 0.7625 / 1_000_000  # dollars, on demand, in Frankfurt


@dataclass(frozen=True, slots=True)
class Sending:
    """Rates in messages a second, memory in MB, seconds until mails of new passwords were sent meanwhile.

    `shared`: the rates by how many milliseconds each call takes longer, and how many workers share the message.
    """

    users: int
    rate: float
    engine_rate: float
    memory_at_first: float
    memory_at_most: float
    write_units: float
    mails: list[float]
    shared: dict[tuple[int, int], float]

    @property
    def share(self) -> float:
        """The worker's rate as a part of the engine's own."""
        return self.rate / self.engine_rate


def measure(folder: Path, users: int = USERS) -> Sending:
    """Fill an engine with users, let it write as fast as it can, then let workers in processes of their own send."""
    from django.conf import settings

    from dealsite.data import table
    from dealsite.data.catalogue import buckets
    from dealsite.data.table import schema
    from dealsite.engine.server import Engine

    with Engine(folder / "engine") as engine:
        settings.DYNAMODB_ENDPOINT_URL = engine.url
        table.reset()
        buckets.forget()
        schema.create_table()
        print(f"Making {users:,} users ...", flush=True)
        few = users // 5
        make_users(engine.url, range(few))
        deal = publish()
        shared = {
            (slower, workers): few / _send(folder, deal, few, workers=workers, slower=slower).seconds
            for slower in SLOWER
            for workers in (1, 2, 4)
        }
        make_users(engine.url, range(few, users))
        print("Sending ...", flush=True)
        before = _bare_rate(engine.url, 1, users // 4)
        sent = _send(folder, deal, users, mails=True)
        after = _bare_rate(engine.url, 2, users // 4)
        table.reset()
    (told,) = sent.told
    first, most = told["memory"]
    engine_rate = 2 / (1 / before + 1 / after)
    rate = users / sent.seconds
    return Sending(users, rate, engine_rate, first, most, told["write_units"], sent.mails, shared)


@dataclass(frozen=True, slots=True)
class Sent:
    """How long a message took, what each worker told of it, and how long mails waited meanwhile."""

    seconds: float
    told: list[dict[str, Any]]
    mails: list[float]


def _send(
    folder: Path, deal: str, users: int, *, workers: int = 1, slower: int = 0, mails: bool = False
) -> Sent:
    """Let some workers send a message to all users; each of their calls takes so many milliseconds longer."""
    from django.conf import settings

    from dealsite.data.jobs import jobs, processes

    url = settings.DYNAMODB_ENDPOINT_URL
    running = [_worker(url, folder / f"worker-{number}", slower) for number in range(workers)]
    while len(processes.listed(now=datetime.now(UTC))) < workers:
        time.sleep(0.1)
    started = time.perf_counter()
    job_id, waited = announce(deal), list[float]()
    while (job := jobs.get(job_id)).state == "open":
        if mails and job.progress.get("sent"):
            waited.append(_mail(len(waited)))
        time.sleep(0.2)
    seconds = time.perf_counter() - started
    told = []
    for process, said in running:
        process.terminate()
        process.wait()
        told.append(json.loads(said.read_text().rpartition("\n")[2]))  # mails stand before it
    if (sent := jobs.get(job_id).progress["sent"]) != users:
        raise SystemExit(f"{sent:,} messages went to {users:,} users.")
    return Sent(seconds, told, waited)


def _worker(url: str, folder: Path, slower: int) -> tuple[subprocess.Popen[bytes], Path]:
    """Start a worker; return it and the file of what it says: its mails would fill a pipe."""
    folder.mkdir(parents=True, exist_ok=True)
    said = folder / "said"
    environ = {**os.environ, "DYNAMODB_ENDPOINT_URL": url, "DEALSITE_VAR": str(folder)}
    command = [sys.executable, "-m", "benchmarks.sending", str(slower)]
    with said.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=out, stderr=subprocess.DEVNULL)
    return process, said


def _mail(number: int) -> float:
    """Have a user ask for a new password; return how many seconds passed until its mail was sent."""
    from dealsite.data import table
    from dealsite.data.jobs import jobs
    from dealsite.data.people.mails import PASSWORD_RESET, PasswordResetPayload
    from dealsite.data.table.ids import new_ulid

    started, now = time.perf_counter(), datetime.now(UTC)
    payload, job_id = PasswordResetPayload(f"user{number:06d}"), new_ulid(now)
    table.write(jobs.job_write(PASSWORD_RESET, payload, job_id=job_id, due=now))
    while jobs.get(job_id).state == "open":
        time.sleep(0.01)
    return time.perf_counter() - started


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


def make_users(endpoint_url: str, numbers: range) -> None:
    """Make users, and count them in one shard of their counter."""
    from dealsite.data import keys, table
    from dealsite.data.table.writes import Update

    write(endpoint_url, map(_user, numbers))
    key = keys.user_count.given(0)
    table.write(Update(key=key, set={"type": "UserCount"}, add={"count": len(numbers)}))


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


def publish() -> str:
    """Publish a deal; return its id."""
    from dealsite.data.catalogue import brands, categories, publishing
    from dealsite.data.catalogue.content import DealContent
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
    return deal_id


def announce(deal: str) -> str:
    """Order a message about a deal to all users; return its id."""
    from dealsite.data.people import announcements
    from dealsite.data.table.ids import new_ulid

    message_id = new_ulid(now := datetime.now(UTC))
    announcements.send(
        deal,
        message_id=message_id,
        headline=WORDS["headline"],
        text="",
        audience=announcements.Audience(),
        by="user000000",
        now=now,
    )
    return message_id


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
        *(
            (f"calls take {slower} ms longer, {workers} workers: messages a second", f"{rate:,.0f}")
            for (slower, workers), rate in sending.shared.items()
        ),
        ("a new password is mailed meanwhile after, s: half of them", f"{median(sending.mails):.2f}"),
        ("all of them", f"{max(sending.mails):.2f}"),
        ("their price on demand, US dollars", f"{sending.write_units * WRITE_UNIT_PRICE:.2f}"),
    ]
    return two_columns("a message to all users", rows)
