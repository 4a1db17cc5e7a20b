"""Makes a projection afresh from a scan of the table, while its consumer goes on."""

import contextlib
from collections.abc import Iterator
from datetime import datetime

from dealsite.data import table
from dealsite.data.table.convert import Item
from dealsite.stream import leases
from dealsite.stream.projection import Checkpoint, Projection
from dealsite.stream.records import Stream

SCANNED = 500  # items a request


class Busy(Exception):
    """Somebody else is making this projection just now."""


def rebuild(projection: Projection, *, now: datetime) -> int:
    """Make a projection anew and put it in place of the old one; return how many items the table had. Raises Busy.

    Where it starts in the stream is noted before the scan. What changes meanwhile comes again from there, so
    that each item ends as the table has it, whether the scan saw it before the change or after.
    """
    with only_builder(projection):
        items = build(projection, Stream.of_table(), projection.checkpoint(), now=now)
        with leases.next_turn(projection.folder):
            projection.swap()
    return items


def build_first(projection: Projection, stream: Stream, *, now: datetime) -> None:
    """Make a projection that there is not, or that can no longer catch up; it is ours to open. Raises Busy."""
    with only_builder(projection):
        build(projection, stream, None, now=now)
        projection.swap()


@contextlib.contextmanager
def only_builder(projection: Projection) -> Iterator[None]:
    """Be the only one to build a projection for the time of the block; raises Busy."""
    with leases.locked(projection.folder, leases.BUILDING, wait=False) as ours:
        if not ours:
            raise Busy(f"The {projection.name} is being built already.")
        yield


def build(projection: Projection, stream: Stream, known: Checkpoint | None, *, now: datetime) -> int:
    """Make a projection aside; return how many items there were. 1 request for the shards, 1 for each 500 items."""
    start = known
    if start is None or start.stream != stream.arn or not start.reaches(now):
        # From the oldest record that there is, of which some may be trimmed meanwhile: the scan comes after them.
        start = Checkpoint(stream.arn, now, {shard.id: "" for shard in stream.shards()})
    items = _Counted()
    projection.build(items, start)
    return items.number


class _Counted:
    """All items of the table as a consistent scan finds them."""

    def __init__(self) -> None:
        self.number = 0

    def __iter__(self) -> Iterator[Item]:
        for item in table.scan_all(limit=SCANNED, consistent=True):
            self.number += 1
            yield item
