"""The pages about the site, in the shop."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import translation

from dealsite.data.editing import site_pages
from dealsite.data.editing.site_pages import sample
from dealsite.data.entities.operations import SITE_PAGES
from dealsite.web import page_cache
from tests.builders import NOW

pytestmark = pytest.mark.usefixtures("fresh_table")
TRUE = {"prices", "order"}  # they say how the site works


def text(client: Client, slug: str) -> str:
    page_cache.forget()
    response = client.get(f"/about/{slug}/")
    assert response.status_code == 200
    return response.content.decode()


def test_each_page_has_a_title_and_a_sample_in_both_languages_which_says_that_it_is_one():
    for slug in SITE_PAGES:
        assert sample(slug, "en-gb") != sample(slug, "de")
        for language, words in (("en", "This is a sample"), ("de", "Dies ist ein Muster")):
            assert (words in sample(slug, language)) == (slug not in TRUE)


@pytest.mark.parametrize("slug", SITE_PAGES)
def test_a_page_shows_its_sample_until_an_admin_writes_it(client: Client, slug: str):
    html = text(client, slug)
    assert html.count("<h1") == 1
    assert ("This is a sample" in html) == (slug not in TRUE)
    assert f'href="/about/{slug}/"' in html.partition("<footer")[2]
    with translation.override("en"):
        assert f">{SITE_PAGES[slug]}</h1>" in html
    site_pages.edit(site_pages.get(slug), en="Ours, **now**.<script>", de="", by="ada", now=NOW)
    html = text(client, slug)
    assert "<p>Ours, <strong>now</strong>.&lt;script&gt;</p>" in html
    assert "sample" not in html


def test_a_page_that_there_is_not_is_not_found(client: Client):
    assert client.get("/about/careers/").status_code == 404


def test_visitors_share_a_page_for_two_seconds(client: Client, settings):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 2.0
    before = text(client, "terms")
    site_pages.edit(site_pages.get("terms"), en="Ours.", de="", by="ada", now=NOW)
    assert client.get("/about/terms/").content.decode() == before
