"""How a projection's consumer is doing: a small file in its folder, written about once a second."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson

from dealsite.data.table.ids import from_iso, iso
from dealsite.processes.shared_files import write_whole

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


def note(folder: Path, status: ConsumerStatus) -> None:
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
