"""The lake as a projection of the stream, which makes few large files of many small ones.

Nothing is ever removed but what has been merged into a file that is already there, and that only by the next
compaction, so that a query which began before goes on reading. A crash, or a second compaction at the same time, leaves
at worst some rows twice, of which the views take one.
"""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from django.conf import settings

from dealsite.data.keys import Key
from dealsite.data.table.convert import Item
from dealsite.lake import manifest, rows
from dealsite.lake.columns import CHANGE, DAY, STATE
from dealsite.lake.entities import BY_TYPE, ENTITIES, Entity
from dealsite.lake.store import Store, store_of_site
from dealsite.stream import rebuilding
from dealsite.stream.projection import Checkpoint, Damaged
from dealsite.stream.records import ItemChange

TOMBSTONES_KEPT = timedelta(days=2)  # longer than any record of the stream can come late
HISTORY_FILES = 16  # of a day, before they are made one
LARGE = 32 * 2**20  # bytes; such a file of a day's history is left as it is


def compact(store: Store, *, now: datetime) -> None:
    """Fold the recent states of every entity into its current ones, and the changes of each day into one file."""
    delete_superseded(store)
    run = _Compaction(store, now)
    current, recent, history = map(store.paths, (manifest.CURRENT, manifest.RECENT, manifest.HISTORY))
    for entity in ENTITIES:
        small = [path for path in recent if path.startswith(f"{manifest.recent(entity)}/")]
        run.fold(entity, small, manifest.days(manifest.CURRENT, entity, current))
        run.gather(entity, manifest.days(manifest.HISTORY, entity, history))
    manifest.note(store, run.merged)


def delete_superseded(store: Store) -> None:
    """Delete what the last compaction merged into other files."""
    for path in manifest.superseded(store):
        store.delete(path)


@dataclass
class _Compaction:
    """One compaction; `merged` are the files whose rows are in others by now, in the order in which they may go."""

    store: Store
    now: datetime
    merged: list[str] = field(default_factory=list)

    def fold(self, entity: Entity, small: list[str], by_day: Mapping[str, list[str]]) -> None:
        """Fold the recent states of an entity into the files of their days."""
        recent = _read(self.store, small, rows.schema(entity, STATE | DAY))
        touched = [day for day in pc.unique(recent["day"]).to_pylist() if day is not None]
        several = [date.fromisoformat(path[-10:]) for path, files in by_day.items() if len(files) > 1]
        for day in sorted({*touched, *several}):
            states = recent.filter(pc.equal(recent["day"], pa.scalar(day)))
            self._fold_day(entity, day, states, by_day.get(manifest.current(entity, day), []))
        self.merged += small

    def _fold_day(self, entity: Entity, day: date, states: pa.Table, files: list[str]) -> None:
        wanted = rows.schema(entity, STATE)
        tables = {path: _read(self.store, [path], wanted) for path in files}
        newest = rows.newest(pa.concat_tables([*tables.values(), states.drop_columns(["day"])]))
        before = pa.scalar((self.now - TOMBSTONES_KEPT).replace(tzinfo=None), pa.timestamp("ms"))
        old = pc.fill_null(pc.and_(newest["deleted"], pc.less(newest["changed_at"], before)), False)
        gone, kept = newest.filter(old)["item_key"], newest.filter(pc.invert(old))
        made = _write(self.store, manifest.current(entity, day), kept) if kept.num_rows else ""
        # Files that hold a deletion which is now forgotten go last: as long as an older row is there, so is that.
        last = {
            path
            for path, table in tables.items()
            if len(gone) and pc.any(pc.and_(table["deleted"], pc.is_in(table["item_key"], gone))).as_py()
        }
        self.merged += sorted(tables.keys() - {made}, key=lambda path: (path in last, path))

    def gather(self, entity: Entity, by_day: Mapping[str, list[str]]) -> None:
        """Make one file of a day's changes, where there are many, or where the day is over."""
        today = manifest.history(entity, self.now.date())
        for folder, files in by_day.items():
            if len(files) < (HISTORY_FILES if folder >= today else 2):
                continue
            contents = {path: content for path in files if (content := self.store.get(path)) is not None}
            small = {path: content for path, content in contents.items() if len(content) < LARGE}
            if len(small) < 2:
                continue
            wanted = rows.schema(entity, CHANGE)
            changes = _read(self.store, small, wanted)
            made = _write(self.store, folder, rows.newest(changes, per=("item_key", "sequence")))
            self.merged += sorted(small.keys() - {made})


def _read(store: Store, paths: Iterable[str], wanted: pa.Schema) -> pa.Table:
    """Return the rows of some files; raises Damaged for a file of states that is gone, or cannot be read."""
    tables = [wanted.empty_table()]
    for path in paths:
        content = store.get(path)
        if content is None and not manifest.is_history(path):
            raise Damaged(f"{path} is missing.")
        try:
            tables.append(rows.read(content or b"", wanted))
        except (pa.ArrowException, OSError, ValueError):
            manifest.unreadable(store, path)
    return pa.concat_tables(tables)


