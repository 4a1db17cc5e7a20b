"""The lake as a projection of the stream."""

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

import orjson
from django.conf import settings

from dealsite.data.table.convert import Item
from dealsite.lake import layout, rows
from dealsite.lake.compaction import compact
from dealsite.lake.entities import BY_TYPE, Entity
from dealsite.lake.store import Store, store_of_site
from dealsite.stream import leases
from dealsite.stream.projection import Checkpoint
from dealsite.stream.records import ItemChange

COMPACT_AFTER = 30  # commits
COMPACT_SECONDS = 300.0  # since the last time, if anything was written
BUILT_AT_ONCE = 50_000  # rows held in memory while a new lake is made


def utc_now() -> datetime:
    return datetime.now(UTC)


class Lake:
    """Writes what changes into small files, and folds them into larger ones now and then.

    What is in a file is never changed, and of an item's rows the newest counts: so whatever is written twice, or
    left over by a crash, does no harm, and the checkpoint may be written after the files.
    """

    name = "lake"
    patience = 5.0
    portion = 20_000

    def __init__(self, store: Store | None = None, *, clock: Callable[[], datetime] = utc_now) -> None:
        self.store = store or store_of_site()
        self.folder = settings.VAR / "lake"
        self._clock = clock
        self._changes: dict[Entity, list[ItemChange]] = {}
        self._commits = 0
        self._compacted_at = time.monotonic()

    def checkpoint(self) -> Checkpoint | None:
        content = self.store.get(layout.STATE)
        return Checkpoint.from_json(content) if content else None

    def open(self) -> Checkpoint | None:
        self._changes.clear()
        self._commits = COMPACT_AFTER  # what an earlier process left in small files is folded soon
        if self.store.get(layout.SWAPPING) is not None:
            self._finish_swap()
        return self.checkpoint()

    def apply(self, changes: Sequence[ItemChange]) -> None:
        for change in changes:
            if entity := BY_TYPE.get(change.type):
                self._changes.setdefault(entity, []).append(change)

    def commit(self, checkpoint: Checkpoint | None) -> None:
        for entity, changes in self._changes.items():
            self._write(entity, changes)
        if self._changes:
            self._commits += 1
        self._changes.clear()
        if checkpoint is not None:
            self.store.put(layout.STATE, checkpoint.to_json().encode())
            self._compact_if_due()

    def close(self) -> None:
        self._changes.clear()

    def build(self, items: Iterable[Item], start: Checkpoint) -> None:
        for path in self.store.paths(layout.MADE):
            self.store.delete(path)
        replaced = [*self.store.paths(layout.CURRENT), *self.store.paths(layout.RECENT)]
        found: dict[Entity, list[rows.LakeRow]] = {}
        number = 0
        for item in items:
            if entity := BY_TYPE.get(str(item.get("type", ""))):
                key = (item["PK"], item["SK"])
                row = rows.LakeRow(key, item, start.floor, None, entity.day(item))
                found.setdefault(entity, []).append(row)
                number += 1
            if number >= BUILT_AT_ONCE:
                self._write_aside(found)
                number = 0
        self._write_aside(found)
        made = {"start": start.to_json(), "replaced": replaced}
        self.store.put(layout.READY, orjson.dumps(made))

    def swap(self) -> None:
        content = self.store.get(layout.READY)
        if content is None:
            raise RuntimeError("There is no new lake to take the place of this one.")
        self.store.put(layout.SWAPPING, content)
        self._finish_swap()

    def _finish_swap(self) -> None:
        """Move the new files in, remove the old ones, say where the stream goes on; begun again after a crash."""
        made = orjson.loads(self.store.get(layout.SWAPPING) or b"{}")
        self.store.delete(layout.SUPERSEDED)  # it names old files, and a new one may be called the same
        for path in self.store.paths(f"{layout.MADE}/{layout.CURRENT}"):
            self.store.put(path.removeprefix(f"{layout.MADE}/"), self.store.get(path) or b"")
        kept = {path.removeprefix(f"{layout.MADE}/") for path in self.store.paths(layout.MADE)}
        for path in made["replaced"]:
            if path not in kept:
                self.store.delete(path)
        self.store.put(layout.STATE, made["start"].encode())
        for path in (layout.READY, layout.SWAPPING, *self.store.paths(layout.MADE)):
            self.store.delete(path)

    def _write(self, entity: Entity, changes: list[ItemChange]) -> None:
        events: dict[str, list[rows.LakeRow]] = {}
        for row in rows.events(changes):
            events.setdefault(layout.history(entity, row.day), []).append(row)
        for folder, of_day in events.items():
            self._put(folder, of_day, rows.written(rows.event_table(entity, of_day)))
        newest = rows.states(entity, changes)
        self._put(layout.recent(entity), newest, rows.written(rows.state_table(entity, newest)))

    def _write_aside(self, found: dict[Entity, list[rows.LakeRow]]) -> None:
        for entity, states in found.items():
            by_day: dict[str, list[rows.LakeRow]] = {}
            for row in states:
                by_day.setdefault(f"{layout.MADE}/{layout.current(entity, row.day)}", []).append(row)
            for folder, of_day in by_day.items():
                table = rows.state_table(entity, of_day).drop_columns(["day"])
                self._put(folder, of_day, rows.written(table))
        found.clear()

    def _put(self, folder: str, states: Sequence[rows.LakeRow], content: bytes) -> None:
        name = rows.name_of((rows.item_key(row.key), row.sequence) for row in states)
        self.store.put(f"{folder}/{name}", content)

    def _compact_if_due(self) -> None:
        """Compact after some commits or some time, but not while a new lake is made: it notes the old one's files."""
        waited = time.monotonic() - self._compacted_at
        due = self._commits >= COMPACT_AFTER or (self._commits and waited >= COMPACT_SECONDS)
        if due and not leases.is_locked(self.folder, leases.BUILDING):
            compact(self.store, now=self._clock())
            self._commits, self._compacted_at = 0, time.monotonic()
