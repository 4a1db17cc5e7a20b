"""Publishing and scheduling deals, one or several at once."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import buckets, drafts, known_by, prices
from dealsite.data.catalogue.brands import Brand, BrandChanged, check_brand
from dealsite.data.catalogue.brands import get as get_brand
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.content import DealContent, noted, noted_many, problems
from dealsite.data.catalogue.deals import Deal, deal_from_items, get
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.editing.audit import NO_CONTEXT, AuditContext
from dealsite.data.entities.deals import AT_SHOPS, DEAL, OFFER
from dealsite.data.people import announcements
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Invalid, VersionConflict
from dealsite.data.table.ids import iso, new_ulid, time_of
from dealsite.data.table.writes import Put, Write, absent


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
        entry = noted("deal", deal_id, what, by=by, now=now, new=content, note=note)
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
    entry = noted_many("deal", _what(new[0][0], now), new, by=by, now=now)
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
    writes: list[Write] = [offer, *prices.first_writes(deal_id, content), check_brand(brand)]
    writes += known_by.write(deal_id, content.names)
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
