"""The demo's deals: `deals.csv`, in the columns of an import and some of the demo's own; and its other texts."""

import csv
import hashlib
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from dealsite.data.catalogue.content import DealContent
from dealsite.data.entities.deals import HERE
from dealsite.data.table.ids import RANDOM_BITS, new_ulid, time_of
from dealsite.imports import csv_files, rows
from dealsite.imports.csv_files import BadFile, CsvFormat
from dealsite.imports.layout import guessed
from dealsite.imports.rows import NewDeal, Remark


def _texts(file_name: str, key: str) -> dict[str, str]:
    with (Path(__file__).parent / file_name).open(encoding="utf-8", newline="") as file:
        return {row[key]: row["description"] for row in csv.DictReader(file)}


BRAND_TEXTS = _texts("brands.csv", "name")
CATEGORY_TEXTS = _texts("categories.csv", "slug")
DRAWING_TEXTS = _texts("pictures.csv", "name")


FILE = Path(__file__).parent / "deals.csv"
DATED = datetime(2026, 11, 21, 13, 0, 7, tzinfo=UTC)  # the moment that the file's times are seen from
DEALS = 203  # the rows after them are drafts
SCHEDULED = 10
DAYS = 60
DAYS_AHEAD = 4
DRAFTS = 9
DAYS_END = time(22)
PRICE_LIST = "our own price list"  # where the low of what is sold here is seen


@dataclass(frozen=True, kw_only=True)
class DemoDeal(NewDeal):
    """A deal of the demo: `drawing` is the name of its picture, `by` is its editor.

    `earlier` are the prices that it had before, each with the days before the load until which it held; `featured` are
    the pages that feature it, each with its place there; so many of the demo's users as `likes` says like it.
    """

    drawing: str
    by: str
    earlier: tuple[tuple[timedelta, Decimal], ...]
    likes: int
    featured: tuple[tuple[str, int], ...]

    def versions(self, now: datetime) -> list[tuple[datetime, DealContent]]:
        """Return what it has held, each with the time since when, oldest first; the last is `content`."""
        starts = [time_of(self.id), *((now - ago).replace(microsecond=0) for ago, _price in self.earlier)]
        was = replace(self.content, was_price=None, low_seen_at="", low_seen_on=None)
        contents = [*(replace(was, price=price) for _ago, price in self.earlier), self.content]
        return list(zip(starts, contents, strict=True))


@dataclass(frozen=True)
class DemoDraft:
    """A draft, of which some fields are still missing."""

    id: str
    deal: DemoDeal
    content: DealContent
    has_picture: bool
    updated_at: datetime


def all_deals(now: datetime) -> list[DemoDeal]:
    """Return the deals, oldest first: the last 60 days before `now`, and some in the days after it."""
    return [_dated(deal, at, now) for deal, at in zip(_in_file()[:DEALS], _times(now), strict=True)]


def all_drafts(now: datetime) -> list[DemoDraft]:
    """Return some drafts: the first ones complete, the others with fields still missing."""
    drafts = []
    for n, deal in enumerate(_in_file()[DEALS:]):
        content = replace(deal.content, expires_at=None)
        if n > 2:
            content = replace(content, price=None, was_price=None)
        if n > 4:
            content = replace(content, link="", description="")
        if n > 6:
            content = replace(content, category="", brand="")
        updated_at = now - timedelta(hours=3 + 17 * n)
        draft_id = new_ulid(updated_at, _bits(f"draft {n}"))
        drafts.append(DemoDraft(draft_id, deal, content, n % 3 != 2, updated_at))
    return drafts


def featured(deals: Iterable[DemoDeal]) -> dict[str, list[str]]:
    """Return the ids that each page features, in their order."""
    places = sorted((page, place, deal.id) for deal in deals for page, place in deal.featured)
    return {page: [deal_id for *_, deal_id in group] for page, group in groupby(places, itemgetter(0))}


def _times(now: datetime) -> list[datetime]:
    """Return the publication times: mostly by day, a little denser towards now, to the minute."""
    rng = random.Random("times")  # noqa: S311
    start = now.replace(second=0, microsecond=0)
    past: set[datetime] = set()
    while len(past) < DEALS - SCHEDULED:
        ago = timedelta(days=DAYS * rng.random() ** 1.25)
        moment = start - timedelta(minutes=4) - ago
        if 7 <= moment.hour < 22:
            past.add(moment.replace(second=0, microsecond=0))
    future: set[datetime] = set()
    while len(future) < SCHEDULED:
        future.add(start + timedelta(minutes=rng.randrange(90, DAYS_AHEAD * 24 * 60)))
    return sorted(past) + sorted(future)


def _dated(deal: DemoDeal, live_at: datetime, now: datetime) -> DemoDeal:
    """Return a deal of the file as of another moment; one that ends with a day does so as many days later.

    The was-price of what is sold here, and of some of the others, was the lowest of 30 days.
    """
    ends = deal.content.expires_at
    if ends is not None and ends.time() == DAYS_END:
        ends = datetime.combine(live_at + (ends.date() - time_of(deal.id).date()), DAYS_END, UTC)
    elif ends is not None:
        ends += now - DATED
    new_id = rows.deal_id(deal.content.link, deal.content.title, live_at)
    content = replace(deal.content, expires_at=ends)
    if content.was_price and (content.sold == HERE or _bits(content.title) % 4 == 0):
        reduced_at = now - deal.earlier[-1][0] if deal.earlier else min(live_at, now)
        content = replace(content, low_seen_at=content.link or PRICE_LIST, low_seen_on=reduced_at.date())
    return replace(deal, id=new_id, content=content)


@cache
def _in_file() -> list[DemoDeal]:
    return list(_read())


def _read() -> Iterator[DemoDeal]:
    header, *records = csv_files.read(FILE, CsvFormat("utf-8", ","))
    layout = guessed(
        header.cells, [record.cells for record in records], zone="UTC", moment=DATED, drafts=False
    )
    cells = {record.line: dict(zip(header.cells, record.cells, strict=True)) for record in records}
    for new in rows.check([header, *records], layout):
        if isinstance(new, Remark):
            raise BadFile(f"{FILE.name}, line {new.line}: {new.reason}")
        own = cells[new.line]
        places = (word.split(":") for word in own["featured"].split())
        earlier = (word.split(":") for word in own["earlier"].split())
        yield DemoDeal(
            **vars(new),
            drawing=own["drawing"],
            by=own["editor"],
            earlier=tuple((timedelta(days=float(days)), Decimal(price)) for days, price in earlier),
            likes=int(own["likes"] or 0),
            featured=tuple((page, int(place)) for page, place in places),
        )


def _bits(text: str) -> int:
    digest = hashlib.sha256(f"dealsite demo: {text}".encode()).digest()
    return int.from_bytes(digest[: RANDOM_BITS // 8])
