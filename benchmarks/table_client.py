"""What the table's client costs the processor, as a multiple of what the same requests cost without it.

Without it: urllib3 and orjson, a ready-made signature, no checks, no values of Python. boto3 is what most would take.
"""

from __future__ import annotations

import itertools
import socket
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import orjson
import urllib3
from botocore.config import Config
from urllib3.connection import HTTPConnection

URL = "http://engine.invalid/"  # every connection leads to the engine
ROUNDS = 60
ROWS = 25
# As a multiple of urllib3 and orjson; the goals are 1.15, 1.25, 1.2 and 1.4, and no two runs are alike.
BUDGETS = {"get": 1.15, "query of 25": 1.35, "transaction of 2": 1.35, "insert of 25": 1.5}
ITEM = {
    "type": "Deal",
    "title": "Mechanical keyboard with quiet switches and a German layout",
    "brand": "nordlicht",
    "brand_name": "Nordlicht",
    "category": "peripherals-networking",
    "price": "79.90",
    "list_price": "99.90",
    "link": "https://shop.example/keyboard",
    "image": "f" * 40,
    "image_alt": "A keyboard on a desk",
    "description": "Quiet, wireless, and its battery lasts for a month. " * 6,
    "likes": 12,
    "watchers": 3,
    "published_at": "2026-01-01T00:00:00.000Z",
    "ends_at": "2027-01-01T00:00:00.000Z",
    "by": "mara",
    "version": 3,
}
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20260101T000000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=x/20260101/eu-central-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=x",
}


class Cost(NamedTuple):
    """Microseconds of processor that a call takes: without the client, with it, and with boto3."""

    call: str
    bare: float
    client: float
    boto3: float

    @property
    def ratio(self) -> float:
        return self.client / self.bare


Ask = Callable[[], object]


def measure(folder: Path) -> list[Cost]:
    """Ask an engine of its own in turn with each of the three, and take the best of the rounds."""
    from django.conf import settings

    from dealsite.data import table
    from dealsite.data.table import schema
    from dealsite.data.table.writes import Put
    from dealsite.engine.server import Engine

    with Engine(folder) as engine:
        settings.DYNAMODB_ENDPOINT_URL = engine.url
        table.reset()
        schema.create_table()
        for row in range(ROWS):
            table.write(Put(key=("list", f"{row:03d}"), item=ITEM))
        numbers = itertools.count()
        ours, bare, theirs = _ours(numbers), _bare(engine.url, numbers), _boto3(engine.url, numbers)
        costs = []
        for call in BUDGETS:
            ways = (bare[call], ours[call], theirs[call])
            calls = 5 if call == "insert of 25" else 10  # it takes an engine long
            rounds = [[_microseconds(way, calls) for way in ways] for _ in range(ROUNDS)]
            costs.append(Cost(call, *map(min, zip(*rounds, strict=True))))
        table.reset()
    return costs


def _microseconds(ask: Ask, times: int) -> float:
    started = time.process_time()
    for _ in range(times):
        ask()
    return (time.process_time() - started) / times * 1e6


def _ours(numbers: itertools.count[int]) -> dict[str, Ask]:
    from dealsite.data import table
    from dealsite.data.table.writes import Put, Update

    def insert() -> int:
        number = next(numbers)
        return table.insert([ITEM | {"PK": f"ours{number}", "SK": f"{row:03d}"} for row in range(ROWS)])

    return {
        "get": lambda: table.get(("list", "003")),
        "query of 25": lambda: table.query("list", limit=ROWS),
        "transaction of 2": lambda: table.transact(
            [
                Put(key=("written", "a"), item=ITEM),
                Update(key=("written", "b"), set={"by": "mara"}, add={"n": 1}),
            ]
        ),
        "insert of 25": insert,
    }


