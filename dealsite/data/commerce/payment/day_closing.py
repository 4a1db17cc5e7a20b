"""Closing a day: its processed payments move to the history, where they are found as before.

Up to 50 move in one transaction, each deleted at its old place and put at its new one under the same sort key.
Wherever this ends, the next run goes on: what has moved is no longer listed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from dealsite.data import keys, table
from dealsite.data.commerce.payment.payment_record import Payment, payment_from_item, payment_item
from dealsite.data.entities.payments import PROCESSED, REFUNDED
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import iso
from dealsite.data.table.writes import Delete, Put, Write, absent, equals

BATCH = 50  # payments that one transaction moves: two actions each
SHARDS = keys.PAYMENT_SHARDS


@access_pattern("close a day in one shard", "2 queries + 1 batch get + 1 transaction")
def close_shard(day: date, number: int, *, advance: Callable[[int], None] = lambda _: None) -> int:
    """Move the payments of one shard processed until the end of a day (UTC) to the history; return how many were moved.

    Days before it that were never closed are closed, too; so is what was refunded. `advance` is told the number of
    each batch. Several shards may be closed at once.
    """
    end = day + timedelta(days=1)
    midnight = datetime(end.year, end.month, end.day, tzinfo=UTC)
    moved = 0
    for status in (PROCESSED, REFUNDED):
        start = None
        while True:
            rows = table.query_page(
                keys.payments_by_status.partition(number),
                index=keys.GSI3,
                low=f"{status}#",
                high=f"{status}#{iso(midnight)}",
                limit=BATCH,
                start=start,
            )
            count = _move([(row["PK"], row["SK"]) for row in rows.items])
            moved += count
            advance(count)
            start = rows.start
            if start is None:
                break
    return moved


def in_words(moved: int) -> str:
    """Say how many payments were moved."""
    return f"{moved:,} payments moved to the history."


def _move(places: Sequence[keys.Key]) -> int:
    """Move the payments at these places, but for any that is not processed; return how many were moved."""
    tried: set[str] = set()

    def attempt() -> int:
        found = [payment_from_item(item) for item in table.batch_get(places).values()]
        ready = [payment for payment in found if payment.status in (PROCESSED, REFUNDED)]
        gone = len(tried - {payment.id for payment in ready})  # they moved, though the answer was lost
        if not ready:
            return gone
        try:
            table.transact([write for payment in ready for write in _move_writes(payment)])
        except Conflict:
            tried.update(payment.id for payment in ready)
            raise
        return gone + len(ready)

    return table.retrying(attempt, on=Conflict)


def _move_writes(payment: Payment) -> list[Write]:
    past = replace(payment, closed=True, version=payment.version + 1)
    return [
        Delete(key=payment.key, when=(equals("version", payment.version),)),
        Put(key=past.key, item=payment_item(past), when=(absent(),)),
    ]
