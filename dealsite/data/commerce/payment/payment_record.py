"""A payment as it is stored: one instalment of an order, or one that was loaded from a file.

    SCHEDULED -> PENDING -> PROCESSED -> REFUNDED        SCHEDULED, FAILED -> CANCELLED
                 PENDING -> FAILED -> PENDING            (PENDING -> CANCELLED: declined after its order was cancelled)

What a status means stands in `status`; where a payment is listed among all accounts' stands in its index
row alone, so that a change of status never deletes and writes anew an item of 8 KB.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from dealsite.data import keys
from dealsite.data.catalogue.cards import CENT
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso, iso

SCHEDULED, PENDING, PROCESSED = "SCHEDULED", "PENDING", "PROCESSED"
FAILED, CANCELLED, REFUNDED = "FAILED", "CANCELLED", "REFUNDED"
STATUSES = (SCHEDULED, PENDING, PROCESSED, FAILED, CANCELLED, REFUNDED)
GIVEN_UP = (
    "GIVENUP"  # where the index lists failed payments that are tried no more, by the time they were due
)
TIMELINE_STEPS = 30  # kept: the first one and the newest
DATA_BYTES = 8 * 1024
REASON_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened to a payment; `by` is a user name, `runner`, or empty."""

    status: str
    at: datetime
    by: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Refund:
    """That the money is to be given back, or was: why, and who said so."""

    reason: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class LoadMark:
    """Which load wrote a payment: its id, the segment, and where in the segment the payment stood."""

    id: str
    segment: int
    position: int


@dataclass(frozen=True, slots=True)
class Payment:
    """One payment; amounts with cents, aware UTC times.

    `next_at` is the time that counts for the status: when it is to be charged (SCHEDULED), tried again (FAILED) or
    taken from a runner that is gone (PENDING); when it was processed, cancelled or refunded. `series_at` is when the
    charge that is under way, or was last, was first tried; `tries` is the number of declines.
    """

    id: str
    account: str
    amount: Decimal
    due_at: datetime
    next_at: datetime
    order: str = ""
    number: int = 1
    of: int = 1
    status: str = SCHEDULED
    method: str = ""
    tries: int = 0
    final: bool = False
    claimed_by: str = ""
    series_at: datetime | None = None
    transaction_id: str = ""
    processed_at: datetime | None = None
    reason: str = ""
    refund: Refund | None = None
    data: bytes = b""
    load: LoadMark | None = None
    timeline: tuple[Step, ...] = ()
    closed: bool = False
    version: int = 1

    @property
    def key(self) -> keys.Key:
        place = keys.past_payment if self.closed else keys.payment
        return place(self.account, self.due_at, self.id)

    @property
    def ref(self) -> dict[str, str]:
        """What an order keeps of its payment."""
        return {"id": self.id, "due_at": iso(self.due_at)}

    @property
    def at(self) -> datetime | None:
        """When the last thing happened that decided its status."""
        return self.timeline[-1].at if self.timeline else None

    def after(self, step: Step, **changes: Any) -> Payment:
        """Return it as it is after a step, one version on."""
        timeline = (*self.timeline, step)
        if len(timeline) > TIMELINE_STEPS:
            timeline = (timeline[0], *timeline[-(TIMELINE_STEPS - 1) :])
        return replace(self, status=step.status, timeline=timeline, version=self.version + 1, **changes)


def index_rows(payment: Payment) -> keys.Row:
    """Return the rows that list a payment: by transaction id (GSI1), by status and time over all accounts (GSI3)."""
    rows = keys.payment_of_transaction(payment.transaction_id) if payment.transaction_id else {}
    if payment.closed and payment.processed_at is not None:
        return rows | keys.closed_payments(payment.id, payment.processed_at)
    if payment.status == FAILED and payment.final:
        return rows | keys.payments_by_status(payment.id, GIVEN_UP, payment.due_at)
    return rows | keys.payments_by_status(payment.id, payment.status, payment.next_at)


def payment_item(payment: Payment) -> Item:
    """Return a payment as it is stored, with its key and index rows; what is empty is left out."""
    pk, sk = payment.key
    item: Item = {
        "PK": pk,
        "SK": sk,
        "type": "Payment",
        "id": payment.id,
        "account": payment.account,
        "order": payment.order,
        "number": payment.number,
        "of": payment.of,
        "amount": payment.amount,
        "due_at": iso(payment.due_at),
        "status": payment.status,
        "next_at": iso(payment.next_at),
        "tries": payment.tries,
        "version": payment.version,
        "card": _card(payment),
        **index_rows(payment),
    }
    optional: Item = {
        "method": payment.method,
        "final": payment.final,
        "claimed_by": payment.claimed_by,
        "series_at": iso(payment.series_at) if payment.series_at else "",
        "transaction_id": payment.transaction_id,
        "processed_at": iso(payment.processed_at) if payment.processed_at else "",
        "reason": payment.reason,
        "refund": _refund_item(payment.refund),
        "data": payment.data,
        "load": _load_item(payment.load),
        "timeline": [_step_item(step) for step in payment.timeline],
        "closed": payment.closed,
    }
    return item | {name: value for name, value in optional.items() if value}


def _card(payment: Payment) -> Item:
    card: Item = {
        "id": payment.id,
        "account": payment.account,
        "order": payment.order,
        "number": payment.number,
        "of": payment.of,
        "amount": payment.amount,
        "due_at": iso(payment.due_at),
        "status": payment.status,
    }
    optional = {
        "at": iso(payment.at) if payment.at else "",
        "transaction_id": payment.transaction_id,
        "reason": payment.reason,
    }
    return card | {name: value for name, value in optional.items() if value}


def _step_item(step: Step) -> Item:
    return {"status": step.status, "at": iso(step.at), "by": step.by, "note": step.note}


def _refund_item(refund: Refund | None) -> Item:
    return {"reason": refund.reason, "by": refund.by, "at": iso(refund.at)} if refund else {}


def _load_item(load: LoadMark | None) -> Item:
    return {"id": load.id, "segment": load.segment, "position": load.position} if load else {}


def payment_from_item(item: Item) -> Payment:
    """Return the payment of its whole item."""
    refund, load = item.get("refund"), item.get("load")
    return Payment(
        id=item["id"],
        account=item["account"],
        amount=Decimal(item["amount"]).quantize(CENT),
        due_at=from_iso(item["due_at"]),
        next_at=from_iso(item["next_at"]),
        order=item["order"],
        number=item["number"],
        of=item["of"],
        status=item["status"],
        method=item.get("method", ""),
        tries=item["tries"],
        final=item.get("final", False),
        claimed_by=item.get("claimed_by", ""),
        series_at=from_iso(item["series_at"]) if "series_at" in item else None,
        transaction_id=item.get("transaction_id", ""),
        processed_at=from_iso(item["processed_at"]) if "processed_at" in item else None,
        reason=item.get("reason", ""),
        refund=Refund(refund["reason"], refund["by"], from_iso(refund["at"])) if refund else None,
        data=item.get("data", b""),
        load=LoadMark(load["id"], load["segment"], load["position"]) if load else None,
        timeline=tuple(
            Step(step["status"], from_iso(step["at"]), step["by"], step["note"])
            for step in item.get("timeline", ())
        ),
        closed=item.get("closed", False),
        version=item["version"],
    )
