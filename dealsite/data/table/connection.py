"""The one module that talks to DynamoDB.

boto3 gives the client: endpoint, credentials, region and the events that tests and tracing hook
into. The few operations of every request are signed, sent and read here, without boto3's walk
over each value's shape, which costs several times the call itself.

No call hangs: 0.5 s to connect, 1 s to answer, two attempts. Conflicts and throttling are retried
with jitter. What fails comes out as one of `errors`.
"""

from __future__ import annotations

import functools
import os
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

import boto3
import orjson
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.httpsession import URLLib3Session

from . import retries
from .configuration import Configuration, configuration
from .errors import Busy, Invalid, Unavailable
from .meters import check_deadline, count_units, timed
from .refusals import Refused, as_error, refusal
from .retries import ATTEMPTS_WHEN_REFUSED, ATTEMPTS_WITHOUT_ANSWER, RESTART_PAUSE
from .sentences import Sentence as _

CONNECT_TIMEOUT = 0.5  # seconds
READ_TIMEOUT = 1.0  # seconds
PATIENT_READ_TIMEOUT = 5.0  # seconds; what is written in batches must end within the lease of its job
ADMIN_READ_TIMEOUT = 20.0  # seconds; creating a table is no page
CONNECTIONS = 8  # the embedded engine slows down above ten

TABLES, STREAMS = "dynamodb", "dynamodbstreams"  # the two services, by boto3's names
TARGETS = {TABLES: "DynamoDB_20120810", STREAMS: "DynamoDBStreams_20120810"}
PASSED_UP = {"ConditionalCheckFailedException", "TransactionCanceledException"}


class Connection:
    """What one process keeps: boto3's client for its configuration and events, and an HTTP pool."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        configured = configuration()
        self.endpoint_url, self.region = configured.endpoint_url, configured.region
        endpoint = self.endpoint_url or None
        session = boto3.Session(region_name=self.region, **_local_credentials(configured))
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
        SigV4Auth(self.credentials.get_frozen_credentials(), "dynamodb", self.region).add_auth(request)
        prepared = request.prepare()
        answer = self.events.emit_until_response(f"before-send.{service}.{operation}", request=prepared)[1]
        if answer is None:
            answer = self.http.send(prepared)
        return answer.status_code, answer.content


def _local_credentials(configured: Configuration) -> dict[str, str]:
    """Return made-up credentials for an engine on this machine, which asks for some but checks none."""
    if urlsplit(configured.endpoint_url).hostname not in ("127.0.0.1", "localhost", "::1"):
        return {}
    return {"aws_access_key_id": configured.local_key, "aws_secret_access_key": configured.local_key}


_connection: Connection | None = None
_lock = threading.Lock()


def connect() -> Connection:
    """Return this process's connection, made on first use and thus after any fork."""
    global _connection
    connection = _connection
    if connection is None or connection.pid != os.getpid():
        with _lock:
            connection = _connection
            if connection is None or connection.pid != os.getpid():
                connection = _connection = Connection()
    return connection


def endpoint_url() -> str | None:
    """Return what this process is connected to, None before its first call."""
    return None if _connection is None else _connection.endpoint_url


def reset() -> None:
    """Forget the connection; the next call makes one from the configuration of then."""
    global _connection
    with _lock:
        if _connection is not None and _connection.pid == os.getpid():
            _connection.http.close()
        _connection = None


def be_patient() -> None:
    """Let this process wait longer for answers: nobody looks at a page of a command or worker."""
    global READ_TIMEOUT
    READ_TIMEOUT = PATIENT_READ_TIMEOUT
    reset()


def events() -> Any:
    """Return the client's event emitter: `before-send.dynamodb.<Operation>` sees every request."""
    return connect().events


def send(operation: str, parameters: dict[str, Any], *, service: str = TABLES) -> dict[str, Any]:
    """Send one request until it is answered; at most two attempts without an answer, nine when refused for now."""
    if service == TABLES:
        parameters["ReturnConsumedCapacity"] = "TOTAL"
    try:
        body = orjson.dumps(parameters)
    except TypeError as error:
        raise Invalid(_("This text holds characters that cannot be stored.")) from error
    connection = connect()
    unanswered = refused_before = 0
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
                retries.pause(RESTART_PAUSE)
            answer: dict[str, Any] = _loads(content) if status else {}
            if status == 200:
                count_units(answer, operation, meters)
                return answer
        if status:
            refused = refusal(status, answer)
            refused_before += 1
            if not refused.passing:
                if refused.code in PASSED_UP or service == STREAMS:
                    raise refused
                raise as_error(refused) from refused
            if refused_before >= ATTEMPTS_WHEN_REFUSED:
                raise Busy() from refused
            retries.back_off(refused_before)


def _loads(content: bytes) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = orjson.loads(content)
        return answer
    except ValueError:
        return {}


def ask_stream(operation: str, **parameters: Any) -> dict[str, Any]:
    """Call an operation of the table's stream; raises Refused with DynamoDB's own code. 1 request."""
    return send(operation, parameters, service=STREAMS)


def call(operation: str, **parameters: Any) -> dict[str, Any]:
    """Call any operation through boto3, for administration; NotFound for a missing table or resource."""
    method = getattr(connect().client, _boto3_name(operation))
    with timed(operation, None):
        try:
            answer: dict[str, Any] = method(**parameters)
        except ClientError as error:
            details = error.response.get("Error", {})
            raise as_error(Refused(details.get("Code", ""), details.get("Message", ""), [])) from error
        except BotoCoreError as error:
            raise Unavailable() from error
    return answer


def _boto3_name(operation: str) -> str:
    """Return boto3's method name of an operation: DescribeTable -> describe_table."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in operation).lstrip("_")
