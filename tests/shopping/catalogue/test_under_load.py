"""What many signed-in views of one page at once take of single partitions, as Amazon counts read units."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.test import Client

from benchmarks.capacity import PARTITION_READS
from dealsite.data.catalogue.deals import Deal
from dealsite.web import page_cache
from tests.builders import make_brand, make_category, make_deal
from tests.capacity import recorded
from tests.people import make_user, signed_in

VIEWS = 25  # a second, of one process
PROCESSES = 10_000 // VIEWS


@pytest.fixture
def browsers(shop: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Client]]:
    """As many users as there are views, on a site of an instant."""
    settings.DEALSITE_PAGE_CACHE_SECONDS = 2
    monkeypatch.setattr(page_cache, "clock", lambda: 100.0)
    page_cache.forget()
    yield [signed_in(make_user()) for _ in range(VIEWS)]
    page_cache.forget()


def test_ten_thousand_signed_in_views_of_one_page_a_second_overload_no_partition(
    browsers: list[Client], feature: Callable[[str, list[Deal]], None]
):
    make_brand("Nordlicht")
    make_category("toys-hobbies")
    deals = [make_deal(category="toys-hobbies") for _ in range(8)]
    feature("front", deals[:4])
    pages = [
        "/",
        "/categories/toys-hobbies/",
        "/brands/nordlicht/",
        f"/deals/{deals[0].id}/{deals[0].card.slug}/",
    ]
    for page in pages:
        with recorded() as units, ThreadPoolExecutor(8) as threads:
            answers = [*threads.map(lambda browser, page=page: browser.get(page), browsers)]
        assert {answer.status_code for answer in answers} == {200}
        hottest = max(units.read_of, key=units.read_of.__getitem__)
        assert units.read_of[hottest] * PROCESSES <= PARTITION_READS / 2, (page, hottest)
