"""Placing an order, all of what was shown or nothing, in one transaction; then ship it, deliver it, or cancel it.

The transaction holds 3 actions for each line (out of the cart, into the order, the offer checked or its
stock taken), up to 12 instalments, and 7 others: 94 at 25 lines. Where the last pieces of several deals
are bought at once and their cards find no room, a job of the same transaction marks them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal

from django.utils.translation import gettext as _, gettext_lazy, pgettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import activity
from dealsite.data.catalogue.deals import Deal, mark_sold_out_within, with_offers
from dealsite.data.commerce import carts, orders, payments
from dealsite.data.commerce.carts import CartChanged, Head, Line, read_active, user_cart
from dealsite.data.commerce.order_record import (
    Address,
    Event,
    Order,
    OrderCard,
    OrderMoney,
    clean_address,
    clean_note,
    clean_tracking,
    moved_lines,
    notice_writes,
    order_item,
)
from dealsite.data.commerce.orders import lines_at, with_lines
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.commerce.payments import insert_writes, new_payments, no_credit, plans_for
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
from dealsite.data.jobs.jobs import Job, payload_from_item
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
    Last pieces, and offers that changed, cost 1 batch get and 1 transaction more; an order that is there 1 get;
    instalments 1 get and 1 query. Two orders cannot both use what is left of somebody's credit: each changes the cart.
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
    if purchase.plan > 1 and (why_not := no_credit(users.get(purchase.username), total, now=now)):
        raise Invalid(plan=why_not)
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
        money=OrderMoney.of(payments),
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
}


@access_pattern("mark an order shipped", "1 get + 1 transaction")
def ship(
    username: str, order_id: str, *, tracking: str = "", unpaid: bool = False, by: str, now: datetime
) -> Order:
    """Mark an order shipped; harmless if it is. NotFound, Conflict, Invalid; NotPaid, but for `unpaid`.

    For an order of an earlier release 1 get, 1 batch get and 1 update more, to add up its payments.
    """
    tracking = clean_tracking(tracking)
    note = f"Tracking number {tracking}" if tracking else ""
    return _step(username, order_id, Event(SHIPPED, now, by, note), tracking=tracking, unpaid=unpaid)


@access_pattern("mark an order delivered", "1 get + 1 transaction")
def deliver(username: str, order_id: str, *, by: str, now: datetime) -> Order:
    """Mark an order delivered; harmless if it is. NotFound, Conflict."""
    return _step(username, order_id, Event(DELIVERED, now, by))


def _step(username: str, order_id: str, event: Event, *, tracking: str = "", unpaid: bool = False) -> Order:
    def attempt() -> Order:
        order = _counted(username, order_id)
        if order.status == event.status:
            return order
        after, log_note = _after(order, event, tracking=tracking), ""
        if event.status == SHIPPED and not order.card.may_ship:
            if not unpaid:
                raise NotPaid(NOT_PAID)
            log_note = SHIPPED_UNPAID
        table.transact([_order_write(order, after), *notice_writes(after, event, log_note)])
        return after

    return table.retrying(attempt)


def _counted(username: str, order_id: str) -> Order:
    """Return an order that says what its payments come to."""
    order = orders.get(username, order_id)
    if order.card.money is None:
        payments.add_up(username, order_id)
        raise VersionConflict()
    return order


@access_pattern(
    "cancel an order, with its lines, stock and payments", "1 get + 1 query + 2 batch gets + 1 transaction"
)
def cancel(
    username: str, order_id: str, *, by: str, reason: str = "", now: datetime, given_up: bool = False
) -> Order:
    """Cancel an order that is PLACED: stock goes back, lines become RETURNED, instalments are cancelled.

    Harmless if it is cancelled; Conflict if it was shipped, IncompleteOrder if its lines do not add up. All again while
    stock or payments change in between. With `given_up`, only one that nothing was paid of, nor will be: another is
    returned as it is. One transaction, 93 actions at 25 lines of counted stock and 12 instalments.
    """
    event = Event(CANCELLED, now, by, clean_note(reason))

    def attempt() -> Order:
        order = _counted(username, order_id)
        lines: list[Line] = []
        if order.status == PLACED:
            order, lines = with_lines(order)
        if order.status == CANCELLED:
            return order
        paid = payments.of_order(username, order.payments)
        if given_up and not (order.status == PLACED and _is_given_up(paid)):
            return order
        reason = event.note or "The order was cancelled."
        cancelled, cancelling = payments.cancel_writes(paid, by=by, reason=reason, now=now)
        after = _after(order, event)
        after = replace(after, card=replace(after.card, money=OrderMoney.of(cancelled)))
        writes: list[Write] = [
            _order_write(order, after),
            *moved_lines(order, lines, RETURNED, now),
            *cancelling,
            *notice_writes(after, event),
        ]
        deals = with_offers(line.deal for line in lines)
        writes += _stock_back(lines, deals, len(merge(writes)), now)
        try:
            table.transact(writes)
        except Conflict as changed:
            raise VersionConflict() from changed
        return after

    return table.retrying(attempt)


def _is_given_up(found: Sequence[Payment]) -> bool:
    """Tell whether nothing of an order was paid, and its first payment is not tried any more."""
    first_ended = any(payment.number == 1 and payment.final for payment in found)
    return first_ended and not any(payment.status in PAID for payment in found)


@dataclass(frozen=True, slots=True)
class ExpiryPayload:
    """The order that a job cancels, if nobody has paid it by then."""

    username: str
    order: str


@access_pattern("cancel an order that nobody paid", "1 get + 1 query + 2 batch gets + 1 transaction")
def expire(job: Job, now: datetime) -> None:
    """Carry out a job of this kind: cancel an order that nothing was paid of since, nor will be by itself."""
    payload = payload_from_item(ExpiryPayload, job.payload)
    cancel(payload.username, payload.order, by=SITE, reason=NEVER_PAID, now=now, given_up=True)


def late_returns(order: Order, *, now: datetime) -> list[Write]:
    """Return the writes that return the lines that are PURCHASED of a cancelled order, and their stock.

    Cancelling left some where very many lines were of one moment, before all of them were read. 1 query + 1 batch get.
    """
    lines = lines_at(order, PURCHASED, order.placed_at)
    writes = moved_lines(order, lines, RETURNED, order.closed_at)
    return writes + _stock_back(lines, with_offers(line.deal for line in lines), len(writes), now)


def _after(order: Order, event: Event, *, tracking: str = "") -> Order:
    """Return an order after an event; Conflict if that cannot happen any more."""
    if order.status != BEFORE[event.status]:
        raise Conflict(_refusal(order, event))
    return replace(
        order,
        card=replace(order.card, status=event.status),
        version=order.version + 1,
        timeline=(*order.timeline, event),
        tracking=tracking or order.tracking,
    )


def _refusal(order: Order, event: Event) -> str:
    words = {"state": WORDS[order.status], "wanted": WORDS[event.status]}
    return _("This order is %(state)s: it cannot be %(wanted)s.") % words


def _order_write(order: Order, after: Order) -> Write:
    item, old = order_item(after), order_item(order)
    return Update(
        key=keys.order(order.username, order.id),
        set={name: value for name, value in item.items() if value is not None and old.get(name) != value},
        remove=[name for name in old if name not in item],
        when=(equals("version", order.version),),
        otherwise=VersionConflict(),
    )


def _stock_back(lines: Sequence[Line], deals: dict[str, Deal], actions: int, now: datetime) -> list[Write]:
    """Return the writes that put stock back where it is counted, with the marks of what is not sold out any more."""
    writes: list[Write] = []
    on_sale: list[Deal] = []
    for line in lines:
        deal = deals.get(line.deal)
        if deal is None or deal.stock is None or not line.counted:
            continue
        when = at_least("stock", 1)
        if deal.stock == 0:
            when = equals("stock", 0)
            on_sale.append(deal)
        writes.append(Update(key=keys.offer(line.deal), add={"stock": line.quantity}, when=(when,)))
    return writes + mark_sold_out_within(on_sale, actions + len(writes), sold_out=False, now=now)