def _write(store: Store, folder: str, table: pa.Table) -> str:
    """Write a table under the name that its rows give it; return its path."""
    pairs = zip(table["item_key"].to_pylist(), table["sequence"].to_pylist(), strict=True)
    path = f"{folder}/{rows.name_of(pairs)}"
    store.put(path, rows.written(table))
    return path


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
    patience, delay = 5.0, 5.0
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
            return Checkpoint.from_json(self.store.get(manifest.STATE) or b"")
        except (ValueError, LookupError, TypeError):
            return None

    def open(self) -> Checkpoint | None:
        self._changes.clear()
        # What an earlier process left in small files is folded soon.
        self._commits, self._compacted_at = COMPACT_AFTER, float("-inf")
        if self.store.get(manifest.SWAPPING) is not None:
            self._finish_swap()
        checkpoint = self.checkpoint()
        self._state = self.store.get(manifest.STATE)
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
            self.store.put(manifest.STATE, self._state)
            self._compact_if_due()

    def close(self) -> None:
        self._changes.clear()

    def build(self, items: Iterable[Item], start: Checkpoint) -> list[tuple[Key, str]]:
        for path in self.store.paths(manifest.MADE):
            self.store.delete(path)
        aside = f"{manifest.MADE}/{secrets.token_hex(8)}"  # whoever is still building another one must not add to this
        replaced = [*self.store.paths(manifest.CURRENT), *self.store.paths(manifest.RECENT)]
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
        self.store.put(manifest.READY, orjson.dumps(ready))
        return lacking

    def swap(self) -> None:
        content = self.store.get(manifest.READY)
        if content is None:
            raise Damaged("There is no new lake to take the place of this one.")
        self.store.put(manifest.SWAPPING, content)
        self._finish_swap()

    def _finish_swap(self) -> None:
        """Move the new files in, remove the old ones, say where the stream goes on; begun again after a crash."""
        try:
            ready = orjson.loads(self.store.get(manifest.SWAPPING) or b"")
            start, replaced, aside, made = (ready[name] for name in ("start", "replaced", "aside", "made"))
        except (ValueError, LookupError, TypeError) as error:
            self._give_up_swap()
            raise Damaged("What was to take the lake's place cannot be read.") from error
        # It names old files, and a new one may be called the same.
        self.store.put(manifest.FILES, orjson.dumps({"files": {}, "superseded": []}))
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
        self.store.put(manifest.STATE, start.encode())
        for path in (manifest.READY, manifest.SWAPPING, *self.store.paths(manifest.MADE)):
            self.store.delete(path)

    def _give_up_swap(self) -> None:
        for path in (manifest.SWAPPING, manifest.STATE):
            self.store.delete(path)

    def _write_aside(
        self, aside: str, found: dict[Entity, list[rows.LakeRow]], made: list[str]
    ) -> list[tuple[Key, str]]:
        """Write states of a scan, and add the paths of their files; return those that cannot be written."""
        lacking: list[tuple[Key, str]] = []
        for entity, states in found.items():
            by_day: dict[str, list[rows.LakeRow]] = {}
            for row in states:
                by_day.setdefault(manifest.current(entity, row.day), []).append(row)
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
        if self.store.get(manifest.STATE) != self._state:
            raise Damaged("The lake's checkpoint was deleted or changed.")

    def _watched(self, look: Callable[[], None]) -> None:
        """Look whether files are missing; where they are, nobody may take the lake for whole."""
        try:
            look()
        except Damaged:
            self.store.delete(manifest.STATE)
            raise

    def _compact_if_due(self) -> None:
        """Compact after some commits, files or time, but not while a new lake is made: it notes the old one's files.

        What was merged stays for questions that began before, so that the next compaction waits for them.
        """
        waited = self._ticks() - self._compacted_at
        many = self._commits >= COMPACT_AFTER or self._written >= COMPACT_FILES
        due = self._commits and (waited >= COMPACT_SECONDS or (many and waited >= READ_SECONDS))
        if due and not rebuilding.is_locked(self.folder, rebuilding.BUILDING):
            self._watched(self._watch.check)
            self._watched(lambda: compact(self.store, now=self._clock()))
            self._watched(self._watch.check)
            self._commits, self._written, self._compacted_at = 0, 0, self._ticks()
            self._has_superseded = True


def _files(entity: Entity, changes: list[ItemChange]) -> Iterator[tuple[str, bytes]]:
    """Return the files that tell of some changes: for each day what changed, and then the newest states."""
    events: dict[str, list[rows.LakeRow]] = {}
    for row in rows.events(changes):
        events.setdefault(manifest.history(entity, row.day), []).append(row)
    for folder, of_day in events.items():
        yield _path(folder, of_day), rows.written(rows.event_table(entity, of_day))
    newest = rows.states(entity, changes)
    yield _path(manifest.recent(entity), newest), rows.written(rows.state_table(entity, newest))


def _path(folder: str, states: Sequence[rows.LakeRow]) -> str:
    return f"{folder}/{rows.name_of((rows.item_key(row.key), row.sequence) for row in states)}"
