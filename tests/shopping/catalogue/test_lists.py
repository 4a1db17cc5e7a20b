"""The pages that list deals: whole, as a part for htmx, and page after page."""

from __future__ import annotations

import gzip
import hashlib
import re
from datetime import timedelta
from decimal import Decimal
from html import unescape
from string import ascii_uppercase

import pytest
from django.test import Client
from django.utils import translation

from dealsite.data.catalogue.cards import Picture
from dealsite.pictures import renditions
from dealsite.search.brands import FEW
from shopping.catalogue import pages
from shopping.templatetags.shopping import time_ago
from tests.builders import DAY, HOUR, LINK, NOW, STATED, make_brand, make_deal

pytestmark = pytest.mark.usefixtures("shop")
LISTS = ["/", "/brands/nordlicht/", "/categories/peripherals-networking/"]


def make_deals(count: int) -> list[str]:
    """Publish deals an hour apart; returns their ids, newest first."""
    return [make_deal(live_at=NOW - HOUR * n, title=f"Deal number {n}").id for n in range(count)]


def shown(html: str) -> list[str]:
    """The ids of the deals in the list of a page."""
    return re.findall(r'data-deal="(\w+)"', html.partition('id="deal-list"')[2])


def link(html: str, rel: str) -> str:
    """The query string that the last link of a kind leads to; empty where there is none."""
    links = re.findall(rf'href="(\?[^"]*)"\s+rel="{rel}"', html)
    return links[-1] if links else ""


@pytest.mark.parametrize("path", LISTS)
def test_a_list_is_walked_forth_and_back_by_plain_links(client: Client, path: str):
    ids = make_deals(60)
    first = client.get(path).content.decode()
    second = client.get(path + link(first, "next")).content.decode()
    third = client.get(path + link(second, "next")).content.decode()
    assert [*shown(first), *shown(second), *shown(third)] == ids
    assert (len(shown(first)), len(shown(second)), len(shown(third))) == (25, 25, 10)
    assert link(first, "prev") == link(third, "next") == ""
    assert shown(client.get(path + link(third, "prev")).content.decode()) == ids[25:50]
    assert shown(client.get(path + link(second, "prev")).content.decode()) == ids[:25]


@pytest.mark.parametrize("path", LISTS)
def test_htmx_gets_the_part_that_the_page_includes(client: Client, path: str):
    ids = make_deals(30)
    whole = client.get(path)
    part = client.get(path + link(whole.content.decode(), "next"), headers={"HX-Request": "true"})
    assert shown(part.content.decode()) == ids[25:]
    assert "<html" not in part.content.decode()
    assert 'id="pager"' in part.content.decode()
    assert "HX-Request" in whole["Vary"]
    assert "HX-Request" in part["Vary"]


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    "query",
    [
        "after=x",
        "after=01ARZ3NDEKTSV4RRFFQ69G5FAV&before=01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "before=%00",
        "after=%F0%9F%8D%8B",
        "after=81ARZ3NDEKTSV4RRFFQ69G5FAV",
        "after=DEAL%2301ARZ3NDEKTSV4RRFFQ69G5FA",
    ],
)
def test_a_malformed_cursor_is_a_400(client: Client, path: str, query: str):
    make_deal()
    assert client.get(f"{path}?{query}").status_code == 400


def test_further_pages_of_the_front_page_leave_out_what_is_featured(client: Client, feature):
    deals = [make_deal(live_at=NOW - HOUR * n) for n in range(27)]
    feature("front", [deals[3]])
    first = client.get("/").content.decode()
    assert 'id="featured-title"' in first
    assert first.count(f'data-deal="{deals[3].id}"') == 2
    assert 'id="featured-title"' not in client.get("/" + link(first, "next")).content.decode()


def test_editors_choice_keeps_the_editors_order(client: Client, feature):
    deals = [make_deal(live_at=NOW - HOUR * n) for n in (5, 2, 9)]
    feature("editors-choice", deals)
    html = client.get("/editors-choice/").content.decode()
    assert re.findall(r'data-deal="(\w+)"', html) == [deal.id for deal in deals]


def test_a_featured_deal_leaves_when_it_expires(client: Client, feature, monkeypatch: pytest.MonkeyPatch):
    deal = make_deal(expires_at=NOW + HOUR)
    feature("editors-choice", [deal])
    assert deal.id in client.get("/editors-choice/").content.decode()
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW + HOUR)
    assert deal.id not in client.get("/editors-choice/?again").content.decode()


