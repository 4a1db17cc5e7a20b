"""Loading many scheduled payments: each inserted only if absent and counted exactly once, wherever a load ends.

A load is cut into segments, a segment into chunks of up to 200 payments. A chunk is written by inserts that skip what
is there; then one transaction counts those that are this load's and moves the segment on. A payment carries the mark
of its load and where it stood, so after a crash, or with the same load running twice, it is still known whose
it is: a chunk that is written again counts what it wrote before, and what another load wrote never counts twice.
Until its transaction, a chunk's payments are there and not counted; check_table knows them by the same marks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from dealsite.data import keys, table
from dealsite.data.convert import Item
from dealsite.data.errors import AlreadyExists, Conflict
from dealsite.data.ids import iso
from dealsite.data.payments import totals
from dealsite.data.payments.stored import LoadMark, Payment, payment_item
from dealsite.data.writes import Put, Update, absent, equals, missing

LARGEST_CHUNK = 200  # payments
MOST_COUNTERS = 90  # days and shards that the transaction of a chunk changes
SEGMENTS = 16


class Source(Protocol):
    """Where payments come from: the same ones at the same positions, however often they are read."""

    id: str  # a ULID: the same for the same payments
    name: str
    total: int  # in units of `position`

    def bounds(self, segment: int, segments: int) -> tuple[int, int]:
        """Return the first position of a segment, and the first after it."""
        ...

    def payments(self, start: int, end: int) -> Iterator[tuple[Payment, int, int]]:
        """Yield the payments from a position on, each with its own position and the next one."""
        ...


@dataclass(frozen=True, slots=True)
class Segment:
    """How far one part of a load has come: the position to go on at, payments inserted, and found there already."""

    load: str
    number: int
    position: int
    end: int
    inserted: int = 0
    repeated: int = 0

    @property
    def done(self) -> bool:
        return self.position >= self.end


def begin(source: Source, *, now: datetime) -> list[Segment]:
    """Note a load, unless it is known, and return its segments as they were left. 1 put, 1 query."""
    item: Item = {
        "type": "PaymentLoad",
        "id": source.id,
        "name": source.name,
        "total": source.total,
        "segments": SEGMENTS,
        "begun_at": iso(now),
    }
    with contextlib.suppress(AlreadyExists):
        table.write(
            Put(key=keys.payment_load(source.id), item=item, when=(absent(),), otherwise=AlreadyExists())
        )
    return [read_segment(source, number) for number in range(SEGMENTS)]


def read_segment(source: Source, number: int) -> Segment:
    """Return a segment as it was left. 1 get."""
    start, end = source.bounds(number, SEGMENTS)
    item = table.get(keys.payment_load_segment(source.id, number)) or {}
    return Segment(
        load=source.id,
        number=number,
        position=item.get("position", start),
        end=end,
        inserted=item.get("inserted", 0),
        repeated=item.get("repeated", 0),
    )


def load_segment(
    source: Source, segment: Segment, *, advance: Callable[[Segment, Segment], None] = lambda _a, _b: None
) -> Segment:
    """Write what is left of a segment; `advance` is told of each chunk, before and after. Returns it as it then is.

    For each chunk 2 batch gets of the history, 8 batches of inserts, 1 transaction; 2 batch gets more where
    something was there already.
    """
    while not segment.done:
        payments, position = _chunk(source, segment)
        ours = _store(payments, segment)
        repeated = segment.repeated + len(payments) - len(ours)
        after = replace(segment, position=position, inserted=segment.inserted + len(ours), repeated=repeated)
        try:
            _count(segment, after, ours, fresh=segment.position == source.bounds(segment.number, SEGMENTS)[0])
        except Conflict:  # the same load runs elsewhere, or the answer was lost
            after = read_segment(source, segment.number)
            if after.position <= segment.position:
                raise
        advance(segment, after)
        segment = after
    return segment


def _chunk(source: Source, segment: Segment) -> tuple[list[Payment], int]:
    """Return the next payments of a segment, and the position after them: the same ones for the same position."""
    chunk: list[Payment] = []
    places: set[totals.Place] = set()
    position = segment.end
    for payment, own, following in source.payments(segment.position, segment.end):
        places.add(totals.place_of(payment))
        if len(chunk) == LARGEST_CHUNK or len(places) > MOST_COUNTERS:
            return chunk, own
        chunk.append(replace(payment, load=LoadMark(segment.load, segment.number, own)))
        position = following
    return chunk, max(position, segment.end)


def _store(payments: Sequence[Payment], segment: Segment) -> list[Payment]:
    """Insert what is not there yet; return those that this load wrote at this place, now or before it was ended."""
    wanted: dict[keys.Key, Payment] = {}
    for payment in payments:
        wanted.setdefault(payment.key, payment)  # the same payment twice in a chunk is one payment
    past = _past(wanted.values())
    left = {key: payment for key, payment in wanted.items() if payment.id not in past}
    new = table.insert([payment_item(payment) for payment in left.values()])
    if new == len(left) and not past:
        return list(left.values())
    # Present ones first: a payment moves to the history, never back.
    stored = {item["id"]: item for item in table.batch_get(left).values()}
    stored |= _past(payment for payment in left.values() if payment.id not in stored) | past
    return [
        payment for payment in wanted.values() if stored.get(payment.id, {}).get("load") == _mark(payment)
    ]


def _past(payments: Iterable[Payment]) -> dict[str, Item]:
    """Return those payments that the history holds: they were paid, and must not be charged again."""
    found = table.batch_get(
        keys.past_payment(payment.account, payment.due_at, payment.id) for payment in payments
    )
    return {item["id"]: item for item in found.values()}


def _mark(payment: Payment) -> Item | None:
    return payment_item(payment).get("load")


def _count(before: Segment, after: Segment, payments: Sequence[Payment], *, fresh: bool) -> None:
    """Count payments and move their segment on, if it is where it was. Conflict. 1 transaction."""
    move = Update(
        key=keys.payment_load_segment(before.load, before.number),
        set={
            "type": "PaymentLoadSegment",
            "load": before.load,
            "number": before.number,
            "position": after.position,
            "inserted": after.inserted,
            "repeated": after.repeated,
        },
        when=(missing("position") if fresh else equals("position", before.position),),
    )
    table.transact([move, *totals.writes(totals.added(payments))])
