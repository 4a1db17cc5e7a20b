"""Reads what a shop's page says of its product: as JSON-LD, as microdata, or as Open Graph, in this order.

All of it is a stranger's text: it is measured before it is read, and becomes plain words, amounts in the site's
currency, and addresses that are asked through the guard of all downloads.
"""

import codecs
import html
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import urldefrag, urljoin

import orjson
from django.conf import settings
from lxml import etree

from dealsite.data.entities.attributes import CENT, LINK_CHARACTERS
from dealsite.data.entities.deals import MAX_PRICE, NAME_CHARACTERS, TITLE_CHARACTERS
from dealsite.data.names import as_typed, is_web_link, slugify
from dealsite.imports import cells
from dealsite.imports.cells import POINT, Unreadable
from dealsite.imports.csv_files import MARKS
from dealsite.imports.downloads import Rules, fetch
from dealsite.imports.rows import shortened

PAGES = Rules(
    "Dealsite link reader",
    "text/html, application/xhtml+xml",
    seconds=8.0,
    most_bytes=3_000_000,
    redirects=4,
    leaves_site=True,  # as example.com to www.example.com
    types=("text/html", "application/xhtml+xml"),
)
JSON_LD, MICRODATA, OPEN_GRAPH = "JSON-LD", "microdata", "Open Graph"
MOST_NODES, MOST_PROPERTIES = 20_000, 2_000  # of all JSON, of microdata
PRODUCTS = {"Product", "ProductGroup", "ProductModel", "IndividualProduct", "SomeProducts"}
# What a page says of other things than its own product.
OTHERS = {
    "itemListElement",
    "isRelatedTo",
    "isSimilarTo",
    "isAccessoryOrSparePartFor",
    "isConsumableFor",
    "review",
}
FEES = {"DeliveryChargeSpecification", "PaymentChargeSpecification"}
LIST_PRICES = {"ListPrice", "StrikethroughPrice", "MSRP", "SRP", "RegularPrice"}
PROPERTIES = {
    *(
        "name",
        "brand",
        "image",
        "url",
        "contentUrl",
        "offers",
        "hasVariant",
        "availability",
        "price",
        "lowPrice",
    ),
    *("priceCurrency", "priceSpecification", "priceType", "referenceQuantity", "validForMemberTier"),
}
ADDRESS_OF = {"a": "href", "area": "href", "link": "href"}
ADDRESS_OF |= dict.fromkeys(("img", "audio", "embed", "iframe", "source", "track", "video"), "src")
AVAILABILITY = {
    name.lower(): name
    for name in (
        *("InStock", "OutOfStock", "SoldOut", "Discontinued", "PreOrder", "PreSale", "BackOrder"),
        *("LimitedAvailability", "InStoreOnly", "OnlineOnly", "MadeToOrder", "Reserved"),
    )
} | {"oos": "OutOfStock", "availablefororder": "BackOrder"}
SOLD_OUT = {"OutOfStock", "SoldOut", "Discontinued"}
TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([\w:.-]{1,40})", re.IGNORECASE)
TEXT_CODECS = ("utf", "iso8859", "cp", "gb", "big5", "shift", "euc", "koi8", "mac", "ascii")
CONTROLS = re.compile("[\x00-\x1f]")

Node = dict[str, Any]  # of JSON-LD; microdata is read into the same
Amount = str | int | float | None  # as it is written


@dataclass(frozen=True)
class ProductPage:
    """What a page says of its product, '' or None for nothing; `sources` says by field where it says so.

    `currency` is '' where the page names none; in another than the site's there are no prices.
    """

    title: str = ""
    brand: str = ""
    price: Decimal | None = None
    was_price: Decimal | None = None
    currency: str = ""
    availability: str = ""  # in the words of schema.org
    picture: str = ""
    link: str = ""  # that the page calls its own
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_foreign(self) -> bool:
        return bool(self.currency) and self.currency != settings.DEALSITE_CURRENCY

    @property
    def is_product(self) -> bool:
        return bool(self.title or self.price or self.brand or self.picture)

    @property
    def is_sold_out(self) -> bool:
        return self.availability in SOLD_OUT


