"""The one module that talks to DynamoDB: where the table is, how a request reaches it, and what is tried again.

boto3 gives the client: endpoint, credentials, region and the events that tests and tracing hook into. The few
operations of every request are signed, sent and read here, without boto3's walk over each value's shape, which
costs several times the call itself.

No call hangs: 0.5 s to connect, 1 s to answer, two attempts. Conflicts and throttling are retried with jitter.
What fails comes out as one of `errors`.
"""

import functools
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import boto3
import orjson
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.httpsession import URLLib3Session

from . import errors, sockets
from .errors import Busy, Conflict, DataError, Invalid, NotFound, Refused, Unavailable, refusal
from .errors import Sentence as _
from .meters import check_deadline, count_units, timed

CONNECT_TIMEOUT = 0.5  # seconds
READ_TIMEOUT = 1.0  # seconds
PATIENT_READ_TIMEOUT = 5.0  # seconds; what is written in batches must end within the lease of its job
ADMIN_READ_TIMEOUT = 20.0  # seconds; creating a table is no page
CONNECTIONS = 8  # the embedded engine slows down above ten

TABLES, STREAMS = "dynamodb", "dynamodbstreams"  # the two services, by boto3's names
TARGETS = {TABLES: "DynamoDB_20120810", STREAMS: "DynamoDBStreams_20120810"}
PASSED_UP = {"ConditionalCheckFailedException", "TransactionCanceledException"}
ATTEMPTS_WITHOUT_ANSWER = 2
ATTEMPTS_WHEN_REFUSED = 9
RESTART_PAUSE = 0.1  # seconds; a supervised engine is back by then


class Index(NamedTuple):
    """A secondary index: the attributes that are its keys, and what its rows hold beside keys."""

    partition_key: str
    sort_key: str | None = None
    includes: tuple[str, ...] = ()  # none: rows hold keys only


KEYS = Index("PK", "SK")  # of the table itself


class Configuration(NamedTuple):
    """One table of a project."""

    table_name: str
    region: str
    endpoint_url: str = ""  # of an engine, also `unix:/path` of a socket (`sockets`); "" is Amazon's own
    indexes: Mapping[str, Index] = MappingProxyType({})
    routes: Mapping[str, str] = MappingProxyType({})  # to other tables, by how partition keys begin
    local_key: str = "local"  # names who asks an engine on this machine, which checks no credentials
    missing: str = "The table does not exist. `schema.create_table()` makes it."

    def name_of(self, pk: str) -> str:
        """Return the name of the table in which a partition belongs."""
        for beginning, table_name in self.routes.items():
            if pk.startswith(beginning):
                return table_name
        return self.table_name

    def names(self) -> list[str]:
        """Return the name of the table, and those of the tables that partitions are routed to."""
        return list(dict.fromkeys([self.table_name, *self.routes.values()]))


def _nothing() -> Configuration:
    raise RuntimeError("No table is configured. Call table.configure() first.")


_read: Callable[[], Configuration] = _nothing


def configure(read: Callable[[], Configuration], *, translate: Callable[[str], Any] = str) -> None:
    """Take a function that returns the configuration, and one that translates the errors' sentences.

    Both are called whenever they are needed, so that settings may still change; a connection is kept until `reset`.
    """
    global _read
    _read = read
    errors.translate = translate


def configuration() -> Configuration:
    """Return the configuration as it is now."""
    return _read()


def name() -> str:
    """Return the table's name."""
    return _read().table_name


def names() -> list[str]:
    """Return the table's name, and those of the tables that partitions are routed to."""
    return _read().names()


