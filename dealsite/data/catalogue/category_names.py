"""The categories' display names for the menu of every page."""

from __future__ import annotations

from dealsite.data.catalogue.categories import CATEGORIES, all_categories
from dealsite.data.catalogue.name_cache import NameCache

cache = NameCache(lambda: {category.slug: category.name for category in all_categories()}, CATEGORIES)
forget = cache.forget


def names() -> dict[str, str]:
    """Return slug -> name of the eight categories, in the site's order. 1 batch get a minute and process."""
    return cache.look_up()
