"""A sound item of each type of featured lists, with all that it can have."""

from typing import Any

from tests.data.entities.examples_deals import CARD, DEAL, EDIT, ENDS, LATER

FEATURED: dict[str, Any] = {
    "order": [EDIT, DEAL],
    "cards": {DEAL: CARD},
    "featured_version": 4,
    "featured_at": LATER,
    "featured_by": "eve",
    "featured_edit": EDIT,
    "featured_by_hand": 3,
}
LISTED = [{"id": DEAL, "title": "Mechanical keyboard"}]
EXAMPLES: dict[str, dict[str, Any]] = {
    "FrontPage": {"PK": "FRONTPAGE", "SK": "FRONTPAGE", "type": "FrontPage", **FEATURED},
    "EditorsChoicePage": {
        "PK": "EDITORSCHOICEPAGE",
        "SK": "EDITORSCHOICEPAGE",
        "type": "EditorsChoicePage",
        **FEATURED,
    },
    "FeaturedVersion": {
        "PK": "FEATURED#front",
        "SK": "VERSION#000000004",
        "type": "FeaturedVersion",
        "page": "front",
        "version": 4,
        "deals": LISTED,
        "by": "eve",
        "at": LATER,
    },
    "FeaturedPlan": {
        "PK": "FEATUREDPLANS",
        "SK": f"PLAN#{EDIT}",
        "type": "FeaturedPlan",
        "id": EDIT,
        "page": "front",
        "deals": LISTED,
        "at": ENDS,
        "base": 3,
        "state": "set",
        "version": 2,
        "job": EDIT,
        "by": "eve",
        "updated_at": LATER,
        "why": "",
        "left_out": ["Wireless mouse"],
        "last_edit": EDIT,
        "ttl": 1_772_452_800,
    },
}
