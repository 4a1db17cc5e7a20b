"""Silent, slow and many clients: each is closed at its deadline, and takes no thread before."""

from __future__ import annotations

import dataclasses
import select
import socket
import time

import pytest

from dealsite.front_door.connections import BYTES_A_SECOND, HEADER_BYTES, Limits
from tests.front_door.conftest import PATIENT, everything, seconds_until_closed, status_of, wait_for

SHORT = Limits(patience=0.4, per_address=100, connections=1_000)
LATE = 1.5  # seconds; a look comes each 0.1 s, on a busy machine later
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"


def is_closed_while_sending(one: socket.socket, piece: bytes) -> bool:
    end = time.monotonic() + 10
    try:
        while time.monotonic() < end:
            one.sendall(piece)
            time.sleep(0.02)
    except OSError:
        return True
    return False


@pytest.mark.parametrize("sent", [b"", b"G", b"GET / HTTP/1.1\r\nHost: x\r\nCook"])
def test_headers_that_do_not_come_close_the_connection(serve, sent):
    web = serve(limits=SHORT)
    began = time.monotonic()
    assert 0.35 < seconds_until_closed(web.connect(sent), began) < LATE
    assert web.environs == []
    wait_for(lambda: not web.connections.open)
    assert not web.connections.of_network


@pytest.mark.parametrize("head", [b"GET / HTTP/1.1\r\nX: ", POST])
def test_headers_or_a_body_that_trickle_close_the_connection(serve, head):
    web = serve(limits=SHORT)
    one, began = web.connect(head), time.monotonic()
    assert is_closed_while_sending(one, b"a")
    assert time.monotonic() - began < LATE
    assert web.environs == []


def test_a_body_that_does_not_come_is_told_so(serve):
    web = serve(limits=SHORT)
    assert status_of(web.ask(POST)) == 408
    assert web.environs == []


