"""Before its time a deal is nowhere: every public address is walked."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from dealsite.data.catalogue import featured
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.table.ids import LAST_ULID
from dealsite.web import page_cache
from tests.builders import DAY, HOUR, NOW, make_brand, make_category, make_deal
from tests.pages import routes

pytestmark = pytest.mark.usefixtures("shop")
BEHIND_A_SIGN_IN = ("/cms/", "/account/", "/checkout/")
ELSEWHERE = {"healthz", "readyz", "media", "cart", "cart_badge"}  # show no deals, or the visitor's own
TOKEN = re.compile(rb'name="token" value="\w{26}"')  # another one at each showing


def public_names() -> set[str]:
    """The name of every address that needs no sign-in."""
    shown = {route.name: f"/{route.pattern}" for route in routes() if route.page.kind != "action"}
    return {name for name, path in shown.items() if not path.startswith(BEHIND_A_SIGN_IN)} - ELSEWHERE


def addresses(deal) -> dict[str, list[str]]:
    """Every public address, by name, with what could betray a deal."""
    days = [(NOW + DAY * n).date().isoformat() for n in range(-2, 4)]
    older = make_deal(live_at=NOW - 2 * DAY).id
    places = ["", f"?after={deal.id}", f"?before={deal.id}", f"?before={older}", f"?after={older}"]
    brand = deal.card.brand
    return {
        "front_page": [f"/{place}" for place in places],
        "editors_choice": ["/editors-choice/"],
        "brands": ["/brands/"],
        "brand": [reverse("brand", args=[brand]) + place for place in places],
        "category": [reverse("category", args=[slug]) + place for slug in CATEGORIES for place in places],
        "deal": [f"/deals/{deal.id}/", f"/deals/{deal.id}/{deal.card.slug}/"],
        "front_page_feed": ["/deals.atom"],
        "brand_feed": [reverse("brand_feed", args=[brand])],
        "category_feed": [reverse("category_feed", args=[slug]) for slug in CATEGORIES],
        "sitemap": ["/sitemap.xml"],
        "sitemap_pages": ["/sitemaps/pages.xml"],
        "sitemap_brands": ["/sitemaps/brands.xml"],
        "sitemap_day": [reverse("sitemap_day", args=[day]) for day in days],
        "robots": ["/robots.txt"],
        "search": [
            f"/search/?{asked}"
            for asked in (
                *("", "q=lamp", "q=lmap", f"q={deal.id}", "state=scheduled", "state=ending&sort=newest"),
                *(f"brand={brand}&q=shop", f"category={deal.card.category}", "q=nord&sort=price&page=1"),
            )
        ],
    }


@pytest.mark.promise
def test_a_scheduled_deal_is_on_no_public_page_until_its_minute(
    client: Client, feature, search_index, monkeypatch: pytest.MonkeyPatch
):
    for slug in CATEGORIES:
        make_category(slug)
    make_brand("Nordlicht")
    live_at = NOW + DAY + HOUR
    deal = make_deal(live_at=live_at, title="Zanzibar lamp", link="https://shop.example/zanzibar")
    for page in featured.PAGES:
        feature(page, [deal])
    walked = addresses(deal)
    over = make_deal(title="Nairobi lamp", stock=0)  # shows deals like it
    walked["deal"].append(f"/deals/{over.id}/{over.card.slug}/")
    search_index()
    assert set(walked) == public_names()
    paths = [path for some in walked.values() for path in some]

    def showing(path: str) -> bool:
        answers = [client.get(path), client.get(path, headers={"HX-Request": "true"})]
        return any(deal.id in found or "anzibar" in found for found in (a.content.decode() for a in answers))

    def at(moment) -> None:
        monkeypatch.setattr("django.utils.timezone.now", lambda: moment)
        page_cache.forget()
        category_names.forget()

    for path in paths:
        # A cursor that a visitor typed himself may come back in links; nothing else may.
        html = client.get(path).content.decode()
        assert "anzibar" not in html, path
        assert f"/deals/{deal.id}" not in html, path
        assert f'data-deal="{deal.id}"' not in html, path
    assert client.get(f"/deals/{deal.id}/{deal.card.slug}/").status_code == 404
    day = live_at.date().isoformat()
    assert day not in client.get("/sitemap.xml").content.decode()
    assert client.get(f"/sitemaps/deals-{day}.xml").status_code == 404

    at(live_at)
    seen = {name for name, some in walked.items() if any(showing(path) for path in some)}
    assert seen == public_names() - {"brands", "sitemap", "sitemap_pages", "sitemap_brands", "robots"}
    assert day in client.get("/sitemap.xml").content.decode()


def test_no_public_page_counts_a_scheduled_deal(client: Client):
    make_deal()

    def pages() -> dict[str, bytes]:
        page_cache.forget()
        paths = ("/brands/nordlicht/", "/brands/", "/")
        return {path: TOKEN.sub(b"", client.get(path).content) for path in paths}

    before = pages()
    make_deal(live_at=NOW + DAY)
    assert pages() == before


def test_a_scheduled_deal_cannot_be_bought_and_is_not_known_either(client: Client):
    deal = make_deal(live_at=NOW + DAY, title="Zanzibar lamp")
    for deal_id in (deal.id, LAST_ULID):
        answer = client.post(
            "/cart/add/",
            {"offer": f"{deal_id}:79.90"},
            headers={"Sec-Fetch-Site": "same-origin"},
            follow=True,
        )
        assert "This deal is not offered any more." in answer.content.decode()
        assert "Zanzibar" not in answer.content.decode()
