"""From changes and items to rows, and from rows to the newest of each item.

Besides an entity's columns a row has `item_key` (a hash of the item's key), the `sequence` of its change and
`changed_at`; as a state also `deleted` and `day`, as a change also `change`: put or delete.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dealsite.data.keys import Key
from dealsite.data.table.convert import Item
from dealsite.lake.columns import CHANGE, DAY, KINDS, STATE
from dealsite.lake.entities import Entity
from dealsite.stream.records import ItemChange

COMPRESSION = "zstd"


@dataclass(frozen=True, slots=True)
class LakeRow:
    """An item at one moment: `item` is None for a state that is gone, `day` its partition."""

    key: Key
    item: Item | None
    sequence: str
    at: datetime | None
    day: date
    deleted: bool = False

    @property
    def order(self) -> tuple[str, bool]:
        """Of two rows of an item the greater one counts; a state that went to another day comes after its going."""
        return self.sequence, not self.deleted


def item_key(key: Key) -> str:
    """Return what tells an item's rows from all others; keys themselves may hold secrets."""
    return hashlib.blake2b("\t".join(key).encode(errors="surrogatepass"), digest_size=16).hexdigest()


def states(entity: Entity, changes: Iterable[ItemChange]) -> list[LakeRow]:
    """Return the newest state of each item that changed, and where it left the day that it was filed under, that."""
    newest: dict[tuple[Key, date], LakeRow] = {}
    for change in changes:
        for row in _states_of(entity, change):
            place = (row.key, row.day)
            if place not in newest or row.order > newest[place].order:
                newest[place] = row
    return list(newest.values())


def _states_of(entity: Entity, change: ItemChange) -> Iterator[LakeRow]:
    day = entity.day(change.new) if change.new is not None else None
    before = entity.day(change.old) if change.old is not None else None
    if change.new is not None and day is not None:
        yield LakeRow(change.key, change.new, change.sequence, change.at, day)
    if before is not None and before != day:
        yield LakeRow(change.key, None, change.sequence, change.at, before, deleted=True)


def events(changes: Iterable[ItemChange]) -> list[LakeRow]:
    """Return one row for each change: the item as it was after it, or before it where it was deleted."""
    found = []
    for change in {(change.key, change.sequence): change for change in changes}.values():
        gone = change.new is None
        item = change.old if gone else change.new
        found.append(LakeRow(change.key, item, change.sequence, change.at, change.at.date(), deleted=gone))
    return found


ARROW = {
    "varchar": pa.string(),
    "bigint": pa.int64(),
    "decimal(12,2)": pa.decimal128(12, 2),
    "timestamp": pa.timestamp("ms"),
    "date": pa.date32(),
    "boolean": pa.bool_(),
}


def schema(entity: Entity, more: dict[str, str]) -> pa.Schema:
    """Return the columns of an entity's files; `more` are the kinds of the lake's own among them."""
    return pa.schema({name: ARROW[KINDS[kind].sql] for name, kind in (entity.kinds | more).items()})


def state_table(entity: Entity, rows: Sequence[LakeRow]) -> pa.Table:
    """Return states as a table, with their day as a column."""
    deleted, days = [row.deleted for row in rows], [row.day for row in rows]
    return _table(entity, rows, STATE | DAY, deleted=deleted, day=days)


def fitting(entity: Entity, rows: Sequence[LakeRow]) -> tuple[Sequence[LakeRow], list[tuple[Key, str]]]:
    """Return the states that a table can hold, and the keys of the others with the reason."""
    try:
        state_table(entity, rows)
    except Exception as error:  # noqa: BLE001 - one odd item must not keep all others from the lake
        if len(rows) == 1:
            return [], [(rows[0].key, repr(error))]
        halves = [fitting(entity, half) for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :])]
        return [row for fit, _ in halves for row in fit], [other for _, others in halves for other in others]
    return rows, []


def event_table(entity: Entity, rows: Sequence[LakeRow]) -> pa.Table:
    """Return changes as a table."""
    return _table(entity, rows, CHANGE, change=["delete" if row.deleted else "put" for row in rows])


def _table(entity: Entity, rows: Sequence[LakeRow], more: dict[str, str], **values: list[Any]) -> pa.Table:
    nothing: Item = {}
    items = [nothing if row.item is None else row.item for row in rows]
    values |= {column.name: [column.value(item) for item in items] for column in entity.columns}
    values["item_key"] = [item_key(row.key) for row in rows]
    values["sequence"] = [row.sequence for row in rows]
    values["changed_at"] = [row.at.replace(tzinfo=None) if row.at else None for row in rows]
    return pa.table(values, schema=schema(entity, more))


def newest(table: pa.Table, per: Sequence[str] = ("item_key",)) -> pa.Table:
    """Return the newest row of each item; of equal ones any."""
    order = [(name, "ascending") for name in per]
    later = [("sequence", "descending")] if "sequence" not in per else []
    if "deleted" in table.column_names:
        later.append(("deleted", "ascending"))
    table = table.sort_by([*order, *later])
    if table.num_rows < 2:
        return table
    differs: Any = pa.scalar(False)
    for name in per:
        column = table[name].combine_chunks()
        differs = pc.or_(differs, pc.not_equal(column[1:], column[:-1]))
    if isinstance(differs, pa.ChunkedArray):
        differs = differs.combine_chunks()
    return table.filter(pa.concat_arrays([pa.array([True]), differs]))


def written(table: pa.Table) -> bytes:
    """Return a table as a Parquet file."""
    out = io.BytesIO()
    pq.write_table(table, out, compression=COMPRESSION, write_page_checksum=True)
    return out.getvalue()


def read(content: bytes, wanted: pa.Schema) -> pa.Table:
    """Return a Parquet file's rows with the columns of now: what it lacks is NULL, what is no longer wanted goes."""
    table = _parquet(content).read(use_threads=False)
    found = [
        table[field.name].cast(field.type, safe=False)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in wanted
    ]
    return pa.table(dict(zip(wanted.names, found, strict=True)), schema=wanted)


def _parquet(content: bytes) -> pq.ParquetFile:
    return pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)


def is_readable(content: bytes) -> bool:
    """Tell whether a file's content is Parquet, to its last row."""
    try:
        _parquet(content).read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError):
        return False
    return True


def name_of(rows: Iterable[tuple[str, str]]) -> str:
    """Return the file name for some rows, told by item and sequence: the same rows have the same name.

    So a batch that is written once more after a crash takes the place of the first one.
    """
    digest = hashlib.blake2b(digest_size=16)
    for key, sequence in rows:
        digest.update(f"{key} {sequence}\n".encode())
    return f"{digest.hexdigest()}.parquet"
