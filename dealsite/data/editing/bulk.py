"""One change of many deals or drafts: ordered here, carried out by a job, and taken back by another one.

    ordered -> collected in chunks -> changed one by one -> done        done | cancelled | failed -> undone

Who they are is fixed before anything changes: a selection is kept with the order, a list is read to its
end, as of the moment of the order, into chunks. So no change moves what is still to be read. With each deal a
chunk keeps the value that it had then; whose value is another one by the time that its turn comes, or who came
later, is left alone and reported.

Each deal is changed in a transaction of its own, which notes that it was, once, and holds only while the job
belongs to its worker: nothing is changed twice, and nothing after the job was paused or cancelled.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import islice
from typing import Any, TypeVar

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.brands import Brand, BrandChanged
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.deal_changes import StockChanged
from dealsite.data.catalogue.drafts import Entry
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.editing import audit
from dealsite.data.editing.audit import AuditContext
from dealsite.data.editing.verbs.chart import VERBS, BulkChange as BulkChange, BulkTarget as BulkTarget
from dealsite.data.editing.verbs.fields import Edit
from dealsite.data.editing.verbs.verb import BulkResult as BulkResult, Doing, Prefetched
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.imports import BULK_CHUNK, BULK_ROW, CHANGED, CHUNK, REFUSED
from dealsite.data.jobs.jobs import BULK_CHANGE, BULK_UNDO, LEASE, Job, job_from_item, job_write
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item
from dealsite.data.table.errors import AlreadyExists, BadCursor, Conflict, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import epoch_seconds, is_ulid, iso, new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Check, Path, Put, Update, Write, absent, equals, missing

MOST_CHOSEN = 100  # deals of a selection
KEPT = timedelta(days=30)  # as long as the trash: until then a change can be taken back
EXPIRES_AFTER = KEPT + timedelta(days=1)  # then nothing of it is left


class DoneBefore(Conflict):
    """What was to be done to a deal was done already, by this very job."""


@dataclass(frozen=True, slots=True)
class BulkPayload:
    """What a job of this kind stores: the change, who ordered it and when, of which deals, or which job it undoes.

    `merges`: the slug of the brand whose merge it is part of, which is undone as a whole.
    """

    kind: str
    action: str
    value: str
    by: str
    asked_at: datetime
    total: int
    matching: DealFilter | None = None
    undoes: str | None = None
    merges: str | None = None


@dataclass(frozen=True, slots=True)
class BulkProgress:
    """How many deals there are, how many were changed or left alone so far, and how long that took."""

    total: int = 0
    changed: int = 0
    refused: int = 0
    milliseconds: int | None = None
    noted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some targets; `after` is where in the list the next chunk begins, '' in the last one."""

    number: int
    targets: tuple[BulkTarget, ...]
    collected_at: datetime
    after: str = ""


@dataclass(frozen=True, slots=True)
class Bulk:
    """A bulk change, or an undo; `undone_by` is the id of the job that took it back."""

    job: Job
    order: BulkPayload
    undone_by: str = ""

    @property
    def change(self) -> BulkChange:
        return BulkChange(self.order.kind, self.order.action, self.order.value)

    @property
    def changed(self) -> int:
        return payload_from_item(BulkProgress, self.job.progress).changed

    def refuse_undo(self, now: datetime) -> None:
        """Raise Conflict where what it did cannot be taken back (any more)."""
        if self.undone_by:
            raise Conflict(gettext_lazy("This was undone already."))
        if not self.may_be_undone(now):
            raise Conflict(gettext_lazy("There is nothing to undo, or it is not over yet."))

    def undo_payload(self, *, by: str, now: datetime) -> BulkPayload:
        """Return what the job stores that takes it back."""
        return replace(self.order, by=by, asked_at=now, total=self.changed, matching=None, undoes=self.job.id)

    def undone_write(self, undo_id: str) -> Update:
        """Return the write that notes the job that takes it back; Conflict where it was taken back, or goes on."""
        changes: dict[Path, Any] = {"undone_by": undo_id}
        if self.job.state == "failed":  # given up, so that none tries it again
            changes |= {"state": "cancelled", ("card", "state"): "cancelled"}
        return Update(
            key=keys.job(self.job.id),
            set=changes,
            when=(missing("undone_by"), equals("state", self.job.state)),
            otherwise=Conflict(gettext_lazy("This was undone already, or it goes on.")),
        )

    def may_be_undone(self, now: datetime) -> bool:
        """Tell whether what it did can be taken back: it has ended, it did something, and nobody undid it before."""
        if self.order.undoes or self.order.merges or self.undone_by or now >= time_of(self.job.id) + KEPT:
            return False
        return self.is_over and self.changed > 0

    @property
    def is_over(self) -> bool:
        return self.job.state in ("done", "cancelled", "failed")


