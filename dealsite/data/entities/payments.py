"""Payments, what those of a day come to, and loads of many from a file."""

from decimal import Decimal

from dealsite.data import keys
from dealsite.data.entities.attributes import (
    CENT,
    Bytes,
    Day,
    Flag,
    ListOf,
    Map,
    MapOf,
    Money,
    Shape,
    Time,
    Whole,
)
from dealsite.data.entities.commerce import MAX_TOTAL, PLANS
from dealsite.data.entities.entity import At, Entity
from dealsite.data.entities.texts import Text, Ulid, Username
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso
from dealsite.data.table.key_templates import LONGEST

SCHEDULED, PENDING, PROCESSED = "SCHEDULED", "PENDING", "PROCESSED"
FAILED, CANCELLED, REFUNDED = "FAILED", "CANCELLED", "REFUNDED"
STATUSES = (SCHEDULED, PENDING, PROCESSED, FAILED, CANCELLED, REFUNDED)
PAID = (PROCESSED, REFUNDED)
GIVEN_UP = "GIVENUP"  # where the index lists failed payments that are tried no more, by when they were due
TIMELINE_STEPS = 30  # kept: the first one and the newest
DATA_BYTES = 8 * 1024
REASON_CHARACTERS = 500
METHOD_CHARACTERS = 600
STATES = ("open", "processed", "failed", "cancelled", "refunded")  # in which totals count payments
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
    "due_at": Time(copy_of="due_at"),
    "status": Text(one_of=STATUSES, copy_of="status"),
    "transaction_id": Text(most=LONGEST, copy_of="transaction_id", optional=True),
    "reason": Text(most=REASON_CHARACTERS, copy_of="reason", optional=True),
    "at": Time(about="when the last thing happened to it", optional=True),
}


def _rows(item: Item) -> keys.Row:
    """Return the rows that list a payment: by transaction id (GSI1), by status and time over all accounts (GSI3)."""
    payment, status = item["id"], item["status"]
    rows = keys.payment_of_transaction(item["transaction_id"]) if item.get("transaction_id") else {}
    if item.get("closed") and "processed_at" in item:
        return rows | keys.closed_payments(payment, from_iso(item["processed_at"]))
    if status == FAILED and item.get("final"):
        return rows | keys.payments_by_status(payment, GIVEN_UP, from_iso(item["due_at"]))
    return rows | keys.payments_by_status(payment, status, from_iso(item["next_at"]))


def _is_of_its_status(item: Item) -> str:
    """Say what a payment lacks, or has too much, for its status."""
    status, paid = item["status"], ("transaction_id" in item, "processed_at" in item)
    if paid != (status in PAID,) * 2:
        return f"It is {status}, and {'not all' if not all(paid) else 'something'} is there of a transaction."
    if status == REFUNDED and "refund" not in item:
        return "It is REFUNDED, and nobody asked for it."
    if status == PENDING and "series_at" not in item:
        return "It is PENDING, and nothing says since when."
    if (status == PENDING) != ("claimed_by" in item):
        return f"It is {status}, and {'a' if 'claimed_by' in item else 'no'} runner has claimed it."
    if item.get("closed") and status not in PAID:
        return f"It is {status}, and its day is closed."
    if item.get("final") and status != FAILED:
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
        "final": Flag(optional=True, about="it is not tried again by itself"),
        "claimed_by": Ulid(optional=True, about="of the runner that charges it"),
        "series_at": Time(optional=True, about="when the charge under way, or the last one, was first tried"),
        "transaction_id": Text(most=LONGEST, pattern="[^#]+", optional=True),
        "processed_at": Time(optional=True),
        "reason": REASON,
        "refund": Map(
            {"reason": Text(most=REASON_CHARACTERS), "by": Username(personal=True), "at": Time()},
            optional=True,
        ),
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
    rules=(_is_of_its_status, _is_one_payment, _has_come_to_its_status),
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
