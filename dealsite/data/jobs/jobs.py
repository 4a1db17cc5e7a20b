"""Work that outlives a request: a job is written in the transaction that causes it, and a worker runs it.

An open job stands in one of eight partitions under the time at which it may be taken. Taking one
moves that time to the end of the lease, so nobody else finds it before; finishing removes it.

    open -> done | failed | cancelled        open <-> paused -> cancelled        failed -> open

What jobs store is typed: a payload, a checkpoint or a progress is a frozen dataclass, kept field by field.

    @dataclass(frozen=True, slots=True)
    class ImportPayload:
        import_id: str = stored_as("import")
        by: str | None = None               # left out while it is None

    job_write(RUN_IMPORT, ImportPayload(one.id, by), ...)
    payload = payload_from_item(ImportPayload, job.payload)

Times are stored as ISO text, tuples as lists, other dataclasses as maps. Whoever changes what a class stores gives it
`version: ClassVar[int] = 2`; it is stored from 2 on, and a worker refuses versions and fields that it does not know.
"""

import contextlib
import random
import types
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from django.utils.translation import gettext_lazy

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
    PAUSABLE,
    PLACES,
    RUN_IMPORT as RUN_IMPORT,
    Lane,
    place_of,
    places,
)
from dealsite.data.jobs import site_switch
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, DataError, Invalid, NotFound, Text
from dealsite.data.table.ids import from_iso, is_ulid, iso, new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import Page, ids_of, newest_first
from dealsite.data.table.writes import Path, Put, Update, absent, equals, exists

VERSION = "version"
Value = TypeVar("Value")
Read = Callable[[Any], Any]


class UnknownVersion(DataError):
    """Another version of the site stored this, and it says something that this one does not know."""

    def __init__(self, message: Text = gettext_lazy("Another version of the site stored this.")) -> None:
        super().__init__(message)


def stored_as(name: str, *, default: Any = MISSING) -> Any:
    """Return a dataclass field that is stored under another name."""
    return field(default=default, metadata={"stored": name})


def payload_to_item(value: Any) -> Item:
    """Return what is stored of a dataclass: its fields that are not None, and its version from 2 on."""
    item = {
        _stored_name(one): plain(inner)
        for one in fields(value)
        if (inner := getattr(value, one.name)) is not None
    }
    version = getattr(value, VERSION, 1)
    return item if version == 1 else item | {VERSION: version}


def payload_from_item(cls: type[Value], item: Mapping[str, Any]) -> Value:
    """Return a dataclass of what is stored of it; UnknownVersion for another version, and for other fields."""
    known = _reads(cast(Hashable, cls))
    if item.get(VERSION, 1) != getattr(cls, VERSION, 1) or not item.keys() <= {*known, VERSION}:
        raise UnknownVersion()
    return cls(**{known[name][0]: known[name][1](value) for name, value in item.items() if name in known})


def _stored_name(one: Field[Any]) -> str:
    return str(one.metadata.get("stored", one.name))


