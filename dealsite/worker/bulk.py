"""The worker's part of bulk changes: collects the deals of a list, then changes one after the other.

A batch ends after some seconds, so that mails and other jobs get their turn. At any moment no more than one chunk of
deals is held, and all that was done is known to the table: whoever goes on after a crash finds it, and does the rest.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from dealsite.data.editing import bulk
from dealsite.data.editing.audit import AuditContext
from dealsite.data.editing.bulk import BulkResult, BulkTarget, Chunk
from dealsite.data.editing.bulk_change import applying, bulk_progress, undoing
from dealsite.data.editing.bulk_change.applying import Note, Prefetched, Thing
from dealsite.data.entities.batches import CHANGED, CHUNK, REFUSED
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import BULK_CHANGE, BULK_UNDO, Handler, Job
from dealsite.data.jobs.payloads import from_item, to_item
from dealsite.data.table.errors import Conflict, Invalid, NotFound, Unavailable
from dealsite.search import deal_lists

TURN_SECONDS = 15.0  # then other jobs get their turn
NOTE_SECONDS = 5.0  # between two renewals of the lease
NOT_FOUND = "It was deleted meanwhile."

monotonic: Callable[[], float] = time.monotonic  # replaced in tests


def change_many(job: Job, now: datetime) -> datetime | None:
    """Carry out a bulk change from wherever it has come to; returns when it goes on, None when it is done.

    For each 50 deals: what a page of their list costs and 1 transaction to collect them; to change them 1 get,
    3 batch gets, 1 transaction for each (see `applying.carry_out`), 1 more if some are left alone, 1 update.
    """
    batch = _ChangeBatch(job, now)
    if batch.order.matching and not batch.collect():
        return batch.moment
    return batch.go_on()


def undo_many(job: Job, now: datetime) -> datetime | None:
    """Take a bulk change back, from wherever it has come to; returns and costs what `change_many` does."""
    return _UndoBatch(job, now).go_on()


@dataclass(frozen=True, slots=True)
class BulkCheckpoint:
    """How many chunks are done; of an undo, also the deal up to which it has come."""

    chunk: int = 0
    after: str | None = None


class _Batch:
    """One worker's turn at one job."""

    def __init__(self, job: Job, now: datetime) -> None:
        self.job, self.now, self.began = job, now, monotonic()
        self.noted_at = self.began
        self.order, self.change = bulk.of_job(job).order, bulk.of_job(job).change
        self.number = from_item(BulkCheckpoint, job.checkpoint).chunk
        self.progress = from_item(bulk.BulkProgress, job.progress)
        self.milliseconds = self.progress.milliseconds or 0
        self.prefetched = Prefetched()

    @property
    def moment(self) -> datetime:
        return self.now + timedelta(seconds=monotonic() - self.began)

    @property
    def is_over(self) -> bool:
        return monotonic() - self.began >= TURN_SECONDS

    def go_on(self) -> datetime | None:
        """Change chunk after chunk until none is left or the turn is over."""
        while (targets := self.next_targets()) is not None:
            self._change_all(targets)
            self.number += 1
            self.job = jobs.save_checkpoint(self.job, to_item(self.checkpoint(targets)), now=self.moment)
            if self.is_over:
                self._note()
                return self.moment
        self.progress = replace(self.progress, total=self.progress.changed + self.progress.refused)
        self._note()
        return None

    def next_targets(self) -> Sequence[BulkTarget] | None:
        """Return those whose turn it is, None at the end."""
        raise NotImplementedError

    def checkpoint(self, done: Sequence[BulkTarget]) -> BulkCheckpoint:
        return BulkCheckpoint(self.number)

    def prepare(self, left: Sequence[BulkTarget]) -> dict[str, Thing]:
        """Read what some targets are about, by id, and what else their change needs."""
        raise NotImplementedError

    def attempt(self, target: BulkTarget, thing: Thing | None) -> str:
        """Change one; return why it was left alone, '' if it was not."""
        raise NotImplementedError

    def _change_all(self, targets: Sequence[BulkTarget]) -> None:
        done = bulk_progress.outcomes(self.job.id, [target.id for target in targets])
        left = [target for target in targets if target.id not in done]
        if not left:
            return
        things, refused = self.prepare(left), []
        for target in left:
            thing = things.get(target.id)
            if reason := self._change(target, thing):
                refused.append(self._result(target, thing, REFUSED, reason=reason))
            else:
                self.progress = replace(self.progress, changed=self.progress.changed + 1)
            self._note_now_and_then()
        if refused:
            self.progress = replace(self.progress, refused=self.progress.refused + len(refused))
            bulk_progress.refuse(self.job, refused, in_all=self.progress.refused)

    def _change(self, target: BulkTarget, thing: Thing | None) -> str:
        """Change one, again where others were faster; return why it was left alone, '' if it was not."""

        def read_again() -> None:
            nonlocal thing
            thing = self.prepare([target]).get(target.id)

        try:
            return bulk_progress.once(
                self.job.id, target.id, lambda: self.attempt(target, thing), read_again, done=""
            )
        except (bulk_progress.NotOurs, Unavailable):
            raise
        except (Conflict, Invalid, NotFound) as error:
            return str(error)

    def note_of(self, target: BulkTarget, thing: Thing | None) -> Note:
        """Return what notes the change of one, given its values before and after."""

        def note(before: str, after: str) -> AuditContext:
            row = self._result(target, thing, CHANGED, before=before, after=after)
            return bulk_progress.audit_context(self.job, row, changed=self.progress.changed + 1)

        return note

    def _result(self, target: BulkTarget, thing: Thing | None, outcome: str, **said: Any) -> BulkResult:
        title = target.title or (thing.content.title if thing else "")
        return BulkResult(target.id, title, outcome, chunk=self.number + 1, **said)

    def _note_now_and_then(self) -> None:
        if monotonic() - self.noted_at >= NOTE_SECONDS:
            self._note()

    def _note(self) -> None:
        spent = round((monotonic() - self.began) * 1000)
        progress = replace(self.progress, milliseconds=self.milliseconds + spent)
        jobs.save_progress(self.job, to_item(progress), now=self.moment)
        self.noted_at = monotonic()


