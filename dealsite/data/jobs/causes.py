"""Which request causes what is done just now: its id stands in each job that it adds, wherever that is."""

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


def attributes() -> dict[str, str | None]:
    """Return what a job that is added just now says of its cause; None for what there is not."""
    return {"request": _request.get() or None}
