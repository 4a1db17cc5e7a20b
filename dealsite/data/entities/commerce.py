"""Carts, orders and payments, loads of many from a file, and what keeps a charge from being made twice."""

from decimal import Decimal

from dealsite.data import keys
from dealsite.data.entities.attributes import (
    CENT,
    Bytes,
    Day,
    Email,
    Expiry,
    Flag,
    Hash,
    ListOf,
    Map,
    MapOf,
    Money,
    Shape,
    Slug,
    Text,
    Time,
    Ulid,
    Username,
    Whole,
)
from dealsite.data.entities.deals import MAX_PRICE, PICTURE, TITLE_CHARACTERS
from dealsite.data.entities.entity import At, Entity
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso
from dealsite.data.table.key_templates import LONGEST

ACTIVE, SAVED, PURCHASED, RETURNED = "ACTIVE", "SAVED", "PURCHASED", "RETURNED"
IN_CART, BOUGHT = (ACTIVE, SAVED), (PURCHASED, RETURNED)
MAX_ACTIVE = 25  # what one transaction can buy
MAX_SAVED = 50
MAX_SAVED_OF_VISITOR = 10  # a visitor's whole cart must be merged in one transaction
MAX_QUANTITY = 999
MAX_PIECES = MAX_ACTIVE * MAX_QUANTITY
MAX_TOTAL = MAX_PIECES * MAX_PRICE

PLACED, SHIPPED, DELIVERED, CANCELLED = "PLACED", "SHIPPED", "DELIVERED", "CANCELLED"
ORDER_STATUSES = (PLACED, SHIPPED, DELIVERED, CANCELLED, RETURNED)
TAKEN_BACK = (CANCELLED, RETURNED)  # what has become of pieces that are RETURNED lines
REDUCED = "REDUCED"  # less is to be paid for it, and nothing was sent back
RETURN_ASKED, RETURN_DECLINED = "RETURN_ASKED", "RETURN_DECLINED"
ORDER_EVENTS = (*ORDER_STATUSES, REDUCED, RETURN_ASKED, RETURN_DECLINED)
MOST_EVENTS = 100  # of an order
PLANS = (1, 3, 6, 12)  # numbers of instalments
ADDRESS_CHARACTERS = 120
MOST_ADDRESSES = 10  # that a user keeps
NOTE_CHARACTERS = 500
MOST_TAGS, TAG_CHARACTERS, NOTE_TOKENS = 10, 30, 10  # of an order
TRACKING_PATTERN = r"[A-Za-z0-9][A-Za-z0-9 ._/-]{2,59}"
TRANSACTION = Text(
    most=LONGEST, pattern="[^#]+", copy_of="Payment.transaction_id", about="what the gateway calls the charge"
)


def _belongs_to_somebody(item: Item) -> str:
    """Say what is wrong with whose cart something is in: a user's stays, a visitor's is forgotten."""
    if ("username" in item) == ("visitor" in item):
        return "It is of a user and of a visitor." if "visitor" in item else "It is nobody's."
    if ("visitor" in item) == ("ttl" in item):
        return ""
    return "It is a visitor's and has no ttl." if "visitor" in item else "It is a user's and has a ttl."


def _has_an_order_if_bought(item: Item) -> str:
    if (item["status"] in BOUGHT) == ("order" in item):
        return "" if item["status"] in IN_CART or "username" in item else "A visitor has bought it."
    return f"It is {item['status']} and has {'an' if 'order' in item else 'no'} order."


OWNER: Shape = {
    "username": Username(personal=True, optional=True),
    "visitor": Hash(optional=True, about="of a visitor's cookie"),
    "ttl": Expiry(optional=True, about="when a visitor's is forgotten"),
}
QUANTITY = Whole(least=1, most=MAX_QUANTITY, unit="pieces")

CART_ENTRY: Shape = {
    "line": Ulid(about="id of the line"),
    "status": Text(one_of=IN_CART),
    "at": Time(),
    "quantity": QUANTITY,
    "token": Ulid(least=0, about="of the form that added to it last"),
}

CART_HEAD = Entity(
    type="CartHead",
    about="what is in a cart; a deal in it may have been deleted since",
    key=(
        At(keys.cart_head, username="username", only_with="username"),
        At(keys.visitor_cart_head, visitor="visitor", only_with="visitor"),
    ),
    shape={
        **OWNER,
        "version": Whole(least=1),
        "active": Whole(most=MAX_ACTIVE, counts="CartLine", about="lines that are ACTIVE"),
        "saved": Whole(most=MAX_SAVED, counts="CartLine", about="lines that are SAVED"),
        "lines": MapOf(Ulid(about="a deal"), Map(CART_ENTRY), most=MAX_ACTIVE + MAX_SAVED),
    },
    rules=(_belongs_to_somebody,),
)

