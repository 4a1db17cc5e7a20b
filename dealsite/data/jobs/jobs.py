"""Work that outlives a request: a job is written in the transaction that causes it, and a worker runs it.

An open job stands in one of eight partitions under the time at which it may be taken. Taking one
moves that time to the end of the lease, so nobody else finds it before; finishing removes it.

    open -> done | failed | cancelled        open <-> paused -> cancelled        failed -> open

A job may be split into parts, which are jobs, too (`parts.py`).
"""

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.utils.translation import gettext_lazy, gettext_noop

from dealsite.data import keys, table
from dealsite.data.entities.attributes import WRONG_YEAR, YEARS
from dealsite.data.entities.entity import reader
from dealsite.data.entities.work import (
    BULK_CHANGE as BULK_CHANGE,
    BULK_UNDO as BULK_UNDO,
    CHECK_IMPORT as CHECK_IMPORT,
    ERROR_CHARACTERS,
    FORMER_PLACE,
    JOB,
    LANES,
    PART,
    PAUSABLE,
    PLACES,
    RUN_IMPORT as RUN_IMPORT,
    Lane,
    open_rows,
    place_of,
    places,
)
from dealsite.data.jobs import site_switch
from dealsite.data.jobs.payloads import plain
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, Invalid, NotFound
from dealsite.data.table.ids import from_iso, is_ulid, new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import Page, ids_of, newest_first
from dealsite.data.table.writes import Path, Put, Update, absent, equals, exists

LEASE = timedelta(seconds=60)
SILENT_AFTER = timedelta(seconds=20)
SILENT = gettext_noop("Its worker is silent. If it has died, another one goes on within a minute.")
SHORTEST_PAUSE, LONGEST_PAUSE = timedelta(seconds=2), timedelta(minutes=1)  # of a job of an unknown kind
MAX_TRIES = 8
TURN_SECONDS = 15.0  # of a job that takes long: then others get theirs
LONGEST_WAIT = timedelta(seconds=4 ** (MAX_TRIES - 1))  # for the last try
AHEAD = timedelta(hours=1)  # of this clock: no worker's that is right is so far ahead
LOOKED_AT = 10  # jobs of a partition that others may be taking just now
# The partitions of open jobs.
OPEN = tuple(keys.open_jobs.partition(place) for lane in LANES for place in places(lane))
PAGE_SIZE = 25
_request: ContextVar[str] = ContextVar("request", default="")  # whose id stands in each job that is added


class Cancelled(Exception):
    """What a handler raises when its job has become pointless; the sentence is kept with the job."""


class Failed(Exception):
    """What a handler raises when its job has failed for good: what it is made of was tried often enough."""


class Orphaned(Exception):
    """What is raised where whoever ordered a job is no editor any more: it is paused until one resumes it."""


class HandedOver(Exception):
    """What a handler raises when a thread goes on with its job: it renews the lease, and finishes or fails it."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job; `taken_by` is the token of the worker's take, by which it knows that the job is still its own.

    `progress` is what a long one has done so far: counts, and the seconds that it took. `request` is the id of the
    request that caused it, "" where the site itself did. `due` is when it may be taken (again), if it is open.
    """

    id: str
    kind: str
    payload: dict[str, Any]
    state: str = "open"
    tries: int = 0
    checkpoint: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    taken_by: str = ""
    progress: dict[str, Any] = field(default_factory=dict)
    request: str = ""
    parts: int = 0
    due: datetime | None = None

    @property
    def created_at(self) -> datetime:
        return time_of(self.id)

    @property
    def is_put_off(self) -> bool:
        """Whether it failed, and waits until it is tried again."""
        return self.state == "open" and self.tries > 0 and not self.taken_by

    def is_silent(self, now: datetime) -> bool:
        """Tell whether its worker has not renewed its lease for so long that it may have died; of a kind that does."""
        renews = self.kind == PART or self.kind in PAUSABLE
        return bool(renews and self.taken_by and self.due and self.due - LEASE + SILENT_AFTER < now)


_read = reader(JOB.shape, Job, "due")


def job_from_item(item: Item) -> Job:
    """Return a job."""
    return _read(item, due=from_iso(item["GSI3SK"].partition("#")[0]) if "GSI3SK" in item else None)


Handler = Callable[[Job, datetime], datetime | None]


@contextlib.contextmanager
def caused_by(request: str) -> Iterator[None]:
    """Let jobs that the block adds name a request by its id; "" for what nobody asked for."""
    token = _request.set(request)
    try:
        yield
    finally:
        _request.reset(token)


