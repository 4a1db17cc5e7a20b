"""The search page, whole and as a part; the few deals under the box of every page; deals like one that is over."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from dealsite.data.catalogue import drafts
from dealsite.web import page_cache
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    NOW,
    PICTURE,
    STATED,
    make_brand,
    make_content,
    make_deal,
    make_draft,
)

pytestmark = pytest.mark.usefixtures("shop")
QUICK = {"HX-Request": "true", "HX-Target": "quick-header"}
PART = {"HX-Request": "true", "HX-Target": "found"}


def titles(html: str) -> list[str]:
    return re.findall(r'class="(?:deal|offer)-link"[^>]*>([^<]+)</a>', html)


def get(client: Client, headers: dict[str, str] | None = None, **asked: Any) -> str:
    response = client.get("/search/", asked, headers=headers or {})
    assert response.status_code == 200
    return response.content.decode()


@pytest.fixture
def lamps(shop: None, search_index) -> None:
    make_deal(title="Brass lamp", price=Decimal(40), was_price=Decimal(80), **STATED, live_at=NOW - 3 * HOUR)
    make_deal(
        title="Steel lamp",
        price=Decimal(10),
        was_price=None,
        brand="Vela",
        category="home-furniture",
        link="https://vela.example/lamp",
    )
    make_deal(title="Old lamp", price=Decimal(5), was_price=None, expires_at=NOW - HOUR / 2)
    make_deal(title="Lamp to come", live_at=NOW + HOUR)
    make_deal(title="Keyboard", live_at=NOW - 9 * HOUR)
    make_draft(title="Lamp in the making")
    search_index()


def plain(html: str) -> str:
    """The text of a page, without its markup."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


@pytest.mark.usefixtures("lamps")
def test_the_page_shows_what_is_found_and_what_is_over_below_counted_apart(client: Client):
    html = get(client, q="lamps")
    assert (set(titles(html)[:2]), titles(html)[2:]) == ({"Steel lamp", "Brass lamp"}, ["Old lamp"])
    assert "2 live deals for “<bdi>lamps</bdi>”" in html
    assert html.index("1 expired or sold-out deal") < html.index("Old lamp")
    assert '<meta name="robots" content="noindex">' in html
    assert 'name="q" value="lamps"' in re.sub(r"\s+", " ", html)
    assert "Did you mean" not in html


@pytest.mark.usefixtures("lamps")
@pytest.mark.parametrize(
    ("words", "said"), [("steel zzzz", "we left out “ zzzz ”"), ("stel", "Found by “ steel ”")]
)
def test_near_ones_say_what_is_near_about_them(client: Client, words, said):
    html = get(client, q=words)
    assert f"No live deal for “ {words} ”" in plain(html)
    assert f"Not quite “ {words} ”, but near" in plain(html)
    assert said in plain(html)
    assert titles(html)[:1] == ["Steel lamp"]
    assert 'href="/categories/home-furniture/"' in html
    assert "New in Home &amp; Furniture" in html


@pytest.mark.parametrize(
    "address", ["/", "/categories/peripherals-networking/", "/brands/nordlicht/", "/search/?q=deal"]
)
def test_the_head_asks_for_the_picture_of_the_first_card(client: Client, search_index, address):
    make_deal(title="Deal", picture=PICTURE)
    search_index()
    html = client.get(address).content.decode()
    (wanted,) = re.findall(r'rel="preload" as="image"[^>]* imagesrcset="([^"]+)" imagesizes="([^"]+)"', html)
    assert re.findall(r'srcset="([^"]+)" sizes="([^"]+)"', html.split("<main")[1])[0] == wanted


@pytest.mark.usefixtures("lamps")
def test_did_you_mean_leads_to_what_was_meant(client: Client):
    html = get(client, q="stel lamp", price_to="20")
    meant = unescape(re.search(r'Did you mean\s*<a class="text-link" href="([^"]+)"', html)[1])
    assert meant == "/search/?q=steel+lamp&price_to=20"
    assert titles(client.get(meant).content.decode())[0] == "Steel lamp"
    assert "steel lamp (1 deal)?" in plain(html)


@pytest.mark.usefixtures("lamps")
def test_a_category_is_proposed_in_a_sentence_of_its_own(client: Client):
    nothing = plain(get(client, q="steel zzzz"))
    assert "Did you mean" not in nothing
    assert "You can also look in" in nothing


