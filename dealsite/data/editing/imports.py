"""Imports of deals from files that editors upload: the file, how it is read, and what came of it.

    uploaded -> checking -> checked -> importing -> imported

A job checks, another one imports; either may be cancelled, and asked for again. The files lie in private storage, and a
job of the same transaction deletes them a week later. What was imported, and by whom, stays known.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext_lazy as _

from dealsite.data import keys, table
from dealsite.data.editing import audit, bulk
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.imports import (
    CHECKED,
    CHECKING,
    IMPORT,
    IMPORT_LAYOUT,
    IMPORTED,
    IMPORTING,
    UPLOADED,
)
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import BULK_UNDO, CHECK_IMPORT, RUN_IMPORT, Job, job_write
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item, stored_as
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Conflict, NotFound, VersionConflict
from dealsite.data.table.ids import epoch_seconds, is_ulid, new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import Page, ids_of, newest_first
from dealsite.data.table.writes import Check, Path, Put, Update, Write, absent, at_version, differs, equals

KEPT = timedelta(days=7)
LAYOUT_KEPT = timedelta(days=365)  # after its last use
DELETE_IMPORT = "delete_import"  # the kind of job
PAGE_SIZE = 25


@dataclass(frozen=True, slots=True)
class ImportPayload:
    """Which import a job works on, and who has its deals imported."""

    import_id: str = stored_as("import")
    by: str | None = None


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How many rows a job has gone through, of about how many, and what became of them; how long its parts took."""

    done: int
    total: int
    imported: int
    refused: int
    milliseconds: int | None = None
    noted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it came: `rows` is about how many it has, `samples` the first ones.

    `columns` (fields of deals), `decimal` and `dates` are guessed from its titles and first rows.
    """

    name: str
    bytes: int
    rows: int
    encoding: str
    separator: str
    titles: tuple[str, ...]
    decimal: str
    dates: str
    columns: tuple[str, ...] = ()
    samples: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Import:
    """An import; `layout` says how the file is read, `job` works on it, the rest is what came of it.

    `brands` are the first ones that it made, or would make: line, slug, name and, of a check, rows; `categories` the
    file's own that the site does not have: name and number of rows; `changes` the first that a check found: line, id,
    title and fields (name, before, after), `undone_by` the job that takes them back. `totals` holds imported (or, after
    a check, new), changed, there, refused, brands and notes, after a check also how many prices, RRPs and stocks would
    change; `version` counts what editors did to it.
    """

    id: str
    by: str
    source_file: SourceFile
    stage: str = UPLOADED
    layout: dict[str, Any] = field(default_factory=dict)
    job: str = ""
    totals: dict[str, int] = field(default_factory=dict)
    remarks: list[dict[str, Any]] = field(default_factory=list)
    brands: list[dict[str, Any]] = field(default_factory=list)
    categories: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    undone_by: str = ""
    version: int = 1

    @property
    def at(self) -> datetime:
        return time_of(self.id)

    @property
    def kept_until(self) -> datetime:
        return self.at + KEPT

    @property
    def undoable_until(self) -> datetime:
        return self.at + bulk.KEPT


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """An import as the list shows it, with the job that works on it."""

    id: str
    card: dict[str, Any]
    job: Job | None

    @property
    def at(self) -> datetime:
        return time_of(self.id)


@access_pattern("note an uploaded file of deals", "1 transaction")
def create(source_file: SourceFile, *, import_id: str, by: str, now: datetime) -> Import:
    """Note a file that was uploaded, and its deletion; the same id again returns what is there."""
    new = Import(import_id, by, source_file)
    card = {"name": source_file.name, "by": by, "stage": UPLOADED, "rows": source_file.rows}
    item = IMPORT.item(_store_import(new) | {"card": card})
    payload = ImportPayload(new.id)
    deletion = job_write(DELETE_IMPORT, payload, job_id=new_ulid(now), due=new.kept_until)
    note = source_file.name
    entry = audit.entry_write(by=by, kind="import", subject=new.id, what="brought a file", note=note, now=now)
    there = AlreadyExists(_("This file is here already."))
    put = Put(key=keys.deal_import(new.id), item=item, when=(absent(),), otherwise=there)
    try:
        table.transact([put, deletion, entry])
    except AlreadyExists:
        return get(import_id)
    return new


@access_pattern("one import", "1 get")
def get(import_id: str) -> Import:
    """Return an import, or raise NotFound."""
    item = table.get(keys.deal_import(import_id)) if is_ulid(import_id) else None
    if item is None:
        raise NotFound(_("There is no such import."))
    return _from_item(item)


@access_pattern("read a file with another encoding or separator", "1 transaction")
def read_again(one: Import, source_file: SourceFile, *, version: int) -> None:
    """Take a file for something else: another encoding or separator; the same again is harmless. VersionConflict."""
    changed = Update(
        key=keys.deal_import(one.id),
        set={"brought": payload_to_item(source_file), "version": version + 1},
        when=(*at_version(version), equals(("card", "stage"), UPLOADED)),
        otherwise=VersionConflict(_("Somebody else has gone on with this import.")),
    )
    try:
        table.transact([changed])
    except VersionConflict:
        there = get(one.id)
        if (there.version, there.source_file) != (version + 1, source_file):
            raise


@access_pattern("how a file with such a first line was read", "1 get")
def layout_of(fingerprint: str) -> dict[str, Any]:
    """Return how a file with such a first line was read the last time, {} if there was none."""
    item = table.get(keys.import_layout(fingerprint))
    return dict(item["layout"]) if item else {}


@access_pattern("have a file checked", "1 transaction")
def check(
    one: Import, layout: dict[str, Any], *, fingerprint: str, version: int, job_id: str, now: datetime
) -> None:
    """Have a file checked row by row, and remember for a year how it is read, for the next one with such a first line.

    The same again is harmless. Conflict while deals are imported from it, VersionConflict if somebody else went on
    with it.
    """
    if one.stage in (IMPORTING, IMPORTED):
        raise Conflict(_("Deals were imported from this file already."))
    kept = {"fingerprint": fingerprint, "layout": layout, "ttl": epoch_seconds(now + LAYOUT_KEPT)}
    job = job_write(CHECK_IMPORT, ImportPayload(one.id), job_id=job_id, due=now)
    remember = Put(key=keys.import_layout(fingerprint), item=IMPORT_LAYOUT.item(kept))
    try:
        table.transact([_moved(one, CHECKING, job_id, version, {"layout": layout}), job, remember])
    except VersionConflict:
        there = get(one.id)
        chosen_at = {"moment": ""}  # of a second click, another one
        if there.version != version + 1 or there.layout | chosen_at != layout | chosen_at:
            raise


@access_pattern("have the deals of a file imported", "1 transaction")
def run(
    one: Import, *, version: int, job_id: str, by: str, now: datetime, left_out: Sequence[int] = ()
) -> None:
    """Have the deals of a checked file imported; again, after it was cancelled, those that are missing.

    Its lines `left_out` change nothing. The same person's same click again is harmless. Conflict where it is not
    checked, or is being imported; VersionConflict if somebody else went on with it.
    """
    note = one.source_file.name
    leave: dict[Path, Any] = {("layout", "left_out"): list(left_out)} if left_out else {}
    writes: list[Write] = [
        _moved(one, IMPORTING, job_id, version, leave),
        job_write(RUN_IMPORT, ImportPayload(one.id, by), job_id=job_id, due=now),
        audit.entry_write(by=by, kind="import", subject=one.id, what="imported", note=note, now=now),
    ]
    if one.stage == IMPORTING:
        going_on = Conflict(_("These deals are being imported already."))
        writes.append(Check(key=keys.job(one.job), when=(differs("state", "open"),), otherwise=going_on))
    try:
        if one.undone_by:
            raise Conflict(_("Its changes were undone. Upload the file again."))
        if one.stage not in (CHECKED, IMPORTING):
            raise Conflict(_("This file is not checked yet."))
        table.transact(writes)
    except Conflict:
        there, job = load(one.id)
        was_us = (
            job is not None
            and job.kind == RUN_IMPORT
            and payload_from_item(ImportPayload, job.payload).by == by
        )
        if there.version != version + 1 or not was_us:
            raise


@access_pattern("order that the changes of an import be undone", "1 transaction")
def undo(one: Import, job: Job, *, version: int, undo_id: str, by: str, now: datetime) -> None:
    """Order that what an import changed be taken back, once; its last job, `job`, is over. The same id is harmless.

    Conflict where there is nothing to undo (any more), VersionConflict if somebody else went on with it.
    """
    if one.undone_by == undo_id:
        return
    if not may_be_undone(one, job, now):
        raise Conflict(_("There is nothing to undo, or it is not over yet."))
    changed = max(one.totals.get("changed", 0), 1)
    payload = bulk.BulkPayload("deal", "import", one.id, by, now, changed, undoes=one.id)
    mark = Update(
        key=keys.deal_import(one.id),
        set={"undone_by": undo_id, "version": version + 1},
        when=at_version(version),
        otherwise=VersionConflict(_("Somebody else has gone on with this import.")),
    )
    over = Update(  # none tries it again
        key=keys.job(job.id),
        set=dict.fromkeys(("state", ("card", "state")), "done" if job.state == "done" else "cancelled"),
        when=(equals("state", job.state),),
        otherwise=Conflict(_("This was undone already, or it goes on.")),
    )
    note = one.source_file.name
    entry = audit.entry_write(by=by, kind="import", subject=one.id, what="undone", note=note, now=now)
    with suppress(bulk.DoneBefore):
        table.transact([bulk.order_write(BULK_UNDO, payload, job_id=undo_id, due=now), mark, over, entry])


def may_be_undone(one: Import, job: Job | None, now: datetime) -> bool:
    """Tell whether what an import changed can be taken back: it is over, did something, and nobody undid it before."""
    is_over = job is not None and job.kind == RUN_IMPORT and job.state in ("done", "cancelled", "failed")
    has_changed = one.stage == IMPORTING or one.totals.get("changed", 0) > 0
    may_change = bool(one.layout.get("update"))
    return is_over and has_changed and may_change and not one.undone_by and now < one.undoable_until


@access_pattern("note what a job of an import found or did", "1 update")
def finished(
    job: Job,
    *,
    totals: Mapping[str, int],
    remarks: Sequence[Mapping[str, Any]],
    brands: Sequence[Mapping[str, Any]] = (),
    categories: Sequence[Mapping[str, Any]] = (),
    changes: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Note what a job found or did; Conflict if the import has gone on without it. None for changes: as they are."""
    stage = CHECKED if job.kind == CHECK_IMPORT else IMPORTED
    noted: dict[Path, Any] = {
        "totals": dict(totals),
        "remarks": [dict(remark) for remark in remarks],
        "brands": [dict(brand) for brand in brands],
        "categories": [dict(category) for category in categories],
        ("card", "stage"): stage,
        ("card", "totals"): dict(totals),
    }
    if changes is not None:
        noted["changes"] = [dict(change) for change in changes]
    key = keys.deal_import(payload_from_item(ImportPayload, job.payload).import_id)
    table.write(Update(key=key, set=noted, when=(equals(("card", "job"), job.id),)))


