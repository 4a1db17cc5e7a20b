"""Parts: what a large job is split into, each a job of its own, so that any number of workers share it.

    open, without parts -> split -> looked after until all are done -> done

The job itself only looks after its parts, every two seconds and whenever one ends: it adds up what they did, lets those
go on that rested with it, and fails when one of them does, once the others have ended. A part has a lease of its own:
whose worker died is taken by another one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dealsite.data import keys, table
from dealsite.data.entities.work import PART, open_rows
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job, job_write, parts_of
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import from_iso, iso
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put, Update, Write, absent, equals

MOST = 16  # parts of a job
ANY = (None, None)  # a part that is no range
LOOK_EVERY = timedelta(seconds=2)
RESTED_AFTER = timedelta(seconds=20)  # without a look, and the job rested: that time does not count


@dataclass(frozen=True, slots=True)
class PartPayload:
    """Which part of which job it is, of how many; where it is a range, what it begins after and its last."""

    of: str
    number: int
    count: int
    after: str | None = None
    last: str | None = None


@access_pattern("split a job into parts", "1 transaction")
def split(
    job: Job, ranges: Sequence[tuple[str | None, str | None]], *, progress: dict[str, Any], now: datetime
) -> datetime:
    """Split a job into up to 16 parts, by what each begins after and its last; returns when to look after them.

    Conflict if it is not ours any more.
    """
    changes = {"parts": len(ranges), "progress": progress | {"noted_at": iso(now)}}
    writes: list[Write] = [
        Update(key=keys.job(job.id), set=changes, when=(equals("taken_by", job.taken_by),))
    ]
    for number, one in enumerate(ranges):
        payload = payload_to_item(PartPayload(job.id, number, len(ranges), *one))
        put = job_write(PART, payload, job_id=jobs.part_id(job.id, number), due=now)
        writes.append(Put(key=put.key, item=put.item | {"progress": {}}, when=(absent(),)))
    table.transact(writes)
    return now + LOOK_EVERY


@access_pattern("look after the parts of a job", "1 batch get + 1 update")
def look_after(job: Job, *, now: datetime, is_all: bool = False) -> datetime | None:
    """Note what the parts of a job have done; return when to look again, None if all is done.

    `is_all`: what was counted is all that there was. 1 update more for each part that rested with the job. Raises
    jobs.Failed where one has failed for good.
    """
    parts = parts_of(job)
    is_done = all(part.state == "done" for part in parts)
    progress = jobs.summed(job, parts)
    if is_done and is_all:
        progress["total"] = sum(sum(part.progress.values()) for part in parts)
    since = now - from_iso(progress["noted_at"])
    if timedelta(0) < since < RESTED_AFTER:
        progress["milliseconds"] = progress.get("milliseconds", 0) + since // timedelta(milliseconds=1)
    progress["noted_at"] = iso(now)
    error = jobs.SILENT if any(part.is_silent(now) for part in parts) else ""
    jobs.save_progress(job, progress, now=now, error=error)
    failed = [part for part in parts if part.state == "failed"]
    if failed and not any(part.state == "open" for part in parts):
        for part in failed:
            _set_open(part, "failed", "paused", now)  # for the next try of the job
        raise jobs.Failed(failed[0].error)
    for part in parts:
        if part.state == "paused":
            _set_open(part, "paused", "open", now)
    return None if is_done else now + LOOK_EVERY


def _set_open(part: Job, known: str, state: str, now: datetime) -> None:
    rows = open_rows(PART, part.id, now) if state == "open" else {}
    changes: dict[Any, Any] = {"state": state, ("card", "state"): state, "tries": 0, **rows}
    when = (equals("state", known),)
    table.write(Update(key=keys.job(part.id), set=changes, remove=("ttl", "error"), when=when))


def job_of(part: Job) -> Job:
    """Return the job of a part that goes on; Cancelled, or Orphaned until the job goes on. 1 get."""
    job = jobs.get(payload_of(part).of)
    if job.state in ("paused", "failed"):
        raise jobs.Orphaned(f"Its job is {job.state}.")
    if job.state != "open":
        raise jobs.Cancelled(f"Its job is {job.state}.")
    return job


def payload_of(part: Job) -> PartPayload:
    """Return which part it is."""
    return payload_from_item(PartPayload, part.payload)


@access_pattern("say that a part has ended", "1 update")
def tell(part: Job, *, now: datetime) -> None:
    """Have the job of a part that has ended looked after at once; harmless if it is over."""
    job_id = payload_of(part).of
    position = keys.open_jobs.position(now, job_id)
    try:
        table.write(Update(key=keys.job(job_id), set={"GSI3SK": position}, when=(equals("state", "open"),)))
    except Conflict:
        return
