"""Heartbeats: when a worker, on whatever machine, last said that it lives, and when a web process last could write."""

from datetime import datetime, timedelta
from typing import Literal

from dealsite.data import keys, table
from dealsite.data.entities.operations import HEARTBEAT
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.ids import epoch_seconds, from_iso, iso
from dealsite.data.table.writes import Put

Part = Literal["worker", "web", "unknown"]  # the last one: a worker met a job of a kind that it does not know
KEPT = timedelta(days=1)  # then nobody asks any more how long ago it was
MISSING_AFTER = timedelta(minutes=1)  # four heartbeats; a worker that is started again is back long before


@access_pattern("say that a process lives", "1 put")
def write(part: Part, *, now: datetime) -> None:
    """Say that a process of a part lives. All of a part write the same item, since one that lives is enough."""
    item = HEARTBEAT.item({"part": part, "at": iso(now), "ttl": epoch_seconds(now + KEPT)})
    table.write(Put(key=keys.heartbeat(part), item=item))


@access_pattern("when a process last said that it lives", "1 get")
def last(part: Part) -> datetime | None:
    """Return when a process of a part last said that it lives; None if none did for a day."""
    item = table.get(keys.heartbeat(part))
    return from_iso(item["at"]) if item else None


def is_missing(at: datetime | None, *, now: datetime) -> bool:
    """Tell whether a part's last heartbeat is so old, or so far ahead, that none of its processes can be alive."""
    return at is None or abs(now - at) > MISSING_AFTER
