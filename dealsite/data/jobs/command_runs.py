"""Commands that run by themselves or by hand: how each went, kept for 90 days, and the job of the next night."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from zlib import crc32

from dealsite.data import keys, table
from dealsite.data.entities.conversion import reader, writer
from dealsite.data.entities.operations import COMMAND_RUN, SAID_CHARACTERS
from dealsite.data.jobs.jobs import job_write
from dealsite.data.jobs.payloads import to_item
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import epoch_seconds, new_ulid, time_of
from dealsite.data.table.writes import Put, absent

BACKUP, CLOSE_DAY, RETENTION = "backup", "close_day", "retention"
KEPT = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class CommandPayload:
    """A command that needs to be told nothing: its job's kind says which, and its id for which night."""


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A run that has ended; `by` is worker, command or a user, `said` a sentence on what came of it."""

    id: str
    kind: str
    by: str
    ended_at: datetime
    ok: bool
    said: str

    @property
    def began_at(self) -> datetime:
        return time_of(self.id)


_read, _store = reader(COMMAND_RUN.shape, CommandRun), writer(COMMAND_RUN.shape, CommandRun)


@access_pattern("note how a command went", "1 put")
def note(kind: str, *, by: str, began: datetime, now: datetime, ok: bool, said: str) -> CommandRun:
    """Keep how a command or a night's work went for 90 days."""
    run = CommandRun(new_ulid(began), kind, by, now, ok, said[:SAID_CHARACTERS])
    item = COMMAND_RUN.item(_store(run) | {"ttl": epoch_seconds(now + KEPT)})
    table.write(Put(key=keys.command_run(kind, run.id), item=item))
    return run


@access_pattern("how a command went last", "1 query")
def newest(kind: str) -> CommandRun | None:
    """Return the run of a kind that began last; None if there was none for 90 days."""
    rows = table.query(keys.command_run.partition(kind), newest_first=True, limit=1, consistent=True)
    return _read(rows[0]) if rows else None


@access_pattern("have a worker run a command at a time", "1 put")
def plan(kind: str, *, due: datetime) -> bool:
    """Have a worker run a command at a time, or as soon after that as one runs; tell whether that is new."""
    job_id = new_ulid(due, crc32(kind.encode()))  # the same, whoever plans it
    put = job_write(kind, to_item(CommandPayload()), job_id=job_id, due=due)
    with suppress(Conflict):
        table.write(Put(key=put.key, item=put.item, when=(absent(),)))
        return True
    return False
