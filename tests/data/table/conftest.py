"""What the tests of the table's library share."""

from collections.abc import Iterator
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.table import client, reports
from tests.data.table.wire import Wire


@pytest.fixture
def wire(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """The site's table is a server that says what a test wants; nobody pauses between tries."""
    server = Wire()
    settings.DYNAMODB_ENDPOINT_URL = f"http://127.0.0.1:{server.port}"
    settings.DEALSITE_TABLE = "t"
    monkeypatch.setattr(client, "pause", lambda seconds: None)
    monkeypatch.setattr(client, "READ_TIMEOUT", 0.5)
    reports.forget()
    table.reset()
    table.events()  # makes the client, which takes a moment once
    yield server
    table.reset()
    reports.forget()
    server.close()
