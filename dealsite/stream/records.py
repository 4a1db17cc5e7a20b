"""The table's stream as DynamoDB tells it: its shards, their records page by page, and the changes in them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from dealsite.data import table
from dealsite.data.keys import Key
from dealsite.data.table import errors
from dealsite.data.table.client import as_error
from dealsite.data.table.configuration import SCHEMA
from dealsite.data.table.convert import Item, Record, Records, Values, from_values, key_of
from dealsite.data.table.errors import Refused
from dealsite.data.table.ids import EPOCH
from dealsite.home import COMMAND

SEQUENCE_DIGITS = 40  # as long as a sequence number ever is
BEFORE_ALL = "0" * SEQUENCE_DIGITS


@dataclass(frozen=True, slots=True)
class ItemChange:
    """What an item was and what it is now: `old` is None for a new item, `new` for a deleted one.

    `sequence` is 40 digits and grows with each change of the same item: of two changes the greater one
    is newer, and what is not greater than the one already applied has been seen before.
    """

    key: Key
    old: Item | None
    new: Item | None
    sequence: str
    at: datetime

    @property
    def type(self) -> str:
        """The item's type; '' for one that has none."""
        item = self.new if self.new is not None else self.old or {}
        return str(item.get("type", ""))


def padded(sequence: str) -> str:
    """Return a sequence number as 40 digits, which sort as the numbers do."""
    return sequence.rjust(SEQUENCE_DIGITS, "0")


def change_of(record: Record) -> ItemChange:
    """Return the change that a record of the stream tells of."""
    told = record.dynamodb
    return ItemChange(
        key=key_of(told.Keys),
        old=_item(told.OldImage),
        new=_item(told.NewImage),
        sequence=padded(told.SequenceNumber),
        at=_moment(told.ApproximateCreationDateTime),
    )


def _item(image: Values | None) -> Item | None:
    """Return an item as this build knows it: no projection needs to know its schema, or that it was migrated."""
    if image is None:
        return None
    item = table.current(from_values(image))
    return {name: value for name, value in item.items() if name != SCHEMA}


def changes_of(records: Iterable[Record]) -> list[ItemChange]:
    """Return the changes that records tell of, in their order.

    A write that leaves an item as it was is no change: Amazon tells of none, the embedded engine does.
    """
    return [change for change in map(change_of, records) if change.old != change.new]


def _moment(seconds: float) -> datetime:
    """Return a time that is told as seconds since 1970; 0 where none is."""
    return EPOCH + timedelta(milliseconds=round(seconds * 1000)) if seconds else datetime.now(UTC)


PAGE = 1000  # records in one answer, as many as DynamoDB gives
LOST = {"TrimmedDataAccessException", "ResourceNotFoundException"}
EXPIRED = "ExpiredIteratorException"


class Lost(Exception):
    """The stream no longer holds what is asked for: it was trimmed, or it is another stream by now."""


class Expired(Exception):
    """An iterator is good for some minutes only; another one is to be asked for."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of the stream; an item's changes stand in a shard and then in its children."""

    id: str
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Some records of a shard, in order; `next` is None once the shard is closed and read to its end."""

    records: int
    changes: list[ItemChange]  # fewer, where a record tells of no change
    last: str  # the sequence number of the last record, '' where there was none
    next: str | None


class Stream:
    """One stream of the table, known by its ARN."""

    def __init__(self, arn: str) -> None:
        self.arn = arn

    @classmethod
    def of_table(cls) -> Self:
        """Return the table's stream of now; Unavailable where it has none. 1 request."""
        description = table.call("DescribeTable", TableName=table.name())["Table"]
        arn = description.get("LatestStreamArn")
        if not arn:
            raise errors.Unavailable(f"The table {table.name()} has no stream. See {COMMAND} setup_site.")
        return cls(arn)

    def shards(self) -> list[Shard]:
        """Return the shards that still hold records or may get some. 1 request for each 100."""
        found: list[Shard] = []
        start: dict[str, Any] = {}
        while True:
            described = _ask("DescribeStream", StreamArn=self.arn, **start)["StreamDescription"]
            found += [Shard(one["ShardId"], one.get("ParentShardId", "")) for one in described["Shards"]]
            if not described.get("LastEvaluatedShardId"):
                return found
            start = {"ExclusiveStartShardId": described["LastEvaluatedShardId"]}

    def iterator(self, shard_id: str, after: str) -> str:
        """Return where to read on after a record of a shard; '' is before its first one. Raises Lost. 1 request."""
        where: dict[str, Any] = {"ShardIteratorType": "TRIM_HORIZON"}
        if after:
            # As DynamoDB wrote it: 21 digits or more on Amazon, where the zeros in front are ours.
            number = after.lstrip("0").rjust(21, "0")
            where = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": number}
        return str(_ask("GetShardIterator", StreamArn=self.arn, ShardId=shard_id, **where)["ShardIterator"])

    def page(self, iterator: str) -> Page:
        """Return the next records of a shard. Raises Lost, Expired. 1 request."""
        answer: Records = _ask("GetRecords", ShardIterator=iterator, Limit=PAGE)
        records = answer.Records
        last = padded(records[-1].dynamodb.SequenceNumber) if records else ""
        return Page(len(records), changes_of(records), last, answer.NextShardIterator)


def in_order(shards: Iterable[Shard], finished: set[str]) -> Iterator[Shard]:
    """Yield the shards that may be read now: unfinished, and their parent read to its end or no longer there."""
    listed = list(shards)
    waiting = {shard.id for shard in listed} - finished
    for shard in listed:
        if shard.id in waiting and shard.parent not in waiting:
            yield shard


def _ask(operation: str, **parameters: Any) -> Any:
    try:
        return table.ask_stream(operation, **parameters)
    except Refused as refused:
        if refused.code in LOST:
            raise Lost(refused.message) from refused
        if refused.code == EXPIRED:
            raise Expired() from refused
        raise as_error(refused) from refused
