"""A web process does its first work before it takes connections, and not one of its first visitors is turned away."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.template import engines

from dealsite.data import table
from dealsite.data.catalogue.display_names import category_names
from dealsite.front_door import process
from dealsite.processes.launcher import BACKLOG
from dealsite.wsgi import application
from tests.builders import make_deal
from tests.front_door.conftest import everything, status_of

ROOT = Path(__file__).resolve().parent.parent.parent
VISITORS = 16


def test_a_process_warms_up_before_it_listens(monkeypatch: pytest.MonkeyPatch):
    done: list[Any] = []

    class Server:
        def run(self, sockets: list[socket.socket]) -> None:
            done.append(("serve", sockets))

    monkeypatch.setattr(process, "warm_up", lambda warmed: done.append(("warm up", warmed)))
    monkeypatch.setattr(process, "web_server", lambda door, bounds, tells: Server())
    monkeypatch.setattr("resource.setrlimit", lambda *_: None)
    with socket.socket() as listening:
        process.serve(listening)
        assert done == [("warm up", application), ("serve", [listening])]


def statuses_of_warm_up() -> list[str]:
    statuses = []

    def noted(environ, start_response):
        def start(status, *more):
            statuses.append(status)
            return start_response(status, *more)

        return application(environ, start)

    application = WSGIHandler()  # which reads the settings of now
    process.warm_up(noted)
    return statuses


def test_warming_up_makes_a_page_as_for_a_visitor(whole_table):
    with table.metered() as meter:
        assert statuses_of_warm_up() == ["200 OK"]
    assert category_names.read_again_at > 0  # the client is made, and has asked
    assert not category_names.has_failed
    assert meter.calls == 0  # and nobody's page paid for it


def test_the_templates_of_public_pages_are_read(whole_table):
    (loader,) = engines["django"].engine.template_loaders  # type: ignore[attr-defined]
    loader.reset()
    process.warm_up(application)
    read = {template.name for template in loader.get_template_cache.values()}
    assert {"shopping/catalogue/front_page.html", "shopping/catalogue/deal.html", "base.html"} <= read


def test_a_site_with_https_is_warm_too(whole_table, settings):
    settings.DEALSITE_URL, settings.ALLOWED_HOSTS = "https://deals.example", ["deals.example"]
    settings.SECURE_SSL_REDIRECT, settings.SECURE_PROXY_SSL_HEADER = True, ("HTTP_X_FORWARDED_PROTO", "https")
    assert statuses_of_warm_up() == ["200 OK"]


def test_a_table_that_is_away_keeps_no_process_from_starting_and_is_no_news(settings, caplog, search_away):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.DYNAMODB_ENDPOINT_URL = f"http://127.0.0.1:{silent.getsockname()[1]}"
        table.reset()
        category_names.forget()
        began = time.monotonic()
        process.warm_up(application)
        assert time.monotonic() - began < 5
        table.reset()
    assert category_names.has_failed
    assert caplog.records == []


@pytest.fixture
def search_away(settings, tmp_path):
    settings.SEARCH_ROOT = tmp_path / "search"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """A function that starts a web process at a socket that is open already, as the launcher's is."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    port = listening.getsockname()[1]
    processes = []

    def start(**environ: str) -> int:
        kept = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
        own = {"DEALSITE_VAR": str(tmp_path), "PORT": str(port), "DEALSITE_PAGE_CACHE_SECONDS": "0"}
        own["DJANGO_SETTINGS_MODULE"] = "dealsite.settings"
        fd = listening.fileno()
        command = [sys.executable, "-m", "dealsite.front_door.process", str(fd)]
        one = subprocess.Popen(command, cwd=ROOT, env=kept | own | environ, pass_fds=[fd])
        processes.append(one)
        return port

    yield start
    for one in processes:
        one.kill()
        one.wait()
    listening.close()


def ask(port: int, path: str) -> tuple[int, float]:
    """Return the status of a page and the seconds that it took."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), 60) as one:
        one.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        return status_of(everything(one)), time.monotonic() - began


@pytest.mark.thorough
@pytest.mark.parametrize("path", ["/", "/brands/nordlicht/"])
def test_a_fresh_process_turns_none_of_its_first_visitors_away(whole_table, settings, start, path):
    for number in range(30):
        make_deal(title=f"Deal {number}")
    port = start(DYNAMODB_ENDPOINT_URL=settings.DYNAMODB_ENDPOINT_URL, DEALSITE_TABLE=settings.DEALSITE_TABLE)
    with ThreadPoolExecutor(VISITORS) as pool:
        answers = list(pool.map(lambda _: ask(port, path), range(VISITORS)))
    assert [status for status, _ in answers] == [200] * VISITORS


@pytest.mark.thorough
def test_the_first_page_takes_no_longer_than_the_next_ones(whole_table, settings, start):
    make_deal()
    port = start(DYNAMODB_ENDPOINT_URL=settings.DYNAMODB_ENDPOINT_URL, DEALSITE_TABLE=settings.DEALSITE_TABLE)
    assert ask(port, "/healthz")[0] == 200
    pages = [ask(port, "/") for _ in range(10)]
    assert {status for status, _ in pages} == {200}
    first, *others = [seconds for _, seconds in pages]
    assert first < 3 * max(others) + 0.1  # 0.03 s on a quiet machine, 0.2 s without the warm-up