def plain(value: Any) -> Any:
    """Return a value as it is stored."""
    match value:
        case datetime():
            return iso(value)
        case date():
            return value.isoformat()
        case Mapping():
            return {name: plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
    return payload_to_item(value) if is_dataclass(value) else value


@cache
def _reads(cls: Any) -> dict[str, tuple[str, Read]]:
    """Return, by stored name, the name of each field and how its stored value is read."""
    hints = get_type_hints(cls)
    return {_stored_name(one): (one.name, _read_as(hints[one.name])) for one in fields(cls)}


def _read_as(hint: Any) -> Read:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (known,) = (one for one in inner if one is not type(None))
        read = _read_as(known)
        return lambda value: None if value is None else read(value)
    if origin in (tuple, list):
        each = _read_as(inner[0])
        return lambda value: origin(each(one) for one in value)
    if origin in (dict, Mapping):
        of_name = _read_as(inner[1])
        return lambda value: {name: of_name(one) for name, one in value.items()}
    if is_dataclass(hint):
        return lambda value: payload_from_item(hint, value)  # type: ignore[arg-type]
    reads: dict[Any, Read] = {datetime: from_iso, date: date.fromisoformat, Decimal: Decimal}
    return reads.get(hint, lambda value: value)


LEASE = timedelta(seconds=60)
SHORTEST_PAUSE, LONGEST_PAUSE = timedelta(seconds=2), timedelta(minutes=1)  # of a job of an unknown kind
MAX_TRIES = 8
AHEAD = timedelta(hours=1)  # of this clock: no worker's that is right is so far ahead
LOOKED_AT = 10  # jobs of a partition that others may be taking just now
OPEN = tuple(
    keys.open_jobs.partition(place) for lane in LANES for place in places(lane)
)  # partitions of open jobs
PAGE_SIZE = 25
_request: ContextVar[str] = ContextVar("request", default="")  # whose id stands in each job that is added


class Cancelled(Exception):
    """What a handler raises when its job has become pointless; the sentence is kept with the job."""


class Orphaned(Exception):
    """What is raised where whoever ordered a job is no editor any more: it is paused until one resumes it."""


class HandedOver(Exception):
    """What a handler raises when a thread goes on with its job: it renews the lease, and finishes or fails it."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job; `taken_by` is the token of the worker's take, by which it knows that the job is still its own.

    `progress` is what a long one has done so far: counts, and the seconds that it took. `request` is the id of the
    request that caused it, "" where the site itself did.
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

    @property
    def created_at(self) -> datetime:
        return time_of(self.id)


job_from_item = reader(JOB.shape, Job)


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
    rows = keys.job_rows(job_id, due if state == "open" else None, place_of(kind, job_id))
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
    While the site is not open, those that may rest do.
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
    limit = LOOKED_AT if site_switch.of_process.current().is_open else 1_000
    note_due(place, None)
    for row in table.query(keys.open_jobs.partition(place), index=keys.GSI3, limit=limit):
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
def save_checkpoint(job: Job, checkpoint: dict[str, Any], *, now: datetime) -> Job:
    """Keep how far a job has come, which forgives its tries, and renew its lease; Conflict if not ours, or it rests."""
    _rest(job, now)
    changes: dict[Path, Any] = {"checkpoint": checkpoint, "GSI3SK": _position(job.id, now + LEASE)}
    _change(job, changes if checkpoint == job.checkpoint else changes | {"tries": 0})
    return replace(job, checkpoint=checkpoint)


@access_pattern("note what a job has done", "1 update")
def save_progress(job: Job, progress: dict[str, Any], *, now: datetime, got_on: bool = False) -> None:
    """Keep what a job has done and renew its lease; if it `got_on` for good, forgive its tries. Conflict as above."""
    _rest(job, now)
    changes: dict[Path, Any] = {"progress": progress, "GSI3SK": _position(job.id, now + LEASE)}
    _change(job, changes | {"tries": 0} if got_on else changes)


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
    _change(job, paused, remove=("taken_by", "GSI3PK", "GSI3SK"))


@access_pattern("put a job off", "1 update")
def wait_until(job: Job, due: datetime) -> None:
    """Put a job back until a later time, its tries forgiven."""
    _change(job, {"GSI3SK": _position(job.id, due), "tries": 0})


@access_pattern("put a failed job off, or give it up", "1 update")
def fail(job: Job, error: str, *, now: datetime) -> None:
    """Put a job back for a later try, or give it up after 8 without progress."""
    tries = job.tries if job.tries < MAX_TRIES else get(job.id).tries
    if tries < MAX_TRIES:
        due = now + timedelta(seconds=2 ** max(tries, 1))
        _change(job, {"error": error[:ERROR_CHARACTERS], "GSI3SK": _position(job.id, due)})
    else:
        _close(job, "failed", error[:ERROR_CHARACTERS])


def rests(kind: str) -> bool:
    """Tell whether jobs of a kind rest just now, since the site's switch says that it is not open; on a copy all do."""
    switch = site_switch.of_process.current()
    return switch.is_copy or (not switch.is_open and kind in PAUSABLE)


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
    _change(job, changes, remove=("GSI3PK", "GSI3SK", *(["error"] if forget and not error else [])))


def _ended(state: str, job_id: str, kind: str, taken_by: str = "") -> dict[Path, Any]:
    """Return what a job that ends is set to: its state, and when it goes, if its kind has a span."""
    ends = JOB.expiry({"id": job_id, "kind": kind, "state": state, "taken_by": taken_by})
    changes: dict[Path, Any] = {"state": state, ("card", "state"): state}
    return changes if ends is None else changes | {"ttl": ends}


def _change(job: Job, changes: Mapping[Path, Any], *, remove: tuple[str, ...] = ()) -> None:
    """Change a job that this worker still holds. Repeating it, after a lost answer, is harmless."""
    ours = (equals("taken_by", job.taken_by),)
    table.write(Update(key=keys.job(job.id), set=changes, remove=remove, when=ours))


def _position(job_id: str, due: datetime) -> str:
    return keys.open_jobs.position(due, job_id)
