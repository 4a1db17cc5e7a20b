"""In how many instalments an order can be paid, what each comes to, and when it is due."""

from __future__ import annotations

import calendar
import hashlib
from datetime import datetime
from decimal import Decimal

from dealsite.data.catalogue.cards import CENT
from dealsite.data.commerce.payment.payment_record import SCHEDULED, Payment, Step
from dealsite.data.table.ids import RANDOM_BITS, new_ulid

PLANS = (1, 3, 6, 12)
SMALLEST_INSTALMENT = Decimal("1.00")


def plans_for(total: Decimal) -> tuple[int, ...]:
    """Return the plans that an order of this total can have: no instalment is below 1.00."""
    return tuple(plan for plan in PLANS if plan == 1 or total / plan >= SMALLEST_INSTALMENT)


def instalments(total: Decimal, plan: int, *, first: datetime) -> list[tuple[datetime, Decimal]]:
    """Return when what is due: amounts that add up to the total to the cent, the larger ones first.

    The first is due at `first`, the others on the same day of the following months, or on a month's last day
    where it has no such day. ValueError for a plan that there is not, or a total that is no amount.
    """
    cents = total / CENT
    if plan not in PLANS or total < 0 or cents != int(cents):
        raise ValueError(f"{total} cannot be paid in {plan} instalments.")
    each, more = divmod(int(cents), plan)
    return [
        (months_later(first, number), (each + (1 if number < more else 0)) * CENT) for number in range(plan)
    ]


def months_later(first: datetime, months: int) -> datetime:
    """Return the same time of day some months later: 31 January -> 28 February, but 31 March."""
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    last_day = calendar.monthrange(year, month + 1)[1]
    return first.replace(year=year, month=month + 1, day=min(first.day, last_day))


def new_payments(
    order_id: str, account: str, total: Decimal, plan: int, *, method: str, first: datetime
) -> list[Payment]:
    """Return an order's payments, none for what is free; the same ones for the same order, so it may be repeated."""
    if not total:
        return []
    return [
        Payment(
            id=payment_id(order_id, number, first=first),
            account=account,
            amount=amount,
            due_at=due_at,
            next_at=due_at,
            order=order_id,
            number=number,
            of=plan,
            method=method,
            timeline=(Step(SCHEDULED, first),),
        )
        for number, (due_at, amount) in enumerate(instalments(total, plan, first=first), 1)
    ]


def payment_id(order_id: str, number: int, *, first: datetime) -> str:
    """Return the id of an order's n-th payment."""
    digest = hashlib.sha256(f"{order_id}#{number}".encode()).digest()
    return new_ulid(first, int.from_bytes(digest[: RANDOM_BITS // 8], "big"))
