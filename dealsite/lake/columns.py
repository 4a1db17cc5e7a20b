"""The columns of the lake: what kinds there are, and how a stored value becomes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

import orjson
import pyarrow as pa

from dealsite.data.table.convert import Item

Kind = Literal["text", "integer", "money", "time", "date", "flag", "json"]
Source = Callable[[Item], Any]

CENT = Decimal("0.01")
MOST_MONEY = Decimal("9999999999.99")  # decimal(12,2)
MOST_INTEGER = 2**63 - 1

ARROW: Mapping[Kind, pa.DataType] = {
    "text": pa.string(),
    "integer": pa.int64(),
    "money": pa.decimal128(12, 2),
    "time": pa.timestamp("ms"),  # UTC, without a zone: DuckDB and Athena then show the same
    "date": pa.date32(),
    "flag": pa.bool_(),
    "json": pa.string(),
}
SQL: Mapping[Kind, str] = {  # as DuckDB and Athena's queries name them
    "text": "varchar",
    "integer": "bigint",
    "money": "decimal(12,2)",
    "time": "timestamp",
    "date": "date",
    "flag": "boolean",
    "json": "varchar",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column; its value is what `source` finds in an item, made fit for its kind."""

    name: str
    kind: Kind
    source: Source

    def value(self, item: Item) -> Any:
        """Return an item's value: None where it has none, or one that the column cannot hold."""
        try:
            found = self.source(item)
            return None if found is None else CONVERT[self.kind](found)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return None  # one odd item must not keep all others from the lake


def attribute(name: str) -> Source:
    """Take an attribute of the item, or else of its card."""

    def find(item: Item) -> Any:
        if name in item:
            return item[name]
        card = item.get("card")
        return card.get(name) if isinstance(card, Mapping) else None

    return find


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else str(value) if isinstance(value, (int, Decimal)) else None


def _integer(value: Any) -> int | None:
    if isinstance(value, bool) or value != int(value) or abs(value) > MOST_INTEGER:
        return None
    return int(value)


def _money(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return None
    try:
        amount = Decimal(value).quantize(CENT)
    except InvalidOperation:
        return None
    return amount if abs(amount) <= MOST_MONEY else None


def _time(value: Any) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment.astimezone(UTC).replace(tzinfo=None)


def _date(value: Any) -> date:
    return value if isinstance(value, date) else date.fromisoformat(value)


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _json(value: Any) -> str:
    return orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        number = float(value)
        return number if Decimal(repr(number)) == value else str(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"A {type(value).__name__} has no place in JSON here.")


CONVERT: Mapping[Kind, Callable[[Any], Any]] = {
    "text": _text,
    "integer": _integer,
    "money": _money,
    "time": _time,
    "date": _date,
    "flag": _flag,
    "json": _json,
}
