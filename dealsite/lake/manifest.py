"""The lake's paths, and which files it should have, so that what was deleted or damaged behind its back is noticed.

`files.json` says so as of the last compaction: `files` with their sizes and times, and `superseded`, whose rows are all
in other files. Without it the lake is made anew.
"""

from collections.abc import Iterable
from datetime import date
from typing import TypeAlias

import orjson
import structlog

from dealsite.lake.entities import Entity
from dealsite.lake.store import Store
from dealsite.stream.projection import Damaged

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


Stat: TypeAlias = tuple[int, int]  # bytes, and when it was changed (ns)
DAMAGED_KEPT = 20  # files, for whoever wants to look at them

logger = structlog.get_logger(__name__)


def note(store: Store, superseded: Iterable[str] = ()) -> None:
    """Write down what the lake has now, and which of it nobody needs to read any more."""
    gone = sorted(superseded)
    kept = {path: stat for path, stat in found(store).items() if path not in set(gone)}
    store.put(FILES, orjson.dumps({"files": kept, "superseded": gone}))


def found(store: Store) -> dict[str, Stat]:
    """Return the files that the lake has, with what tells a changed one."""
    return {p: s for part in (CURRENT, RECENT, HISTORY) for p, s in store.stats(part).items()}


def read(store: Store) -> tuple[dict[str, Stat], list[str]] | None:
    """Return what was noted: files, and those superseded; None where nothing is, or nothing that can be read."""
    content = store.get(FILES)
    try:
        noted = orjson.loads(content or b"")
        return {path: (stat[0], stat[1]) for path, stat in noted["files"].items()}, list(noted["superseded"])
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def superseded(store: Store) -> list[str]:
    """Return the paths of files whose rows are all in other files, and which nobody needs to read any more."""
    noted = read(store)
    return noted[1] if noted else []


def is_whole(store: Store) -> bool:
    """Tell whether all is there that was noted, unchanged; of the history some may be missing."""
    noted = read(store)
    if noted is None:
        return False
    there = found(store)
    return all(there.get(path, stat if is_history(path) else None) == stat for path, stat in noted[0].items())


class Watch:
    """What one process knows of the lake's files: those noted, and those that it wrote since."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._files: dict[str, Stat | None] = {}

    def begin(self) -> None:
        """Start from what was noted, and read what was written later; Damaged where nothing was noted."""
        files, gone = read(self._store) or ({}, [])
        self._files = dict(files)
        self.check()
        known = {*files, *gone}
        for path in self._files.keys() - known:
            self._check_content(path)

    def wrote(self, path: str, stat: Stat | None) -> None:
        """Know of a file that this process wrote, and how it left it."""
        self._files[path] = stat

    def has(self, path: str) -> bool:
        """Tell whether a file is known to be there: a name stands for the rows, so it need not be written again."""
        return path in self._files

    def check(self) -> None:
        """Raise Damaged where a file that the state of now needs is missing, or was changed and cannot be read."""
        noted = read(self._store)
        if noted is None:
            raise Damaged("It is not known which files the lake should have.")
        gone = set(noted[1])
        there = {path: stat for path, stat in found(self._store).items() if path not in gone}
        known, self._files = self._files, dict(there)
        missing = sorted(path for path in known if path not in there and path not in gone)
        lost = [path for path in missing if is_history(path)]
        if lost:
            logger.error("lake_history_lost", files=len(lost), first=lost[0])
        if len(missing) > len(lost):
            raise Damaged(f"{len(missing) - len(lost)} files of the lake are missing.")
        changed = [path for path, stat in there.items() if (known.get(path) or stat) != stat]
        for path in changed:
            self._check_content(path)
        if changed:  # what can be read was copied back, or touched
            note(self._store, gone)

    def _check_content(self, path: str) -> None:
        from dealsite.lake import rows  # and pyarrow, for which web processes have no use

        content = self._store.get(path)
        if content is not None and not rows.is_readable(content):
            unreadable(self._store, path)
            self._files.pop(path, None)


def is_history(path: str) -> bool:
    """Tell whether a file tells of changes, which no rebuild could bring back."""
    return path.startswith(f"{HISTORY}/")


def unreadable(store: Store, path: str) -> None:
    """Set a file of changes that cannot be read apart from the others; raise Damaged for a file of states."""
    if not is_history(path):
        raise Damaged(f"{path} cannot be read.")
    content = store.get(path)
    if content is None:
        return  # deleted just now
    apart = f"{DAMAGED}/{path.replace('/', ' ')}"
    store.put(apart, content)
    store.delete(path)
    kept = store.stats(DAMAGED)
    for old in sorted(kept, key=lambda path: kept[path][1], reverse=True)[DAMAGED_KEPT:]:
        store.delete(old)
    logger.error("lake_history_damaged", file=path, kept_as=apart)
