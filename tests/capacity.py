"""Records what requests cost: by the estimator, from the items before and after; and by the engine's own word."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks import capacity
from tests.faults.unkind import READS, WRITES, Faults, Item, ItemKey, _inserted, _key_of, _written, reply
from tests.table_requests import Reply, Request, handled


@dataclass
class Units:
    """Read units, write units of items and of index rows; `reported` is what the engine says of all together.

    `touched` are an index or "", a partition key, and a sort key or None where a query found nothing.
    """

    operations: Counter[str] = field(default_factory=Counter)
    touched: set[tuple[str, str, str | None]] = field(default_factory=set)
    read_of: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # by partition key
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

    def handle(self, request: Request) -> Reply | None:
        operation = request.operation
        if operation not in READS + WRITES:
            return None
        body = json.loads(request.body)
        with self.lock:
            self.units.operations[operation] += 1
            places = _places(operation, body) if operation in WRITES else []
            before = {place: self._item(request, *place) for place in places}
            status, answer = self._send(request, operation, body)
            if status == 200:
                self.units.touched.update(_touched(operation, body, answer, places))
            if status == 200 and operation in READS:
                self._count_read(operation, body, answer)
            elif status == 200:
                self._count_write(request, operation, body, before)
            self._count_reported(operation, answer)
            return reply(status, answer)

    def _count_write(
        self, request: Request, operation: str, body: Item, before: dict[Any, Item | None]
    ) -> None:
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
            self._add_read(_key_of(body["Key"])[0], size, consistent=body.get("ConsistentRead", False))
        elif operation == "BatchGetItem":
            for name, wanted in body["RequestItems"].items():
                found = {_key_of(item): item for item in answer["Responses"].get(name, [])}
                for key in map(_key_of, wanted["Keys"]):
                    size = capacity.item_size(found.get(key, {}))
                    self._add_read(key[0], size, consistent=wanted["ConsistentRead"])
        else:
            size = sum(map(capacity.item_size, answer["Items"]))
            partition = body["ExpressionAttributeValues"][":h"]["S"] if operation == "Query" else ""
            self._add_read(partition, size, consistent=body.get("ConsistentRead", False))

    def _add_read(self, partition: str, size: int, *, consistent: bool) -> None:
        units = capacity.read_units(size, consistent=consistent)
        self.units.read += units
        self.units.read_of[partition] += units

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


def _touched(
    operation: str, body: Item, answer: Item, written: list[tuple[str, ItemKey]]
) -> Iterator[tuple[str, str, str | None]]:
    """Yield the index, the partition key and the sort key of each row that a request asked for or wrote."""
    index = body.get("IndexName", "")
    checked = [action.get("ConditionCheck") for action in body.get("TransactItems", [])]
    wanted = [key for one in body.get("RequestItems", {}).values() if "Keys" in one for key in one["Keys"]]
    wanted += [one["Key"] for one in [body, *filter(None, checked)] if "Key" in one]
    for partition, sort in [key for _, key in written] + [_key_of(key) for key in wanted]:
        yield index, partition, sort
    if operation == "Query":
        partition, sort = (f"{index}PK", f"{index}SK")
        rows = [
            item if partition in item else {partition: item[index], sort: {"S": ""}}
            for item in answer["Items"]
        ]
        yield from ((index, row[partition]["S"], row[sort]["S"]) for row in rows)
        if not answer["Items"]:
            yield index, body["ExpressionAttributeValues"][":h"]["S"], None
    elif operation == "Scan":
        yield index, "", None


@contextmanager
def recorded() -> Iterator[Units]:
    """Add up what the requests of the block cost."""
    recorder = Recorder()
    with handled(recorder.handle):
        yield recorder.units
