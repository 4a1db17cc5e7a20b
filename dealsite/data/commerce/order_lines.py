"""What became of each line of an order, piece by piece, and of the order: added up from what happened to it.

    placed -> shipped -> delivered -> returned          placed -> cancelled

An order's status is that of the pieces that are least far: PLACED while some are to be shipped, then SHIPPED while
some are on their way, then DELIVERED; where none are left with the shopper, RETURNED or CANCELLED. Pieces that come
back are taken from those that were delivered first. Events of earlier releases name no lines: all that was left.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data.commerce.carts import Line
from dealsite.data.commerce.order_record import Event, EventLine, Order
from dealsite.data.entities.attributes import ZERO
from dealsite.data.entities.commerce import (
    CANCELLED,
    DELIVERED,
    MOST_EVENTS,
    PLACED,
    RETURN_ASKED,
    RETURN_DECLINED,
    RETURNED,
    SHIPPED,
    TAKEN_BACK,
)
from dealsite.data.names import DAMAGED_FORM
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.text.writing import money

Chosen = Mapping[str, EventLine]  # by the ids of lines


@dataclass(slots=True)
class OrderLine:
    """A line of an order, and how many of its pieces are where; `taken_off` is what is not to be paid for it."""

    line: Line
    to_ship: int
    on_the_way: int = 0
    delivered: int = 0
    cancelled: int = 0
    returned: int = 0
    taken_off: Decimal = ZERO

    @property
    def kept(self) -> int:
        """How many pieces were neither cancelled nor returned."""
        return self.to_ship + self.on_the_way + self.delivered

    @property
    def sent(self) -> int:
        """How many pieces the shopper has, or will have soon."""
        return self.on_the_way + self.delivered

    @property
    def worth(self) -> Decimal:
        """What is to be paid for it, or was."""
        return self.line.total - self.taken_off

    @property
    def status(self) -> str:
        return status_of([self])

    @property
    def states(self) -> list[tuple[str, int]]:
        """How many pieces are in which status."""
        counts = (self.to_ship, self.on_the_way, self.delivered, self.cancelled, self.returned)
        return [(status, count) for status, count in zip(LINE_STATUSES, counts, strict=True) if count]

    def left_for(self, status: str) -> int:
        """Return how many pieces can come to a status."""
        left = {
            SHIPPED: self.to_ship,
            CANCELLED: self.to_ship,
            DELIVERED: self.on_the_way,
            RETURNED: self.sent,
            RETURN_ASKED: self.sent,
        }
        return left.get(status, 0)

    def price_of(self, pieces: int) -> Decimal:
        """Return what is taken off for so many pieces, where nobody says otherwise."""
        return min(self.line.price * pieces, self.worth)

    def move(self, status: str, moved: EventLine) -> None:
        """Let so many pieces come to a status."""
        pieces = moved.pieces
        if status == SHIPPED:
            self.to_ship, self.on_the_way = self.to_ship - pieces, self.on_the_way + pieces
        elif status == DELIVERED:
            self.on_the_way, self.delivered = self.on_the_way - pieces, self.delivered + pieces
        elif status == CANCELLED:
            self.to_ship, self.cancelled = self.to_ship - pieces, self.cancelled + pieces
        elif status == RETURNED:
            there = min(pieces, self.delivered)
            self.delivered, self.on_the_way = self.delivered - there, self.on_the_way - (pieces - there)
            self.returned += pieces
        self.taken_off += moved.amount


LINE_STATUSES = (PLACED, SHIPPED, DELIVERED, CANCELLED, RETURNED)


@dataclass(slots=True)
class Parcel:
    """What was shipped together; `lines` with the number of pieces each."""

    number: int
    event: Event
    lines: list[tuple[Line, int]]
    delivered_at: datetime | None = None


@dataclass(slots=True)
class OrderHistory:
    """The lines of an order as they are now, its parcels, and what each event did to which lines."""

    lines: list[OrderLine]
    parcels: list[Parcel] = field(default_factory=list)
    moved: dict[datetime, Chosen] = field(default_factory=dict)

    @property
    def worth(self) -> Decimal:
        """What is to be paid for all lines, or was."""
        return sum((one.worth for one in self.lines), ZERO)

    @property
    def taken_off(self) -> Decimal:
        """What is not to be paid any more."""
        return sum((one.taken_off for one in self.lines), ZERO)

    def of(self, event: Event) -> list[tuple[Line, EventLine]]:
        """Return the lines that an event was about, all where it placed them."""
        if event.status == PLACED:
            return [(one.line, EventLine(one.line.quantity)) for one in self.lines]
        moved = self.moved.get(event.at, {})
        return [(one.line, moved[one.line.id]) for one in self.lines if one.line.id in moved]


def status_of(lines: Sequence[OrderLine]) -> str:
    """Return the status of lines together: that of the pieces that are least far."""
    if any(line.to_ship for line in lines):
        return PLACED
    if any(line.on_the_way for line in lines):
        return SHIPPED
    if any(line.delivered for line in lines):
        return DELIVERED
    return RETURNED if any(line.returned for line in lines) else CANCELLED


def history(order: Order, lines: Iterable[Line]) -> OrderHistory:
    """Return what became of the lines of an order: those that were bought, of which damage may have taken some."""
    found = OrderHistory([OrderLine(line, line.quantity) for line in lines])
    by_id = {one.line.id: one for one in found.lines}
    for event in order.timeline[1:]:
        moved = {line_id: one for line_id, one in _moved(event, found).items() if line_id in by_id}
        for line_id, one in moved.items():
            by_id[line_id].move(event.status, one)
        found.moved[event.at] = moved
        if event.status == SHIPPED:
            held = [(one.line, moved[one.line.id].pieces) for one in found.lines if one.line.id in moved]
            found.parcels.append(Parcel(len(found.parcels) + 1, event, held))
        elif event.status == DELIVERED:
            for parcel in found.parcels:
                if parcel.delivered_at is None and event.parcel in (None, parcel.event.at):
                    parcel.delivered_at = event.at
    return found


def _moved(event: Event, so_far: OrderHistory) -> Chosen:
    """Return what an event did to which lines."""
    there = {one.line.id: one for one in so_far.lines}
    if event.parcel:
        parcel = next(one for one in so_far.parcels if one.event.at == event.parcel)
        held = ((line.id, min(pieces, there[line.id].on_the_way)) for line, pieces in parcel.lines)
        return {line_id: EventLine(pieces) for line_id, pieces in held if pieces}
    return about(event, so_far.lines)


def about(event: Event, lines: Sequence[OrderLine]) -> Chosen:
    """Return what an event, which delivers no parcel, does to which lines as they were before it."""
    return event.lines or all_left(lines, event.status)


def all_left(lines: Iterable[OrderLine], status: str) -> Chosen:
    """Return all pieces that can come to a status; what is cancelled or returned is not to be paid."""
    left = ((one, one.left_for(status)) for one in lines)
    is_off = status in TAKEN_BACK
    return {
        one.line.id: EventLine(pieces, one.price_of(pieces) if is_off else ZERO)
        for one, pieces in left
        if pieces
    }


def open_return(order: Order) -> Event | None:
    """Return what a shopper asked to return of an order, until something is taken back or that is declined."""
    asked = None
    for event in order.timeline:
        if event.status in (RETURN_ASKED, RETURN_DECLINED, RETURNED):
            asked = event if event.status == RETURN_ASKED else None
    return asked


def return_ends(order: Order) -> datetime | None:
    """Return until when a shopper may ask to return something, by DEALSITE_RETURN_DAYS; None where nothing was sent.

    The days begin when a parcel was delivered, or shipped where nobody noted that.
    """
    sent = [event.at for event in order.timeline if event.status in (SHIPPED, DELIVERED)]
    return sent[-1] + timedelta(days=settings.DEALSITE_RETURN_DAYS) if sent else None


def choose(
    lines: Sequence[OrderLine],
    status: str,
    pieces: Mapping[str, int] | None,
    amounts: Mapping[str, Decimal] | None = None,
) -> Chosen:
    """Return how many pieces of which lines come to a status (None: all that can), and what is taken off for each.

    Invalid for lines or amounts that cannot be, and where nothing is chosen; Conflict for more pieces than are left.
    """
    amounts, there = amounts or {}, {one.line.id: one for one in lines}
    if pieces is None:
        return all_left(lines, status)
    chosen: dict[str, EventLine] = {}
    for line_id in dict.fromkeys([*pieces, *amounts]):
        count, amount = pieces.get(line_id, 0), amounts.get(line_id)
        one = there.get(line_id)
        if one is None or count < 0:
            raise Invalid(DAMAGED_FORM)
        if count and count > (left := one.left_for(status)):
            words = {"title": one.line.title, "left": left}
            raise Conflict(_("Of “%(title)s”, %(left)s can be chosen now.") % words)
        if amount is None:
            amount = one.price_of(count) if status in TAKEN_BACK else ZERO
        if not ZERO <= amount <= one.worth:
            words = {"title": one.line.title, "most": money(one.worth)}
            raise Invalid(_("For “%(title)s”, enter an amount up to %(most)s.") % words)
        if count or amount:
            chosen[line_id] = EventLine(count, amount)
    if not chosen:
        raise Invalid(gettext_lazy("Choose how many pieces of which line."))
    return chosen


def after(order: Order, event: Event, lines: Sequence[Line]) -> Order:
    """Return an order after an event, with the status that its lines have then; Conflict where too much happened.

    Without lines all that is left comes to the event's status.
    """
    if len(order.timeline) >= MOST_EVENTS:
        raise Conflict(gettext_lazy("Too much has happened to this order: nothing more can be noted of it."))
    changed = replace(order, version=order.version + 1, timeline=(*order.timeline, event))
    if not lines:
        return replace(changed, card=replace(order.card, status=event.status, unshipped=0))
    now = history(changed, lines).lines
    card = replace(
        order.card,
        status=status_of(now),
        unshipped=sum(one.to_ship for one in now),
        taken_back=sum(one.cancelled + one.returned for one in now),
    )
    return replace(changed, card=card)


def next_time(order: Order, now: datetime) -> datetime:
    """Return when the next thing happens to an order: now, but never at the time of another."""
    if len(order.timeline) == 1:
        return now
    return max(now, order.closed_at + timedelta(milliseconds=1))
