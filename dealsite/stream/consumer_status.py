"""How a projection's consumer is doing, and which records it had to skip: small files in the projection's folder."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import orjson

from dealsite.data.keys import Key
from dealsite.data.table.ids import from_iso, iso
from dealsite.processes.orphans import write_whole


def is_panic(error: BaseException) -> bool:
    """Tell whether an error is a Rust library's panic: no Exception to Python, and yet no reason to end a process."""
    return type(error).__module__ == "pyo3_runtime"


STATUS = "consumer.json"


@dataclass(frozen=True, slots=True)
class ConsumerStatus:
    """`at`: when it was noted. `state`: following, building or failing, then with a `reason`.

    `read_at`: a moment up to which the stream is read, None where that is not known: building, or never read.
    """

    at: datetime
    state: str
    read_at: datetime | None = None
    reason: str = ""


def note_status(folder: Path, status: ConsumerStatus) -> None:
    """Keep a status; a folder that is not there stays away."""
    read_at = iso(status.read_at) if status.read_at else None
    found = {"at": iso(status.at), "state": status.state, "read_at": read_at, "reason": status.reason}
    write_whole(folder / STATUS, orjson.dumps(found))


def status(folder: Path) -> ConsumerStatus | None:
    """Return what the consumer of the projection in a folder last noted; None where nothing was. No requests.

    One that follows notes so each second or two, so where `at` is 30 seconds old none runs. One that is building may be
    silent for minutes while it writes its files, and one that fails for half a minute between two tries.
    """
    try:
        found = orjson.loads((folder / STATUS).read_bytes())
        read_at = from_iso(found["read_at"]) if found["read_at"] else None
        return ConsumerStatus(from_iso(found["at"]), found["state"], read_at, found["reason"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def lag(folder: Path, *, now: datetime) -> float | None:
    """Return by how many seconds a projection (`<name>().folder`) is behind the table; None if that is not known.

    It is known while its consumer follows the stream, and grows from the last moment when it did: a consumer that
    is dead or failing lags more each second. None: it is being built, or there never was one. No requests.
    """
    found = status(folder)
    if found is None or found.read_at is None:
        return None
    return max((now - found.read_at).total_seconds(), 0.0)


SKIPPED = "skipped.json"
MOST = 100  # that are kept, the newest ones
REASON = 500  # characters


@dataclass(frozen=True, slots=True)
class SkippedRecord:
    """An item whose change, or which itself when the projection was built, cannot be taken; `sequence` '' if built."""

    key: Key
    sequence: str
    reason: str
    at: datetime


def skipped_records(folder: Path) -> list[SkippedRecord]:
    """Return what is skipped, the newest last; a file that cannot be read counts as none."""
    try:
        found = orjson.loads((folder / SKIPPED).read_bytes())
        return [
            SkippedRecord((one["key"][0], one["key"][1]), one["sequence"], one["reason"], from_iso(one["at"]))
            for one in found
        ]
    except (OSError, ValueError, LookupError, TypeError):
        return []


def skip(folder: Path, records: Iterable[SkippedRecord]) -> None:
    """Note records as skipped; of each item only the newest stays."""
    new = list(records)
    keys = {record.key for record in new}
    if new:
        _write(folder, [*(one for one in skipped_records(folder) if one.key not in keys), *new][-MOST:])


def forget_skipped(folder: Path, *, key: Key | None = None, before: datetime | None = None) -> None:
    """Forget an item that was taken since, or all that was noted before a projection was built."""
    known = skipped_records(folder)
    kept = [one for one in known if one.key != key and (before is None or iso(one.at) >= iso(before))]
    if len(kept) < len(known):
        _write(folder, kept)


def _write(folder: Path, records: list[SkippedRecord]) -> None:
    found = [asdict(one) | {"at": iso(one.at), "reason": one.reason[:REASON]} for one in records]
    write_whole(folder / SKIPPED, orjson.dumps(found))
