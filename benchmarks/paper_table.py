"""The table on paper: takes what the site's functions ask of the table, and adds up what that costs each item and row.

It knows no conditions and no order of time: what is written is there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

from benchmarks.capacity import index_row, item_size, read_units, row_units, write_units
from dealsite.data import keys, table
from dealsite.data.catalogue import activity, buckets
from dealsite.data.table.configuration import KEYS
from dealsite.data.table.convert import Item, Key, to_attributes
from dealsite.data.table.items import Rows
from dealsite.data.table.writes import Check, Delete, Put, Update, Write, merge


class Place(NamedTuple):
    """Where units are taken: of an index, "" for the table; `sort` is "" for a query."""

    kind: str  # "read" or "write"
    index_name: str
    partition: str
    sort: str


def places_of(item: Item) -> Iterator[tuple[str, str, str]]:
    """Yield the index, "" for the table, the partition and the sort key of an item and of its rows."""
    yield "", item["PK"], item["SK"]
    for name, index in keys.INDEXES.items():
        if index.partition_key in item:
            yield name, item[index.partition_key], item[index.sort_key] if index.sort_key else ""


class PaperTable:
    """What is stored by key, and the units that were taken."""

    def __init__(self) -> None:
        self.items: dict[Key, Item] = {}
        self.units: dict[Place, float] = defaultdict(float)

    @contextmanager
    def instead(self) -> Iterator[None]:
        """Stand in the place of the table within the block."""
        asked = ("get", "batch_get", "query", "query_all", "query_page", "transact", "write", "insert")
        methods = mock.patch.multiple(table, **{name: getattr(self, name) for name in asked})
        buckets.forget()
        with methods, mock.patch.object(activity, "note"):
            try:
                yield
            finally:
                buckets.forget()

    # Reading

    def get(self, key: Key, *, consistent: bool = True) -> Item | None:
        return self.batch_get([key], consistent=consistent).get(key)

    def batch_get(self, wanted: Iterable[Key], *, consistent: bool = True) -> dict[Key, Item]:
        found = {}
        for key in dict.fromkeys(wanted):
            if key in self.items:
                found[key] = self.items[key]
            size = item_size(to_attributes(found.get(key, {})))
            self.units[Place("read", "", *key)] += read_units(size, consistent=consistent)
        return found

    def query_page(
        self,
        partition: str,
        *,
        index: str | None = None,
        low: str = "",
        high: str = keys.TOP,
        newest_first: bool = False,
        limit: int = 100,
        consistent: bool = False,
        start: object = None,
    ) -> Rows:
        names = keys.INDEXES[index] if index else KEYS
        of, place = names.partition_key, str(names.sort_key)
        found = [
            item
            for item in [*self.items.values()]
            if item.get(of) == partition and low <= item[place] <= high
        ]
        found = sorted(found, key=lambda item: item[place], reverse=newest_first)[:limit]
        shown = [to_attributes(item) for item in found]
        size = sum(item_size((index_row(one, index) or {}) if index else one) for one in shown)
        self.units[Place("read", index or "", partition, "")] += read_units(size, consistent=consistent)
        return Rows(found, None)

    def query(self, partition: str, **options: Any) -> list[Item]:
        return self.query_page(partition, **options).items

    query_all = query

    # Writing

    def write(self, write: Write) -> None:
        self._write(write, 1)

    def transact(self, writes: Sequence[Write]) -> None:
        for one in merge(writes):
            self._write(one, 2)

    def insert(self, items: Sequence[Item]) -> int:
        for item in items:
            self._write(Put(key=(item["PK"], item["SK"]), item=item), 1)
        return len(items)

    def _write(self, write: Write, times: int) -> None:
        before = self.items.get(write.key)
        after = _after(before, write)
        if after is None:
            self.items.pop(write.key, None)
        elif not isinstance(write, Check):
            self.items[write.key] = after
        old, new = (to_attributes(item) if item else None for item in (before, after))
        size = max(item_size(old or {}), item_size(new or {}))
        self.units[Place("write", "", *write.key)] += write_units(size) * times
        for index in keys.INDEXES:
            for place, units in row_units(index, old, new).items():
                self.units[Place("write", index, *place)] += units


def _after(before: Item | None, write: Write) -> Item | None:
    pk, sk = write.key
    match write:
        case Delete():
            return None
        case Put():
            return {"PK": pk, "SK": sk, **write.item}
        case Update():
            return _updated({"PK": pk, "SK": sk, **(before or {})}, write)
    return before


def _updated(item: Item, write: Update) -> Item:
    for path, value in write.set.items():
        map_of, name = _within(item, path)
        map_of[name] = value
    for path, more in write.add.items():
        map_of, name = _within(item, path)
        known = map_of.get(name, type(more)())
        map_of[name] = known | more if isinstance(more, set) else known + more
    for path in write.remove:
        map_of, name = _within(item, path)
        map_of.pop(name, None)
    return item


def _within(item: Item, path: Any) -> tuple[Item, str]:
    """Return the map in which a path ends, a copy of what it was, and its last name."""
    *outer, last = (path,) if isinstance(path, str) else path
    for name in outer:
        item[name] = dict(item.get(name, {}))
        item = item[name]
    return item, last
