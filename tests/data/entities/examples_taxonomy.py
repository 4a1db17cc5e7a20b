"""A sound item of each type of brands and categories, with all that it can have."""

from typing import Any

from tests.data.entities.examples_deals import DEAL, EDIT, LATER, PICTURE, PUBLISHED
from tests.data.entities.examples_featured import FEATURED

TEXTS: dict[str, Any] = {
    "description": "Lights and keys.",
    "logo": PICTURE,
    "version": 2,
    "last_edit": EDIT,
    "updated_at": LATER,
    "updated_by": "eve",
}
COUNTS = {"deals": 5, "likes": 2, "watches": 0}
MUTED = {"muted": True, "card": {"muted": True}}


def _relation(verb: str, target: str, slug: str, *key: str) -> dict[str, Any]:
    return {
        "PK": key[0],
        "SK": key[-1],
        "GSI2PK": "USER#ada",
        "GSI2SK": f"{verb}#{target}#{slug}".upper().replace(slug.upper(), slug),
        "type": f"{target}{verb}",
        "slug": slug,
        "username": "ada",
        "created_at": PUBLISHED,
    }


EXAMPLES: dict[str, dict[str, Any]] = {
    "Brand": {
        "PK": "BRAND#nordlicht",
        "SK": "BRAND#nordlicht",
        "type": "Brand",
        "slug": "nordlicht",
        "name": "Nordlicht",
        "also": ["Northern Light"],
        "created_at": PUBLISHED,
        **TEXTS,
        "merged_into": "vela",
        "merged": ["altname"],
        "merge_jobs": [EDIT],
    },
    "BrandCounts": {
        "PK": "BRAND#nordlicht",
        "SK": "COUNTS",
        "type": "BrandCounts",
        "slug": "nordlicht",
        **COUNTS,
        "deals_2025": 5,
    },
    "BrandName": {
        "PK": "BRANDS",
        "SK": "NAME#northern-light",
        "type": "BrandName",
        "slug": "northern-light",
        "brand": "nordlicht",
        "name": "Nordlicht",
    },
    "Category": {
        "PK": "CATEGORY#peripherals-networking",
        "SK": "CATEGORY#peripherals-networking",
        "type": "Category",
        "slug": "peripherals-networking",
        "name": "Peripherals & Networking",
        **TEXTS,
        **FEATURED,
    },
    "CategoryCounts": {
        "PK": "CATEGORY#peripherals-networking",
        "SK": "COUNTS",
        "type": "CategoryCounts",
        "slug": "peripherals-networking",
        **COUNTS,
        "deals_2025-11": 5,
    },
    "Years": {"PK": "FRONTPAGE", "SK": "YEARS", "type": "Years", "years": {"2025", "2026"}},
    "Days": {"PK": "FRONTPAGE", "SK": "DAYS#2025", "type": "Days", "day:2025-11-22": True},
    "DayCount": {"PK": "FRONTPAGE", "SK": "DAY#2025-11-22", "type": "DayCount", "deals": 5},
    "BrandLike": _relation("Like", "Brand", "nordlicht", "BRANDLIKE#nordlicht#ada"),
    "BrandWatch": _relation("Watch", "Brand", "nordlicht", "BRANDWATCH#nordlicht", "USER#ada") | MUTED,
    "CategoryLike": _relation("Like", "Category", "toys-hobbies", "CATEGORYLIKE#toys-hobbies#ada"),
    "DealLike": _relation("Like", "Deal", DEAL, f"DEALLIKE#{DEAL}", "USER#ada"),
    "DealCounts": {"PK": f"DEAL#{DEAL}", "SK": "COUNTS", "type": "DealCounts", "deal": DEAL, "likes": 3},
    "CategoryWatch": _relation("Watch", "Category", "toys-hobbies", "CATEGORYWATCH#toys-hobbies", "USER#ada")
    | MUTED,
}
