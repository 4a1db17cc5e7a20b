"""An order as it is stored, what tells of it, and what a profile keeps for the next one: its card.

What was bought are the lines that left the cart; what became of each is added up from the order's timeline
(`order_lines`), and the order's own status from that. Of a card there is what the gateway calls it and what people call
it; its number is never stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data import keys, table
from dealsite.data.commerce.addresses import Address, addresses_of, tracking_link
from dealsite.data.commerce.carts import CartChanged, CartOwner, Line, line_item, user_cart
from dealsite.data.commerce.payment_lists import of_account
from dealsite.data.commerce.payment_record import Payment, sums
from dealsite.data.commerce.payments import change_method
from dealsite.data.editing import audit
from dealsite.data.entities.attributes import ZERO
from dealsite.data.entities.commerce import (
    CANCELLED,
    DELIVERED,
    FAILED,
    NOTE_CHARACTERS,
    ORDER,
    ORDER_CARD,
    PLACED,
    REDUCED,
    RETURN_ASKED,
    RETURN_DECLINED,
    RETURN_REQUEST,
    RETURN_REQUEST_CARD,
    RETURNED,
    SCHEDULED,
    SHIPPED,
    TRACKING_PATTERN,
)
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.people import ORDER_NEWS
from dealsite.data.jobs.jobs import Job, job_write
from dealsite.data.jobs.payloads import payload_from_item
from dealsite.data.names import as_typed
from dealsite.data.people import mails, messages
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import to_end
from dealsite.data.table.writes import Delete, Put, Update, Write, absent, exists, rewrite

WRONG_TRACKING = gettext_lazy(
    "A tracking number has 3 to 60 letters, digits, spaces, dots, dashes or slashes."
)
MESSAGE_KIND = ORDER_NEWS
HEADLINES = {
    PLACED: "Thank you: your order is placed",
    SHIPPED: "Your order is on its way",
    DELIVERED: "Your order was delivered",
    CANCELLED: "Your order was cancelled",
    RETURNED: "What you sent back has arrived",
    REDUCED: "Your order costs less now",
    RETURN_ASKED: "You asked to return something",
    RETURN_DECLINED: "Your return was declined",
}
PART_HEADLINES = {
    SHIPPED: "A part of your order is on its way",
    DELIVERED: "A part of your order was delivered",
    CANCELLED: "A part of your order was cancelled",
}
DONE = {
    PLACED: "placed",
    SHIPPED: "shipped",
    DELIVERED: "delivered",
    CANCELLED: "cancelled",
    RETURNED: "returned",
    REDUCED: "reduced",
    RETURN_ASKED: "asked to return",
    RETURN_DECLINED: "declined the return of",
}


@dataclass(frozen=True, slots=True)
class EventLine:
    """What happened to a line: to how many of its pieces, and what is taken off what is to be paid for it."""

    pieces: int = 0
    amount: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to an order, or to some of its `lines` by their ids (none named: to all that was left of them).

    A parcel is known by the time at which it was shipped: `parcel` is that of the one that was delivered.
    """

    status: str
    at: datetime
    by: str
    note: str = ""
    lines: Mapping[str, EventLine] = field(default_factory=dict, hash=False)
    carrier: str = ""
    tracking: str = ""
    parcel: datetime | None = None

    @property
    def link(self) -> str:
        """Where the carrier says how far the parcel is."""
        return tracking_link(self.carrier, self.tracking)

    @property
    def headline(self) -> str:
        """What a message says of it."""
        is_part = self.lines or self.parcel
        return (PART_HEADLINES.get(self.status) if is_part else None) or HEADLINES[self.status]


UNKNOWN, NOTHING, UNPAID, PART_PAID = "unknown", "nothing", "unpaid", "part_paid"
PAID, DECLINED, OWED_BACK, GIVEN_BACK = "paid", "declined", "owed_back", "given_back"
PAYMENT_STATES = (UNPAID, PART_PAID, PAID, DECLINED, OWED_BACK, GIVEN_BACK, NOTHING, UNKNOWN)


@dataclass(frozen=True, slots=True)
class OrderMoney:
    """What an order's payments come to: not paid yet, paid, declined and not paid since, cancelled, refunded."""

    open: Decimal = ZERO
    processed: Decimal = ZERO
    failed: Decimal = ZERO
    cancelled: Decimal = ZERO
    refunded: Decimal = ZERO

    @classmethod
    def of(cls, payments: Iterable[Payment]) -> OrderMoney:
        return cls(**sums(payments))

    @property
    def off(self) -> Decimal:
        """What of it is not charged, or went back."""
        return self.cancelled + self.refunded