def test_a_body_that_comes_slowly_but_steadily_is_taken(serve):
    web = serve(limits=SHORT)
    piece = b"a" * (BYTES_A_SECOND // 5)  # each tenth of a second: twice what has to come
    one = web.connect(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (10 * len(piece)))
    for _ in range(10):
        time.sleep(0.1)
        one.sendall(piece)
    assert status_of(one.recv(100)) == 200


def test_a_body_has_its_time_once_it_is_its_turn(serve):
    def slow_second(environ, start_response):
        if environ["PATH_INFO"] == "/second":
            time.sleep(2 * LATE * SHORT.patience)
        start_response("200 OK", [("Content-Length", "0")])
        return []

    web = serve(slow_second, limits=SHORT)
    one = web.connect(GET + GET.replace(b"/ ", b"/second ", 1) + POST + b"a" * 50)
    wait_for(lambda: len(web.environs) == 2)
    one.recv(1_000)
    assert status_of(one.recv(1_000)) == 200
    one.sendall(b"a" * 50)
    assert status_of(one.recv(1_000)) == 200


def test_a_body_that_takes_for_ever_ends_however_steadily_it_comes(serve, monkeypatch):
    monkeypatch.setattr(Limits, "longest", 0.8)
    web = serve(limits=SHORT)
    one, began = web.connect(POST.replace(b"100", b"900000")), time.monotonic()
    assert is_closed_while_sending(one, b"a" * 1_000)
    assert 0.7 < time.monotonic() - began < 2 * LATE


def test_a_kept_connection_idles_until_its_deadline_and_has_it_again_with_each_request(serve):
    web = serve(limits=SHORT)
    one = web.connect()
    for _ in range(3):
        one.sendall(GET)
        assert status_of(one.recv(1_000)) == 200
        time.sleep(0.3)
        one.sendall(GET[:10])
        time.sleep(0.3)
        one.sendall(GET[10:])
        assert status_of(one.recv(1_000)) == 200
    began = time.monotonic()
    assert 0.35 < seconds_until_closed(one, began) < LATE


def large(environ, start_response):
    start_response("200 OK", [("Content-Length", "60000000")])
    return (b"a" * 65_536 for _ in range(60_000_000 // 65_536 + 1))


@pytest.mark.parametrize("rate", [0, 1])
def test_who_does_not_take_an_answer_is_closed(serve, rate):
    web = serve(large, limits=SHORT)
    one = web.connect(GET, SO_RCVBUF=4_096)
    began = time.monotonic()
    wait_for(lambda: bool(web.connections.open))
    look = select.poll()
    look.register(one, select.POLLRDHUP)
    while not look.poll(50) and time.monotonic() < began + 10:
        one.recv(rate) if rate else None
    assert 0.7 < time.monotonic() - began < 3 * LATE


def test_a_large_answer_is_sent_to_who_takes_it_however_long_that_is(serve):
    web = serve(lambda environ, start: large(environ, lambda status, _: start(status, [])), limits=SHORT)
    one = web.connect(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    taken, began = 0, time.monotonic()
    while part := one.recv(1 << 20):
        taken += len(part)
        if taken < 40_000_000:
            time.sleep(0.03)
    assert taken > 60_000_000
    assert time.monotonic() - began > 2 * SHORT.patience


def test_the_oldest_that_waits_makes_room_for_a_new_one_of_its_address(serve):
    web = serve(limits=dataclasses.replace(PATIENT, per_address=3))
    silent = [web.connect(), web.connect(b"GET"), web.connect()]
    other = web.connect(address="127.0.0.2")
    wait_for(lambda: len(web.connections.open) == 4)
    assert web.get("/")[0] == 200
    assert everything(silent[0]) == b""
    wait_for(lambda: len(web.connections.open) == 3)
    assert web.connections.of_network == {"127.0.0.1": 2, "127.0.0.2": 1}
    other.sendall(GET)
    assert status_of(other.recv(1_000)) == 200


def test_what_is_being_read_gives_way_to_nobody(serve):
    web = serve(limits=dataclasses.replace(PATIENT, per_address=3))
    reading = [web.connect(POST + b"a" * 50) for _ in range(3)]
    wait_for(lambda: len(web.connections.open) == 3 and not web.connections.waiting)
    assert web.get("/")[0] == 0
    assert web.get("/", "127.0.0.2")[0] == 200
    for one in reading:
        one.sendall(b"a" * 50)
        assert status_of(one.recv(1_000)) == 200


def test_in_all_there_are_so_many_connections_and_a_new_one_replaces_the_oldest_that_waits(serve):
    web = serve(limits=dataclasses.replace(PATIENT, connections=5))
    silent = [web.connect(address=f"127.0.0.{2 + number}") for number in range(5)]
    wait_for(lambda: len(web.connections.open) == 5)
    assert web.get("/")[0] == 200
    assert everything(silent[0]) == b""


def test_behind_a_proxy_there_is_no_limit_for_its_address(settings):
    from dealsite.front_door import connections

    assert connections.limits_from_settings().per_address == settings.DEALSITE_CONNECTIONS_PER_ADDRESS > 0
    settings.DEALSITE_TRUSTED_PROXIES = 1
    assert connections.limits_from_settings().per_address == 0


def test_zero_is_no_limit(serve):
    web = serve(limits=dataclasses.replace(PATIENT, per_address=0))
    for _ in range(20):
        web.connect()
    assert web.get("/")[0] == 200
    wait_for(lambda: len(web.connections.open) == 20)


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nX: " + b"a" * (HEADER_BYTES + 300_000),
        b"GET /" + b"a" * (HEADER_BYTES + 300_000),
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 8_000 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + b"a:\r\n" * 2_000 + b"\r\n",
        CHUNKED + b"0\r\nX: " + b"a" * 300_000,
        CHUNKED + (b"1;" + b"x" * 1_000 + b"\r\na\r\n") * 600 + b"0\r\n\r\n",
    ],
    ids=["a value", "an address", "many", "many short ones", "a trailer", "what stands beside chunks"],
)
def test_headers_and_what_a_body_comes_in_have_an_end(serve, head):
    web = serve()
    one = web.connect()
    try:
        one.sendall(head)
    except OSError:
        return  # closed while it was sent
    assert status_of(everything(one)) in (0, 400)
    assert web.environs == []
