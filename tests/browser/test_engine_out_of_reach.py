"""The attack on the engine: a page of another site, and another user of the machine, look for it everywhere."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from playwright.sync_api import Page

from dealsite import environment
from dealsite.data.table import connection
from dealsite.engine import server as engine_server
from dealsite.engine.server import SOCKET, Engine, free_port
from tests.reach import LIST_TABLES, answers_as_dynamodb, as_nobody, error_of, listening, needs_namespaces
from tests.setup.conftest import Site

# Ask each address to list its tables: what can be read of the answer, and whether there was one at all.
ASK = """async ([addresses, headers]) => {
  const asked = addresses.map(async (address) => {
    const read = await fetch(address, {method: "POST", body: "{}", headers}).then((a) => a.text(), () => "");
    const answered = await fetch(address, {method: "POST", body: "{}", mode: "no-cors"}).then(() => true, () => false);
    return [address, read.includes("TableNames"), answered];
  });
  return Promise.all(asked);
}"""


class Stranger(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Something else</title>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def strange_page(chromium) -> Iterator[Page]:
    """A page of another origin."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        page = chromium.new_page()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        yield page
        page.close()
        server.shutdown()


@pytest.fixture
def running_site(tmp_path: Path) -> Iterator[Site]:
    """A whole site in processes of its own."""
    site = Site(tmp_path / "var", free_port())
    try:
        site.wait_until_up()
        yield site
    finally:
        site.stop(signal.SIGTERM)


def found_by(page: Page, addresses: list[str]) -> dict[str, tuple[bool, bool]]:
    headers = {name: value for name, value in LIST_TABLES.items() if name != "Content-Length"}
    return {address: (read, answered) for address, read, answered in page.evaluate(ASK, [addresses, headers])}


@pytest.mark.sample(quick=0, whole=3)
def test_such_a_page_would_read_an_engine_that_listens(strange_page: Page, tmp_path: Path, monkeypatch):
    """What this looks for exists: without a namespace of the engine's own, the page has the table."""
    monkeypatch.setattr(engine_server, "why_not_isolated", lambda: "not here")
    with Engine(tmp_path / "engine") as engine:
        assert found_by(strange_page, [engine.url]) == {engine.url: (True, True)}


@pytest.mark.sample(quick=0, whole=3)
@needs_namespaces
def test_neither_a_strange_page_nor_another_user_finds_the_engine(strange_page: Page, running_site: Site):
    endpoint = environment.read_engine_env(running_site.var)["DYNAMODB_ENDPOINT_URL"]
    assert answers_as_dynamodb(endpoint)  # for the user whose site it is
    pids = [running_site.process.pid, *running_site.children()]
    ports = [f"http://{address}" for address in sorted(listening(pids))]
    assert running_site.url in ports
    assert found_by(strange_page, [endpoint]) == {endpoint: (False, False)}
    seen = found_by(strange_page, ports)
    assert {address: read for address, (read, _) in seen.items()} == dict.fromkeys(ports, False)
    assert [address for address in ports if answers_as_dynamodb(address)] == []
    if os.geteuid() == 0:
        assert asked_by_nobody(running_site, [endpoint, *ports]) == ["PermissionError", "PermissionError", []]


def asked_by_nobody(site: Site, urls: list[str]) -> list[object]:
    """What another user gets: from engine.env, from the socket, and from each address."""

    def attack(out: Connection) -> None:
        told = error_of((site.var / "engine.env").read_text)
        called = error_of(partial(connection.connect, connection.endpoint_url(site.var / SOCKET), 5))
        out.send([told, called, [url for url in urls if answers_as_dynamodb(url)]])

    site.var.parent.chmod(0o755)  # only the data folder itself is to keep them out
    ours, process = as_nobody(attack)
    answer: list[object] = ours.recv()
    process.join()
    return answer
