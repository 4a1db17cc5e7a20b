"""A bulk change as it is stored: what is done to whom, and what is kept of it while it is carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.errors import NotFound
from dealsite.data.ids import from_iso, is_ulid, time_of
from dealsite.data.jobs import BULK_CHANGE, BULK_UNDO, Job, job_from_item

CHUNK = 50  # deals between two checkpoints
MOST_CHOSEN = 100  # deals of a selection
KEPT = timedelta(days=30)  # as long as the trash: until then a change can be taken back
CHANGED, REFUSED = keys.CHANGED, keys.REFUSED  # what became of a deal

PUBLISH, EXPIRE, EXPIRY, CATEGORY, BRAND = "publish", "expire", "expiry", "category", "brand"
DELETE, FEATURE, UNFEATURE = "delete", "feature", "unfeature"
ACTIONS: Mapping[str, tuple[str, ...]] = {
    "deal": (EXPIRE, EXPIRY, CATEGORY, BRAND, FEATURE, UNFEATURE, DELETE),
    "draft": (PUBLISH, EXPIRY, CATEGORY, BRAND, DELETE),
}
FIELDS = {EXPIRE: "expires_at", EXPIRY: "expires_at", CATEGORY: "category", BRAND: "brand"}


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
    """A list of deals or drafts, whole: its filters as `deal_lists` and search take them; `how` as search found it.

    `lacks` is what they lack: picture, alt, link or stock. A list with it, or with words, is search's.
    """

    state: str = "all"
    brand: str = ""
    category: str = ""
    words: str = ""
    how: str = "exact"
    lacks: str = ""

    @property
    def is_searched(self) -> bool:
        return bool(self.words or self.lacks)

    @property
    def is_narrowed(self) -> bool:
        """Whether no index of the table holds such a list, so that the brand's rows would be looked through."""
        return bool(self.brand and self.category)


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
