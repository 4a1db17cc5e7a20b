"""Doing a verb: at once for up to 25 entries, as a job for more, by the same code; and taking it back.

What is more than a chunk is split into parts, which any number of workers share. A batch ends after some seconds, so
that other jobs get their turn. At any moment no more than one chunk of deals is held, and all that was done is known to
the table: whoever goes on after a crash finds it, and does the rest.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from django.utils import translation
from django.utils.translation import gettext_noop

from dealsite.data.catalogue import drafts
from dealsite.data.catalogue.drafts import Entry
from dealsite.data.editing import bulk
from dealsite.data.editing.audit import AuditContext
from dealsite.data.editing.bulk import (
    Bulk,
    BulkChange,
    BulkPayload,
    BulkResult,
    BulkTarget,
    Chunk,
    DoneBefore,
)
from dealsite.data.editing.verbs.verb import ChangedMeanwhile, Doing, Prefetched
from dealsite.data.entities.imports import CHANGED, CHUNK, REFUSED
from dealsite.data.jobs import jobs, parts
from dealsite.data.jobs.jobs import BULK_CHANGE, BULK_UNDO, Handler, Job
from dealsite.data.jobs.parts import PartPayload
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item
from dealsite.data.table.errors import Conflict, Invalid, NotFound, Unavailable
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Write
from dealsite.search import lists

NOTE_SECONDS = 5.0  # between two renewals of the lease
AT_ONCE, AT_ONCE_SECONDS = 25, 2.0  # entries that a request changes, and for how long: then a worker goes on
NOT_FOUND = "It was deleted meanwhile."
UNDONE = gettext_noop("This was done, and undone since. Load the page again.")
TICK = timedelta(milliseconds=1)

monotonic: Callable[[], float] = time.monotonic  # replaced in tests


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of what was done at once: how many were changed, which not; `is_over` unless a worker goes on.

    `job_id` is '' where nothing was done, so nothing can be undone.
    """

    job_id: str
    changed: list[BulkResult] = field(default_factory=list)
    refused: list[BulkResult] = field(default_factory=list)
    is_over: bool = True


def change_at_once(
    change: BulkChange,
    ids: Sequence[str],
    *,
    job_id: str,
    by: str,
    asked_at: datetime,
    now: datetime,
    version: int | None = None,
) -> Outcome:
    """Change up to 25 deals or drafts now, for up to 2 seconds; the same job again changes nothing more.

    `version`: that of the one that is meant, where the editor saw it, which is more exact than `asked_at`.

    1 to 3 batch gets and 1 transaction for one; for several 1 transaction for each and 1 or 2 more, and 1 update.
    """
    there = drafts.get_entries(change.kind, ids)
    if not there:
        refused = [BulkResult(one, "", REFUSED, reason=NOT_FOUND) for one in ids]
        return _done_before(job_id) or Outcome("", refused=refused)
    # Whatever others did before these were read counts, even while this request began.
    read_at = max(now, *(entry.updated_at for entry in there.values()))
    if version is not None and (seen := there.get(ids[0])):
        asked_at = read_at if seen.version == version else min(asked_at, seen.updated_at - TICK)
    targets = targets_of(change, ids, there)
    payload = BulkPayload(change.kind, change.action, change.value, by, asked_at, len(targets))
    batch = _ChangeBatch(Job(job_id, BULK_CHANGE, payload_to_item(payload)), now)
    batch.prefetched = change.verb.prefetch(change.value, there.values())
    batch.chunk = Chunk(1, tuple(targets), read_at)

    def order() -> Job:
        taken_by = new_ulid(now)
        return bulk.start(
            change, job_id=job_id, by=by, asked_at=asked_at, now=now, targets=targets, taken_by=taken_by
        )

    return batch.at_once(targets, there, order)


def targets_of(change: BulkChange, ids: Sequence[str], entries: Mapping[str, Entry]) -> list[BulkTarget]:
    """Return what is to be changed, with the values of now; what is gone stays among them, to be reported."""
    held = {one: entry.content for one, entry in entries.items()}
    return [
        BulkTarget(one, held[one].title, change.verb.value_in(held[one]))
        if one in held
        else BulkTarget(one, "")
        for one in ids
    ]


