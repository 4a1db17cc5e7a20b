"""Whether anything grows: what each page takes of a site with 400 deals, and of one with a million.

`python -m benchmarks.million [DEALS]` (`make bench-million`). A tenth as many brands, users, orders and mails of these
come with the deals. All is made by the site's own functions; instead of the table, a file takes what they write, and
the engine's own import that file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import orjson
from django.test import Client, override_settings

if TYPE_CHECKING:
    from benchmarks.pages import Cost
    from dealsite.data.table.writes import Write

SMALL, LARGE = 400, 1_000_000
A_DAY, LEAST_DAYS = 550, 30  # deals a day; days that even a few deals are spread over
SHARE, LEAST = 10, 500  # deals for each brand, user and order; of which a few make more than a page
AT_ONCE = 10  # deals that an import would publish in one transaction
SECONDS_IN_ALL = 3600.0  # to load the large site
TIMES = 40
TIMES_AS_LONG, MS_MORE = 1.5, 2.0  # that a page may take of the larger site
# What counts all that it finds in the search index, or looks at up to 100 payments of each shard, takes longer.
GROWING = {
    "CMS list": 3.5,
    "CMS list of 50 rows": 3.0,
    "CMS list, all to be changed": 2.0,
    "CMS list, live ones of a brand and category": 2.5,
    "CMS list, found by words": 6.0,
    "search": 12.0,
    "search of a category": 8.0,
    "sitemap": 15.0,  # a line for each day, in ever more years
    "CMS overdue payments": 3.0,
}
MADE_LATER = {"BrandCounts", "CategoryCounts", "Profile"}  # and changed by what is made after them
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "in", "ol")]
PAGES = {
    "brands": "/brands/",
    "brands by name": "/brands/?q=mar",
    "search": "/search/?q=maribo",
    "search of a category": "/search/?category=toys-hobbies&sort=price",
    "sitemap": "/sitemap.xml",
    "feed": "/deals.atom",
    "CMS brands": "/cms/brands/",
    "CMS names of brands": "/cms/brands/names/?brand=mar",
    "CMS palette": "/cms/go/?q=maribo",
    "CMS attention": "/cms/attention/links/",
    "CMS imports": "/cms/imports/",
    "CMS jobs": "/cms/jobs/",
    "CMS log": "/cms/audit/",
    "CMS users": "/cms/users/",
    "CMS orders": "/cms/orders/",
    "CMS payments": "/cms/payments/",
    "CMS overdue payments": "/cms/payments/overdue/",
    "account": "/account/",
    "orders of a user": "/account/orders/",
}


class Gathered:
    """Takes transactions in place of a table that is empty: what is put goes to a file, what is changed waits."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.items = 0
        self.changed: dict[tuple[str, str], dict[str, Any]] = {}

    def transact(self, writes: Sequence[Write]) -> None:
        from dealsite.data.table.writes import Put, Update

        for write in writes:
            if isinstance(write, Update):
                self._change(self.changed.setdefault(write.key, {}), write)
            elif isinstance(write, Put) and write.item["type"] in MADE_LATER:
                self.changed[write.key] = dict(write.item)
            elif isinstance(write, Put):
                self._write(write.key, write.item)

    def _change(self, item: dict[str, Any], write: Any) -> None:
        item.update(write.set)
        for name, more in write.add.items():
            known = item.get(name, type(more)())
            item[name] = known | more if isinstance(more, set) else known + more

    def _write(self, key: tuple[str, str], item: dict[str, Any]) -> None:
        from dealsite.data.table.convert import to_attributes

        self.items += 1
        attributes = to_attributes({"PK": key[0], "SK": key[1], **item})
        self.file.write(orjson.dumps({"Item": attributes}) + b"\n")

    def end(self) -> None:
        """Write what waited, but what lacks its beginning."""
        for key, item in self.changed.items():
            if "type" in item:
                self._write(key, item)


