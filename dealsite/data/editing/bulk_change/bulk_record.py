"""A bulk change as it is stored: what is done to whom, and what is kept of it while it is carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.deal_lists import DealFilter
from dealsite.data.jobs.jobs import BULK_CHANGE, BULK_UNDO, Job, job_from_item
from dealsite.data.jobs.payloads import from_item
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import is_ulid, time_of

CHUNK = 50  # deals between two checkpoints
MOST_CHOSEN = 100  # deals of a selection
KEPT = timedelta(days=30)  # as long as the trash: until then a change can be taken back
CHANGED, REFUSED = "CHANGED", "REFUSED"  # what became of a deal

PUBLISH, EXPIRE, EXPIRY, CATEGORY, BRAND = "publish", "expire", "expiry", "category", "brand"
DELETE, FEATURE, UNFEATURE = "delete", "feature", "unfeature"
ACTIONS: Mapping[str, tuple[str, ...]] = {
    "deal": (EXPIRE, EXPIRY, CATEGORY, BRAND, FEATURE, UNFEATURE, DELETE),
    "draft": (PUBLISH, EXPIRY, CATEGORY, BRAND, DELETE),
}
FIELDS = {EXPIRE: "expires_at", EXPIRY: "expires_at", CATEGORY: "category", BRAND: "brand"}


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
    """What a job of this kind stores: the change, who asked for it and when, and of which deals."""

    kind: str
    action: str
    value: str
    by: str
    asked_at: datetime
    total: int
    matching: DealFilter | None = None
    undoes: str | None = None


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
    """Some subjects; `after` is where in the list the next chunk begins, '' in the last one."""

    number: int
    subjects: tuple[BulkTarget, ...]
    collected_at: datetime
    after: str = ""


@dataclass(frozen=True, slots=True)
class BulkResult:
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
    change: BulkChange
    by: str
    asked_at: datetime
    matching: DealFilter | None = None
    total: int = 0
    undoes: str = ""
    undone_by: str = ""

    @property
    def kept_until(self) -> datetime:
        return time_of(self.job.id) + KEPT

    def may_be_undone(self, now: datetime) -> bool:
        """Tell whether what it did can be taken back: it has ended, it did something, and nobody undid it before."""
        ended = self.job.state in ("done", "cancelled", "failed")
        changed = from_item(BulkProgress, self.job.progress).changed > 0
        return ended and changed and not self.undoes and not self.undone_by and now < self.kept_until


@access_pattern("one bulk change", "JOB#id", "1 get")
def get(job_id: str) -> Bulk:
    """Return a bulk change, or an undo; NotFound. 1 get."""
    item = table.get(keys.job(job_id)) if is_ulid(job_id) else None
    if item is None or item["kind"] not in (BULK_CHANGE, BULK_UNDO):
        raise NotFound(gettext_lazy("There is no such bulk change."))
    return _bulk(job_from_item(item), item.get("undone_by", ""))


def of_job(job: Job) -> Bulk:
    """Return the bulk change of a job that a worker has taken."""
    return _bulk(job, "")


def _bulk(job: Job, undone_by: str) -> Bulk:
    payload = from_item(BulkPayload, job.payload)
    return Bulk(
        job=job,
        change=BulkChange(payload.kind, payload.action, payload.value),
        by=payload.by,
        asked_at=payload.asked_at,
        matching=payload.matching,
        total=payload.total,
        undoes=payload.undoes or "",
        undone_by=undone_by,
    )
