"""Placing an order, all of what was shown or nothing, in one transaction; then ship it, deliver it, or cancel it.

The transaction holds 3 actions for each line (out of the cart, into the order, its offer or stock), up to 12
instalments, and 7 others, or 8 for somebody else: 95 at 25 lines. A job marks what is sold out and finds no room.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal

from django.utils.translation import gettext as _, gettext_lazy, pgettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import activity
from dealsite.data.catalogue.deals import Deal, mark_sold_out_within, with_offers
from dealsite.data.commerce import carts, orders, payments
from dealsite.data.commerce.addresses import Address, clean_address, last_used_write
from dealsite.data.commerce.cart_changes import CartWrites
from dealsite.data.commerce.carts import CartChanged, Head, Line, read_active, read_head, user_cart
from dealsite.data.commerce.order_lines import after, history, next_time
from dealsite.data.commerce.order_record import (
    Event,
    Order,
    OrderCard,
    OrderMoney,
    clean_tracking,
    message_write,
    moved_lines,
    notice_writes,
    order_item,
    order_write,
)
from dealsite.data.commerce.order_returns import counted, proposed, take_off
from dealsite.data.commerce.orders import with_lines
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.commerce.payments import insert_writes, new_payments, no_credit, plans_for
from dealsite.data.editing import audit
from dealsite.data.entities.attributes import ZERO
from dealsite.data.entities.commerce import (
    ACTIVE,
    CANCELLED,
    DELIVERED,
    PAID,
    PLACED,
    PLANS,
    PURCHASED,
    RETURNED,
    SHIPPED,
)
from dealsite.data.entities.deals import HERE
from dealsite.data.entities.work import SITE
from dealsite.data.jobs.jobs import Job
from dealsite.data.jobs.payloads import payload_from_item
from dealsite.data.names import DAMAGED_FORM, as_typed
from dealsite.data.people import users
from dealsite.data.table.errors import AlreadyExists, Conflict, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import is_ulid, iso, new_ulid
from dealsite.data.table.meters import access_pattern
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


class NotPaid(Conflict):
    """An order is not paid as the rule of the site says before it is shipped."""


class OfferChanged(VersionConflict):
    """What a deal costs, or how many are left, is not what the cart says."""


@dataclass(frozen=True, slots=True)
class Purchase:
    """What a checkout form says: who buys, which version of the cart they were shown and what it came to.

    `order_id` is minted with the form, so a form sent twice makes one order. `method` is the token of the
    card at the gateway, `plan` the number of instalments. Whoever it is placed `by` for somebody else takes it out of
    their own cart, whose version it is then; all else is the shopper's.
    """

    order_id: str
    username: str
    name: str
    email: str
    version: int
    total: Decimal
    address: Address
    bill_to: Address | None = None
    plan: int = 1
    method: str = ""
    by: str = ""

    @property
    def placed_by(self) -> str:
        return self.by or self.username


@access_pattern("place an order, with its payments, message and mail", "1 query + 1 transaction")
def place(purchase: Purchase, *, now: datetime) -> Order:
    """Place an order and return it; placed before, it is returned as it is.

    CartChanged if the cart is not as it was shown, or its deals are not: nothing is bought then, and the
    cart page says what changed. Invalid for an address or plan that cannot be, or a card that is no longer theirs.
    Last pieces, and offers that changed, cost 1 batch get and 1 transaction more; an order that is there 1 get;
    instalments 1 get and 1 query. Two orders cannot both use what is left of somebody's credit: each changes the
    shopper's cart, for which one that is placed for somebody else costs 1 get.
    """
    if not is_ulid(purchase.order_id) or purchase.plan not in PLANS:
        raise Invalid(DAMAGED_FORM)
    bill_to = purchase.bill_to and clean_address(purchase.bill_to)
    purchase = replace(purchase, address=clean_address(purchase.address), bill_to=bill_to)
    head, lines = read_active(user_cart(purchase.placed_by), now=now)
    total = sum((line.total for line in lines), ZERO)
    if not lines or head.version != purchase.version or total != purchase.total:
        return _placed_before(purchase)
    if purchase.plan not in plans_for(total):
        raise Invalid(plan=SMALL)
    credit = _credit_writes(purchase, total, now)
    buyer, plan, method = purchase.username, purchase.plan, purchase.method
    payments = new_payments(purchase.order_id, buyer, total, plan, method=method, first=now)
    order = _new_order(purchase, lines, payments, now)
    fixed = _order_writes(order, payments, head, lines, now)
    offers = [_offer_unread(line, now) for line in lines]

    def attempt() -> Order:
        nonlocal lines, fixed, credit, offers
        try:
            table.transact([*fixed, *credit, *offers])
        except (AlreadyPlaced, CartChanged):
            return _placed_before(purchase)
        except VersionConflict:  # an offer, the card of a deal that sells out, or whose credit it is changed
            deals = _deals_as_shown(lines, now)
            lines = [replace(line, counted=deals[line.deal].stock is not None) for line in lines]
            fixed = _order_writes(order, payments, head, lines, now)
            if credit:
                credit = _credit_writes(purchase, total, now)
            offers = _offers_read(lines, deals, len(merge([*fixed, *credit])), now)
            raise
        for line in lines:
            activity.note(line.deal, now.astimezone(UTC).date(), orders=1)
        return order

    return table.retrying(attempt)


def _credit_writes(purchase: Purchase, total: Decimal, now: datetime) -> list[Write]:
    """Refuse instalments to whom has no credit for them; return what holds that until the order is there.

    Other orders of theirs, and the end of their account, change or check the version of their cart: where theirs is
    not the one that is ordered, it gets a new one, too.
    """
    writes: list[Write] = []
    if purchase.placed_by != purchase.username:
        cart = user_cart(purchase.username)
        (head,) = CartWrites(cart, read_head(cart, now=now), now=now).writes()
        writes.append(replace(head, otherwise=VersionConflict()))
    if purchase.plan > 1 and (why_not := no_credit(users.get(purchase.username), total, now=now)):
        raise Invalid(plan=why_not)
    return writes


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
        money=OrderMoney.of(payments),
    )
    return Order(
        card=card,
        version=1,
        address=purchase.address,
        email=purchase.email,
        payments=tuple(payment.ref for payment in payments),
        timeline=(Event(PLACED, now, purchase.placed_by),),
        bill_to=purchase.bill_to,
    )


def _order_writes(
    order: Order, payments: Sequence[Payment], head: Head, lines: Sequence[Line], now: datetime
) -> list[Write]:
    """Return all writes but those of the offers; the order's comes first, since that it is there explains all else."""
    method, cart = payments[0].method if payments else "", user_cart(order.placed_by)
    deleted = Conflict(gettext_lazy("This account was deleted."))
    has_card, gone = (
        (equals(("card", "token"), method), Invalid(card=CARD_GONE)) if method else (exists(), deleted)
    )
    on_behalf = "" if order.placed_by == order.username else f"On behalf of {order.username}"
    kept = {deal: entry.as_item() for deal, entry in head.lines.items() if entry.status != ACTIVE}
    writes: list[Write] = [
        Put(
            key=keys.order(order.username, order.id),
            item=order_item(order),
            when=(absent(),),
            otherwise=AlreadyPlaced(gettext_lazy("This order is placed already.")),
        ),
        Update(
            key=cart.head,
            set={"lines": kept, "active": 0},
            add={"version": 1},
            when=at_version(head.version),
            otherwise=CartChanged(),
        ),
        last_used_write(order.username, order.address, order.bill_to, has_card, otherwise=gone),
    ]
    writes += moved_lines(order, lines, PURCHASED, now, cart=cart)
    writes += insert_writes(payments, now=now, job_id=new_ulid(now))
    return writes + notice_writes(order, order.timeline[0], on_behalf)


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
    return writes + mark_sold_out_within(sold_out, actions + len(writes), sold_out=True, now=now)


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