def job_write(
    kind: str, payload: object, *, job_id: str, due: datetime, card: Item | None = None, state: str = "open"
) -> Put:
    """Return the write that adds a job, for the transaction that causes it; `card` is what its lists show.

    Invalid for a time that cannot be stored: a check of the table would have the job run at once.
    """
    if due.year not in YEARS:
        raise Invalid(WRONG_YEAR)
    card = {"kind": kind, "state": state} | (card or {})
    item = {"id": job_id, "kind": kind, "payload": plain(payload), "state": state, "tries": 0, "card": card}
    rows = open_rows(kind, job_id, due) if state == "open" else keys.jobs_of_month(job_id)
    item |= {"request": _request.get() or None, "ttl": JOB.expiry(item)}
    return Put(key=keys.job(job_id), item=JOB.item(item | rows), when=(absent(),))


def cancel_write(kind: str, job_id: str) -> Update:
    """Return the write that ends a job which has become pointless, for the transaction that makes it so.

    Whoever has taken it notices when they write to it.
    """
    return Update(
        key=keys.job(job_id),
        set=_ended("cancelled", job_id, kind),
        remove=("taken_by", "GSI3PK", "GSI3SK"),
        when=(exists(),),
    )


@access_pattern("one job", "1 get")
def get(job_id: str) -> Job:
    """Return a job, or raise NotFound."""
    item = table.get(keys.job(job_id)) if is_ulid(job_id) else None
    if item is None:
        raise NotFound(gettext_lazy("There is no such job."))
    return job_from_item(item)


@access_pattern("several jobs", "1 batch get")
def get_many(job_ids: Iterable[str], *, consistent: bool = True) -> dict[str, Job]:
    """Return those of some jobs that exist, by id. 1 batch get for each 100."""
    items = table.batch_get((keys.job(job_id) for job_id in job_ids), consistent=consistent)
    return {item["id"]: job_from_item(item) for item in items.values()}


def part_id(job_id: str, number: int) -> str:
    """Return the id of a part of a job."""
    digest = sha256(f"{job_id} {number}".encode()).digest()
    return new_ulid(time_of(job_id), int.from_bytes(digest[:10]))


@access_pattern("the parts of a job", "1 batch get")
def parts_of(job: Job) -> list[Job]:
    """Return those parts of a job that are there, by their number."""
    ids = [part_id(job.id, number) for number in range(job.parts)]
    found = get_many(ids)
    return [found[one] for one in ids if one in found]


def summed(job: Job, parts: Iterable[Job]) -> dict[str, Any]:
    """Return what a job has done, by the counts that its parts keep."""
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.progress)
    return {**job.progress, **counts}


def stop_writes(job: Job, state: str) -> list[Update]:
    """Return the writes that take the parts of a job from their workers, for the transaction that stops it.

    `state`: what the job becomes; its parts are cancelled with it, and rest otherwise. 1 batch get if it has any.
    Conflict where a part ends meanwhile.
    """
    ends = "cancelled" if state == "cancelled" else "paused"
    return [
        Update(
            key=keys.job(part.id),
            set=_ended(ends, part.id, PART),
            remove=("taken_by", "GSI3PK", "GSI3SK"),
            when=(equals("state", part.state),),
        )
        for part in (parts_of(job) if job.parts else ())
        if part.state in ("open", "paused")
    ]


@access_pattern("the jobs of a month", "1 query + 1 batch get")
def of_month(month: str, *, after: str | None = None, before: str | None = None) -> Page[Job]:
    """Return one page of the jobs of a month, `yyyy-mm`; BadCursor."""
    partition = keys.jobs_of_month.partition(month)
    page = newest_first(partition, "JOB#", index=keys.GSI1, after=after, before=before, size=PAGE_SIZE)
    found = get_many(ids := ids_of(page), consistent=False)
    return page.showing([found[job_id] for job_id in ids if job_id in found])


def everywhere(*lanes: Lane) -> list[str]:
    """Return all places where jobs of some lanes wait: lane by lane, within each at random."""
    return [place for lane in lanes for place in random.sample(places(lane), PLACES[lane])]


@access_pattern("take the next job", "1 query + 1 update + 1 get")
def take_next(
    *,
    now: datetime,
    at: Iterable[str] | None = None,
    kinds: Container[str] | None = None,
    note_unknown: Callable[[str], None] = lambda _: None,
    note_due: Callable[[str, datetime | None], None] = lambda place, due: None,
) -> Job | None:
    """Take an open job that is due, for the time of a lease; None if there is none.

    It is looked for at some places, one after the other, or everywhere: 1 query for each place until one is found, of
    which it is the one that is due longest. `note_due` hears of each place when the next job there is due.

    Of a kind that is not among `kinds` none is taken: it is put off by a few seconds, its tries as they were, so
    that workers of a newer build find it. Each costs 1 update more, and `note_unknown` hears of its kind.
    While the site is not open, those that may rest do, which costs 1 query more for each place with jobs.
    """
    for place in everywhere(*LANES) if at is None else at:
        if (job := _take_at(place, now, kinds, note_unknown, note_due)) is not None:
            return job
    return None


