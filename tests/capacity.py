"""Records what requests cost: by the estimator, from the items before and after; and by the engine's own word."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import AWSResponse

from benchmarks import capacity
from dealsite.data import keys, table
from dealsite.data.entities.entity import pattern
from dealsite.data.table.key_templates import Entry
from tests.faults.unkind import (
    READS,
    WRITES,
    Faults,
    Item,
    ItemKey,
    _answer,
    _inserted,
    _key_of,
    _text,
    _written,
)


@dataclass
class Units:
    """Read units, write units of items and of index rows; `reported` is what the engine says of all together."""

    operations: Counter[str] = field(default_factory=Counter)
    lines: set[str] = field(default_factory=set)  # of the key chart
    read: float = 0.0
    write: int = 0
    index: int = 0
    reported_read: float = 0.0
    reported_write: float = 0.0


class Recorder(Faults):
    """Hands on each request as it is, and adds up its costs."""

    def __init__(self) -> None:
        super().__init__()
        self.units = Units()

    def handle(self, request: Any, **_: Any) -> AWSResponse | None:
        operation = _text(request.headers["X-Amz-Target"]).rpartition(".")[2]
        if operation not in READS + WRITES:
            return None
        body = json.loads(request.body)
        with self.lock:
            self.units.operations[operation] += 1
            places = _places(operation, body) if operation in WRITES else []
            before = {place: self._item(request, *place) for place in places}
            status, answer = self._send(request, operation, body)
            self.units.lines.update(_lines(operation, body, answer, places))
            if status == 200 and operation in READS:
                self._count_read(operation, body, answer)
            elif status == 200:
                self._count_write(request, operation, body, before)
            self._count_reported(operation, answer)
            return _answer(request, status, answer)

    def _count_write(self, request: Any, operation: str, body: Item, before: dict[Any, Item | None]) -> None:
        transaction = operation == "TransactWriteItems"
        for place, item in before.items():
            cost = capacity.cost_of(item, self._item(request, *place), transaction=transaction)
            self.units.write += cost.item
            self.units.index += cost.total - cost.item
        for action in body.get("TransactItems", []):
            if check := action.get("ConditionCheck"):
                item = self._item(request, check["TableName"], _key_of(check["Key"]))
                self.units.write += capacity.cost_of(item, item, transaction=True).item

    def _count_read(self, operation: str, body: Item, answer: Item) -> None:
        if operation == "GetItem":
            size = capacity.item_size(answer.get("Item", {}))
            self.units.read += capacity.read_units(size, consistent=body.get("ConsistentRead", False))
        elif operation == "BatchGetItem":
            for name, wanted in body["RequestItems"].items():
                found = {_key_of(item): item for item in answer["Responses"].get(name, [])}
                for key in map(_key_of, wanted["Keys"]):
                    size = capacity.item_size(found.get(key, {}))
                    self.units.read += capacity.read_units(size, consistent=wanted["ConsistentRead"])
        else:
            size = sum(map(capacity.item_size, answer["Items"]))
            self.units.read += capacity.read_units(size, consistent=body.get("ConsistentRead", False))

    def _count_reported(self, operation: str, answer: Item) -> None:
        consumed = answer.get("ConsumedCapacity") or []
        units = sum(one["CapacityUnits"] for one in (consumed if isinstance(consumed, list) else [consumed]))
        if operation in READS:
            self.units.reported_read += units
        else:
            self.units.reported_write += units


def _places(operation: str, body: Item) -> list[tuple[str, ItemKey]]:
    """The tables and keys that a request writes."""
    if operation == "BatchExecuteStatement":
        return [_inserted(statement) for statement in body["Statements"]]
    return [(name, key) for name, keys in _written(operation, body).items() for key in keys]


def _lines(operation: str, body: Item, answer: Item, written: list[tuple[str, ItemKey]]) -> Iterator[str]:
    """The lines of the key chart in which a request looks or writes."""
    keys_of = [key for _, key in written]
    if operation == "GetItem":
        keys_of.append(_key_of(body["Key"]))
    elif operation == "BatchGetItem":
        keys_of += [_key_of(key) for wanted in body["RequestItems"].values() for key in wanted["Keys"]]
    elif operation == "TransactWriteItems":
        checks = [action["ConditionCheck"] for action in body["TransactItems"] if "ConditionCheck" in action]
        keys_of += [_key_of(check["Key"]) for check in checks]
    elif operation == "Query":
        index, values = body.get("IndexName", ""), body["ExpressionAttributeValues"]
        found = [(item[f"{index}PK"]["S"], item[f"{index}SK"]["S"]) for item in answer.get("Items", [])]
        low = values.get(":low", {"S": ""})["S"]
        yield from chart_lines(index, found) or chart_lines(index, [(values[":h"]["S"], low)], is_whole=False)
    yield from chart_lines("", keys_of)


def chart_lines(index: str, found: list[ItemKey], *, is_whole: bool = True) -> set[str]:
    """Return the lines of the key chart that such keys are of; those of a partition unless the sort key `is_whole`."""
    return {
        name
        for name, line in keys.CHART.items()
        for partition, position in found
        if line.entry.index == index and is_line(line.entry, partition, position, is_whole=is_whole)
    }


def is_line(entry: Entry, partition: str, position: str, *, is_whole: bool) -> bool:
    """Tell whether keys are of a line of the key chart."""
    if is_whole:
        return bool(
            pattern((entry.partition_pieces, entry.sort_pieces)).fullmatch(f"{partition}\n{position}")
        )
    first = entry.sort_pieces[0] if entry.sort_pieces and isinstance(entry.sort_pieces[0], str) else ""
    in_partition = pattern((entry.partition_pieces, ())).fullmatch(f"{partition}\n")
    return bool(in_partition and (first.startswith(position) or position.startswith(first)))


@contextmanager
def recorded() -> Iterator[Units]:
    """Add up what the requests of the block cost."""
    recorder, events = Recorder(), table.events()
    names = [f"before-send.dynamodb.{operation}" for operation in (*READS, *WRITES)]
    for name in names:
        events.register(name, recorder.handle)
    try:
        yield recorder.units
    finally:
        for name in names:
            events.unregister(name, recorder.handle)