CART_LINE_CARD: Shape = {
    "deal": Ulid(copy_of="deal"),
    "title": Text(most=TITLE_CHARACTERS),
    "brand": Slug(),
    "brand_name": Text(most=300),
    "category": Slug(),
    "price": Money(most=MAX_PRICE, about="what the shopper was last shown for one piece"),
    "quantity": QUANTITY,
    "picture": Map(PICTURE, optional=True),
    "username": Username(personal=True, copy_of="username", optional=True),
    "order": Ulid(copy_of="order", optional=True),
}

CART_LINE = Entity(
    type="CartLine",
    about="so many pieces of a deal in a cart, or bought from it; the deal may have been deleted since",
    stays="law",
    key=(
        At(keys.cart_line, username="username", status="status", at="at", line="id", only_with="username"),
        At(
            keys.visitor_cart_line,
            visitor="visitor",
            status="status",
            at="at",
            line="id",
            only_with="visitor",
        ),
    ),
    rows=[
        At(keys.carts_with, deal="deal", status="status", at="at", username="username", line="id"),
        At(keys.order_lines, order="order", line="id", only_with="order"),
    ],
    shape={
        **OWNER,
        "id": Ulid(),
        "deal": Ulid(),
        "status": Text(one_of=(*IN_CART, *BOUGHT)),
        "at": Time(about="when it came to its status"),
        "order": Ulid(refers="Order", optional=True),
        "counted": Flag(about="the deal's stock was limited when the price was shown"),
        "card": Map(CART_LINE_CARD),
    },
    rules=(_belongs_to_somebody, _has_an_order_if_bought),
)


def address(*, is_typed: bool = False) -> Shape:
    """Return where an order or its bill goes; what somebody has only typed so far may be half empty."""
    whole, part = (Text(most=ADDRESS_CHARACTERS, personal=True, optional=one) for one in (is_typed, True))
    country = Text(most=ADDRESS_CHARACTERS, personal=True, optional=is_typed, about="ISO 3166, or as typed")
    parts = dict.fromkeys(("extra", "postcode", "city", "state", "phone"), part)
    return {"name": whole, "street": whole, "country": country, **parts}


ORDER_ADDRESS, TYPED_ADDRESS = address(), address(is_typed=True)

EVENT_LINE: Shape = {
    "pieces": Whole(most=MAX_QUANTITY, unit="pieces"),
    "amount": Money(most=MAX_TOTAL, optional=True, about="taken off what is to be paid"),
}

ORDER_EVENT: Shape = {
    "status": Text(one_of=ORDER_EVENTS),
    "at": Time(),
    "by": Username(also=("-",), personal=True, about="-: the site"),
    "note": Text(most=NOTE_CHARACTERS, optional=True),
    "lines": MapOf(Ulid(), Map(EVENT_LINE), most=MAX_ACTIVE, optional=True, about="missing: all left"),
    "carrier": Text(most=60, optional=True),
    "tracking": Text(most=60, pattern=TRACKING_PATTERN, optional=True),
    "parcel": Time(
        optional=True, about="when what is delivered was shipped; missing: all that was on its way"
    ),
}

SCHEDULED, PENDING, PROCESSED = "SCHEDULED", "PENDING", "PROCESSED"
FAILED, REFUNDED = "FAILED", "REFUNDED"
STATUSES = (SCHEDULED, PENDING, PROCESSED, FAILED, CANCELLED, REFUNDED)
PAID = (PROCESSED, REFUNDED)
STATES = ("open", "processed", "failed", "cancelled", "refunded")  # in which totals count payments

ORDER_CARD: Shape = {
    "id": Ulid(copy_of="id"),
    "username": Username(personal=True, copy_of="username"),
    "name": Text(most=ADDRESS_CHARACTERS, personal=True, copy_of="address.name"),
    "status": Text(one_of=ORDER_STATUSES, copy_of="status"),
    "placed_at": Time(copy_of="placed_at"),
    "total": Money(most=MAX_TOTAL),
    "pieces": Whole(least=1, most=MAX_PIECES, counts="CartLine.quantity"),
    "lines": Whole(least=1, most=MAX_ACTIVE, counts="CartLine"),
    "unshipped": Whole(most=MAX_PIECES, unit="pieces", optional=True, about="missing: all, or none"),
    "taken_back": Whole(most=MAX_PIECES, unit="pieces", optional=True, about="cancelled or returned"),
    "plan": Whole(least=1, most=PLANS[-1], unit="instalments"),
    "money": Map(
        {state: Money(most=MAX_TOTAL, counts="Payment.amount") for state in STATES},
        optional=True,
        about="what its payments come to; missing: an earlier release placed it",
    ),
}