def fetch_product(url: str) -> ProductPage:
    """Return what the page at an address says of its product; raise CannotFetch."""
    answer = fetch(url, PAGES)
    return read(answer.content, answer.content_type, answer.url)


def read(content: bytes, content_type: str, url: str) -> ProductPage:
    """Return what a page says of its product; it has no sources where that is nothing."""
    try:
        parser = etree.HTMLParser(encoding="utf-8", remove_comments=True)
        document = etree.fromstring(_decoded(content, content_type).encode("utf-8", "replace"), parser)
    except etree.LxmlError:
        document = None
    if document is None:
        return ProductPage()
    link = next((_address(url, one) for one in document.xpath("//link[@rel='canonical']/@href")), "")
    own = {urldefrag(one).url for one in (url, link) if one}
    stated = {
        JSON_LD: _of_product(_json_products(document), own, url),
        MICRODATA: _of_product(_microdata_products(document), own, url),
        OPEN_GRAPH: _open_graph(document, url),
    }
    found, sources = dict[str, Any](), dict[str, str]()
    for source, facts in stated.items():
        for name, value in facts.items():
            if value and name not in found:
                found[name], sources[name] = value, source
    is_foreign = found.get("currency", settings.DEALSITE_CURRENCY) != settings.DEALSITE_CURRENCY
    price, was_price = found.get("price"), found.get("was_price")
    for name, is_wrong in {
        "price": is_foreign,
        "was_price": is_foreign or not price or (was_price and was_price <= price),
    }.items():
        if is_wrong:
            found.pop(name, None), sources.pop(name, None)
    return ProductPage(**found, link=link, sources=sources)


def _decoded(content: bytes, content_type: str) -> str:
    """Return a page as text: by its mark, what its server or it says, as UTF-8, or else as Windows-1252."""
    said = CHARSET.search(content_type.encode("ascii", "ignore")) or CHARSET.search(content[:4096])
    marked = next((name for mark, name in MARKS.items() if content.startswith(mark)), "")
    with suppress(LookupError):
        name = codecs.lookup(marked or (said[1].decode() if said else "")).name
        if name.replace("_", "").startswith(TEXT_CODECS):
            return content.decode("cp1252" if name in ("iso8859-1", "ascii") else name, "replace")
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


# ---- what is a product ----


def _json_products(document: Any) -> Iterator[Node]:
    """Yield the products of all JSON-LD of a page, with what they only refer to."""
    nodes, known, products = deque[Any](), dict[str, Node](), list[Node]()
    for script in document.iter("script"):
        if script.get("type", "").partition(";")[0].strip().lower() == "application/ld+json":
            with suppress(ValueError):  # which also says so of what is nested too deep
                nodes.append(orjson.loads(CONTROLS.sub(" ", script.text or "").strip(" ;")))
    for _node in range(MOST_NODES):
        if not nodes:
            break
        node = nodes.popleft()
        if isinstance(node, list):
            nodes.extend(value for value in node if isinstance(value, list | dict))
        elif isinstance(node, dict):
            if len(node) > 1 and isinstance(node.get("@id"), str):
                known[node["@id"]] = node
            if _types(node) & PRODUCTS:
                products.append(node)
            else:
                inner = (value for name, value in node.items() if name not in OTHERS)
                nodes.extend(value for value in inner if isinstance(value, list | dict))
    for product in products:
        yield {name: [_meant(one, known) for one in _listed(value)] for name, value in product.items()}


def _meant(value: Any, known: Mapping[str, Node]) -> Any:
    """Return the node that a reference means, anything else as it is."""
    is_reference = isinstance(value, dict) and value.keys() == {"@id"} and isinstance(value["@id"], str)
    return known.get(value["@id"], value) if is_reference else value


