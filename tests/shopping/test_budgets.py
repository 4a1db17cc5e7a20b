"""What each page may ask of the table, whole or as a part: docs/access-patterns.md has the same figures."""

from __future__ import annotations

import pytest
from django.test import Client

from dealsite.web import page_cache
from tests.builders import DAY, HOUR, NOW, make_deal

pytestmark = [pytest.mark.usefixtures("shop"), pytest.mark.budget, pytest.mark.promise]

BATCH, QUERY, GET = "BatchGetItem", "Query", "GetItem"


def calls(client: Client, path: str, **headers: str) -> list[str]:
    """The operations that a page sent to the table."""
    page_cache.forget()
    response = client.get(path, headers=headers)
    assert response.status_code == 200
    return [operation for operation, *_ in response.wsgi_request.meter.log]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", [BATCH, QUERY, QUERY]),  # two days hold the 25 latest
        ("/deals.atom", [BATCH, QUERY, QUERY]),
        ("/categories/peripherals-networking/", [BATCH, QUERY]),  # all in one month
        ("/categories/peripherals-networking/deals.atom", [BATCH, QUERY]),
        ("/brands/nordlicht/", [BATCH, QUERY]),  # all in one year
        ("/brands/nordlicht/deals.atom", [BATCH, QUERY]),
        ("/editors-choice/", [GET]),
        ("/brands/", [QUERY]),
        ("/sitemap.xml", [QUERY]),
        ("/sitemaps/pages.xml", []),
        ("/sitemaps/brands.xml", [QUERY]),
        ("/sitemaps/deals-2026-11-20.xml", [QUERY, QUERY]),
        ("/robots.txt", []),
    ],
)
def test_a_page_keeps_to_its_budget(client: Client, path: str, expected: list[str]):
    for n in range(30):
        make_deal(live_at=NOW - n * HOUR)
    assert calls(client, path) == expected
    assert calls(client, path, **{"HX-Request": "true"}) == expected


def test_a_deal_page_is_one_batch_get_and_a_query_of_its_prices(client: Client):
    deal = make_deal()
    assert calls(client, f"/deals/{deal.id}/{deal.card.slug}/") == [BATCH, QUERY]


def test_a_further_page_costs_as_much_as_the_first(client: Client):
    deals = [make_deal(live_at=NOW - n * DAY / 40) for n in range(60)]
    assert calls(client, f"/?after={deals[10].id}") == [BATCH, QUERY, QUERY]
    assert calls(client, f"/brands/nordlicht/?after={deals[24].id}") == [BATCH, QUERY]
