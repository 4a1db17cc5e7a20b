"""Made-up scheduled payments, for trials and measurements: always the same ones for the same start and number."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal

from dealsite.data.commerce.payment.payment_record import Payment
from dealsite.data.table.ids import RANDOM_BITS, iso, new_ulid

PAYMENTS_OF_AN_ACCOUNT = 12


class GeneratedSource:
    """`total` payments of `size` bytes of data each, due within `days` days from `first` on; positions are numbers."""

    def __init__(
        self, total: int, *, first: datetime, days: int = 30, size: int = 0, method: str = ""
    ) -> None:
        self.total, self.first, self.days, self.size, self.method = total, first, days, size, method
        self.name = f"{total:,} generated payments"
        digest = hashlib.sha256(f"{total} {iso(first)} {days} {size} {method}".encode()).digest()
        self.id = new_ulid(first, _randomness(digest))

    def bounds(self, segment: int, segments: int) -> tuple[int, int]:
        """Return the first number of a segment, and the first after it."""
        return self.total * segment // segments, self.total * (segment + 1) // segments

    def payments(self, start: int, end: int) -> Iterator[tuple[Payment, int, int]]:
        """Yield the payments from a number on, with their own and the next number."""
        for number in range(start, end):
            yield self._payment(number), number, number + 1

    def _payment(self, number: int) -> Payment:
        made = random.Random(f"{self.id} {number}")  # noqa: S311 - the same each time, guards nothing
        due_at = self.first + timedelta(minutes=made.randrange(self.days * 24 * 60))
        return Payment(
            id=new_ulid(due_at, made.getrandbits(RANDOM_BITS)),
            account=f"account-{number // PAYMENTS_OF_AN_ACCOUNT}",
            amount=Decimal(made.randrange(100, 100_000)) / 100,
            due_at=due_at,
            next_at=due_at,
            method=self.method,
            data=made.randbytes(self.size),
        )


def _randomness(digest: bytes) -> int:
    return int.from_bytes(digest[: RANDOM_BITS // 8], "big")
