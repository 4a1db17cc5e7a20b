"""The one table, and the one module that talks to DynamoDB.

boto3 gives the client: endpoint, credentials, region and the events that tests and tracing hook
into. The few operations of every request are built, signed, sent and read here, without boto3's walk
over each value's shape, which costs several times the call itself.

No call hangs: 0.5 s to connect, 1 s to answer, two attempts. Conflicts and throttling are retried
with jitter. What fails comes out as one of `errors`.
"""

from __future__ import annotations

import functools
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import boto3
import orjson
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.httpsession import URLLib3Session
from django.conf import settings
from django.utils.translation import gettext_lazy

from dealsite.data.convert import Item, from_attributes, to_attribute, to_attributes
from dealsite.data.errors import Busy, Invalid, Unavailable
from dealsite.data.keys import HISTORY, USER_INDEX, Key
from dealsite.data.meters import Meter as Meter
from dealsite.data.meters import check_deadline, count_units, timed
from dealsite.data.meters import deadline as deadline
from dealsite.data.meters import metered as metered
from dealsite.data.meters import working as working
from dealsite.data.refusals import TRY_AGAIN, Refused, as_error, refusal
from dealsite.data.writes import Write, key_attributes, merge

CONNECT_TIMEOUT = 0.5  # seconds
READ_TIMEOUT = 1.0  # seconds
PATIENT_READ_TIMEOUT = 5.0  # seconds; a batch of a fan-out must end within the lease of its job
ADMIN_READ_TIMEOUT = 20.0  # seconds; creating a table is no page
ATTEMPTS_WITHOUT_ANSWER = 2
ATTEMPTS_WHEN_REFUSED = 9
RESTART_PAUSE = 0.1  # seconds; a supervised engine is back by then
CONNECTIONS = 8  # the embedded engine slows down above ten
BATCH_GET_KEYS = 100
BATCH_STATEMENTS = 25

TABLES, STREAMS = "dynamodb", "dynamodbstreams"  # the two services, by boto3's names
TARGETS = {TABLES: "DynamoDB_20120810", STREAMS: "DynamoDBStreams_20120810"}

pause: Callable[[float], None] = time.sleep  # replaced in tests, so that none waits
jitter = random.Random()  # noqa: S311 - spreads retries, guards nothing


class Rows(NamedTuple):
    """One page of a query or scan; `start` leads to the next page, None at the end."""

    items: list[Item]
    start: dict[str, Any] | None


# Reading


def get(key: Key, *, consistent: bool = True) -> Item | None:
    """Return an item, or None. 1 request."""
    request = {"TableName": name_of(key[0]), "Key": key_attributes(key), "ConsistentRead": consistent}
    answer = _send("GetItem", request)
    return from_attributes(answer["Item"]) if "Item" in answer else None


def batch_get(keys: Iterable[Key], *, consistent: bool = True) -> dict[Key, Item]:
    """Return the items that exist, by key. 1 request for each 100 keys; more only for what was left unprocessed."""
    wanted = list(dict.fromkeys(keys))
    found: dict[Key, Item] = {}
    for first in range(0, len(wanted), BATCH_GET_KEYS):
        left: dict[str, Any] = {}
        for key in wanted[first : first + BATCH_GET_KEYS]:
            of_table = left.setdefault(name_of(key[0]), {"Keys": [], "ConsistentRead": consistent})
            of_table["Keys"].append(key_attributes(key))
        for attempt in range(ATTEMPTS_WHEN_REFUSED):
            if attempt:
                back_off(attempt)
            answer = _send("BatchGetItem", {"RequestItems": left})
            for items in answer.get("Responses", {}).values():
                for attributes in items:
                    found[attributes["PK"]["S"], attributes["SK"]["S"]] = from_attributes(attributes)
            left = {
                table_name: keys | {"ConsistentRead": consistent}
                for table_name, keys in answer.get("UnprocessedKeys", {}).items()
            }
            if not left:
                break
        else:
            raise Busy()
    return found


def query(
    pk: str,
    *,
    index: str | None = None,
    low: str | None = None,
    high: str | None = None,
    newest_first: bool = False,
    limit: int = 100,
    consistent: bool = False,
    table_name: str | None = None,
) -> list[Item]:
    """Return up to `limit` items of a partition, sort key between low and high (both inclusive). 1 request."""
    return query_page(
        pk,
        index=index,
        low=low,
        high=high,
        newest_first=newest_first,
        limit=limit,
        consistent=consistent,
        table_name=table_name,
    ).items