def test_brands_stand_under_their_first_letters(client: Client):
    for name in ("Zephyr", "Ōmi", "3D Forge", "Aurelia", "alder"):
        make_brand(name)
    html = client.get("/brands/").content.decode()
    assert re.findall(r'id="letter-([^"]+)"', html) == ["0-9", "A", "O", "Z"]
    assert re.findall(r'href="#letter-([^"]+)"', html) == ["0-9", "A", "O", "Z"]
    assert re.findall(r'href="/brands/([^"]+)/"', html) == ["3d-forge", "alder", "aurelia", "omi", "zephyr"]
    assert "5 from A to Z" in html


def test_more_brands_than_a_page_shows_are_reached_by_letter_and_page(client: Client, monkeypatch):
    monkeypatch.setattr(pages, "BRANDS_A_PAGE", 2)
    for name in ("Alder", "Aurelia", "Azur", "Bela", "Ōmi"):
        make_brand(name)

    def shown(address):
        html = client.get(f"/brands/{address}").content.decode()
        return re.findall(r'href="/brands/([^"?]+)/"', html), html

    slugs, html = shown("")
    assert (slugs, re.findall(r"\d from A to Z", html)) == (["alder", "aurelia"], [])
    letters = re.findall(r'href="/brands/\?letter=([^"]+)"', html)
    assert letters == ["0-9", *ascii_uppercase, "%E2%80%A6"]
    following = re.search(r'href="([^"]+)" rel="next"', html)[1]
    assert (following, shown(following)[0]) == ("?after=aurelia", ["azur", "bela"])
    slugs, html = shown("?letter=A")
    assert (slugs, re.search(r'href="([^"]+)" rel="next"', html)[1]) == (
        ["alder", "aurelia"], "?letter=A&amp;after=aurelia",
    )  # fmt: skip
    assert re.search(r'aria-current="true"\s*>A</a>', html)
    assert shown("?letter=A&after=aurelia")[0] == ["azur"]
    assert shown("?letter=O")[0] == ["omi"]
    slugs, html = shown("?letter=Q")
    assert (slugs, "There are no brands here." in html) == ([], True)
    assert shown("?letter=x")[0] == ["alder", "aurelia"]
    canonical = {"?letter=A&x=1": "/brands/?letter=A", "?letter=x": "/brands/", "?letter=A&q=al": "/brands/"}
    for address, own in canonical.items():
        assert f'<link rel="canonical" href="http://127.0.0.1:8000{own}">' in shown(address)[1]
    assert 'rel="canonical" href="http://127.0.0.1:8000/">' in client.get("/?letter=A").content.decode()
    assert client.get("/brands/?after=No+Slug").status_code == 400
    assert len(re.findall("<sitemap>", client.get("/sitemap.xml").content.decode())) == 29
    assert re.findall("<loc>[^<]*(/brands/[^<]*)</loc>", client.get("/sitemaps/brands-1.xml").content.decode()) == [
        "/brands/?letter=A", "/brands/alder/", "/brands/aurelia/", "/brands/azur/",
    ]  # fmt: skip
    assert client.get("/sitemaps/brands-28.xml").status_code == 404


def test_brands_say_how_many_deals_are_live_and_those_with_most_stand_on_top(client: Client, search_index):
    prices = {"Alder": (9, 5), "Bela": (7,), "Cor & Co": (4, 3), "Dora": (), "Eva": (1,), "Fir": (2,)}
    for name, some in prices.items():
        make_brand(name)
        for price in some:
            make_deal(brand=name, price=Decimal(price), was_price=None)
    make_deal(brand="Dora", expires_at=NOW - HOUR / 2)
    make_brand("Gus")
    assert "top-title" not in client.get("/brands/").content.decode()  # there is no index yet
    search_index()
    top, _, below = client.get("/brands/").content.decode().partition("brand-columns")
    slugs = re.findall(r'class="brand-link"\s+href="/brands/([^"]+)/"', top)
    assert slugs == ["alder", "cor-co", "bela", "eva"]
    from_prices = re.findall(r"(\d) deals?,\s+from €(\d)", top)
    assert from_prices == [("2", "5"), ("2", "3"), ("1", "7"), ("1", "1")]
    assert re.findall(r'mark" aria-hidden="true">(\w+)<', below) == ["Al", "Be", "CC", "Do", "Ev", "Fi", "Gu"]
    assert re.findall(r'brand-count">\s+(\d)', below) == ["2", "1", "2", "1", "1"]
    assert "top-title" not in client.get("/brands/", {"q": "alder"}).content.decode()
    assert "others-title" not in client.get("/brands/gus/").content.decode()  # nothing says what it is like


