"""What a deal's page tells search engines, in the words of schema.org."""

import json
from typing import Any

from django.conf import settings
from django.utils.safestring import SafeString, mark_safe

from dealsite.data.catalogue.cards import DealCard
from shopping.catalogue.absolute_urls import absolute, picture

AVAILABILITY = {"expired": "Discontinued", "sold_out": "SoldOut"}

# A title must not end the script element that it stands in.
ESCAPES = {ord(character): f"\\u{ord(character):04X}" for character in "<>&\u2028\u2029"}


def product(card: DealCard, *, state: str, summary: str, address: str) -> SafeString:
    """A Product with its Offer as JSON-LD, safe inside a script element."""
    offer: dict[str, Any] = {
        "@type": "Offer",
        "url": address,
        "price": str(card.price),
        "priceCurrency": settings.DEALSITE_CURRENCY,
        "availability": f"https://schema.org/{AVAILABILITY.get(state, 'InStock')}",
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