def query_page(
    pk: str,
    *,
    index: str | None = None,
    low: str | None = None,
    high: str | None = None,
    newest_first: bool = False,
    limit: int = 100,
    consistent: bool = False,
    start: dict[str, Any] | None = None,
    table_name: str | None = None,
) -> Rows:
    """Return one page of a partition; as `query`, with where to go on. 1 request for each page of 1 MB.

    `table_name`: where to look, if not where such a partition belongs.
    """
    if index and consistent:
        raise ValueError("An index cannot be read consistently.")
    if low is not None and high is not None and low > high:
        return Rows([], None)
    hash_name, sort_name = ("PK", "SK") if index is None else (f"{index}PK", f"{index}SK")
    names, values, condition = {"#h": hash_name}, {":h": {"S": pk}}, "#h = :h"
    if low is not None and high is not None:
        condition += " AND #s BETWEEN :low AND :high"
    elif low is not None:
        condition += " AND #s >= :low"
    elif high is not None:
        condition += " AND #s <= :high"
    if low is not None or high is not None:
        names["#s"] = sort_name
    if low is not None:
        values[":low"] = {"S": low}
    if high is not None:
        values[":high"] = {"S": high}
    request: dict[str, Any] = {
        "TableName": table_name or name_of(pk),
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
        "ScanIndexForward": not newest_first,
    }
    if index:
        request["IndexName"] = index
    else:
        request["ConsistentRead"] = consistent
    return _pages("Query", request, limit, start)


def scan_page(
    *,
    index: str | None = None,
    limit: int = 1000,
    start: dict[str, Any] | None = None,
    segment: tuple[int, int] | None = None,
    consistent: bool = False,
    table_name: str | None = None,
) -> Rows:
    """Return one page of the whole table or of an index. 1 request for each page of 1 MB.

    Only an index is read in segments `(number, of)`: on the embedded engine a segment of the table sorts it whole.
    """
    request: dict[str, Any] = {"TableName": table_name or name()}
    if index:
        request["IndexName"] = index
    else:
        request["ConsistentRead"] = consistent
    if segment:
        request |= {"Segment": segment[0], "TotalSegments": segment[1]}
    return _pages("Scan", request, limit, start)


def scan_all(*, limit: int = 500, consistent: bool = False) -> Iterator[Item]:
    """Yield every item of the table, and of the history's own, for repairs and exports; never for a page."""
    for table_name in names():
        start: dict[str, Any] | None = None
        while True:
            rows = scan_page(limit=limit, start=start, consistent=consistent, table_name=table_name)
            yield from rows.items
            start = rows.start
            if start is None:
                break


def scan_users(
    *, limit: int = 100, start: dict[str, Any] | None = None, segment: tuple[int, int] | None = None
) -> Rows:
    """Return one page of the keys of all users, in no order."""
    return scan_page(index=USER_INDEX, limit=limit, start=start, segment=segment)


def _pages(operation: str, request: dict[str, Any], limit: int, start: dict[str, Any] | None) -> Rows:
    """Follow short and empty pages until `limit` items are there or the range ends."""
    items: list[Item] = []
    while True:
        asked = request | {"Limit": limit - len(items)}
        if start:
            asked["ExclusiveStartKey"] = {part: to_attribute(value) for part, value in start.items()}
        answer = _send(operation, asked)
        items += [from_attributes(attributes) for attributes in answer.get("Items", ())]
        last = answer.get("LastEvaluatedKey")
        start = from_attributes(last) if last else None
        if start is None or len(items) >= limit:
            return Rows(items, start)


# Writing


def write(action: Write) -> None:
    """Carry out one write; its `otherwise` is raised where a condition fails. 1 request."""
    kind, request = action.request()
    request["TableName"] = name_of(action.key[0])
    try:
        _send(f"{kind}Item", request)
    except Refused as refused:
        if refused.code == "ConditionalCheckFailedException":
            raise action.error() from None
        raise as_error(refused) from refused


def transact(writes: Sequence[Write]) -> None:
    """Carry out all writes or none; raises the `otherwise` of the first whose condition failed. 1 request.

    Writes of one item are merged first. The token saves a transaction whose answer was lost and
    that is sent again at once; what must hold for good stands in conditions.
    """
    actions = merge(writes)
    requests = []
    for action in actions:
        kind, request = action.request()
        requests.append({kind: request | {"TableName": name_of(action.key[0])}})
    body = {"TransactItems": requests, "ClientRequestToken": str(uuid.uuid4())}
    try:
        _send("TransactWriteItems", body)
    except Refused as refused:
        for action, reason in zip(actions, refused.reasons, strict=False):
            if reason.get("Code") == "ConditionalCheckFailed":
                raise action.error() from None
        raise as_error(refused) from refused


