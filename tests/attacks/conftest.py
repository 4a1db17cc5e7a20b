"""A site with content of every kind, made once, for those who attack it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.data.catalogue.display_names import category_names
from dealsite.web import page_cache
from tests.people import signed_in
from tests.seeded import Content, seeded_site


@pytest.fixture(scope="session")
def content(native_engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Content]:
    """The site; attacks change nothing in it that belongs to others."""
    with seeded_site(native_engine, tmp_path_factory.mktemp("attacked")) as made:
        yield made


@pytest.fixture
def site(content: Content, engine: str, settings: Any) -> Content:
    """That site, for one test."""
    content.use(settings)
    page_cache.forget()
    category_names.forget()
    return content


def browser_of(site: Content, who: str, **options: Any) -> Client:
    """Return a browser of a user of the site, or of a visitor; a mistake of ours is an answer as any other."""
    options = {"raise_request_exception": False} | options
    return signed_in(site.users[who], now=timezone.now(), **options) if who else Client(**options)


def body_of(answer: Any) -> str:
    """Return an answer's text, its file closed."""
    try:
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    finally:
        answer.close()
    return content.decode("utf-8", "replace")
