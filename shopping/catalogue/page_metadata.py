"""What a page says of itself to search engines, feed readers and other sites: its whole address, picture and data."""

import json
from typing import Any
from urllib.parse import urlencode, urljoin

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.encoding import escape_uri_path
from django.utils.safestring import SafeString, mark_safe

from dealsite.data.catalogue.cards import DealCard, Picture
from dealsite.pictures import uploads

AVAILABILITY = {"expired": "Discontinued", "sold_out": "SoldOut"}

# A title must not end the script element that it stands in.
ESCAPES = {ord(character): f"\\u{ord(character):04X}" for character in "<>&\u2028\u2029"}


def absolute(path: str) -> str:
    """The whole address of a path of the site; one that is whole already stays as it is."""
    return urljoin(str(settings.DEALSITE_URL), path)


def canonical(request: HttpRequest) -> str:
    """A page's own address: without anything in the query string but which list it is, and the place in it."""
    place = {name: request.GET[name] for name in ("tab", "after", "before") if name in request.GET}
    return absolute(escape_uri_path(request.path)) + (f"?{urlencode(place)}" if place else "")


def deal_path(card: DealCard) -> str:
    return reverse("deal", args=[card.id, card.slug])


def picture(image: Picture | None) -> str:
    """The address of a picture as other sites show it; empty where there is none."""
    return absolute(uploads.url(image, 1200)) if image else ""


def product(card: DealCard, *, state: str, summary: str, address: str) -> SafeString:
    """A deal's Product with its Offer in the words of schema.org, as JSON-LD that is safe inside a script element."""
    offer: dict[str, Any] = {
        "@type": "Offer",
        "url": address,
        "availability": f"https://schema.org/{AVAILABILITY.get(state, 'InStock')}",
    }
    if card.price is None:
        offer["description"] = card.condition
    else:
        offer |= {"price": str(card.price), "priceCurrency": settings.DEALSITE_CURRENCY}
    if seller := card.shop or (card.sold and settings.DEALSITE_NAME):
        offer["seller"] = {"@type": "Organization", "name": seller}
    if card.saving and state not in AVAILABILITY:
        offer["priceSpecification"] = {
            "@type": "UnitPriceSpecification",
            "priceType": "https://schema.org/StrikethroughPrice",
            "price": str(card.low),
            "priceCurrency": settings.DEALSITE_CURRENCY,
        }
    if card.expires_at:
        offer["priceValidUntil"] = card.expires_at.isoformat(timespec="seconds")
    data: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": card.title,
        "description": summary,
        "sku": card.id,
        "url": address,
        "brand": {"@type": "Brand", "name": card.brand_name},
        "offers": offer,
    }
    if image := picture(card.picture):
        data["image"] = absolute(image)
    return mark_safe(json.dumps(data, ensure_ascii=False).translate(ESCAPES))  # noqa: S308 - escaped above
