"""What no local engine does: an unkind DynamoDB, injected below `dealsite/data/table/client.py`.

Faults stand in the way of each request (`tests/table_requests.py`). Seeded, so that a run can be repeated; time is
virtual, so that nothing sleeps. As at Amazon, a consistent read is never stale, and an image of an item never
reappears after a newer one was seen through the same index. So that a run ends, one thread's requests
are refused a few times in a row at most, and of two that follow each other one is answered.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.table_requests import Lost, Reply, Request

TABLE = ""  # stands for the table itself where the name of an index is asked for
WRITES = (
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "BatchWriteItem",
    "TransactWriteItems",
    "BatchExecuteStatement",
)
READS = ("GetItem", "BatchGetItem", "Query", "Scan")
MARKER = "~page~"
RACER = "racer"  # what a thread is called of which no message is lost

Item = dict[str, Any]  # attribute values as they travel: {"PK": {"S": "..."}}
ItemKey = tuple[str, str]


@dataclass
class Shape:
    """What a table's definition says of its indexes."""

    keys: dict[str, list[str]]
    kept: dict[str, set[str] | None]  # attributes that the index holds; None: all


@dataclass
class Hidden:
    """A write that some readers do not see yet: until when, by index, and what they see instead."""

    key: ItemKey
    before: Item | None
    until: dict[str, float]