@access_pattern("an import and the job that works on it", "2 gets")
def load(import_id: str) -> tuple[Import, Job | None]:
    """Return an import and the job that works on it, or did last; NotFound."""
    one = get(import_id)
    return one, jobs.get(one.job) if one.job else None


@access_pattern("the imports, newest first", "1 query + 1 batch get")
def newest(*, after: str | None = None, before: str | None = None) -> Page[ImportSummary]:
    """Return one page of the imports; BadCursor."""
    partition, size = keys.imports.partition(), PAGE_SIZE
    page = newest_first(partition, "IMPORT#", index=keys.GSI2, after=after, before=before, size=size)
    shown = [(import_id, row["card"]) for import_id, row in zip(ids_of(page), page.rows, strict=True)]
    working = jobs.get_many(card["job"] for _, card in shown if card["stage"] in (CHECKING, IMPORTING))
    return page.showing(
        [ImportSummary(import_id, card, working.get(card.get("job", ""))) for import_id, card in shown]
    )


def _moved(one: Import, stage: str, job_id: str, version: int, changes: Mapping[Path, Any]) -> Update:
    """Return the write that gives an import to a job."""
    places: dict[Path, Any] = {("card", "stage"): stage, ("card", "job"): job_id}
    if stage == CHECKING:
        places["card", "totals"] = {}
    return Update(
        key=keys.deal_import(one.id),
        set={**changes, **places, "version": version + 1},
        remove=("totals", "remarks", "brands", "categories", "changes") if stage == CHECKING else (),
        when=at_version(version),
        otherwise=VersionConflict(_("Somebody else has gone on with this import.")),
    )


def _from_item(item: Item) -> Import:
    card = item["card"]
    return _read_import(item, stage=card["stage"], job=card.get("job", ""))


_read_import = reader(IMPORT.shape, Import, source_file="brought")
_store_import = writer(IMPORT.shape, Import, source_file="brought")