EXPIRE_ORDER = "expire_order"  # the kind of job
NEVER_PAID = "It was not paid."
NOT_PAID = gettext_lazy("This order is not paid: it is shipped only if you say so.")
SHIPPED_UNPAID = "Before it was paid."
BEFORE = {SHIPPED: PLACED, DELIVERED: SHIPPED, CANCELLED: PLACED}
WORDS = {
    PLACED: pgettext_lazy("order", "placed"),
    SHIPPED: pgettext_lazy("order", "shipped"),
    DELIVERED: pgettext_lazy("order", "delivered"),
    CANCELLED: pgettext_lazy("order", "cancelled"),
    RETURNED: pgettext_lazy("order", "returned"),
}


@access_pattern("ship an order, or a part of it", "1 get + 1 transaction")
def ship(
    username: str,
    order_id: str,
    *,
    pieces: Mapping[str, int] | None = None,
    carrier: str = "",
    tracking: str = "",
    unpaid: bool = False,
    seen: int | None = None,
    by: str,
    now: datetime,
) -> Order:
    """Note that a parcel was shipped with all that is left, or so many `pieces` of lines; harmless if all was.

    NotFound, Conflict, Invalid; NotPaid, but for `unpaid`. For `seen` see `order_returns.take_back`. A part costs 1
    query more; an order of an earlier release 1 get, 1 batch get and 1 update more, to add up its payments.
    """
    tracking, carrier = clean_tracking(tracking), as_typed(carrier)
    note = f"Tracking number {tracking}" if tracking else ""

    def attempt() -> Order:
        order, lines = counted(username, order_id), list[Line]()
        event: Event | None
        if pieces is None:
            if order.status == SHIPPED:
                return order
            _expect_before(order, SHIPPED)
            event = Event(SHIPPED, next_time(order, now), by, note, carrier=carrier, tracking=tracking)
        else:
            order, lines = with_lines(order)
            event = proposed(
                order,
                lines,
                SHIPPED,
                pieces,
                seen=seen,
                by=by,
                note=note,
                now=now,
                carrier=carrier,
                tracking=tracking,
            )
        if event is None:
            return order
        if not order.card.may_ship and not unpaid:
            raise NotPaid(NOT_PAID)
        changed = after(order, event, lines)
        log_note = "" if order.card.may_ship else SHIPPED_UNPAID
        table.transact([order_write(order, changed), *notice_writes(changed, event, log_note)])
        return changed

    return table.retrying(attempt)