def _take_at(
    place: str,
    now: datetime,
    kinds: Container[str] | None,
    note_unknown: Callable[[str], None],
    note_due: Callable[[str, datetime | None], None],
) -> Job | None:
    token = new_ulid(now)
    partition = keys.open_jobs.partition(place)
    rows = table.query(partition, index=keys.GSI3, limit=LOOKED_AT)
    if rows and not site_switch.of_process.current().is_open:  # behind those that rest
        rows = table.query(partition, index=keys.GSI3, limit=1_000)
    note_due(place, None)
    for row in rows:
        if (due := from_iso(row["GSI3SK"].partition("#")[0])) > now:
            note_due(place, due)
            return None
        job_id = row["SK"].removeprefix("JOB#")
        kind = row["card"]["kind"]
        if rests(kind):
            continue
        is_known = kinds is None or kind in kinds
        pause = min(max((now - time_of(job_id)) / 4, SHORTEST_PAUSE), LONGEST_PAUSE)
        change = Update(
            key=keys.job(job_id),
            set={"GSI3SK": _position(job_id, now + LEASE), "taken_by": token}
            if is_known
            else {"GSI3SK": _position(job_id, now + pause)},
            add={"tries": 1} if is_known else {},
            when=(equals("GSI3SK", row["GSI3SK"]),),
        )
        with contextlib.suppress(Conflict):  # another worker took it; or this one, if the answer was lost
            table.write(change)
        if not is_known:
            note_unknown(kind)
            continue
        item = table.get(keys.job(job_id))  # None: an index may show a job that was moved to another time
        if item is not None and item.get("taken_by") == token:
            return job_from_item(item)
    return None


@access_pattern("free jobs that were taken by a clock that was ahead", "8 queries + 1 batch get + 1 update")
def free_taken_ahead(*, now: datetime) -> None:
    """Let jobs be taken at once whose worker's clock was ahead: what it put off, or its lease, would end years later.

    8 queries, 1 more for each 1,000 jobs that are due in more than an hour, 1 batch get for each 100, 1 update for
    each freed.
    """
    low = keys.open_jobs.until(now + AHEAD)[1]
    rows = (
        row for partition in OPEN for row in table.query_all(partition, index=keys.GSI3, low=low, limit=1_000)
    )
    for item in table.batch_get((row["PK"], row["SK"]) for row in rows).values():
        taken_by = item.get("taken_by")
        if item["state"] == "open" and taken_by and time_of(taken_by) > now + AHEAD:
            freed = {"GSI3SK": _position(item["id"], now), "taken_by": new_ulid(now)}
            with contextlib.suppress(Conflict):  # its worker has gone on with it, or an editor took it away
                table.write(Update(key=keys.job(item["id"]), set=freed, when=(equals("taken_by", taken_by),)))


@access_pattern("find open jobs of earlier builds", "1 query + 1 update")
def adopt() -> None:
    """Let jobs be found that builds before the lanes ordered; such a build does not find them any more.

    1 query, and 1 update for each of up to 1,000.
    """
    for row in table.query(FORMER_PLACE, index=keys.GSI3, limit=1_000):
        job_id = row["SK"].removeprefix("JOB#")
        place = keys.open_jobs.partition(place_of(row["card"]["kind"], job_id))
        change = Update(key=keys.job(job_id), set={"GSI3PK": place}, when=(equals("GSI3PK", FORMER_PLACE),))
        with contextlib.suppress(Conflict):  # another worker was faster, or it is over
            table.write(change)


@access_pattern("note how far a job has come", "1 update")
def save_checkpoint(
    job: Job, checkpoint: dict[str, Any], *, now: datetime, progress: dict[str, Any] | None = None
) -> Job:
    """Keep how far a job has come, which forgives its tries, and renew its lease; Conflict if not ours, or it rests.

    What was amiss before is not any more.
    """
    _rest(job, now)
    changes: dict[Path, Any] = {"checkpoint": checkpoint, "GSI3SK": _position(job.id, now + LEASE)}
    if progress is not None:
        changes["progress"] = progress
    _change(job, changes if checkpoint == job.checkpoint else changes | {"tries": 0}, remove=("error",))
    return replace(job, checkpoint=checkpoint, progress=job.progress if progress is None else progress)


