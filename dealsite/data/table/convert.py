"""Between Python values and DynamoDB's typed JSON, and whether an answer is whole.

Money is Decimal, times are ISO text, floats are refused. An answer that is not whole, unchanged and of the form of its
operation says nothing. Above all it does not say that an item is not there.
"""

import base64
import zlib
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import orjson

from .errors import Refused
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


Answer = dict[str, Any]
WRONG_SHAPE = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, RecursionError)


class NoAnswer(Exception):
    """What came is no answer of DynamoDB's; the message says why, for operators."""


def read_answer(status: int, headers: Mapping[str, Any], content: bytes) -> Answer:
    """Return the JSON object of a whole answer with status 200. Raises NoAnswer, Refused."""
    _check_whole(status, headers, content)
    if 300 <= status < 400:
        raise Refused(f"Status{status}", f"The answer leads to {headers.get('Location', 'nowhere')}.", [])
    try:
        answer = orjson.loads(content)
    except ValueError:
        raise NoAnswer(f"{status}: no JSON, but {content[:60]!r}") from None
    if not isinstance(answer, dict):
        raise NoAnswer(f"{status}: JSON, but no object: {content[:60]!r}")
    if status != 200:
        raise _refusal(status, answer)
    return answer


def _check_whole(status: int, headers: Mapping[str, Any], content: bytes) -> None:
    length, checksum = headers.get("Content-Length"), headers.get("x-amz-crc32")
    if length is not None and length != str(len(content)):
        raise NoAnswer(f"{status}: {len(content)} bytes instead of {length}")
    if checksum is not None and checksum != str(zlib.crc32(content)):
        raise NoAnswer(f"{status}: its checksum says that it was changed on its way")


def _refusal(status: int, answer: Answer) -> Refused:
    kind, reasons = answer.get("__type"), answer.get("CancellationReasons") or [{"Item": answer.get("Item")}]
    code = kind.rpartition("#")[2] if isinstance(kind, str) else ""
    if not code or not isinstance(reasons, list) or not all(isinstance(one, dict) for one in reasons):
        raise NoAnswer(f"{status}: an error that names no type")
    try:
        for reason in reasons:
            reason["Item"] = from_attributes(reason.get("Item") or {})
    except WRONG_SHAPE as error:
        raise NoAnswer(f"{status}: an error with an item that is none") from error
    return Refused(code, str(answer.get("message") or answer.get("Message") or ""), reasons, status)


def check_answer(operation: str, request: dict[str, Any], answer: Answer) -> None:
    """Raise NoAnswer unless an answer has the form of its operation's; its items become Python values."""
    try:
        _CHECKS.get(operation, _nothing)(request, answer)
    except WRONG_SHAPE as error:
        raise NoAnswer(f"{operation}: not of the form of its answers ({error!r})") from error


def _expect(is_so: bool, what: str) -> None:
    if not is_so:
        raise ValueError(what)


def _capacity(consumed: Any) -> None:
    """Every request asks what it costs, and each answer says so."""
    _expect(type(consumed["CapacityUnits"]) in (int, float), "CapacityUnits")


def _capacities(consumed: Any) -> None:
    _expect(type(consumed) is list, "ConsumedCapacity")
    for one in consumed:
        _capacity(one)


def _one(request: dict[str, Any], answer: Answer) -> None:
    _capacity(answer["ConsumedCapacity"])


def _got(request: dict[str, Any], answer: Answer) -> None:
    _capacity(answer["ConsumedCapacity"])
    if "Item" in answer:
        _expect(_key(answer["Item"]) == _key(request["Key"]), "an item that nobody asked for")
        answer["Item"] = from_attributes(answer["Item"])


def _got_batch(request: dict[str, Any], answer: Answer) -> None:
    _capacities(answer["ConsumedCapacity"])
    found, left = answer["Responses"], answer.setdefault("UnprocessedKeys", {})
    asked = request["RequestItems"]
    _expect(found.keys() | left.keys() == asked.keys(), "other tables than those that were asked for")
    for table_name, of_table in asked.items():
        keys = {_key(key) for key in of_table["Keys"]}
        unprocessed = left.get(table_name, {"Keys": []})["Keys"]
        _expect(all(_key(key) in keys for key in unprocessed), "keys that nobody asked for")
        items = found.get(table_name, ())
        _expect(all(_key(item) in keys for item in items), "items that nobody asked for")
        found[table_name] = [from_attributes(item) for item in items]


def _key(attributes: dict[str, Any]) -> tuple[str, str]:
    return attributes["PK"]["S"], attributes["SK"]["S"]


def _page(request: dict[str, Any], answer: Answer) -> None:
    _capacity(answer["ConsumedCapacity"])
    items = answer["Items"]
    _expect(type(items) is list and answer["Count"] == len(items), "Count")
    answer["Items"] = [from_attributes(item) for item in items]
    if "LastEvaluatedKey" in answer:
        answer["LastEvaluatedKey"] = from_attributes(answer["LastEvaluatedKey"])


def _queried(request: dict[str, Any], answer: Answer) -> None:
    _page(request, answer)
    attribute = request["ExpressionAttributeNames"]["#h"]
    partition = request["ExpressionAttributeValues"][":h"]["S"]
    _expect(all(item[attribute] == partition for item in answer["Items"]), "items of another partition")


def _written(request: dict[str, Any], answer: Answer) -> None:
    _capacities(answer["ConsumedCapacity"])


def _executed(request: dict[str, Any], answer: Answer) -> None:
    _capacities(
        answer.get("ConsumedCapacity", [])
    )  # statements that were refused cost nothing on some engines
    responses = answer["Responses"]
    _expect(len(responses) == len(request["Statements"]), "as many responses as statements")
    for one in responses:
        _expect(type(one.get("Error", {}).get("Code", "")) is str, "Code")


def _shards(request: dict[str, Any], answer: Answer) -> None:
    for shard in answer["StreamDescription"]["Shards"]:
        _expect(type(shard["ShardId"]) is str, "ShardId")


def _iterator(request: dict[str, Any], answer: Answer) -> None:
    _expect(type(answer["ShardIterator"]) is str, "ShardIterator")


def _records(request: dict[str, Any], answer: Answer) -> None:
    _expect(type(answer["Records"]) is list, "Records")
    _expect(type(answer.get("NextShardIterator")) in (str, type(None)), "NextShardIterator")
    for record in answer["Records"]:
        _expect(type(record["dynamodb"]["SequenceNumber"]) is str, "SequenceNumber")


def _member(name: str) -> Callable[[dict[str, Any], Answer], None]:
    return lambda request, answer: _expect(type(answer[name]) is dict and bool(answer[name]), name)


def _nothing(request: dict[str, Any], answer: Answer) -> None:
    pass


_CHECKS: dict[str, Callable[[dict[str, Any], Answer], None]] = {
    "GetItem": _got,
    "BatchGetItem": _got_batch,
    "Query": _queried,
    "Scan": _page,
    "PutItem": _one,
    "UpdateItem": _one,
    "DeleteItem": _one,
    "TransactWriteItems": _written,
    "BatchExecuteStatement": _executed,
    "DescribeStream": _shards,
    "GetShardIterator": _iterator,
    "GetRecords": _records,
    "DescribeTable": _member("Table"),
    "DescribeTimeToLive": _member("TimeToLiveDescription"),
    "CreateTable": _member("TableDescription"),
    "DeleteTable": _member("TableDescription"),
    "UpdateTimeToLive": _member("TimeToLiveSpecification"),
}
