"""Deleting what has expired, for engines that do not: DynamoDB deletes by `ttl` itself, the embedded engine never."""

from __future__ import annotations

from datetime import datetime

from dealsite.data import table
from dealsite.data.convert import Item
from dealsite.data.errors import Conflict
from dealsite.data.ids import epoch_seconds
from dealsite.data.writes import Delete, at_most


def has_expired(item: Item, *, now: datetime) -> bool:
    """Tell whether an item's `ttl` has passed, so that it counts as gone although it may still be there."""
    return "ttl" in item and item["ttl"] <= epoch_seconds(now)


def sweep(*, now: datetime) -> int:
    """Delete every expired item and return their number. 1 scan for each 500 items, 1 delete for each expired one."""
    swept = 0
    for item in table.scan_all():
        if not has_expired(item, now=now):
            continue
        try:
            key = (item["PK"], item["SK"])
            table.write(Delete(key=key, when=(at_most("ttl", epoch_seconds(now)),)))
            swept += 1
        except Conflict:
            continue  # it was renewed, or is gone already
    return swept
