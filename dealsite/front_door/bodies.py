"""Reads what a client sends into a file, before a thread is taken for it."""

from collections.abc import Awaitable, Callable
from tempfile import SpooledTemporaryFile
from typing import Any

from uvicorn._types import ASGIReceiveCallable

from dealsite.front_door.limits import SMALL_BYTES

SPOOLED_BYTES = 65_536  # held in memory; what is longer goes to disk


class Gone(Exception):
    """The client closed the connection, or was closed for being slow."""


class TooLarge(Exception):
    """More than may be sent to this address by this visitor; the rest was not read."""


async def read_body(
    environ: dict[str, Any], receive: ASGIReceiveCallable, most_bytes: Callable[[], Awaitable[int]]
) -> None:
    """Make a request's body, if it has one, the `wsgi.input` of its environ.

    What is more than 1 MB, or says that it will be, is read only as far as `most_bytes` allows, which is asked once.
    """
    declared = int(environ.get("CONTENT_LENGTH") or 0)
    if not declared and "HTTP_TRANSFER_ENCODING" not in environ:
        return
    body = environ["wsgi.input"] = SpooledTemporaryFile(SPOOLED_BYTES)  # noqa: SIM115 - whoever made the environ closes it
    received, most, is_asked, is_whole = 0, SMALL_BYTES, False, False
    while True:
        if max(declared, received) > SMALL_BYTES and not is_asked:
            most, is_asked = max(SMALL_BYTES, await most_bytes()), True
        if max(declared, received) > most:
            raise TooLarge
        if is_whole:
            break
        message = await receive()
        if message["type"] != "http.request":
            raise Gone
        piece = message.get("body", b"")
        body.write(piece)
        received += len(piece)
        is_whole = not message.get("more_body", False)
    body.seek(0)
    environ["CONTENT_LENGTH"] = str(received)
