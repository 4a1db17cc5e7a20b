"""The site as uvicorn runs it: a request takes a thread once all of it has come, and no longer than its page takes."""

import asyncio
import io
import time
from typing import Any

import structlog
from django.http import HttpRequest
from django.utils import timezone
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from dealsite.data.table.errors import Unavailable
from dealsite.data.table.ids import new_ulid
from dealsite.front_door.answers import Answer, Application, answer_of
from dealsite.front_door.bodies import Gone, TooLarge, read_body
from dealsite.front_door.connections import Connection
from dealsite.front_door.environ import environ_of
from dealsite.front_door.limits import SMALL_BYTES
from dealsite.front_door.pools import Busy, Pool
from dealsite.middleware import IS_TOO_LARGE, REQUEST_ID, RETRY_AFTER, WAITED
from dealsite.processes.shortage import end_if_out_of_memory, is_shortage
from dealsite.web.request_log import PROBES, SHORTAGE, THREADS, cause_of, due_to, note_answer
from dealsite.web.uploads import most_bytes_of

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
        """Read a request, let Django answer it, and send that."""
        connection: Connection = scope["connection"]  # type: ignore[typeddict-item]
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
