"""What machines read: Atom feeds, sitemaps, robots.txt, security.txt."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from django.test import Client

from tests.builders import DAY, HOUR, NOW, make_deal

pytestmark = pytest.mark.usefixtures("shop")
ATOM = {"atom": "http://www.w3.org/2005/Atom"}
FEEDS = ["/deals.atom", "/brands/nordlicht/deals.atom", "/categories/peripherals-networking/deals.atom"]


def locations(client: Client, path: str) -> list[str]:
    response = client.get(path)
    assert response["Content-Type"] == "application/xml; charset=utf-8"
    root = ElementTree.fromstring(response.content)  # noqa: S314 - it is our own
    return [found.text or "" for found in root.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]


@pytest.mark.parametrize("path", FEEDS)
def test_a_feed_holds_the_latest_deals_newest_first(client: Client, path: str):
    deals = [make_deal(live_at=NOW - HOUR * n, title=f"Deal <{n}> & more") for n in range(30)]
    response = client.get(path)
    assert response["Content-Type"] == "application/atom+xml; charset=utf-8"
    root = ElementTree.fromstring(response.content)  # noqa: S314
    entries = root.findall("atom:entry", ATOM)
    assert [entry.findtext("atom:title", "", ATOM) for entry in entries] == [
        f"Deal <{n}> & more" for n in range(25)
    ]
    assert entries[0].findtext("atom:id", "", ATOM) == f"http://127.0.0.1:8000/deals/{deals[0].id}/"
    assert entries[0].findtext("atom:published", "", ATOM) == "2026-11-21T12:00:00+00:00"
    link = entries[0].find("atom:link", ATOM)
    assert link is not None
    assert link.get("href") == f"http://127.0.0.1:8000/deals/{deals[0].id}/{deals[0].card.slug}/"
    own = [found.get("href") for found in root.findall("atom:link", ATOM) if found.get("rel") == "self"]
    assert own == [f"http://127.0.0.1:8000{path}"]


def test_a_character_that_xml_cannot_hold_does_not_spoil_the_feed(client: Client):
    make_deal(title="Lamp\ufffe with a \uffffshade")
    root = ElementTree.fromstring(client.get("/deals.atom").content)  # noqa: S314
    assert root.findtext("atom:entry/atom:title", "", ATOM) == "Lamp with a shade"


def test_the_summary_of_a_feed_is_html_which_a_sign_in_a_text_does_not_end(client: Client):
    make_deal(brand="Lamp<br>Co")
    root = ElementTree.fromstring(client.get("/deals.atom").content)  # noqa: S314
    summary = root.find("atom:entry/atom:summary", ATOM)
    assert summary is not None
    assert (summary.get("type"), (summary.text or "")[:17]) == ("html", "Lamp&lt;br&gt;Co:")


@pytest.mark.parametrize("page", ["/", "/brands/nordlicht/", "/categories/peripherals-networking/"])
def test_each_list_names_its_feed(client: Client, page: str):
    make_deal()
    feed = "/deals.atom" if page == "/" else f"{page}deals.atom"
    html = " ".join(client.get(page).content.decode().split())
    assert f'<link rel="alternate" type="application/atom+xml" href="{feed}"' in html


def test_the_sitemap_leads_to_every_deal_brand_and_page(client: Client):
    made = [make_deal(live_at=NOW - DAY * n, brand=f"Brand {n}") for n in (1, 1, 40, 400)]
    found = {
        location
        for file in locations(client, "/sitemap.xml")
        for location in locations(client, file.removeprefix("http://127.0.0.1:8000"))
    }
    site = "http://127.0.0.1:8000"
    assert {f"{site}/deals/{deal.id}/{deal.card.slug}/" for deal in made} < found
    assert f"{site}/about/terms/" in found
    assert {f"{site}/", f"{site}/editors-choice/", f"{site}/brands/", f"{site}/brands/brand-400/"} < found
    assert len([location for location in found if "/categories/" in location]) == 8
    for location in found:
        assert client.get(location.removeprefix(site)).status_code == 200, location


@pytest.mark.parametrize(
    "day", ["2026-11-20", "2026-11-22", "x", "20261121", "2026-W47-6", "9999-99-99", "0000-00-00"]
)
def test_a_day_without_deals_has_no_sitemap(client: Client, day: str):
    make_deal()
    assert client.get(f"/sitemaps/deals-{day}.xml").status_code == 404


def test_robots_may_not_visit_accounts_and_cms(client: Client):
    lines = client.get("/robots.txt").content.decode().splitlines()
    assert {"Disallow: /account/", "Disallow: /cms/", "Sitemap: http://127.0.0.1:8000/sitemap.xml"} <= set(
        lines
    )


def test_security_txt_says_where_to_report_and_until_when(client: Client, settings):
    settings.DEALSITE_SECURITY_CONTACT = "mailto:security@deals.example"
    response = client.get("/.well-known/security.txt")
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode().splitlines() == [
        "Contact: mailto:security@deals.example",
        "Expires: 2027-05-20T00:00:00Z",  # stands still for a day, and lies within a year
        "Preferred-Languages: en, de",
        "Canonical: http://127.0.0.1:8000/.well-known/security.txt",
    ]


def test_a_site_without_a_contact_has_no_security_txt(client: Client, settings):
    settings.DEALSITE_SECURITY_CONTACT = ""
    assert client.get("/.well-known/security.txt").status_code == 404