@access_pattern("note what a job has done", "1 update")
def save_progress(job: Job, progress: dict[str, Any], *, now: datetime, error: str = "") -> None:
    """Keep what a job has done, and what is amiss, and renew its lease. Conflict as above."""
    _rest(job, now)
    changes: dict[Path, Any] = {"progress": progress, "GSI3SK": _position(job.id, now + LEASE)}
    _change(job, changes | {"error": error} if error else changes, remove=() if error else ("error",))


@access_pattern("mark a job done", "1 update")
def finish(job: Job, *, forget: bool = False, progress: Mapping[str, Any] | None = None) -> None:
    """Mark a job done, with what it has done; `forget` what it was to do, where nobody reads it and it names people."""
    _close(job, "done", forget=forget, progress=progress)


@access_pattern("end a job that has become pointless", "1 update")
def cancel_own(job: Job, reason: str, *, forget: bool = False) -> None:
    """End a job that has become pointless; `forget` as above."""
    _close(job, "cancelled", reason, forget=forget)


@access_pattern("pause a job whose editor is none any more", "1 update")
def pause_own(job: Job, reason: str) -> None:
    """Let a job rest until an editor resumes it, who then answers for it."""
    paused: dict[Path, Any] = {"state": "paused", ("card", "state"): "paused", "error": reason}
    _change(job, paused, remove=("taken_by", "GSI3PK", "GSI3SK"), stops="paused")


@access_pattern("put a job off", "1 update")
def wait_until(job: Job, due: datetime) -> None:
    """Put a job back until a later time, its tries forgiven."""
    _change(job, {"GSI3SK": _position(job.id, due), "tries": 0}, remove=("taken_by",))


@access_pattern("put a failed job off, or give it up", "1 update")
def fail(job: Job, error: str, *, now: datetime) -> None:
    """Put a job back for a later try, 6 hours at most after the first, or give it up after 8 without progress."""
    tries = job.tries if job.tries < MAX_TRIES else get(job.id).tries
    if tries < MAX_TRIES:
        # Of a part, whose job looks as if it ran, one hears soon.
        due = now + timedelta(seconds=(2 if job.kind == PART else 4) ** max(tries, 1))
        changes: dict[Path, Any] = {"error": error[:ERROR_CHARACTERS], "GSI3SK": _position(job.id, due)}
        _change(job, changes, remove=("taken_by",))
    else:
        _close(job, "failed", error[:ERROR_CHARACTERS])


@access_pattern("give a job up", "1 update")
def give_up(job: Job, error: str) -> None:
    """Let a job fail at once; see `Failed`."""
    _close(job, "failed", error[:ERROR_CHARACTERS])


def rests(kind: str) -> bool:
    """Tell whether jobs of a kind rest just now, since the site's switch says that it is not open; on a copy all do."""
    switch = site_switch.of_process.current()
    return switch.is_copy or (not switch.is_open and (kind in PAUSABLE or kind == PART))


def _rest(job: Job, now: datetime) -> None:
    """Give a job back that rests while the site is not open: it goes on from its last checkpoint."""
    if rests(job.kind):
        _change(job, {"GSI3SK": _position(job.id, now), "tries": 0}, remove=("taken_by",))
        raise Conflict()


def _close(
    job: Job, state: str, error: str = "", *, forget: bool = False, progress: Mapping[str, Any] | None = None
) -> None:
    changes = _ended(state, job.id, job.kind, job.taken_by)
    if progress:
        changes["progress"] = progress
    if error:
        changes["error"] = error
    if forget:
        changes["payload"] = {}
    remove = ("GSI3PK", "GSI3SK", *(["error"] if forget and not error else []))
    if job.kind == PART:
        remove += ("checkpoint",)  # it may name a user
    _change(job, changes, remove=remove, stops="" if state == "done" else state)


def _ended(state: str, job_id: str, kind: str, taken_by: str = "") -> dict[Path, Any]:
    """Return what a job that ends is set to: its state, and when it goes, if its kind has a span."""
    ends = JOB.expiry({"id": job_id, "kind": kind, "state": state, "taken_by": taken_by})
    changes: dict[Path, Any] = {"state": state, ("card", "state"): state}
    return changes if ends is None else changes | {"ttl": ends}


def _change(job: Job, changes: Mapping[Path, Any], *, remove: tuple[str, ...] = (), stops: str = "") -> None:
    """Change a job that this worker still holds; where that stops it, the state to which it does, its parts, too."""
    ours = (equals("taken_by", job.taken_by),)
    update = Update(key=keys.job(job.id), set=changes, remove=remove, when=ours)
    if stops and (parts := stop_writes(job, stops)):
        table.transact([update, *parts])
    else:
        table.write(update)


def _position(job_id: str, due: datetime) -> str:
    return keys.open_jobs.position(due, job_id)