def names(count: int, made: random.Random) -> list[str]:
    """Return so many different names of brands, under all letters."""
    found = dict[str, None]()
    while len(found) < count:
        word = "".join(made.choices(SYLLABLES, k=made.randrange(2, 4)))
        found[f"{made.choice('ABCDEFGHIJKLMNOPQRSTUVWXYZ')}{word}".title()] = None
    return [*found]


def make(gathered: Gathered, deals: int, *, now: datetime) -> None:
    """Make a site of so many deals."""
    from dealsite.data import table
    from dealsite.data.catalogue import brands, categories, publishing
    from dealsite.data.catalogue.brands import Brand
    from dealsite.data.catalogue.content import DealContent
    from dealsite.data.commerce import order_changes
    from dealsite.data.commerce.addresses import Address
    from dealsite.data.commerce.carts import Head, Line
    from dealsite.data.names import slugify
    from dealsite.data.people import users
    from dealsite.data.table.ids import new_ulid

    made, others = random.Random(deals), max(deals // SHARE, LEAST)
    words = ["".join(made.choices(SYLLABLES, k=made.randrange(1, 4))) for _ in range(5_000)]
    span = timedelta(days=max(LEAST_DAYS, deals // A_DAY))
    own = [Brand(slugify(name), name) for name in names(others, made)]

    def moment(number: int, of: int) -> datetime:
        return now - span * ((number + made.random()) / of)

    def ulid(at: datetime) -> str:
        return new_ulid(at, made.getrandbits(80))

    def content(at: datetime) -> DealContent:
        brand = own[int(len(own) * made.random() ** 3)]  # a few have most
        price = Decimal(made.randrange(100, 90_000)) / 100
        named = " ".join(words[int(len(words) * made.random() ** 2)] for _ in range(made.randrange(4, 9)))
        return DealContent(
            title=f"{brand.name} {named}",
            brand=brand.slug,
            category=made.choice([*categories.CATEGORIES]),
            price=price,
            was_price=price * 2 if made.random() < 0.5 else None,
            link=f"https://shop{made.randrange(500)}.example/{made.getrandbits(60):x}",
            description=" ".join(made.choices(words, k=made.randrange(10, 60))),
            expires_at=at + timedelta(days=made.randrange(1, 30)) if made.random() < 0.9 else None,
        )

    by_slug = {brand.slug: brand for brand in own}
    with mock.patch.object(table, "transact", gathered.transact):
        for slug in categories.CATEGORIES:
            categories.create(slug)
        for first in range(0, len(own), 30):
            some = [brand.name for brand in own[first : first + 30]]
            brands.create_many(some, by="million", now=now - span)
        for first in range(0, deals, AT_ONCE):
            times = [moment(number, deals) for number in range(first, min(first + AT_ONCE, deals))]
            new = [(ulid(at), one, by_slug[one.brand]) for at in times for one in [content(at)]]
            publishing.publish_many(new, by="million", now=min(times))
        address = Address(name="Ada", street="1 Street", postcode="10115", city="Town", country="DE")
        for number in range(others):
            at = moment(number, others)
            name = f"shopper{number}"
            email = f"{name}@example.org"
            users.create(username=name, email=email, password="!", registration=ulid(at), now=at)  # noqa: S106
            line = Line(
                ulid(at),
                ulid(at),
                "ACTIVE",
                at,
                1,
                "Lamp",
                own[0].slug,
                own[0].name,
                "toys-hobbies",
                Decimal(9),
            )
            cart = Head(1, 1), [line]
            purchase = order_changes.Purchase(ulid(at), name, "Ada", email, 1, line.total, address)
            with mock.patch.object(order_changes, "read_active", return_value=cart):
                order_changes.place(purchase, now=at)


@contextmanager
def site(folder: Path, deals: int) -> Iterator[float]:
    """Be a site of so many deals for the time of a block, which is given the seconds that it took to load."""
    from benchmarks.__main__ import loaded
    from dealsite.data import table
    from dealsite.data.table import client
    from dealsite.engine.programs import NATIVE

    began, source = time.monotonic(), folder / "source"
    with loaded("an empty site", lambda: None, folder / "empty"):
        described = client.call("DescribeTable", TableName=table.name())
    data = source / table.name() / "data"
    data.mkdir(parents=True)
    with gzip.open(data / "items.json.gz", "wb", compresslevel=1) as file:
        gathered = Gathered(file)
        make(gathered, deals, now=datetime.now(UTC).replace(microsecond=0))
        gathered.end()
    print(f"{gathered.items:,} items made in {time.monotonic() - began:.0f} s.", flush=True)
    (source / "schema.json").write_text(json.dumps(described), "utf-8")
    (folder / "engine").mkdir(mode=0o700)
    output = ["--output", str(folder / "engine" / "engine.db"), "--schema", str(source / "schema.json")]
    subprocess.run(
        [NATIVE, "import", "--source", str(source), *output], check=True, stdout=subprocess.DEVNULL
    )
    print(f"Imported after {time.monotonic() - began:.0f} s.", flush=True)
    with loaded(f"{deals:,} deals", lambda: None, folder / "engine"):
        yield time.monotonic() - began


def measure(folder: Path, deals: int) -> tuple[list[Cost], float]:
    """Return what each page of such a site takes somebody who may see all, and how many seconds it took to load."""
    from benchmarks import pages

    with site(folder, deals) as seconds, override_settings(DEALSITE_PAGE_CACHE_SECONDS=2):
        somebody, visitor = (
            pages.client_of(("editor", "back office", "admin")),
            Client(SERVER_NAME="127.0.0.1"),
        )
        costs = [
            # A user's searches are limited, and not in the page cache.
            pages.cost("", page, path, visitor if path.startswith("/search/") else somebody, TIMES)
            for page, path in (pages.addresses() | PAGES).items()
        ]
    return costs, seconds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.million", description=__doc__)
    parser.add_argument("deals", nargs="?", type=int, default=LARGE)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dealsite-benchmark-") as var:
        from benchmarks.__main__ import begin

        begin(Path(var))
        small, _ = measure(Path(var) / "small", SMALL)
        large, seconds = measure(Path(var) / "large", options.deals)
    print(f"\n{table_of(small, large)}\n\nLoaded in {seconds / 60:.0f} minutes.")
    grown = too_much(small, large)
    if seconds > SECONDS_IN_ALL:
        grown.append("It took more than an hour to load.")
    print("\n".join(grown), file=sys.stderr)
    return 1 if grown else 0


def table_of(small: list[Cost], large: list[Cost]) -> str:
    """Return the results as a Markdown table."""
    sizes = f"{small[0].deals:,}, {large[0].deals:,}"
    lines = [
        f"| page, with deals: {sizes} | calls | | read units | | processor, ms | | ms | |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {a.page} | {a.calls} | {b.calls} | {a.units:g} | {b.units:g} | {a.processor:.1f} | {b.processor:.1f} "
        f"| {a.p50:.1f} | {b.p50:.1f} |"
        for a, b in zip(small, large, strict=True)
    ]
    return "\n".join(lines)


def too_much(small: list[Cost], large: list[Cost]) -> list[str]:
    """Return a sentence for each page that takes more of the larger site."""
    found = []
    for a, b in zip(small, large, strict=True):
        most = GROWING.get(a.page, TIMES_AS_LONG)
        if b.calls > a.calls or b.units > a.units * TIMES_AS_LONG + 3:
            found.append(
                f"The {a.page} takes {b.calls} calls, {b.units:g} units: not {a.calls}, {a.units:g}."
            )
        if b.processor > a.processor * most + MS_MORE:
            found.append(f"The {a.page} takes the processor {b.processor:.1f} ms: not {a.processor:.1f}.")
    return found


if __name__ == "__main__":
    sys.exit(main())
