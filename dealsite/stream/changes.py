"""One change of one item, as the stream tells of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from dealsite.data.keys import Key
from dealsite.data.table.convert import Item, from_attributes
from dealsite.data.table.ids import EPOCH

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


def change_of(record: Mapping[str, Any]) -> ItemChange:
    """Return the change that a record of the stream tells of."""
    data = record["dynamodb"]
    key = from_attributes(data["Keys"])
    return ItemChange(
        key=(key["PK"], key["SK"]),
        old=from_attributes(data["OldImage"]) if "OldImage" in data else None,
        new=from_attributes(data["NewImage"]) if "NewImage" in data else None,
        sequence=padded(data["SequenceNumber"]),
        at=_moment(data.get("ApproximateCreationDateTime", 0)),
    )


def changes_of(records: Iterable[Mapping[str, Any]]) -> list[ItemChange]:
    """Return the changes that records tell of, in their order.

    A write that leaves an item as it was is no change: Amazon tells of none, the embedded engine does.
    """
    return [change for change in map(change_of, records) if change.old != change.new]


def _moment(value: Any) -> datetime:
    """Return a time that is told as seconds since 1970."""
    return EPOCH + timedelta(milliseconds=round(float(value) * 1000)) if value else datetime.now(UTC)