def _is_paid_as_planned(item: Item) -> str:
    card = item["card"]
    if card["plan"] not in PLANS:
        return f"It is to be paid in {card['plan']} instalments, which is no plan."
    if "money" in card and sum(card["money"].values()) != card["total"]:
        return "What its payments come to is not its total."
    return "" if card["pieces"] >= card["lines"] else "It has fewer pieces than lines."


ORDER = Entity(
    type="Order",
    about="what somebody bought, and what became of it; its lines are those that left the cart",
    stays="law",
    key=At(keys.order, username="username", order="id"),
    rows=[At(keys.order_rows, order="id", username="username", status="status", placed_at="placed_at")],
    shape={
        "id": Ulid(),
        "username": Username(personal=True),
        "status": Text(one_of=ORDER_STATUSES),
        "placed_at": Time(),
        "version": Whole(least=1, about="counts its steps, and what became of its payments"),
        "address": Map(ORDER_ADDRESS),
        "bill_to": Map(ORDER_ADDRESS, optional=True, about="where the bill goes; missing: to the same"),
        "email": Email(least=0, about="empty: nobody is written to"),
        "payments": ListOf(Map({"id": Ulid(refers="Payment"), "due_at": Time()}), most=PLANS[-1]),
        "timeline": ListOf(Map(ORDER_EVENT), least=1, most=MOST_EVENTS),
        "tags": ListOf(Text(most=TAG_CHARACTERS), most=MOST_TAGS, optional=True, about="for the back office"),
        "note_tokens": ListOf(Ulid(), most=NOTE_TOKENS, optional=True, about="of its last notes' forms"),
        "card": Map(ORDER_CARD),
    },
    rules=(_is_paid_as_planned,),
    gone=("tracking",),  # of its one parcel: now with the event
)

RETURN_REQUEST_CARD: Shape = {
    "order": Ulid(copy_of="order"),
    "username": Username(personal=True, copy_of="username"),
    "name": Text(most=ADDRESS_CHARACTERS, personal=True, about="who received it"),
    "at": Time(about="when they asked"),
    "pieces": Whole(least=1, most=MAX_PIECES, unit="pieces"),
    "reason": Text(least=0, most=NOTE_CHARACTERS),
}

RETURN_REQUEST = Entity(
    type="ReturnRequest",
    about="lists an order of which a shopper asked to return something, until that is answered",
    stays="law",
    key=At(keys.return_request, username="username", order="order"),
    rows=[At(keys.returns_asked, at="card.at", order="order")],
    shape={
        "order": Ulid(refers="Order"),
        "username": Username(personal=True),
        "card": Map(RETURN_REQUEST_CARD),
    },
)

TRANSACTION_GUARD = Entity(
    type="TransactionGuard",
    about="makes a transaction of the gateway one payment's own",
    stays="law",
    key=At(keys.transaction, transaction="transaction_id"),
    shape={
        "transaction_id": TRANSACTION,
        "account": Text(most=LONGEST, personal=True, copy_of="Payment.account"),
        "payment": Ulid(refers="Payment"),
    },
)


GIVEN_UP = (
    "GIVENUP"  # where the index lists payments that nobody tries without being told, by when they were due
)
TIMELINE_STEPS = 30  # kept: the first one and the newest
MAX_REFUNDS = 200  # of a payment: each is a request of somebody
DATA_BYTES = 8 * 1024
REASON_CHARACTERS = 500
METHOD_CHARACTERS = 600
SEGMENTS = 16  # of a load
LARGEST_CHUNK = 200  # payments that a segment writes at once
MOST_OF_A_DAY = 10**15  # in a shard
MOST_PENDING = 400  # days and shards that a segment keeps until it counts: some 18 KB

AMOUNT = Money(least=CENT, most=MAX_TOTAL)
ACCOUNT = Text(most=LONGEST, pattern="[^#]+", personal=True, about="a user's name, or what a file calls it")
INSTALMENT = Whole(least=1, most=PLANS[-1])
REASON = Text(most=REASON_CHARACTERS, optional=True)

STEP: Shape = {
    "status": Text(one_of=STATUSES),
    "at": Time(),
    "by": Username(least=0, also=("-",), personal=True, about="-: the site; empty: whoever ordered"),
    "note": Text(least=0, most=REASON_CHARACTERS + 100),
}

