"""Between Python values and DynamoDB's typed JSON; money is Decimal, times are ISO text, floats are refused."""

import base64
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from .ids import iso

Key = tuple[str, str]  # PK and SK
Item = dict[str, Any]
Attribute = dict[str, Any]
MOST_EXPONENT = 130  # written out, a number of any other would take any memory
SHAPES: dict[str, Any] = {
    "BOOL": bool,
    "N": str,
    "M": dict,
    "L": list,
    "SS": list,
    "NULL": bool,
    "B": str,
    "NS": list,
}


def to_attribute(value: Any) -> Attribute:
    """Return the attribute value of a Python value; TypeError for what must not be stored."""
    match value:
        case str():
            return {"S": value}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case Decimal():
            if not value.is_finite():
                raise TypeError("A number that is not finite cannot be stored.")
            return {"N": format(value, "f")}
        case None:
            return {"NULL": True}
        case datetime():
            return {"S": iso(value)}
        case Mapping():
            return {"M": {name: to_attribute(inner) for name, inner in value.items()}}
        case list() | tuple():
            return {"L": [to_attribute(inner) for inner in value]}
        case set() | frozenset():
            return {"SS": sorted(value)}
        case bytes():
            return {"B": base64.b64encode(value).decode()}
    raise TypeError(f"A {type(value).__name__} cannot be stored.")


def to_attributes(item: Mapping[str, Any]) -> Attribute:
    """Return an item's attributes; None and empty sets are left out, since absent is what they mean."""
    return {
        name: to_attribute(value)
        for name, value in item.items()
        if value is not None and not (isinstance(value, (set, frozenset)) and not value)
    }


def from_attribute(attribute: Attribute) -> Any:
    """Return the Python value of an attribute value; whole numbers are int, all others Decimal.

    What is not of the form of one raises ValueError, TypeError, AttributeError or ArithmeticError.
    """
    ((kind, value),) = attribute.items()
    return value if kind == "S" and type(value) is str else _value(kind, value)


def _value(kind: str, value: Any) -> Any:
    if type(value) is not SHAPES.get(kind):
        raise TypeError(f"{kind!r} with a {type(value).__name__} is no attribute value that is used here.")
    if kind == "BOOL":
        return value
    if kind == "N":
        return int(value) if value.removeprefix("-").isdigit() else _decimal(value)
    if kind == "M":
        return from_attributes(value)
    if kind == "L":
        return [from_attribute(inner) for inner in value]
    if kind == "SS":
        return set(value)
    if kind == "NULL":
        return None
    if kind == "B":
        return base64.b64decode(value, validate=True)
    return {_decimal(number) for number in value}


def _decimal(text: str) -> Decimal:
    number = Decimal(text)
    if not (number.is_finite() and abs(number.adjusted()) <= MOST_EXPONENT):
        raise ValueError(f"{text[:80]} is no number that is stored.")
    return number


def from_attributes(attributes: Mapping[str, Attribute]) -> Item:
    """Return an item, or a map, as Python values."""
    item: Item = {}
    for name, attribute in attributes.items():
        ((kind, value),) = (
            attribute.items()
        )  # here and not in a call: most values are texts, and there are many
        item[name] = value if kind == "S" and type(value) is str else _value(kind, value)
    return item


def key_attributes(key: Key) -> dict[str, Attribute]:
    """Return the attributes of an item's key."""
    return {"PK": {"S": key[0]}, "SK": {"S": key[1]}}
