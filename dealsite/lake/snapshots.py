"""Snapshots of the table for questions: each a folder of Parquet files, which is there whole or not at all.

    var/lake/<id>/<table>/0.parquet     the id is a ULID of the moment when its making began

With DEALSITE_LAKE each is copied to a bucket, where a small file that is written last names the newest, and every
machine fetches that one. The newest two are kept, so that a question which began before goes on reading.
"""

import contextlib
import os
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages
from django.utils import timezone

from dealsite.buckets import delete, files
from dealsite.data import table
from dealsite.data.jobs.jobs import AHEAD
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import is_ulid, new_ulid, time_of
from dealsite.lake import exports
from dealsite.lake.columns import KINDS
from dealsite.lake.entities import BY_TYPE, ENTITIES, Entity
from dealsite.stream.rebuilding import locked

if TYPE_CHECKING:
    import pyarrow as pa

KEPT = 2
ROWS = 20_000  # that wait in memory to be written
POINTER = "newest.txt"
LISTED = "newest"  # the folder whose files name those of the newest snapshot to Athena, one for each table
MAKING, FETCHING = ".making-", ".fetching-"
LOOK_SECONDS = 10.0  # between two looks at the bucket
EXPORT_KEPT = timedelta(days=1)  # of a process that was killed, before its files go

logger = structlog.get_logger(__name__)


def newest() -> Path | None:
    """Return the folder of the newest snapshot of this machine; a newer one in the bucket is fetched meanwhile."""
    if settings.DEALSITE_LAKE:
        _fetch_soon()
    ids = _ids(_root(), timezone.now())
    return _root() / ids[-1] if ids else None


def _root() -> Path:
    return Path(settings.VAR) / "lake"


def _ids(root: Path, now: datetime) -> list[str]:
    return _in_order((path.name for path in root.iterdir()), now) if root.is_dir() else []


def _in_order(names: Iterable[str], now: datetime) -> list[str]:
    """Return the ids among some names, the newest last; those of a clock that was ahead come before all others."""
    return sorted(filter(is_ulid, names), key=lambda id_: (time_of(id_) <= now + AHEAD, id_))


@contextlib.contextmanager
def making(*, now: datetime) -> Iterator[tuple[Path, int]]:
    """Make a snapshot of all items: yields its folder and how many rows it has, and once the block is done, it counts.

    1 request for each 500 items; where Amazon exports the table, 3 and more while that takes. One at a time is made on
    a machine: another waits. Raises DataError where the table cannot be read.
    """
    root, id_ = _root(), new_ulid(now)
    with locked(root, "making.lock", wait=True):
        for left in root.glob(f"{MAKING}*"):
            shutil.rmtree(left, ignore_errors=True)
        made = root / f"{MAKING}{id_}"
        items = exports.items(id_) if exports.is_offered() else table.scan_all()
        yield made, write(items, made)
        _keep(made, root / id_, now)
        if settings.DEALSITE_LAKE:
            _publish(root / id_, storages["lake"], now)


def write(items: Iterable[Item], folder: Path) -> int:
    """Write items as rows of their tables; return how many they are."""
    import pyarrow.parquet as pq  # 40 MB, of which web processes have no use

    rows: defaultdict[str, list[Item]] = defaultdict(list)
    waiting = written = 0
    with contextlib.ExitStack() as opened:
        writers = {}
        for entity in ENTITIES:
            (folder / entity.table).mkdir(mode=0o700, parents=True)
            path = folder / entity.table / "0.parquet"
            writers[entity.type] = opened.enter_context(
                pq.ParquetWriter(path, _arrow([], entity).schema, compression="zstd")
            )
        for item in items:
            type_ = str(item.get("type", ""))
            if type_ not in BY_TYPE:
                continue
            rows[type_].append(item)
            waiting, written = waiting + 1, written + 1
            if waiting >= ROWS:
                most = max(rows, key=lambda name: len(rows[name]))
                waiting -= len(rows[most])
                writers[most].write_table(_arrow(rows.pop(most), BY_TYPE[most]))
        for type_, left in rows.items():
            writers[type_].write_table(_arrow(left, BY_TYPE[type_]))
    return written


def _arrow(items: list[Item], entity: Entity) -> "pa.Table":
    import pyarrow as pa

    types = {
        "varchar": pa.string(),
        "bigint": pa.int64(),
        "decimal(12,2)": pa.decimal128(12, 2),
        "timestamp": pa.timestamp("ms"),
        "date": pa.date32(),
        "boolean": pa.bool_(),
    }
    columns = {
        column.name: pa.array(map(column.value, items), types[KINDS[column.kind].sql])
        for column in entity.columns
    }
    return pa.table(columns)


def columns_of(entity: Entity) -> dict[str, str]:
    """Return the columns of an entity's table, with their SQL types."""
    return {name: KINDS[kind].sql for name, kind in entity.kinds.items()}