@dataclass
class Faults:
    """Rates between 0 and 1; `lag` in virtual seconds; at most `in_a_row` refusals of one thread's requests."""

    seed: int = 0
    lag: float = 5.0
    conflicts: float = 0.3
    throttles: float = 0.05
    unprocessed: float = 0.3
    empty_pages: float = 0.2
    lost_replies: float = 0.05
    in_a_row: int = 3
    now: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.lock = threading.RLock()
        self.hidden: dict[str, list[Hidden]] = {}
        self.shapes: dict[str, Shape] = {}
        self.markers: dict[str, Item | None] = {}
        self.row = threading.local()

    # Time

    def pause(self, seconds: float) -> None:
        """Stand in for `client.pause`: virtual time passes, real time does not."""
        with self.lock:
            self.now += seconds

    def wait_for_indexes(self) -> None:
        """Let every index and every replica catch up."""
        with self.lock:
            self.now += self.lag + 1

    # The seam

    def handle(self, request: Request) -> Reply | None:
        """Answer a request in DynamoDB's place, or raise as a broken connection does."""
        operation = request.operation
        if operation not in READS + WRITES:
            return None
        body = json.loads(request.body)
        with self.lock:
            self.now += self.random.uniform(0, 0.05)
            if refusal := self._refuse(request, operation, body):
                return refusal
            return (
                self._read(request, operation, body)
                if operation in READS
                else self._write(request, operation, body)
            )

    def _refuse(self, request: Request, operation: str, body: Item) -> Reply | None:
        refused = getattr(self.row, "count", 0)
        self.row.count = 0
        if refused >= self.in_a_row:
            return None
        self.row.count = refused + 1
        if self._happens(self.throttles, "throttled"):
            error = self.random.choice(["ProvisionedThroughputExceededException", "ThrottlingException"])
            return errored(error, "The level of configured provisioned throughput was exceeded.")
        if operation == "TransactWriteItems" and self._happens(self.conflicts, "conflict"):
            count = len(body["TransactItems"])
            reasons: list[Item] = [{"Code": "None"} for _ in range(count)]
            reasons[self.random.randrange(count)] = {
                "Code": "TransactionConflict",
                "Message": "Transaction is ongoing for the item",
            }
            codes = ", ".join(reason["Code"] for reason in reasons)
            message = (
                f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
            )
            return errored("TransactionCanceledException", message, CancellationReasons=reasons)
        if operation in ("PutItem", "UpdateItem", "DeleteItem") and self._happens(
            self.conflicts / 3, "conflict of a single write"
        ):
            return errored("TransactionConflictException", "Transaction is ongoing for the item")
        self._lose(self.lost_replies / 2, "lost request")
        self.row.count = 0
        return None

    def _lose(self, rate: float, what: str) -> None:
        if threading.current_thread().name == RACER:
            return  # what was lost depends on who was first: no seed repeats it, no test can say what is right
        if not getattr(self.row, "lost", False) and self._happens(rate, what):
            self.row.lost = True
            raise Lost(what)

    def _answered(self, status: int, answer: Item) -> Reply:
        """Answer, unless the answer is lost on its way, or says of what was carried out that it failed."""
        try:
            self._lose(self.lost_replies, "lost reply")
        except Lost:
            if self.random.random() < 0.5:
                raise
            return errored("InternalServerError", "It is not known whether this was done.", 500)
        self.row.lost = False
        return reply(status, answer)

    def _happens(self, rate: float, what: str) -> bool:
        if self.random.random() >= rate:
            return False
        self.counts[what] += 1
        return True

    # Writes

    def _write(self, request: Request, operation: str, body: Item) -> Reply:
        kept_back: Item = {}
        if operation == "BatchExecuteStatement":
            return self._statements(request, body)
        if operation == "BatchWriteItem":
            body, kept_back = self._keep_back(body)
        before = {
            (table, key): self._item(request, table, key)
            for table, keys in _written(operation, body).items()
            for key in keys
        }
        status, answer = self._send(request, operation, body)
        if status == 200:
            for (table, key), item in before.items():
                self._hide(request, table, key, item)
        if kept_back:
            answer["UnprocessedItems"] = kept_back | answer.get("UnprocessedItems", {})
        return self._answered(status, answer)

    def _statements(self, request: Request, body: Item) -> Reply:
        """Carry out some of a batch's statements; the others are answered, each by itself, with "not now"."""
        statements = body["Statements"]
        refused = {
            number: self.random.choice(STATEMENT_REFUSALS)
            for number in range(len(statements))
            if self._happens(self.unprocessed / 3, "statement refused")
        }
        kept = [statement for number, statement in enumerate(statements) if number not in refused]
        before = {place: self._item(request, *place) for place in map(_inserted, kept)}
        responses: list[Item] = []
        if kept:
            status, answer = self._send(request, "BatchExecuteStatement", body | {"Statements": kept})
            if status != 200:
                return self._answered(status, answer)
            responses = answer["Responses"]
            for ((table, key), item), response in zip(before.items(), responses, strict=True):
                if "Error" not in response:
                    self._hide(request, table, key, item)
        left = iter(responses)
        whole = [
            {"Error": {"Code": refused[number], "Message": "Not now."}} if number in refused else next(left)
            for number in range(len(statements))
        ]
        return self._answered(200, {"Responses": whole})

    def _hide(self, request: Request, table: str, key: ItemKey, before: Item | None) -> None:
        entries = self.hidden[table] = [
            entry for entry in self.hidden.get(table, []) if max(entry.until.values()) > self.now
        ]
        earlier = [entry for entry in entries if entry.key == key]
        until = {
            index: max(
                [self.now + self.random.uniform(0, self.lag), *(entry.until[index] for entry in earlier)]
            )
            for index in self._shape(request, table).keys
        }
        entries.append(Hidden(key, before, until))

    # Reads

    def _read(self, request: Request, operation: str, body: Item) -> Reply:
        if operation == "BatchGetItem":
            return self._batch_get(request, body)
        if operation == "GetItem":
            status, answer = self._send(request, operation, body)
            if status == 200 and not body.get("ConsistentRead"):
                key = _key_of(body["Key"])
                for hidden in self._unseen(body["TableName"], TABLE, key):
                    self.counts["stale read"] += 1
                    answer.pop("Item", None)
                    if hidden is not None:
                        answer["Item"] = _projected(hidden, body)
        else:
            status, answer = self._page(request, operation, body)
        return self._answered(status, answer)

    def _batch_get(self, request: Request, body: Item) -> Reply:
        body, kept_back = self._keep_back(body)
        status, answer = self._send(request, "BatchGetItem", body)
        if status == 200:
            for table, wanted in body["RequestItems"].items():
                if wanted.get("ConsistentRead"):
                    continue
                items = {_key_of(item): item for item in answer["Responses"].get(table, [])}
                for key in map(_key_of, wanted["Keys"]):
                    for hidden in self._unseen(table, TABLE, key):
                        self.counts["stale read"] += 1
                        items.pop(key, None)
                        if hidden is not None:
                            items[key] = _projected(hidden, wanted)
                answer["Responses"][table] = list(items.values())
            if kept_back:
                answer["UnprocessedKeys"] = kept_back | answer.get("UnprocessedKeys", {})
        return self._answered(status, answer)

    def _keep_back(self, body: Item) -> tuple[Item, Item]:
        """Split a batch into what is done now and what is answered as unprocessed, never all of it."""
        now, later = {}, {}
        for table, wanted in body["RequestItems"].items():
            entries = wanted["Keys"] if isinstance(wanted, dict) else wanted
            if len(entries) < 2 or not self._happens(self.unprocessed, "unprocessed"):
                now[table] = wanted
                continue
            done, left = entries[: len(entries) // 2], entries[len(entries) // 2 :]
            now[table] = wanted | {"Keys": done} if isinstance(wanted, dict) else done
            later[table] = wanted | {"Keys": left} if isinstance(wanted, dict) else left
        return body | {"RequestItems": now}, later

    def _page(self, request: Request, operation: str, body: Item) -> tuple[int, Item]:
        start = body.get("ExclusiveStartKey")
        marker = _marker(start)
        if marker is not None:
            start = self.markers[marker]  # kept: a client whose answer was lost asks again
            body = {name: value for name, value in body.items() if name != "ExclusiveStartKey"}
            if start:
                body["ExclusiveStartKey"] = start
        index = body.get("IndexName", TABLE)
        if marker is None and self._happens(self.empty_pages, "empty page"):
            empty = {"Items": [], "Count": 0, "ScannedCount": 0, "ConsumedCapacity": {"CapacityUnits": 0.5}}
            return 200, empty | self._next(request, body, index, start)
        limit = body.get("Limit", 1_000_000)
        status, answer = self._send(request, operation, body)
        if status != 200 or (index == TABLE and body.get("ConsistentRead")):
            return status, answer
        if operation == "Query":
            self._overlay_query(request, body, index, answer, limit)
        else:
            self._overlay_scan(request, body, index, answer)
        return status, answer

    def _next(self, request: Request, body: Item, index: str, start: Item | None) -> Item:
        """Return a LastEvaluatedKey from which the same page follows."""
        marker = f"{MARKER}{len(self.markers) + self.random.getrandbits(48)}"
        self.markers[marker] = start
        names = dict.fromkeys([*self._shape(request, body["TableName"]).keys[index], "PK", "SK"])
        return {"LastEvaluatedKey": {name: {"S": marker} for name in names}}

    def _overlay_query(self, request: Request, body: Item, index: str, answer: Item, limit: int) -> None:
        unseen = self._all_unseen(body["TableName"], index)
        if not unseen:
            return
        assert "FilterExpression" not in body, "Teach the faults this filter."
        names = self._shape(request, body["TableName"]).keys[index]
        items = {_key_of(item): item for item in answer["Items"]}
        backward = body.get("ScanIndexForward") is False
        first, last = body.get("ExclusiveStartKey"), answer.get("LastEvaluatedKey")
        matches = _condition(body)
        for key, hidden in unseen.items():
            if items.pop(key, None) is not None:
                self.counts["late index row"] += 1
            if hidden is None or not all(name in hidden for name in names) or not matches(hidden):
                continue
            place = _place(hidden, names)
            if (first and not _after(place, _place(first, names), backward)) or (
                last and _after(place, _place(last, names), backward)
            ):
                continue
            self.counts["old index row"] += 1
            items[key] = _projected(self._kept(request, body, index, hidden), body)
        found = sorted(items.values(), key=lambda item: _place(item, names), reverse=backward)
        if len(found) > limit:
            found = found[:limit]
            answer["LastEvaluatedKey"] = {
                name: found[-1][name] for name in dict.fromkeys([*names, "PK", "SK"])
            }
        answer |= {"Items": found, "Count": len(found), "ScannedCount": len(found)}
        if body.get("Select") == "COUNT":
            answer.pop("Items")

    def _overlay_scan(self, request: Request, body: Item, index: str, answer: Item) -> None:
        """Show old images in place; what is gone already is not brought back, since a scan has no order."""
        names = self._shape(request, body["TableName"]).keys[index]
        unseen = self._all_unseen(body["TableName"], index)
        items = []
        for item in answer["Items"]:
            key = _key_of(item)
            if key in unseen:
                self.counts["late index row"] += 1
                hidden = unseen[key]
                if hidden is None or not all(name in hidden for name in names):
                    continue
                item = _projected(self._kept(request, body, index, hidden), body)
            items.append(item)
        answer |= {"Items": items, "Count": len(items), "ScannedCount": len(items)}

    def _unseen(self, table: str, index: str, key: ItemKey) -> list[Item | None]:
        """The image that a reader still sees instead of the newest, as a list of none or one."""
        for entry in self.hidden.get(table, []):
            if entry.key == key and entry.until[index] > self.now:
                return [entry.before]
        return []

    def _all_unseen(self, table: str, index: str) -> dict[ItemKey, Item | None]:
        unseen: dict[ItemKey, Item | None] = {}
        for entry in self.hidden.get(table, []):
            if entry.until[index] > self.now:
                unseen.setdefault(entry.key, entry.before)
        return unseen

    # The engine, asked past the client

    def _kept(self, request: Request, body: Item, index: str, item: Item) -> Item:
        kept = self._shape(request, body["TableName"]).kept[index]
        return item if kept is None else {name: value for name, value in item.items() if name in kept}

    def _shape(self, request: Request, table: str) -> Shape:
        if table not in self.shapes:
            _, answer = self._send(request, "DescribeTable", {"TableName": table})
            description = answer["Table"]
            keys = {TABLE: [entry["AttributeName"] for entry in description["KeySchema"]]}
            kept: dict[str, set[str] | None] = {TABLE: None}
            for index in description.get("GlobalSecondaryIndexes", []):
                name, projection = index["IndexName"], index["Projection"]
                keys[name] = [entry["AttributeName"] for entry in index["KeySchema"]]
                kept[name] = {*keys[TABLE], *keys[name], *projection.get("NonKeyAttributes", [])}
                if projection["ProjectionType"] == "ALL":
                    kept[name] = None
            self.shapes[table] = Shape(keys, kept)
        return self.shapes[table]

    def _item(self, request: Request, table: str, key: ItemKey) -> Item | None:
        wanted = {"PK": {"S": key[0]}, "SK": {"S": key[1]}}
        _, answer = self._send(
            request, "GetItem", {"TableName": table, "Key": wanted, "ConsistentRead": True}
        )
        return answer.get("Item")

    def _send(self, request: Request, operation: str, body: Item) -> tuple[int, Item]:
        came = request.send(operation, json.dumps(body).encode())
        return came.status, json.loads(came.data)


def _key_of(item: Item) -> ItemKey:
    return item["PK"]["S"], item["SK"]["S"]


def _place(item: Item, names: list[str]) -> tuple[str, ...]:
    return tuple(item[name]["S"] for name in [*names[1:], "PK", "SK"])


def _after(place: tuple[str, ...], other: tuple[str, ...], backward: bool) -> bool:
    return place < other if backward else place > other


def _marker(start: Item | None) -> str | None:
    if start and start["SK"]["S"].startswith(MARKER):
        return str(start["SK"]["S"])
    return None


def _written(operation: str, body: Item) -> dict[str, list[ItemKey]]:
    """The keys that a request writes, by table."""
    if operation == "TransactWriteItems":
        written: dict[str, list[ItemKey]] = {}
        for action in body["TransactItems"]:
            for kind, details in action.items():
                if kind != "ConditionCheck":
                    written.setdefault(details["TableName"], []).append(
                        _key_of(details.get("Item") or details["Key"])
                    )
        return written
    if operation == "BatchWriteItem":
        return {
            table: [
                _key_of(
                    entry["PutRequest"]["Item"] if "PutRequest" in entry else entry["DeleteRequest"]["Key"]
                )
                for entry in entries
            ]
            for table, entries in body["RequestItems"].items()
        }
    return {body["TableName"]: [_key_of(body.get("Item") or body["Key"])]}


STATEMENT_REFUSALS = (
    "ThrottlingError",
    "ProvisionedThroughputExceeded",
    "RequestLimitExceeded",
    "TransactionConflict",
    "InternalServerError",
)
INSERT = re.compile(r'INSERT INTO "(?P<table>[^"]+)" VALUE \{(?P<fields>[^}]*)\}')


def _inserted(statement: Item) -> tuple[str, ItemKey]:
    """The table and the key of a PartiQL INSERT whose values are parameters."""
    found = INSERT.fullmatch(statement["Statement"])
    assert found, f"Teach the faults this statement: {statement['Statement']}"
    fields = [field.split(":")[0].strip(" '") for field in found["fields"].split(",")]
    return found["table"], _key_of(dict(zip(fields, statement["Parameters"], strict=True)))


def _projected(item: Item, body: Item) -> Item:
    """Apply a ProjectionExpression of top-level names."""
    if not (expression := body.get("ProjectionExpression")):
        return item
    names = body.get("ExpressionAttributeNames", {})
    wanted = {names.get(name.strip(), name.strip()) for name in expression.split(",")}
    return {name: value for name, value in item.items() if name in wanted}


TERM = re.compile(
    r"(?P<range>(?P<name>#?\w+) BETWEEN (?P<low>:\w+) AND (?P<high>:\w+))"
    r"|(?P<other>#?\w+) ?(?P<sign><=|>=|=|<|>) ?(?P<value>:\w+)"
)


def _condition(body: Item) -> Any:
    """Return a KeyConditionExpression as a function of an item."""
    expression = body["KeyConditionExpression"]
    names, values = body.get("ExpressionAttributeNames", {}), body["ExpressionAttributeValues"]
    terms = list(TERM.finditer(expression))
    rest = TERM.sub("", expression).replace("AND", "").replace("(", "").replace(")", "").strip()
    assert terms, f"Teach the faults this expression: {expression}"
    assert not rest, f"Teach the faults this expression: {expression}"

    def matches(item: Item) -> bool:
        for term in terms:
            if term["range"]:
                value = item[names.get(term["name"], term["name"])]["S"]
                if not values[term["low"]]["S"] <= value <= values[term["high"]]["S"]:
                    return False
                continue
            value, other = item[names.get(term["other"], term["other"])]["S"], values[term["value"]]["S"]
            holds = {
                "=": value == other,
                "<": value < other,
                "<=": value <= other,
                ">": value > other,
                ">=": value >= other,
            }
            if not holds[term["sign"]]:
                return False
        return True

    return matches


def reply(status: int, answer: Item) -> Reply:
    return Reply(status, json.dumps(answer).encode())


def errored(code: str, message: str, status: int = 400, **more: Any) -> Reply:
    """Return an answer with an error of DynamoDB's."""
    namespace = (
        "com.amazon.coral.availability"
        if code == "ThrottlingException"
        else "com.amazonaws.dynamodb.v20120810"
    )
    return reply(status, {"__type": f"{namespace}#{code}", "message": message, "Message": message} | more)
