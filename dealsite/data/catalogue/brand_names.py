"""The brands' display names for lists that know only slugs."""

from __future__ import annotations

from collections.abc import Iterable

from dealsite.data.catalogue.brands import all_brands
from dealsite.data.catalogue.name_cache import NameCache

cache = NameCache(lambda: {brand.slug: brand.name for brand in all_brands()}, {})
forget = cache.forget


def names(slugs: Iterable[str]) -> dict[str, str]:
    """Return slug -> name of some brands, the slug where none is known. 1 query a minute and process."""
    slugs = list(slugs)
    known = cache.look_up(*slugs) if slugs else {}
    return {slug: known.get(slug, slug) for slug in slugs}
