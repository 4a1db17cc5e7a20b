"""All items of a table of 41,000 deals: how long it takes to check and to migrate them, and to read a card."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import timeit
from dataclasses import dataclass
from pathlib import Path

import msgspec
import orjson

ROOT = Path(__file__).resolve().parent.parent
FIGURES = re.compile(r"([\d,]+) items seen in ([\d.,]+) s .*, ([\d.,]+) s of processor time, ([\d,]+) MB")
TIMES = 20_000


@dataclass(frozen=True, slots=True)
class WholeTable:
    """Seconds of the clock and of the processor, MB of memory; microseconds of a card."""

    items: int
    check: float
    check_processor: float
    check_megabytes: int
    migrate: float
    migrate_processor: float
    decode: float
    read: float
    store: float


def measure(folder: Path, load) -> WholeTable:
    """Load deals into an engine of their own; check the table in a process of its own, then migrate all of it."""
    from django.conf import settings

    from dealsite.data import table
    from dealsite.data.catalogue import buckets
    from dealsite.data.table import schema
    from dealsite.engine.server import Engine

    table.be_patient()
    with Engine(folder) as engine:
        settings.DYNAMODB_ENDPOINT_URL = engine.url
        table.reset()
        buckets.forget()
        schema.create_table()
        print("Loading deals to check ...", flush=True)
        load()
        command = [sys.executable, "manage.py", "check_table"]
        environ = os.environ | {"DYNAMODB_ENDPOINT_URL": engine.url}
        said = subprocess.run(
            command, cwd=ROOT, env=environ, capture_output=True, text=True, check=True
        ).stdout
        found = FIGURES.search(said)
        if found is None:
            raise ValueError(f"check_table said {said[-300:]!r}.")
        items, check, processor, megabytes = (float(text.replace(",", "")) for text in found.groups())
        migrated, of_processor = _migrated()
        card = _card()
        table.reset()
    return WholeTable(int(items), check, processor, int(megabytes), migrated, of_processor, *card)


def _migrated() -> tuple[float, float]:
    """Return the seconds, and those of the processor, that it takes to note another schema in every item."""
    from dealsite import data
    from dealsite.data import table
    from dealsite.data.integrity import migrations
    from dealsite.data.integrity.problem import Pace

    newer = table.Schemas(
        {name: table.Schema(known.version + 1, known.upgrades) for name, known in data.SCHEMAS.items()}
    )
    table.configure(lambda: data.configuration()._replace(schemas=newer))
    began, processor = time.monotonic(), time.process_time()
    migrations.run(migrations.begin("benchmark"), pace=Pace())
    return time.monotonic() - began, time.process_time() - processor


def _card() -> tuple[float, float, float]:
    """Return the microseconds that it takes to decode a row of a list, to read its card, and to make what is stored."""
    from dealsite.data import table
    from dealsite.data.catalogue.cards import DealCard
    from dealsite.data.table.convert import Values, from_values, to_attributes

    row = next(item for item in table.scan_all() if item["type"] == "Deal" and "was_price" in item["card"])
    listed = {name: row[name] for name in ("PK", "SK", "GSI1PK", "GSI1SK", "type", "card")}
    sent, card = orjson.dumps(to_attributes(listed)), DealCard.from_item(row["card"])
    decoder = msgspec.json.Decoder(Values)

    def microseconds(what) -> float:
        return min(timeit.repeat(what, number=TIMES, repeat=5)) / TIMES * 1e6

    return (
        microseconds(lambda: from_values(decoder.decode(sent))),
        microseconds(lambda: DealCard.from_item(row["card"])),
        microseconds(card.as_item),
    )


def table_of(one: WholeTable) -> str:
    """Return the table of the results."""
    return "\n".join(
        [
            f"| all {one.items:,} items of 41,000 deals | seconds | of the processor | MB |",
            "|---|---:|---:|---:|",
            f"| `check_table` | {one.check:.1f} | {one.check_processor:.1f} | {one.check_megabytes} |",
            f"| `migrate_items`, as fast as it goes | {one.migrate:.0f} | {one.migrate_processor:.1f} | |",
            "",
            "| the card of a list | microseconds |",
            "|---|---:|",
            f"| its row decoded from DynamoDB's JSON | {one.decode:.1f} |",
            f"| read | {one.read:.1f} |",
            f"| made to be stored | {one.store:.1f} |",
        ]
    )
