"""Moving a scheduled deal to another time, which is another id."""

from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import buckets, drafts, known_by, prices
from dealsite.data.catalogue.brands import Brand, BrandChanged, check_brand
from dealsite.data.catalogue.brands import get as get_brand
from dealsite.data.catalogue.cards import page_key, replace_featured
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.deal.publishing import (
    deal_writes,
    refuse_problems,
    written,
)
from dealsite.data.catalogue.deals import Deal, get, stock_is
from dealsite.data.editing import audit, pending_edits
from dealsite.data.editing.audit import NO_CONTEXT, AuditContext
from dealsite.data.editing.pending_edits import PendingEdits
from dealsite.data.jobs.jobs import Job, job_from_item
from dealsite.data.people import announcements
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import AlreadyExists, Conflict, NotFound, VersionConflict
from dealsite.data.table.ids import iso, time_of
from dealsite.data.table.writes import Delete, Put, Write, equals, exists


@access_pattern("move a scheduled deal", "1 transaction + 1 batch get")
def reschedule(
    deal: Deal,
    live_at: datetime,
    *,
    new_id: str,
    by: str,
    now: datetime,
    audit_context: AuditContext = NO_CONTEXT,
) -> Deal:
    """Move a scheduled deal to another time, which is another id: `new_id`, minted for that time.

    Conflict if it is live already, Invalid if it would expire before; VersionConflict if it changed
    meanwhile; with writes in `audit_context`, NotFound or AlreadyExists where they were not made. Featured cards
    keep their places; an announcement that still waits moves with it. So do unpublished changes.
    """
    if time_of(new_id) != live_at.replace(microsecond=live_at.microsecond // 1000 * 1000):
        raise ValueError("The new id was not minted for the new time.")
    if deal.card.is_visible(now):
        raise Conflict(gettext_lazy("This deal is live already; its time cannot be changed."))
    refuse_problems(deal.content, live_at)
    if new_id == deal.id:
        return deal
    brand = Brand(deal.card.brand, deal.card.brand_name)

    def attempt() -> Deal:
        nonlocal deal, brand
        places, waiting, kept = _places(deal)
        content = replace(deal.content, brand=brand.slug)
        put, *others = _reschedule_writes(
            deal, content, new_id, brand, places, waiting, by, now, note=audit_context.note
        )
        moved = written(put, content)
        try:
            writes = [put, *others, pending_edits.moved_write(deal, new_id, kept), *audit_context.writes]
            buckets.transact(writes, arrive=[moved.card], leave=deal.card)
        except BrandChanged:
            brand = get_brand(brand.slug)
            raise
        except AlreadyExists:
            if audit_context.writes:
                raise
            return get(new_id)
        except VersionConflict:
            version = deal.version
            try:
                deal = get(deal.id)
            except NotFound:
                if audit_context.writes:
                    raise
                return get(new_id)
            if deal.version != version:
                raise VersionConflict(current=deal) from None
            raise
        return moved

    return table.retrying(attempt, on=(BrandChanged, VersionConflict))


def _reschedule_writes(
    deal: Deal,
    content: DealContent,
    new_id: str,
    brand: Brand,
    places: dict[str, int],
    waiting: Job | None,
    by: str,
    now: datetime,
    *,
    note: str,
) -> tuple[Put, *tuple[Write, ...]]:
    put, offer = deal_writes(new_id, content, brand, by, now, deal.draft)
    moved = {
        "featured_on": set(deal.featured_on),
        "version": deal.version + 1,
        "created_at": iso(deal.created_at),
        "history": deal.history_id,
        "announced": True if waiting else None,
    }
    put = replace(put, item=put.item | moved)
    writes: list[Write] = [
        offer,
        *prices.move_writes(deal.id, new_id, content),
        *known_by.write(new_id, content.names),
        Delete(key=keys.deal(deal.id), when=(equals("writes", deal.writes),), otherwise=VersionConflict()),
        Delete(key=keys.offer(deal.id), when=(exists(), stock_is(deal.stock)), otherwise=VersionConflict()),
        check_brand(brand),
        audit.entry_write(
            by=by,
            kind="deal",
            subject=new_id,
            what="moved to another time",
            now=now,
            note=note,
            before={"live_at": iso(deal.live_at), "id": deal.id},
            after={"live_at": iso(time_of(new_id)), "id": new_id},
        ),
        *replace_featured(places, deal.id, content.card(new_id, brand.name)),
    ]
    if deal.draft:
        writes.append(drafts.moved_write(deal.draft, new_id))
    if waiting:
        unchanged = (equals("state", waiting.state),)
        writes.append(Delete(key=keys.job(deal.id), when=unchanged, otherwise=VersionConflict()))
        writes.append(announcements.with_deal(new_id, content, by=by, state=waiting.state))
    return put, *writes


def _places(deal: Deal) -> tuple[dict[str, int], Job | None, PendingEdits | None]:
    """Return where each page that features a deal has it, its announcement if that still waits, unpublished changes.

    1 batch get.
    """
    page_keys = {page: page_key(page) for page in deal.featured_on}
    job_keys = [keys.job(deal.id)] if deal.announced else []
    changes_key = keys.changes(deal.history_id)
    items = table.batch_get([*page_keys.values(), *job_keys, changes_key])
    places = {
        page: items[key]["order"].index(deal.id)
        for page, key in page_keys.items()
        if deal.id in items.get(key, {}).get("order", ())
    }
    job = job_from_item(items[job_keys[0]]) if job_keys and job_keys[0] in items else None
    kept = pending_edits.from_item(items[changes_key]) if changes_key in items else None
    return places, job if job and job.state in ("open", "paused") else None, kept
