"""Editing, deleting and restoring a deal: its offer, its counters and its featured cards change with it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, buckets, deals, display_names
from dealsite.data.catalogue.brands import Brand, BrandChanged, check_brand, get as get_brand
from dealsite.data.catalogue.cards import DealCard, remove_featured, renew_featured
from dealsite.data.catalogue.content import DealContent, audit_entry
from dealsite.data.catalogue.deals import Deal, Price, deal_from_items, deal_write, get, stock_is
from dealsite.data.catalogue.publishing import offer_item, refuse_problems
from dealsite.data.editing import trash_record, versions
from dealsite.data.editing.audit import NO_CONTEXT, AuditContext
from dealsite.data.editing.trash_record import TrashEntry
from dealsite.data.editing.versions import Version
from dealsite.data.entities.deals import DEAL, HERE, OFFER
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Conflict, NotFound, VersionConflict
from dealsite.data.table.ids import iso, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Delete, Put, Update, Write, absent, equals, exists


class StockChanged(Conflict):
    """Pieces were sold, or came back, while the stock was being changed; `stock` is what is left now."""

    def __init__(self, stock: int | None) -> None:
        self.stock = stock
        super().__init__(gettext_lazy("The stock changed while you worked on it. Look at what is left now."))


@access_pattern("change a deal, keep what it was", "1 transaction")
def edit(
    deal: Deal,
    content: DealContent,
    *,
    version: int,
    brand: Brand,
    by: str,
    now: datetime,
    audit_context: AuditContext = NO_CONTEXT,
) -> Deal:
    """Change a deal, with its offer, featured cards and, if it moves, both sides' counters; it becomes one of `brand`.

    `deal` is as `get` gave it just now, `version` the one that the editor's form was made from.
    VersionConflict, with `current`, if somebody else edited it in between; NotFound if it was deleted. Stock
    that is as it was in `deal` stays what it is by then; stock that is not raises StockChanged if it moved
    meanwhile.
    """
    refuse_problems(content, deal.live_at)
    token = new_ulid(now)
    wanted, counted = content, deal.stock

    def attempt(deal: Deal) -> Deal:
        nonlocal brand
        if deal.version != version:
            raise VersionConflict(current=deal)
        if deal.stock != counted and wanted.stock != counted:
            raise StockChanged(deal.stock)
        content = replace(wanted, brand=brand.slug)
        content = replace(content, stock=deal.stock) if wanted.stock == counted else content
        card, of_price = _priced(deal, content, brand, now)
        writes = _edit_writes(deal, content, card, token, by, now, audit_context=audit_context)
        try:
            table.transact([*writes, *of_price, check_brand(brand)])
        except BrandChanged:
            brand = get_brand(brand.slug)
            raise VersionConflict() from None
        return _edited(deal, content, card, token, by, now, has_prices=bool(of_price))

    return _until_written(deal, version, token, attempt)


def _edited(
    deal: Deal,
    content: DealContent,
    card: DealCard,
    token: str,
    by: str,
    now: datetime,
    *,
    has_prices: bool = False,
) -> Deal:
    """Return what an edit has made of a deal, without reading it again."""
    return replace(
        deal,
        content=content,
        card=card,
        version=deal.version + 1,
        writes=deal.writes + 1,
        updated_at=now,
        updated_by=by,
        last_edit=token,
        has_prices=deal.has_prices or has_prices,
    )


def _edit_writes(
    deal: Deal,
    content: DealContent,
    card: DealCard,
    token: str,
    by: str,
    now: datetime,
    what: str = "changed",
    audit_context: AuditContext = NO_CONTEXT,
) -> list[Write]:
    old, new = (deal.content.brand, deal.content.category), (content.brand, content.category)
    changes = {
        "card": card.as_item(),
        "link": content.link or None,
        "description": content.description,
        "version": deal.version + 1,
        "last_edit": token,
        "updated_at": iso(now),
        "updated_by": by,
        **({"has_prices": True} if _has_other_price(deal, content) else {}),
        **(keys.feed_rows(deal.id, *new) if old != new else {}),
    }
    writes: list[Write] = [deal_write(deal, changes), *buckets.move(deal.id, old, new)]
    writes += _offer_writes(deal, content)
    writes += versions.keep_writes(deal.history_id, as_version(deal))
    note = audit_context.note
    writes.append(
        audit_entry("deal", deal.id, what, by=by, now=now, old=deal.content, new=content, note=note)
    )
    writes += display_names.known_by_write(deal.id, content.names, deal.content.names)
    if card != deal.card:
        writes += renew_featured(deal.featured_on, card)
    return [*writes, *audit_context.writes]


def as_version(deal: Deal) -> Version:
    """Return what a deal is now, as it is kept when it becomes another."""
    return Version(deal.version, deal.content, deal.card.brand_name, deal.updated_at, deal.updated_by)


def _has_other_price(deal: Deal, content: DealContent) -> bool:
    return content.price != deal.content.price or content.shop != deal.content.shop


def _priced(deal: Deal, content: DealContent, brand: Brand, now: datetime) -> tuple[DealCard, list[Write]]:
    """Return the card that a deal gets, and what keeps its price if that is another, or another's.

    A deal of before prices were kept gets the one it had, too. 1 query if its price changes, or what that is
    compared with.
    """
    card, was = content.card(deal.id, brand.name, now), deal.content
    is_other = _has_other_price(deal, content)
    if not is_other and (content.was_price, content.low_seen_on) == (was.was_price, was.low_seen_on):
        return replace(card, low=deal.card.low, raised_from=deal.card.raised_from), []
    if not deal.card.is_visible(now):  # nobody was ever offered the one before
        first = deals.first_price_writes(deal.id, content) or [deals.first_price_deletion(deal.id)]
        return card, first if is_other else []
    if content.price is None:
        return card, []
    history = deals.prices_of(deal.id)
    if not history and was.price is not None:
        history = [Price(deal.live_at, was.price)]
    if not is_other:
        return deals.compared(card, history), []
    new_seller = content.shop != was.shop or was.price is None
    change = deals.price_change_write(
        deal.id, content.price, deal.version + 1, now=now, new_seller=new_seller
    )
    earlier = [] if deal.has_prices else deals.first_price_writes(deal.id, was)
    return deals.compared(card, [*history, Price(now, content.price, new_seller)]), [*earlier, change]


def _offer_writes(deal: Deal, content: DealContent) -> list[Write]:
    """Return the change of the offer, if there is any; stock only where the editor changed it."""
    was = deal.content
    changes: dict[Any, Any] = {}
    gone: list[str] = []
    when = [exists()]
    if content.price is None:
        gone.append("price")
    elif content.price != was.price:
        changes["price"] = content.price
    if (content.brand, content.category) != (was.brand, was.category):
        changes |= {"brand": content.brand, "category": content.category}
    rows = keys.expiry_rows(deal.id, content.brand, content.category, content.expires_at)
    old_rows = keys.expiry_rows(deal.id, was.brand, was.category, was.expires_at)
    if rows != old_rows:
        changes |= rows
        gone += [name for name in old_rows if name not in rows]
        if content.expires_at:
            changes["expires_at"] = iso(content.expires_at)
        else:
            gone.append("expires_at")
    if content.sold != deal.card.sold:
        changes |= {"elsewhere": True} if content.sold != HERE else {}
        gone += ["elsewhere"] if content.sold == HERE else []
    if content.stock != was.stock:
        when.append(stock_is(was.stock))
        if content.stock is None:
            gone.append("stock")
        else:
            changes["stock"] = content.stock
    if not changes and not gone:
        return []
    conditions, changed = tuple(when), VersionConflict()
    return [Update(key=keys.offer(deal.id), set=changes, remove=gone, when=conditions, otherwise=changed)]


@access_pattern("end a deal now", "1 transaction")
def expire_now(deal: Deal, *, by: str, now: datetime, audit_context: AuditContext = NO_CONTEXT) -> Deal:
    """End a live deal at once; Conflict if it is not published yet."""
    if not deal.card.is_visible(now):
        raise Conflict(gettext_lazy("A scheduled deal cannot expire. Delete it, or move its time."))
    token = new_ulid(now)

    def attempt(deal: Deal) -> Deal:
        if deal.content.expires_at is not None and deal.content.expires_at <= now:
            return deal
        content = replace(deal.content, expires_at=now)
        card = replace(deal.card, expires_at=now, changed_at=now)
        table.transact(_edit_writes(deal, content, card, token, by, now, "ended", audit_context))
        return _edited(deal, content, card, token, by, now)

    return _until_written(deal, deal.version, token, attempt)


def _until_written(deal: Deal, version: int, token: str, attempt: Callable[[Deal], Deal]) -> Deal:
    """Repeat an attempt on the deal of now while only the site itself, no person, changed it in between.

    An attempt that did happen, though its answer was lost, is known by its token.
    """

    def once() -> Deal:
        nonlocal deal
        try:
            return attempt(deal)
        except VersionConflict:
            deal = get(deal.id)
            if deal.last_edit == token:
                return deal
            if deal.version != version:
                raise VersionConflict(current=deal) from None
            raise

    return table.retrying(once)


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
        audit_entry("deal", deal.id, "deleted", by=by, now=now, old=deal.content, note=note),
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
        entry = audit_entry(
            "deal", deal_id, "restored", by=by, now=now, new=deal.content, note=audit_context.note
        )
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
