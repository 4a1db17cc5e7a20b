"""A sound item of each type of deals, with all that it can have."""

from decimal import Decimal
from typing import Any

from dealsite.data.table.ids import hash_of

DEAL = "01KAMZS8T00000000000000001"  # of 2025-11-22
EDIT = "01KAMZS8T00000000000000002"
PUBLISHED, LATER, ENDS = "2025-11-22T04:36:00.576Z", "2025-11-23T12:00:00.000Z", "2026-01-31T12:00:00.000Z"
PICTURE = {
    "name": "pictures/ab/abcdef",
    "width": 1200,
    "height": 900,
    "alt": "A keyboard on a desk",
    "focal_x": 40,
    "focal_y": 60,
}
CARD: dict[str, Any] = {
    "id": DEAL,
    "title": "Mechanical keyboard",
    "brand": "nordlicht",
    "brand_name": "Nordlicht",
    "category": "peripherals-networking",
    "price": Decimal("79.9"),
    "was_price": 119,
    "low_seen_at": "https://shop.example/offers",
    "low_seen_on": "2025-11-20",
    "low": Decimal("99.5"),
    "raised_from": 75,
    "picture": PICTURE,
    "sold": "code",
    "shop": "shop.example",
    "is_ad": True,
    "voucher_code": "KEYS10",
    "article_number": "MK-87/b",
    "expires_at": ENDS,
    "sold_out": True,
}
LINK = "https://shop.example/keyboard"
EXAMPLES: dict[str, dict[str, Any]] = {
    "Deal": {
        "PK": f"DEAL#{DEAL}",
        "SK": f"DEAL#{DEAL}",
        "GSI1PK": "DEALS#2025-11-22",
        "GSI1SK": f"DEAL#{DEAL}",
        "GSI2PK": "BRAND#nordlicht#2025",
        "GSI2SK": f"DEAL#{DEAL}",
        "GSI3PK": "CATEGORY#peripherals-networking#2025-11",
        "GSI3SK": f"DEAL#{DEAL}",
        "type": "Deal",
        "id": DEAL,
        "card": CARD,
        "link": LINK,
        "description": "Quiet switches.\nWith a **wheel**.",
        "featured_on": {"front", "peripherals-networking"},
        "version": 3,
        "writes": 7,
        "last_edit": EDIT,
        "created_at": PUBLISHED,
        "created_by": "eve",
        "updated_at": LATER,
        "updated_by": "-",
        "draft": EDIT,
        "announced": True,
        "has_prices": True,
        "history": EDIT,
        "link_check": {
            "link": LINK,
            "failures": 2,
            "since": PUBLISHED,
            "last": LATER,
            "reason": "404",
            "accepted_until": ENDS,
        },
    },
    "Offer": {
        "PK": f"DEAL#{DEAL}",
        "SK": "OFFER",
        "GSI1PK": "EXPIRES#2026-01",
        "GSI1SK": f"{ENDS}#{DEAL}",
        "GSI2PK": "EXPIRES#BRAND#nordlicht#2026-01",
        "GSI2SK": f"{ENDS}#{DEAL}",
        "GSI3PK": "EXPIRES#CATEGORY#peripherals-networking#2026-01",
        "GSI3SK": f"{ENDS}#{DEAL}",
        "type": "Offer",
        "id": DEAL,
        "brand": "nordlicht",
        "category": "peripherals-networking",
        "price": Decimal("79.9"),
        "expires_at": ENDS,
        "stock": 0,
        "elsewhere": True,
    },
    "DealBy": {
        "PK": f"DEALBY#{hash_of('shop.example/1?#')}",
        "SK": DEAL,
        "type": "DealBy",
        "id": DEAL,
    },
    "Price": {
        "PK": f"PRICES#{DEAL}",
        "SK": f"{PUBLISHED}#{DEAL}",
        "type": "Price",
        "deal": DEAL,
        "id": DEAL,
        "since": PUBLISHED,
        "price": Decimal("79.9"),
        "new_seller": True,
    },
    "Clicks": {
        "PK": f"CLICKS#{DEAL}",
        "SK": "2025-11-22",
        "GSI1PK": "CLICKED#2025-11-22",
        "GSI1SK": f"DEAL#{DEAL}",
        "type": "Clicks",
        "deal": DEAL,
        "day": "2025-11-22",
        "visitors": {"00ab", "fe01"},
        "clicks": 2,
        "orders": 1,
        "ttl": 1_798_848_000,
    },
    "HotDeals": {
        "PK": "FRONTPAGE",
        "SK": "HOT",
        "type": "HotDeals",
        "deals": [
            {
                "id": DEAL,
                "brand": "nordlicht",
                "category": "peripherals-networking",
                "likes": 3,
                "expires_at": ENDS,
            }
        ],
        "at": LATER,
    },
}