@access_pattern("note that an order was delivered, or a parcel of it", "1 get + 1 transaction")
def deliver(username: str, order_id: str, *, parcel: datetime | None = None, by: str, now: datetime) -> Order:
    """Note that all that was on its way was delivered, or the `parcel` that was shipped at a time.

    Harmless if it was. NotFound, Conflict; Invalid for no parcel of the order's. A parcel costs 1 query more.
    """

    def attempt() -> Order:
        order, lines = counted(username, order_id), list[Line]()
        if parcel is None:
            if order.status == DELIVERED:
                return order
            _expect_before(order, DELIVERED)
        else:
            order, lines = with_lines(order)
            parcels = {one.event.at: one for one in history(order, lines).parcels}
            if parcel not in parcels:
                raise Invalid(DAMAGED_FORM)
            if parcels[parcel].delivered_at:
                return order
        event = Event(DELIVERED, next_time(order, now), by, parcel=parcel)
        changed = after(order, event, lines)
        table.transact([order_write(order, changed), *notice_writes(changed, event)])
        return changed

    return table.retrying(attempt)


@access_pattern(
    "cancel an order, or a part of it, with its lines, stock and payments",
    "1 get + 1 query + 2 batch gets + 1 transaction",
)
def cancel(
    username: str,
    order_id: str,
    *,
    pieces: Mapping[str, int] | None = None,
    seen: int | None = None,
    by: str,
    reason: str = "",
    now: datetime,
    given_up: datetime | None = None,
) -> Order:
    """Cancel all of an order that is not shipped, or so many `pieces` of lines: stock goes back, less is to be paid.

    Harmless if the whole order is cancelled; Conflict if nothing is left to be shipped, IncompleteOrder if its lines do
    not add up. For `seen` see `order_returns.take_back`. All again while stock or payments change in between. With
    `given_up`, only one whose first payment was given up then, and nothing paid of: another is returned as it is.
    """

    def attempt() -> Order:
        order, lines = with_lines(counted(username, order_id))
        if order.status == CANCELLED or (given_up and order.status != PLACED):
            return order
        if pieces is None:
            _expect_before(order, CANCELLED)
        event = proposed(order, lines, CANCELLED, pieces, seen=seen, by=by, note=reason, now=now)
        paid = payments.of_order(username, order.payments)
        if event is None or (given_up and not _was_given_up(paid, given_up)):
            return order
        return take_off(order, lines, event, paid=paid)

    return table.retrying(attempt)