@access_pattern("one bulk change", "1 get")
def get(job_id: str) -> Bulk:
    """Return a bulk change, or an undo; NotFound."""
    item = table.get(keys.job(job_id)) if is_ulid(job_id) else None
    if item is None or item["kind"] not in (BULK_CHANGE, BULK_UNDO):
        raise NotFound(gettext_lazy("There is no such bulk change."))
    return of_job(job_from_item(item), undone_by=item.get("undone_by", ""))


def of_job(job: Job, *, undone_by: str = "") -> Bulk:
    """Return the bulk change of a job."""
    return Bulk(job, payload_from_item(BulkPayload, job.payload), undone_by)


def job_id_of(change: BulkChange, chosen: Iterable[str], *, by: str, asked_at: datetime) -> str:
    """Return the id of the job that does what a form asks for: of the same form sent again, the same."""
    said = "\0".join((by, iso(asked_at), change.kind, change.action, change.value, *chosen))
    return new_ulid(asked_at, int.from_bytes(sha256(said.encode()).digest()[:10]))


# Ordering


@access_pattern("start a bulk change", "1 transaction")
def start(
    change: BulkChange,
    *,
    job_id: str,
    by: str,
    asked_at: datetime,
    now: datetime,
    targets: Sequence[BulkTarget] = (),
    matching: DealFilter | None = None,
    total: int = 0,
    taken_by: str = "",
) -> Job:
    """Order a change of some deals, or of all of a list.

    `asked_at` is when the editor saw what would change. `taken_by`: the token of whoever carries it out at once; if
    they do not within a lease, a worker does. DoneBefore if this id was ordered; Invalid for no deals, or more than
    100 chosen ones.
    """
    kind, action, value = change.kind, change.action, change.value
    if action not in VERBS or kind not in VERBS[action].kinds:
        raise Invalid(action=gettext_lazy("There is no such change."))
    note = f"{kind}: {action} {value}".rstrip()
    if matching is not None:
        filters = [f"{name} {it}" for name, it in asdict(matching).items() if it and name != "how"]
        note = f"{note}; all of {', '.join(filters)}"
    elif not 1 <= len(targets) <= MOST_CHOSEN:
        raise Invalid(deal=_("Choose between 1 and %(most_chosen)s deals.") % {"most_chosen": MOST_CHOSEN})
    what = "changes many deals"
    entry = audit.entry_write(by=by, kind="job", subject=job_id, what=what, now=now, note=note)
    writes: list[Write] = [entry]
    for first in range(0, len(targets), CHUNK):
        after = "more" if first + CHUNK < len(targets) else ""
        some = tuple(targets[first : first + CHUNK])
        writes.append(chunk_put(job_id, Chunk(first // CHUNK + 1, some, now, after)))
    payload = BulkPayload(kind, action, value, by, asked_at, total or len(targets), matching)
    put = order_write(BULK_CHANGE, payload, job_id=job_id, due=now, taken_by=taken_by)
    table.transact([put, *writes])
    return job_from_item(put.item)


@access_pattern("order that a bulk change be undone", "1 transaction")
def undo(bulk: Bulk, *, undo_id: str, by: str, now: datetime, taken_by: str = "") -> Job:
    """Order that a bulk change be taken back, once; `taken_by` as above.

    Conflict where it cannot be (any more).
    """
    bulk.refuse_undo(now)
    put, *others = undo_writes(bulk, undo_id=undo_id, by=by, now=now, taken_by=taken_by)
    table.transact([put, *others])
    return job_from_item(put.item)


def undo_writes(
    bulk: Bulk, *, undo_id: str, by: str, now: datetime, taken_by: str = ""
) -> tuple[Put, Write, Write]:
    """Return the writes that order that a change be taken back; DoneBefore, or Conflict where it was or goes on."""
    payload, mark = bulk.undo_payload(by=by, now=now), bulk.undone_write(undo_id)
    entry = audit.entry_write(by=by, kind="job", subject=bulk.job.id, what="undone", now=now, note=undo_id)
    return order_write(BULK_UNDO, payload, job_id=undo_id, due=now, taken_by=taken_by), mark, entry


def order_write(
    kind: str, payload: BulkPayload, *, job_id: str, due: datetime, taken_by: str = "", state: str = "open"
) -> Put:
    """Return the write that orders a change or an undo, for whoever takes it or has taken it; DoneBefore if it was.

    In the state `done`, all of it is done in the same transaction.
    """
    put = job_write(kind, payload, job_id=job_id, due=due + LEASE if taken_by else due, state=state)
    progress = BulkProgress(payload.total, payload.total if state == "done" else 0)
    item = put.item | {"progress": payload_to_item(progress)}
    if state == "done":
        del item["GSI1PK"], item["GSI1SK"]  # no list shows it
    if taken_by:
        item |= {"taken_by": taken_by, "tries": 1}
    return Put(key=put.key, item=item, when=(absent(),), otherwise=DoneBefore())


def chunk_put(job_id: str, new: Chunk) -> Put:
    """Return the write that keeps a chunk."""
    item = BULK_CHUNK.item({"job": job_id, **_store_chunk(new), "ttl": expires_at(job_id)})
    key = keys.bulk_chunk(job_id, new.number)
    return Put(key=key, item=item, when=(absent(),), otherwise=AlreadyExists())


_store_chunk = writer(BULK_CHUNK.shape, Chunk, targets="subjects")


def expires_at(job_id: str) -> int:
    """Return when what is kept of a bulk change expires."""
    return epoch_seconds(time_of(job_id) + EXPIRES_AFTER)


PAGE_SIZE = 25
TRIES = 5
OF_JOB, OF_UNDO = "Job ", "Undo "  # before its id, in the audit log
CONTENDED = "Others were changing it all the time."

Outcome = TypeVar("Outcome")


class NotOurs(Conflict):
    """The job was paused, cancelled, or taken by another worker."""


@access_pattern("what a bulk change changed or refused", "1 query")
def rows(
    job_id: str, outcome: str, *, after: str = "", last: str = "", limit: int = PAGE_SIZE
) -> list[BulkResult]:
    """Return what became of some deals, those CHANGED or those REFUSED, by id, after an id, up to one; BadCursor."""
    if after and not is_ulid(after):
        raise BadCursor()
    low, high = keys.bulk_row.between(outcome)
    low, high = f"{outcome}#{after}!" if after else low, f"{outcome}#{last}" if last else high
    partition = keys.bulk_row.partition(job_id)
    return [
        _read_result(one) for one in table.query(partition, low=low, high=high, limit=limit, consistent=True)
    ]


@access_pattern("each so many of the deals that a bulk change changed", "1 query")
def marks(job_id: str, every: int) -> list[str]:
    """Return each so many of the ids of the deals that a job changed. 1 query for each 1,000 of them."""
    partition, (low, high) = keys.bulk_row.partition(job_id), keys.bulk_row.between(CHANGED)
    found = table.query_all(partition, low=low, high=high, limit=1_000, consistent=True)
    return [row["subject"] for row in islice(found, every - 1, None, every)]


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
        except (VersionConflict, BrandChanged, StockChanged, DoneBefore, NotFound) as error:
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
        table.transact([chunk_put(job.id, new), _is_ours(job)])
    except AlreadyExists:
        return  # by this worker, the answer was lost: nobody else can


def audit_context(job: Job, part: Job, row: BulkResult, *, changed: int) -> AuditContext:
    """Return what goes along with the change of a deal: that it was made, by this part's worker, and the new count."""
    writes = (_result_put(job.id, row), _count(part, "changed", changed))
    return AuditContext(note=_note(job), writes=writes)


def _note(job: Job) -> str:
    """Return what the audit log says of a change by a job."""
    return f"{OF_JOB if job.kind == BULK_CHANGE else OF_UNDO}{job.id}"


def context_alone(job: Job, row: BulkResult, writes: Sequence[Write]) -> AuditContext:
    """Return what goes along with the change of the one deal of a job: the whole job, over already; and some writes."""
    order = of_job(job).order
    done = order_write(job.kind, order, job_id=job.id, due=job.created_at, state="done")
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
        self.job = Job(new_ulid(now), BULK_CHANGE, payload_to_item(payload))
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
def refuse(job: Job, part: Job, refused: Sequence[BulkResult], *, in_all: int) -> None:
    """Note which deals were left alone, at most a chunk of them, and why; NotOurs."""
    table.transact([*(_result_put(job.id, row) for row in refused), _count(part, "refused", in_all)])


def _count(job: Job, what: str, number: int) -> Update:
    """Return the write that counts, and holds only while the job belongs to the worker who took it."""
    ours = (equals("taken_by", job.taken_by),)
    return Update(key=keys.job(job.id), set={("progress", what): number}, when=ours, otherwise=NotOurs())


def _is_ours(job: Job) -> Check:
    return Check(key=keys.job(job.id), when=(equals("taken_by", job.taken_by),), otherwise=NotOurs())


def _result_put(job_id: str, row: BulkResult) -> Put:
    item = BULK_ROW.item({"job": job_id, **_store_result(row), "ttl": expires_at(job_id)})
    when = (absent(),) if row.outcome == CHANGED else ()
    key = keys.bulk_row(job_id, row.outcome, row.id)
    return Put(key=key, item=item, when=when, otherwise=DoneBefore())


_read_result = reader(BULK_ROW.shape, BulkResult, id="subject")
_store_result = writer(BULK_ROW.shape, BulkResult, id="subject")
_read_chunk = reader(BULK_CHUNK.shape, Chunk, targets="subjects")
