"""Which request causes what is done just now: its id stands in each job that it adds, wherever that is written."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_request: ContextVar[str] = ContextVar("request", default="")


@contextlib.contextmanager
def caused_by(request: str) -> Iterator[None]:
    """Let jobs that the block adds name a request by its id; "" for what nobody asked for."""
    token = _request.set(request)
    try:
        yield
    finally:
        _request.reset(token)


def request() -> str:
    """Return the id of the request that causes what is done just now, "" where there is none."""
    return _request.get()
