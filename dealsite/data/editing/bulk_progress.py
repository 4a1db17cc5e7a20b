"""How far a bulk change has come, written only by the worker that has its job: chunks, and what became of each deal."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from dealsite.data import keys, table
from dealsite.data.catalogue.brands import Brand, BrandChanged
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.deal.editing import StockChanged
from dealsite.data.catalogue.entries import Entry
from dealsite.data.editing import bulk
from dealsite.data.editing.audit import AuditContext
from dealsite.data.editing.bulk import BulkChange, BulkPayload, BulkResult, Chunk
from dealsite.data.editing.verbs.edit import Edit
from dealsite.data.editing.verbs.verb import Doing, Prefetched
from dealsite.data.entities.batches import BULK_CHUNK, BULK_ROW, CHANGED, REFUSED
from dealsite.data.entities.conversion import reader, writer
from dealsite.data.jobs.jobs import BULK_CHANGE, Job
from dealsite.data.jobs.payloads import to_item
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import AlreadyExists, BadCursor, Conflict, NotFound, VersionConflict
from dealsite.data.table.ids import is_ulid, new_ulid
from dealsite.data.table.writes import Check, Put, Update, Write, absent, equals

PAGE_SIZE = 25
TRIES = 5
OF_JOB, OF_UNDO = "Job ", "Undo "  # before its id, in the audit log
CONTENDED = "Others were changing it all the time."

Outcome = TypeVar("Outcome")


class NotOurs(Conflict):
    """The job was paused, cancelled, or taken by another worker."""


@access_pattern("what a bulk change changed or refused", "1 query")
def rows(job_id: str, outcome: str, *, after: str = "", limit: int = PAGE_SIZE) -> list[BulkResult]:
    """Return what became of some deals, those CHANGED or those REFUSED, by id, after an id; BadCursor."""
    if after and not is_ulid(after):
        raise BadCursor()
    low, high = keys.bulk_row.between(outcome)
    low = f"{outcome}#{after}!" if after else low
    partition = keys.bulk_row.partition(job_id)
    return [
        _read_result(one) for one in table.query(partition, low=low, high=high, limit=limit, consistent=True)
    ]


@access_pattern("what became of 50 deals", "1 batch get")
def outcomes(job_id: str, ids: Sequence[str]) -> dict[str, BulkResult]:
    """Return what became of some deals by now, by id. 1 batch get for each 50."""
    wanted = [keys.bulk_row(job_id, outcome, one) for one in ids for outcome in (CHANGED, REFUSED)]
    found = [_read_result(item) for item in table.batch_get(wanted).values()]
    return {one.id: one for one in sorted(found, key=lambda one: one.outcome == CHANGED)}


@access_pattern("whether a bulk change changed a deal", "1 get")
def is_changed(job_id: str, target: str) -> bool:
    """Tell whether a job has changed a deal."""
    return table.get(keys.bulk_row(job_id, CHANGED, target)) is not None


def once(
    job_id: str, target: str, attempt: Callable[[], Outcome], again: Callable[[], None], *, done: Outcome
) -> Outcome:
    """Change a deal by an attempt that notes it, again where others were faster; `done` if a job has changed it before.

    `again` reads anew what the attempt needs. NotOurs, Unavailable; another DataError says why it is left alone.
    """
    for _try in range(TRIES):
        try:
            return attempt()
        except (VersionConflict, BrandChanged, StockChanged, bulk.DoneBefore, NotFound) as error:
            if is_changed(job_id, target):  # by this very job, whose answer was lost
                return done
            if isinstance(error, NotFound):
                raise
            again()
    raise Conflict(CONTENDED)


@access_pattern("up to 50 deals that a bulk change is to change", "1 get")
def chunk(job_id: str, number: int) -> Chunk | None:
    """Return a chunk; None if there is none of that number."""
    item = table.get(keys.bulk_chunk(job_id, number))
    return _read_chunk(item) if item else None


@access_pattern("how far the list of a bulk change was read", "1 query")
def last_chunk(job_id: str) -> Chunk | None:
    """Return the chunk that was collected last."""
    partition, (low, high) = keys.bulk_row.partition(job_id), keys.bulk_chunk.between()
    found = table.query(partition, low=low, high=high, newest_first=True, limit=1, consistent=True)
    return _read_chunk(found[0]) if found else None


@access_pattern("keep the next 50 deals of a list", "1 transaction")
def collect(job: Job, new: Chunk) -> None:
    """Keep a chunk; NotOurs."""
    try:
        table.transact([bulk.chunk_put(job.id, new), _is_ours(job)])
    except AlreadyExists:
        return  # by this worker, the answer was lost: nobody else can


def audit_context(job: Job, row: BulkResult, *, changed: int) -> AuditContext:
    """Return what goes along with the change of a deal: that it was made, by this job's worker, and the new count."""
    writes = (_result_put(job.id, row), _count(job, "changed", changed))
    return AuditContext(note=_note(job), writes=writes)


