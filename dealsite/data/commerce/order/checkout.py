"""Placing an order: what was shown is bought, all of it or nothing, in one transaction.

The transaction holds 3 actions for each line (out of the cart, into the order, the offer checked or its
stock taken), up to 12 instalments, and 7 others: 94 at 25 lines. Where the last pieces of several deals
are bought at once and their cards find no room, a job of the same transaction marks them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import activity
from dealsite.data.catalogue.deal.stock import mark_within, with_offers
from dealsite.data.catalogue.deals import Deal
from dealsite.data.commerce import carts, orders
from dealsite.data.commerce.carts import CartChanged, Head, Line, read_active, user_cart
from dealsite.data.commerce.order.order_record import (
    Address,
    Event,
    Order,
    OrderCard,
    clean_address,
    moved_lines,
    notice_writes,
    order_item,
)
from dealsite.data.commerce.payment.payment_record import Payment
from dealsite.data.commerce.payments import insert_writes, new_payments, plans_for
from dealsite.data.entities.commerce import ACTIVE, PLACED, PLANS, PURCHASED
from dealsite.data.entities.deals import HERE
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import AlreadyExists, Conflict, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import is_ulid, iso, new_ulid
from dealsite.data.table.writes import (
    Check,
    Condition,
    Put,
    Update,
    Write,
    above,
    absent,
    at_least,
    at_version,
    either,
    equals,
    exists,
    merge,
    missing,
)

SMALL = gettext_lazy("An instalment must come to 1.00 at least. Choose fewer instalments.")
CHANGED = gettext_lazy("Something in your cart changed: nothing was ordered. Please look at it again.")


class AlreadyPlaced(AlreadyExists):
    """This order was placed before: a second click, or a retry."""


CARD_GONE = gettext_lazy("Choose a card to pay with.")


class OfferChanged(VersionConflict):
    """What a deal costs, or how many are left, is not what the cart says."""


@dataclass(frozen=True, slots=True)
class Purchase:
    """What a checkout form says: who buys, which version of the cart they were shown and what it came to.

    `order_id` is minted with the form, so a form sent twice makes one order. `method` is the token of the
    card at the gateway, `plan` the number of instalments.
    """

    order_id: str
    username: str
    name: str
    email: str
    version: int
    total: Decimal
    address: Address
    plan: int = 1
    method: str = ""


@access_pattern("place an order, with its payments, message and mail", "1 query + 1 transaction")
def place(purchase: Purchase, *, now: datetime) -> Order:
    """Place an order and return it; placed before, it is returned as it is.

    CartChanged if the cart is not as it was shown, or its deals are not: nothing is bought then, and the
    cart page says what changed. Invalid for an address or plan that cannot be, or a card that is no longer theirs.
    Last pieces, and offers that changed, cost 1 batch get and 1 transaction more; an order that is there 1 get.
    """
    if not is_ulid(purchase.order_id) or purchase.plan not in PLANS:
        raise Invalid(gettext_lazy("This form is damaged. Load the page again."))
    purchase = replace(purchase, address=clean_address(purchase.address))
    head, lines = read_active(user_cart(purchase.username), now=now)
    total = sum((line.total for line in lines), Decimal("0.00"))
    if not lines or head.version != purchase.version or total != purchase.total:
        return _placed_before(purchase)
    if purchase.plan not in plans_for(total):
        raise Invalid(plan=SMALL)
    buyer, plan, method = purchase.username, purchase.plan, purchase.method
    payments = new_payments(purchase.order_id, buyer, total, plan, method=method, first=now)
    order = _new_order(purchase, lines, payments, now)
    fixed = _order_writes(order, payments, head, lines, now)
    offers = [_offer_unread(line, now) for line in lines]

    def attempt() -> Order:
        nonlocal lines, fixed, offers
        try:
            table.transact([*fixed, *offers])
        except (AlreadyPlaced, CartChanged):
            return _placed_before(purchase)
        except VersionConflict:  # an offer, or the card of a deal that sells out, is not as it was read
            deals = _deals_as_shown(lines, now)
            lines = [replace(line, counted=deals[line.deal].stock is not None) for line in lines]
            fixed = _order_writes(order, payments, head, lines, now)
            offers = _offers_read(lines, deals, len(merge(fixed)), now)
            raise
        for line in lines:
            activity.note(line.deal, now.astimezone(UTC).date(), orders=1)
        return order

    return table.retrying(attempt)


def _placed_before(purchase: Purchase) -> Order:
    try:
        return orders.get(purchase.username, purchase.order_id)
    except NotFound:
        raise CartChanged() from None


def _new_order(
    purchase: Purchase, lines: Sequence[Line], payments: Sequence[Payment], now: datetime
) -> Order:
    card = OrderCard(
        id=purchase.order_id,
        username=purchase.username,
        name=purchase.address.name,
        status=PLACED,
        placed_at=now,
        total=purchase.total,
        pieces=sum(line.quantity for line in lines),
        lines=len(lines),
        plan=purchase.plan,
    )
    return Order(
        card=card,
        version=1,
        address=purchase.address,
        email=purchase.email,
        payments=tuple(payment.ref for payment in payments),
        timeline=(Event(PLACED, now, purchase.username),),
    )


def _order_writes(
    order: Order, payments: Sequence[Payment], head: Head, lines: Sequence[Line], now: datetime
) -> list[Write]:
    """Return all writes but those of the offers; the order's comes first, since that it is there explains all else."""
    method = payments[0].method if payments else ""
    kept = {deal: entry.as_item() for deal, entry in head.lines.items() if entry.status != ACTIVE}
    writes: list[Write] = [
        Put(
            key=keys.order(order.username, order.id),
            item=order_item(order),
            when=(absent(),),
            otherwise=AlreadyPlaced(gettext_lazy("This order is placed already.")),
        ),
        Update(
            key=keys.cart_head(order.username),
            set={"lines": kept, "active": 0},
            add={"version": 1},
            when=at_version(head.version),
            otherwise=CartChanged(),
        ),
        Update(
            key=keys.profile(order.username),
            set={"address": order.address.as_item()},
            when=(equals(("card", "token"), method),) if method else (exists(),),
            otherwise=Invalid(card=CARD_GONE)
            if method
            else Conflict(gettext_lazy("This account was deleted.")),
        ),
    ]
    writes += moved_lines(order, lines, PURCHASED, now)
    writes += insert_writes(payments, now=now, job_id=new_ulid(now))
    return writes + notice_writes(order, order.timeline[0])