def insert(items: Sequence[Item]) -> int:
    """Write items that are not there yet and leave the others as they are; return how many were new.

    Keys must differ from each other. 1 request for each 25 (PartiQL INSERT, which batches and refuses
    existing keys one by one), more for what was not processed.
    """
    new = 0
    for first in range(0, len(items), BATCH_STATEMENTS):
        left = [_insert_statement(item) for item in items[first : first + BATCH_STATEMENTS]]
        for attempt in range(ATTEMPTS_WHEN_REFUSED):
            if attempt:
                back_off(attempt)
            answer = _send("BatchExecuteStatement", {"Statements": left})
            again = []
            for statement, response in zip(left, answer.get("Responses", ()), strict=True):
                error = response.get("Error")
                if error is None:
                    new += 1
                elif error.get("Code") in TRY_AGAIN:
                    again.append(statement)
                elif error.get("Code") != "DuplicateItem":
                    raise as_error(Refused(error.get("Code", ""), error.get("Message", ""), []))
            left = again
            if not left:
                break
        else:
            raise Busy()
    return new


def _insert_statement(item: Item) -> dict[str, Any]:
    attributes = to_attributes(item)
    return {
        "Statement": _insert_text(name(), tuple(attributes)),
        "Parameters": list(attributes.values()),
    }


@functools.lru_cache(maxsize=64)
def _insert_text(table_name: str, attributes: tuple[str, ...]) -> str:
    """Return the PartiQL of an item with these attributes, whose values are its parameters."""
    fields = ", ".join(f"'{attribute}': ?" for attribute in attributes)
    return f'INSERT INTO "{table_name}" VALUE {{{fields}}}'


def call(operation: str, **parameters: Any) -> dict[str, Any]:
    """Call any operation through boto3, for administration; NotFound for a missing table or resource."""
    connection = _connection()
    method = getattr(connection.client, boto3_name(operation))
    with timed(operation, None):
        try:
            answer: dict[str, Any] = method(**parameters)
        except ClientError as error:
            details = error.response.get("Error", {})
            raise as_error(Refused(details.get("Code", ""), details.get("Message", ""), [])) from error
        except BotoCoreError as error:
            raise Unavailable() from error
    return answer


def ask_stream(operation: str, **parameters: Any) -> dict[str, Any]:
    """Call an operation of the table's stream; raises Refused with DynamoDB's own code. 1 request."""
    return _send(operation, parameters, service=STREAMS)


def boto3_name(operation: str) -> str:
    """Return boto3's method name of an operation: DescribeTable -> describe_table."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in operation).lstrip("_")


# The connection


def name() -> str:
    """Return the table's name."""
    table_name: str = settings.DEALSITE_TABLE
    return table_name


def names() -> list[str]:
    """Return the table's name and, if the settings name one, that of the table of payments of closed days."""
    history: str = settings.DEALSITE_HISTORY_TABLE
    return [name(), history] if history and history != name() else [name()]


def name_of(pk: str) -> str:
    """Return the name of the table in which a partition belongs."""
    return names()[-1] if pk.startswith(HISTORY) else name()


