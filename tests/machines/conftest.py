"""Machines that share a table and buckets, each with a folder of its own: processes as they run in earnest."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from dealsite.data import table
from dealsite.data.catalogue.deals import Deal
from dealsite.engine.server import Engine
from tests.buckets import KEYS, REGION, empty_bucket
from tests.builders import HOUR, make_deal
from tests.setup.conftest import Site, own_engine, start_site, wait_for  # noqa: F401 - fixtures
from tests.setup.mixed_load import LIMITS, Browser

PICTURES, PICTURES_HOST = "pictures", "pictures.example"


class Machine:
    """A site of web processes and a worker."""

    def __init__(self, site: Site) -> None:
        self.site, self.browser = site, Browser(site.port)

    def finds(self, word: str) -> bool:
        page = self.browser.send(f"/search/?q={word}")
        return page.status == 200 and f">{word} of the day" in page.text

    def calls(self) -> Counter[str]:
        """How often each operation of the table was asked for by this machine's processes."""
        found: Counter[str] = Counter()
        for line in self.browser.send("/metrics").text.splitlines():
            if line.startswith("dealsite_table_calls_total{"):
                name, _, number = line.rpartition(" ")
                found[name.partition('operation="')[2].partition('"')[0]] += int(float(number))
        return found

    def pid(self, part: bytes) -> int:
        """A process that runs a part."""
        return next(pid for pid in self.site.children() if part in command_of(pid))


def command_of(pid: int) -> bytes:
    with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123 - no file of a disk
        return file.read()


@pytest.fixture
def start_machine(
    own_engine: Engine,  # noqa: F811
    start_site: Callable[..., Site],  # noqa: F811
    moto_engine: str,
    settings: Any,
) -> Iterator[Callable[..., Machine]]:
    """A function that starts a machine, of another build if one is given; all share a table and three buckets."""
    for bucket in ("private", PICTURES, "lake"):
        empty_bucket(moto_engine, bucket)

    def start(name: str, **build: Path) -> Machine:
        site = start_site(
            name,
            DYNAMODB_ENDPOINT_URL=settings.DYNAMODB_ENDPOINT_URL,
            DEALSITE_TABLE=settings.DEALSITE_TABLE,
            DEALSITE_PRIVATE_BUCKET="private",
            DEALSITE_MEDIA_BUCKET=PICTURES,
            DEALSITE_MEDIA_HOST=PICTURES_HOST,
            DEALSITE_LAKE="s3://lake/snapshots",
            DEALSITE_SECRET_KEY="s" * 60,
            DEALSITE_LIMITS=LIMITS,
            AWS_ENDPOINT_URL_S3=moto_engine,
            AWS_REGION=REGION,
            **KEYS,
            **build,
        )
        site.wait_until_up()
        return Machine(site)

    yield start
    table.reset()


def publish(word: str) -> Deal:
    now = timezone.now()
    return make_deal(title=f"{word} of the day", live_at=now - HOUR, now=now)


def seconds_until(true: Callable[[], bool]) -> float:
    began = time.monotonic()
    wait_for(true, 90)
    return time.monotonic() - began
