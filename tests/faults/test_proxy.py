"""The proxy breaks what it is told to, nothing else, and a client that believes everything would be misled."""

from __future__ import annotations

import contextlib
import re
import socket
import zlib
from collections.abc import Iterator

import orjson
import pytest

from dealsite.data import table
from dealsite.data.table.writes import Put
from tests.faults.proxy import FAULTS, HITS, Proxy

A = ("A", "A")
KEY = {"PK": {"S": "A"}, "SK": {"S": "A"}}


@pytest.fixture
def proxy(fresh_table: None, settings) -> Iterator[Proxy]:
    """A proxy before an engine with one item."""
    table.write(Put(key=A, item={"word": "whole and unbroken", "n": 0}))
    with Proxy(settings.DYNAMODB_ENDPOINT_URL) as proxy:
        proxy.scale = 0.01
        yield proxy


def is_complete(came: bytes) -> bool:
    """Tell whether as much has come as is announced."""
    head, end, body = came.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    return bool(end and length) and len(body) >= int(length[1])


def ask(proxy: Proxy, table_name: str, operation: str = "GetItem", **more: object) -> bytes:
    """Return all that comes for one request, as it comes."""
    body = orjson.dumps(more or {"TableName": table_name, "Key": KEY})
    head = (
        f"POST / HTTP/1.1\r\nHost: engine\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
        f"Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n"
        "X-Amz-Date: 20261121T120000Z\r\n"
        "Authorization: AWS4-HMAC-SHA256 Credential=local/20261121/us-east-1/dynamodb/aws4_request, "
        "SignedHeaders=host, Signature=0\r\n\r\n"
    )
    host, _, port = proxy.url.removeprefix("http://").partition(":")
    came = b""
    with socket.create_connection((host, int(port)), 5) as connection:
        connection.settimeout(5)
        connection.sendall(head.encode() + body)
        with contextlib.suppress(OSError):
            while not is_complete(came) and (part := connection.recv(65536)):
                came += part
    return came


def is_whole(came: bytes) -> bool:
    """Tell whether what came is the item, with a checksum and a length that fit."""
    head, _, body = came.partition(b"\r\n\r\n")
    told = dict(line.split(": ", 1) for line in head.decode().splitlines()[1:])
    return (
        head.startswith(b"HTTP/1.1 200")
        and told.get("x-amz-crc32") == str(zlib.crc32(body))
        and told["Content-Length"] == str(len(body))
        and orjson.loads(body)["Item"]["word"]["S"] == "whole and unbroken"
    )


def test_each_fault_but_a_late_answer_breaks_what_a_client_could_see(proxy: Proxy, settings):
    whole = []
    for name, fault in FAULTS.items():
        with proxy.broken(fault):
            came = ask(proxy, settings.DEALSITE_TABLE)
        assert proxy.hit, name
        whole += [name] if is_whole(came) else []
        assert is_whole(ask(proxy, settings.DEALSITE_TABLE)), name
    late = ["late by 0.2 s", "late by 5 s", "headers that drip", "a body that drips"]
    assert whole == [*late, "lost answers and forgotten tokens"]  # this one breaks writes


def count_up(table_name: str) -> dict[str, object]:
    return {
        "TableName": table_name,
        "Key": KEY,
        "UpdateExpression": "ADD n :n",
        "ExpressionAttributeValues": {":n": {"N": "1"}},
    }


def counted() -> int:
    item = table.get(A)
    assert item
    return int(item["n"])


def test_a_lost_answer_is_of_a_write_that_is_done(proxy: Proxy, settings):
    for fault, done in (
        ("reset before the engine hears of it", 0),
        ("reset after the engine has done it", 1),
    ):
        with proxy.broken(FAULTS[fault]):
            assert ask(proxy, "", "UpdateItem", **count_up(settings.DEALSITE_TABLE)) == b""
        assert counted() == done


def test_a_fault_hits_the_calls_that_it_is_said_to(proxy: Proxy, settings):
    hits = {
        "all": 4,
        "the first": 1,
        "the second": 1,
        "the last": 1,
        "every other": 2,
        "reads": 4,
        "writes": 0,
    }
    assert hits.keys() == HITS.keys()
    for name, times in hits.items():
        with proxy.broken(FAULTS["200 {}"], HITS[name], calls=4):
            for _ in range(4):
                ask(proxy, settings.DEALSITE_TABLE)
        assert (name, proxy.hit) == (name, times)


def test_a_repeated_transaction_is_done_again_where_its_token_is_forgotten(proxy: Proxy, settings):
    body = {"TransactItems": [{"Update": count_up(settings.DEALSITE_TABLE)}], "ClientRequestToken": "once"}
    for fault, times in (("reset after the engine has done it", 1), ("lost answers and forgotten tokens", 3)):
        with proxy.broken(FAULTS[fault]):
            answers = [ask(proxy, "", "TransactWriteItems", **body) for _ in range(2)]
        assert (answers[0], counted()) == (b"", times)
