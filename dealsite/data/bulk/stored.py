"""One change of many deals or drafts: ordered here, carried out by a job, and taken back by another one.

    ordered -> collected in chunks -> changed one by one -> done        done | cancelled | failed -> undone

Who they are is settled before anything changes: a selection is kept with the order, a list is read to its
end, as of the moment of the order, into chunks. So no change moves what is still to be read. With each deal a
chunk keeps the value that it had then; whose value is another one by the time that its turn comes, or who came
later, is left alone and reported.

Each deal is changed in a transaction of its own, which notes that it was, once, and holds only while the job
belongs to its worker: nothing is changed twice, and nothing after the job was paused or cancelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data import audit, keys, table
from dealsite.data.audit import Errand
from dealsite.data.convert import Item
from dealsite.data.errors import AlreadyExists, BadCursor, Conflict, Invalid, NotFound
from dealsite.data.ids import epoch_seconds, from_iso, is_ulid, iso, time_of
from dealsite.data.jobs import BULK_CHANGE, BULK_UNDO, Job, job_from_item, job_write
from dealsite.data.writes import Check, Path, Put, Update, Write, absent, equals, missing

CHUNK = 50  # deals between two checkpoints
MOST_CHOSEN = 100  # deals of a selection
KEPT = timedelta(days=30)  # as long as the trash: until then a change can be taken back
SWEPT = timedelta(days=1)  # later, nothing of it is left
CHANGED, REFUSED = keys.CHANGED, keys.REFUSED  # what became of a deal
PAGE_SIZE = 25

PUBLISH, EXPIRE, EXPIRY, CATEGORY, BRAND = "publish", "expire", "expiry", "category", "brand"
DELETE, FEATURE, UNFEATURE = "delete", "feature", "unfeature"
ACTIONS: Mapping[str, tuple[str, ...]] = {
    "deal": (EXPIRE, EXPIRY, CATEGORY, BRAND, FEATURE, UNFEATURE, DELETE),
    "draft": (PUBLISH, EXPIRY, CATEGORY, BRAND, DELETE),
}
FIELDS = {EXPIRE: "expires_at", EXPIRY: "expires_at", CATEGORY: "category", BRAND: "brand"}


class NotOurs(Conflict):
    """The job was paused, cancelled, or taken by another worker."""


class DoneBefore(Conflict):
    """What was to be done to a deal was done already, by this very job."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to deals (`kind` deal) or drafts: one of ACTIONS.

    `value` is the expiry as an ISO time, the slug of a category or brand, or the id of a page.
    """

    kind: str
    action: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Matching:
    """A list of deals or drafts, whole: its filters as `deal_lists` and search take them; `how` as search found it."""

    state: str = "all"
    brand: str = ""
    category: str = ""
    words: str = ""
    how: str = "exact"


@dataclass(frozen=True, slots=True)
class Subject:
    """A deal or draft to be changed, with the value that it had when it was chosen."""

    id: str
    title: str
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some subjects; `after` is where in the list the next chunk begins, '' in the last one."""

    number: int
    subjects: tuple[Subject, ...]
    collected_at: datetime
    after: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one deal or draft: the value that it had and the one that it got, or why it was left alone."""

    id: str
    title: str
    outcome: str
    before: str = ""
    after: str = ""
    reason: str = ""
    chunk: int = 0


@dataclass(frozen=True, slots=True)
class Bulk:
    """A bulk change, or an undo: `undoes` is the id of the job taken back, `undone_by` that of the one that did so."""

    job: Job
    change: Change
    by: str
    asked_at: datetime
    matching: Matching | None = None
    total: int = 0
    undoes: str = ""
    undone_by: str = ""

    @property
    def kept_until(self) -> datetime:
        return time_of(self.job.id) + KEPT

    def may_be_undone(self, now: datetime) -> bool:
        """Tell whether what it did can be taken back: it has ended, it did something, and nobody undid it before."""
        ended = self.job.state in ("done", "cancelled", "failed")
        changed = bool(self.job.progress.get("changed"))
        return ended and changed and not self.undoes and not self.undone_by and now < self.kept_until


# Ordering


def start(
    change: Change,
    *,
    job_id: str,
    by: str,
    asked_at: datetime,
    now: datetime,
    subjects: Sequence[Subject] = (),
    matching: Matching | None = None,
    total: int = 0,
) -> None:
    """Order a change of some deals, or of all of a list; the same id again is harmless. 1 transaction.

    `asked_at` is when the editor saw what would change. Invalid for no deals, or more than 100 chosen ones.
    """
    if change.action not in ACTIONS.get(change.kind, ()):
        raise Invalid(action=gettext_lazy("There is no such change."))
    if matching is None and not 1 <= len(subjects) <= MOST_CHOSEN:
        raise Invalid(deal=_("Choose between 1 and %(most_chosen)s deals.") % {"most_chosen": MOST_CHOSEN})
    payload = {**asdict(change), "by": by, "asked_at": iso(asked_at), "total": total or len(subjects)}
    if matching is not None:
        payload["matching"] = asdict(matching)
    writes: list[Write] = []
    for first in range(0, len(subjects), CHUNK):
        number, some = first // CHUNK + 1, tuple(subjects[first : first + CHUNK])
        last = first + CHUNK >= len(subjects)
        writes.append(_chunk_put(job_id, Chunk(number, some, now, "" if last else "more")))
    entry = audit.entry_write(
        by=by,
        kind="job",
        subject=job_id,
        what="changes many deals",
        now=now,
        note=_in_words(change, matching),
    )
    _order(BULK_CHANGE, payload, job_id, now, [*writes, entry])


def undo(job_id: str, *, undo_id: str, by: str, now: datetime) -> None:
    """Order that a bulk change be taken back, once; the same id again is harmless.

    NotFound, and Conflict where it cannot be (any more). 1 get + 1 transaction.
    """
    bulk = get(job_id)
    if bulk.undone_by == undo_id:
        return
    if bulk.undone_by:
        raise Conflict(gettext_lazy("This was undone already."))
    if not bulk.may_be_undone(now):
        raise Conflict(gettext_lazy("There is nothing to undo, or it is not over yet."))
    payload = {**asdict(bulk.change), "by": by, "asked_at": iso(now), "undoes": job_id}
    payload["total"] = bulk.job.progress["changed"]
    given_up: dict[Path, Any] = {"state": "cancelled", ("card", "state"): "cancelled"}  # none tries it again
    mark = Update(
        key=keys.job(job_id),
        set={"undone_by": undo_id} | (given_up if bulk.job.state == "failed" else {}),
        when=(missing("undone_by"), equals("state", bulk.job.state)),
        otherwise=Conflict(gettext_lazy("This was undone already, or it goes on.")),
    )
    entry = audit.entry_write(by=by, kind="job", subject=job_id, what="undone", now=now, note=undo_id)
    _order(BULK_UNDO, payload, undo_id, now, [mark, entry])


def _order(kind: str, payload: dict[str, Any], job_id: str, now: datetime, writes: list[Write]) -> None:
    put = job_write(kind, payload, job_id=job_id, due=now)
    item = put.item | {"progress": {"total": payload["total"], "changed": 0, "refused": 0}}
    try:
        table.transact([Put(key=put.key, item=item, when=(absent(),), otherwise=DoneBefore()), *writes])
    except DoneBefore:
        return


def _in_words(change: Change, matching: Matching | None) -> str:
    what = f"{change.kind}: {change.action} {change.value}".rstrip()
    if matching is None:
        return what
    chosen = ", ".join(
        f"{name} {value}" for name, value in asdict(matching).items() if value and name != "how"
    )
    return f"{what}; all of {chosen}"


# Reading


def get(job_id: str) -> Bulk:
    """Return a bulk change, or an undo; NotFound. 1 get."""
    item = table.get(keys.job(job_id)) if is_ulid(job_id) else None
    if item is None or item["kind"] not in (BULK_CHANGE, BULK_UNDO):
        raise NotFound(gettext_lazy("There is no such change of many deals."))
    return _bulk(job_from_item(item), item.get("undone_by", ""))


def of_job(job: Job) -> Bulk:
    """Return the bulk change of a job that a worker has taken."""
    return _bulk(job, "")


def _bulk(job: Job, undone_by: str) -> Bulk:
    payload = job.payload
    return Bulk(
        job=job,
        change=Change(payload["kind"], payload["action"], payload["value"]),
        by=payload["by"],
        asked_at=from_iso(payload["asked_at"]),
        matching=Matching(**payload["matching"]) if "matching" in payload else None,
        total=payload["total"],
        undoes=payload.get("undoes", ""),
        undone_by=undone_by,
    )


def rows(job_id: str, outcome: str, *, after: str = "", limit: int = PAGE_SIZE) -> list[Row]:
    """Return what became of some deals, those CHANGED or those REFUSED, by id, after an id; BadCursor. 1 query."""
    if after and not is_ulid(after):
        raise BadCursor()
    low, high = keys.prefix(f"{outcome}#")
    found = table.query(
        keys.bulk_change(job_id),
        low=f"{outcome}#{after}!" if after else low,
        high=high,
        limit=limit,
        consistent=True,
    )
    return [_row(item) for item in found]


def outcomes(job_id: str, subjects: Iterable[str]) -> dict[str, Row]:
    """Return what became of some deals by now, by id. 1 batch get for each 50."""
    ids = list(subjects)
    items = table.batch_get(
        [keys.bulk_row(job_id, outcome, one) for one in ids for outcome in (CHANGED, REFUSED)]
    )
    found = sorted((_row(item) for item in items.values()), key=lambda row: row.outcome == CHANGED)
    return {row.id: row for row in found}


def is_changed(job_id: str, subject: str) -> bool:
    """Tell whether a job has changed a deal. 1 get."""
    return table.get(keys.bulk_row(job_id, CHANGED, subject)) is not None


def chunk(job_id: str, number: int) -> Chunk | None:
    """Return a chunk; None if there is none of that number. 1 get."""
    item = table.get(keys.bulk_chunk(job_id, number))
    return _chunk(item) if item else None


def last_chunk(job_id: str) -> Chunk | None:
    """Return the chunk that was collected last. 1 query."""
    low, high = keys.prefix("CHUNK#")
    found = table.query(
        keys.bulk_change(job_id), low=low, high=high, newest_first=True, limit=1, consistent=True
    )
    return _chunk(found[0]) if found else None


# Writing, by the worker that has the job


def collect(job: Job, new: Chunk) -> None:
    """Keep a chunk; NotOurs. 1 transaction."""
    try:
        own = Check(key=keys.job(job.id), when=(equals("taken_by", job.taken_by),), otherwise=NotOurs())
        table.transact([_chunk_put(job.id, new), own])
    except AlreadyExists:
        return  # by this worker, the answer was lost: nobody else can


def errand(job: Job, row: Row, *, changed: int) -> Errand:
    """Return what goes along with the change of a deal: that it was made, by this job's worker, as the how-manieth."""
    return Errand(note=f"Job {job.id}", writes=(_row_put(job, row), _count(job, "changed", changed)))


def refuse(job: Job, refused: Sequence[Row], *, in_all: int) -> None:
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


def _row_put(job: Job, row: Row) -> Put:
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


def _chunk_put(job_id: str, new: Chunk) -> Put:
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


def _row(item: Item) -> Row:
    return Row(
        id=item["subject"],
        title=item["title"],
        outcome=item["outcome"],
        before=item["before"],
        after=item["after"],
        reason=item["reason"],
        chunk=item["chunk"],
    )


def _chunk(item: Item) -> Chunk:
    subjects = tuple(Subject(**subject) for subject in item["subjects"])
    return Chunk(item["number"], subjects, from_iso(item["collected_at"]), item["after"])
