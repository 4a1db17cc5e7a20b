"""A site with content of every kind, and windows to look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.seeded import Content, seeded_site


@pytest.fixture(scope="session")
def content(native_engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Content]:
    """A site with content of every kind, made once: these tests look, and change nothing."""
    with seeded_site(native_engine, tmp_path_factory.mktemp("looked-at")) as made:
        yield made


@pytest.fixture
def shown(content: Content, engine: str, settings: Any) -> Content:
    """The seeded site, which the server shows during a test."""
    content.use(settings)
    return content


@pytest.fixture
def look(shown: Content, address: str, settings: Any, window: Callable[..., Page]) -> Callable[..., Page]:
    """A function that opens a window of a user of the seeded site."""
    settings.MEDIA_ROOT = shown.media
    return lambda who, **options: window(shown.users.get(who), **options)