def _microdata_products(document: Any) -> Iterator[Node]:
    """Yield the products of a page's microdata, as JSON-LD would have them."""
    scopes = document.xpath("//*[@itemscope]")[:MOST_PROPERTIES]
    items: dict[Any, Node] = {one: {"@type": one.get("itemtype", "").split()} for one in scopes}
    for element in document.xpath("//*[@itemprop]")[:MOST_PROPERTIES]:
        owner = next((items[one] for one in element.iterancestors() if one in items), None)
        for name in PROPERTIES.intersection(element.get("itemprop", "").split()) if owner is not None else ():
            value: Any = items.get(element)
            if value is None:
                value = element.get("content") or element.get(ADDRESS_OF.get(element.tag, "value"))
            if value is None:
                value = element.xpath("string()")
            owner.setdefault(name, []).append(value)  # type: ignore[union-attr]
    for element, item in items.items():
        if _types(item) & PRODUCTS and element.get("itemprop", "") not in OTHERS | {"hasVariant"}:
            yield item


def _types(node: Node) -> set[str]:
    return {_last_word(one) for one in _listed(node.get("@type")) if isinstance(one, str)}


def _last_word(text: str) -> str:
    """Return the name that an address such as https://schema.org/Product ends with."""
    return re.split("[/#:]", text.strip())[-1]


# ---- what it says ----


def _of_product(products: Iterable[Node], own: set[str], url: str) -> dict[str, Any]:
    """Return what is said of the product that a page is about: that of its address, or that has a price."""

    def is_own(node: Node) -> bool:
        return any(urldefrag(_address(url, one)).url in own for one in _texts(node, "url"))

    def rank(offer: Node) -> tuple[bool, ...]:
        price, _was, _currency = _prices(offer)
        return is_own(offer), bool(price), _availability(_texts(offer, "availability")) not in SOLD_OUT

    ranked = [
        ((is_own(product), *rank(offer)[:2]), product, offer)
        for product in products
        for offer in [max(_offers(product), key=rank, default={})]
    ]
    if not ranked:
        return {}
    _rank, product, offer = max(ranked, key=lambda one: one[0])
    return {
        **_described(_texts(product, "name"), _texts(product, "brand")),
        **_amounts(*_prices(offer)),
        "availability": _availability(_texts(offer, "availability")),
        "picture": _picture(url, _texts(product, "image", "contentUrl", "url")),
    }


def _offers(product: Node) -> Iterator[Node]:
    """Yield the offers of a product and its variants, those of an AggregateOffer behind it."""
    for variant in (product, *_nodes(product, "hasVariant")):
        for offer in _nodes(variant, "offers"):
            for one in (offer, *_nodes(offer, "offers")):
                yield one if variant is product else {"url": variant.get("url"), **one}


def _prices(offer: Node) -> tuple[Amount, Amount, str]:
    """Return the price of an offer, the one that it compares it with, and the currency, all as they are written."""
    price = _written(offer, "price") or _written(offer, "lowPrice")
    was_price, currency = None, next(iter(_texts(offer, "priceCurrency")), "")
    for one in _nodes(offer, "priceSpecification"):
        if _types(one) & FEES or {"referenceQuantity", "validForMemberTier"} & one.keys():
            continue
        amount = _written(one, "price")
        if any(_last_word(kind) in LIST_PRICES for kind in _texts(one, "priceType")):
            was_price = was_price or amount
        else:
            price = price or amount
        currency = currency or next(iter(_texts(one, "priceCurrency")), "")
    return price, was_price, currency


def _written(node: Node, name: str) -> Amount:
    """Return the first amount under a name, as it is written."""
    return next((one for one in _listed(node.get(name)) if isinstance(one, str | int | float)), None)


