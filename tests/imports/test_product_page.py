"""What the pages of shops say of a product, however they say it; all of it is a stranger's text."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.test import override_settings

from dealsite.data.entities.deals import TITLE_CHARACTERS
from dealsite.imports.product_page import JSON_LD, MICRODATA, OPEN_GRAPH, ProductPage, read

URL = "https://shop.example/lamp?variant=2"


def page(*parts: str, content_type: str = "text/html; charset=utf-8") -> ProductPage:
    return read(f"<!doctype html><html><body>{''.join(parts)}".encode(), content_type, URL)


def json_ld(said: Any) -> str:
    text = said if isinstance(said, str) else json.dumps(said)
    return f'<script type="application/ld+json">{text}</script>'


def product(**facts: Any) -> dict[str, Any]:
    return {"@context": "https://schema.org", "@type": "Product", "name": "Lamp", **facts}


def offer(**facts: Any) -> dict[str, Any]:
    return {"@type": "Offer", "price": "19.90", "priceCurrency": "EUR", **facts}


def metas(**facts: str) -> str:
    return "".join(
        f'<meta property="{name.replace("_", ":", 1)}" content="{text}">' for name, text in facts.items()
    )


def priced(**facts: Any) -> ProductPage:
    return page(json_ld(product(offers=offer(**facts))))


def test_a_product_with_variants_as_shopify_says_it():
    variants: list[dict[str, Any]] = [
        {"@type": "Product", "name": f"Lamp {n}", "offers": offer(price=f"{n}9.90", url=f"/lamp?variant={n}")}
        for n in (1, 2, 3)
    ]
    group = {"@type": "ProductGroup", "name": "Lamp", "brand": {"@type": "Brand", "name": "Nordlicht"}}
    variants[0]["offers"]["availability"] = "http://schema.org/OutOfStock"
    found = page(
        '<link rel="canonical" href="/lamp">',
        json_ld(group | {"hasVariant": variants, "image": "//cdn.shop.example/lamp.jpg?v=1"}),
    )
    assert found == ProductPage(
        title="Lamp",
        brand="Nordlicht",
        price=Decimal("29.90"),  # of the variant in the address
        currency="EUR",
        picture="https://cdn.shop.example/lamp.jpg?v=1",
        link="https://shop.example/lamp",
        sources=dict.fromkeys(("title", "brand", "price", "currency", "picture"), JSON_LD),
    )


def test_a_graph_with_a_list_price_as_woocommerce_says_it():
    prices = [
        {"@type": "UnitPriceSpecification", "price": "79.90", "priceCurrency": "EUR"},
        {"@type": "UnitPriceSpecification", "price": "119.00", "priceType": "https://schema.org/ListPrice"},
        {"@type": "UnitPriceSpecification", "price": "7.99", "referenceQuantity": {"value": "100"}},
    ]
    graph = [
        {"@type": "WebPage", "name": "Shop"},
        {"@type": "ImageObject", "@id": "#picture", "url": "/lamp.png"},
        product(
            image={"@id": "#picture"},
            brand={"@id": "https://shop.example/#nordlicht"},
            offers=[
                {"@type": "Offer", "priceSpecification": prices, "availability": "https://schema.org/InStock"}
            ],
            isRelatedTo=[product(name="Chair", offers=offer())],
        ),
        {"@type": "Brand", "@id": "https://shop.example/#nordlicht", "name": "Nordlicht"},
    ]
    found = page(json_ld({"@context": "https://schema.org", "@graph": graph}))
    assert (found.title, found.brand, found.price, found.was_price) == (
        "Lamp",
        "Nordlicht",
        Decimal("79.90"),
        Decimal("119.00"),
    )
    assert (found.availability, found.picture) == ("InStock", "https://shop.example/lamp.png")


def test_microdata_of_its_own_product_only():
    found = page(
        '<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Lamp\n <b>large</b></h1>'
        '<p itemprop="brand" itemscope itemtype="https://schema.org/Brand"><span itemprop="name">Nordlicht</span></p>'
        '<img itemprop="image" src="lamp.jpg"><div itemprop="offers" itemscope itemtype="https://schema.org/Offer">'
        '<span itemprop="price" content="1299.00">1.299 €</span><meta itemprop="priceCurrency" content="EUR">'
        '<link itemprop="availability" href="https://schema.org/SoldOut"></div>'
        '<div itemprop="isRelatedTo" itemscope itemtype="https://schema.org/Product"><b itemprop="name">Chair</b></div>'
    )
    assert found == ProductPage(
        title="Lamp large",
        brand="Nordlicht",
        price=Decimal(1299),
        currency="EUR",
        availability="SoldOut",
        picture="https://shop.example/lamp.jpg",
        sources=dict.fromkeys(("title", "brand", "price", "currency", "availability", "picture"), MICRODATA),
    )
    assert found.is_sold_out


def test_open_graph_alone():
    found = page(
        metas(og_type="product", og_title="Lamp &amp; chair", og_image="http://shop.example/lamp.jpg"),
        '<meta property="og:image:secure_url" content="https://shop.example/lamp.jpg">',
        '<meta property="product:price:amount" content="99,90">',
        '<meta property="product:sale_price:amount" content="79,90">',
        '<meta property="product:price:currency" content="EUR">',
        '<meta property="product:brand" content="Nordlicht"><meta name="product:availability" content="out of stock">',
    )
    assert found.sources == dict.fromkeys(
        ("title", "brand", "price", "was_price", "currency", "availability", "picture"), OPEN_GRAPH
    )
    assert (found.title, found.price, found.was_price) == ("Lamp & chair", Decimal("79.90"), Decimal("99.90"))
    assert (found.picture, found.is_sold_out) == ("https://shop.example/lamp.jpg", True)


def test_each_fact_comes_from_the_first_source_that_states_it():
    found = page(
        metas(og_title="Other", og_image="https://shop.example/lamp.jpg"),
        '<div itemscope itemtype="http://schema.org/Product">',
        '<i itemprop="name">Third</i><i itemprop="brand">Nordlicht</i></div>',
        json_ld(product(offers=offer())),
    )
    assert (found.title, found.brand) == ("Lamp", "Nordlicht")
    assert found.sources == {
        **dict.fromkeys(("title", "price", "currency"), JSON_LD),
        "brand": MICRODATA,
        "picture": OPEN_GRAPH,
    }


def test_the_lowest_price_of_several_and_never_the_highest_as_the_price_before():
    offers = {"@type": "AggregateOffer", "lowPrice": 12.5, "highPrice": 20, "priceCurrency": "EUR"}
    found = page(json_ld([{"@type": ["Product", "IndividualProduct"], "name": ["Lamp"], "offers": offers}]))
    assert (found.price, found.was_price) == (Decimal("12.50"), None)
    nested = offers | {"offers": [offer(price="15", url=URL)]}
    assert page(json_ld(product(offers=nested))).price == Decimal(15)


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        *(
            ("1.299,00", "1299"),
            ("1299.00", "1299"),
            (1299, "1299"),
            ("1,299.00 EUR", "1299"),
            ("1.299", "1299"),
        ),
        *(("€ 49,-", "49"), (19.9, "19.9"), ("19.9900", "19.99"), (19.989999999, "19.99")),
        *((0, None), ("-5", None), (True, None), ("from 5", None), ("1e3", None), ("99999999", None)),
        *((1e300, None), ("9" * 5000, None), ({"@value": "5"}, None), (["12.00"], "12")),
    ],
)
def test_amounts_are_read_however_they_are_written(written, amount):
    assert priced(price=written).price == (amount and Decimal(amount))


def test_prices_in_another_currency_are_none():
    for foreign in (priced(priceCurrency="USD"), priced(price="$ 19.90", priceCurrency="")):
        assert (foreign.title, foreign.price, foreign.is_foreign) == ("Lamp", None, True)
    assert priced(priceCurrency="USD").currency == "USD"
    dollars = '<meta property="product:price:amount" content="9"><meta property="product:price:currency" content="USD">'
    assert page(dollars, json_ld(product(offers=offer(priceCurrency=None)))).price is None
    assert page(dollars, json_ld(product(offers=offer()))).price == Decimal("19.90")
    with override_settings(DEALSITE_CURRENCY="USD"):
        assert priced(price="$ 19.90", priceCurrency="").price == Decimal("19.90")


def test_a_price_before_is_above_the_price():
    for was_price, amount in (("29.90", Decimal("29.90")), ("19.90", None), ("9.90", None)):
        before = {"@type": "PriceSpecification", "priceType": "StrikethroughPrice", "price": was_price}
        assert priced(priceSpecification=before).was_price == amount


def test_what_is_in_stock_is_meant_before_what_is_sold_out():
    offers = [
        offer(price="5", availability="OutOfStock"),
        offer(price="7", availability="https://schema.org/InStock"),
    ]
    found = page(json_ld(product(offers=offers)))
    assert (found.price, found.availability) == (Decimal(7), "InStock")


def test_broken_json_is_passed_over():
    whole = json_ld(product(offers=offer()))
    nested = ("[" * 10_000 + "]" * 10_000, '{"a":' * 400_000)
    for broken in ("", "{", '{"@type": "Product",}', "null", "5", '"x"', *nested):
        assert page(json_ld(broken)) == ProductPage()
        assert page(json_ld(broken), whole).title == "Lamp"
    assert page(json_ld('{"@type": "Product", "name": "La\nmp\t"}')).title == "La mp"


def test_deep_and_wide_pages_are_read_no_further():
    deep: Any = product()
    for _level in range(450):
        deep = {"mainEntity": [deep]}
    assert page(json_ld(deep)).title == "Lamp"
    assert page(json_ld(product(offers=offer(price=deep)))).price is None
    assert page(json_ld([*([[]] * 400_000), product()])) == ProductPage()
    assert page("<i itemscope itemprop=name>" * 30_000) == ProductPage()
    assert page("<div>" * 300_000) == ProductPage()


def test_hostile_texts_become_plain_words():
    name = "<script>alert(1)<\\/script>La\u202emp\\u0000\\u001b &lt;b&gt;&amp;amp; chair"
    assert page(json_ld(f'{{"@type": "Product", "name": "{name}"}}')).title == "alert(1) Lamp & chair"
    assert page(json_ld(product(name="word " * 100))).title == ("word " * 59).strip() + "…"
    assert len(page(json_ld(product(name="x" * 1_000_000))).title) == TITLE_CHARACTERS
    assert page(json_ld(product(name="<a" * 300_000))).title.startswith("<a<a")
    assert page(json_ld(product(name="\u200b", brand="b" * 500, url={"a": 1}))) == ProductPage()


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "http://shop.example/a.jpg", "data:image/png;base64,x", "https://me:pw@shop.example/a",
     "https://[", "ftp://shop.example/a", "https://shop.example/" + "a" * 3000, "https://shop.example/a b", ""],
)  # fmt: skip
def test_only_whole_https_addresses_are_pictures(address):
    assert page(json_ld(product(image=[address]))).picture == ""
    found = page(json_ld(product(image=[address, {"@type": "ImageObject", "contentUrl": "/a.jpg"}])))
    assert found.picture == "https://shop.example/a.jpg"


@pytest.mark.parametrize(
    ("before", "codec", "content_type"),
    [
        ("", "latin-1", "text/html; charset=ISO-8859-1"),
        ('<meta charset="windows-1252">', "cp1252", "text/html"),
        ("", "utf-16", "text/html; charset=utf-8"),
        ("", "utf-8-sig", "text/html; charset=latin1"),
        ("", "utf-8", "text/html"),
        ("", "cp1252", "text/html"),
        *(("", "utf-8", f"text/html; charset={no_page}") for no_page in ("rot13", "unicode_escape", "x")),
    ],
)
def test_a_page_is_read_in_its_encoding(before, codec, content_type):
    text = before + json_ld('{"@type": "Product", "name": "Größe"}')
    assert read(text.encode(codec), content_type, URL).title == "Größe"


@pytest.mark.parametrize(
    "html",
    ["", " ", "<p>Hello", "<title>Lamp</title>", metas(og_type="article", og_title="News"),
     json_ld({"@type": "Article", "name": "News"}), "\x00" * 10, "<?xml version='1.0' encoding='utf-16'?><a/>"],
)  # fmt: skip
def test_a_page_without_a_product_says_nothing(html):
    assert read(html.encode(), "text/html", URL) == ProductPage()