def test_where_only_what_is_over_fits_there_are_live_ones_like_it(client: Client, search_index):
    make_deal(title="Copper kettle", category="home-furniture", expires_at=NOW - HOUR / 2)
    make_deal(title="Copper pot", category="home-furniture")
    make_deal(title="Cable", live_at=NOW - HOUR)
    search_index()
    html = get(client, q="kettle")
    like, over = html.index("Nearest: live deals like what is over"), html.index("1 expired or sold-out deal")
    assert like < over < html.index("New in Home &amp; Furniture")
    assert titles(html) == ["Copper pot", "Cable", "Copper kettle", "Copper pot"]
    nothing = get(client, q="zzzz")
    assert (titles(nothing), "Try fewer or other words." in nothing) == (["Copper pot", "Cable"], True)
    assert "New deals" in nothing


@pytest.mark.usefixtures("lamps")
@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ({"sort": "price"}, ["Steel lamp", "Brass lamp", "Old lamp"]),
        ({"sort": "discount"}, ["Brass lamp", "Steel lamp", "Old lamp"]),
        ({"sort": "newest", "expired": "hide"}, ["Steel lamp", "Brass lamp"]),
        (
            {"sort": "newest", "brand": ["vela", "nordlicht", "nobody"]},
            ["Steel lamp", "Brass lamp", "Old lamp"],
        ),
        ({"brand": "vela"}, ["Steel lamp"]),
        ({"category": "home-furniture"}, ["Steel lamp"]),
        ({"sold": ["shop", "code"]}, ["Steel lamp"]),
        ({"off": "50"}, ["Brass lamp"]),
        ({"price_from": "39,90"}, ["Brass lamp"]),
        ({"price_from": "5", "price_to": "10.00", "sort": "price"}, ["Steel lamp", "Old lamp"]),
        (
            {
                "category": "nonsense",
                "sold": "me",
                "sort": "\x00",
                "brand": "A B",
                "price_to": "",
                "off": "3",
            },
            None,
        ),
        ({"expired": "x", "off": "-10", "brand": ["\x00"] * 99, "state": "draft"}, None),
    ],
)
def test_filters_and_order_stand_in_the_address(client: Client, asked, listed):
    html = get(client, q="lamp", **asked)
    assert titles(html) == listed if listed else len(titles(html)) == 3


@pytest.mark.usefixtures("lamps")
def test_without_words_all_deals_are_there_newest_first(client: Client):
    html = get(client)
    assert titles(html) == ["Steel lamp", "Brass lamp", "Keyboard", "Old lamp"]
    assert "3 live deals" in html


@pytest.mark.usefixtures("lamps")
@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"price_from": "cheap"}, "Enter an amount such as 20 or 19.90."),
        ({"price_to": "-1"}, "Enter an amount such as 20 or 19.90."),
        ({"price_from": "1e5"}, "Enter an amount such as 20 or 19.90."),
        ({"price_from": "9" * 99}, "Enter an amount such as 20 or 19.90."),
        ({"price_from": "20", "price_to": "10"}, "This must not be below the other price."),
    ],
)
def test_a_price_that_is_none_is_said_and_filters_nothing(client: Client, asked, sentence):
    html = get(client, q="lamp", **asked)
    assert sentence in html
    assert 'aria-invalid="true"' in html
    assert len(titles(html)) == 3


@pytest.mark.usefixtures("lamps")
def test_the_part_has_the_results_the_choices_and_an_address_to_share(client: Client):
    response = client.get("/search/", {"q": "lamp", "category": "", "sort": "price"}, headers=PART)
    html = response.content.decode()
    assert "<html" not in html
    assert titles(html) == ["Steel lamp", "Brass lamp", "Old lamp"]
    assert response.headers["HX-Replace-Url"] == "/search/?q=lamp&sort=price"
    assert json.loads(response.headers["HX-Trigger"]) == {"announce": {"text": "2 live deals found."}}
    assert {"HX-Request", "HX-Target"} <= set(response.headers["Vary"].split(", "))
    facets = ("sold", "category", "brand", "off")
    for part in ("search-order", *(f"facet-{name}" for name in facets), "price-errors"):
        assert re.search(rf'id="{part}"[^>]*hx-swap-oob="true"', html), part
    assert "hx-swap-oob" not in get(client, q="lamp")
    near = client.get("/search/", {"q": "stel"}, headers=PART)
    assert "No live deal found, but 1 near." in near.headers["HX-Trigger"]


@pytest.mark.usefixtures("lamps")
def test_facets_say_how_many_and_none_leaves_nothing(client: Client):
    html = get(client, q="lamp", brand="vela", price_to="1000")
    form = html[html.index('id="search-form"') : html.index('id="found"')]
    choices = re.findall(
        r'name="(\w+)"\s+value="([^"]+)"\s*(checked)?>\s*<span[^>]*>([^<]+)</span>\s*<span>(\d+)', form
    )
    assert [(name, value, bool(checked), label, n) for name, value, checked, label, n in choices] == [
        ("sold", "shop", False, "At a shop", "1"),
        ("category", "home-furniture", False, "Home &amp; Furniture", "1"),
        ("brand", "vela", True, "Vela", "1"),
        ("brand", "nordlicht", False, "Nordlicht", "1"),
    ]
    assert re.search(r'id="facet-off"[^>]*hidden', form)
    assert 'name="q" value="lamp"' in form