@dataclass(frozen=True, slots=True)
class OrderCard:
    """What a list shows of an order; `pieces` of how many `lines`, paid in `plan` instalments.

    `unshipped` pieces are still to be shipped, `taken_back` ones were cancelled or returned. `money` and `unshipped`
    are None where nothing has become of an order since an earlier release wrote it.
    """

    id: str
    username: str
    name: str
    status: str
    placed_at: datetime
    total: Decimal
    pieces: int
    lines: int
    plan: int = 1
    money: OrderMoney | None = None
    unshipped: int | None = None
    taken_back: int = 0

    @classmethod
    def from_item(cls, card: Item) -> OrderCard:
        return _read_card(card)

    @property
    def to_ship(self) -> int:
        """How many pieces are still to be shipped."""
        if self.unshipped is None:
            return self.pieces if self.status == PLACED else 0
        return self.unshipped

    @property
    def payment_state(self) -> str:
        """How it stands with its payments; one that was declined and is not paid since comes first."""
        if (money := self.money) is None:
            return UNKNOWN
        if money.failed:
            return DECLINED
        if money.open:
            return PART_PAID if money.processed else UNPAID
        if money.processed:
            return OWED_BACK if self.status == CANCELLED else PAID
        return GIVEN_BACK if money.refunded else NOTHING

    @property
    def may_ship(self) -> bool:
        """Whether it may be shipped by the rule of DEALSITE_SHIP_WHEN; what costs nothing always may."""
        when = settings.DEALSITE_SHIP_WHEN
        enough = (PAID, PART_PAID) if when == "first-paid" else (PAID,)
        return when == "ordered" or not self.total or self.payment_state in enough


@dataclass(frozen=True)
class Order:
    """An order; `payments` holds each instalment's `id` and the time when it is due (`due_at`).

    `tags` are the back office's, `note_tokens` those of the forms of its last notes; `bill_to` is another address.
    """

    card: OrderCard
    version: int
    address: Address
    email: str
    payments: tuple[Mapping[str, str], ...] = ()
    timeline: tuple[Event, ...] = ()
    tags: tuple[str, ...] = ()
    note_tokens: tuple[str, ...] = ()
    bill_to: Address | None = None

    @property
    def id(self) -> str:
        return self.card.id

    @property
    def username(self) -> str:
        return self.card.username

    @property
    def status(self) -> str:
        return self.card.status

    @property
    def placed_at(self) -> datetime:
        return self.card.placed_at

    @property
    def total(self) -> Decimal:
        return self.card.total

    @property
    def placed_by(self) -> str:
        """Who placed it: the shopper, or somebody for them."""
        return self.timeline[0].by if self.timeline else self.username

    @property
    def tracking(self) -> str:
        """The tracking number of its last parcel."""
        return next((event.tracking for event in reversed(self.timeline) if event.status == SHIPPED), "")

    @cached_property
    def closed_at(self) -> datetime:
        """When the last thing happened to it."""
        return self.timeline[-1].at if self.timeline else self.card.placed_at


def order_item(order: Order) -> Item:
    """Return an order as it is stored."""
    stored = _store_order(order)
    own = {name: stored["card"][name] for name in ("id", "username", "status", "placed_at")}
    return ORDER.item(own | stored)


def order_write(order: Order, changed: Order) -> Write:
    """Return the write that makes one version of an order the next; VersionConflict where somebody was faster."""
    key = keys.order(order.username, order.id)
    return rewrite(key, order_item(order), order_item(changed), otherwise=VersionConflict())


_read_card = reader(ORDER_CARD, OrderCard)
_read_order, _store_order = reader(ORDER.shape, Order), writer(ORDER.shape, Order)


def order_from_item(item: Item) -> Order:
    """Return an order of its item; earlier releases kept the tracking number of its one parcel beside the timeline."""
    order = _read_order(item)
    if item.get("tracking") and not order.tracking:
        sent = [
            replace(event, tracking=item["tracking"]) if event.status == SHIPPED else event
            for event in order.timeline
        ]
        return replace(order, timeline=tuple(sent))
    return order


@dataclass(frozen=True, slots=True)
class ReturnRequest:
    """That a shopper asked, at a time, to return so many pieces of an order, which went to `name`."""

    order: str
    username: str
    name: str
    at: datetime
    pieces: int
    reason: str

    @classmethod
    def from_item(cls, card: Item) -> ReturnRequest:
        return _read_request(card)


_read_request = reader(RETURN_REQUEST_CARD, ReturnRequest)
_store_request = writer(RETURN_REQUEST_CARD, ReturnRequest)


def return_request_item(request: ReturnRequest) -> Item:
    """Return a request as it is stored."""
    own = {"order": request.order, "username": request.username}
    return RETURN_REQUEST.item(own | {"card": _store_request(request)})


def moved_lines(
    order: Order, lines: Iterable[Line], status: str, at: datetime, *, cart: CartOwner | None = None
) -> list[Write]:
    """Return the writes that make lines PURCHASED, out of a `cart`, or RETURNED; CartChanged if one is gone."""
    owner = user_cart(order.username)
    writes: list[Write] = []
    for line in lines:
        key = (cart or owner).line(line.status, line.at, line.id)
        moved = replace(line, status=status, at=at, order=order.id, username=order.username)
        writes.append(Delete(key=key, when=(exists(),), otherwise=CartChanged()))
        item = line_item(moved, owner, None)
        writes.append(Put(key=owner.line(status, at, line.id), item=item, when=(absent(),)))
    return writes


