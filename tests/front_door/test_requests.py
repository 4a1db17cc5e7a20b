"""What a request becomes before Django sees it, and how its answer goes out."""

from __future__ import annotations

import os
import re
import socket
import threading
import time

import pytest

from dealsite.front_door.connections import PIPELINED
from tests.front_door.conftest import everything, status_of, wait_for


def seen(web, data: bytes) -> dict:
    """Return the environ of a request."""
    assert status_of(web.ask(data.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))) == 200
    return web.environs[-1]


def test_wsgi_gets_what_pep_3333_says(serve):
    web = serve()
    environ = seen(
        web, b"GET /a%C3%A4%2Fb%FF?q=%C3%A4&r=1 HTTP/1.1\r\nHost: x:1\r\nContent-Type: text/plain\r\n\r\n"
    )
    assert environ["PATH_INFO"] == "/aä/bÿ".encode("latin-1").decode("latin-1").replace("ä", "Ã¤")
    expected = {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "QUERY_STRING": "q=%C3%A4&r=1",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": str(web.port),
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "x:1",
        "CONTENT_TYPE": "text/plain",
        "wsgi.url_scheme": "http",
    }
    assert expected.items() <= environ.items()
    assert "HTTP_CONTENT_TYPE" not in environ
    assert "CONTENT_LENGTH" not in environ


def test_repeated_headers_are_one(serve):
    environ = seen(
        serve(), b"GET / HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nX-A: 2\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n"
    )
    assert environ["HTTP_X_A"] == "1,2"
    assert environ["HTTP_COOKIE"] == "a=1; b=2"


def test_nothing_passes_for_a_header_that_a_proxy_sets(serve):
    web = serve()
    environ = seen(
        web, b"GET / HTTP/1.1\r\nHost: x\r\nX_Forwarded_For: 9.9.9.9\r\nX-Forwarded_For: 9.9.9.9\r\n\r\n"
    )
    assert [name for name in environ if "FORWARDED" in name] == []
    chunked = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
    environ = seen(web, chunked + b"X-Forwarded-For: 9.9.9.9\r\nCookie: a=b\r\n\r\n")
    assert [name for name in environ if "FORWARDED" in name or "COOKIE" in name] == []


def test_a_forwarded_address_is_for_django_to_judge(serve):
    forwarded = b"X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: https\r\n"
    environ = seen(serve(), b"GET / HTTP/1.1\r\nHost: x\r\n" + forwarded + b"\r\n")
    assert environ["REMOTE_ADDR"] == "127.0.0.1"
    assert environ["wsgi.url_scheme"] == "http"
    assert environ["HTTP_X_FORWARDED_FOR"] == "9.9.9.9"


def test_a_chunked_body_has_a_length_once_it_is_read(serve):
    web = serve()
    chunked = {"Transfer-Encoding": "chunked"}
    sent = web.request("POST", "/", body=(b"abc" for _ in range(3)), encode_chunked=True, headers=chunked)
    assert sent == (200, b"abcabcabc")
    assert web.environs[-1]["CONTENT_LENGTH"] == "9"


def test_a_body_of_a_megabyte_arrives_as_it_was_sent(serve):
    sent = os.urandom(1 << 20)
    assert serve().request("POST", "/", body=sent) == (200, sent)


def test_head_is_answered_without_a_body(serve):
    text = serve(page).ask(b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert status_of(text) == 200
    assert b"content-length: 4\r\n" in text
    assert text.endswith(b"\r\n\r\n")


def page(environ, start_response):
    start_response("200 OK", [("Content-Length", "4"), ("X-Path", environ["PATH_INFO"])])
    return [b"page"]


def test_a_connection_serves_one_request_after_another_also_those_sent_at_once(serve):
    web = serve(page)
    both = b"GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    text = web.ask(both)
    assert text.count(b"HTTP/1.1 200 OK") == 2
    assert text.index(b"x-path: /1") < text.index(b"x-path: /2")


def numbered(first: int, count: int) -> bytes:
    return b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % (first + number) for number in range(count))


