"""How a request reaches DynamoDB: what a process keeps of its connections, and one attempt of one request.

boto3 gives endpoint, credentials, region and the events that tests and tracing hook into. The few operations of
every request are signed, sent and read here, without boto3's walk over each value's shape, which costs several
times the call itself.
"""

import functools
import os
import socket
import time
from collections.abc import Callable
from typing import Any, Self

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
)
from botocore.httpsession import URLLib3Session

from . import answers, errors, meters, sockets, timed_sockets
from .configuration import configuration
from .gate import Gate

ADMIN_TIMEOUT = 20.0  # seconds; creating a table is no page
ADMIN_ATTEMPTS = 2
CONNECTIONS = 8  # the embedded engine slows down above ten

TABLES, STREAMS = "dynamodb", "dynamodbstreams"  # the two services, by boto3's names
TARGETS = {TABLES: "DynamoDB_20120810", STREAMS: "DynamoDBStreams_20120810"}
NOT_SENT = (EndpointConnectionError, ConnectTimeoutError)  # nothing was connected to
UNANSWERED = (HTTPClientError, BotoCoreError, OSError, answers.NoAnswer)


class Session(URLLib3Session):  # type: ignore[misc]
    """botocore's HTTP pool, with one time for connecting, sending and the whole answer: `seconds()`, or the page's."""

    def __init__(self, endpoint_url: str, seconds: Callable[[], float]) -> None:
        # Headers and body go in two packets: without this, the second waits 40 ms for an acknowledgement.
        options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
        timeout = (timed_sockets.CONNECT_TIMEOUT, ADMIN_TIMEOUT)
        super().__init__(timeout=timeout, max_pool_connections=CONNECTIONS, socket_options=options)
        timed_sockets.use(self._manager, endpoint_url)
        self.seconds = seconds

    def send(self, request: Any) -> Any:
        token = timed_sockets.until.set(time.monotonic() + min(self.seconds(), meters.seconds_left()))
        try:
            return super().send(request)
        finally:
            timed_sockets.until.reset(token)


class AdminSession(Session):
    """One whose answers are checked before boto3 reads them, which takes anything for an answer."""

    def send(self, request: Any) -> Any:
        answer = super().send(request)
        operation = request.headers["X-Amz-Target"].decode().rpartition(".")[2]
        try:
            answers.check(operation, {}, answers.read(answer.status_code, answer.headers, answer.content))
        except answers.NoAnswer as error:
            self.close()
            raise HTTPClientError(error=error) from error
        except errors.Refused:
            pass  # boto3 reads it, too
        return answer


class Connection:
    """What one process keeps: boto3's client for its configuration and events, and an HTTP pool."""

    def __init__(self, seconds: Callable[[], float], is_back: Callable[[Self], bool]) -> None:
        self.pid = os.getpid()
        self.gate = Gate(lambda: is_back(self))
        configured = configuration()
        self.endpoint_url, self.region = configured.endpoint_url, configured.region
        # An engine on this machine asks for credentials but checks none: made-up ones will do.
        key = configured.local_key if sockets.on_this_machine(self.endpoint_url) else None
        session = boto3.Session(key, key, region_name=self.region)
        self.credentials = session.get_credentials()
        url = sockets.request_url(self.endpoint_url)
        self._new_client = functools.partial(session.client, endpoint_url=url or None)
        config = Config(
            retries={"total_max_attempts": ADMIN_ATTEMPTS, "mode": "standard"}, parameter_validation=False
        )
        self.client = self._new_client(TABLES, config=config)
        # boto3 cannot be told otherwise where its connections come from.
        self.client._endpoint.http_session = AdminSession(self.endpoint_url, lambda: ADMIN_TIMEOUT)
        self.events = self.client.meta.events
        self.url = self.client.meta.endpoint_url.rstrip("/") + "/"
        self.http = Session(self.endpoint_url, seconds)

    @functools.cached_property
    def streams_url(self) -> str:
        """Where the streams are: at Amazon not where the tables are."""
        url: str = self._new_client(STREAMS).meta.endpoint_url
        return url.rstrip("/") + "/"

    def send(
        self, operation: str, body: bytes, request: dict[str, Any], service: str = TABLES
    ) -> answers.Answer:
        """Sign and send a request once; return its answer, whole and checked. Raises UNANSWERED, Refused."""
        headers = {
            "X-Amz-Target": f"{TARGETS[service]}.{operation}",
            "Content-Type": "application/x-amz-json-1.0",
        }
        url = self.url if service == TABLES else self.streams_url
        signed = AWSRequest(method="POST", url=url, data=body, headers=headers)
        if self.credentials is None:
            raise errors.Refused("NoCredentials", str(NoCredentialsError()), [])
        SigV4Auth(self.credentials.get_frozen_credentials(), "dynamodb", self.region).add_auth(signed)
        prepared = signed.prepare()
        came = self.events.emit_until_response(f"before-send.{service}.{operation}", request=prepared)[1]
        if came is None:
            came = self.http.send(prepared)
        try:
            answer = answers.read(came.status_code, came.headers, came.content)
            answers.check(operation, request, answer)
        except answers.NoAnswer:
            self.http.close()  # who knows what else comes from there
            raise
        return answer
