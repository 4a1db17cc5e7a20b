"""Deleting what has expired, for engines that do not: DynamoDB deletes by `ttl` itself, the embedded engine never."""

from __future__ import annotations

from datetime import datetime

from . import reading, writing
from .convert import Item
from .errors import Conflict
from .ids import epoch_seconds
from .schema import TTL_ATTRIBUTE
from .writes import Delete, at_most


def has_expired(item: Item, *, now: datetime) -> bool:
    """Tell whether an item's `ttl` has passed, so that it counts as gone although it may still be there."""
    return TTL_ATTRIBUTE in item and item[TTL_ATTRIBUTE] <= epoch_seconds(now)


def delete_expired(*, now: datetime) -> int:
    """Delete every expired item and return their number. 1 scan for each 500 items, 1 delete for each expired one."""
    deleted = 0
    for item in reading.scan_all():
        if not has_expired(item, now=now):
            continue
        try:
            key = (item["PK"], item["SK"])
            writing.write(Delete(key=key, when=(at_most(TTL_ATTRIBUTE, epoch_seconds(now)),)))
            deleted += 1
        except Conflict:
            continue  # it was renewed, or is gone already
    return deleted