def undo_at_once(one: Bulk, *, undo_id: str, by: str, now: datetime) -> Outcome:
    """Take back now what was done to up to 25 deals or drafts; Conflict where it cannot be (any more).

    1 query more than `change_at_once`.
    """
    one.refuse_undo(now)
    payload = one.undo_payload(by=by, now=now)
    batch = _UndoBatch(Job(undo_id, BULK_UNDO, payload_to_item(payload)), now)
    targets = batch.next_targets() or []
    entries = batch.prepare(targets)

    def order() -> Job:
        return bulk.undo(one, undo_id=undo_id, by=by, now=now, taken_by=new_ulid(now))

    batch.writes = (one.undone_write(undo_id),)
    return batch.at_once(targets, entries, order)


def _done_before(job_id: str) -> Outcome | None:
    """Return what became of a job that was ordered before, None if it was not. 1 get, and 2 queries if it was."""
    try:
        done = bulk.get(job_id)
    except NotFound:
        return None
    if done.undone_by:
        return Outcome("", refused=[BulkResult(job_id, "", REFUSED, reason=UNDONE)])
    changed, refused = (bulk.rows(job_id, one, limit=AT_ONCE) for one in (CHANGED, REFUSED))
    return Outcome(job_id, changed, refused, done.is_over)


def change_many(job: Job, now: datetime) -> datetime | None:
    """Carry out a bulk change from wherever it has come to; returns when it goes on, None when it is done.

    For each 50 deals: what a page of their list costs and 1 transaction to collect them; to change them 1 get,
    3 batch gets, what the verb says for each, 1 transaction more if some are left alone, 1 update.
    """
    if job.parts:
        return parts.look_after(job, now=now, is_all=True)
    batch = _ChangeBatch(job, now)
    if batch.order.matching and not batch.collect():
        return batch.moment
    last = bulk.last_chunk(job.id)
    if last is None or last.number == 1:
        return batch.go_on()
    return parts.split(job, [parts.ANY] * min(last.number, parts.MOST), progress=job.progress, now=now)


