"""Files that are known by their headings: of Shopify, WooCommerce, Magento, PrestaShop, Google Merchant and Awin.

Their columns as slugs, by field; of several that a file has, the first one listed is taken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dealsite.imports.cells import MONTH_FIRST


@dataclass(frozen=True, slots=True)
class KnownFormat:
    """A format that is known by all of one of `marks`; `page` is where below a shop's address the page of a cell is.

    `dates` says what 03/04/2026 means in it, '' where the cells tell. `has_ads`: its links earn money.
    """

    name: str
    marks: tuple[str, ...]
    columns: Mapping[str, str]
    page: str = ""
    dates: str = ""
    has_ads: bool = False


KNOWN_FORMATS = (
    KnownFormat(
        "Shopify",
        ("handle title vendor", "url-handle title vendor"),
        {
            "title": "title",
            "brand": "vendor",
            "category": "product-category type",
            "price": "variant-price price",
            "was_price": "variant-compare-at-price compare-at-price",
            "stock": "variant-inventory-qty inventory-quantity",
            "description": "body-html description",
            "image_url": "image-src product-image-url",
            "article_number": "variant-sku sku",
            "url": "handle url-handle",
        },
        page="products/{}",
    ),
    KnownFormat(
        "WooCommerce",
        ("type sku name regular-price sale-price",),
        {
            "title": "name",
            "brand": "brands brand",
            "category": "categories",
            "price": "sale-price",
            "was_price": "regular-price",
            "stock": "stock",
            "description": "description short-description",
            "image_url": "images",
            "article_number": "sku",
            "url": "external-url",
            "expires_at": "date-sale-price-ends",
        },
    ),
    KnownFormat(
        "Magento",
        ("sku attribute-set-code name", "sku attribute-set name url-key"),
        {
            "title": "name",
            "brand": "manufacturer brand",
            "category": "categories",
            "price": "special-price",
            "was_price": "price",
            "stock": "qty",
            "description": "description short-description",
            "image_url": "base-image",
            "article_number": "sku",
            "url": "url-key",
            "expires_at": "special-price-to-date special-to-date",
        },
        page="{}.html",
        dates=MONTH_FIRST,
    ),
    KnownFormat(
        "PrestaShop",
        (
            "product-id name reference price-tax-incl",
            "product-id name url-rewritten",
            "id name url-rewritten",
        ),
        {
            "title": "name",
            "brand": "manufacturer brand",
            "category": "categories-x-y-z categories category",
            "price": "price-tax-incl price-tax-included price-tax-excluded",
            "stock": "quantity",
            "description": "description summary",
            "image_url": "image-urls-x-y-z image-urls image",
            "article_number": "reference reference-sharp",
            "url": "product-url url-rewritten",
            "expires_at": "discount-to-yyyy-mm-dd discount-to",
        },
        page="{}.html",
    ),
    KnownFormat(
        "Google Merchant",
        ("title link image-link", "title link availability"),
        {
            "title": "title",
            "brand": "brand",
            "category": "product-type google-product-category",
            "price": "sale-price",
            "was_price": "price",
            "stock": "quantity",
            "description": "description",
            "image_url": "image-link",
            "article_number": "id mpn",
            "url": "link",
            "expires_at": "sale-price-effective-date",
        },
    ),
    KnownFormat(
        "Awin",
        ("aw-deep-link product-name",),
        {
            "title": "product-name",
            "brand": "brand-name",
            "category": "merchant-category category-name",
            "price": "search-price store-price display-price",
            "was_price": "rrp-price product-price-old base-price",
            "currency": "currency",
            "description": "description product-short-description",
            "image_url": "merchant-image-url aw-image-url",
            "article_number": "aw-product-id merchant-product-id",
            "url": "aw-deep-link merchant-deep-link",
            "published_at": "valid-from",
            "expires_at": "valid-to",
        },
        has_ads=True,
    ),
)


def known_format(slugs: Sequence[str]) -> KnownFormat | None:
    """Return the format of a file whose columns are called so, None where it is none of these."""
    there = set(slugs)
    found = (one for one in KNOWN_FORMATS if any(there.issuperset(marks.split()) for marks in one.marks))
    return next(found, None)