class _Connection:
    """What one process keeps: boto3's client for its configuration and events, and an HTTP pool."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        endpoint = settings.DYNAMODB_ENDPOINT_URL or None
        session = boto3.Session(region_name=settings.DEALSITE_REGION, **_local_credentials(endpoint))
        self.credentials = session.get_credentials()
        self.client = session.client(
            "dynamodb",
            endpoint_url=endpoint,
            config=Config(
                connect_timeout=CONNECT_TIMEOUT,
                read_timeout=ADMIN_READ_TIMEOUT,
                max_pool_connections=CONNECTIONS,
                retries={"total_max_attempts": ATTEMPTS_WITHOUT_ANSWER, "mode": "standard"},
                parameter_validation=False,
            ),
        )
        self.url = self.client.meta.endpoint_url.rstrip("/") + "/"
        self._new_client = functools.partial(session.client, endpoint_url=endpoint)
        self.events = self.client.meta.events
        self.http = URLLib3Session(
            timeout=(CONNECT_TIMEOUT, READ_TIMEOUT),
            max_pool_connections=CONNECTIONS,
            # Headers and body go in two packets: without this, the second waits 40 ms for an acknowledgement.
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
        )

    @functools.cached_property
    def streams_url(self) -> str:
        """Where the streams are: at Amazon not where the tables are."""
        url: str = self._new_client(STREAMS).meta.endpoint_url
        return url.rstrip("/") + "/"

    def send(self, operation: str, body: bytes, service: str = TABLES) -> tuple[int, bytes]:
        """Sign and send one request; return the answer's status and body."""
        request = AWSRequest(
            method="POST",
            url=self.url if service == TABLES else self.streams_url,
            data=body,
            headers={
                "X-Amz-Target": f"{TARGETS[service]}.{operation}",
                "Content-Type": "application/x-amz-json-1.0",
            },
        )
        if self.credentials is None:
            raise Unavailable("The site has no credentials for its table.")
        SigV4Auth(self.credentials.get_frozen_credentials(), "dynamodb", settings.DEALSITE_REGION).add_auth(
            request
        )
        prepared = request.prepare()
        answer = self.events.emit_until_response(f"before-send.{service}.{operation}", request=prepared)[1]
        if answer is None:
            answer = self.http.send(prepared)
        return answer.status_code, answer.content


def _local_credentials(endpoint: str | None) -> dict[str, str]:
    """Return made-up credentials for an engine on this machine, which asks for some but checks none."""
    if endpoint is None or urlsplit(endpoint).hostname not in ("127.0.0.1", "localhost", "::1"):
        return {}
    return {"aws_access_key_id": "dealsite", "aws_secret_access_key": "dealsite"}


_current: _Connection | None = None
_lock = threading.Lock()


def _connection() -> _Connection:
    """Return this process's connection, made on first use and thus after any fork."""
    global _current
    connection = _current
    if connection is None or connection.pid != os.getpid():
        with _lock:
            connection = _current
            if connection is None or connection.pid != os.getpid():
                connection = _current = _Connection()
    return connection


def reset() -> None:
    """Forget the connection; the next call makes one from the settings of then."""
    global _current
    with _lock:
        if _current is not None and _current.pid == os.getpid():
            _current.http.close()
        _current = None


def be_patient() -> None:
    """Let this process wait longer for answers: nobody looks at a page of a command or worker."""
    global READ_TIMEOUT
    READ_TIMEOUT = PATIENT_READ_TIMEOUT
    reset()


def events() -> Any:
    """Return the client's event emitter: `before-send.dynamodb.<Operation>` sees every request."""
    return _connection().events


# Sending


def _send(operation: str, parameters: dict[str, Any], *, service: str = TABLES) -> dict[str, Any]:
    """Send one request until it is answered; at most two attempts without an answer, nine when refused for now."""
    if service == TABLES:
        parameters["ReturnConsumedCapacity"] = "TOTAL"
    try:
        body = orjson.dumps(parameters)
    except TypeError as error:
        raise Invalid(gettext_lazy("This text holds characters that cannot be stored.")) from error
    connection = _connection()
    unanswered = refusals = 0
    while True:
        check_deadline()
        with timed(operation, parameters.get("IndexName")) as meters:
            try:
                status, content = connection.send(operation, body, service)
            except (HTTPClientError, BotoCoreError, OSError) as error:
                unanswered += 1
                if unanswered >= ATTEMPTS_WITHOUT_ANSWER:
                    raise Unavailable() from error
                status, content = 0, b""
                pause(RESTART_PAUSE)
            answer: dict[str, Any] = _loads(content) if status else {}
            if status == 200:
                count_units(answer, operation, meters)
                return answer
        if status:
            refused = refusal(status, answer)
            refusals += 1
            if not refused.passing:
                if refused.code in PASSED_UP or service == STREAMS:
                    raise refused
                raise as_error(refused) from refused
            if refusals >= ATTEMPTS_WHEN_REFUSED:
                raise Busy() from refused
            back_off(refusals)


PASSED_UP = {"ConditionalCheckFailedException", "TransactionCanceledException"}


def _loads(content: bytes) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = orjson.loads(content)
        return answer
    except ValueError:
        return {}


def back_off(attempt: int) -> None:
    """Wait before a further try: a random part of 10 ms, doubled with each attempt up to 0.64 s ("full jitter")."""
    pause(jitter.uniform(0, 0.01 * 2 ** min(attempt, 6)))
