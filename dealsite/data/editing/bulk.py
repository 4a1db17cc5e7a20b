"""One change of many deals or drafts: ordered here, carried out by a job, and taken back by another one.

    ordered -> collected in chunks -> changed one by one -> done        done | cancelled | failed -> undone

Who they are is fixed before anything changes: a selection is kept with the order, a list is read to its
end, as of the moment of the order, into chunks. So no change moves what is still to be read. With each deal a
chunk keeps the value that it had then; whose value is another one by the time that its turn comes, or who came
later, is left alone and reported.

Each deal is changed in a transaction of its own, which notes that it was, once, and holds only while the job
belongs to its worker: nothing is changed twice, and nothing after the job was paused or cancelled.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.editing import audit
from dealsite.data.editing.verbs.chart import VERBS
from dealsite.data.editing.verbs.chart import BulkChange as BulkChange
from dealsite.data.editing.verbs.chart import BulkTarget as BulkTarget
from dealsite.data.editing.verbs.verb import BulkResult as BulkResult
from dealsite.data.entities.batches import BULK_CHUNK, CHUNK
from dealsite.data.entities.conversion import writer
from dealsite.data.jobs.jobs import BULK_CHANGE, BULK_UNDO, LEASE, Job, job_from_item, job_write
from dealsite.data.jobs.payloads import from_item, to_item
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import AlreadyExists, Conflict, Invalid, NotFound
from dealsite.data.table.ids import epoch_seconds, is_ulid, iso, new_ulid, time_of
from dealsite.data.table.writes import Path, Put, Update, Write, absent, equals, missing

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
        return from_item(BulkProgress, self.job.progress).changed

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
    return Bulk(job, from_item(BulkPayload, job.payload), undone_by)


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
    item = put.item | {"progress": to_item(progress)}
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