def test_a_brand_is_found_by_words_of_any_of_its_names(client: Client, search_index):
    make_brand("Aurelia", also=["Gold & Sons"])
    make_brand("Zephyr")
    search_index()
    for typed, slugs in (
        ("AUR", ["aurelia"]),
        ("gold", ["aurelia"]),
        ("son", ["aurelia"]),
        ("", ["aurelia", "zephyr"]),
        ("x\0y<", []),
    ):
        html = client.get("/brands/", {"q": typed}).content.decode()
        assert re.findall(r'href="/brands/([^"]+)/"', html) == slugs
    assert "No brand is called “xy&lt;”." in html


@pytest.mark.parametrize("path", ["/brands/nobody/", "/categories/nothing/", "/brands/nobody/deals.atom"])
def test_what_does_not_exist_is_a_friendly_404(client: Client, path: str):
    response = client.get(path)
    assert response.status_code == 404
    assert "This page is not here" in response.content.decode()


def test_a_brand_in_another_script_has_its_page(client: Client):
    make_deal(brand="Ведро")
    html = client.get("/brands/").content.decode()
    (address,) = set(re.findall(r'href="(/brands/[^"]+/)"', html))
    response = client.get(address)
    assert response.status_code == 200
    assert f'<link rel="canonical" href="http://127.0.0.1:8000{address}">' in response.content.decode()


def test_an_empty_site_says_so(client: Client):
    for path in ("/", "/editors-choice/", "/brands/"):
        assert 'class="empty"' in client.get(path).content.decode()


@pytest.mark.parametrize(
    ("overrides", "state", "words"),
    [
        ({}, "", ""),
        ({"expires_at": NOW + 9 * DAY}, "live", "9 days left"),
        ({"expires_at": NOW + 47 * HOUR}, "ending", "47 hours left"),
        ({"expires_at": NOW + timedelta(minutes=61)}, "ending", "61 minutes left"),
        ({"expires_at": NOW + timedelta(seconds=30)}, "ending", "Less than a minute left"),
        ({"expires_at": NOW - timedelta(minutes=1)}, "expired", "Expired"),
        ({"stock": 0, "expires_at": NOW + DAY}, "sold_out", "Sold out"),
    ],
)
def test_a_card_says_how_long_its_deal_lasts(client: Client, overrides, state: str, words: str):
    make_deal(live_at=NOW - 2 * DAY, **overrides)
    html = client.get("/?look=cards.all", follow=True).content.decode()
    assert re.findall(r'data-state="(\w+)"', html) == ([state] if state else [])
    assert words in html


@pytest.mark.parametrize("path", LISTS)
def test_what_is_over_is_hidden_until_a_visitor_asks_for_it(client: Client, path: str):
    live = make_deal(live_at=NOW - HOUR)
    over = [make_deal(live_at=NOW - DAY, expires_at=NOW - HOUR), make_deal(live_at=NOW - 2 * DAY, stock=0)]

    html = client.get(path).content.decode()
    assert shown(html) == [live.id]
    (address,) = re.findall(r'class="view-link"\s+href="([^"]*)" rel="nofollow">\s+<span class="knob"', html)
    assert shown(client.get(path + unescape(address), follow=True).content.decode()) == [
        live.id,
        *(deal.id for deal in over),
    ]
    assert len(shown(client.get(path).content.decode())) == 3  # from now on
    assert shown(client.get(f"{path}?look=list", follow=True).content.decode()) == [live.id]