def query(snapshot: Path, entity: Entity) -> str:
    """Return the SELECT of an entity's rows in a snapshot, with the columns of now.

    A column that an earlier release's file lacks is NULL, and a table that it lacks is empty. DuckDB must be allowed to
    read `snapshot / entity.table`.
    """
    nothing = ", ".join(f"NULL::{kind} AS {quoted(name)}" for name, kind in columns_of(entity).items())
    rows = f"SELECT {nothing} WHERE false"
    if files := sorted((snapshot / entity.table).glob("*.parquet")):
        paths = ", ".join("'" + str(file).replace("'", "''") + "'" for file in files)
        rows += f" UNION ALL BY NAME SELECT * FROM read_parquet([{paths}], union_by_name = true)"  # noqa: S608
    return f"SELECT {', '.join(map(quoted, entity.kinds))} FROM ({rows}) AS files"  # noqa: S608


def quoted(name: str) -> str:
    """Return a name as SQL takes it, whatever word it is."""
    return '"' + name.replace('"', '""') + '"'


def athena_ddl(location: str, database: str) -> list[str]:
    """Return the statements that let Athena read the newest snapshot at `s3://bucket/prefix`, also once it is newer."""
    made = [f"CREATE DATABASE IF NOT EXISTS `{database}`"]
    for entity in ENTITIES:
        lines = ",\n".join(f"  `{name}` {KINDS[kind].hive}" for name, kind in entity.kinds.items())
        made.append(
            f"CREATE EXTERNAL TABLE IF NOT EXISTS {database}.{entity.table} (\n{lines}\n)\n"
            "ROW FORMAT SERDE 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe'\n"
            "STORED AS INPUTFORMAT 'org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat'\n"
            "OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat'\n"
            f"LOCATION '{location}/{LISTED}/{entity.table}/'"
        )
    return made


def _keep(made: Path, folder: Path, now: datetime) -> None:
    """Let a folder count, once all that is in it would outlive a power cut; and delete older ones."""
    for path in [*made.rglob("*"), made]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    made.rename(folder)
    for old in _ids(folder.parent, now)[:-KEPT]:
        if old != folder.name:  # which is the newest, whatever the clocks of machines say
            shutil.rmtree(folder.parent / old, ignore_errors=True)


def _publish(snapshot: Path, bucket: Storage, now: datetime) -> None:
    """Copy a snapshot to the bucket, and name it there unless a newer one is; delete older ones."""
    for path in sorted(path for path in snapshot.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            bucket.save(f"{snapshot.name}/{path.relative_to(snapshot)}", File(file))
    named = _in_order([snapshot.name, _named(bucket)], now)[-1]
    if named == snapshot.name:
        for entity in ENTITIES:
            listed = f"{settings.DEALSITE_LAKE}/{snapshot.name}/{entity.table}/0.parquet\n"
            bucket.save(f"{LISTED}/{entity.table}/symlink.txt", ContentFile(listed.encode()))
        bucket.save(POINTER, ContentFile(snapshot.name.encode()))
    ids = _in_order({*bucket.listdir("")[0], named}, now)
    old = ids[:-KEPT][: ids.index(named)]
    begun = filter(is_ulid, bucket.listdir(exports.FOLDER)[0])
    left = [name for name in begun if time_of(name) < now - EXPORT_KEPT]
    for folder in [*old, *(f"{exports.FOLDER}/{name}" for name in left)]:
        delete(bucket, folder)


def _named(bucket: Storage) -> str:
    """Return the id of the newest snapshot in the bucket, '' where none is."""
    try:
        with bucket.open(POINTER) as file:
            found = bytes(file.read()).decode()
    except FileNotFoundError:
        return ""
    return found if is_ulid(found) else ""


_looking = threading.Lock()
_looked_at = float("-inf")


def _fetch_soon() -> None:
    global _looked_at
    with _looking:
        if time.monotonic() - _looked_at < LOOK_SECONDS:
            return
        _looked_at = time.monotonic()
    threading.Thread(target=fetch, name="fetch-snapshot", daemon=True).start()


def fetch() -> None:
    """Fetch the newest snapshot of the bucket, unless this machine has it or is at it; what fails is a warning."""
    root = _root()
    try:
        bucket = storages["lake"]
        with locked(root, "fetching.lock", wait=False) as lock:
            id_ = _named(bucket) if lock else ""
            if not id_ or (root / id_).is_dir():
                return
            for left in root.glob(f"{FETCHING}*"):
                shutil.rmtree(left, ignore_errors=True)
            made = root / f"{FETCHING}{id_}"
            for path in [*files(bucket, id_)]:  # listed whole: what is deleted meanwhile is missed then
                target = made / path.removeprefix(f"{id_}/")
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with bucket.open(path) as file, target.open("wb") as out:
                    shutil.copyfileobj(file, out)
            _keep(made, root / id_, timezone.now())
    except Exception as error:  # noqa: BLE001 - whatever the library of a storage raises; the last one goes on
        logger.warning("snapshot_not_fetched", reason=str(error))