@pytest.fixture
def held(serve):
    """A server whose pages wait for an event, and that event."""
    may_answer = threading.Event()

    def answer(environ, start_response):
        may_answer.wait(20)
        return page(environ, start_response)

    yield serve(answer), may_answer
    may_answer.set()


def test_as_many_as_may_wait_are_answered_in_order_and_only_then_are_more_read(held):
    web, may_answer = held
    one = web.connect(numbered(0, 1 + PIPELINED))
    wait_for(lambda: bool(web.environs))
    one.sendall(numbered(1 + PIPELINED, PIPELINED - 1))
    one.sendall(b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    may_answer.set()
    paths = re.findall(rb"x-path: /(\w+)", everything(one))
    assert paths == [b"%d" % number for number in range(2 * PIPELINED)] + [b"last"]


def test_more_than_may_wait_are_a_400_although_one_read_brings_them(held, caplog):
    web, may_answer = held
    assert status_of(web.ask(numbered(0, 2 + PIPELINED))) == 400
    may_answer.set()
    wait_for(lambda: not web.server.server_state.tasks)
    assert len(web.environs) == 1
    assert caplog.messages == []


def test_a_body_may_come_in_chunks_of_one_byte(serve):
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = serve().ask(head + b"1\r\na\r\n" * 100_000 + b"0\r\n\r\n")
    assert (status_of(answer), answer.count(b"a" * 100_000)) == (200, 1)


def test_http_1_0_closes(serve):
    text = serve(page).ask(b"GET / HTTP/1.0\r\n\r\n")
    assert status_of(text) == 200
    assert text.endswith(b"page")


def test_an_absolute_address_is_a_path_and_its_host_the_one_that_is_asked(serve):
    environ = seen(serve(), b"GET http://y:81/a?b=c HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (environ["PATH_INFO"], environ["QUERY_STRING"]) == ("/a", "b=c")
    assert environ["HTTP_HOST"] == "y:81"


def test_an_address_of_two_slashes_names_no_host(serve):
    assert seen(serve(), b"GET //y/a HTTP/1.1\r\nHost: x\r\n\r\n")["HTTP_HOST"] == "x"


def test_who_asks_is_told_to_go_on_with_the_body(serve):
    one = serve().connect(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    assert one.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    one.sendall(b"ab")
    assert one.recv(1_000).endswith(b"ab")


def test_what_is_no_request_is_a_400_and_takes_no_thread(serve, subtests):
    for data in [
        b"hello\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n",
        b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"GET http://x/ HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"GET http://x/ HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n",
    ]:
        with subtests.test(data=data):
            web = serve()
            assert status_of(web.ask(data)) in (400, 500)
            assert web.environs == []


def test_the_server_says_the_date_and_not_what_it_is(serve):
    head = serve().ask(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").lower()
    assert b"\r\ndate: " in head
    assert b"\r\nserver:" not in head


def test_a_long_answer_is_read_no_faster_than_it_is_taken(serve):
    made = []

    def long(environ, start_response):
        start_response("200 OK", [])

        def parts():
            for number in range(2_000):
                made.append(number)
                yield bytes(65_536)

        return parts()

    web = serve(long)
    one = web.connect(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", SO_RCVBUF=65_536)
    wait_for(lambda: len(made) > 4)
    last = -1
    while len(made) != last:  # until what lies between is full
        last = len(made)
        time.sleep(0.3)
    assert last < 200
    assert len(everything(one)) > 2_000 * 65_536
    assert len(made) == 2_000


def test_an_answer_is_closed_when_it_is_sent_or_its_reader_gone(serve):
    closed = []

    class Parts:
        def __init__(self, count: int) -> None:
            self._parts = iter([bytes(65_536)] * count)

        def __iter__(self):
            return self._parts

        def close(self) -> None:
            closed.append(True)

    def answer(environ, start_response):
        start_response("200 OK", [])
        return Parts(int(environ["QUERY_STRING"]))

    web = serve(answer)
    for count in (1, 100):
        web.get(f"/?{count}")
    assert len(closed) == 2
    one = web.connect(b"GET /?3000 HTTP/1.1\r\nHost: x\r\n\r\n")
    one.recv(1)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    one.close()
    wait_for(lambda: len(closed) == 3)
    assert web.get("/?1")[0] == 200
