"""Before its time a deal is nowhere: every public address is walked."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from dealsite.data.catalogue import featured
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.table.ids import LAST_ULID
from dealsite.web import page_cache
from tests.builders import DAY, HOUR, NOW, make_brand, make_category, make_deal
from tests.pages import Route, routes

pytestmark = pytest.mark.usefixtures("shop")
BEHIND_A_SIGN_IN = ("cms/", "account/", "checkout/")
ELSEWHERE = {"healthz", "readyz", "media", "cart", "cart_badge"}  # show no deals, or the visitor's own
SHOW_NO_DEALS = {
    "about",
    "brands",
    "go",
    "sitemap",
    "sitemap_pages",
    "sitemap_brands",
    "robots",
    "security_txt",
    "metrics",
}
TOKEN = re.compile(rb'name="token" value="\w{26}"')  # another one at each showing


def public_routes() -> list[Route]:
    """Every address that needs no sign-in and shows something."""
    return [
        route
        for route in routes()
        if route.page.kind != "action"
        and route.name not in ELSEWHERE
        and not route.pattern.startswith(BEHIND_A_SIGN_IN)
    ]


def addresses(deal: Deal) -> dict[str, list[str]]:
    """Every public address, by name, with all that could betray a deal; a new page is among them by itself."""
    days = [(NOW + DAY * n).date().isoformat() for n in range(-2, 4)]
    older = make_deal(live_at=NOW - 2 * DAY).id
    places = ["", *(f"?{way}={deal_id}" for way in ("after", "before") for deal_id in (deal.id, older))]
    slugs = {"brands": [deal.card.brand], "categories": list(CATEGORIES), "deals": [deal.card.slug]}
    found: dict[str, list[str]] = {}
    for route in public_routes():
        values = {"day": days, "deal_id": [deal.id], "slug": slugs.get(route.pattern.partition("/")[0], [])}
        paths = [f"/{route.pattern}"]
        for name in re.findall(r"<str:(\w+)>", route.pattern):
            paths = [path.replace(f"<str:{name}>", value) for path in paths for value in values[name]]
        at = places if route.page.kind == "page" else [""]
        found.setdefault(route.name, []).extend(path + place for path in paths for place in at)
    brand = deal.card.brand
    found["search"] += [
        f"/search/?{asked}"
        for asked in (
            *("q=lamp", "q=lmap", f"q={deal.id}", "state=scheduled", "state=ending&sort=newest"),
            *(f"brand={brand}&q=shop", f"category={deal.card.category}", "q=nord&sort=price&page=1"),
        )
    ]
    return found


def test_a_scheduled_deal_is_on_no_public_page_until_its_minute(
    client: Client, feature, search_index, monkeypatch: pytest.MonkeyPatch
):
    for slug in CATEGORIES:
        make_category(slug)
    make_brand("Nordlicht")
    live_at = NOW + DAY + HOUR
    deal = make_deal(
        live_at=live_at, expires_at=live_at + DAY, title="Zanzibar lamp", link="https://shop.example/zanzibar"
    )
    for page in featured.PAGES:
        feature(page, [deal])
    walked = addresses(deal)
    over = make_deal(title="Nairobi lamp", stock=0)  # shows deals like it
    walked["deal"].append(f"/deals/{over.id}/{over.card.slug}/")
    search_index()
    paths = [path for some in walked.values() for path in some]

    def showing(path: str) -> bool:
        answers = [client.get(path), client.get(path, headers={"HX-Request": "true"})]
        return any("anzibar" in answer.content.decode() for answer in answers)

    def at(moment) -> None:
        monkeypatch.setattr("django.utils.timezone.now", lambda: moment)
        page_cache.forget()
        category_names.forget()

    for path in paths:
        # A cursor that visitors typed themselves may come back in links; nothing else may.
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
    assert set(walked) - seen == SHOW_NO_DEALS, "Name a public page in SHOW_NO_DEALS if it shows no deals."
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
