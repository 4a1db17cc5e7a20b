"""How far a bulk change has come: the chunks in which whom it is about is kept, and what became of each.

Only the worker that has the job writes here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import timedelta

from dealsite.data import keys, table
from dealsite.data.editing.audit import AuditContext
from dealsite.data.editing.bulk_change.bulk_record import (
    CHANGED,
    KEPT,
    REFUSED,
    BulkResult,
    BulkTarget,
    Chunk,
)
from dealsite.data.jobs.jobs import Job
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, BadCursor, Conflict
from dealsite.data.table.ids import epoch_seconds, from_iso, is_ulid, iso, time_of
from dealsite.data.table.writes import Check, Put, Update, absent, equals

SWEPT = timedelta(days=1)  # after `KEPT`, nothing of it is left
PAGE_SIZE = 25


class NotOurs(Conflict):
    """The job was paused, cancelled, or taken by another worker."""


class DoneBefore(Conflict):
    """What was to be done to a deal was done already, by this very job."""


@access_pattern("what a bulk change changed or refused", "BULK#job / CHANGED#id, REFUSED#id", "1 query")
def rows(job_id: str, outcome: str, *, after: str = "", limit: int = PAGE_SIZE) -> list[BulkResult]:
    """Return what became of some deals, those CHANGED or those REFUSED, by id, after an id; BadCursor. 1 query."""
    if after and not is_ulid(after):
        raise BadCursor()
    low, high = keys.bulk_row.between(outcome)
    found = table.query(
        keys.bulk_row.partition(job_id),
        low=f"{outcome}#{after}!" if after else low,
        high=high,
        limit=limit,
        consistent=True,
    )
    return [_row(item) for item in found]


@access_pattern("what became of 50 deals", "BULK#job / CHANGED#id, REFUSED#id", "1 batch get")
def outcomes(job_id: str, subjects: Iterable[str]) -> dict[str, BulkResult]:
    """Return what became of some deals by now, by id. 1 batch get for each 50."""
    ids = list(subjects)
    items = table.batch_get(
        [keys.bulk_row(job_id, outcome, one) for one in ids for outcome in (CHANGED, REFUSED)]
    )
    found = sorted((_row(item) for item in items.values()), key=lambda row: row.outcome == CHANGED)
    return {row.id: row for row in found}


@access_pattern("whether a bulk change changed a deal", "BULK#job / CHANGED#id", "1 get")
def is_changed(job_id: str, subject: str) -> bool:
    """Tell whether a job has changed a deal. 1 get."""
    return table.get(keys.bulk_row(job_id, CHANGED, subject)) is not None


@access_pattern("up to 50 deals that a bulk change is to change", "BULK#job / CHUNK#n", "1 get")
def chunk(job_id: str, number: int) -> Chunk | None:
    """Return a chunk; None if there is none of that number. 1 get."""
    item = table.get(keys.bulk_chunk(job_id, number))
    return _chunk(item) if item else None


@access_pattern("how far the list of a bulk change was read", "BULK#job / CHUNK#n", "1 query")
def last_chunk(job_id: str) -> Chunk | None:
    """Return the chunk that was collected last. 1 query."""
    low, high = keys.bulk_chunk.between()
    found = table.query(
        keys.bulk_row.partition(job_id), low=low, high=high, newest_first=True, limit=1, consistent=True
    )
    return _chunk(found[0]) if found else None


@access_pattern("keep the next 50 deals of a list", "BULK#job, JOB#id / CHUNK#n, itself", "1 transaction")
def collect(job: Job, new: Chunk) -> None:
    """Keep a chunk; NotOurs. 1 transaction."""
    try:
        own = Check(key=keys.job(job.id), when=(equals("taken_by", job.taken_by),), otherwise=NotOurs())
        table.transact([chunk_put(job.id, new), own])
    except AlreadyExists:
        return  # by this worker, the answer was lost: nobody else can


def audit_context(job: Job, row: BulkResult, *, changed: int) -> AuditContext:
    """Return what goes along with the change of a deal: that it was made, by this job's worker, as the how-manieth."""
    return AuditContext(note=f"Job {job.id}", writes=(_row_put(job, row), _count(job, "changed", changed)))


@access_pattern("note why deals were left alone", "BULK#job, JOB#id / REFUSED#id, itself", "1 transaction")
def refuse(job: Job, refused: Sequence[BulkResult], *, in_all: int) -> None:
    """Note which deals were left alone, at most a chunk of them, and why; NotOurs. 1 transaction."""
    table.transact([*(_row_put(job, row) for row in refused), _count(job, "refused", in_all)])


def _count(job: Job, what: str, number: int) -> Update:
    """Return the write that counts, and holds only while the job belongs to the worker who took it."""
    return Update(
        key=keys.job(job.id),
        set={("progress", what): number},
        when=(equals("taken_by", job.taken_by),),
        otherwise=NotOurs(),
    )


def _row_put(job: Job, row: BulkResult) -> Put:
    """Return the write that notes what became of a deal."""
    item = {
        "type": "BulkRow",
        "job": job.id,
        "subject": row.id,
        "title": row.title,
        "outcome": row.outcome,
        "before": row.before,
        "after": row.after,
        "reason": row.reason,
        "chunk": row.chunk,
        "ttl": _swept_at(job.id),
    }
    when = (absent(),) if row.outcome == CHANGED else ()
    return Put(key=keys.bulk_row(job.id, row.outcome, row.id), item=item, when=when, otherwise=DoneBefore())


def chunk_put(job_id: str, new: Chunk) -> Put:
    """Return the write that keeps a chunk."""
    item = {
        "type": "BulkChunk",
        "job": job_id,
        "number": new.number,
        "subjects": [asdict(subject) for subject in new.subjects],
        "collected_at": iso(new.collected_at),
        "after": new.after,
        "ttl": _swept_at(job_id),
    }
    return Put(
        key=keys.bulk_chunk(job_id, new.number), item=item, when=(absent(),), otherwise=AlreadyExists()
    )


def _swept_at(job_id: str) -> int:
    return epoch_seconds(time_of(job_id) + KEPT + SWEPT)


def _row(item: Item) -> BulkResult:
    return BulkResult(
        id=item["subject"],
        title=item["title"],
        outcome=item["outcome"],
        before=item["before"],
        after=item["after"],
        reason=item["reason"],
        chunk=item["chunk"],
    )


def _chunk(item: Item) -> Chunk:
    subjects = tuple(BulkTarget(**subject) for subject in item["subjects"])
    return Chunk(item["number"], subjects, from_iso(item["collected_at"]), item["after"])
