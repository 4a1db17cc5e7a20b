"""Renaming a brand, and merging it into another: at once for itself, by jobs for its deals; undone for a day.

The merged brand stays as an item that says where it went, so whatever still names it, such as a version or what lies
in the trash, finds the other. No transaction writes a deal to it any more (`brands.check_brand`).
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, drafts
from dealsite.data.catalogue.brands import Brand, BrandChanged, check_brand, name_writes, names_of
from dealsite.data.catalogue.cards import page_key
from dealsite.data.catalogue.categories import audit_change, names_after
from dealsite.data.catalogue.deals import deal_from_items, deal_write
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.editing import audit, bulk
from dealsite.data.editing.bulk import Bulk, BulkPayload
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import BULK_CHANGE
from dealsite.data.jobs.payloads import payload_from_item
from dealsite.data.names import slugify
from dealsite.data.table.errors import Conflict, NotFound, VersionConflict
from dealsite.data.table.ids import iso, new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Update, Write, at_version, equals, present

INDEX_LAG = timedelta(seconds=10)  # an index may show a deal this much later; then a second look is taken

monotonic: Callable[[], float] = time.monotonic  # replaced in tests


@access_pattern(
    "rename a brand on its deals: a get and a transaction each",
    "1 batch get + 2 queries + 2 gets + 2 transactions",
)
def rename_brand(job: jobs.Job, now: datetime) -> datetime | None:
    """Carry out a job of this kind; returns when to go on after its turn, or once more for what indexes showed late.

    A brand renamed once more meanwhile has a job of its own, and this one ends. 1 batch get, 1 query for
    each 100 deals of a year, and 1 get and 1 transaction for each deal with another name.
    """
    payload, began = payload_from_item(brands.RenamePayload, job.payload), monotonic()
    try:
        brand = brands.get_with_counts(payload.brand)
    except NotFound:
        return None
    try:
        for kind, row_id in _rows_with_another_name(brand):
            if (spent := monotonic() - began) >= jobs.TURN_SECONDS:
                return now + timedelta(seconds=spent)
            table.retrying(partial(_rename_on_draft if kind == "Draft" else _rename_on_deal, row_id, brand))
    except BrandChanged:
        return None
    return now + INDEX_LAG if now < job.created_at + INDEX_LAG else None


def _rows_with_another_name(brand: brands.Brand) -> Iterator[tuple[str, str]]:
    """Yield (type, id) of the deals and drafts whose card shows another name."""
    years = sorted(brand.counts.buckets if brand.counts else ())
    partitions = [
        keys.drafts_of_brand.partition(brand.slug),
        *(keys.deals_of_brand.partition(brand.slug, int(year)) for year in years),
    ]
    for partition in partitions:
        for row in table.query_all(partition, index=keys.GSI2, limit=100):
            if row["card"].get("brand_name") != brand.name:
                yield row["type"], row["card"]["id"]


def _rename_on_deal(deal_id: str, brand: brands.Brand) -> None:
    """Renew the brand's name on a deal's card and its featured copies, unless the deal went or moved."""
    item = table.get(keys.deal(deal_id))
    deal = deal_from_items(item, None) if item else None
    if deal is None or deal.card.brand != brand.slug or deal.card.brand_name == brand.name:
        return
    featured = [
        Update(
            key=page_key(page),
            set={("cards", deal_id, "brand_name"): brand.name},
            when=(present(("cards", deal_id)),),
            otherwise=VersionConflict(),
        )
        for page in deal.featured_on
    ]
    table.transact([deal_write(deal, {("card", "brand_name"): brand.name}), check_brand(brand), *featured])


def _rename_on_draft(draft_id: str, brand: brands.Brand) -> None:
    """Renew the brand's name on a draft's card, unless the draft went, moved or was published."""
    try:
        draft = drafts.get(draft_id)
    except NotFound:
        return
    if draft.published_as or draft.card.brand != brand.slug:
        return
    renamed = Update(
        key=keys.draft(draft_id),
        set={("card", "brand_name"): brand.name},
        when=(equals("version", draft.version), present("card")),
        otherwise=VersionConflict(),
    )
    table.transact([renamed, check_brand(brand)])


UNDONE_FOR = timedelta(days=1)
LISTS = {"deal": "all", "draft": "draft"}


def names_together(brand: Brand, into: Brand) -> tuple[str, ...]:
    """Return the other names of a brand once another is merged into it.

    Conflict where the two cannot be merged, Invalid where there would be too many names.
    """
    if brand.slug == into.slug:
        raise Conflict(gettext_lazy("A brand cannot be merged into itself."))
    if brand.merged_into or into.merged_into:
        raise Conflict(gettext_lazy("One of the two brands was merged meanwhile."))
    return names_after(into, into.name, [*into.also, brand.name, *brand.also])[1]


@access_pattern("merge a brand into another", "1 transaction")
def merge(brand: Brand, into: Brand, *, by: str, now: datetime) -> None:
    """Give a brand's names and address to another, and order that its deals and drafts move; again is harmless.

    Conflict where one of the two is merged, or a merge or undo of one still moves deals, VersionConflict where one
    changed since it was read, Invalid where there would be too many names. 1 batch get where one took part in a merge.
    """
    names = names_together(brand, into)
    _refuse_unfinished(brand, into)
    due, job_ids = now + INDEX_LAG, tuple(new_ulid(now) for _ in LISTS)
    puts = list[Write]()
    for job_id, (kind, state) in zip(job_ids, LISTS.items(), strict=True):
        number = (brand.deals or 0) if kind == "deal" else 0
        matching = DealFilter(state=state, brand=brand.slug)
        order = BulkPayload(kind, "brand", into.slug, by, due, number, matching, merges=brand.slug)
        puts.append(bulk.order_write(BULK_CHANGE, order, job_id=job_id, due=due))
    after = {"merged_into": into.slug}
    entry = audit.entry_write(by=by, kind="brand", subject=brand.slug, what="merged", now=now, after=after)
    moved = name_writes(into, names_of(brand), before=brand.slug)
    writes = [_changed(brand, job_ids, after, by=by, now=now), entry, *moved, *puts]
    try:
        merged = (*into.merged, brand.slug, *brand.merged)
        table.transact([*writes, *_renamed(into, names, merged, job_ids, by=by, now=now)])
    except VersionConflict:
        current = brands.get_with_counts(brand.slug)
        if current.merged_into != into.slug:
            raise


@access_pattern("undo the merge of a brand", "3 batch gets + 1 transaction")
def undo(brand: Brand, *, by: str, now: datetime) -> None:
    """Give a merged brand its names and address back, and order that what was moved moves back; again is harmless.

    Conflict where that cannot be (any more), VersionConflict where one of the two changed since it was read.
    """
    if not brand.merged_into:
        return
    into, own = brands.get_with_counts(brand.merged_into), names_of(brand)
    if into.merged_into:
        raise Conflict(_("%(name)s was merged meanwhile. Undo that first.") % {"name": into.name})
    if slugify(into.name) in own:
        raise Conflict(_("%(name)s has this brand's name now. Rename it first.") % {"name": into.name})
    if not may_be_undone(brand, now):
        raise Conflict(gettext_lazy("A merge can be undone for a day."))
    _refuse_unfinished(brand, into)
    moves = moving(brand)  # also those that changed nothing: none that failed may go on later
    undo_ids = tuple(new_ulid(now) for _ in moves)
    puts = [
        write
        for one, undo_id in zip(moves, undo_ids, strict=True)
        for write in bulk.undo_writes(one, undo_id=undo_id, by=by, now=now)
    ]
    before = {"merged_into": into.slug}
    entry = audit.entry_write(
        by=by, kind="brand", subject=brand.slug, what="merge undone", now=now, before=before
    )
    back = name_writes(brand, own, before=into.slug)
    names = tuple(name for name in into.also if slugify(name) not in own)
    writes = [_changed(brand, undo_ids, {"merged_into": None}, by=by, now=now), entry, *back, *puts]
    try:
        merged = tuple(slug for slug in into.merged if slug not in (brand.slug, *brand.merged))
        table.transact([*writes, *_renamed(into, names, merged, undo_ids, by=by, now=now)])
    except VersionConflict:
        if brands.get_with_counts(brand.slug).merged_into:
            raise


def may_be_undone(brand: Brand, now: datetime) -> bool:
    """Tell whether a brand was merged less than a day ago."""
    return bool(brand.merged_into) and now < time_of(brand.merge_jobs[0]) + UNDONE_FOR


@access_pattern("how far the last merge of a brand, or its undo, has come", "1 batch get")
def moving(brand: Brand) -> list[Bulk]:
    """Return the bulk changes of a brand's last merge or undo that are kept, of deals, then of drafts. 1 batch get."""
    found = jobs.get_many(brand.merge_jobs)
    return [bulk.of_job(found[one]) for one in brand.merge_jobs if one in found]


