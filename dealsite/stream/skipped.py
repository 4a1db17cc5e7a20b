"""Records of the stream that a projection cannot take: skipped, with their reason, in a small file of its folder."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import orjson

from dealsite.data.keys import Key
from dealsite.data.table.ids import from_iso, iso
from dealsite.processes.shared_files import write_whole

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


def listed(folder: Path) -> list[SkippedRecord]:
    """Return what is skipped, the newest last; a file that cannot be read counts as none."""
    try:
        found = orjson.loads((folder / SKIPPED).read_bytes())
        return [
            SkippedRecord((one["key"][0], one["key"][1]), one["sequence"], one["reason"], from_iso(one["at"]))
            for one in found
        ]
    except (OSError, ValueError, LookupError, TypeError):
        return []


def add(folder: Path, records: Iterable[SkippedRecord]) -> None:
    """Note records as skipped; of each item only the newest stays."""
    new = list(records)
    keys = {record.key for record in new}
    if new:
        _write(folder, [*(one for one in listed(folder) if one.key not in keys), *new][-MOST:])


def forget(folder: Path, *, key: Key | None = None, before: datetime | None = None) -> None:
    """Forget an item that was taken since, or all that was noted before a projection was built."""
    known = listed(folder)
    kept = [one for one in known if one.key != key and (before is None or iso(one.at) >= iso(before))]
    if len(kept) < len(known):
        _write(folder, kept)


def _write(folder: Path, records: list[SkippedRecord]) -> None:
    found = [asdict(one) | {"at": iso(one.at), "reason": one.reason[:REASON]} for one in records]
    write_whole(folder / SKIPPED, orjson.dumps(found))
