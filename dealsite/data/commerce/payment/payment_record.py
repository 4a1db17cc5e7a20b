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
from dealsite.data.entities.conversion import reader, writer
from dealsite.data.entities.payments import PAYMENT, SCHEDULED, TIMELINE_STEPS
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import iso

ON_CARD = ("id", "account", "order", "number", "of", "amount", "due_at", "status")  # what lists show


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened to a payment; `by` is a user name, `runner`, or empty."""

    status: str
    at: datetime
    by: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Refund:
    """That a payment is to be refunded, or was: why, and who said so."""

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


def payment_item(payment: Payment) -> Item:
    """Return a payment as it is stored, with its key and index rows; what is empty is left out."""
    pk, sk = payment.key
    stored = _store(payment)
    card = {name: stored[name] for name in (*ON_CARD, "transaction_id", "reason") if name in stored}
    if payment.timeline:
        card["at"] = stored["timeline"][-1]["at"]
    return {"PK": pk, "SK": sk, **PAYMENT.item(stored | {"card": card})}


payment_from_item, _store = reader(PAYMENT.shape, Payment), writer(PAYMENT.shape, Payment)
