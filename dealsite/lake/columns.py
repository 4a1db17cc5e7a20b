"""The columns of the tables: what kinds there are, where their values come from, and how a stored value becomes one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import orjson
from django.utils.crypto import salted_hmac

from dealsite.data.commerce.addresses import Address
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import folded, time_of

Source = Callable[[Item], Any]

CENT = Decimal("0.01")
MOST_MONEY = Decimal("9999999999.99")  # decimal(12,2)
MOST_INTEGER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Column:
    """A column; its value is what `source` finds in an item, made fit for its kind. It may be for admins alone."""

    name: str
    kind: str
    source: Source
    is_for_admins: bool = False

    def value(self, item: Item) -> Any:
        """Return an item's value: None where it has none, or one that the column cannot hold."""
        try:
            found = self.source(item)
            return None if found is None else KINDS[self.kind].convert(found)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return None  # one odd item must not keep all others out


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


def _json(value: Any) -> str:
    return orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        number = float(value)
        return number if Decimal(repr(number)) == value else str(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"A {type(value).__name__} has no place in JSON here.")


class Kind(NamedTuple):
    """A kind of column: its types, `sql` as DuckDB and Athena's queries name it, and what a stored value becomes."""

    sql: str
    hive: str
    convert: Callable[[Any], Any]


KINDS: Mapping[str, Kind] = {
    "text": Kind("varchar", "string", _text),
    "integer": Kind("bigint", "bigint", _integer),
    "money": Kind("decimal(12,2)", "decimal(12,2)", _money),
    "time": Kind("timestamp", "timestamp", _time),  # UTC without a zone, alike for all readers
    "date": Kind("date", "date", _date),
    "flag": Kind("boolean", "boolean", lambda value: value if isinstance(value, bool) else None),
    "json": Kind("varchar", "string", _json),
}


def by_id(item: Item) -> datetime:
    """When the item's id was made."""
    return time_of(item["id"])


def hashed_email(item: Item) -> str | None:
    """The e-mail address as a hash with the site's key (64 hexadecimal digits)."""
    email = item.get("email")
    return hash_of_email(email) if email else None


def hash_of_email(email: str) -> str:
    return salted_hmac("dealsite.lake.email", folded(email), algorithm="sha256").hexdigest()


def country(item: Item) -> str:
    """The code of the country (ISO 3166); as it was typed where that is none."""
    return Address.from_item(item["address"]).country_code


def postcode_area(item: Item) -> str:
    return Address.from_item(item["address"]).postcode[:2]


def last_step(name: str) -> Source:
    """A field of the newest entry of a timeline."""
    return lambda item: item["timeline"][-1].get(name)


def is_there(name: str) -> Source:
    return lambda item: name in item