def test_a_list_is_shown_as_cards_or_lines_as_its_visitor_chose(client: Client):
    here, away = make_deal(), make_deal(link="https://shop.example/ad", is_ad=True)
    assert "offers-list" not in client.get("/").content.decode()
    response = client.get("/?tab=new&look=list&after=")
    assert (response.status_code, response["Location"]) == (302, "/?tab=new&after=")
    assert "no-store" in response["Cache-Control"]
    html = " ".join(client.get("/").content.decode().split())
    assert "offers-list" in html
    assert f'href="/go/{away.id}/" rel="nofollow sponsored noopener noreferrer"' in html
    assert f'href="/go/{here.id}/"' not in html
    assert '<b class="ad text-xs">Ad</b>' in html
    for wrong in ("", "x", "list.x"):
        client.get("/", {"look": wrong})
        assert "offers-list" in client.get("/").content.decode(), wrong


def test_the_front_page_is_less_than_ten_kilobytes(client: Client, feature, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(renditions, "are_made", lambda _name: True)
    words = hashlib.sha256(b"").hexdigest()
    deals = []
    for n in range(25):
        words = hashlib.sha256(words.encode()).hexdigest()
        picture = Picture(f"pictures/{words[:2]}/{words[:32]}", 1200, 900, f"A {words[32:40]} on a desk")
        title = f"{words[40:48].title()} {words[48:54]} lamp, with a shade, {n} cm"
        deals.append(make_deal(title=title, picture=picture, link=LINK, expires_at=NOW + (n + 1) * DAY))
    feature("front", deals[:12])
    assert len(gzip.compress(client.get("/").content)) < 10_000


@pytest.mark.parametrize("asked", ["?tab=new", "?tab=nonsense", "?after=", "?fbclid=1"])
def test_what_chooses_no_other_list_is_not_in_a_pages_own_address(client: Client, asked: str):
    for path in (*LISTS[:1], "/editors-choice/", "/brands/", "/about/terms/"):
        html = client.get(path + asked).content.decode()
        assert f'<link rel="canonical" href="http://127.0.0.1:8000{path}">' in html


@pytest.mark.parametrize(
    ("age", "words", "in_german"),
    [
        (timedelta(seconds=59), "just now", "gerade eben"),
        (timedelta(minutes=59), "59 minutes ago", "vor 59 Minuten"),
        (2 * DAY - HOUR, "1 day ago", "vor 1 Tag"),
        (2 * DAY, "2 days ago", "vor 2 Tagen"),
        (100 * DAY, "3 months ago", "vor 3 Monaten"),
        (364 * DAY, "11 months ago", "vor 11 Monaten"),
        (800 * DAY, "2 years ago", "vor 2 Jahren"),
    ],
)
def test_a_line_says_how_long_ago_its_deal_came(age: timedelta, words: str, in_german: str):
    assert time_ago(NOW - age, NOW) == words
    with translation.override("de"):
        assert time_ago(NOW - age, NOW) == in_german


@pytest.mark.parametrize("path", LISTS)
def test_what_ends_soon_stands_in_a_tab_the_soonest_first(client: Client, path: str):
    soon = [make_deal(expires_at=NOW + hours * HOUR) for hours in (47, 2, 30)]
    make_deal(expires_at=NOW + 49 * HOUR)
    make_deal()
    sold_out = make_deal(expires_at=NOW + HOUR, stock=0)
    with_all = client.get(f"{path}?tab=ending&look=cards.all", follow=True).content.decode()
    client.cookies.clear()
    html = client.get(f"{path}?tab=ending").content.decode()
    ids = [soon[1].id, soon[2].id, soon[0].id]
    assert shown(html) == ids
    assert shown(with_all) == [sold_out.id, *ids]
    assert f'<link rel="canonical" href="http://127.0.0.1:8000{path}?tab=ending">' in html
    assert re.search(r"<title>[^<]*Deals that end soon", html)
    assert re.search(r'href="\?tab=ending"\s+aria-current="page"', html)


def test_further_pages_of_a_tab_stay_in_it(client: Client):
    for minutes in range(27):
        make_deal(expires_at=NOW + HOUR + timedelta(minutes=minutes))
    onward = unescape(link(client.get("/?tab=ending").content.decode(), "next"))
    assert onward.startswith("?tab=ending&after=")
    html = client.get("/" + onward).content.decode()
    assert html.count("data-deal=") == 2
    assert unescape(link(html, "prev")).startswith("?tab=ending&before=")
    assert client.get("/?tab=ending&after=x").status_code == 400


def test_a_card_shows_prices_discount_and_voucher_code(client: Client):
    make_deal(price=Decimal("1079.90"), was_price=Decimal("1349.90"), voucher_code="SAVE20", **STATED)
    html = client.get("/").content.decode()
    assert '€1,079<span class="price-cents">.90</span>' in html
    assert "30-day low was €1,349.90" in html
    assert "−20%" in html
    assert '<span class="code">SAVE20</span>' in html


def test_the_voucher_code_of_an_expired_deal_is_not_offered(client: Client):
    make_deal(live_at=NOW - DAY, voucher_code="SAVE20", expires_at=NOW - HOUR)
    assert "SAVE20" not in client.get("/").content.decode()


def test_nothing_may_be_posted_to_a_page(client: Client):
    for path in ("/", "/editors-choice/", "/brands/", "/sitemap.xml", "/robots.txt", "/deals.atom"):
        assert client.post(path).status_code == 405


def head_and_brands(html: str) -> tuple[list[str], list[tuple[str, str]]]:
    """How many live deals the head of a page says, and the brands below it, each with its number."""
    brands = re.findall(r'class="asked"\s+href="/search/\?([^"]+)">[^<]+<span[^>]*>(\d+)<', html)
    return re.findall(r"(\d+) live deals?\s", html), brands


def test_a_category_says_how_many_deals_are_live_and_which_brands_have_them(client: Client, search_index):
    path, of = "/categories/peripherals-networking/", "category=peripherals-networking&amp;brand="
    make_deal()
    assert head_and_brands(client.get(path).content.decode()) == ([], [])  # there is no index yet
    for _ in range(2):
        make_deal(brand="Vela")
    make_deal(brand="Vela", category="toys-hobbies")
    make_deal(expires_at=NOW - HOUR / 2)
    search_index()
    found = head_and_brands(client.get(path).content.decode())
    assert found == (["3"], [(f"{of}vela", "2"), (f"{of}nordlicht", "1")])
    assert head_and_brands(client.get("/categories/grocery-household/").content.decode()) == (["0"], [])
    for number in range(8):
        make_deal(brand=f"Brand {number}")
    search_index()
    _, brands = head_and_brands(client.get(path).content.decode())
    assert (len(brands), brands[0]) == (8, (f"{of}vela", "2"))


def test_a_long_description_is_folded(client: Client):
    for slug, description in (("Short", "Quiet **keys**."), ("Long", "Quiet **keys**. " * 9), ("None", "")):
        make_brand(slug, description=description)
    short, long, none = (
        client.get(f"/brands/{slug}/").content.decode() for slug in ("short", "long", "none")
    )
    assert ('<details class="about' in short, '<details class="about' in long) == (False, True)
    assert (short.count("<strong>keys</strong>"), long.count("<strong>keys</strong>")) == (1, 9)
    assert 'class="about' not in none


def test_below_few_live_deals_of_a_brand_stand_those_of_others(client: Client, search_index):
    deals = [make_deal() for _ in range(FEW - 2)]
    deals.append(make_deal(category="toys-hobbies"))
    make_deal(expires_at=NOW - HOUR / 2)
    other, _ = make_deal(brand="Vela"), make_deal(brand="Vela", category="toys-hobbies")
    search_index()
    html = client.get("/brands/nordlicht/").content.decode()
    assert head_and_brands(html) == ([str(len(deals))], [])
    assert "Like Nordlicht: Peripherals" in html
    below = html.partition('id="others-title"')[2]
    assert re.findall(r'data-deal="(\w+)"', below) == [other.id]
    make_deal()
    search_index()
    assert "others-title" not in client.get("/brands/nordlicht/").content.decode()


def test_menus_mark_the_page_that_they_lead_to(client: Client):
    front = client.get("/").content.decode()
    menus = "".join(re.findall(r"<nav [^>]*(?:site-categories|More|Footer).*?</nav>", front, re.DOTALL))
    links = {*re.findall(r'<a href="(/[^"]*)"', menus)} - {"/deals.atom"}
    pages = {link for link in links if not link.startswith("/about/")}
    assert {"/", "/brands/", "/editors-choice/", LISTS[2]} < pages
    for link in pages:
        html = client.get(link).content.decode()
        assert re.search(rf'<a href="{link}"\s+aria-current="page"', html), link
        assert len(re.findall(r'<a href="/[^"]*"\s+aria-current="page"', html)) < 4, link
