"""The site as uvicorn runs it: a request takes a thread once all of it has come, and no longer than its page takes.

What a client sends goes into a file first. What Django answers is taken in whole in the thread that makes the page, or
piece by piece where it is long.
"""

import asyncio
import io
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Any
from urllib.parse import unquote_to_bytes

import structlog
from django.http import HttpRequest
from django.utils import timezone
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from dealsite.data.table.errors import Unavailable
from dealsite.data.table.ids import new_ulid
from dealsite.front_door.connections import SMALL_BYTES, Busy, Connection, Pool
from dealsite.middleware import IS_TOO_LARGE, REQUEST_ID, RETRY_AFTER, WAITED
from dealsite.processes.heartbeat import end_if_out_of_memory, is_shortage
from dealsite.web.counting import PROBES, SHORTAGE, THREADS, cause_of, due_to, note_answer
from dealsite.web.uploads import most_bytes_of

WHOLE_BYTES = 262_144
PIECE_BYTES = 65_536

Application = Callable[..., Any]


@dataclass
class Answer:
    """An answer's status, headers and first part; `rest` is None once all of it is there."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    rest: Iterator[bytes] | None
    close: Callable[[], None]

    def piece(self, _waited: float = 0) -> bytes:
        """Return the next part; b"" at the end."""
        assert self.rest is not None  # noqa: S101
        return _take(self.rest, PIECE_BYTES)[0]


def answer_of(application: Application, environ: dict[str, Any]) -> Answer:
    """Run Django: a page is complete then; of a longer file, or list, only the beginning is read."""
    started: list[tuple[str, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], _exc_info: Any = None) -> None:
        started[:] = [(status, headers)]

    response = application(environ, start_response)
    close: Callable[[], None] = getattr(response, "close", lambda: None)
    if hasattr(response, "block_size"):  # of a file; Django reads 4 KB at a time
        response.block_size = PIECE_BYTES
    try:
        pieces = iter(response)
        body, is_all = _take(pieces, WHOLE_BYTES)
    except BaseException:
        close()
        raise
    if is_all:
        close()
    ((status, headers),) = started
    return Answer(
        status=int(status[:3]),
        headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        body=body,
        rest=None if is_all else pieces,
        close=close,
    )


def _take(pieces: Iterator[bytes], count: int) -> tuple[bytes, bool]:
    """Return about so many bytes, and whether these were all."""
    taken, size = [], 0
    for piece in pieces:
        taken.append(piece)
        size += len(piece)
        if size >= count:
            return b"".join(taken), False
    return b"".join(taken), True


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


UNPREFIXED = {"CONTENT_TYPE", "CONTENT_LENGTH"}


def environ_of(scope: HTTPScope) -> dict[str, Any]:
    """Return the environ of a request without its body.

    A header whose name has an underscore is left out: it would pass for the one with a dash that a proxy sets.
    """
    server = scope["server"] or ("localhost", 80)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "REMOTE_ADDR": scope["client"][0] if scope["client"] else "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for raw_name, raw_value in scope["headers"]:
        if b"_" in raw_name:
            continue
        name = raw_name.decode("latin-1").upper().replace("-", "_")
        if name not in UNPREFIXED:
            name = f"HTTP_{name}"
        value = raw_value.decode("latin-1")
        if name in environ:
            value = f"{environ[name]}{'; ' if name == 'HTTP_COOKIE' else ','}{value}"
        environ[name] = value
    return environ


PAGE_THREADS = 4  # 8 in all with two processes, since the embedded engine slows down above ten connections
SIDE_THREADS = 2
LINGER_SECONDS = 2.0
CLOSE = (b"connection", b"close")
ID_PLACE = "-" * 26  # in the page for those who waited in vain: where the request's id goes
logger = structlog.get_logger(__name__)


class FrontDoor:
    """Django's WSGI application behind threads of its own; `busy_page` is for those who waited in vain."""

    def __init__(self, application: Application, busy_page: str) -> None:
        self._application = application
        self._pages = Pool(PAGE_THREADS, "page")
        self._uploads = Pool(SIDE_THREADS, "uploads")  # asks who may send one
        self._files = Pool(SIDE_THREADS, "files", patience=None)  # reads the rest of long answers
        self._health = {path: Pool(1, path[1:]) for path in PROBES}
        self._busy_page = busy_page

    async def __call__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Read a request, let Django answer it, and send that; where memory lacks even for a refusal, end it."""
        connection: Connection = scope["connection"]  # type: ignore[typeddict-item]
        try:
            await self._serve(scope, connection, receive, send)
        except MemoryError as error:
            end_if_out_of_memory(error)
            connection.transport.abort()

    async def _serve(
        self, scope: HTTPScope, connection: Connection, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        environ = environ_of(scope)
        is_read, began = False, time.perf_counter()
        try:
            try:
                await read_body(environ, receive, lambda: self._uploads.run(lambda _: most_bytes_of(environ)))
                is_read = True
            except TooLarge:
                self._leave_out_body(environ)
            pool = self._health.get(environ["PATH_INFO"], self._pages)
            answer = await pool.run(lambda waited: self._answer(environ, waited))
        except Gone:
            return
        except (Busy, Unavailable) as refused:
            cause = THREADS if isinstance(refused, Busy) else cause_of(refused)
            answer = self._busy(environ, began, cause)
        except (OSError, MemoryError) as error:  # no disk for a body, no memory for the page of an error
            if not is_shortage(error):
                raise
            logger.warning("request_refused", reason=repr(error))
            end_if_out_of_memory(error)
            answer = self._busy(environ, began, SHORTAGE)
        finally:
            environ["wsgi.input"].close()
        if not is_read:
            answer.headers = [*answer.headers, CLOSE]
        await self._send(answer, connection, send, None if is_read else receive)

    def _busy(self, environ: dict[str, Any], began: float, cause: str) -> Answer:
        """Return the page for a request that Django does not see, and note that."""
        request, request_id = HttpRequest(), new_ulid(timezone.now())
        request.META, request.method = environ, environ["REQUEST_METHOD"]
        with due_to(request_id):
            note_answer(request, 503, seconds=time.perf_counter() - began, cause=cause)
        page = self._busy_page.replace(ID_PLACE, request_id).encode()
        headers = {
            "content-type": "text/html; charset=utf-8",
            "cache-control": "no-store",
            "retry-after": RETRY_AFTER,
            "content-length": str(len(page)),
            REQUEST_ID.lower(): request_id,
        }
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        return Answer(503, encoded, page, None, lambda: None)

    def _leave_out_body(self, environ: dict[str, Any]) -> None:
        environ["wsgi.input"].close()
        environ |= {"wsgi.input": io.BytesIO(), "CONTENT_LENGTH": "0", IS_TOO_LARGE: True}

    def _answer(self, environ: dict[str, Any], waited: float) -> Answer:
        environ[WAITED] = waited
        return answer_of(self._application, environ)

    async def _send(
        self,
        answer: Answer,
        connection: Connection,
        send: ASGISendCallable,
        unread: ASGIReceiveCallable | None,
    ) -> None:
        connection.sends(len(answer.body))
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        is_all = answer.rest is None and unread is None
        await send({"type": "http.response.body", "body": answer.body, "more_body": not is_all})
        if answer.rest is not None:
            await self._send_rest(answer, connection, send)
        if unread is not None:
            await _linger(unread)
        if not is_all:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_rest(self, answer: Answer, connection: Connection, send: ASGISendCallable) -> None:
        """Send a long answer as fast as its reader takes it: a thread is held for one piece at a time."""
        try:
            while not connection.transport.is_closing() and connection.cycle.scope["method"] != "HEAD":
                piece = await self._files.run(answer.piece)
                if not piece:
                    break
                connection.sends(len(piece))
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        finally:
            answer.close()


async def _linger(receive: ASGIReceiveCallable) -> None:
    """Throw away a little of what still comes: closed at once, the connection would take the answer along."""
    thrown = 0
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            while thrown < SMALL_BYTES:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body"):
                    break
                thrown += len(message.get("body", b""))
    except TimeoutError:
        pass
