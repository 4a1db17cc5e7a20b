"""What is compressed tells nobody a secret by its length: tokens are masked, and lengths are random."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest
from django.test import Client

from tests.attacks.conftest import browser_of
from tests.builders import EDITOR
from tests.seeded import Content


@pytest.mark.sample(quick=2)
@pytest.mark.parametrize("path", ["/cms/", "/cms/deals/", "/account/", "/"])
def test_pages_of_users_hold_masked_tokens_and_are_private(site: Content, path: str):
    browser = browser_of(site, EDITOR)
    first, second = (browser.get(path, headers={"Accept-Encoding": "gzip, br"}) for _ in range(2))
    tokens = [
        re.findall(rb'csrfmiddlewaretoken" value="(\w+)"', gzip.decompress(one.content))
        for one in (first, second)
    ]
    assert "private" in first["Cache-Control"]
    assert first["Content-Encoding"] == "gzip"
    assert not set(tokens[0]) & set(tokens[1])


def test_pages_feeds_and_the_sitemap_are_compressed_with_brotli(
    site: Content, settings: Any, subtests: pytest.Subtests
):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 2
    for path in ["/", "/search/?q=nordlicht", "/deals.atom", "/sitemap.xml", "/sitemap-pages.xml"]:
        with subtests.test(path=path):
            answer = Client().get(path, headers={"Accept-Encoding": "gzip, br"})
            assert answer.has_header("Content-Encoding")
