"""The stream: how many records a second a consumer reads."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from benchmarks.report import two_columns
from dealsite.data.commerce import carts

RECORDS = 20_000
DAYS = 30


@dataclass(frozen=True)
class Streaming:
    """How many records there were, and how many were read a second."""

    records: int
    read: float


class Nothing:
    """A projection that forgets everything: what the consumer alone costs."""

    name, keep_every = "nothing", timedelta(minutes=10)

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def checkpoint(self):
        return None

    open = checkpoint

    def leads(self) -> bool:
        return True

    def leave(self) -> None: ...

    def check(self, read_at: datetime) -> None: ...

    def apply(self, changes: Sequence) -> bool:
        return True

    def commit(self, checkpoint: object) -> None: ...

    def close(self) -> None: ...

    def build(self, items: Iterable, start: object) -> list:
        return []

    def swap(self) -> None: ...


def measure(folder: Path, records: int = RECORDS) -> Streaming:
    """Write cart lines to an engine of their own, then read its stream from the start."""
    from django.conf import settings

    from dealsite.data import table
    from dealsite.data.table import schema
    from dealsite.engine.server import Engine
    from dealsite.stream.consumer import Consumer
    from dealsite.stream.projection import Checkpoint
    from dealsite.stream.records import Stream

    table.be_patient()
    with Engine(folder) as engine:
        endpoint_url = engine.url
        settings.DYNAMODB_ENDPOINT_URL = endpoint_url
        table.reset()
        schema.create_table()
        print(f"Writing {records:,} items ...", flush=True)
        table.insert(list(_lines(records)))
        print("Reading the stream ...", flush=True)
        stream = Stream.of_table()
        now = datetime.now(UTC)
        start = Checkpoint(stream.arn, now, {shard.id: "" for shard in stream.shards()})
        consumer = Consumer(Nothing(folder), stream, start, clock=lambda: now)
        began = time.perf_counter()
        read = sum(iter(consumer.round, 0))
        consumer.commit()
        taken = time.perf_counter() - began
        table.reset()
    return Streaming(records, read / taken)


def _lines(number: int) -> Iterator[dict]:
    """Yield cart lines as shoppers make them, over a month."""
    from dealsite.data import keys
    from dealsite.data.table.ids import iso, new_ulid

    now = datetime.now(UTC)
    for n in range(number):
        at = now - timedelta(days=n % DAYS, seconds=n)
        line, deal = new_ulid(at, n), new_ulid(now - timedelta(days=DAYS), n % 500)
        owner = carts.user_cart(f"user{n % 2000}")
        pk, sk = owner.line("ACTIVE", at, line)
        yield {
            "PK": pk,
            "SK": sk,
            "type": "CartLine",
            "id": line,
            "deal": deal,
            "username": owner.username,
            "status": "ACTIVE",
            "at": iso(at),
            "card": {
                "deal": deal,
                "title": f"Wireless mechanical keyboard with a number pad, model {n % 500}",
                "brand": "nordlicht",
                "brand_name": "Nordlicht",
                "category": "peripherals-networking",
                "price": Decimal(n % 50_000) / 100,
                "quantity": n % 3 + 1,
                "username": owner.username,
            },
            **keys.carts_with(deal, "ACTIVE", at, owner.username, line),
        }


def table_of(streaming: Streaming) -> str:
    rows = [
        ("records (cart lines over a month)", f"{streaming.records:,}"),
        ("read, records a second", f"{streaming.read:,.0f}"),
    ]
    return two_columns("the stream", rows)