def _refuse_unfinished(*some: Brand) -> None:
    """Raise Conflict while deals of a merge, or of an undo, of one of some brands are still being moved."""
    ids = {job_id for brand in some for job_id in brand.merge_jobs}
    if ids and not all(bulk.of_job(job).is_over for job in jobs.get_many(ids).values()):
        raise Conflict(
            gettext_lazy("Deals are still being moved for a merge of one of the two. Try again later.")
        )


def _changed(
    brand: Brand, job_ids: Iterable[str], also: Mapping[str, object], *, by: str, now: datetime
) -> Update:
    """Return the write that changes a brand, unless it changed since it was read; VersionConflict then."""
    changes = {
        "version": brand.version + 1,
        "last_edit": new_ulid(now),
        "updated_at": iso(now),
        "updated_by": by,
        "merge_jobs": [*job_ids],
        **also,
    }
    return Update(
        key=keys.brand(brand.slug),
        set={name: value for name, value in changes.items() if value not in (None, [])},
        remove=[name for name, value in changes.items() if value in (None, [])],
        when=at_version(brand.version),
        otherwise=VersionConflict(),
    )


def _renamed(
    into: Brand,
    names: tuple[str, ...],
    merged: tuple[str, ...],
    job_ids: Iterable[str],
    *,
    by: str,
    now: datetime,
) -> list[Write]:
    """Return the writes that give the other brand its names, and what was merged into it, and note it."""
    entry = audit_change("brand", "changed", into, replace(into, also=names), by=by, now=now)
    also = {"also": [*names], "merged": [*merged]}
    return [_changed(into, job_ids, also, by=by, now=now), entry]