def _requests(numbers: itertools.count[int]) -> dict[str, Callable[[], tuple[str, dict[str, Any]]]]:
    """Return what makes the operation and parameters of each call, of attributes that are ready-made."""
    from dealsite.data import table
    from dealsite.data.table.convert import to_attributes

    item, name = to_attributes(ITEM), table.name()
    options = {"TableName": name, "ReturnConsumedCapacity": "TOTAL"}
    fields = ", ".join(f"'{attribute}': ?" for attribute in [*item, "PK", "SK"])
    statement = f'INSERT INTO "{name}" VALUE {{{fields}}}'

    def key(partition: str, sort: str) -> dict[str, Any]:
        return {"PK": {"S": partition}, "SK": {"S": sort}}

    def insert() -> tuple[str, dict[str, Any]]:
        number = next(numbers)
        statements = [
            {
                "Statement": statement,
                "Parameters": [*item.values(), {"S": f"bare{number}"}, {"S": f"{row:03d}"}],
            }
            for row in range(ROWS)
        ]
        return "BatchExecuteStatement", {"Statements": statements, "ReturnConsumedCapacity": "TOTAL"}

    def transact() -> tuple[str, dict[str, Any]]:
        update = {
            "TableName": name,
            "Key": key("written", "b"),
            "UpdateExpression": "SET #a = :a ADD #b :b",
            "ExpressionAttributeNames": {"#a": "by", "#b": "n"},
            "ExpressionAttributeValues": {":a": {"S": "mara"}, ":b": {"N": "1"}},
        }
        put = {"TableName": name, "Item": item | key("written", "a")}
        return "TransactWriteItems", {
            "TransactItems": [{"Put": put}, {"Update": update}],
            "ClientRequestToken": str(uuid.uuid4()),
            "ReturnConsumedCapacity": "TOTAL",
        }

    query = {
        **options,
        "KeyConditionExpression": "#h = :h",
        "ExpressionAttributeNames": {"#h": "PK"},
        "ExpressionAttributeValues": {":h": {"S": "list"}},
        "Limit": ROWS,
    }
    return {
        "get": lambda: ("GetItem", {**options, "Key": key("list", "003"), "ConsistentRead": True}),
        "query of 25": lambda: ("Query", query),
        "transaction of 2": transact,
        "insert of 25": insert,
    }


def pool_of(endpoint_url: str) -> type[urllib3.HTTPConnectionPool]:
    """Return a plain pool of urllib3's whose connections lead to the engine, whatever their address."""
    from dealsite.data.table import connection

    class Handed(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            made = connection.connect(endpoint_url, 5)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made

    class Pool(urllib3.HTTPConnectionPool):
        ConnectionCls = Handed

    return Pool


def _asking(send: Callable[[str, dict[str, Any]], object], numbers: itertools.count[int]) -> dict[str, Ask]:
    return {call: lambda made=made: send(*made()) for call, made in _requests(numbers).items()}  # type: ignore[misc]


def _bare(endpoint_url: str, numbers: itertools.count[int]) -> dict[str, Ask]:
    http = urllib3.PoolManager()
    http.pool_classes_by_scheme = {"http": pool_of(endpoint_url)}

    def send(operation: str, parameters: dict[str, Any]) -> None:
        headers = HEADERS | {"X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        answer = http.request("POST", URL, body=orjson.dumps(parameters), headers=headers)
        said = orjson.loads(answer.data)
        if answer.status != 200:
            raise SystemExit(f"{operation} is answered {answer.status}: {said}")

    return _asking(send, numbers)


def _boto3(endpoint_url: str, numbers: itertools.count[int]) -> dict[str, Ask]:
    session = boto3.Session("local", "local", region_name="eu-central-1")
    once = Config(retries={"total_max_attempts": 1})
    client = session.client("dynamodb", endpoint_url=URL, config=once)
    client._endpoint.http_session._manager.pool_classes_by_scheme = {"http": pool_of(endpoint_url)}
    return _asking(client._make_api_call, numbers)


def table_of(costs: list[Cost]) -> str:
    lines = [
        "| processor time of a call | urllib3 + orjson, µs | the client, µs | times | budget | boto3, times |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for cost in costs:
        microseconds = f"{cost.bare:.0f} | {cost.client:.0f}"
        ratios = f"{cost.ratio:.2f} | {BUDGETS[cost.call]:.2f} | {cost.boto3 / cost.bare:.1f}"
        lines.append(f"| {cost.call} | {microseconds} | {ratios} |")
    return "\n".join(lines)


def too_much(costs: list[Cost]) -> list[str]:
    return [
        f"A {cost.call} costs {cost.ratio:.2f} times what it costs without the client: {BUDGETS[cost.call]} at most."
        for cost in costs
        if cost.ratio > BUDGETS[cost.call]
    ]
