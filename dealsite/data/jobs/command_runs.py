"""Commands that run by themselves or by hand: how each went, kept for 90 days, and the job of the next night."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from zlib import crc32

from dealsite.data import keys, table
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.operations import COMMAND_RUN, SAID_CHARACTERS
from dealsite.data.jobs.jobs import AHEAD, job_write
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import epoch_seconds, first_ulid_of, new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put, absent

BACKUP, CLOSE_DAY, RETENTION, CHECK_TABLE = "backup", "close_day", "retention", "check_table"
SNAPSHOT = "snapshot"
MANY = 30  # runs among which the last check of a kind is looked for
KEPT = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class CommandPayload:
    """A command that needs to be told nothing: its job's kind says which, and its id for which night."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check of the table found: a whole one, or a sample, which saw items one by one up to `position`.

    `items` counts those twice that were looked at twice, to be sure; `unreadable` are secrets of second factors that
    open under no key of the site.
    """

    scope: Literal["whole", "sample"]
    items: int
    problems: int
    repaired: int = 0
    unreadable: int = 0
    position: dict[str, Any] | None = None

    @property
    def left(self) -> int:
        """How many problems are still there."""
        return self.problems - self.repaired


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A run that has ended; `by` is worker, command or a user, `said` a sentence on what came of it."""

    id: str
    kind: str
    by: str
    ended_at: datetime
    ok: bool
    said: str
    check: CheckResult | None = None

    @property
    def began_at(self) -> datetime:
        return time_of(self.id)


_read, _store = reader(COMMAND_RUN.shape, CommandRun), writer(COMMAND_RUN.shape, CommandRun)


@access_pattern("note how a command went", "1 put")
def note(
    kind: str,
    *,
    by: str,
    began: datetime,
    now: datetime,
    ok: bool,
    said: str,
    check: CheckResult | None = None,
) -> CommandRun:
    """Keep how a command or a night's work went for 90 days."""
    run = CommandRun(new_ulid(began), kind, by, now, ok, said[:SAID_CHARACTERS], check)
    item = COMMAND_RUN.item(_store(run) | {"ttl": epoch_seconds(now + KEPT)})
    table.write(Put(key=keys.command_run(kind, run.id), item=item))
    return run


@access_pattern("how a command went last", "1 query")
def newest(kind: str, *, now: datetime, most: int = 1) -> list[CommandRun]:
    """Return the runs of a kind that began last, newest first; none if there was none for 90 days.

    Those of a clock that was ahead are left out.
    """
    partition, high = keys.command_run(kind, first_ulid_of(now + AHEAD))
    rows = table.query(partition, high=high, newest_first=True, limit=most, consistent=True)
    return [_read(row) for row in rows]


def checks(*, now: datetime) -> list[CheckResult]:
    """Return what the last checks of the table found, newest first. 1 query."""
    return [run.check for run in newest(CHECK_TABLE, now=now, most=MANY) if run.check]


@access_pattern("have a worker run a command at a time", "1 put")
def plan(kind: str, *, due: datetime) -> str:
    """Have a worker run a command at a time, or as soon after that as one runs; return the job's id."""
    job_id = new_ulid(due, crc32(kind.encode()))  # the same, whoever plans it
    put = job_write(kind, CommandPayload(), job_id=job_id, due=due)
    with suppress(Conflict):
        table.write(Put(key=put.key, item=put.item, when=(absent(),)))
    return job_id
