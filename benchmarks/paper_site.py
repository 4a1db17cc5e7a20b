"""A site with 100 million deals on paper: what its partitions would hold, and what they take of some loads.

The site's own functions run on a table on paper, so keys, items and index rows are those that it makes. Few of each
kind are made: how many there would be follows from how deals spread over days, brands and categories.
"""

from __future__ import annotations

import random
import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import accumulate, count
from math import log, prod
from typing import NamedTuple, cast

from benchmarks.capacity import PARTITION_READS, PARTITION_WRITES, index_row, item_size
from benchmarks.paper_table import PaperTable, Place, places_of
from dealsite.data import keys
from dealsite.data.catalogue import activity, brands, categories, deals, lists, publishing, relations
from dealsite.data.catalogue.activity import HASHES
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.categories import Counts
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.relations import Relation, Target
from dealsite.data.commerce import cart_changes, carts, order_changes
from dealsite.data.commerce.addresses import Address
from dealsite.data.commerce.order_changes import Purchase
from dealsite.data.entities.attributes import ZERO
from dealsite.data.entities.deals import HERE
from dealsite.data.entities.entity import pattern
from dealsite.data.entities.people import HOT_DEAL
from dealsite.data.entities.taxonomy import BUCKET_ATTRIBUTE
from dealsite.data.entities.work import PART
from dealsite.data.jobs import jobs
from dealsite.data.people import announcements, messages, sessions
from dealsite.data.table import key_templates
from dealsite.data.table.convert import Item, to_attributes
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import month_of, new_ulid
from dealsite.processes import heartbeat
from dealsite.web.page_cache import SHARED_SECONDS

ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
NOW = datetime(2026, 11, 21, 20, tzinfo=UTC)
DEALS, USERS, BRANDS, YEARS, GROWTH = 100_000_000, 20_000_000, 20_000, 10, 1.25
BUSIEST_DAY = 3  # times as many deals as on a usual one
LIVE = 200_000  # deals that are looked at
TITLE = "A deal whose title is about as long as most of them are, with a colour"
ADDRESS = Address(name="Ada", street="1 Street", postcode="10115", city="Town", country="DE")
BY = "eve"
OF_PROCESS = 100  # signed-in pages a second: docs/performance.md has 4 to 8 ms for each
VIEWS, SHOP_VISITS = 10_000, 0.05  # signed-in pages a second; of those of a deal so many lead to its shop
PAGES = {"front": 3, "category": 2, "brand": 1, "deal": 4}  # how often each is asked for
DRAWN = 2_000  # views by which the usual load is spread
MESSAGES = 1_000_000 / 600  # a second
TRIED, FEW = 200, 40  # of what is done many times; of what takes long on paper, too

# How many there are by type; of some rows of indexes fewer than of their items.
NUMBERS = {
    **dict.fromkeys(("Deal", "Offer", "DealBy", "DealLike", "Message", "CartLine", "Payment"), DEALS),
    "Price": 2 * DEALS,
    "AuditEntry": DEALS,
    "Order": DEALS // 2,
    "BrandWatch": 2 * USERS,
    "DayCount": YEARS * 365,
    "Job": 5_000_000,
    "open_jobs": 100_000,
    "orders_to_ship": 200_000,
    "payments_by_status": 10_000_000,
}

THEN_COUNT = (
    "Each process writes four times a minute who was new, to an item that holds all visitors of the day, so it costs "
    "more by the hour. What cannot be counted waits in memory. Fewer, larger machines write less often."
)
THEN_LIKE = (
    "Transactions that meet are tried again, and then the user is told to. The counter would have to be split over "
    "shards, as that of users is."
)
THEN_PUBLISH = (
    "Publish by an import, which counts several deals in one transaction; let imports that run side by side be of "
    "different brands and categories."
)
THEN_ORDER = (
    "All take from one stock, in transactions that meet, which is the narrower limit. Sell it as several deals, or "
    "without counting pieces: then the offer is only checked. All orders of the site share the day of the log and the "
    "month of the jobs."
)


