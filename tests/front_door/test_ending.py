"""A process that ends leaves no request unanswered."""

import signal
import time

from dealsite.web import readiness
from tests.front_door.conftest import everything, seconds_until_closed, status_of, wait_for


def test_what_a_client_sends_just_after_the_process_was_told_to_end_is_answered_as_the_last(serve):
    web = serve()
    fresh, kept = web.connect(), web.connect(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert kept.recv(65_536).startswith(b"HTTP/1.1 200")
    wait_for(lambda: len(web.connections.open) == 2)
    web.server.should_exit = True
    wait_for(lambda: web.connections.are_last)
    for one in (fresh, kept):
        one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = everything(one)
        assert (status_of(answer), b"connection: close" in answer) == (200, True)


def test_a_silent_client_holds_up_the_end_of_a_process_for_a_second(serve):
    web = serve()
    silent = web.connect()
    wait_for(lambda: len(web.connections.open) == 1)
    began = time.monotonic()
    web.server.should_exit = True
    assert 0.5 < seconds_until_closed(silent, began) < 3


def test_a_process_that_drains_takes_requests_and_asks_to_be_left(serve, settings, monkeypatch):
    settings.DEALSITE_DRAIN_SECONDS = 60
    monkeypatch.setattr(readiness, "of_process", readiness.Readiness())
    web = serve()
    web.server.handle_exit(signal.SIGTERM, None)
    assert readiness.of_process.state().reason == "stopping"
    answer = web.ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (status_of(answer), b"connection: close" in answer) == (200, True)
    web.server.handle_exit(signal.SIGINT, None)  # another one serves in its place
    assert web.server.should_exit


def test_a_process_that_is_replaced_does_not_say_that_its_machine_ends(serve, settings, monkeypatch):
    settings.DEALSITE_DRAIN_SECONDS = 60
    monkeypatch.setattr(readiness, "of_process", readiness.Readiness())
    web = serve()
    web.server.handle_exit(signal.SIGINT, None)
    assert not readiness.of_process.is_stopping
    assert web.server.should_exit
