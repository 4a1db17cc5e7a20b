"""The lake as a projection of the stream."""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

import orjson
from django.conf import settings

from dealsite.data.keys import Key
from dealsite.data.table.convert import Item
from dealsite.lake import layout, manifest, rows
from dealsite.lake.compaction import compact, delete_superseded
from dealsite.lake.entities import BY_TYPE, Entity
from dealsite.lake.store import Store, store_of_site
from dealsite.stream import leases
from dealsite.stream.projection import Checkpoint, Damaged
from dealsite.stream.records import ItemChange

COMPACT_AFTER, COMPACT_FILES = 30, 300  # commits, or files written
COMPACT_SECONDS = 300.0  # since the last time, if anything was written
READ_SECONDS = 60.0  # for which a question may still read files that are merged into others
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

    def __init__(
        self,
        store: Store | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store = store or store_of_site()
        self.folder = settings.VAR / "lake"
        self._clock, self._ticks = clock, ticks
        self._changes: dict[Entity, list[ItemChange]] = {}
        self._watch = manifest.Watch(self.store)
        self._state: bytes | None = None
        self._commits = self._written = 0
        self._compacted_at = self._checked_at = ticks()
        self._has_superseded = False

    def checkpoint(self) -> Checkpoint | None:
        try:
            return Checkpoint.from_json(self.store.get(layout.STATE) or b"")
        except (ValueError, LookupError, TypeError):
            return None

    def open(self) -> Checkpoint | None:
        self._changes.clear()
        # What an earlier process left in small files is folded soon.
        self._commits, self._compacted_at = COMPACT_AFTER, float("-inf")
        if self.store.get(layout.SWAPPING) is not None:
            self._finish_swap()
        checkpoint = self.checkpoint()
        self._state = self.store.get(layout.STATE)
        if checkpoint is not None:
            self._watched(self._watch.begin)
        return checkpoint

    def check(self) -> None:
        if self._ticks() - self._checked_at >= self.store.check_seconds:
            self._checked_at = self._ticks()
            self._watched(self._check_state)
            self._watched(self._watch.check)
        if self._has_superseded and self._ticks() - self._compacted_at >= READ_SECONDS:
            delete_superseded(self.store)
            self._has_superseded = False
        self._compact_if_due()

    def apply(self, changes: Sequence[ItemChange]) -> None:
        for change in changes:
            if entity := BY_TYPE.get(change.type):
                self._changes.setdefault(entity, []).append(change)

    def commit(self, checkpoint: Checkpoint | None) -> None:
        written = [file for entity, changes in self._changes.items() for file in _files(entity, changes)]
        for path, content in written:  # only once all are made: a change that cannot be leaves nothing behind
            if not self._watch.has(path):
                self._watch.wrote(path, self.store.put(path, content))
        if written:
            self._commits += 1
            self._written += len(written)
        self._changes.clear()
        if checkpoint is not None:
            self._watched(self._check_state)
            self._state = checkpoint.to_json().encode()
            self.store.put(layout.STATE, self._state)
            self._compact_if_due()

    def close(self) -> None:
        self._changes.clear()

    def build(self, items: Iterable[Item], start: Checkpoint) -> list[tuple[Key, str]]:
        for path in self.store.paths(layout.MADE):
            self.store.delete(path)
        aside = f"{layout.MADE}/{secrets.token_hex(8)}"  # whoever is still building another one must not add to this
        replaced = [*self.store.paths(layout.CURRENT), *self.store.paths(layout.RECENT)]
        found: dict[Entity, list[rows.LakeRow]] = {}
        lacking: list[tuple[Key, str]] = []
        made: list[str] = []
        number = 0
        for item in items:
            if entity := BY_TYPE.get(str(item.get("type", ""))):
                key = (item["PK"], item["SK"])
                row = rows.LakeRow(key, item, start.floor, None, entity.day(item))
                found.setdefault(entity, []).append(row)
                number += 1
            if number >= BUILT_AT_ONCE:
                lacking += self._write_aside(aside, found, made)
                number = 0
        lacking += self._write_aside(aside, found, made)
        ready = {"start": start.to_json(), "replaced": replaced, "aside": aside, "made": made}
        self.store.put(layout.READY, orjson.dumps(ready))
        return lacking

    def swap(self) -> None:
        content = self.store.get(layout.READY)
        if content is None:
            raise Damaged("There is no new lake to take the place of this one.")
        self.store.put(layout.SWAPPING, content)
        self._finish_swap()

    def _finish_swap(self) -> None:
        """Move the new files in, remove the old ones, say where the stream goes on; begun again after a crash."""
        try:
            ready = orjson.loads(self.store.get(layout.SWAPPING) or b"")
            start, replaced, aside, made = (ready[name] for name in ("start", "replaced", "aside", "made"))
        except (ValueError, LookupError, TypeError) as error:
            self._give_up_swap()
            raise Damaged("What was to take the lake's place cannot be read.") from error
        # It names old files, and a new one may be called the same.
        self.store.put(layout.FILES, orjson.dumps({"files": {}, "superseded": []}))
        for path in made:
            content = self.store.get(f"{aside}/{path}")
            if content is None or not rows.is_readable(content):
                self._give_up_swap()
                raise Damaged(f"{path} of the new lake is missing or damaged.")
            self.store.put(path, content)
        for path in replaced:
            if path not in made:
                self.store.delete(path)
        manifest.note(self.store)
        self.store.put(layout.STATE, start.encode())
        for path in (layout.READY, layout.SWAPPING, *self.store.paths(layout.MADE)):
            self.store.delete(path)

    def _give_up_swap(self) -> None:
        for path in (layout.SWAPPING, layout.STATE):
            self.store.delete(path)

    def _write_aside(
        self, aside: str, found: dict[Entity, list[rows.LakeRow]], made: list[str]
    ) -> list[tuple[Key, str]]:
        """Write states of a scan, and add the paths of their files; return those that cannot be written."""
        lacking: list[tuple[Key, str]] = []
        for entity, states in found.items():
            by_day: dict[str, list[rows.LakeRow]] = {}
            for row in states:
                by_day.setdefault(layout.current(entity, row.day), []).append(row)
            for folder, of_day in by_day.items():
                fit, others = rows.fitting(entity, of_day)
                lacking += others
                if fit:
                    made.append(_path(folder, fit))
                    table = rows.state_table(entity, fit).drop_columns(["day"])
                    self.store.put(f"{aside}/{made[-1]}", rows.written(table))
        found.clear()
        return lacking

    def _check_state(self) -> None:
        """Raise Damaged where the checkpoint is not as it was left: what was deleted must not seem to be there."""
        if self.store.get(layout.STATE) != self._state:
            raise Damaged("The lake's checkpoint was deleted or changed.")

    def _watched(self, look: Callable[[], None]) -> None:
        """Look whether files are missing; where they are, nobody may take the lake for whole."""
        try:
            look()
        except Damaged:
            self.store.delete(layout.STATE)
            raise

    def _compact_if_due(self) -> None:
        """Compact after some commits, files or time, but not while a new lake is made: it notes the old one's files.

        What was merged stays for questions that began before, so that the next compaction waits for them.
        """
        waited = self._ticks() - self._compacted_at
        many = self._commits >= COMPACT_AFTER or self._written >= COMPACT_FILES
        due = self._commits and (waited >= COMPACT_SECONDS or (many and waited >= READ_SECONDS))
        if due and not leases.is_locked(self.folder, leases.BUILDING):
            self._watched(self._watch.check)
            self._watched(lambda: compact(self.store, now=self._clock()))
            self._watched(self._watch.check)
            self._commits, self._written, self._compacted_at = 0, 0, self._ticks()
            self._has_superseded = True


def _files(entity: Entity, changes: list[ItemChange]) -> Iterator[tuple[str, bytes]]:
    """Return the files that tell of some changes: for each day what changed, and then the newest states."""
    events: dict[str, list[rows.LakeRow]] = {}
    for row in rows.events(changes):
        events.setdefault(layout.history(entity, row.day), []).append(row)
    for folder, of_day in events.items():
        yield _path(folder, of_day), rows.written(rows.event_table(entity, of_day))
    newest = rows.states(entity, changes)
    yield _path(layout.recent(entity), newest), rows.written(rows.state_table(entity, newest))


def _path(folder: str, states: Sequence[rows.LakeRow]) -> str:
    return f"{folder}/{rows.name_of((rows.item_key(row.key), row.sequence) for row in states)}"