def first_of(number: int) -> float:
    """Return the share of the first of so many, where the second has half of it, the third a third (Zipf)."""
    return 1 / sum(1 / k for k in range(1, number + 1)) if number < 100_000 else 1 / (log(number) + 0.5772)


YEAR = 1 / sum(GROWTH**-year for year in range(YEARS))  # the newest one's share of all
SHARES = {  # of the fullest partition, by the part of a key
    "brand": first_of(BRANDS),
    "category": first_of(len(categories.CATEGORIES)),
    "year": YEAR,
    "month": YEAR / 12 * 2,
    "day": YEAR / 365 * BUSIEST_DAY,
    "username": 1 / USERS,
    "account": 1 / USERS,
    "by": 0.5,  # an import
}

Page = tuple[str, str]  # its kind, and the slug or id of what it shows


class Collection(NamedTuple):
    """The fullest partition of its kind: how many items or rows it holds, and how many bytes."""

    index_name: str
    name: str  # its key, ids left out
    items: float
    size: float


Part = tuple[float, int, Callable[[int], object]]


@dataclass(frozen=True)
class Load:
    """What happens so many times a second; of each part how often a second, how often on paper, and what it does."""

    what: str
    a_second: float
    parts: list[Part]
    then: str = ""  # what to do where it is too much


class Heat(NamedTuple):
    """What a partition takes of a load: units a second, in all and of its hottest item."""

    load: Load
    kind: str
    index_name: str
    name: str  # its key, ids left out
    units: float
    of_item: float

    @property
    def most(self) -> int:
        return PARTITION_WRITES if self.kind == "write" else PARTITION_READS

    @property
    def gives_way(self) -> float:
        """How often a second the load can happen before the partition takes no more."""
        return self.load.a_second / self.part

    @property
    def part(self) -> float:
        """Which part of what it can take that is."""
        return self.units / self.most