def _expect_before(order: Order, status: str) -> None:
    """Raise Conflict where an order cannot come to a status any more."""
    if order.status != BEFORE[status]:
        words = {"state": WORDS[order.status], "wanted": WORDS[status]}
        raise Conflict(_("This order is %(state)s: it cannot be %(wanted)s.") % words)


def _was_given_up(found: Sequence[Payment], at: datetime) -> bool:
    """Tell whether nothing of an order was paid, and its first payment not tried any more since a time."""
    is_over = any(one.number == 1 and one.final and one.next_at == at for one in found)
    return is_over and not any(one.status in PAID for one in found)


@dataclass(frozen=True, slots=True)
class ExpiryPayload:
    """The order that a job cancels, if nobody has paid it by then."""

    username: str
    order: str


@access_pattern("cancel an order that nobody paid", "1 get + 1 query + 2 batch gets + 1 transaction")
def expire(job: Job, now: datetime) -> None:
    """Carry out a job of this kind: cancel an order of which nothing was paid since, nor tried and declined anew."""
    of = payload_from_item(ExpiryPayload, job.payload)
    cancel(of.username, of.order, by=SITE, reason=NEVER_PAID, now=now, given_up=job.created_at)


ADDRESS_CHANGED = "The address of your order was changed"  # a message's headline
ON_ITS_WAY = gettext_lazy("This order is on its way: only its carrier can still take it to another address.")
TOO_LATE = gettext_lazy("This order is %(state)s: its address cannot be changed any more.")


@access_pattern("change where an order goes", "1 get + 1 transaction")
def change_address(username: str, order_id: str, address: Address, *, by: str, now: datetime) -> Order:
    """Have an order that is PLACED go elsewhere; harmless if it goes there. NotFound, Conflict, Invalid.

    Where somebody else did it, its shopper gets a message. Neither that nor the audit log says where it goes.
    """
    address = clean_address(address)

    def attempt() -> Order:
        order = orders.get(username, order_id)
        if order.address == address:
            return order
        if why_not := too_late(order):
            raise Conflict(why_not)
        card = replace(order.card, name=address.name)
        changed = replace(order, card=card, address=address, version=order.version + 1)
        writes: list[Write] = [
            order_write(order, changed),
            audit.entry_write(by=by, kind="order", subject=order_id, what="changed address", now=now),
        ]
        if by != username:
            writes.append(message_write(order, ADDRESS_CHANGED, now=now))
        table.transact(writes)
        return changed

    return table.retrying(attempt)


def too_late(order: Order) -> str:
    """Return why an order cannot go elsewhere any more, '' while it can."""
    if order.status == PLACED:
        return ""
    return str(ON_ITS_WAY if order.status == SHIPPED else TOO_LATE % {"state": WORDS[order.status]})
