"""The page of a deal."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from dealsite.data.catalogue.cards import Picture
from shopping.templatetags.shopping import deal_card
from tests.builders import CONDITION, DAY, HOUR, LINK, NOW, PICTURE, STATED, make_deal

pytestmark = pytest.mark.usefixtures("shop")

HOSTILE = "\"'><script>alert(1)</script></title></script><!-- {{ 7*7 }} \u2028 &amp;"


def address_of(deal) -> str:
    return f"/deals/{deal.id}/{deal.card.slug}/"


def structured_data(html: str) -> Any:
    (block,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', html, re.DOTALL)
    return json.loads(block)


def test_a_deal_page_shows_the_deal(client: Client):
    deal = make_deal(stock=3, expires_at=NOW + 3 * DAY, picture=PICTURE, **STATED)
    html = client.get(address_of(deal)).content.decode()
    for words in (
        "Mechanical keyboard</h1>",
        "€79",
        "€119.00</s>",
        "−32%",
        "You pay <b>€39.10</b> less",
        "3 in stock",
    ):
        assert words in html
    assert "24 Nov 2026, 12:00 UTC" in html
    assert "3 days left" in html
    assert 'alt="A keyboard on a desk"' in html


def test_the_outgoing_link_tells_the_shop_nothing(client: Client):
    deal = make_deal(link="https://shop.example/a?b=1&c=2")
    html = client.get(address_of(deal)).content.decode()
    in_the_box, in_the_bar = re.findall(rf'<a[^>]*href="/go/{deal.id}/"([^>]*)>', html)
    assert deal.content.link not in html
    assert 'rel="nofollow noopener noreferrer"' in in_the_box
    assert 'rel="nofollow noopener noreferrer"' in in_the_bar
    deal = make_deal(link="https://shop.example/ad", is_ad=True)
    ad = client.get(address_of(deal)).content.decode()
    for attributes in re.findall(rf'<a[^>]*href="/go/{deal.id}/"([^>]*)>', ad):
        assert 'rel="nofollow sponsored noopener noreferrer"' in attributes
    assert '<b class="ad">Ad</b>' in ad


CART, GO, CODE = "Add to cart\n", "Go to shop.example\n", 'data-copy="SAVE"'


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ({}, {CART, "Sold and sent by Dealsite", "Sold here"}),
        ({"stock": 3, "voucher_code": "SAVE"}, {CART, "Sold and sent by Dealsite", "Sold here"}),
        ({"link": LINK}, {GO, "Sold by shop.example"}),
        ({"voucher_code": "SAVE"}, {GO, CODE, "Sold by shop.example"}),
    ],
)
def test_a_deal_has_the_buttons_of_its_kind_only(client: Client, content, shown):
    deal = make_deal(**content)
    (page,) = re.findall(r"<article.*</article>", client.get(address_of(deal)).content.decode(), re.DOTALL)
    card = str(deal_card(deal.card, NOW))
    every = {CART, GO, CODE, "Sold and sent by Dealsite", "Sold by shop.example"}
    assert {words for words in every if words in page} == shown & every
    assert ("Add to cart" in card, ">SAVE<" in card) == (CART in shown, CODE in shown)
    assert [words for words in ("Sold here", "shop.example") if words in card] == [
        "Sold here" if CART in shown else "shop.example"
    ]


def test_what_there_is_instead_of_a_price_stands_in_its_place(client: Client):
    deal = make_deal(title="Shoes", **CONDITION, voucher_code="SAVE20")
    html = client.get(address_of(deal)).content.decode()
    words = '<span class="price-words">20 % off all shoes</span>'
    assert html.count(words) == 2  # beside the picture, and at a phone's foot
    assert "price-now" not in html
    assert words in str(deal_card(deal.card, NOW))
    assert words in str(deal_card(deal.card, NOW, "side"))
    offer = structured_data(html)["offers"]
    assert ("price" in offer, offer["description"]) == (False, "20 % off all shoes")
    feed = client.get("/deals.atom").content.decode()
    assert "Nordlicht: 20 % off all shoes, voucher code SAVE20" in feed


def test_a_card_keeps_the_spaces_that_belong_to_titles_and_amounts():
    deal = make_deal(title="ソニー\u3000ヘッドホン", price=Decimal("1.99"))
    with translation.override("de"):
        card = str(deal_card(deal.card, NOW))
    assert ">ソニー\u3000ヘッドホン</a>" in card
    assert ",99</span>\xa0€" in card


@pytest.mark.parametrize("address", ["/deals/{}/", "/deals/{}/another-title/"])
def test_a_wrong_slug_redirects_to_the_right_one(client: Client, address: str):
    deal = make_deal()
    response = client.get(address.format(deal.id))
    assert (response.status_code, response["Location"]) == (302, address_of(deal))


def test_an_id_in_small_letters_redirects(client: Client):
    deal = make_deal()
    response = client.get(address_of(deal).replace(deal.id, deal.id.lower()))
    assert (response.status_code, response["Location"]) == (302, address_of(deal))


def test_a_title_in_another_script_does_not_redirect_for_ever(client: Client):
    deal = make_deal(title="Механическая клавиатура")
    response = client.get(f"/deals/{deal.id}/")
    assert response.status_code == 302
    assert client.get(response["Location"]).status_code == 200


@pytest.mark.parametrize(
    "deal_id", ["x", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "81ARZ3NDEKTSV4RRFFQ69G5FAV", "%00", "DEAL%23"]
)
def test_a_deal_that_is_not_there_is_a_404(client: Client, deal_id: str):
    assert client.get(f"/deals/{deal_id}/some-title/").status_code == 404


def test_an_expired_deal_stays_reachable_and_is_marked(client: Client):
    deal = make_deal(live_at=NOW - 2 * DAY, expires_at=NOW - HOUR, voucher_code="SAVE")
    html = client.get(address_of(deal)).content.decode()
    assert "This deal expired on" in html
    assert "SAVE" not in html
    assert "See what the shop offers now" in html
    own = make_deal(live_at=NOW - 2 * DAY, expires_at=NOW - HOUR)
    assert 'class="buy"' not in client.get(address_of(own)).content.decode()
    assert structured_data(html)["offers"]["availability"] == "https://schema.org/Discontinued"


def test_search_engines_read_product_and_offer(client: Client):
    picture = Picture("pictures/ab/abcdef", 1200, 900, "A keyboard on a desk")
    deal = make_deal(price=Decimal("79.90"), expires_at=NOW + DAY, picture=picture, **STATED)
    html = client.get(address_of(deal)).content.decode()
    address = f"http://127.0.0.1:8000{address_of(deal)}"
    data = structured_data(html)
    assert data["@type"] == "Product"
    assert data["name"] == "Mechanical keyboard"
    assert data["image"] == "http://127.0.0.1:8000/media/pictures/ab/abcdef-1200.webp"
    assert data["offers"] == {
        "@type": "Offer",
        "url": address,
        "price": "79.90",
        "priceCurrency": "EUR",
        "availability": "https://schema.org/InStock",
        "seller": {"@type": "Organization", "name": "Dealsite"},
        "priceValidUntil": "2026-11-22T12:00:00+00:00",
        "priceSpecification": {
            "@type": "UnitPriceSpecification",
            "priceType": "https://schema.org/StrikethroughPrice",
            "price": "119.00",
            "priceCurrency": "EUR",
        },
    }
    less = make_deal(price=Decimal("115.00"), expires_at=NOW + DAY, picture=picture, **STATED)
    offer = structured_data(client.get(address_of(less)).content.decode())["offers"]
    assert (offer["price"], "priceSpecification" in offer) == (
        "115.00",
        False,
    )  # 3 %, which the page does not say
    assert f'<link rel="canonical" href="{address}">' in html
    assert f'<meta property="og:url" content="{address}">' in html
    assert '<meta property="og:type" content="product">' in html
    assert '<meta name="description" content="Quiet switches.">' in re.sub(r"\s+", " ", html)


def test_hostile_names_are_text_wherever_they_show(client: Client):
    deal = make_deal(
        title=HOSTILE,
        brand="<img src=x onerror=alert(2)> & Sons",
        voucher_code='"><b>',
        description="<script>alert(3)</script> [x](javascript:alert(4)) ![y](//evil.example/y.png)",
        picture=Picture("pictures/ab/abcdef", 1200, 900, '"><i onload=alert(5)>'),
    )
    pages = [
        address_of(deal),
        "/",
        "/brands/",
        f"/brands/{deal.card.brand}/",
        f"/categories/{deal.card.category}/",
    ]
    for page in pages:
        html = client.get(page).content.decode()
        assert "<script>alert" not in html
        assert "<img src=x" not in html
        assert "<i onload" not in html
        assert '"><b>' not in html
        assert 'href="javascript:' not in html
    assert structured_data(client.get(pages[0]).content.decode())["name"] == deal.card.title


def test_structured_data_cannot_end_its_script(client: Client):
    deal = make_deal(title="a </script><script>alert(1)</script> <!-- b")
    html = client.get(address_of(deal)).content.decode()
    block = html.partition('<script type="application/ld+json">')[2].partition("</script>")[0]
    assert "<" not in block
    assert json.loads(block)["name"] == "a </script><script>alert(1)</script> <!-- b"
