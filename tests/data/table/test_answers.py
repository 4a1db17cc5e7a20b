"""Answers that are not whole say nothing: they are asked for again, and never mean that an item is not there."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.table import convert, errors
from dealsite.data.table.writes import Put
from tests.data.table.wire import COST, ITEM, Wire, raw, whole

A = ("A", "A")
GOOD = whole({"Item": ITEM, "ConsumedCapacity": COST})
BODY = GOOD.partition(b"\r\n\r\n")[2]
CHANGED = BODY.replace(b'"N": "1"', b'"N": "7"')
HTML = b"<html><body>It works!</body></html>"

NOT_WHOLE = {
    "nothing, and the end": b"",
    "half of the body": GOOD[:-20],
    "half of the body, as if it were all": raw(BODY[:-20]),
    "more than its length says": raw(BODY + b"x", Content_Length=str(len(BODY) + 5)),
    "garbage behind it": raw(BODY + b"garbage"),
    "a second object behind it": raw(BODY + b"{}"),
    "a changed byte": raw(CHANGED, x_amz_crc32=str(zlib.crc32(BODY))),
    "a checksum that is no number": raw(BODY, x_amz_crc32="often"),
    "less than its length says": raw(BODY, Content_Length=str(len(BODY) + 5), Connection="close"),
    "a length that is no number": raw(BODY, Content_Length="some") * 2,
    "no body": raw(b""),
    "an empty object": raw(b"{}"),
    "a list": raw(b"[]"),
    "null": raw(b"null"),
    "a page of another program": raw(HTML),
    "no UTF-8": raw(BODY.replace(b'"A"', b'"\xff"')),
    "nested without end": raw(b'{"Item":' + b'{"M":{"a":' * 400 + b'{"S":"x"}' + b"}" * 801),
    "no HTTP": b"SSH-2.0-OpenSSH_9.9\r\n",
    "another status": whole({"Item": ITEM, "ConsumedCapacity": COST}, "206 Partial Content"),
    "an error of no type": raw(b"{}", "500 Internal Server Error"),
    "an error of another program": raw(HTML, "503 Service Unavailable"),
    "an error that is cut": raw(b'{"__type":"com.amazonaws#Val', "400 Bad Request"),
    "an error whose type is no text": whole({"__type": 5}, "400 Bad Request"),
    "an error whose reasons are none": whole(
        {"__type": "a#b", "CancellationReasons": "x"}, "400 Bad Request"
    ),
}


@pytest.mark.sample(quick=3)
@pytest.mark.parametrize("came", NOT_WHOLE.values(), ids=NOT_WHOLE)
def test_what_is_not_whole_is_asked_for_again_and_then_no_answer(wire: Wire, came: bytes):
    wire.say = lambda operation, body: came
    with pytest.raises(errors.Unavailable) as error:
        table.get(A)
    assert type(error.value) is errors.Unavailable
    assert error.value.reason
    assert wire.requests == ["GetItem"] * 2
    sayings = iter([came, GOOD])
    wire.say = lambda operation, body: next(sayings)
    item = table.get(A)
    assert item is not None
    assert item["n"] == 1


def test_an_answer_without_length_or_checksum_is_read_as_it_comes(wire: Wire):
    pieces = [b"%x\r\n%s\r\n" % (len(BODY), BODY), b"0\r\n\r\n"]
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    wire.say = lambda operation, body: head + b"".join(pieces)
    assert table.get(A)
    wire.say = lambda operation, body: iter([head, pieces[0], b"zz\r\n"])
    with pytest.raises(errors.Unavailable):
        table.get(A)


def test_what_was_said_wrongly_ends_its_connection(wire: Wire):
    said = iter([raw(b"[]"), GOOD])
    wire.say = lambda operation, body: next(said)
    table.get(A)
    assert len(wire.open) == 2


def item_of(**attributes: Any) -> dict[str, Any]:
    return {"Item": ITEM | attributes, "ConsumedCapacity": COST}


GET = {"TableName": "t", "Key": {"PK": {"S": "A"}, "SK": {"S": "A"}}}
BATCH = {"RequestItems": {"t": {"Keys": [GET["Key"]], "ConsistentRead": True}}}
QUERY = {"ExpressionAttributeNames": {"#h": "PK"}, "ExpressionAttributeValues": {":h": {"S": "A"}}}
ROWS = {"Items": [ITEM], "Count": 1, "ConsumedCapacity": COST}
FOUND = {"Responses": {"t": [ITEM]}, "UnprocessedKeys": {}, "ConsumedCapacity": [COST]}
OTHER = ITEM | {"PK": {"S": "B"}}
STATEMENTS: dict[str, Any] = {"Statements": [{}, {}]}
RECORD = {"dynamodb": {"SequenceNumber": "1", "Keys": GET["Key"]}}
NO_VALUES: list[Any] = ["text", None, {}, {"S": 1}, {"S": "x", "Q": ""}, {"N": 1}, {"N": "one"}, {"Q": ""}]
NO_VALUES += [{"L": [{}]}, {"M": {"a": 1}}, {"B": "!"}, {"SS": "x"}]
SHAPES: list[tuple[str, dict[str, Any], dict[str, Any], list[dict[str, Any]]]] = [
    (
        "GetItem",
        GET,
        item_of(),
        [
            *(item_of(x=value) for value in NO_VALUES),
            {"Item": ITEM},
            {"Item": [], "ConsumedCapacity": COST},
            {"Item": None, "ConsumedCapacity": COST},
            {"Item": {}, "ConsumedCapacity": COST},
            {"ConsumedCapacity": {}},
            {"ConsumedCapacity": {"CapacityUnits": "many"}},
            {"ConsumedCapacity": [COST]},
            {"Item": OTHER, "ConsumedCapacity": COST},
        ],
    ),
    (
        "BatchGetItem",
        BATCH,
        FOUND,
        [
            {"UnprocessedKeys": {}, "ConsumedCapacity": [COST]},
            FOUND | {"Responses": {}},
            FOUND | {"Responses": []},
            FOUND | {"Responses": {"t": [], "u": []}},
            FOUND | {"Responses": {"t": [OTHER]}},
            FOUND | {"Responses": {"t": {}}, "ConsumedCapacity": COST},
            FOUND | {"UnprocessedKeys": {"t": {"Keys": [{"PK": {"S": "B"}, "SK": {"S": "A"}}]}}},
            FOUND | {"UnprocessedKeys": {"t": {}}},
        ],
    ),
    (
        "Query",
        QUERY,
        ROWS,
        [
            ROWS | {"Count": 2},
            ROWS | {"Count": 0},
            ROWS | {"Items": {}, "Count": 0},
            ROWS | {"Items": [OTHER]},
            ROWS | {"LastEvaluatedKey": "A"},
            ROWS | {"LastEvaluatedKey": None},
            ROWS | {"LastEvaluatedKey": {"PK": "A"}},
            {"Items": [], "Count": 0},
            {"ConsumedCapacity": COST},
        ],
    ),
    ("Scan", {}, ROWS, [ROWS | {"Count": 2}, {"ConsumedCapacity": COST}, ROWS | {"Items": [None]}]),
    ("PutItem", {}, {"ConsumedCapacity": COST}, [{}]),
    ("UpdateItem", {}, {"ConsumedCapacity": COST}, [{}]),
    ("DeleteItem", {}, {"ConsumedCapacity": COST}, [{}]),
    (
        "TransactWriteItems",
        {},
        {"ConsumedCapacity": [COST]},
        [{}, {"ConsumedCapacity": COST}, {"ConsumedCapacity": [1]}],
    ),
    (
        "BatchExecuteStatement",
        STATEMENTS,
        {"Responses": [{}, {"Error": {"Code": "DuplicateItem"}}]},
        [{}, {"Responses": [{}]}, {"Responses": [{}, 1]}, {"Responses": [{}, {"Error": "x"}]}],
    ),
    (
        "DescribeStream",
        {},
        {"StreamDescription": {"Shards": [{"ShardId": "s"}]}},
        [{}, {"StreamDescription": {}}],
    ),
    ("GetShardIterator", {}, {"ShardIterator": "i"}, [{}, {"ShardIterator": None}]),
    (
        "GetRecords",
        {},
        {"Records": [RECORD], "NextShardIterator": "i"},
        [{}, {"Records": {}}, {"Records": [{}]}, {"Records": [], "NextShardIterator": 1}],
    ),
    ("DescribeTable", {}, {"Table": {"TableName": "t"}}, [{}, {"Table": {}}, {"Table": []}]),
]


def read(operation: str, request: dict[str, Any], answer: dict[str, Any]) -> None:
    convert.read_answer(operation, request, 200, {}, json.dumps(answer).encode())


def test_an_answer_of_the_right_form_is_one_and_of_another_none(subtests: pytest.Subtests):
    for operation, request, right, wrongs in SHAPES:
        with subtests.test(operation):
            read(operation, request, right)
        for wrong in wrongs:
            with subtests.test(operation, wrong=wrong), pytest.raises(convert.NoAnswer):
                read(operation, request, wrong)


ASKED: dict[str, Callable[[], object]] = {
    "get": lambda: table.get(A),
    "batch_get": lambda: table.batch_get([A]),
    "query": lambda: table.query("A"),
    "scan": lambda: list(table.scan_all()),
    "write": lambda: table.write(Put(key=A, item={})),
    "transact": lambda: table.transact([Put(key=A, item={})]),
    "insert": lambda: table.insert([{"PK": "A", "SK": "A"}]),
    "stream": lambda: table.ask_stream("GetRecords", ShardIterator="x"),
    "describe": lambda: table.call("DescribeTable", TableName="t"),
    "create": lambda: table.call("CreateTable", TableName="t"),
}


@pytest.mark.parametrize(
    "said", [raw(b"{}"), raw(HTML), raw(b"[]"), raw(b'{"Table"'), raw(HTML, "502 Bad Gateway")]
)
def test_every_kind_of_question_gets_an_answer_or_none(wire: Wire, said: bytes):
    wire.say = lambda operation, body: said
    for name, ask in ASKED.items():
        wire.requests.clear()
        with pytest.raises(errors.Unavailable):
            ask()
        assert len(wire.requests) == 2, name
