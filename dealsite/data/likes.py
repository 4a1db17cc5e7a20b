"""Likes of brands and categories: 1 transaction each, and harmless to repeat."""

from __future__ import annotations

from datetime import datetime

from dealsite.data import relations
from dealsite.data.relations import BRAND_LIKE, CATEGORY_LIKE, Related


def like_brand(slug: str, *, username: str, now: datetime) -> bool:
    """Like a brand; False if the user liked it already. NotFound for no such brand. 1 transaction."""
    return relations.add(BRAND_LIKE, slug, username, now=now)


def unlike_brand(slug: str, *, username: str) -> bool:
    """Take a like back; False if there was none. 1 transaction."""
    return relations.remove(BRAND_LIKE, slug, username)


def like_category(slug: str, *, username: str, now: datetime) -> bool:
    """Like a category; False if the user liked it already. NotFound for no such category. 1 transaction."""
    return relations.add(CATEGORY_LIKE, slug, username, now=now)


def unlike_category(slug: str, *, username: str) -> bool:
    """Take a like back; False if there was none. 1 transaction."""
    return relations.remove(CATEGORY_LIKE, slug, username)


def likes_of(username: str) -> list[Related]:
    """Return what a user likes: brands, then categories, by slug. 1 query."""
    return relations.of_user(username, "LIKE")
