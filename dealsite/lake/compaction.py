"""Making few large files of many small ones.

Nothing is ever removed but what has been merged into a file that is already there, and that only by the next
compaction, so that a query which began before goes on reading. A crash, or a second compaction at the same time, leaves
at worst some rows twice, of which the views take one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from dealsite.lake import layout, manifest, rows
from dealsite.lake.columns import CHANGE, DAY, STATE
from dealsite.lake.entities import ENTITIES, Entity
from dealsite.lake.store import Store
from dealsite.stream.projection import Damaged

TOMBSTONES_KEPT = timedelta(days=2)  # longer than any record of the stream can come late
HISTORY_FILES = 16  # of a day, before they are made one
LARGE = 32 * 2**20  # bytes; such a file of a day's history is left as it is


def compact(store: Store, *, now: datetime) -> None:
    """Fold the recent states of every entity into its current ones, and the changes of each day into one file."""
    delete_superseded(store)
    run = _Compaction(store, now)
    current, recent, history = map(store.paths, (layout.CURRENT, layout.RECENT, layout.HISTORY))
    for entity in ENTITIES:
        small = [path for path in recent if path.startswith(f"{layout.recent(entity)}/")]
        run.fold(entity, small, layout.days(layout.CURRENT, entity, current))
        run.gather(entity, layout.days(layout.HISTORY, entity, history))
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
            self._fold_day(entity, day, states, by_day.get(layout.current(entity, day), []))
        self.merged += small

    def _fold_day(self, entity: Entity, day: date, states: pa.Table, files: list[str]) -> None:
        wanted = rows.schema(entity, STATE)
        tables = {path: _read(self.store, [path], wanted) for path in files}
        newest = rows.newest(pa.concat_tables([*tables.values(), states.drop_columns(["day"])]))
        before = pa.scalar((self.now - TOMBSTONES_KEPT).replace(tzinfo=None), pa.timestamp("ms"))
        old = pc.fill_null(pc.and_(newest["deleted"], pc.less(newest["changed_at"], before)), False)
        gone, kept = newest.filter(old)["item_key"], newest.filter(pc.invert(old))
        made = _write(self.store, layout.current(entity, day), kept) if kept.num_rows else ""
        # Files that hold a deletion which is now forgotten go last: as long as an older row is there, so is that.
        last = {
            path
            for path, table in tables.items()
            if len(gone) and pc.any(pc.and_(table["deleted"], pc.is_in(table["item_key"], gone))).as_py()
        }
        self.merged += sorted(tables.keys() - {made}, key=lambda path: (path in last, path))

    def gather(self, entity: Entity, by_day: Mapping[str, list[str]]) -> None:
        """Make one file of a day's changes, where there are many, or where the day is over."""
        today = layout.history(entity, self.now.date())
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
