"""The data tests run on the embedded engine, and some of them on DynamoDB Local, on moto, and with faults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.table import client
from tests.data.table.wire import Wire


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine_kind" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker
    differ = mark("engines_differ")
    samples = {
        "weak": {} if differ else {"quick": 4},
        "local": {"quick": 0} if differ else {"quick": 0, "whole": 3},
    }
    if only := mark("engines"):
        kinds = list(only.args)
    else:
        kinds = [
            "native",
            "local",
            *([] if mark("budget") else ["weak"]),
            *(["moto"] if mark("moto") else []),
        ]
    metafunc.parametrize(
        "engine_kind",
        [pytest.param(kind, marks=pytest.mark.sample(**samples.get(kind, {}))) for kind in kinds],
    )


@pytest.fixture
def wire(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """The site's table is a server that says what a test wants; nobody pauses between tries."""
    server = Wire()
    settings.DYNAMODB_ENDPOINT_URL = f"http://127.0.0.1:{server.port}"
    settings.DEALSITE_TABLE = "t"
    monkeypatch.setattr(client, "pause", lambda seconds: None)
    monkeypatch.setattr(client, "READ_TIMEOUT", 0.5)
    client._said.clear()
    table.reset()
    yield server
    table.reset()
    client._said.clear()
    server.close()