@pytest.mark.usefixtures("lamps")
def test_what_is_chosen_stands_above_the_results_each_to_be_taken_away(client: Client):
    html = get(client, q="lamp", brand=["vela", "nobody"], price_to="1000", off="10", sort="price")
    row = html[html.index('class="asked-row"') :]
    assert [
        " ".join(plain(words).split())
        for _, words in re.findall(r'class="asked"\s+href="([^"]+)">(.*?)</a>', row, re.DOTALL)
    ] == [
        f"{words} (take this filter away)"
        for words in ("Vela", "nobody", "up to €1,000.00", "reduced by at least 10%")
    ]
    ways = [
        parse_qs(urlsplit(unescape(way)).query) for way in re.findall(r'class="asked"\s+href="([^"]+)"', row)
    ]
    every = {
        "q": ["lamp"],
        "brand": ["vela", "nobody"],
        "price_to": ["1000"],
        "off": ["10"],
        "sort": ["price"],
    }
    assert ways == [
        every | {"brand": ["nobody"]},
        every | {"brand": ["vela"]},
        {name: value for name, value in every.items() if name != "price_to"},
        {name: value for name, value in every.items() if name != "off"},
    ]
    clear = unescape(re.search(r'href="([^"]+)">Clear all', row)[1])
    assert clear == "/search/?q=lamp&sort=price"
    assert "asked-row" not in get(client, q="lamp")
    assert "up to €0.00" in get(client, q="lamp", price_to="0")


@pytest.mark.usefixtures("lamps")
def test_what_is_over_is_hidden_by_a_switch_that_counts_it(client: Client):
    for expired, other, on in (
        ("", "/search/?q=lamp&expired=hide", False),
        ("hide", "/search/?q=lamp", True),
    ):
        html = get(client, q="lamp", expired=expired)
        switch = re.search(r'<a class="facet-link[^"]*"\s+href="([^"]+)">(.*?)</a>', html, re.DOTALL)
        assert unescape(switch[1]) == other
        assert ("data-on" in switch[2], plain(switch[2]).split()[-1]) == (on, "1")
        assert ("Old lamp" in html) is not on


def test_pages_lead_on_and_back_by_plain_links_that_keep_what_was_asked(client: Client, search_index):
    for number in range(30):
        make_deal(title=f"Lamp {number}", live_at=NOW - (number + 1) * HOUR)
    search_index()
    first = get(client, q="lamp", sort="newest", expired="hide")
    assert titles(first) == [f"Lamp {n}" for n in range(25)]
    onward = unescape(re.search(r'href="([^"]+)" rel="next"', first)[1])
    assert parse_qs(urlsplit(onward).query) == {
        "q": ["lamp"],
        "sort": ["newest"],
        "expired": ["hide"],
        "page": ["2"],
    }
    second = client.get(f"/search/{onward}").content.decode()
    assert titles(second) == [f"Lamp {n}" for n in range(25, 30)]
    assert 'rel="next"' not in second
    back = unescape(re.search(r'href="([^"]+)" rel="prev"', second)[1])
    assert titles(client.get(f"/search/{back}").content.decode()) == titles(first)
    beyond = get(client, q="lamp", page="9")
    assert "There are no more deals on this page." in beyond
    assert 'page=2"' in beyond


@pytest.mark.parametrize("page", ["0", "-1", "x", "1.5", "201", "9" * 400, "\x00", "²"])
def test_a_damaged_page_is_400(client: Client, page):
    assert client.get("/search/", {"page": page}).status_code == 400


@pytest.mark.usefixtures("lamps")
@pytest.mark.parametrize(
    "words",
    [
        "x" * 400_000,
        "\x00",
        "\u202elamp\u202c",
        "<script>alert(1)</script>",
        '"lamp',
        "lamp AND",
        "title:lamp~2^9",
        "' OR 1=1 --",
        "{{ 7*7 }}",
    ],
)
@pytest.mark.parametrize("headers", [{}, PART, QUICK])
def test_no_words_are_an_error_nor_markup(client: Client, words, headers):
    html = get(client, headers, q=words)
    assert "<script>alert" not in html
    assert "\u202e" not in html
    assert len(html) < 100_000


