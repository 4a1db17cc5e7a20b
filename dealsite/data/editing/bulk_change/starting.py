"""Ordering a bulk change, and that it be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.deal_lists import DealFilter
from dealsite.data.editing import audit
from dealsite.data.editing.bulk_change.bulk_progress import DoneBefore, chunk_put
from dealsite.data.editing.bulk_change.bulk_record import (
    ACTIONS,
    CHUNK,
    MOST_CHOSEN,
    BulkChange,
    BulkPayload,
    BulkProgress,
    BulkTarget,
    Chunk,
    get,
)
from dealsite.data.jobs.jobs import BULK_CHANGE, BULK_UNDO, job_write
from dealsite.data.jobs.payloads import from_item, to_item
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.data.table.writes import Path, Put, Update, Write, absent, equals, missing


@access_pattern("start a bulk change", "JOB#id, BULK#job / itself, CHUNK#n", "1 transaction")
def start(
    change: BulkChange,
    *,
    job_id: str,
    by: str,
    asked_at: datetime,
    now: datetime,
    subjects: Sequence[BulkTarget] = (),
    matching: DealFilter | None = None,
    total: int = 0,
) -> None:
    """Order a change of some deals, or of all of a list; the same id again is harmless. 1 transaction.

    `asked_at` is when the editor saw what would change. Invalid for no deals, or more than 100 chosen ones.
    """
    if change.action not in ACTIONS.get(change.kind, ()):
        raise Invalid(action=gettext_lazy("There is no such change."))
    if matching is None and not 1 <= len(subjects) <= MOST_CHOSEN:
        raise Invalid(deal=_("Choose between 1 and %(most_chosen)s deals.") % {"most_chosen": MOST_CHOSEN})
    payload = BulkPayload(
        change.kind, change.action, change.value, by, asked_at, total or len(subjects), matching
    )
    writes: list[Write] = []
    for first in range(0, len(subjects), CHUNK):
        number, some = first // CHUNK + 1, tuple(subjects[first : first + CHUNK])
        last = first + CHUNK >= len(subjects)
        writes.append(chunk_put(job_id, Chunk(number, some, now, "" if last else "more")))
    entry = audit.entry_write(
        by=by,
        kind="job",
        subject=job_id,
        what="changes many deals",
        now=now,
        note=_in_words(change, matching),
    )
    _order(BULK_CHANGE, payload, job_id, now, [*writes, entry])


@access_pattern("order that a bulk change be undone", "JOB#id twice", "1 get + 1 transaction")
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
    change, changed = bulk.change, from_item(BulkProgress, bulk.job.progress).changed
    payload = BulkPayload(change.kind, change.action, change.value, by, now, changed, undoes=job_id)
    given_up: dict[Path, Any] = {"state": "cancelled", ("card", "state"): "cancelled"}  # none tries it again
    mark = Update(
        key=keys.job(job_id),
        set={"undone_by": undo_id} | (given_up if bulk.job.state == "failed" else {}),
        when=(missing("undone_by"), equals("state", bulk.job.state)),
        otherwise=Conflict(gettext_lazy("This was undone already, or it goes on.")),
    )
    entry = audit.entry_write(by=by, kind="job", subject=job_id, what="undone", now=now, note=undo_id)
    _order(BULK_UNDO, payload, undo_id, now, [mark, entry])


def _order(kind: str, payload: BulkPayload, job_id: str, now: datetime, writes: list[Write]) -> None:
    put = job_write(kind, to_item(payload), job_id=job_id, due=now)
    item = put.item | {"progress": to_item(BulkProgress(payload.total))}
    try:
        table.transact([Put(key=put.key, item=item, when=(absent(),), otherwise=DoneBefore()), *writes])
    except DoneBefore:
        return


def _in_words(change: BulkChange, matching: DealFilter | None) -> str:
    what = f"{change.kind}: {change.action} {change.value}".rstrip()
    if matching is None:
        return what
    chosen = ", ".join(
        f"{name} {value}" for name, value in asdict(matching).items() if value and name != "how"
    )
    return f"{what}; all of {chosen}"
