"""One change of many deals or drafts: ordered here, carried out by a job, and taken back by another one.

    ordered -> collected in chunks -> changed one by one -> done        done | cancelled | failed -> undone

Who they are is fixed before anything changes: a selection is kept with the order, a list is read to its
end, as of the moment of the order, into chunks. So no change moves what is still to be read. With each deal a
chunk keeps the value that it had then; whose value is another one by the time that its turn comes, or who came
later, is left alone and reported.

Each deal is changed in a transaction of its own, which notes that it was, once, and holds only while the job
belongs to its worker: nothing is changed twice, and nothing after the job was paused or cancelled.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.deal_lists import DealFilter
from dealsite.data.editing import audit
from dealsite.data.entities.batches import BULK_CHUNK, CHUNK
from dealsite.data.entities.conversion import writer
from dealsite.data.jobs.jobs import BULK_CHANGE, BULK_UNDO, Job, job_from_item, job_write
from dealsite.data.jobs.payloads import from_item, to_item
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import AlreadyExists, Conflict, Invalid, NotFound
from dealsite.data.table.ids import epoch_seconds, is_ulid, time_of
from dealsite.data.table.writes import Path, Put, Update, Write, absent, equals, missing

MOST_CHOSEN = 100  # deals of a selection
KEPT = timedelta(days=30)  # as long as the trash: until then a change can be taken back
EXPIRES_AFTER = KEPT + timedelta(days=1)  # then nothing of it is left

PUBLISH, EXPIRE, EXPIRY, CATEGORY, BRAND = "publish", "expire", "expiry", "category", "brand"
DELETE, FEATURE, UNFEATURE = "delete", "feature", "unfeature"
IMPORT = "import"  # what the rows of a file change: ordered and carried out elsewhere, taken back here
ACTIONS: Mapping[str, tuple[str, ...]] = {
    "deal": (EXPIRE, EXPIRY, CATEGORY, BRAND, FEATURE, UNFEATURE, DELETE),
    "draft": (PUBLISH, EXPIRY, CATEGORY, BRAND, DELETE),
}
FIELDS = {EXPIRE: "expires_at", EXPIRY: "expires_at", CATEGORY: "category", BRAND: "brand"}


class DoneBefore(Conflict):
    """What was to be done to a deal was done already, by this very job."""


@dataclass(frozen=True, slots=True)
class BulkChange:
    """What is done to deals (`kind` deal) or drafts: one of ACTIONS.

    `value` is the expiry as an ISO time, the slug of a category or brand, or the id of a page.
    """

    kind: str
    action: str
    value: str = ""


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
class BulkTarget:
    """A deal or draft to be changed, with the value that it had when it was chosen."""

    id: str
    title: str
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some targets; `after` is where in the list the next chunk begins, '' in the last one."""

    number: int
    targets: tuple[BulkTarget, ...]
    collected_at: datetime
    after: str = ""


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What became of one deal or draft: the value that it had and the one that it got, or why it was left alone.

    Of an import, these are its versions, and the stock that it got where that is another one.
    """

    id: str
    title: str
    outcome: str
    before: str = ""
    after: str = ""
    reason: str = ""
    chunk: int = 0
    stock: int | None = None


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
) -> None:
    """Order a change of some deals, or of all of a list; the same id again is harmless.

    `asked_at` is when the editor saw what would change. Invalid for no deals, or more than 100 chosen ones.
    """
    kind, action, value = change.kind, change.action, change.value
    if action not in ACTIONS.get(kind, ()):
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
    order([order_write(BULK_CHANGE, payload, job_id=job_id, due=now), *writes])


@access_pattern("order that a bulk change be undone", "1 get + 1 transaction")
def undo(job_id: str, *, undo_id: str, by: str, now: datetime) -> None:
    """Order that a bulk change be taken back, once; the same id again is harmless.

    NotFound, and Conflict where it cannot be (any more).
    """
    bulk = get(job_id)
    if bulk.undone_by == undo_id:
        return
    if bulk.undone_by:
        raise Conflict(gettext_lazy("This was undone already."))
    if not bulk.may_be_undone(now):
        raise Conflict(gettext_lazy("There is nothing to undo, or it is not over yet."))
    order(undo_writes(bulk, undo_id=undo_id, by=by, now=now))


def undo_writes(bulk: Bulk, *, undo_id: str, by: str, now: datetime) -> list[Write]:
    """Return the writes that order that a change be taken back; DoneBefore, or Conflict where it was or goes on."""
    payload = replace(bulk.order, by=by, asked_at=now, total=bulk.changed, matching=None, undoes=bulk.job.id)
    given_up: dict[Path, Any] = {"state": "cancelled", ("card", "state"): "cancelled"}  # none tries it again
    mark = Update(
        key=keys.job(bulk.job.id),
        set={"undone_by": undo_id} | (given_up if bulk.job.state == "failed" else {}),
        when=(missing("undone_by"), equals("state", bulk.job.state)),
        otherwise=Conflict(gettext_lazy("This was undone already, or it goes on.")),
    )
    entry = audit.entry_write(by=by, kind="job", subject=bulk.job.id, what="undone", now=now, note=undo_id)
    return [order_write(BULK_UNDO, payload, job_id=undo_id, due=now), mark, entry]


def order_write(kind: str, payload: BulkPayload, *, job_id: str, due: datetime) -> Put:
    """Return the write that orders a change or an undo; DoneBefore if it was."""
    put = job_write(kind, payload, job_id=job_id, due=due)
    item = put.item | {"progress": to_item(BulkProgress(payload.total))}
    return Put(key=put.key, item=item, when=(absent(),), otherwise=DoneBefore())


def order(writes: list[Write]) -> None:
    """Store a job with what belongs to it; the same job again is harmless. 1 transaction."""
    with suppress(DoneBefore):
        table.transact(writes)


def chunk_put(job_id: str, new: Chunk) -> Put:
    """Return the write that keeps a chunk."""
    item = BULK_CHUNK.item({"job": job_id, **_store_chunk(new), "ttl": expires_at(job_id)})
    key = keys.bulk_chunk(job_id, new.number)
    return Put(key=key, item=item, when=(absent(),), otherwise=AlreadyExists())


_store_chunk = writer(BULK_CHUNK.shape, Chunk, targets="subjects")


def expires_at(job_id: str) -> int:
    """Return when what is kept of a bulk change expires."""
    return epoch_seconds(time_of(job_id) + EXPIRES_AFTER)
