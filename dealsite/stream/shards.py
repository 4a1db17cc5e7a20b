"""The table's stream as DynamoDB tells it: its shards, and their records page by page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dealsite.data import table
from dealsite.data.table import errors
from dealsite.data.table.client import as_error
from dealsite.data.table.errors import Refused
from dealsite.stream.changes import ItemChange, changes_of, padded

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
    def of_table(cls) -> Stream:
        """Return the table's stream of now; Unavailable where it has none. 1 request."""
        description = table.call("DescribeTable", TableName=table.name())["Table"]
        arn = description.get("LatestStreamArn")
        if not arn:
            raise errors.Unavailable(f"The table {table.name()} has no stream. See manage.py create_table.")
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
        answer = _ask("GetShardIterator", StreamArn=self.arn, ShardId=shard_id, **where)
        iterator: str = answer["ShardIterator"]
        return iterator

    def page(self, iterator: str) -> Page:
        """Return the next records of a shard. Raises Lost, Expired. 1 request."""
        answer = _ask("GetRecords", ShardIterator=iterator, Limit=PAGE)
        records = answer["Records"]
        last = padded(records[-1]["dynamodb"]["SequenceNumber"]) if records else ""
        return Page(len(records), changes_of(records), last, answer.get("NextShardIterator"))


def in_order(shards: Iterable[Shard], finished: set[str]) -> Iterator[Shard]:
    """Yield the shards that may be read now: unfinished, and their parent read to its end or no longer there."""
    listed = list(shards)
    waiting = {shard.id for shard in listed} - finished
    for shard in listed:
        if shard.id in waiting and shard.parent not in waiting:
            yield shard


def _ask(operation: str, **parameters: Any) -> dict[str, Any]:
    try:
        return table.ask_stream(operation, **parameters)
    except Refused as refused:
        if refused.code in LOST:
            raise Lost(refused.message) from refused
        if refused.code == EXPIRED:
            raise Expired() from refused
        raise as_error(refused) from refused