PAYMENT_CARD: Shape = {
    "id": Ulid(copy_of="id"),
    "account": Text(most=LONGEST, personal=True, copy_of="account"),
    "order": Ulid(least=0, copy_of="order"),
    "number": Whole(least=1, most=PLANS[-1], copy_of="number"),
    "of": Whole(least=1, most=PLANS[-1], copy_of="of"),
    "amount": Money(least=CENT, most=MAX_TOTAL, copy_of="amount"),
    "cut": Money(least=CENT, most=MAX_TOTAL, copy_of="cut", optional=True),
    "refunded": Money(least=CENT, most=MAX_TOTAL, optional=True, about="what is back by now"),
    "due_at": Time(copy_of="due_at"),
    "status": Text(one_of=STATUSES, copy_of="status"),
    "transaction_id": Text(most=LONGEST, copy_of="transaction_id", optional=True),
    "reason": Text(most=REASON_CHARACTERS, copy_of="reason", optional=True),
    "at": Time(about="when the last thing happened to it", optional=True),
}

REFUND: Shape = {
    "amount": AMOUNT,
    "reason": Text(most=REASON_CHARACTERS),
    "by": Username(also=("-",), personal=True, about="-: the site"),
    "at": Time(),
    "done_at": Time(optional=True, about="when the money went back"),
}


def _rows(item: Item) -> keys.Row:
    """Return the rows that list a payment: by transaction id (GSI1), by status and time over all accounts (GSI3)."""
    payment, status = item["id"], item["status"]
    rows = keys.payment_of_transaction(item["transaction_id"]) if item.get("transaction_id") else {}
    if item.get("closed") and "processed_at" in item:
        return rows | keys.closed_payments(payment, from_iso(item["processed_at"]))
    if item.get("final"):
        return rows | keys.payments_by_status(payment, GIVEN_UP, from_iso(item["due_at"]))
    return rows | keys.payments_by_status(payment, status, from_iso(item["next_at"]))


def _is_of_its_status(item: Item) -> str:
    """Say what a payment lacks, or has too much, for its status."""
    status, paid = item["status"], ("transaction_id" in item, "processed_at" in item)
    if paid != (status in PAID,) * 2:
        return f"It is {status}, and {'not all' if not all(paid) else 'something'} is there of a transaction."
    if status == REFUNDED and "refunds" not in item and "refund" not in item:
        return "It is REFUNDED, and nobody asked for it."
    if status == PENDING and "series_at" not in item:
        return "It is PENDING, and nothing says since when."
    if (status == PENDING) != ("claimed_by" in item):
        return f"It is {status}, and {'a' if 'claimed_by' in item else 'no'} runner has claimed it."
    if item.get("closed") and status not in PAID:
        return f"It is {status}, and its day is closed."
    if item.get("final") and status not in (FAILED, SCHEDULED):
        return f"It is {status}, and given up."
    return ""


def _is_one_payment(item: Item) -> str:
    """Say what is wrong with what a payment is part of."""
    if item["number"] > item["of"]:
        return f"It is number {item['number']} of {item['of']}."
    if not item["order"] and item["of"] > 1:
        return "It is an instalment of no order."
    return "It is of an order and of a load." if item["order"] and "load" in item else ""


def _has_come_to_its_status(item: Item) -> str:
    """Say what is wrong with a payment's timeline: its last step led to its status, but that claims are no steps."""
    status, steps = item["status"], item.get("timeline", [])
    last = steps[-1] if steps else {"status": SCHEDULED}
    if status not in (PENDING, last["status"]):
        return f"It is {status}, and its timeline is not."
    return (
        ""
        if item["card"].get("at") == last.get("at")
        else "On its card stands another time than its last step's."
    )


def _adds_up(item: Item) -> str:
    """Say what is wrong with what was taken off a payment, or given back."""
    cut, card, refunds = item.get("cut", 0), item["card"], item.get("refunds", [])
    done = sum(one["amount"] for one in refunds if "done_at" in one)
    to_charge = item["amount"] - cut
    if to_charge <= 0:
        return "Nothing is left of it to be charged."
    if sum(one["amount"] for one in refunds) > to_charge:
        return "More is to be refunded than was charged."
    if refunds and item["status"] not in (PENDING, *PAID):
        return f"It is {item['status']}, and is to be refunded."
    if "refund" in item:
        return ""
    if (done == to_charge) != (item["status"] == REFUNDED):
        return f"It is {item['status']}, and {done} of {to_charge} is refunded."
    is_on_card = card.get("cut", 0) == cut and card.get("refunded", 0) == done
    return "" if is_on_card else "On its card stands another amount that was cut or refunded."


