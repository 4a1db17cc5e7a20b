"""What deals and drafts were before each change by an editor: kept in the transaction of the change.

A version stands under its number, whoever made it and when beside it; the newest is the deal or draft itself.
Numbers may be missing where something changed but its content: a new time, a return from the trash.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.content import DealContent, content_from_item
from dealsite.data.entities.deals import LAST_VERSION, VERSION
from dealsite.data.entities.entity import reader
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import iso
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Delete, Put, Write

MOST_KEPT = 200  # of a deal or draft; an older one goes when a newer one comes
PAGE_SIZE = 20
ROOM = 40  # deletions of one transaction that empties the trash


@dataclass(frozen=True, slots=True)
class Version:
    """What a deal or draft was: its content and brand's name then, and who made it so, when."""

    number: int
    content: DealContent
    brand_name: str
    at: datetime
    by: str


@dataclass(frozen=True, slots=True)
class VersionsPage:
    """Versions, newest first, and the one before the last of them, to tell what that one changed; None at the end."""

    versions: list[Version]
    before: Version | None


def keep_writes(history_id: str, version: Version) -> list[Write]:
    """Return the writes that keep a version, for the transaction that makes the next one; the oldest goes for it."""
    card = version.content.card(history_id, version.brand_name)
    values = {
        "of": history_id,
        "version": version.number,
        "card": card.as_item(),
        "link": version.content.link,
        "description": version.content.description,
        "stock": version.content.stock,
        "made_at": iso(version.at),
        "made_by": version.by,
    }
    writes: list[Write] = [Put(key=keys.version(history_id, version.number), item=VERSION.item(values))]
    if version.number > MOST_KEPT:
        writes.append(Delete(key=keys.version(history_id, version.number - MOST_KEPT)))
    return writes


@access_pattern("earlier versions of a deal or draft, newest first", "1 query")
def newest(history_id: str, *, below: int | None = None) -> VersionsPage:
    """Return a page of versions of a deal or draft, newest first; `below` a number."""
    high = keys.version(history_id, below - 1 if below else LAST_VERSION)[1]
    partition, limit = keys.version.partition(history_id), PAGE_SIZE + 1
    rows = table.query(partition, low="0", high=high, newest_first=True, limit=limit, consistent=True)
    found = [from_item(row) for row in rows]
    return VersionsPage(found[:PAGE_SIZE], found[PAGE_SIZE] if len(found) > PAGE_SIZE else None)


@access_pattern("several versions of a deal or draft", "1 batch get")
def get_many(history_id: str, numbers: Iterable[int]) -> dict[int, Version]:
    """Return those of some versions that are kept, by number."""
    items = table.batch_get(keys.version(history_id, number) for number in numbers if number > 0)
    return {item["version"]: from_item(item) for item in items.values()}


@access_pattern("one version of a deal or draft", "1 get")
def get(history_id: str, number: int) -> Version:
    """Return a version, or raise NotFound."""
    item = table.get(keys.version(history_id, number)) if 0 < number <= LAST_VERSION else None
    if item is None:
        raise NotFound(gettext_lazy("This version is not kept (any more)."))
    return from_item(item)


@access_pattern("a version of a deal or draft and the next one", "1 query")
def around(history_id: str, number: int) -> tuple[Version, Version | None]:
    """Return a version and the next one, None where that is what it is now; NotFound."""
    (partition, low), (_, high) = keys.version(history_id, number), keys.version(history_id, LAST_VERSION)
    found = [from_item(row) for row in table.query(partition, low=low, high=high, limit=2, consistent=True)]
    if not found or found[0].number != number:
        raise NotFound(gettext_lazy("This version is not kept (any more)."))
    return found[0], found[1] if len(found) > 1 else None


def deletions(history_id: str) -> list[Write]:
    """Return the writes that delete the versions of a deal or draft, or the first of them if they are many. 1 query."""
    rows = table.query(keys.version.partition(history_id), limit=ROOM, consistent=True)
    return [Delete(key=(row["PK"], row["SK"])) for row in rows]


def from_item(item: Item) -> Version:
    """Return the version of an item."""
    card = DealCard.from_item(item["card"])
    content = content_from_item(item, card, item.get("stock"))
    return _read_version(item, content=content, brand_name=card.brand_name)


_read_version = reader(VERSION.shape, Version, number="version", at="made_at", by="made_by")
