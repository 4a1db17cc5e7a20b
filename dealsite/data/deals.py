"""Deals: published or scheduled. Each write is one transaction over the deal, its offer, counters and featured cards.

A deal item has two counters: `version` counts the edits of people, and decides conflicts between them;
`writes` counts every change, and keeps this module's read-modify-write honest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from dealsite.data import buckets, drafts, featured_cards, keys, table
from dealsite.data.brands import Brand
from dealsite.data.brands import get as get_brand
from dealsite.data.cards import DealCard
from dealsite.data.content import DealContent, problems
from dealsite.data.convert import Item
from dealsite.data.drafts import Draft
from dealsite.data.errors import AlreadyExists, Busy, Conflict, Invalid, NotFound, VersionConflict
from dealsite.data.ids import from_iso, is_ulid, iso, new_ulid, time_of
from dealsite.data.writes import Check, Condition, Delete, Put, Update, Write, absent, equals, exists, missing

TRIES = 6


@dataclass(frozen=True)
class Deal:
    """A published or scheduled deal. `content.stock` is known only where the offer was read too (`get`)."""

    id: str
    content: DealContent
    card: DealCard
    featured_on: frozenset[str]
    version: int
    writes: int
    created_at: datetime
    updated_at: datetime
    updated_by: str
    last_edit: str = ""
    draft: str = ""

    @property
    def live_at(self) -> datetime:
        return self.card.live_at

    @property
    def stock(self) -> int | None:
        return self.content.stock


class BrandChanged(Conflict):
    """The brand was renamed or is gone since it was read."""


# Reading


def get(deal_id: str) -> Deal:
    """Return a deal with its offer, or raise NotFound. 1 batch get, consistent."""
    if not is_ulid(deal_id):
        raise NotFound("There is no such deal.")
    items = table.batch_get([keys.deal(deal_id), keys.offer(deal_id)])
    item = items.get(keys.deal(deal_id))
    if item is None:
        raise NotFound("There is no such deal.")
    return deal_from_items(item, items.get(keys.offer(deal_id)))


def get_visible(deal_id: str, *, now: datetime) -> Deal:
    """Return a deal that shoppers may see: NotFound before its publication time. 1 batch get."""
    deal = get(deal_id)
    if not deal.card.is_visible(now):
        raise NotFound("There is no such deal.")
    return deal


def get_many(deal_ids: Iterable[str]) -> dict[str, Deal]:
    """Return those of some deals that exist, by id, without stock. 1 batch get for each 100."""
    items = table.batch_get(keys.deal(deal_id) for deal_id in deal_ids if is_ulid(deal_id))
    return {item["id"]: deal_from_items(item, None) for item in items.values()}


# Publishing


def publish(
    content: DealContent,
    *,
    deal_id: str,
    brand: Brand,
    by: str,
    now: datetime,
    draft: Draft | None = None,
) -> Deal:
    """Publish a deal at the time of its id, or schedule it if that time is to come. 1 transaction.

    Repeating it is harmless: the deal that is there under this id is returned. With a draft, the
    draft ends as a pointer to the deal; VersionConflict if it was edited or published meanwhile
    (`current` is the draft of now). Invalid says what the content lacks.
    """
    _refuse_problems(content, time_of(deal_id))
    for _ in range(TRIES):
        day = time_of(deal_id).date()
        writes = _publish_writes(deal_id, content, brand, by, now, draft)
        try:
            table.transact(writes)
        except AlreadyExists:
            return get(deal_id)
        except buckets.DayIsEmpty:
            buckets.remember(day, listed=False)
        except BrandChanged:
            brand = get_brand(brand.slug)
        except VersionConflict as conflict:
            if draft is None:
                raise
            conflict.current = drafts.get(draft.id)
            if conflict.current.published_as == deal_id:
                return get(deal_id)
            raise
        else:
            buckets.remember(day, listed=True)
            return get_written(writes[0], content)
    raise Busy()


def publish_many(new: Sequence[tuple[str, DealContent, Brand]], *, by: str, now: datetime) -> None:
    """Publish several deals, all or none, their counters summed. 1 transaction.

    Meant for imports: `new` holds (deal id, content, brand). AlreadyExists if one of them is there,
    Conflict if a brand was renamed meanwhile, TooLarge above 100 actions; the caller splits and repeats.
    """
    for deal_id, content, _ in new:
        _refuse_problems(content, time_of(deal_id))
    days = {time_of(deal_id).date() for deal_id, _, _ in new}
    for _ in range(TRIES):
        try:
            table.transact([w for d, c, b in new for w in _publish_writes(d, c, b, by, now, None)])
        except buckets.DayIsEmpty:
            for day in days:
                buckets.remember(day, listed=False)
            continue
        for day in days:
            buckets.remember(day, listed=True)
        return
    raise Busy()


def _publish_writes(
    deal_id: str, content: DealContent, brand: Brand, by: str, now: datetime, draft: Draft | None
) -> list[Write]:
    writes: list[Write] = [
        *_put_deal(deal_id, content, brand, by, now, draft.id if draft else ""),
        check_brand(brand),
        *buckets.arrive(deal_id, content.brand, content.category),
    ]
    if draft is not None:
        writes.append(drafts.published_write(draft, deal_id))
    return writes


def _put_deal(
    deal_id: str, content: DealContent, brand: Brand, by: str, now: datetime, draft_id: str
) -> list[Write]:
    if content.brand != brand.slug:
        raise ValueError("The brand given is not the content's.")
    taken = AlreadyExists("This deal is published already.")
    item = {
        "type": "Deal",
        "id": deal_id,
        "card": content.card(deal_id, brand.name).as_item(),
        "link": content.link,
        "description": content.description,
        "version": 1,
        "writes": 1,
        "last_edit": new_ulid(now),
        "created_at": iso(now),
        "created_by": by,
        "updated_at": iso(now),
        "updated_by": by,
        "draft": draft_id or None,
        **keys.feed_rows(deal_id, content.brand, content.category),
    }
    offer = {
        "type": "Offer",
        "id": deal_id,
        "brand": content.brand,
        "category": content.category,
        "price": content.price,
        "expires_at": iso(content.expires_at) if content.expires_at else None,
        "stock": content.stock,
        **keys.expiry_rows(deal_id, content.brand, content.category, content.expires_at),
    }
    return [
        Put(key=keys.deal(deal_id), item=item, when=(absent(),), otherwise=taken),
        Put(key=keys.offer(deal_id), item=offer, when=(absent(),), otherwise=taken),
    ]


def check_brand(brand: Brand) -> Check:
    """Return the check that a brand still has the name that it was read with."""
    return Check(
        key=keys.brand(brand.slug),
        when=(equals("name", brand.name),),
        otherwise=BrandChanged("The brand was renamed meanwhile. Please try again."),
    )


# Changing


def edit(
    deal: Deal, content: DealContent, *, version: int, brand: Brand, by: str, now: datetime
) -> Deal:
    """Change a deal, its offer, its card wherever it is featured, and both sides' counters if it moves. 1 transaction.

    `deal` is as `get` gave it just now, `version` the one that the editor's form was made from.
    VersionConflict, with `current`, if somebody else edited it in between; NotFound if it was deleted.
    """
    _refuse_problems(content, deal.live_at)
    token = new_ulid(now)
    state = {"brand": brand}

    def attempt(deal: Deal) -> Deal:
        if deal.version != version:
            raise VersionConflict(current=deal)
        brand = state["brand"]
        try:
            table.transact(_edit_writes(deal, content, brand, token, by, now))
        except BrandChanged:
            state["brand"] = get_brand(brand.slug)
            raise VersionConflict() from None
        return replace(
            deal,
            content=content,
            card=content.card(deal.id, brand.name),
            version=version + 1,
            writes=deal.writes + 1,
            updated_at=now,
            updated_by=by,
            last_edit=token,
        )

    return _until_settled(deal, token, attempt)


def _edit_writes(
    deal: Deal, content: DealContent, brand: Brand, token: str, by: str, now: datetime
) -> list[Write]:
    if content.brand != brand.slug:
        raise ValueError("The brand given is not the content's.")
    card = content.card(deal.id, brand.name)
    old, new = (deal.content.brand, deal.content.category), (content.brand, content.category)
    changes = {
        "card": card.as_item(),
        "link": content.link,
        "description": content.description,
        "version": deal.version + 1,
        "last_edit": token,
        "updated_at": iso(now),
        "updated_by": by,
        **(keys.feed_rows(deal.id, *new) if old != new else {}),
    }
    writes: list[Write] = [_change(deal, changes), *buckets.move(deal.id, old, new)]
    writes += _offer_writes(deal, content)
    writes.append(check_brand(brand))
    if card != deal.card:
        writes += featured_cards.renew(deal.featured_on, card)
    return writes


def _offer_writes(deal: Deal, content: DealContent) -> list[Write]:
    """Return the change of the offer, if there is any; stock only where the editor changed it."""
    was = deal.content
    changes: dict[str, object] = {}
    gone: list[str] = []
    when = [exists()]
    if content.price != was.price:
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
    if content.stock != was.stock:
        when.append(
            equals("stock", was.stock) if was.stock is not None else missing("stock")
        )
        if content.stock is None:
            gone.append("stock")
        else:
            changes["stock"] = content.stock
    if not changes and not gone:
        return []
    return [
        Update(key=keys.offer(deal.id), set=changes, remove=gone, when=tuple(when), otherwise=VersionConflict())
    ]


def expire_now(deal: Deal, *, by: str, now: datetime) -> Deal:
    """End a live deal at once; Conflict if it is not published yet. 1 transaction."""
    if not deal.card.is_visible(now):
        raise Conflict("A scheduled deal cannot expire. Delete it, or move its time.")
    token = new_ulid(now)

    def attempt(deal: Deal) -> Deal:
        if deal.content.expires_at is not None and deal.content.expires_at <= now:
            return deal
        content = replace(deal.content, expires_at=now)
        brand = Brand(deal.card.brand, deal.card.brand_name)
        writes = [w for w in _edit_writes(deal, content, brand, token, by, now) if not isinstance(w, Check)]
        table.transact(writes)
        return replace(
            deal,
            content=content,
            card=content.card(deal.id, deal.card.brand_name),
            version=deal.version + 1,
            writes=deal.writes + 1,
            updated_at=now,
            updated_by=by,
            last_edit=token,
        )

    return _until_settled(deal, token, attempt)


def delete(deal: Deal, *, by: str, now: datetime) -> None:
    """Delete a deal with its offer, counters and featured cards; harmless if it is gone already. 1 transaction.

    The last deal of a day costs a second transaction, which unlists the day.
    """
    last_of_day = False
    for _ in range(TRIES):
        try:
            table.transact(
                [
                    Delete(key=keys.deal(deal.id), when=_unchanged(deal), otherwise=VersionConflict()),
                    Delete(key=keys.offer(deal.id)),
                    *buckets.leave(deal.id, deal.content.brand, deal.content.category, last_of_day=last_of_day),
                    *featured_cards.remove(deal.featured_on, deal.id),
                ]
            )
        except buckets.LastOfDay:
            last_of_day = True
        except buckets.MoreOfDay:
            last_of_day = False
        except VersionConflict:
            try:
                deal = get(deal.id)
            except NotFound:
                return
        else:
            if last_of_day:
                buckets.remember(deal.live_at.date(), listed=False)
            return
    raise Busy()


def reschedule(deal: Deal, live_at: datetime, *, new_id: str, by: str, now: datetime) -> Deal:
    """Move a scheduled deal to another time, which is another id: `new_id`, minted for that time.

    Conflict if it is live already, Invalid if it would expire before; VersionConflict if it changed
    meanwhile. Featured cards keep their places. 1 transaction, and 1 batch get if it is featured.
    """
    if time_of(new_id) != live_at.replace(microsecond=live_at.microsecond // 1000 * 1000):
        raise ValueError("The new id was not minted for the new time.")
    if deal.card.is_visible(now):
        raise Conflict("This deal is live already; its time cannot be changed.")
    _refuse_problems(deal.content, live_at)
    if new_id == deal.id:
        return deal
    last_of_day = False
    brand = Brand(deal.card.brand, deal.card.brand_name)
    for _ in range(TRIES):
        places = _places(deal)
        try:
            writes = _reschedule_writes(deal, new_id, brand, places, by, now, last_of_day)
            table.transact(writes)
        except buckets.LastOfDay:
            last_of_day = True
        except buckets.MoreOfDay:
            last_of_day = False
        except buckets.DayIsEmpty:
            buckets.remember(live_at.date(), listed=False)
        except BrandChanged:
            brand = get_brand(brand.slug)
        except AlreadyExists:
            return get(new_id)
        except VersionConflict:
            version = deal.version
            try:
                deal = get(deal.id)
            except NotFound:
                return get(new_id)
            if deal.version != version:
                raise VersionConflict(current=deal) from None
        else:
            buckets.remember(live_at.date(), listed=True)
            if last_of_day:
                buckets.remember(deal.live_at.date(), listed=False)
            return get_written(writes[0], deal.content, featured_on=deal.featured_on)
    raise Busy()


def _reschedule_writes(
    deal: Deal, new_id: str, brand: Brand, places: dict[str, int], by: str, now: datetime, last_of_day: bool
) -> list[Write]:
    content = deal.content
    put, offer = _put_deal(new_id, content, brand, by, now, deal.draft)
    assert isinstance(put, Put)
    put = replace(
        put,
        item=put.item
        | {"featured_on": set(deal.featured_on), "version": deal.version + 1, "created_at": iso(deal.created_at)},
    )
    arrive = buckets.arrive(new_id, content.brand, content.category)
    leave = buckets.leave(deal.id, content.brand, content.category, last_of_day=last_of_day)
    if time_of(new_id).date() == deal.live_at.date():  # the day keeps its number of deals
        arrive, leave = arrive[:2], leave[:2]
    writes: list[Write] = [
        put,
        offer,
        Delete(key=keys.deal(deal.id), when=_unchanged(deal), otherwise=VersionConflict()),
        Delete(key=keys.offer(deal.id), when=_same_stock(deal), otherwise=VersionConflict()),
        check_brand(brand),
        *arrive,
        *leave,
        *featured_cards.replace_at(places, deal.id, content.card(new_id, brand.name)),
    ]
    if deal.draft:
        writes.append(drafts.moved_write(deal.draft, new_id))
    return writes


def _places(deal: Deal) -> dict[str, int]:
    """Return where each page that features a deal has it. 1 batch get, none if it is not featured."""
    if not deal.featured_on:
        return {}
    page_keys = {page: featured_cards.page_key(page) for page in deal.featured_on}
    items = table.batch_get(page_keys.values())
    return {
        page: items[key]["order"].index(deal.id)
        for page, key in page_keys.items()
        if deal.id in items.get(key, {}).get("order", ())
    }


# The small parts


def _change(deal: Deal, changes: dict[str, object]) -> Update:
    return Update(
        key=keys.deal(deal.id),
        set=changes,
        add={"writes": 1},
        when=_unchanged(deal),
        otherwise=VersionConflict(),
    )


def _unchanged(deal: Deal) -> tuple[Condition, ...]:
    return (equals("writes", deal.writes),)


def _same_stock(deal: Deal) -> tuple[Condition, ...]:
    return (exists(), equals("stock", deal.stock) if deal.stock is not None else missing("stock"))


def _until_settled(deal: Deal, token: str, attempt: Callable[[Deal], Deal]) -> Deal:
    """Repeat an attempt on the deal of now while only the site itself, no person, changed it in between.

    An attempt that did happen, though its answer was lost, is known by its token.
    """
    version = deal.version
    for _ in range(TRIES):
        try:
            return attempt(deal)
        except VersionConflict:
            deal = get(deal.id)
            if deal.last_edit == token:
                return deal
            if deal.version != version:
                raise VersionConflict(current=deal) from None
    raise Busy()


def _refuse_problems(content: DealContent, live_at: datetime) -> None:
    found = problems(content, live_at=live_at)
    if found:
        raise Invalid(**found)


def deal_from_items(item: Item, offer: Item | None) -> Deal:
    """Return the deal of its item; without its offer the stock is not known."""
    card = DealCard.from_item(item["card"])
    content = DealContent(
        title=card.title,
        brand=card.brand,
        category=card.category,
        price=card.price,
        was_price=card.was_price,
        voucher_code=card.voucher_code,
        link=item.get("link", ""),
        description=item.get("description", ""),
        picture=card.picture,
        stock=(offer or {}).get("stock"),
        expires_at=card.expires_at,
    )
    return Deal(
        id=item["id"],
        content=content,
        card=card,
        featured_on=frozenset(item.get("featured_on", ())),
        version=item["version"],
        writes=item["writes"],
        created_at=from_iso(item["created_at"]),
        updated_at=from_iso(item["updated_at"]),
        updated_by=item["updated_by"],
        last_edit=item.get("last_edit", ""),
        draft=item.get("draft", "") or "",
    )


def get_written(put: Write, content: DealContent, featured_on: frozenset[str] = frozenset()) -> Deal:
    """Return the deal that a Put has just written, without reading it again."""
    assert isinstance(put, Put)
    return replace(deal_from_items(put.item, {"stock": content.stock}), featured_on=featured_on)
