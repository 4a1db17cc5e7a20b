"""A worker's own port shows /metrics to those who may see it, and nothing else."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from dealsite.web import metrics


@pytest.fixture
def address(processes) -> Iterator[str]:
    processes.begin("worker")
    server = metrics.serve(0)
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def opened(url: str, **headers: str) -> Any:
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10)  # noqa: S310 - of this test


def status(url: str, **headers: str) -> int:
    try:
        with opened(url, **headers) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_it_shows_the_metrics_of_the_machine(address):
    with opened(f"{address}/metrics") as answer:
        assert b'dealsite_processes{part="worker"} 1.0' in answer.read()


def test_it_shows_nothing_else_and_nothing_to_strangers(address, settings):
    settings.DEALSITE_HEALTH_TOKEN = "a token of ours"
    through_proxy = {"X-Forwarded-For": "203.0.113.7"}
    assert status(f"{address}/") == 404
    assert status(f"{address}/metrics", **through_proxy) == 404
    assert status(f"{address}/metrics", **through_proxy, Authorization="Bearer a token of ours") == 200


def test_a_second_worker_of_the_machine_takes_the_port_once_the_first_has_left_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    taken, opened = socket.create_server(("", 0)), []

    class Leaving(threading.Event):
        """The first worker ends while the second one waits for the third time."""

        rounds = 0

        def wait(self, timeout: float | None = None) -> bool:
            self.rounds += 1
            if self.rounds == 3:
                taken.close()
            return False

    serve = metrics.serve
    monkeypatch.setattr(metrics, "serve", lambda number: opened.append(serve(number)))
    metrics.keep_port(Leaving(), taken.getsockname()[1])
    (server,) = opened
    server.shutdown()
    server.server_close()
    assert caplog.text.count("event='metrics_port_taken'") == 1
