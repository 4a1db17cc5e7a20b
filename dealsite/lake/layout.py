"""The lake's paths."""

from collections.abc import Iterable
from datetime import date

from dealsite.lake.entities import Entity

CURRENT, RECENT, HISTORY = "current", "recent", "history"
STATE = "state.json"  # the checkpoint
FILES = "files.json"  # what there should be, and what is merged into others and goes soon
DAMAGED = "damaged"  # what could not be read
MADE = (
    "building"  # below it, in a folder of its own, a new lake's current/ until it takes the old one's place
)
READY, SWAPPING = "building/ready.json", "building/swapping.json"


def recent(entity: Entity) -> str:
    return f"{RECENT}/entity={entity.table}"


def current(entity: Entity, day: date) -> str:
    return f"{CURRENT}/entity={entity.table}/day={day.isoformat()}"


def history(entity: Entity, day: date) -> str:
    return f"{HISTORY}/entity={entity.table}/day={day.isoformat()}"


def days(top: str, entity: Entity, paths: Iterable[str]) -> dict[str, list[str]]:
    """Return those of some paths that are an entity's files by day, grouped by their folder."""
    found: dict[str, list[str]] = {}
    start = f"{top}/entity={entity.table}/day="
    for path in paths:
        if path.startswith(start):
            found.setdefault(path.rpartition("/")[0], []).append(path)
    return found
