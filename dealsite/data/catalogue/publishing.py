"""Publishing and scheduling deals, one or several at once; another time of a scheduled one is another id."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import buckets, deals, display_names, drafts, featured_plans
from dealsite.data.catalogue.brands import Brand, BrandChanged, check_brand, get as get_brand
from dealsite.data.catalogue.cards import DealCard, page_key, replace_featured
from dealsite.data.catalogue.content import DealContent, audit_entry, audit_entry_of_many, problems
from dealsite.data.catalogue.deals import Deal, deal_from_items, get, stock_is
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.catalogue.featured_plans import PlanChanged
from dealsite.data.editing import audit, pending_edits
from dealsite.data.editing.audit import NO_CONTEXT, AuditContext
from dealsite.data.editing.pending_edits import PendingEdits
from dealsite.data.entities.deals import AT_SHOPS, DEAL, OFFER
from dealsite.data.jobs.jobs import Job, job_from_item
from dealsite.data.people import announcements
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Conflict, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import iso, new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Delete, Put, Write, absent, equals, exists


@access_pattern("publish a deal with its offer", "1 transaction")
def publish(
    content: DealContent,
    *,
    deal_id: str,
    brand: Brand,
    by: str,
    now: datetime,
    draft: Draft | None = None,
    announce: bool = False,
    audit_context: AuditContext = NO_CONTEXT,
) -> Deal:
    """Publish a deal at the time of its id, or schedule it if that time is to come; of `brand`, whatever it names.

    With `announce`, all who watch its brand or category are told when it goes live. Repeating it is harmless:
    the deal that is there under this id is returned. With a draft, the draft ends as a pointer to the deal;
    VersionConflict if it was edited or published meanwhile (`current` is the draft of now). Invalid says what
    the content lacks.
    """
    refuse_problems(content, time_of(deal_id))

    def attempt() -> Deal:
        nonlocal brand, content
        content = replace(content, brand=brand.slug)
        put, *others = _publish_writes(deal_id, content, brand, by, now, draft, announce=announce)
        what, note = _what(deal_id, now), audit_context.note
        entry = audit_entry("deal", deal_id, what, by=by, now=now, new=content, note=note)
        deal = written(put, content)
        try:
            buckets.transact([put, *others, entry, *audit_context.writes], arrive=[deal.card])
        except AlreadyExists:
            return get(deal_id)
        except BrandChanged:
            brand = get_brand(brand.slug)
            raise
        except VersionConflict as conflict:
            if draft is None:
                raise
            conflict.current = drafts.get(draft.id)
            if conflict.current.published_as == deal_id:
                return get(deal_id)
            raise
        return deal

    return table.retrying(attempt, on=BrandChanged)


@access_pattern("publish several deals at once", "1 transaction")
def publish_many(new: Sequence[tuple[str, DealContent, Brand]], *, by: str, now: datetime) -> None:
    """Publish several deals, all or none, their counters summed.

    Meant for imports: `new` holds (deal id, content, brand). AlreadyExists if one of them is there, Conflict
    if a brand was renamed meanwhile, TooLarge above 100 actions; the caller splits and repeats.
    """
    for deal_id, content, _ in new:
        refuse_problems(content, time_of(deal_id))
    new = [(deal_id, replace(content, brand=brand.slug), brand) for deal_id, content, brand in new]
    writes = [w for d, c, b in new for w in _publish_writes(d, c, b, by, now, None)]
    entry = audit_entry_of_many("deal", _what(new[0][0], now), new, by=by, now=now)
    buckets.transact([*writes, entry], arrive=[content.card(deal_id, "") for deal_id, content, _ in new])


def _publish_writes(
    deal_id: str,
    content: DealContent,
    brand: Brand,
    by: str,
    now: datetime,
    draft: Draft | None,
    *,
    announce: bool = False,
) -> tuple[Put, *tuple[Write, ...]]:
    put, offer = deal_writes(deal_id, content, brand, by, now, draft.id if draft else "")
    writes: list[Write] = [offer, *deals.first_price_writes(deal_id, content), check_brand(brand)]
    writes += display_names.known_by_write(deal_id, content.names)
    if draft is not None:
        writes.append(drafts.published_write(draft, deal_id))
    if announce:
        put = replace(put, item=put.item | {"announced": True})
        writes.append(announcements.with_deal(deal_id, content, by=by))
    return put, *writes


def _what(deal_id: str, now: datetime) -> str:
    return "scheduled" if time_of(deal_id) > now else "published"


def deal_writes(
    deal_id: str, content: DealContent, brand: Brand, by: str, now: datetime, draft_id: str
) -> tuple[Put, Put]:
    """Return the writes of a new deal and its offer."""
    taken = AlreadyExists(gettext_lazy("This deal is published already."))
    values = {
        "id": deal_id,
        "card": content.card(deal_id, brand.name).as_item(),
        "link": content.link or None,
        "description": content.description,
        "version": 1,
        "writes": 1,
        "last_edit": new_ulid(now),
        "created_at": iso(now),
        "created_by": by,
        "updated_at": iso(now),
        "updated_by": by,
        "draft": draft_id or None,
        "has_prices": True,
    }
    item, offer = DEAL.item(values), offer_item(deal_id, content, content.stock)
    return (
        Put(key=keys.deal(deal_id), item=item, when=(absent(),), otherwise=taken),
        Put(key=keys.offer(deal_id), item=offer, when=(absent(),), otherwise=taken),
    )


def offer_item(deal_id: str, shown: DealContent | DealCard, stock: int | None) -> Item:
    """Return the offer of a deal as it is stored."""
    values = {
        "id": deal_id,
        "brand": shown.brand,
        "category": shown.category,
        "price": shown.price,
        "expires_at": iso(shown.expires_at) if shown.expires_at else None,
        "stock": stock,
        "elsewhere": shown.sold in AT_SHOPS or None,
    }
    return OFFER.item(values)


def refuse_problems(content: DealContent, live_at: datetime) -> None:
    found = problems(content, live_at=live_at)
    if found:
        raise Invalid(**found)


def written(put: Put, content: DealContent) -> Deal:
    """Return the deal that a Put has just written, without reading it again."""
    return deal_from_items(put.item, {"stock": content.stock})


@access_pattern("move a scheduled deal", "1 transaction + 1 batch get + 1 query")
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
    keep their places, also in lists that are planned; an announcement that still waits moves with it. So do unpublished
    changes.
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
        planned = featured_plans.moved_writes(deal.id, new_id, now=now)
        content = replace(deal.content, brand=brand.slug)
        put, *others = _reschedule_writes(
            deal, content, new_id, brand, places, waiting, by, now, note=audit_context.note
        )
        moved = written(put, content)
        try:
            followed = [pending_edits.moved_write(deal, new_id, kept), *planned]
            writes = [put, *others, *followed, *audit_context.writes]
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

    return table.retrying(attempt, on=(BrandChanged, PlanChanged, VersionConflict))


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
        *deals.price_move_writes(deal.id, new_id, content),
        *display_names.known_by_write(new_id, content.names),
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