class _ChangeBatch(_Batch):
    """A turn at a change."""

    chunk: Chunk | None = None

    def collect(self) -> bool:
        """Read the list into chunks, from where the last one ends; True when its end is reached."""
        assert self.order.matching is not None  # noqa: S101 - else there is nothing to collect
        last = bulk_progress.last_chunk(self.job.id)
        while last is None or last.after:
            number, after = (last.number + 1, last.after) if last else (1, "")
            page = deal_lists.page(self.order.matching, after=after, now=self.order.asked_at, size=CHUNK)
            seen = ((card.id, card.title, applying.seen_in(self.change, card)) for card in page.cards)
            last = Chunk(number, tuple(BulkTarget(*one) for one in seen), self.moment, page.after or "")
            bulk_progress.collect(self.job, last)
            if last.after and self.is_over:
                self._note()
                return False
            self._note_now_and_then()
        return True

    def next_targets(self) -> Sequence[BulkTarget] | None:
        self.chunk = bulk_progress.chunk(self.job.id, self.number + 1)
        return self.chunk.targets if self.chunk else None

    def prepare(self, left: Sequence[BulkTarget]) -> dict[str, Thing]:
        things = applying.read(self.change.kind, [target.id for target in left])
        self.prefetched = applying.prefetched_for(self.change, things.values())
        return things

    def attempt(self, target: BulkTarget, thing: Thing | None) -> str:
        if thing is None:
            return NOT_FOUND
        assert self.chunk is not None  # noqa: S101 - targets are those of a chunk
        moment, by, change, prefetched = self.moment, self.order.by, self.change, self.prefetched
        asked_at, known_to = self.order.asked_at, by
        if self.order.merges:  # whatever is still of the brand moves, whoever changed it since
            asked_at, known_to = moment, thing.updated_by
        times = {"asked_at": asked_at, "collected_at": self.chunk.collected_at}
        reason = applying.changed_meanwhile(change, thing, target, by=known_to, **times)
        reason = reason or applying.refusal(change, thing, prefetched, now=moment)
        if not reason:
            applying.carry_out(change, thing, prefetched, self.note_of(target, thing), by=by, now=moment)
        return reason


class _UndoBatch(_Batch):
    """A turn at taking a change back: its results are the targets, from the lowest id on."""

    def __init__(self, job: Job, now: datetime) -> None:
        super().__init__(job, now)
        self.after = from_item(BulkCheckpoint, job.checkpoint).after or ""
        self.rows: dict[str, BulkResult] = {}

    def next_targets(self) -> Sequence[BulkTarget] | None:
        found = bulk_progress.rows(self.order.undoes or "", CHANGED, after=self.after, limit=CHUNK)
        self.rows = {row.id: row for row in found}
        return [BulkTarget(row.id, row.title) for row in found] or None

    def checkpoint(self, done: Sequence[BulkTarget]) -> BulkCheckpoint:
        self.after = done[-1].id
        return BulkCheckpoint(self.number, self.after)

    def prepare(self, left: Sequence[BulkTarget]) -> dict[str, Thing]:
        rows = [self.rows[target.id] for target in left]
        things = undoing.read_changed(self.change, rows)
        before = undoing.brands_before(self.change, rows)
        self.prefetched = applying.prefetched_for(self.change, things.values(), more_brands=before)
        return things

    def attempt(self, target: BulkTarget, thing: Thing | None) -> str:
        row, moment, change, prefetched = self.rows[target.id], self.moment, self.change, self.prefetched
        reason = undoing.refusal_to_undo(change, row, thing, prefetched)
        if not reason:
            note = self.note_of(target, thing)
            undoing.take_back(change, row, thing, prefetched, note, by=self.order.by, now=moment)
        return reason


HANDLERS: dict[str, Handler] = {BULK_CHANGE: change_many, BULK_UNDO: undo_many}