class Site:
    """A site on paper: its busiest brand and category, one deal that all want, and enough others to fill a page."""

    def __init__(self) -> None:
        self.paper, self.random, self._numbers = PaperTable(), random.Random(1), count(1)
        self.categories, self.brand = [*categories.CATEGORIES], Brand("acme", "Acme")
        with self.paper.instead():
            for slug in self.categories:
                categories.create(slug)
            brands.create(self.brand.name, by=BY, now=NOW)
            self.deals = [self.publish(number, self.categories[number % 8]) for number in range(8 * 30)]
            self.hot = self.deals[0]
            self.relate(relations.DEAL_LIKE, self.hot, 0)
        months = [month_of(NOW - timedelta(days=31 * ago)) for ago in range(12 * YEARS)]
        for key in map(keys.category_counts, self.categories):
            self.paper.items[key] |= {f"{BUCKET_ATTRIBUTE}{month}": DEALS // 1000 for month in months}

    def publish(self, number: int, category: str = "") -> str:
        """Publish a deal of the busiest brand and, unless it is said, category; return its id."""
        deal_id = new_ulid(NOW - timedelta(minutes=1), next(self._numbers))
        content = DealContent(
            title=TITLE,
            brand=self.brand.slug,
            category=category or self.categories[0],
            price=Decimal(20),
            sold=HERE,
            stock=1_000_000,
            link=f"https://shop.example/{number}",
            description=TITLE * 4,
            expires_at=NOW + timedelta(days=9),
        )
        publishing.publish(content, deal_id=deal_id, brand=self.brand, by=BY, now=NOW)
        return deal_id

    def view(self, page: Page, number: int) -> None:
        """Read what a signed-in page reads for its visitor alone."""
        name, (kind, slug) = f"user{number}", page
        if kind == "front":
            sessions.read(name, "key", now=NOW)
        else:
            target = cast(Target, kind)
            sessions.read_with_relation_state(name, "key", target=target, slug=slug, counts=Counts(), now=NOW)

    def relate(self, relation: Relation, slug: str, number: int) -> None:
        """Let another user like or watch something."""
        relations.add(relation, slug, f"fan{next(self._numbers)}", now=NOW)

    def shared(self, kind: str, slug: str, _: int = 0) -> None:
        """Read what a page reads once a second in each process, for all."""
        with suppress(NotFound):  # one of those that are not on this paper: it costs the same
            match kind:
                case "front":
                    lists.front_page(now=NOW)
                case "category":
                    lists.category_page(slug, now=NOW)
                case "brand":
                    lists.brand_page(slug, now=NOW)
                case "deal":
                    deals.prices_of(slug)
                    deals.get_visible(slug, now=NOW)

    def order(self, number: int) -> None:
        """Put the deal that all want into a cart, and order it."""
        name = f"buyer{next(self._numbers)}"
        token, line, order = (new_ulid(NOW, next(self._numbers)) for _ in range(3))
        wanted = cart_changes.CartAddition(deal=self.hot, line_id=line, quantity=1, token=token)
        cart_changes.add(carts.user_cart(name), wanted, now=NOW)
        head, lines = carts.read_active(carts.user_cart(name), now=NOW)
        total = sum((line.total for line in lines), ZERO)
        purchase = Purchase(order, name, "Ada", f"{name}@example.org", head.version, total, ADDRESS)
        order_changes.place(purchase, now=NOW)

    def tell(self, number: int) -> None:
        """Send a message to the next users of a part, and note how far it has come."""
        job_id = new_ulid(NOW, 1)
        part_id = jobs.part_id(job_id, number % 16)
        if keys.job(part_id) not in self.paper.items:
            put = jobs.job_write(PART, {"job": job_id}, job_id=part_id, due=NOW)
            self.paper.items[put.key] = {"PK": put.key[0], "SK": put.key[1], **put.item}
        words = {"kind": HOT_DEAL, "headline": TITLE, "deal": self.hot}
        names = [f"reader{next(self._numbers)}" for _ in range(announcements.BATCH)]
        messages.deliver(messages.message_item(name, job_id, **words) for name in names)
        job = jobs.job_from_item(self.paper.items[keys.job(part_id)])
        jobs.save_checkpoint(job, {"start": names[-1]}, now=NOW + timedelta(seconds=number))

    def clicks(self, number: int) -> None:
        """Count who went to the shop, late on a day on which very many did."""
        seen = {f"{mark:04x}" for mark in range(HASHES)}
        key = keys.activity(self.hot, NOW.date())
        if key not in self.paper.items:
            activity.count(self.hot, NOW.date(), seen)
            self.paper.units.clear()
        activity.count(self.hot, NOW.date(), {"0001"})

    def drawn(self) -> Counter[Page]:
        """Draw pages as visitors ask for them: few deals, brands and categories are asked for by most."""
        found: Counter[Page] = Counter()
        slugs: dict[str, tuple[int, Callable[[int], str]]] = {
            "front": (1, lambda number: ""),
            "category": (len(self.categories), lambda number: self.categories[number]),
            "brand": (BRANDS, lambda number: f"brand{number}" if number else self.brand.slug),
            "deal": (LIVE, lambda number: new_ulid(NOW, number << 20) if number else self.hot),
        }
        weights = {kind: [*accumulate(1 / k for k in range(1, of + 1))] for kind, (of, _) in slugs.items()}
        for kind in self.random.choices([*PAGES], [*PAGES.values()], k=DRAWN):
            number = bisect(weights[kind], self.random.random() * weights[kind][-1])
            found[kind, slugs[kind][1](number)] += 1
        return found

    def loads(self) -> Iterator[Load]:
        """Yield the loads, the usual one first."""
        processes = VIEWS / OF_PROCESS
        visitors = [*(drawn := self.drawn()).elements()]
        parts: list[Part] = [(VIEWS, DRAWN, lambda number: self.view(visitors[number], number))]
        for page, times in drawn.items():
            reads = min(VIEWS * times / DRAWN, processes / SHARED_SECONDS)
            parts.append((reads, 1, partial(self.shared, *page)))
        yield Load("signed-in pages, as visitors ask for them", VIEWS, parts)
        for what, kind, slug in (
            ("one deal", "deal", self.hot),
            ("one category", "category", self.categories[0]),
            ("the front page", "front", ""),
        ):
            of_all = (processes / SHARED_SECONDS, 1, partial(self.shared, kind, slug))
            parts = [(VIEWS, TRIED, partial(self.view, (kind, slug))), of_all]
            yield Load(f"signed-in pages, all of {what}", VIEWS, parts)
        flushes = (processes / heartbeat.SECONDS, 1, self.clicks)
        yield Load("visits to the shop of one deal", VIEWS * SHOP_VISITS, [flushes], THEN_COUNT)
        like = partial(self.relate, relations.DEAL_LIKE, self.hot)
        yield Load("likes of one deal", 100, [(100, TRIED, like)], THEN_LIKE)
        watch = partial(self.relate, relations.BRAND_WATCH, self.brand.slug)
        yield Load("new watches of one brand", 50, [(50, TRIED, watch)], THEN_LIKE)
        published = (50, TRIED, self.publish)
        yield Load("deals published, of one brand, category and day", 50, [published], THEN_PUBLISH)
        yield Load("orders, all of one deal", 100, [(100, FEW, self.order)], THEN_ORDER)
        told = (MESSAGES / announcements.BATCH, FEW, self.tell)
        yield Load("messages, to a million users in ten minutes", MESSAGES, [told])

    def of_each_type(self) -> list[Item]:
        """Return items of all types that there are many of, the last one of the busiest brand and category."""
        with self.paper.instead():
            self.relate(relations.BRAND_WATCH, self.brand.slug, 0)
            self.tell(0)
            self.order(0)
            self.publish(0)
        return [item for item in self.paper.items.values() if "type" in item]

    def heat(self, load: Load) -> dict[Place, float]:
        """Return the units a second that a load takes of each item and row."""
        found: dict[Place, float] = defaultdict(float)
        with self.paper.instead():
            for a_second, times, each in load.parts:
                self.paper.units.clear()
                for number in range(times):
                    each(number)
                for place, units in self.paper.units.items():
                    found[place] += units * a_second / times
        return found


def hottest(site: Site, load: Load) -> list[Heat]:
    """Return what each partition takes of a load, the one that gives way first in front."""
    units: dict[tuple[str, str, str], float] = defaultdict(float)
    of_item: dict[tuple[str, str, str], float] = defaultdict(float)
    for (kind, index, partition, _), taken in site.heat(load).items():
        units[kind, index, partition] += taken
        of_item[kind, index, partition] = max(of_item[kind, index, partition], taken)
    heats = [
        Heat(load, kind, index, ID.sub("…", partition), taken, of_item[kind, index, partition])
        for (kind, index, partition), taken in units.items()
    ]
    return sorted(heats, key=lambda one: one.gives_way)


def fullest(site: Site) -> list[Collection]:
    """Return the fullest partition of each kind, the largest first."""
    items: dict[tuple[str, str], float] = defaultdict(float)
    sizes: dict[tuple[str, str], float] = defaultdict(float)
    for item in {item["type"]: item for item in site.of_each_type()}.values():
        stored = to_attributes(item)
        for index, partition, sort in places_of(item):
            number = _number_in(item["type"], index, f"{partition}\n{sort}")
            items[index, partition] += number
            sizes[index, partition] += number * item_size((index and index_row(stored, index)) or stored)
    found = [
        Collection(index, ID.sub("…", partition), number, sizes[index, partition])
        for (index, partition), number in items.items()
    ]
    return sorted(found, key=lambda one: -one.size)


def _number_in(kind: str, index: str, place: str) -> float:
    """Return how many items of a type are in the fullest of the partitions such as that of a place."""
    for name, line in keys.CHART.items():
        entry = line.entry
        if entry.index == index and pattern((entry.partition_pieces, entry.sort_pieces)).fullmatch(place):
            number = NUMBERS.get(name, NUMBERS.get(kind, 1))
            return prod(
                [
                    number,
                    *(
                        _share(one, number)
                        for one in entry.partition_pieces
                        if isinstance(one, key_templates.Part)
                    ),
                ]
            )
    raise LookupError(place)


def _share(part: key_templates.Part, number: float) -> float:
    if part.shards:
        return 1 / part.shards
    if part.name == "slug":  # of what is liked or watched
        return first_of(DEALS if part.type == "ulid" else BRANDS)
    return SHARES.get(part.name, 1 / number)