def clean_note(note: str) -> str:
    """Return a note of one line, or raise Invalid."""
    cleaned = as_typed(note)
    if len(cleaned) > NOTE_CHARACTERS:
        raise Invalid(note=_("Shorten this to %(most)s characters.") % {"most": NOTE_CHARACTERS})
    return cleaned


def clean_tracking(tracking: str) -> str:
    """Return a tracking number, which may be empty, or raise Invalid."""
    cleaned = unicodedata.normalize("NFKC", tracking).strip()
    if cleaned and not re.fullmatch(TRACKING_PATTERN, cleaned):
        raise Invalid(tracking=WRONG_TRACKING)
    return cleaned


def notice_writes(order: Order, event: Event, log_note: str = "") -> list[Write]:
    """Return what tells of an event: a message, a mail, and an audit entry, whose note may be its own. 3 actions."""
    now, note, username = event.at, event.note, order.username
    return [
        message_write(order, event.headline, note, now=now),
        mails.order_notice(
            event.status, order_id=order.id, username=username, to=order.email, at=now, now=now
        ),
        audit.entry_write(
            by=event.by,
            kind="order",
            subject=order.id,
            what=DONE[event.status],
            now=now,
            note=log_note or note,
        ),
    ]


def message_write(order: Order, headline: str, text: str = "", *, now: datetime) -> Put:
    """Return the write of a message to an order's shopper."""
    more = {"kind": MESSAGE_KIND, "headline": headline, "deal": "", "text": text, "order": order.id}
    item = messages.message_item(order.username, new_ulid(now), **more)
    return Put(key=(item["PK"], item["SK"]), item=item, when=(absent(),))


USE_CARD = "use_card"  # the kind of job


@dataclass(frozen=True, slots=True)
class UseCardPayload:
    """Whose open payments are to be charged from which card."""

    username: str
    method: str


@dataclass(frozen=True, slots=True)
class PaymentCard:
    """A card at a gateway; `label` is such as "Visa ending in 4242"."""

    gateway: str
    token: str
    label: str


@dataclass(frozen=True, slots=True)
class Buyer:
    """Where a user's orders go, empty before the first, what pays for them, in how many instalments.

    `addresses` are those that they keep. `note` is the back office's own, which the user does not see.
    """

    address: Address
    card: PaymentCard | None
    plan: int = 1
    note: str = ""
    bill_to: Address | None = None
    addresses: tuple[Address, ...] = ()


@access_pattern("where a user's orders go, and the card that pays", "1 get")
def buyer(username: str) -> Buyer:
    """Return what is kept of a user for their next order."""
    return buyer_from_item(table.get(keys.profile(username)) or {})


def buyer_from_item(item: Item) -> Buyer:
    """Return what a profile's item says of them."""
    card = item.get("card")
    kept = PaymentCard(card["gateway"], card["token"], card["label"]) if card else None
    return Buyer(
        Address.from_item(item.get("address")),
        kept,
        item.get("plan", 1),
        item.get("note", ""),
        Address.from_item(item["bill_to"]) if "bill_to" in item else None,
        addresses_of(item),
    )


@access_pattern("save a user's card", "1 transaction")
def save_card(username: str, card: PaymentCard, *, job_id: str, now: datetime) -> None:
    """Keep the card that a user pays with from now on; NotFound. A job gives it to open payments."""
    job = job_write(USE_CARD, UseCardPayload(username, card.token), job_id=job_id, due=now)
    table.transact([_profile_write(username, set={"card": asdict(card)}), job])


@access_pattern("whether somebody removed their card", "1 get")
def has_no_card(username: str) -> bool:
    """Tell whether a user has no card, or is gone, so that nothing may be charged."""
    return "card" not in (table.get(keys.profile(username)) or {})


@access_pattern("give open payments a new card", "1 get + 1 query + 1 batch get + 1 transaction")
def use_card(job: Job, now: datetime) -> None:
    """Have all of a user's payments that are not paid charged from their card, or none; harmless to repeat."""
    payload = payload_from_item(UseCardPayload, job.payload)
    username, card = payload.username, buyer(payload.username).card
    method = card.token if card else ""  # of now: jobs may run in another order than they were written in
    for page in to_end(partial(of_account, username)):
        for payment in page.rows:
            if payment.status in (SCHEDULED, FAILED) and payment.method != method:
                with suppress(Conflict):  # just paid, or cancelled
                    change_method(username, payment.due_at, payment.id, method=method, by=username, now=now)


@access_pattern("forget a user's card", "1 transaction")
def forget_card(username: str, *, job_id: str, now: datetime) -> None:
    """Forget the card that a user pays with; harmless if there is none, NotFound. A job takes it from open payments."""
    job = job_write(USE_CARD, UseCardPayload(username, ""), job_id=job_id, due=now)
    table.transact([_profile_write(username, remove=("card",)), job])


def _profile_write(username: str, **changes: Any) -> Update:
    nobody = NotFound(gettext_lazy("There is no such user."))
    return Update(key=keys.profile(username), when=(exists(),), otherwise=nobody, **changes)