class Connection:
    """What one process keeps: boto3's client for its configuration and events, and an HTTP pool."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        configured = configuration()
        self.endpoint_url, self.region = configured.endpoint_url, configured.region
        # An engine on this machine asks for credentials but checks none: made-up ones will do.
        key = configured.local_key if sockets.on_this_machine(self.endpoint_url) else None
        session = boto3.Session(key, key, region_name=self.region)
        self.credentials = session.get_credentials()
        url = sockets.request_url(self.endpoint_url)
        self._new_client = functools.partial(session.client, endpoint_url=url or None)
        config = Config(
            connect_timeout=CONNECT_TIMEOUT,
            read_timeout=ADMIN_READ_TIMEOUT,
            max_pool_connections=CONNECTIONS,
            retries={"total_max_attempts": ATTEMPTS_WITHOUT_ANSWER, "mode": "standard"},
            parameter_validation=False,
        )
        self.client = self._new_client(TABLES, config=config)
        self.events = self.client.meta.events
        self.url = self.client.meta.endpoint_url.rstrip("/") + "/"
        self.http = self._session(READ_TIMEOUT)
        if url != self.endpoint_url:  # boto3 cannot be told otherwise where its connections come from
            self.client._endpoint.http_session = self._session(ADMIN_READ_TIMEOUT)

    def _session(self, read_timeout: float) -> URLLib3Session:
        # Headers and body go in two packets: without this, the second waits 40 ms for an acknowledgement.
        options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
        timeout = (CONNECT_TIMEOUT, read_timeout)
        session = URLLib3Session(timeout=timeout, max_pool_connections=CONNECTIONS, socket_options=options)
        sockets.lead(session._manager, self.endpoint_url)
        return session

    @functools.cached_property
    def streams_url(self) -> str:
        """Where the streams are: at Amazon not where the tables are."""
        url: str = self._new_client(STREAMS).meta.endpoint_url
        return url.rstrip("/") + "/"

    def send(self, operation: str, body: bytes, service: str = TABLES) -> tuple[int, bytes]:
        """Sign and send one request; return the answer's status and body."""
        headers = {
            "X-Amz-Target": f"{TARGETS[service]}.{operation}",
            "Content-Type": "application/x-amz-json-1.0",
        }
        url = self.url if service == TABLES else self.streams_url
        request = AWSRequest(method="POST", url=url, data=body, headers=headers)
        if self.credentials is None:
            raise Unavailable("The site has no credentials for its table.")
        SigV4Auth(self.credentials.get_frozen_credentials(), "dynamodb", self.region).add_auth(request)
        prepared = request.prepare()
        answer = self.events.emit_until_response(f"before-send.{service}.{operation}", request=prepared)[1]
        if answer is None:
            answer = self.http.send(prepared)
        return answer.status_code, answer.content


_connection: Connection | None = None
_lock = threading.Lock()


def connect() -> Connection:
    """Return this process's connection, made on first use and thus after any fork."""
    global _connection
    if (kept := _connection) is None or kept.pid != os.getpid():
        with _lock:
            if (kept := _connection) is None or kept.pid != os.getpid():
                kept = _connection = Connection()
    return kept


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


pause: Callable[[float], None] = time.sleep  # replaced in tests, so that none waits
jitter = random.Random()  # noqa: S311 - spreads retries, guards nothing


def back_off(attempt: int) -> None:
    """Wait before a further try: a random part of 10 ms, doubled with each attempt up to 0.64 s ("full jitter")."""
    pause(jitter.uniform(0, 0.01 * 2 ** min(attempt, 6)))


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
                pause(RESTART_PAUSE)
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
            back_off(refused_before)


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


def as_error(refused: Refused) -> DataError:
    """Return the error of ours for one of DynamoDB's."""
    text = " ".join([refused.message, *(str(reason.get("Message", "")) for reason in refused.reasons)])
    if refused.code == "ResourceNotFoundException":
        return NotFound(configuration().missing)
    if refused.passing:
        return Busy()
    if "size" in text.lower() and ("exceed" in text.lower() or "limit" in text.lower()):
        return Invalid(_("This is too much to store in one piece."))
    if refused.code == "TransactionCanceledException":
        return Conflict()
    return DataError(f"{refused.code}: {refused.message}")
