"""Loading many scheduled payments: each inserted only if absent and counted exactly once, wherever a load ends.

A load is cut into segments, a segment into chunks of 200 payments. A chunk is written by inserts that skip what is
there; then one update moves the segment on and adds those that are this load's to what the segment has still to count.
From there they go to the totals, many chunks at once. A payment carries the mark of its load and where it stood, so
after a crash, or with the same load running twice, it is still known whose it is: a chunk that is written again
counts what it wrote before, and what another load wrote never counts twice. check_table knows by the same
marks, and by what segments still have to count, which payments are not in the totals yet.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from dealsite.data import keys, table
from dealsite.data.commerce import payment_record
from dealsite.data.commerce.payment_record import LoadMark, Payment, payment_item
from dealsite.data.entities.commerce import (
    LARGEST_CHUNK,
    MOST_PENDING,
    PAYMENT_LOAD,
    PAYMENT_LOAD_SEGMENT,
    SEGMENTS,
)
from dealsite.data.jobs.payloads import payload_to_item
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Conflict
from dealsite.data.table.ids import iso
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put, Update, Write, absent, at_version

MOST_COUNTERS = 90  # days and shards that one transaction counts
STORED = ("load", "number", "position", "inserted", "repeated", "version")  # of a segment


class Source(Protocol):
    """Where payments come from: the same ones at the same positions, however often they are read."""

    @property
    def id(self) -> str:
        """A ULID: the same for the same payments."""

    @property
    def name(self) -> str: ...

    @property
    def total(self) -> int:
        """How many there are, in units of positions."""

    def bounds(self, segment: int, segments: int) -> tuple[int, int]:
        """Return the first position of a segment, and the first after it."""

    def payments(self, start: int, end: int) -> Iterator[tuple[Payment, int, int]]:
        """Yield the payments from a position on, each with its own position and the next one."""


@dataclass(frozen=True, slots=True)
class Segment:
    """How far one part of a load has come: the position to go on at, payments inserted, and found there already.

    `pending` is what the totals still lack of the payments before that position.
    """

    load: str
    number: int
    position: int
    end: int
    inserted: int = 0
    repeated: int = 0
    pending: payment_record.Deltas = field(default_factory=dict)
    version: int = 0

    @property
    def read(self) -> bool:
        return self.position >= self.end

    @property
    def done(self) -> bool:
        return self.read and not self.pending


@access_pattern("begin or resume a load of payments", "1 put + 1 query")
def begin(source: Source, *, now: datetime) -> list[Segment]:
    """Note a load, unless it is known, and return its segments as they were left."""
    item: Item = {name: getattr(source, name) for name in ("id", "name", "total")}
    item = PAYMENT_LOAD.item(item | {"segments": SEGMENTS, "begun_at": iso(now)})
    key = keys.payment_load(source.id)
    with contextlib.suppress(AlreadyExists):
        table.write(Put(key=key, item=item, when=(absent(),), otherwise=AlreadyExists()))
    low, high = keys.payment_load_segment.between()
    rows = table.query(key[0], low=low, high=high, consistent=True)
    left = {row["number"]: row for row in rows}
    return [_segment(source, number, left.get(number, {})) for number in range(SEGMENTS)]


def _segment(source: Source, number: int, item: Item) -> Segment:
    start, end = source.bounds(number, SEGMENTS)
    pending = payment_record.deltas_from(item.get("pending", {}))
    kept = {name: item[name] for name in ("inserted", "repeated", "version") if name in item}
    return Segment(source.id, number, item.get("position", start), end, pending=pending, **kept)


@access_pattern(
    "load payments, each only if absent", "1 batch get + 1 batch insert + 1 update + 1 transaction"
)
def load_segment(
    source: Source, segment: Segment, *, advance: Callable[[Segment, Segment], None] = lambda _a, _b: None
) -> Segment:
    """Write what is left of a segment; `advance` is told of each step, before and after. Returns it as it then is.

    For each chunk 2 batch gets of the history, 8 batches of inserts, 1 update; 2 batch gets more where something was
    there already; then 1 transaction for each 90 days and shards.
    """
    while not segment.done:
        if segment.read or len(segment.pending) > MOST_PENDING:
            after, counters = _next_count(segment)
        else:
            after, counters = _next_chunk(source, segment), []
        try:
            if counters:
                table.transact([_move(segment, after), *counters])
            else:
                table.write(_move(segment, after))
        except Conflict:  # the same load runs elsewhere, or the answer was lost
            left = table.get(keys.payment_load_segment(source.id, segment.number))
            after = _segment(source, segment.number, left or {})
            if after.version <= segment.version:
                raise
        advance(segment, after)
        segment = after
    return segment


def _next_chunk(source: Source, segment: Segment) -> Segment:
    """Write the next payments of a segment; return it as it is to be stored then."""
    payments, position = _chunk(source, segment)
    ours = _store(payments)
    return replace(
        segment,
        position=position,
        inserted=segment.inserted + len(ours),
        repeated=segment.repeated + len(payments) - len(ours),
        pending=payment_record.combine([segment.pending, payment_record.added(ours)]),
        version=segment.version + 1,
    )


def _next_count(segment: Segment) -> tuple[Segment, list[Write]]:
    """Return the writes that count some of what a segment has to count, and the segment without it."""
    places = sorted(segment.pending)
    now = {place: segment.pending[place] for place in places[:MOST_COUNTERS]}
    later = {place: segment.pending[place] for place in places[MOST_COUNTERS:]}
    return replace(segment, pending=later, version=segment.version + 1), payment_record.total_writes(now)


def _chunk(source: Source, segment: Segment) -> tuple[list[Payment], int]:
    """Return the next payments of a segment, and the position after them: the same ones for the same position."""
    chunk: list[Payment] = []
    position = segment.end
    for payment, own, following in source.payments(segment.position, segment.end):
        if len(chunk) == LARGEST_CHUNK:
            return chunk, own
        chunk.append(replace(payment, load=LoadMark(segment.load, segment.number, own)))
        position = following
    return chunk, max(position, segment.end)


def _store(payments: Sequence[Payment]) -> list[Payment]:
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
    marks = {one.id: one.load and payload_to_item(one.load) for one in wanted.values()}
    return [one for one in wanted.values() if stored.get(one.id, {}).get("load") == marks[one.id]]


def _past(payments: Iterable[Payment]) -> dict[str, Item]:
    """Return those payments that the history holds: they were paid, and must not be charged again."""
    found = table.batch_get(keys.past_payment(one.account, one.due_at, one.id) for one in payments)
    return {item["id"]: item for item in found.values()}


def _move(before: Segment, after: Segment) -> Update:
    """Return the write that moves a segment on, if it is as it was read."""
    return Update(
        key=keys.payment_load_segment(before.load, before.number),
        set={
            **{name: getattr(after, name) for name in STORED},
            "type": PAYMENT_LOAD_SEGMENT.type,
            "pending": payment_record.deltas_map(after.pending),
        },
        when=at_version(before.version),
    )