PAYMENT = Entity(
    type="Payment",
    about="one instalment of an order, or a payment that was loaded from a file",
    stays="law",
    key=(
        At(keys.past_payment, account="account", due_at="due_at", payment="id", only_with="closed"),
        At(keys.payment, account="account", due_at="due_at", payment="id", unless="closed"),
    ),
    rows=_rows,
    shape={
        "id": Ulid(),
        "account": ACCOUNT,
        "amount": AMOUNT,
        "due_at": Time(),
        "next_at": Time(
            about="to be charged, tried again or taken from a runner; or when it came to its status"
        ),
        "order": Ulid(least=0, refers="Order", about="empty: loaded from a file"),
        "number": INSTALMENT,
        "of": INSTALMENT,
        "status": Text(one_of=STATUSES),
        "method": Text(most=METHOD_CHARACTERS, secret=True, optional=True, about="a card's token"),
        "tries": Whole(about="counts declines"),
        "final": Flag(
            optional=True, about="it is not tried by itself: given up, or without a card from the start"
        ),
        "claimed_by": Ulid(optional=True, about="of the runner that charges it"),
        "series_at": Time(optional=True, about="when the charge under way, or the last one, was first tried"),
        "transaction_id": Text(most=LONGEST, pattern="[^#]+", optional=True),
        "processed_at": Time(optional=True),
        "reason": REASON,
        "cut": Money(least=CENT, most=MAX_TOTAL, optional=True, about="taken off before it was charged"),
        "refunds": ListOf(Map(REFUND), least=1, most=MAX_REFUNDS, optional=True, about="asked for, or done"),
        "data": Bytes(most=DATA_BYTES, secret=True, optional=True, about="whatever the file says of it"),
        "load": Map(
            {
                "id": Ulid(refers="PaymentLoad"),
                "segment": Whole(most=SEGMENTS - 1),
                "position": Whole(about="where in the segment it stood"),
            },
            optional=True,
        ),
        "timeline": ListOf(Map(STEP), least=1, most=TIMELINE_STEPS, optional=True),
        "closed": Flag(optional=True, about="its day is closed: it stands in the history"),
        "version": Whole(least=1, about="counts its changes"),
        "card": Map(PAYMENT_CARD),
    },
    rules=(_is_of_its_status, _is_one_payment, _has_come_to_its_status, _adds_up),
    gone=("refund",),  # that all of it was to be refunded
)

# A charge may be counted before the job that counts what a checkout added: for that time, less is open than nothing.
LEAST = {"open": -MOST_OF_A_DAY}
COUNTERS: Shape = {
    state: Whole(least=LEAST.get(state, 0), most=MOST_OF_A_DAY, counts="Payment", optional=True)
    for state in STATES
} | {
    f"{state}_amount": Money(
        least=Decimal(LEAST.get(state, 0)),
        most=Decimal(MOST_OF_A_DAY),
        counts="Payment.amount",
        optional=True,
    )
    for state in STATES
}

PAYMENT_TOTALS = Entity(
    type="PaymentTotals",
    about="what the payments of a shard that are due on a day come to",
    key=At(keys.payment_totals, day="day", shard="shard"),
    shape={"day": Day(), "shard": Whole(most=keys.PAYMENT_SHARDS - 1), **COUNTERS},
)

PAYMENT_LOAD = Entity(
    type="PaymentLoad",
    about="a load of payments from a file",
    key=At(keys.payment_load, load="id"),
    shape={
        "id": Ulid(about="the same for the same content"),
        "name": Text(most=255, about="of the file"),
        "total": Whole(about="in units of positions"),
        "segments": Whole(least=1, most=SEGMENTS),
        "begun_at": Time(),
    },
)

PAYMENT_LOAD_SEGMENT = Entity(
    type="PaymentLoadSegment",
    about="how far one part of a load has come",
    key=At(keys.payment_load_segment, load="load", number="number"),
    shape={
        "load": Ulid(refers="PaymentLoad"),
        "number": Whole(most=SEGMENTS - 1),
        "position": Whole(about="where to go on"),
        "inserted": Whole(about="payments that were new"),
        "repeated": Whole(about="payments that were there already"),
        "pending": MapOf(
            Text(pattern=r"\d{4}-\d\d-\d\d#\d", about="a day and a shard"),
            Map(COUNTERS),
            most=MOST_PENDING + LARGEST_CHUNK,
            about="what the totals still lack of the payments before the position",
        ),
        "version": Whole(least=1),
    },
)
