"""Threads: who waits for one, for how long, and what never takes one."""

from __future__ import annotations

import logging
import threading
import time
from types import SimpleNamespace

import pytest
from django.http import HttpResponse
from django.urls import path

from dealsite import middleware
from dealsite.data.table import meters
from dealsite.front_door import application, connections
from dealsite.front_door.application import PAGE_THREADS
from dealsite.front_door.connections import QUEUE_SECONDS
from tests.builders import Clock
from tests.front_door.conftest import status_of, wait_for

GET = b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class Hanging:
    """An application whose pages hang until they are let go; /healthz does not."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.running = 0

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"] == "/hang":
            self.running += 1
            self.go.wait(20)
        start_response("200 OK", [("Content-Length", "0")])
        return []


@pytest.fixture
def hanging(serve):
    """A server all whose threads for pages hang."""
    application = Hanging()
    web = serve(application)
    web.hanging = [web.connect(GET % b"/hang") for _ in range(PAGE_THREADS)]
    wait_for(lambda: application.running == PAGE_THREADS)
    yield web
    application.go.set()


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_health_never_waits_behind_pages(hanging, address):
    status, seconds = hanging.get(address)
    assert status == 200
    assert seconds < 0.9


def test_who_waits_in_vain_for_a_thread_gets_a_503_that_says_when_to_come_back(hanging, caplog):
    caplog.set_level(logging.INFO, logger="dealsite.web.counting")
    began = time.monotonic()
    answer = hanging.ask(GET % b"/")
    assert status_of(answer) == 503
    assert b"\r\nretry-after: 5\r\n" in answer
    request_id = answer.partition(b"\r\nx-request-id: ")[2][:26].decode()
    assert answer.endswith(f"<p>busy {request_id}</p>".encode())
    (said,) = [text for text in caplog.messages if text.startswith("event='request'")]
    assert said.startswith("event='request' view='' method='GET' status=503 ms=")
    assert said.endswith(f" user='' network='127.0.0.1' cause='threads' request_id='{request_id}'")
    assert QUEUE_SECONDS - 0.1 < time.monotonic() - began < 2.5


def test_who_would_be_too_many_to_wait_gets_it_at_once(hanging, monkeypatch):
    monkeypatch.setattr(connections, "QUEUED", 2)
    for _ in range(2):
        hanging.connect(GET % b"/")
    wait_for(lambda: hanging.server is not None and len(hanging.connections.open) == PAGE_THREADS + 2)
    status, seconds = hanging.get("/")
    assert status == 503
    assert seconds < 0.9


def test_who_waits_gets_the_thread_that_becomes_free(hanging):
    one = hanging.connect(GET % b"/")
    hanging._application.go.set()
    assert status_of(one.recv(1_000)) == 200
    assert hanging.environs[-1][middleware.WAITED] >= 0


class Slow:
    """A middleware in which three seconds pass."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        CLOCK.now += 3
        return self.get_response(request)


CLOCK = Clock()


def left(request):
    return HttpResponse(f"{meters._deadline.get() - CLOCK.now:.1f}")


urlpatterns = [path("left", left)]


def test_the_deadline_for_data_calls_begins_with_the_view_less_what_was_waited_for_a_thread(
    client, settings, monkeypatch
):
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = ["dealsite.middleware.MeterMiddleware", f"{__name__}.Slow"]
    monkeypatch.setattr(middleware, "DATA_SECONDS", 2.4)
    monkeypatch.setattr(meters, "time", SimpleNamespace(monotonic=CLOCK, perf_counter=time.perf_counter))
    assert client.get("/left").content == b"2.4"
    assert client.get("/left", **{middleware.WAITED: 0.9}).content == b"1.5"
    assert meters._deadline.get() is None
    # No call waits beyond the deadline, so that half a second is left for the page that says so.
    assert max(QUEUE_SECONDS, middleware.DATA_SECONDS) + 0.5 < 3


def test_bodies_that_have_not_come_take_no_thread(serve):
    web = serve()
    for number in range(3 * PAGE_THREADS):
        web.connect(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", f"127.0.0.{2 + number % 5}")
    wait_for(lambda: len(web.connections.open) == 3 * PAGE_THREADS)
    assert web.get("/")[0] == 200
    assert len(web.environs) == 1


def test_slow_readers_take_no_thread(serve):
    def long(environ, start_response):
        start_response("200 OK", [])
        return (bytes(65_536) for _ in range(2_000 if environ["PATH_INFO"] == "/long" else 1))

    web = serve(long)
    for _ in range(3 * PAGE_THREADS):
        web.connect(GET % b"/long", SO_RCVBUF=4_096)
    wait_for(lambda: len(web.environs) == 3 * PAGE_THREADS)
    for _ in range(3):
        assert web.get("/")[0] == 200


def test_a_server_that_is_told_to_stop_finishes_what_runs_and_closes_what_idles(serve):
    application = Hanging()
    web = serve(application)
    idle, running = web.connect(), web.connect(GET % b"/hang")
    wait_for(lambda: application.running == 1)
    web.server.should_exit = True
    assert idle.recv(1) == b""
    application.go.set()
    assert status_of(running.recv(1_000)) == 200
    web.stop()


def test_an_error_in_the_middle_of_an_answer_breaks_the_connection(serve, caplog):
    def broken(environ, start_response):
        start_response("200 OK", [("Content-Length", "9000000")])
        yield bytes(300_000)
        raise ValueError("halfway")

    web = serve(broken)
    assert len(web.ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")) < 400_000
    assert "halfway" in caplog.text


def test_a_call_has_room_for_the_frames_of_what_it_calls():
    assert connections.with_room.__code__.co_stacksize * 8 > 200_000
    assert connections.with_room(lambda waited: waited + 1, 2.0) == 3.0


def test_a_process_that_gets_no_threads_does_not_begin_to_answer(monkeypatch):
    started: list[str] = []

    def start(thread: threading.Thread) -> None:
        started.append(thread.name)
        if len(started) == 2:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        connections.Pool(4, "page")
    assert started == ["page_0", "page_1"]


def no_memory(*_args, **_more):
    raise MemoryError


@pytest.mark.parametrize(
    "missing", [(connections.Connection, "on_url"), (application.FrontDoor, "_busy")], ids=["read", "refuse"]
)
def test_where_memory_lacks_even_to_read_or_refuse_a_request_its_connection_ends(serve, monkeypatch, missing):
    ended: list[BaseException] = []
    for module in (connections, application):
        monkeypatch.setattr(module, "end_if_out_of_memory", ended.append)
    monkeypatch.setattr(*missing, no_memory)
    assert serve(no_memory).ask(GET % b"/") == b""
    assert isinstance(ended[-1], MemoryError)


def test_what_is_no_request_is_still_refused(serve):
    assert status_of(serve().ask(b"nonsense\r\n\r\n")) == 400