@pytest.mark.usefixtures("lamps")
def test_some_deals_show_under_the_box(client: Client):
    html = get(client, QUICK, q="lamp")
    assert re.findall(r'dir="auto">([^<]+)</span>', html)[2] == "Old lamp"
    assert "Show all 3 deals" in html
    assert 'href="/search/?q=lamp"' in html
    assert html.count("No longer available") == 1
    assert "No deals found." in get(client, QUICK, q="zzzz")
    assert get(client, QUICK, q=" ").strip() == ""


@pytest.mark.parametrize("made", [False, True])
def test_without_an_index_the_pages_say_so(client: Client, search_index, made):
    if made:
        search_index()  # of an empty table
    deal = make_deal(expires_at=NOW - HOUR / 2)
    assert "Search is being set up" in get(client, q="lamp")
    assert "Search is being set up" in get(client, PART, q="lamp")
    assert "Search is being set up" in get(client, QUICK, q="lamp")
    html = client.get(f"/deals/{deal.id}/{deal.card.slug}/").content.decode()
    assert "This deal expired" in html
    assert "Similar, live now" not in html


@pytest.mark.usefixtures("lamps")
def test_searching_asks_nothing_of_the_table(client: Client):
    for headers in ({}, PART, QUICK):
        response = client.get("/search/", {"q": "lamp"}, headers=headers)
        assert response.wsgi_request.meter.log == []  # type: ignore[attr-defined]


def test_every_page_has_the_box_and_the_same_for_all_visitors(client: Client, settings):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 60
    make_deal()
    for path in ("/", "/brands/", "/editors-choice/", "/account/sign-in/"):
        html = client.get(path).content.decode()
        assert 'role="search"' in html
        assert 'action="/search/"' in html
    page_cache.forget()
    first = client.get("/")
    assert first.content == client.get("/").content
    assert "csrftoken" not in first.cookies


@pytest.mark.parametrize("over", [{"expires_at": NOW - HOUR / 2}, {"stock": 0}])
def test_a_deal_that_is_over_shows_live_ones_like_it(client: Client, search_index, over):
    deal = make_deal(title="Brass lamp", category="home-furniture", **over)
    make_deal(title="Steel lamp", category="home-furniture")
    make_deal(title="Lamp that is over", category="home-furniture", expires_at=NOW - HOUR / 2)
    make_deal(title="Lamp to come", category="home-furniture", live_at=NOW + DAY)
    search_index()
    response = client.get(f"/deals/{deal.id}/{deal.card.slug}/")
    html = response.content.decode()
    assert titles(html) == ["Steel lamp"]
    assert "Similar, live now" in html
    assert "More of" not in html
    assert len(response.wsgi_request.meter.log) == 2  # type: ignore[attr-defined]


def test_what_is_found_can_be_put_into_the_cart(client: Client, search_index):
    make_deal(title="Steel lamp")
    other = make_deal(title="Brass lamp")
    search_index()
    for path in ("/search/?q=steel", f"/deals/{other.id}/{other.card.slug}/"):
        html = client.get(path).content.decode()
        assert "Add to cart: Steel lamp" in html
        assert html.count('id="add-form"') == 1
        assert not re.search(r"<form(?:(?!</form>).)*<form", html, re.DOTALL), path  # no form within a form


def test_a_deal_shows_more_of_its_brand_and_what_is_similar_beside_it(client: Client, search_index):
    deal = make_deal(title="Brass lamp")
    of_brand = [
        make_deal(title=f"Nordlicht lamp {number}", live_at=NOW - (6 - number) * HOUR) for number in range(5)
    ]
    make_deal(title="Brass kettle", brand="copperleaf", was_price=Decimal(999), **STATED)
    search_index()
    response = client.get(f"/deals/{deal.id}/{deal.card.slug}/")
    html, _, beside = response.content.decode().partition("Similar, live now")
    assert titles(html) == [f"Nordlicht lamp {number}" for number in (4, 3, 2, 1)]
    assert titles(beside) == ["Brass kettle", of_brand[0].card.title]
    assert "%" not in beside.partition("</aside>")[0]  # what it compares with has no room there
    assert len(response.wsgi_request.meter.log) == 2  # type: ignore[attr-defined]


def test_a_draft_and_its_change_are_nowhere_for_shoppers(client: Client, search_index):
    make_deal(title="Something")
    draft = make_draft(title="Zanzibar lamp", brand="Nordlicht")
    drafts.save(
        draft, make_content(title="Zanzibar chair"), version=1, by=EDITOR, now=NOW, brand=make_brand()
    )
    search_index()
    for headers in ({}, PART, QUICK):
        for text in ("zanzibar", "zanzibr", draft.id, "chair"):
            assert "Zanzibar" not in get(client, headers, q=text)
