"""Migrations: every item of an older schema is stored in the shape of now, page by page, while the site runs.

    begun -> ... a page of 500 items, and where it ended ... -> done

Each item changes only while it is as it was read, and once: a page that comes again finds it done.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from dealsite.data import keys, table
from dealsite.data.integrity.problem import Pace
from dealsite.data.table.configuration import configuration, upgrade_write
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Busy, Conflict, Invalid, Misconfigured, VersionConflict
from dealsite.data.table.ids import hash_of
from dealsite.data.table.writes import Put, Update, absent, equals

PAGE = 500
AT_ONCE = 25  # in one transaction: who edits one of them waits no longer than for that
RATE = 1000.0  # items a second
MIGRATED, CURRENT, NEWER, CONTENDED = "migrated", "current", "newer", "contended"
OTHER = "other"  # of a type that was not asked for

Change = Callable[[Item], Update | None]


@dataclass(frozen=True, slots=True)
class Migration:
    """How far a migration has come: the key after which it goes on, and what became of the items so far.

    `aim` tells which schemas it leads to; `counts` holds numbers of items by outcome and type.
    """

    name: str
    aim: str
    start: dict[str, Any] | None = None
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    version: int = 0
    is_done: bool = False

    @property
    def seen(self) -> int:
        return sum(sum(of_type.values()) for of_type in self.counts.values())

    def total(self, outcome: str) -> int:
        return sum(of_type.get(outcome, 0) for of_type in self.counts.values())


def find(name: str) -> Migration | None:
    """Return a migration of a name, None if there was none. 1 get."""
    item = table.get(keys.migration(name))
    if item is None:
        return None
    return Migration(**{one: item[one] for one in Migration.__slots__ if one in item})


def save(migration: Migration) -> Migration:
    """Keep how far a migration has come; VersionConflict if another process is at it. 1 put."""
    after = replace(migration, version=migration.version + 1)
    item = {"type": "Migration", **{one: getattr(after, one) for one in Migration.__slots__}}
    same = equals("version", migration.version) if migration.version else absent()
    table.write(Put(key=keys.migration(after.name), item=item, when=(same,), otherwise=VersionConflict()))
    return after


def begin(name: str, *, only: str = "", aim: str = "") -> Migration:
    """Return a migration to go on with: a new one, unless one of the same aim was ended before its end. 1 get.

    What it is to lead to is the schemas of now, if no other `aim` is said.
    """
    aim = hash_of(
        aim or " ".join(f"{kind}:{known.version}" for kind, known in sorted(_schemas(only).items()))
    )
    found = find(name)
    if found is None:
        return Migration(name, aim)
    if found.is_done or found.aim != aim:
        return Migration(name, aim, version=found.version)
    return found


def run(
    migration: Migration,
    *,
    only: str = "",
    dry_run: bool = False,
    pace: Pace,
    advance: Callable[[Migration], object] = lambda _: None,
    change: Change = upgrade_write,
) -> Migration:
    """Migrate the items that are left, all or those of a type; VersionConflict if another process is at it, too.

    `change` returns the write that an item needs, None if it needs none; `advance` is told after each page. A dry run
    reads and counts only. For each 500 items 1 scan, 1 transaction for each 25 that are changed, and 1 put; for what
    was changed meanwhile 1 get and 1 update each.
    """
    while not migration.is_done:
        rows = table.scan_page(limit=PAGE, start=migration.start, consistent=True, as_stored=True)
        counts = {kind: dict(of_type) for kind, of_type in migration.counts.items()}
        for item, outcome in _migrate(rows.items, only, change, dry_run=dry_run, pace=pace):
            of_type = counts.setdefault(str(item.get("type", "-")), {})
            of_type[outcome] = of_type.get(outcome, 0) + 1
        migration = replace(migration, counts=counts, start=rows.start, is_done=rows.start is None)
        if not dry_run:
            migration = save(migration)
        advance(migration)
    return migration


def _schemas(only: str = "") -> table.Schemas:
    schemas = configuration().schemas
    return table.Schemas({only: schemas[only]}) if only else schemas


def _migrate(
    items: list[Item], only: str, change: Change, *, dry_run: bool, pace: Pace
) -> Iterator[tuple[Item, str]]:
    """Yield what became of each item of a page."""
    schemas, left = configuration().schemas, list[tuple[Item, Update]]()
    for item in items:
        if only and item.get("type") != only:
            yield item, OTHER
        elif schemas.is_newer(item):
            yield item, NEWER
        elif (update := change(item)) is None:
            yield item, CURRENT
        else:
            left.append((item, update))
    for first in range(0, len(left), AT_ONCE):
        some = left[first : first + AT_ONCE]
        if dry_run:
            yield from ((item, MIGRATED) for item, _ in some)
            continue
        pace(len(some))
        try:
            table.transact([update for _, update in some])
            yield from ((item, MIGRATED) for item, _ in some)
        except (
            Conflict,
            Busy,
            Invalid,
            Misconfigured,
        ):  # one was changed meanwhile, may not be, or is too much
            yield from ((item, _migrate_one(item, change)) for item, _ in some)


def _migrate_one(item: Item, change: Change) -> str:
    """Migrate an item as it is now; what was deleted meanwhile needs nothing."""

    def attempt() -> str:
        found = table.get((item["PK"], item["SK"]), as_stored=True)
        if found is not None and configuration().schemas.is_newer(found):
            return NEWER
        update = change(found) if found else None
        if update is None:
            return CURRENT
        try:
            table.write(update)
        except Misconfigured:  # a role may be denied to change logs
            return CONTENDED
        return MIGRATED

    try:
        return table.retrying(attempt, on=Conflict, otherwise=Conflict)
    except Conflict:
        return CONTENDED


def by_type(migration: Migration, outcome: str) -> Counter[str]:
    """Return how many items of each type had an outcome."""
    return Counter({kind: n for kind, of_type in migration.counts.items() if (n := of_type.get(outcome))})