def _note(job: Job) -> str:
    """Return what the audit log says of a change by a job."""
    return f"{OF_JOB if job.kind == BULK_CHANGE else OF_UNDO}{job.id}"


def context_alone(job: Job, row: BulkResult, writes: Sequence[Write]) -> AuditContext:
    """Return what goes along with the change of the one deal of a job: the whole job, over already; and some writes."""
    order = bulk.of_job(job).order
    done = bulk.order_write(job.kind, order, job_id=job.id, due=job.created_at, state="done")
    return AuditContext(note=_note(job), writes=(done, _result_put(job.id, row), *writes))


class DoneAlone:
    """A job that does a verb to one thing in hand: for a form, which says what it is to be, and what is wrong with it.

    `row` is what became of it, and undone it is like all else. `writes` join its transaction.
    """

    def __init__(
        self,
        change: BulkChange,
        *,
        title: str,
        by: str,
        now: datetime,
        entry_id: str = "",
        writes: Sequence[Write] = (),
    ) -> None:
        payload = BulkPayload(change.kind, change.action, change.value, by, now, 1)
        self.job = Job(new_ulid(now), BULK_CHANGE, to_item(payload))
        self.row = BulkResult(entry_id or self.job.id, title, CHANGED, chunk=1)
        self.writes = writes

    def note(self, before: str, after: str, stock: int | None = None) -> AuditContext:
        """Return what goes along with the change, given the values before and after."""
        self.row = replace(self.row, before=before, after=after, stock=stock)
        return context_alone(self.job, self.row, self.writes)


@access_pattern("change a deal or draft as a form says", "1 transaction")
def edit_alone(
    entry: Entry,
    content: DealContent,
    *,
    brand: Brand | None,
    by: str,
    now: datetime,
    writes: Sequence[Write] = (),
) -> tuple[Entry, str]:
    """Give a deal or draft what was typed, in a way that can be undone; returns it, and the id of the job.

    VersionConflict, StockChanged, Invalid.
    """
    change = BulkChange(entry.kind, Edit.name)
    title = content.title
    done = DoneAlone(change, title=title, by=by, now=now, entry_id=entry.id, writes=writes)
    known = Prefetched({content.brand: brand} if brand else {})
    return Edit().make(entry, content, Doing("", known, done.note, by, now)), done.job.id


def imported_context(job: Job, import_id: str, row: BulkResult) -> AuditContext:
    """Return what goes along with a change by a row of a file: that the import made it, by this job's worker."""
    return AuditContext(note=f"Import {import_id}", writes=(_result_put(import_id, row), _is_ours(job)))


@access_pattern("note why deals were left alone", "1 transaction")
def refuse(job: Job, refused: Sequence[BulkResult], *, in_all: int) -> None:
    """Note which deals were left alone, at most a chunk of them, and why; NotOurs."""
    table.transact([*(_result_put(job.id, row) for row in refused), _count(job, "refused", in_all)])


def _count(job: Job, what: str, number: int) -> Update:
    """Return the write that counts, and holds only while the job belongs to the worker who took it."""
    ours = (equals("taken_by", job.taken_by),)
    return Update(key=keys.job(job.id), set={("progress", what): number}, when=ours, otherwise=NotOurs())


def _is_ours(job: Job) -> Check:
    return Check(key=keys.job(job.id), when=(equals("taken_by", job.taken_by),), otherwise=NotOurs())


def _result_put(job_id: str, row: BulkResult) -> Put:
    item = BULK_ROW.item({"job": job_id, **_store_result(row), "ttl": bulk.expires_at(job_id)})
    when = (absent(),) if row.outcome == CHANGED else ()
    key = keys.bulk_row(job_id, row.outcome, row.id)
    return Put(key=key, item=item, when=when, otherwise=bulk.DoneBefore())


_read_result = reader(BULK_ROW.shape, BulkResult, id="subject")
_store_result = writer(BULK_ROW.shape, BulkResult, id="subject")
_read_chunk = reader(BULK_CHUNK.shape, Chunk, targets="subjects")
