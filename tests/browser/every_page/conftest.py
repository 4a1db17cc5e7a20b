"""A site with content of every kind, and windows to look at it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import override_settings
from playwright.sync_api import Page

from dealsite.data import (
    checks,
    schema,
    table,
)
from tests.browser.every_page.furnished import Content, furnish
from tests.searching import index_table


@pytest.fixture(scope="session")
def content(native_engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Content]:
    """A site with content of every kind, made once: these tests look, and change nothing."""
    media, table_name = tmp_path_factory.mktemp("media"), f"looked-at-{os.getpid()}"
    search = tmp_path_factory.mktemp("search")
    settings: dict[str, Any] = {"DYNAMODB_ENDPOINT_URL": native_engine, "DEALSITE_TABLE": table_name}
    var = tmp_path_factory.mktemp("var")
    settings |= {"MEDIA_ROOT": media, "SEARCH_ROOT": search, "VAR": var, "DEALSITE_LAKE": ""}
    with override_settings(**settings):
        table.reset()
        schema.create_table()
        made = furnish(table_name, media, search, var)
        index_table()
        table.reset()
    yield made
    with override_settings(**settings):
        table.reset()
        assert [str(problem) for problem in checks.find()] == []
        table.reset()


@pytest.fixture
def look(content: Content, engine: str, address: str, settings: Any, window: Callable[..., Page]) -> Any:
    """A function that opens a window of a user of the furnished site."""
    settings.DEALSITE_TABLE, settings.MEDIA_ROOT = content.table_name, content.media
    settings.SEARCH_ROOT, settings.VAR = content.search, content.var
    return lambda who, **options: window(content.users.get(who), **options)
