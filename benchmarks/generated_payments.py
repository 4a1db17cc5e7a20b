"""Loads of payments, a segment at a time, and a source of made-up ones for trials and measurements."""

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from benchmarks.sharing import share
from dealsite.data.commerce import payment_loads
from dealsite.data.commerce.payment_loads import Segment, Source
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.entities.commerce import SEGMENTS
from dealsite.data.table.ids import RANDOM_BITS, iso, new_ulid

PAYMENTS_OF_AN_ACCOUNT = 12


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a load came to, this run and earlier ones together."""

    inserted: int
    repeated: int


def load(source: Source, *, processes: int, now: datetime, advance: Callable[[int, int], None]) -> Outcome:
    """Load what is left of a source; `advance` is told of payments written and units of the source passed.

    Ended at any point, the same call goes on. Errors of a process end the load.
    """
    left = payment_loads.begin(source, now=now)
    starts = {segment.number: source.bounds(segment.number, SEGMENTS)[0] for segment in left}
    advance(0, sum(segment.position - starts[segment.number] for segment in left))

    def load_segment(segment: Segment, report: Callable[[tuple[int, int]], None]) -> Segment:
        return payment_loads.load_segment(
            source, segment, advance=lambda before, after: report(_step(before, after))
        )

    done = [segment for segment in left if segment.done]
    todo = [segment for segment in left if not segment.done]
    done += share(todo, load_segment, processes=processes, advance=lambda step: advance(*step))
    return Outcome(sum(one.inserted for one in done), sum(one.repeated for one in done))


def _step(before: Segment, after: Segment) -> tuple[int, int]:
    payments = after.inserted + after.repeated - before.inserted - before.repeated
    return payments, after.position - before.position


class GeneratedSource:
    """Made-up payments: `total` of `size` bytes of data each, due within `days` days from `first` on.

    The same arguments give the same payments; positions are numbers.
    """

    def __init__(
        self, total: int, *, first: datetime, days: int = 30, size: int = 0, method: str = ""
    ) -> None:
        self.total, self.first, self.days, self.size, self.method = total, first, days, size, method
        self.name = f"{total:,} generated payments"
        digest = hashlib.sha256(f"{total} {iso(first)} {days} {size} {method}".encode()).digest()
        self.id = new_ulid(first, int.from_bytes(digest[: RANDOM_BITS // 8], "big"))

    def bounds(self, segment: int, segments: int) -> tuple[int, int]:
        """Return the first number of a segment, and the first after it."""
        return self.total * segment // segments, self.total * (segment + 1) // segments

    def payments(self, start: int, end: int) -> Iterator[tuple[Payment, int, int]]:
        """Yield the payments from a number on, with their own and the next number."""
        for number in range(start, end):
            yield self._payment(number), number, number + 1

    def _payment(self, number: int) -> Payment:
        made = random.Random(f"{self.id} {number}")
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
