"""While the engine is away, pages answer 503 within three seconds, and are themselves again when it is back."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings as site_settings
from django.template.loader import render_to_string
from django.test import Client

from dealsite.data import table
from dealsite.data.catalogue import brands, deals
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.table import errors
from dealsite.web import page_cache
from tests.builders import HOUR, NOW, make_deal, make_id
from tests.table_requests import handled

PAGES = [
    "/",
    "/brands/",
    "/brands/nordlicht/",
    "/categories/toys-hobbies/",
    "/editors-choice/",
    "/deals.atom",
]
PAGES += ["/sitemap.xml", f"/deals/{make_id(NOW - HOUR)}/x/", "/cms/", "/account/"]


@pytest.fixture
def refused(settings) -> Iterator[None]:
    """Nothing listens where the engine should be."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings.DYNAMODB_ENDPOINT_URL = f"http://127.0.0.1:{port}"
    table.reset()
    yield
    table.reset()


@pytest.fixture
def hanging(settings) -> Iterator[None]:
    """Something accepts connections where the engine should be, and never says a word."""
    server = socket.create_server(("127.0.0.1", 0), backlog=64)
    kept: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                kept.append(server.accept()[0])
            except OSError:
                return

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    settings.DYNAMODB_ENDPOINT_URL = f"http://127.0.0.1:{server.getsockname()[1]}"
    table.reset()
    yield
    table.reset()
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(5)
    for connection in kept:
        connection.close()


CALLS: list[Callable[[], object]] = [
    lambda: table.get(("A", "A")),
    lambda: table.batch_get([("A", "A")]),
    lambda: table.query("A", index="GSI1"),
    lambda: deals.get(make_id()),
    lambda: brands.create("Nordlicht", by="eve", now=NOW),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
@pytest.mark.usefixtures("refused")
def test_a_call_to_nobody_is_unavailable(number: int):
    started = time.monotonic()
    with pytest.raises(errors.Unavailable):
        CALLS[number]()
    assert time.monotonic() - started < 2.5


@pytest.mark.usefixtures("hanging")
def test_a_call_that_is_never_answered_is_unavailable():
    started = time.monotonic()
    with pytest.raises(errors.Unavailable):
        table.get(("A", "A"))
    assert time.monotonic() - started < 2.9


@pytest.fixture
def visitor() -> Client:
    page_cache.forget()
    category_names.forget()
    browser = Client(raise_request_exception=False)
    browser.cookies[site_settings.SESSION_COOKIE_NAME] = "ann:" + "k" * 43
    return browser


@pytest.mark.usefixtures("refused")
def test_every_page_is_503_soon_while_nobody_listens(visitor: Client, subtests: pytest.Subtests):
    for page in PAGES:
        with subtests.test(page=page):
            visitor.get(page)  # compiles the templates
            category_names.forget()
            started = time.monotonic()
            response = visitor.get(page)
            assert response.status_code == 503
            assert response["Retry-After"] == "5"
            assert time.monotonic() - started < 3


@pytest.mark.parametrize("page", ["/", "/cms/"])
@pytest.mark.usefixtures("hanging")
def test_every_page_is_503_within_three_seconds_while_nobody_answers(page: str, visitor: Client):
    render_to_string("503.html")
    category_names.forget()
    started = time.monotonic()
    response = visitor.get(page)
    assert response.status_code == 503
    assert b"One moment, please" in response.content
    assert time.monotonic() - started < 3


@pytest.mark.usefixtures("fresh_table")
def test_pages_recover_when_the_engine_is_back(visitor: Client, monkeypatch):
    from django.utils import timezone

    monkeypatch.setattr(timezone, "now", lambda: NOW)
    make_deal(title="Here again")

    def nobody(request):
        raise OSError("The engine is away.")

    assert visitor.get("/").status_code == 200
    with handled(nobody):
        assert visitor.get("/").status_code == 503
    page = visitor.get("/")
    assert page.status_code == 200
    assert "Here again" in page.content.decode()
