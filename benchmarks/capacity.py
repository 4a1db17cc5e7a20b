"""What reads and writes cost in DynamoDB's capacity units, computed from items as they travel.

A write unit is 1 KB of an item, a read unit 4 KB read consistently, both rounded up; a transaction costs twice. An
index costs only what changes in its own rows, which hold keys and the attributes that it projects: a row that moves
to another place is deleted and written anew. One partition takes 1,000 write units a second, and 3,000 read units.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from dealsite.data.table.configuration import KEYS, configuration

Attributes = Mapping[str, Mapping[str, Any]]  # attribute values as they travel: {"PK": {"S": "..."}}
PARTITION_WRITES, PARTITION_READS = 1000, 3000  # units a second
WRITE_BYTES, READ_BYTES = 1024, 4096


def item_size(attributes: Attributes) -> int:
    """Return an item's size in bytes, names included, as DynamoDB counts it."""
    return sum(len(name.encode()) + _value_size(value) for name, value in attributes.items())


def _value_size(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return _number_size(content)
        case "B":
            return len(base64.b64decode(content))
        case "BOOL" | "NULL":
            return 1
        case "SS":
            return sum(len(text.encode()) for text in content)
        case "L":
            return 3 + sum(1 + _value_size(inner) for inner in content)
        case "M":
            return 3 + sum(1 + len(name.encode()) + _value_size(inner) for name, inner in content.items())
    raise ValueError(f"An attribute of kind {kind} is not used here.")


def _number_size(text: str) -> int:
    """Two digits are a byte, leading and trailing zeros none; one byte more, and one for a minus."""
    digits = text.removeprefix("-").replace(".", "").strip("0")
    return ceil(len(digits) / 2) + 1 + text.startswith("-")


def write_units(size: int) -> int:
    """Return what writing an item of so many bytes costs."""
    return max(ceil(size / WRITE_BYTES), 1)


def read_units(size: int, *, consistent: bool) -> float:
    """Return what reading so many bytes at once costs."""
    return max(ceil(size / READ_BYTES), 1) * (1.0 if consistent else 0.5)


def index_row(attributes: Attributes | None, index: str, *, whole: bool = False) -> Attributes | None:
    """Return the row of an item in an index, None where it has none; `whole`: as if it projected everything."""
    place = _place(index)
    if attributes is None or not place <= attributes.keys():
        return None
    kept = place | {KEYS.partition_key, KEYS.sort_key, *configuration().indexes[index].includes}
    return {name: value for name, value in attributes.items() if whole or name in kept}


def _place(index: str) -> set[str]:
    """Return the names of the attributes by which an index sorts its rows."""
    keys = configuration().indexes[index]
    return {keys.partition_key, keys.sort_key} if keys.sort_key else {keys.partition_key}


@dataclass(frozen=True, slots=True)
class Cost:
    """Write units of one write: of the item itself, and of each index that it changes."""

    item: int
    indexes: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.item + sum(self.indexes.values())


def cost_of(
    before: Attributes | None, after: Attributes | None, *, transaction: bool = False, whole: bool = False
) -> Cost:
    """Return what it costs that an item becomes another; None: it is not there before, or after.

    A transaction doubles the units of the item; index rows follow outside of it. `whole`: as if indexes held all.
    """
    size = max(item_size(before or {}), item_size(after or {}))
    indexes = {
        index: units
        for index in configuration().indexes
        if (units := sum(row_units(index, before, after, whole=whole).values()))
    }
    return Cost(write_units(size) * (2 if transaction else 1), indexes)


def row_units(
    index: str, before: Attributes | None, after: Attributes | None, *, whole: bool = False
) -> dict[tuple[str, str], int]:
    """Return the write units of an index when an item becomes another, by the partition and sort key of its rows."""
    old, new = (index_row(one, index, whole=whole) for one in (before, after))
    keys, found = configuration().indexes[index], dict[tuple[str, str], int]()
    for row in (old, new) if old != new else ():
        if row:
            place = row[keys.partition_key]["S"], row[keys.sort_key]["S"] if keys.sort_key else ""
            found[place] = max(found.get(place, 0), write_units(item_size(row)))
    return found