def _open_graph(document: Any, url: str) -> dict[str, Any]:
    """Return what Open Graph says of a product, or of a page that does not say what it is."""
    said: dict[str, list[str]] = {}
    for meta in document.iter("meta"):
        name = (meta.get("property") or meta.get("name") or "").strip().lower()
        if name.startswith(("og:", "product:")) and meta.get("content"):
            said.setdefault(name, []).append(meta.get("content"))

    def first(*names: str) -> str:
        return next((one for name in names for one in said.get(name, ())), "")

    price, sale = first("product:price:amount", "og:price:amount"), first("product:sale_price:amount")
    kind = first("og:type").strip().lower()
    if not (price or sale or kind in ("", "website") or "product" in kind):
        return {}
    was_price = first("product:original_price:amount", "og:price:standard_amount") or (sale and price)
    currency = first(*(f"{one}:currency" for one in ("product:sale_price", "product:price", "og:price")))
    pictures = (said.get(name, []) for name in ("og:image:secure_url", "og:image", "og:image:url"))
    return {
        **_described([first("og:title")], [first("product:brand", "og:brand")]),
        **_amounts(sale or price, was_price, currency),
        "availability": _availability([first("product:availability", "og:availability")]),
        "picture": _picture(url, [one for some in pictures for one in some]),
    }


def _described(titles: Iterable[str], brands: Iterable[str]) -> dict[str, str]:
    title, brand = (next(filter(None, map(_plain, texts)), "") for texts in (titles, brands))
    is_name = len(brand) <= NAME_CHARACTERS and slugify(brand)
    return {"title": shortened(title), "brand": brand if is_name else ""}


def _amounts(price: Amount, was_price: Amount, currency: str) -> dict[str, Any]:
    """Return both prices as amounts, and the currency that they are in; without the amounts if it is not the site's."""
    if price in (None, ""):
        return {}
    own, named = settings.DEALSITE_CURRENCY, cells.currencies_in(f"{currency[:20]} {str(price)[:60]}")
    if named and own not in named:
        return {"currency": " / ".join(sorted(named))}
    return {"price": _amount(price), "was_price": _amount(was_price), "currency": own if named else ""}


def _amount(written: Amount) -> Decimal | None:
    """Return an amount that a product may cost, None for any other."""
    text = str(written)
    try:
        if isinstance(written, str):
            amount = cells.amount(text, cells.guess_decimal([text[: cells.MOST_CHARACTERS]]))
        else:
            amount = cells.amount(f"{written:.2f}" if isinstance(written, float) else text, POINT)
    except Unreadable:
        return None
    return amount.quantize(CENT) if 0 < amount <= MAX_PRICE else None


def _availability(texts: Iterable[str]) -> str:
    words = (re.sub("[^a-z]", "", _last_word(text[:100]).lower()) for text in texts)
    return next((AVAILABILITY[word] for word in words if word in AVAILABILITY), "")


def _picture(url: str, addresses: Iterable[str]) -> str:
    return next(filter(None, (_address(url, one) for one in addresses)), "")


def _address(url: str, text: str) -> str:
    """Return a whole https address, from one that may be relative to the page's; '' for any other."""
    with suppress(ValueError):
        address = urljoin(url, text.strip()) if text.strip() else ""
        if address.startswith("https://") and len(address) <= LINK_CHARACTERS and is_web_link(address):
            return address
    return ""


def _plain(text: str) -> str:
    """Return a text as a form would take it: without markup, on one line, nothing in it that is not seen."""
    text = html.unescape(text[: 10 * TITLE_CHARACTERS])
    return as_typed(html.unescape(TAG.sub(" ", text)))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _nodes(node: Node, name: str) -> list[Node]:
    return [one for one in _listed(node.get(name)) if isinstance(one, dict)]


def _texts(node: Node, name: str, *within: str) -> list[str]:
    """Return the texts that a node has under a name; of a node there, what it has as `within`, else its name."""
    found = [
        inner
        for one in _listed(node.get(name))
        for inner in (
            [one] if not isinstance(one, dict) else [_within(one, within or ("name", "@value", "@id"))]
        )
    ]
    return [one for one in found if isinstance(one, str)]


def _within(node: Node, names: Iterable[str]) -> Any:
    return next((one for name in names for one in _listed(node.get(name)) if isinstance(one, str)), None)