def _as_shown(line: Line, now: datetime) -> tuple[Condition, ...]:
    lasts = either(missing("expires_at"), above("expires_at", iso(now)))
    return equals("price", line.price), missing("elsewhere"), lasts


def _offer_unread(line: Line, now: datetime) -> Write:
    """Return the write of an offer that was not read: it must be as the line says, and not the last pieces."""
    key, as_shown = keys.offer(line.deal), _as_shown(line, now)
    if not line.counted:
        return Check(key=key, when=(*as_shown, missing("stock")), otherwise=OfferChanged())
    enough = (*as_shown, at_least("stock", line.quantity + 1))
    return Update(key=key, add={"stock": -line.quantity}, when=enough, otherwise=OfferChanged())


def _deals_as_shown(lines: Sequence[Line], now: datetime) -> dict[str, Deal]:
    """Return the deals of lines; CartChanged if they are not what the shopper was shown. 1 batch get."""
    deals = with_offers(line.deal for line in lines)
    offers = {keys.offer(one.id): _offer_of(one) for one in deals.values()}
    if any(shown.problems for shown in carts.compare(lines, offers, now=now)):
        raise CartChanged(CHANGED)
    return deals


def _offers_read(lines: Sequence[Line], deals: dict[str, Deal], actions: int, now: datetime) -> list[Write]:
    """Return the writes of offers as they were read, with the marks of what sells out."""
    writes: list[Write] = []
    sold_out: list[Deal] = []
    for line in lines:
        deal = deals[line.deal]
        if deal.stock is not None and deal.stock == line.quantity:
            sold_out.append(deal)
            key, last = keys.offer(line.deal), (*_as_shown(line, now), equals("stock", line.quantity))
            writes.append(Update(key=key, set={"stock": 0}, when=last, otherwise=OfferChanged()))
        else:
            writes.append(_offer_unread(line, now))
    return writes + mark_within(sold_out, actions + len(writes), sold_out=True, now=now)


def _offer_of(deal: Deal) -> dict[str, object]:
    """Return what of an offer decides whether a line can be bought."""
    offer: dict[str, object] = {"price": deal.content.price}
    if deal.content.sold != HERE:
        offer["elsewhere"] = True
    if deal.stock is not None:
        offer["stock"] = deal.stock
    if deal.content.expires_at is not None:
        offer["expires_at"] = iso(deal.content.expires_at)
    return offer