def undo_many(job: Job, now: datetime) -> datetime | None:
    """Take a bulk change back, from wherever it has come to; returns and costs what `change_many` does."""
    if job.parts:
        return parts.look_after(job, now=now, is_all=True)
    order = bulk.of_job(job).order
    if order.total <= CHUNK:
        return _UndoBatch(job, now).go_on()
    marks = bulk.marks(order.undoes or "", max(CHUNK, -(-order.total // parts.MOST)))
    ranges = [*zip([None, *marks], [*marks[: parts.MOST - 1], None], strict=False)]
    return parts.split(job, ranges, progress=job.progress, now=now)


@dataclass(frozen=True, slots=True)
class BulkCheckpoint:
    """How many chunks are done, and what came of those; of an undo, also the deal up to which it has come."""

    chunk: int = 0
    after: str | None = None
    changed: int | None = None
    refused: int | None = None


class _Batch:
    """One worker's turn at one job or at a part of it, or the request that does it at once.

    `writes` join the change of the one entry of a job that is no more than that: it is ordered, done and over in
    that transaction.
    """

    def __init__(self, job: Job, now: datetime, part: Job | None = None) -> None:
        self.job, self.now, self.began = job, now, monotonic()
        self.part = part or job  # that the worker has taken
        self.which = parts.payload_of(part) if part else PartPayload(job.id, 0, 1)
        self.noted_at = self.began
        self.order, self.change = bulk.of_job(job).order, bulk.of_job(job).change
        self.done = payload_from_item(BulkCheckpoint, self.part.checkpoint)
        self.progress = payload_from_item(bulk.BulkProgress, self.part.progress)
        self.milliseconds = self.progress.milliseconds or 0
        self.prefetched = Prefetched()
        self.writes: tuple[Write, ...] = ()
        self.changed: list[BulkResult] = []
        self.noted: list[BulkResult] = []  # what goes along with the change that is tried
        self.turn = jobs.TURN_SECONDS
        self.is_at_once = self.is_alone = self.was_done = False

    @property
    def moment(self) -> datetime:
        return self.now + timedelta(seconds=monotonic() - self.began)

    @property
    def number(self) -> int:
        """That of the chunk whose turn it is."""
        return self.done.chunk * self.which.count + self.which.number + 1

    @property
    def is_over(self) -> bool:
        return monotonic() - self.began >= self.turn

    def at_once(
        self, targets: Sequence[BulkTarget], entries: Mapping[str, Entry], order: Callable[[], Job]
    ) -> Outcome:
        """Change all of some targets, ordered first where they are more than one."""
        self.is_at_once, self.turn, self.is_alone = True, AT_ONCE_SECONDS, len(targets) == 1
        try:
            if not self.is_alone:
                self.job = self.part = order()
                self.progress = payload_from_item(bulk.BulkProgress, self.job.progress)
            # What is noted is kept in the words of the sources; of one alone, why it was left alone is only shown.
            with nullcontext() if self.is_alone else translation.override("en"):
                refused = self.change_each(targets, entries)
        except (DoneBefore, bulk.NotOurs):  # a worker or an editor has it
            return _done_before(self.job.id) or Outcome("")
        if self.is_alone:
            before = _done_before(self.job.id) if refused or self.was_done else None
            return before or Outcome(self.job.id if self.changed else "", self.changed, refused)
        is_over = len(self.changed) + len(refused) == len(targets)
        with suppress(Conflict):  # a worker has gone on with it already
            if is_over:
                jobs.finish(self.job, progress=payload_to_item(self.progress))
            else:
                jobs.wait_until(self.job, self.moment)
        return Outcome(self.job.id, self.changed, refused, is_over)

    def go_on(self) -> datetime | None:
        """Change chunk after chunk until none is left or the turn is over."""
        while (targets := self.next_targets()) is not None:
            known = bulk.outcomes(self.job.id, [target.id for target in targets])
            count = Counter(row.outcome for row in known.values())
            self.progress = replace(
                self.progress,
                changed=(self.done.changed or 0) + count[CHANGED],
                refused=(self.done.refused or 0) + count[REFUSED],
            )
            if left := [target for target in targets if target.id not in known]:
                self.change_each(left, self.prepare(left))
            self.done = BulkCheckpoint(
                self.done.chunk + 1,
                targets[-1].id if targets else None,
                self.progress.changed,
                self.progress.refused,
            )
            self.part = jobs.save_checkpoint(self.part, payload_to_item(self.done), now=self.moment)
            if self.is_over:
                self._note()
                return self.moment
        self.progress = replace(self.progress, total=self.progress.changed + self.progress.refused)
        self._note()
        return None

    def next_targets(self) -> Sequence[BulkTarget] | None:
        """Return those whose turn it is, None at the end."""
        raise NotImplementedError

    def prepare(self, left: Sequence[BulkTarget]) -> Mapping[str, Entry]:
        """Read what some targets are about, by id, and what else their change needs."""
        raise NotImplementedError

    def attempt(self, target: BulkTarget, entry: Entry | None) -> str:
        """Change one; return why it was left alone, '' if it was not."""
        raise NotImplementedError

    def change_each(self, targets: Sequence[BulkTarget], entries: Mapping[str, Entry]) -> list[BulkResult]:
        """Change some targets, several at once no longer than their turn; return which were left alone."""
        refused = []
        for target in targets:
            if self.is_at_once and self.is_over and not self.is_alone:
                break
            if row := self._change(target, entries.get(target.id)):
                refused.append(row)
            self._note_now_and_then()
        if refused and not self.is_alone:
            self.progress = replace(self.progress, refused=self.progress.refused + len(refused))
            bulk.refuse(self.job, self.part, refused, in_all=self.progress.refused)
        return refused

    def _change(self, target: BulkTarget, entry: Entry | None) -> BulkResult | None:
        """Change one, again where others were faster; return that it was left alone, and why, None if it was not."""

        def read_again() -> None:
            nonlocal entry
            entry = self.prepare([target]).get(target.id)

        is_now = wanted = ""
        self.noted = []
        reason: str | None
        try:
            reason = bulk.once(
                self.job.id, target.id, lambda: self.attempt(target, entry), read_again, done=None
            )
        except (bulk.NotOurs, Unavailable):
            raise
        except (Conflict, Invalid, NotFound) as error:
            reason = str(error)
            if isinstance(error, ChangedMeanwhile):
                is_now, wanted = error.is_now, error.wanted
        if reason:
            return self._result(target, entry, REFUSED, before=is_now, after=wanted, reason=reason)
        self.was_done = reason is None
        self.changed += self.noted if self.is_at_once else []
        self.progress = replace(self.progress, changed=self.progress.changed + 1)
        return None

    def doing(self, target: BulkTarget, entry: Entry | None) -> Doing:
        """Return what the verb is told of one."""

        def note(before: str, after: str, stock: int | None = None) -> AuditContext:
            row = self._result(target, entry, CHANGED, before=before, after=after, stock=stock)
            self.noted = [row]
            if self.is_alone:
                return bulk.context_alone(self.job, row, self.writes)
            return bulk.audit_context(self.job, self.part, row, changed=self.progress.changed + 1)

        return Doing(self.change.value, self.prefetched, note, self.order.by, self.moment)

    def _result(
        self,
        target: BulkTarget,
        entry: Entry | None,
        outcome: str,
        *,
        before: str = "",
        after: str = "",
        reason: str = "",
        stock: int | None = None,
    ) -> BulkResult:
        title = target.title or (entry.content.title if entry else "")
        return BulkResult(target.id, title, outcome, before, after, reason, self.number, stock)

    def _note_now_and_then(self) -> None:
        if monotonic() - self.noted_at >= NOTE_SECONDS:
            self._note()

    def _note(self) -> None:
        spent = round((monotonic() - self.began) * 1000)
        progress = payload_to_item(replace(self.progress, milliseconds=self.milliseconds + spent))
        if self.part.id != self.job.id:  # which knows how many there are, and how long all took
            progress = {name: progress[name] for name in ("changed", "refused")}
        jobs.save_progress(self.part, progress, now=self.moment)
        self.noted_at = monotonic()


class _ChangeBatch(_Batch):
    """A turn at a change."""

    chunk: Chunk | None = None

    def collect(self) -> bool:
        """Read the list into chunks, from where the last one ends; True when its end is reached."""
        assert self.order.matching is not None  # noqa: S101 - else there is nothing to collect
        last = bulk.last_chunk(self.job.id)
        while last is None or last.after:
            number, after = (last.number + 1, last.after) if last else (1, "")
            page = lists.page(self.order.matching, after=after, now=self.order.asked_at, size=CHUNK)
            seen = ((card.id, card.title, self.change.verb.value_in(card)) for card in page.cards)
            last = Chunk(number, tuple(BulkTarget(*one) for one in seen), self.moment, page.after or "")
            bulk.collect(self.job, last)
            if last.after and self.is_over:
                self._note()
                return False
            self._note_now_and_then()
        return True

    def next_targets(self) -> Sequence[BulkTarget] | None:
        self.chunk = bulk.chunk(self.job.id, self.number)
        return self.chunk.targets if self.chunk else None

    def prepare(self, left: Sequence[BulkTarget]) -> Mapping[str, Entry]:
        there = drafts.get_entries(self.change.kind, [target.id for target in left])
        self.prefetched = self.change.verb.prefetch(self.change.value, there.values())
        return there

    def attempt(self, target: BulkTarget, entry: Entry | None) -> str:
        if entry is None:
            return NOT_FOUND
        assert self.chunk is not None  # noqa: S101 - targets are those of a chunk
        change, asked_at, known_to = self.change, self.order.asked_at, self.order.by
        if self.order.merges:  # whatever is still of the brand moves, whoever changed it since
            asked_at, known_to = self.moment, entry.updated_by
        doing = self.doing(target, entry)
        change.verb.refuse_changed(
            entry, target.seen, doing, asked_at=asked_at, by=known_to, collected_at=self.chunk.collected_at
        )
        reason = change.verb.refusal(change.value, entry, self.prefetched, doing.now)
        if not reason:
            change.verb.carry_out(entry, doing)
        return reason


class _UndoBatch(_Batch):
    """A turn at taking a change back: its results are the targets, from the lowest id on."""

    rows: Mapping[str, BulkResult]

    def next_targets(self) -> Sequence[BulkTarget] | None:
        after, last = self.done.after or self.which.after or "", self.which.last or ""
        if after and after == last:
            return None
        found = bulk.rows(self.order.undoes or "", CHANGED, after=after, last=last, limit=CHUNK)
        self.rows = {row.id: row for row in found}
        return [BulkTarget(row.id, row.title) for row in found] or None

    def prepare(self, left: Sequence[BulkTarget]) -> Mapping[str, Entry]:
        rows = [self.rows[target.id] for target in left]
        entries = self.change.verb.read_changed(self.change.kind, rows)
        self.prefetched = self.change.verb.prefetch(self.change.value, entries.values(), rows)
        return entries

    def attempt(self, target: BulkTarget, entry: Entry | None) -> str:
        row, doing, change = self.rows[target.id], self.doing(target, entry), self.change
        reason = change.verb.refusal_to_undo(
            change.kind, change.value, row, entry, self.prefetched, doing.now
        )
        if not reason:
            change.verb.take_back(change.kind, row, entry, doing)
        return reason


HANDLERS: dict[str, Handler] = {BULK_CHANGE: change_many, BULK_UNDO: undo_many}
PARTS: dict[str, Callable[[Job, Job, datetime], datetime | None]] = {
    BULK_CHANGE: lambda job, part, now: _ChangeBatch(job, now, part).go_on(),
    BULK_UNDO: lambda job, part, now: _UndoBatch(job, now, part).go_on(),
}
