"""Deleting a deal, which goes to the trash, and bringing it back from there under the same id."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, buckets
from dealsite.data.catalogue.brands import Brand, BrandChanged, check_brand
from dealsite.data.catalogue.cards import DealCard, remove_featured
from dealsite.data.catalogue.content import noted
from dealsite.data.catalogue.deal.publishing import offer_item
from dealsite.data.catalogue.deals import Deal, deal_from_items, get, stock_is
from dealsite.data.editing import trash_record
from dealsite.data.editing.audit import NO_CONTEXT, AuditContext
from dealsite.data.editing.trash_record import TrashEntry
from dealsite.data.entities.deals import DEAL, OFFER
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Conflict, NotFound, VersionConflict
from dealsite.data.table.ids import iso, new_ulid
from dealsite.data.table.writes import Delete, Put, Write, absent, equals, exists

BACK_ALREADY = gettext_lazy("There is a deal with this id again, so the one in the trash cannot come back.")
GONE = gettext_lazy("It was deleted meanwhile.")
BRAND_GONE = gettext_lazy(
    "Its brand, %(brand)s, does not exist any more. Add the brand again, then restore the deal."
)


@access_pattern("move a deal to the trash", "1 batch get + 1 transaction")
def delete(
    deal: Deal,
    *,
    by: str,
    now: datetime,
    version: int | None = None,
    audit_context: AuditContext = NO_CONTEXT,
) -> None:
    """Move a deal to the trash for 30 days: offer, counters and featured cards go with it; harmless if it is gone.

    Its prices stay until the trash is emptied. With `version`, only that one: VersionConflict, with
    `current`, if somebody edited it since.

    The last deal of a day costs a second transaction, which unlists the day.
    """

    def attempt() -> None:
        items = table.batch_get([keys.deal(deal.id), keys.offer(deal.id)])
        item, offer = items.get(keys.deal(deal.id)), items.get(keys.offer(deal.id))
        if item is None:
            if audit_context.writes:  # they did not happen
                raise NotFound(GONE)
            return
        current = deal_from_items(item, offer)
        if version is not None and current.version != version:
            raise VersionConflict(current=current)
        writes = _delete_writes(current, item, offer, by=by, now=now, note=audit_context.note)
        buckets.transact([*writes, *audit_context.writes], leave=current.card)

    table.retrying(attempt)


def _delete_writes(
    deal: Deal, item: Item, offer: Item | None, *, by: str, now: datetime, note: str
) -> list[Write]:
    changed = VersionConflict()
    # As the trash keeps it.
    stock_as_read = (absent(),) if offer is None else (exists(), stock_is(offer.get("stock")))
    return [
        Delete(key=keys.deal(deal.id), when=(equals("writes", deal.writes),), otherwise=changed),
        Delete(key=keys.offer(deal.id), when=stock_as_read, otherwise=changed),
        *trash_record.keep_writes("deal", item, offer=offer, by=by, now=now),
        noted("deal", deal.id, "deleted", by=by, now=now, old=deal.content, note=note),
        *remove_featured(deal.featured_on, deal.id),
    ]


def restore(
    deal_id: str,
    *,
    by: str,
    now: datetime,
    version: int | None = None,
    audit_context: AuditContext = NO_CONTEXT,
) -> tuple[Deal, TrashEntry | None]:
    """Bring a deal back from the trash, with its stock; return it and what the trash held, None if it was back before.

    It is featured nowhere; where it was, the trash says. NotFound if it is not in the trash (any more);
    Conflict if its brand is gone, its id taken again, the trash is being emptied, or it was not deleted at
    `version`.
    """

    def attempt() -> tuple[Deal, TrashEntry | None]:
        found = trash_record.find_restorable("deal", deal_id, get, version, audit_context)
        if isinstance(found, Deal):
            return found, None
        brand = _brand_of(found.card)
        put, others = _restore_writes(found, brand, by=by, now=now)
        deal = deal_from_items(put.item, dict(found.offer or {}))
        entry = noted("deal", deal_id, "restored", by=by, now=now, new=deal.content, note=audit_context.note)
        writes = [trash_record.take_write(found), put, *others, entry, *audit_context.writes]
        buckets.transact(writes, arrive=[deal.card])
        return deal, found

    return table.retrying(attempt, on=(BrandChanged, VersionConflict))


def _brand_of(card: DealCard) -> Brand:
    try:
        return brands.get(card.brand)
    except NotFound:
        raise Conflict(BRAND_GONE % {"brand": card.brand_name}) from None


def _restore_writes(found: TrashEntry, brand: Brand, *, by: str, now: datetime) -> tuple[Put, list[Write]]:
    kept: Mapping[str, Any] = found.kept or {}
    stock = 0 if found.card.sold_out else None
    offer = found.offer or offer_item(found.id, found.card, stock)  # it may have lost its own
    offer = {**offer, "brand": brand.slug}
    card = DealCard.from_item(kept["card"])
    card = replace(card, brand=brand.slug, brand_name=brand.name, sold_out=offer.get("stock") == 0)
    values = {
        **{name: value for name, value in kept.items() if name != "featured_on"},
        "card": {name: value for name, value in kept["card"].items() if name != "sold_out"} | card.as_item(),
        "version": kept["version"] + 1,
        "writes": kept["writes"] + 1,
        "last_edit": new_ulid(now),
        "updated_at": iso(now),
        "updated_by": by,
    }
    taken = AlreadyExists(BACK_ALREADY)
    put = Put(key=keys.deal(found.id), item=DEAL.item(values), when=(absent(),), otherwise=taken)
    return put, [
        Put(key=keys.offer(found.id), item=OFFER.item(offer), when=(absent(),), otherwise=taken),
        check_brand(brand),
    ]
