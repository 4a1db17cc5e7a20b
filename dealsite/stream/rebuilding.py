"""Makes a projection afresh from a scan of the table, while its consumer goes on."""

import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime

import structlog

from dealsite.data import table
from dealsite.data.table.convert import Item
from dealsite.stream import leases, skipped
from dealsite.stream.leases import Lease
from dealsite.stream.projection import Checkpoint, Projection
from dealsite.stream.records import Stream
from dealsite.stream.skipped import SkippedRecord

SCANNED = 500  # items a request

logger = structlog.get_logger(__name__)


class Busy(Exception):
    """Somebody else is making this projection just now."""


def rebuild(projection: Projection, *, now: datetime) -> int:
    """Make a projection anew and put it in place of the old one; return how many items the table had.

    Where it starts in the stream is noted before the scan. What changes meanwhile comes again from there, so
    that each item ends as the table has it, whether the scan saw it before the change or after. Raises Busy, and
    LeaseLost where the folder was deleted meanwhile.
    """
    with only_builder(projection) as lease:
        items = build(projection, Stream.of_table(), projection.checkpoint(), now=now, lease=lease)
        with leases.next_turn(projection.folder):
            lease.check()
            projection.swap()
        skipped.forget(projection.folder, before=now)
    return items


def build_first(
    projection: Projection, stream: Stream, *, now: datetime, on_page: Callable[[], None] = lambda: None
) -> None:
    """Make a projection that there is not, or that cannot be kept; it is ours to open. Raises Busy, LeaseLost."""
    with only_builder(projection) as lease:
        build(projection, stream, None, now=now, lease=lease, on_page=on_page)
        lease.check()
        projection.swap()
        skipped.forget(projection.folder, before=now)


@contextlib.contextmanager
def only_builder(projection: Projection) -> Iterator[Lease]:
    """Be the only one to build a projection for the time of the block; raises Busy."""
    with leases.locked(projection.folder, leases.BUILDING, wait=False) as lease:
        if lease is None:
            raise Busy(f"The {projection.name} is being built already.")
        yield lease


def build(
    projection: Projection,
    stream: Stream,
    known: Checkpoint | None,
    *,
    now: datetime,
    lease: Lease,
    on_page: Callable[[], None] = lambda: None,
) -> int:
    """Make a projection aside; return how many items there were. 1 request for the shards, 1 for each 500 items."""
    start = known
    if start is None or start.stream != stream.arn or not start.reaches(now):
        # From the oldest record that there is, of which some may be trimmed meanwhile: the scan comes after them.
        start = Checkpoint(stream.arn, now, {shard.id: "" for shard in stream.shards()})
    items = _Counted(lease, on_page)
    lacking = projection.build(items, start)
    for key, reason in lacking:
        logger.error("item_skipped", projection=projection.name, key=" ".join(key), reason=reason)
    skipped.add(projection.folder, [SkippedRecord(key, "", reason, now) for key, reason in lacking])
    return items.number


class _Counted:
    """All items of the table as a consistent scan finds them, for as long as nobody else may build."""

    def __init__(self, lease: Lease, on_page: Callable[[], None]) -> None:
        self.number = 0
        self._lease, self._on_page = lease, on_page

    def __iter__(self) -> Iterator[Item]:
        for item in table.scan_all(limit=SCANNED, consistent=True):
            if self.number % SCANNED == 0:
                self._lease.check()
                self._on_page()
            self.number += 1
            yield item
        self._lease.check()
