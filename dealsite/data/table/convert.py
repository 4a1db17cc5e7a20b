"""Between Python values and DynamoDB's typed JSON, and whether an answer is whole.

Money is Decimal, times are ISO text, floats are refused. An answer that is not whole, unchanged and of the form of its
operation says nothing. Above all it does not say that an item is not there. The forms are declared below, and msgspec
reads an answer by them.
"""

import base64
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Self

import msgspec

from .errors import Refused
from .ids import iso

Key = tuple[str, str]  # PK and SK
Item = dict[str, Any]
Attribute = dict[str, Any]  # as it is sent
MOST_EXPONENT = 130  # written out, a number of any other would take any memory


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


EMPTY: frozenset[str] = frozenset()


def to_attributes(item: Mapping[str, Any]) -> Attribute:
    """Return an item's attributes; None and empty sets are left out, since absent is what they mean."""
    attributes = {}
    for name, value in item.items():
        if type(value) is str:  # most are
            attributes[name] = {"S": value}
        elif value is not None and value != EMPTY:
            attributes[name] = to_attribute(value)
    return attributes


class Value(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """An attribute value as it comes: one of these."""

    S: str | None = None
    N: str | None = None
    BOOL: bool | None = None
    M: "dict[str, Value] | None" = None
    L: "list[Value] | None" = None
    SS: list[str] | None = None
    NS: list[str] | None = None
    B: bytes | None = None
    NULL: bool | None = None


Values = dict[str, Value]  # an item, or a map, as it comes


def from_value(value: Value) -> Any:
    """Return the Python value of an attribute value; whole numbers are int, all others Decimal.

    What is none raises ValueError, TypeError or ArithmeticError.
    """
    if value.S is not None:
        return value.S
    if (number := value.N) is not None:
        return int(number) if number.removeprefix("-").isdigit() else _decimal(number)
    if value.BOOL is not None:
        return value.BOOL
    if value.M is not None:
        return from_values(value.M)
    if value.L is not None:
        return [from_value(inner) for inner in value.L]
    if value.SS is not None:
        return set(value.SS)
    if value.NS is not None:
        return {_decimal(number) for number in value.NS}
    if value.B is not None:
        return value.B
    if value.NULL is None:
        raise TypeError("An attribute value without a value.")
    return None


def _decimal(text: str) -> Decimal:
    number = Decimal(text)
    if not (number.is_finite() and abs(number.adjusted()) <= MOST_EXPONENT):
        raise ValueError(f"{text[:80]} is no number that is stored.")
    return number


def from_values(values: Values) -> Item:
    """Return an item, or a map, as Python values."""
    return {
        name: text if (text := value.S) is not None else from_value(value)  # most are texts
        for name, value in values.items()
    }


def from_attributes(attributes: Mapping[str, Attribute]) -> Item:
    """Return an item of attributes as they were sent, or are kept in a file. Raises one of WRONG_SHAPE."""
    return from_values(msgspec.convert(attributes, Values))


def key_attributes(key: Key) -> dict[str, Attribute]:
    """Return the attributes of an item's key."""
    return {"PK": {"S": key[0]}, "SK": {"S": key[1]}}


def key_of(values: Values) -> Key:
    """Return the key of an item."""
    return values["PK"].S or "", values["SK"].S or ""


WRONG_SHAPE = (msgspec.MsgspecError, TypeError, ValueError, KeyError, ArithmeticError, RecursionError)


class NoAnswer(Exception):
    """What came is no answer of DynamoDB's; the message says why, for operators."""


class Answer(msgspec.Struct):
    """What an operation answers."""

    @property
    def units(self) -> float:
        """The capacity units that were used."""
        return 0.0

    def result(self, request: dict[str, Any]) -> Any:
        """Return what of it is asked for. Raises one of WRONG_SHAPE where that is no answer to the request."""


def _expect_keys(items: Iterable[Values], keys: Iterable[Attribute]) -> None:
    """Raise ValueError where an item is none of those that were asked for."""
    asked = {(key["PK"]["S"], key["SK"]["S"]) for key in keys}
    if not all(key_of(item) in asked for item in items):
        raise ValueError("items that nobody asked for")


class Used(msgspec.Struct):
    CapacityUnits: float


class Done(Answer):
    """Of a write."""

    ConsumedCapacity: Used

    @property
    def units(self) -> float:
        return self.ConsumedCapacity.CapacityUnits


class Got(Done):
    """Of a get: the item, or None."""

    Item: Values | msgspec.UnsetType = msgspec.UNSET  # null would say nothing

    def result(self, request: dict[str, Any]) -> dict[str, Any] | None:
        if self.Item is msgspec.UNSET:
            return None
        _expect_keys([self.Item], [request["Key"]])
        return from_values(self.Item)


class Page(Done):
    """Of a scan: items, and where to go on."""

    Items: list[Values]
    Count: int
    LastEvaluatedKey: Values | msgspec.UnsetType = msgspec.UNSET

    def result(self, request: dict[str, Any]) -> tuple[list[Item], Item | None]:
        if self.Count != len(self.Items):
            raise ValueError(f"{self.Count} items, of which {len(self.Items)} came")
        start = from_values(self.LastEvaluatedKey) if self.LastEvaluatedKey else None
        return [from_values(item) for item in self.Items], start


class Queried(Page):
    """Of a query."""

    def result(self, request: dict[str, Any]) -> tuple[list[Item], Item | None]:
        attribute = request["ExpressionAttributeNames"]["#h"]
        partition = request["ExpressionAttributeValues"][":h"]["S"]
        if {item[attribute].S for item in self.Items} - {partition}:
            raise ValueError("items of another partition")
        return Page.result(self, request)


class ManyDone(Answer):
    """Of a transaction."""

    ConsumedCapacity: list[Used]

    @property
    def units(self) -> float:
        return sum(used.CapacityUnits for used in self.ConsumedCapacity)


class Unprocessed(msgspec.Struct):
    Keys: list[Values]


class GotMany(ManyDone):
    """Of a batch get of one table: items, and the keys that were left."""

    Responses: dict[str, list[Values]]
    UnprocessedKeys: dict[str, Unprocessed] = {}

    def result(self, request: dict[str, Any]) -> tuple[list[Item], list[Key]]:
        ((table, asked),) = request["RequestItems"].items()
        if self.Responses.keys() | self.UnprocessedKeys.keys() != {table}:
            raise ValueError("other tables than the one that was asked for")
        found = self.Responses.get(table, [])
        left = self.UnprocessedKeys[table].Keys if self.UnprocessedKeys else []
        _expect_keys([*found, *left], asked["Keys"])
        return [from_values(item) for item in found], [key_of(key) for key in left]


class StatementError(msgspec.Struct):
    Code: str = ""
    Message: str = ""


class OfStatement(msgspec.Struct):
    Error: StatementError | None = None


class Executed(ManyDone, kw_only=True):
    """Of a batch of statements: the error of each, or None; what refused ones cost, not every engine says."""

    Responses: list[OfStatement]
    ConsumedCapacity: list[Used] = []

    def result(self, request: dict[str, Any]) -> list[StatementError | None]:
        if len(self.Responses) != len(request["Statements"]):
            raise ValueError("not as many responses as statements")
        return [one.Error for one in self.Responses]


class Change(msgspec.Struct):
    Keys: Values
    SequenceNumber: str
    OldImage: Values | None = None
    NewImage: Values | None = None
    ApproximateCreationDateTime: float = 0.0  # seconds since 1970


class Record(msgspec.Struct):
    dynamodb: Change


class Records(Answer):
    """Of a stream, page by page: itself."""

    Records: list[Record]
    NextShardIterator: str | None = None

    def result(self, request: dict[str, Any]) -> Self:
        return self


READERS = {
    operation: msgspec.json.Decoder(form)
    for operation, form in {
        "GetItem": Got,
        "BatchGetItem": GotMany,
        "Query": Queried,
        "Scan": Page,
        "PutItem": Done,
        "UpdateItem": Done,
        "DeleteItem": Done,
        "TransactWriteItems": ManyDone,
        "BatchExecuteStatement": Executed,
        "GetRecords": Records,
    }.items()
}
# What else is answered is a dict of anything, and here not without this member.
MEMBERS = {
    "DescribeStream": "StreamDescription",
    "GetShardIterator": "ShardIterator",
    "DescribeTable": "Table",
    "DescribeTimeToLive": "TimeToLiveDescription",
    "CreateTable": "TableDescription",
    "DeleteTable": "TableDescription",
    "UpdateTimeToLive": "TimeToLiveSpecification",
}


def read_answer(
    operation: str, request: dict[str, Any], status: int, headers: Mapping[str, Any], content: bytes
) -> tuple[Any, float]:
    """Return what a whole answer says, and the capacity units that it names. Raises NoAnswer, Refused.

    What it says is the `result` of the operation's form above, and of others a dict.
    """
    length, checksum = headers.get("Content-Length"), headers.get("x-amz-crc32")
    if length is not None and length != str(len(content)):
        raise NoAnswer(f"{status}: {len(content)} bytes instead of {length}")
    if checksum is not None and checksum != str(zlib.crc32(content)):
        raise NoAnswer(f"{status}: its checksum says that it was changed on its way")
    if 300 <= status < 400:
        raise Refused(f"Status{status}", f"The answer leads to {headers.get('Location', 'nowhere')}.", [])
    try:
        if status != 200:
            raise _refusal(status, msgspec.json.decode(content, type=dict[str, Any]))
        if (reader := READERS.get(operation)) is None:
            said = msgspec.json.decode(content, type=dict[str, Any])
            if operation in MEMBERS and not said.get(MEMBERS[operation]):
                raise ValueError(f"no {MEMBERS[operation]}")
            return said, 0.0
        answer = reader.decode(content)
        return answer.result(request), answer.units
    except WRONG_SHAPE as error:
        raise NoAnswer(f"{operation}, {status}: {error or type(error).__name__}: {content[:60]!r}") from error


def _refusal(status: int, answer: dict[str, Any]) -> Refused:
    kind, reasons = answer.get("__type"), answer.get("CancellationReasons") or [{"Item": answer.get("Item")}]
    code = kind.rpartition("#")[2] if isinstance(kind, str) else ""
    if not code or not isinstance(reasons, list) or not all(isinstance(one, dict) for one in reasons):
        raise ValueError("an error that names no type")
    for reason in reasons:
        reason["Item"] = from_attributes(reason.get("Item") or {})
    return Refused(code, str(answer.get("message") or answer.get("Message") or ""), reasons, status)
