"""What is taken off an order: pieces that are cancelled before they were sent, or come back, and what costs less.

Each in one transaction: the order, its lines, stock and payments. What is not paid yet is not charged, the last
instalment first; what is paid goes back. 93 actions at 25 lines of counted stock and 12 instalments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.deals import Deal, mark_sold_out_within, with_offers
from dealsite.data.commerce import orders, payments
from dealsite.data.commerce.carts import CartChanged, Line, line_item, user_cart
from dealsite.data.commerce.order_lines import (
    Chosen,
    OrderLine,
    about,
    after,
    all_left,
    choose,
    history,
    next_time,
    open_return,
    return_ends,
)
from dealsite.data.commerce.order_record import (
    Event,
    Order,
    OrderMoney,
    ReturnRequest,
    clean_note,
    moved_lines,
    notice_writes,
    order_write,
    return_request_item,
)
from dealsite.data.commerce.orders import lines_at, with_lines
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.entities.attributes import ZERO
from dealsite.data.entities.commerce import (
    CANCELLED,
    FAILED,
    PENDING,
    PURCHASED,
    REDUCED,
    RETURN_ASKED,
    RETURN_DECLINED,
    RETURNED,
    SCHEDULED,
)
from dealsite.data.names import DAMAGED_FORM
from dealsite.data.table.errors import Conflict, Invalid, VersionConflict
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import (
    Delete,
    Put,
    Update,
    Write,
    absent,
    at_least,
    equals,
    exists,
    merge,
    present,
)

SINCE_CHANGED = gettext_lazy("This order changed meanwhile: look at it again.")
TOO_LATE = gettext_lazy("The time to return something of this order is over.")
ASKED_ALREADY = gettext_lazy("You asked to return something of this order already: we answer soon.")
NOT_ASKED = gettext_lazy("Nobody asks to return anything of this order.")


@access_pattern("note what came back of an order", "1 get + 1 query + 2 batch gets + 1 transaction")
def take_back(
    username: str,
    order_id: str,
    *,
    pieces: Mapping[str, int],
    amounts: Mapping[str, Decimal] | None = None,
    restock: bool = True,
    seen: int | None = None,
    by: str,
    reason: str = "",
    now: datetime,
) -> Order:
    """Note that pieces of lines came back: their price, or the amount that is named for a line, is not to be paid.

    With `restock` they can be bought again. `seen` is how many events the form knew: what is sent twice is done once.
    NotFound, Invalid; Conflict for more than was sent, and where something else happened since.
    """

    return _take_off(
        username,
        order_id,
        RETURNED,
        pieces,
        amounts,
        restock=restock,
        seen=seen,
        by=by,
        reason=reason,
        now=now,
    )


@access_pattern("have an order cost less", "1 get + 1 query + 1 batch get + 1 transaction")
def reduce(
    username: str,
    order_id: str,
    *,
    amounts: Mapping[str, Decimal],
    seen: int | None = None,
    by: str,
    reason: str = "",
    now: datetime,
) -> Order:
    """Take amounts off what is to be paid for lines, which stay with the shopper; see `take_back`."""

    return _take_off(username, order_id, REDUCED, {}, amounts, seen=seen, by=by, reason=reason, now=now)


def _take_off(
    username: str,
    order_id: str,
    status: str,
    pieces: Mapping[str, int],
    amounts: Mapping[str, Decimal] | None,
    *,
    restock: bool = False,
    seen: int | None,
    by: str,
    reason: str,
    now: datetime,
) -> Order:
    def attempt() -> Order:
        order, lines = with_lines(counted(username, order_id))
        event = proposed(order, lines, status, pieces, amounts, seen=seen, by=by, note=reason, now=now)
        return take_off(order, lines, event, restock=restock) if event else order

    return table.retrying(attempt)


@access_pattern("ask to return a part of an order", "1 get + 1 query + 1 transaction")
def ask_return(
    username: str,
    order_id: str,
    *,
    pieces: Mapping[str, int],
    seen: int | None = None,
    by: str,
    reason: str = "",
    now: datetime,
) -> Order:
    """Note that a shopper wants to return pieces of lines; see `take_back`. Conflict where it is too late for that."""

    def attempt() -> Order:
        order, lines = with_lines(counted(username, order_id))
        event = proposed(order, lines, RETURN_ASKED, pieces, seen=seen, by=by, note=reason, now=now)
        if event is None:
            return order
        ends = return_ends(order)
        if ends is None or now >= ends:
            raise Conflict(TOO_LATE)
        if open_return(order):
            raise Conflict(ASKED_ALREADY)
        changed = after(order, event, lines)
        count = sum(one.pieces for one in about(event, history(order, lines).lines).values())
        request = ReturnRequest(order.id, username, order.card.name, event.at, count, event.note)
        key = keys.return_request(username, order.id)
        listed = Put(key=key, item=return_request_item(request), when=(absent(),))
        table.transact([order_write(order, changed), listed, *notice_writes(changed, event)])
        return changed

    return table.retrying(attempt)


@access_pattern("decline a return", "1 get + 1 query + 1 transaction")
def decline_return(
    username: str, order_id: str, *, seen: int | None = None, by: str, reason: str, now: datetime
) -> Order:
    """Tell a shopper that what they asked to return is not taken back, and why; harmless if it was declined."""

    def attempt() -> Order:
        order, lines = with_lines(counted(username, order_id))
        wanted = open_return(order)
        if wanted is None:
            if order.timeline[-1].status == RETURN_DECLINED:
                return order
            raise Conflict(NOT_ASKED)
        if seen not in (None, len(order.timeline)):
            raise Conflict(SINCE_CHANGED)
        asked = history(order, lines).moved[wanted.at]
        event = Event(RETURN_DECLINED, next_time(order, now), by, clean_note(reason), asked)
        changed = after(order, event, lines)
        answered = _answered(order)
        table.transact([order_write(order, changed), *answered, *notice_writes(changed, event)])
        return changed

    return table.retrying(attempt)


def _answered(order: Order) -> list[Write]:
    """Return the write that takes an order from the list of returns, where it is there."""
    key = keys.return_request(order.username, order.id)
    return [Delete(key=key, when=(exists(),), otherwise=VersionConflict())] if open_return(order) else []


def counted(username: str, order_id: str) -> Order:
    """Return an order that says what its payments come to; VersionConflict where they were just added up. 1 get."""
    order = orders.get(username, order_id)
    if order.card.money is None:
        payments.add_up(username, order_id)
        raise VersionConflict()
    return order


def proposed(
    order: Order,
    lines: Sequence[Line],
    status: str,
    pieces: Mapping[str, int] | None,
    amounts: Mapping[str, Decimal] | None = None,
    *,
    seen: int | None,
    by: str,
    note: str,
    now: datetime,
    carrier: str = "",
    tracking: str = "",
) -> Event | None:
    """Return what is to happen to pieces of an order; None if it has, by a form that was sent twice. See `choose`."""
    known = len(order.timeline) if seen is None else seen
    if not 0 < known <= len(order.timeline):
        raise Invalid(DAMAGED_FORM)
    then = history(replace(order, timeline=order.timeline[:known]), lines).lines
    chosen = choose(then, status, pieces, amounts)
    is_whole = chosen == all_left(then, status) and all(
        one.left_for(status) == one.line.quantity for one in then
    )
    event = Event(
        status, next_time(order, now), by, clean_note(note), {} if is_whole else chosen, carrier, tracking
    )
    if known == len(order.timeline):
        return event
    if replace(order.timeline[known], at=event.at) == event:
        return None
    raise Conflict(SINCE_CHANGED)


@dataclass(frozen=True, slots=True)
class TakeOff:
    """What an event takes off an order, before anything is stored: how much, and what is to be paid in all then.

    With the order as it is then, each payment before and then, the pieces that come back, and the writes of all but
    their stock.
    """

    amount: Decimal
    total: Decimal
    order: Order
    payments: list[tuple[Payment, Payment]]
    back: list[tuple[Line, int]]
    writes: list[Write]

    @property
    def changes(self) -> list[tuple[Payment, Payment]]:
        """The payments that become others."""
        return [(before, then) for before, then in self.payments if then != before]

    @property
    def to_pay(self) -> Decimal:
        """What is still to be charged then, but for what goes back at once."""
        open_then = (then for _before, then in self.payments if then.status in (SCHEDULED, PENDING, FAILED))
        return sum((then.kept for then in open_then), ZERO)


@access_pattern("what taking something off an order does to its payments", "1 batch get")
def preview(
    order: Order,
    lines: Sequence[Line],
    status: str,
    pieces: Mapping[str, int],
    amounts: Mapping[str, Decimal] | None = None,
    *,
    seen: int | None = None,
    by: str,
    now: datetime,
) -> TakeOff:
    """Return what cancelling or taking back pieces, or reducing amounts, would do to an order; see `take_back`.

    Invalid and Conflict as for the change itself; Conflict where it was made by a form that is sent again, too.
    """
    event = proposed(order, lines, status, pieces, amounts, seen=seen, by=by, note="", now=now)
    if event is None:
        raise Conflict(SINCE_CHANGED)
    return _planned(order, lines, event, payments.of_order(order.username, order.payments))


def _planned(order: Order, lines: Sequence[Line], event: Event, paid: Sequence[Payment]) -> TakeOff:
    """Return what an event takes off an order as it was read: previews show it, `take_off` stores it."""
    before, changed = history(order, lines), after(order, event, lines)
    taken = about(event, before.lines)
    amount = sum((one.amount for one in taken.values()), ZERO)
    is_whole = event.status == CANCELLED and not event.lines
    reason = event.note or ("The order was cancelled." if is_whole else event.headline)
    paid_then, paying = payments.cancel_writes(paid, amount, by=event.by, reason=reason, now=event.at)
    changed = replace(changed, card=replace(changed.card, money=OrderMoney.of(paid_then)))
    writes: list[Write] = [
        order_write(order, changed),
        *_line_writes(order, before.lines, taken, event.at),
        *paying,
        *notice_writes(changed, event),
        *(_answered(order) if event.status == RETURNED else []),
    ]
    back = [(one.line, taken[one.line.id].pieces) for one in before.lines if one.line.id in taken]
    moved = list(zip(paid, paid_then, strict=True))
    return TakeOff(amount, before.worth - amount, changed, moved, back, writes)


def take_off(
    order: Order,
    lines: Sequence[Line],
    event: Event,
    *,
    restock: bool = True,
    paid: Sequence[Payment] | None = None,
) -> Order:
    """Store what an event takes off an order as it was read; VersionConflict where anything of it has changed since."""
    paid = payments.of_order(order.username, order.payments) if paid is None else paid
    plan = _planned(order, lines, event, paid)
    writes = list(plan.writes)
    if restock:
        deals = with_offers(line.deal for line, _pieces in plan.back)
        writes += _stock_back(plan.back, deals, len(merge(writes)), event.at)
    try:
        table.transact(writes)
    except Conflict as conflict:
        raise VersionConflict() from conflict
    return plan.order


def _line_writes(order: Order, lines: Sequence[OrderLine], taken: Chosen, at: datetime) -> list[Write]:
    """Return the writes that make pieces RETURNED: the rest of a line stays where it is."""
    owner, writes = user_cart(order.username), list[Write]()
    for one in lines:
        pieces = taken[one.line.id].pieces if one.line.id in taken else 0
        if not pieces:
            continue
        key = owner.line(PURCHASED, order.placed_at, one.line.id)
        as_it_is = (equals(("card", "quantity"), one.kept),)
        if pieces == one.kept:
            writes.append(Delete(key=key, when=as_it_is, otherwise=CartChanged()))
        else:
            left = {("card", "quantity"): one.kept - pieces}
            writes.append(Update(key=key, set=left, when=as_it_is, otherwise=CartChanged()))
        back = replace(one.line, status=RETURNED, at=at, quantity=pieces, order=order.id)
        item = line_item(back, owner, None)
        writes.append(Put(key=owner.line(RETURNED, at, one.line.id), item=item, when=(absent(),)))
    return writes


def late_returns(order: Order, *, now: datetime) -> list[Write]:
    """Return the writes that return the lines that are PURCHASED of a cancelled order, and their stock.

    Cancelling left some where very many lines were of one moment, before all of them were read. 1 query + 1 batch get.
    """
    lines = lines_at(order, PURCHASED, order.placed_at)
    writes = moved_lines(order, lines, RETURNED, order.closed_at)
    back = [(line, line.quantity) for line in lines]
    return writes + _stock_back(back, with_offers(line.deal for line in lines), len(writes), now)


def _stock_back(
    back: Sequence[tuple[Line, int]], deals: dict[str, Deal], actions: int, now: datetime
) -> list[Write]:
    """Return the writes that put stock back where it is counted, with the marks of what is not sold out any more.

    Of a deal in the trash, to the stock with which it comes back: 1 batch get more.
    """
    writes: list[Write] = []
    on_sale: list[Deal] = []
    counted_back = [(line, pieces) for line, pieces in back if line.counted and pieces]
    gone = [keys.trash("deal", line.deal) for line, _pieces in counted_back if line.deal not in deals]
    in_trash = table.batch_get(gone) if gone else {}
    for line, pieces in counted_back:
        deal = deals.get(line.deal)
        if deal is None:
            key, stock = keys.trash("deal", line.deal), ("offer", "stock")
            if "stock" in (in_trash.get(key, {}).get("offer") or {}):
                token = {"token": new_ulid(now)}  # whoever restores it just now, reads it again
                writes.append(Update(key=key, set=token, add={stock: pieces}, when=(present(stock),)))
            continue
        if deal.stock is None:
            continue
        when = at_least("stock", 1)
        if deal.stock == 0:
            when = equals("stock", 0)
            on_sale.append(deal)
        writes.append(Update(key=keys.offer(line.deal), add={"stock": pieces}, when=(when,)))
    return writes + mark_sold_out_within(on_sale, actions + len(writes), sold_out=False, now=now)
