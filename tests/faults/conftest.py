"""The site with content of every kind behind the proxy, its times and ids the same at every look."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from django.utils import timezone

from dealsite.data import table
from dealsite.data.table import client
from dealsite.worker import bulk
from tests.builders import NOW
from tests.faults.forms import prepare
from tests.faults.proxy import Proxy
from tests.faults.site import Site
from tests.seeded import seeded_site


@pytest.fixture(scope="session")
def proxied(native_engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site, made once; each look or form leaves it as it was."""
    with Proxy(native_engine) as proxy, contextlib.ExitStack() as seeded:
        with at_one_moment():
            content = seeded.enter_context(seeded_site(native_engine, tmp_path_factory.mktemp("broken")))
            site = Site(proxy, content)
            with site.in_place():
                site.more = prepare(content)
                site.begin()
        yield site
        with at_one_moment(), site.in_place():
            site.end()


@contextlib.contextmanager
def at_one_moment() -> Iterator[None]:
    """Let it be NOW, and no longer: tests of other rooms come between those of this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: NOW)
        patch.setattr(client, "READ_TIMEOUT", 15.0)
        yield


@pytest.fixture
def site(proxied: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """That site, for one test."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    monkeypatch.setattr(client, "pause", lambda seconds: None)
    monkeypatch.setattr(bulk, "monotonic", lambda: 0.0)
    with proxied.in_place():
        yield proxied


@pytest.fixture(scope="module", autouse=True)
def _no_connection_is_left() -> Iterator[None]:
    """Let no other test talk to the proxy."""
    yield
    table.reset()
