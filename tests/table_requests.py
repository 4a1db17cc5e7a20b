"""Requests to the table as they leave: seen, answered in its place, or lost on their way."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from urllib3.exceptions import ProtocolError

from dealsite.data.table import meters
from dealsite.data.table.connection import TABLES, Connection

EXCHANGE = "exchange"
_exchange = Connection.exchange  # past whatever stands in the way


@dataclass(frozen=True)
class Reply:
    """What comes back."""

    status: int
    data: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """A request on its way, and the connection that it takes."""

    operation: str
    body: bytes
    connection: Connection
    seconds: float

    def send(self, operation: str = "", body: bytes | None = None) -> Any:
        """Have it carried out, or another one."""
        asked = self.body if body is None else body
        return _exchange(self.connection, operation or self.operation, asked, TABLES, self.seconds)


Handler = Callable[[Request], Any]
_handlers: list[tuple[Handler, frozenset[str]]] = []
_thread = threading.local()


def _handled(self: Connection, operation: str, body: bytes, service: str, seconds: float) -> Any:
    request = Request(operation, body, self, seconds)
    if service == TABLES and not getattr(_thread, "is_unseen", False):
        for handler, operations in tuple(_handlers):
            if (not operations or operation in operations) and (reply := handler(request)) is not None:
                return reply
    return _exchange(self, operation, body, service, seconds)


@contextlib.contextmanager
def handled(handler: Handler, *operations: str) -> Iterator[None]:
    """Let a function see each request to the table, or those of some operations, in time to answer or lose it."""
    entry = (handler, frozenset(operations))
    _handlers.append(entry)
    setattr(Connection, EXCHANGE, _handled)
    try:
        yield
    finally:
        _handlers.remove(entry)
        if not _handlers:
            setattr(Connection, EXCHANGE, _exchange)


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """Let a test look at the table in a way that counts nowhere, and that no function sees."""
    _thread.is_unseen = True
    try:
        with meters.unmetered():
            yield
    finally:
        _thread.is_unseen = False


class Lost(ProtocolError):
    """The connection ended before there was an answer."""
