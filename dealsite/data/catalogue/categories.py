"""The eight categories: their pages' texts and their counters."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import Picture
from dealsite.data.catalogue.taxonomy import Entry, create_writes, edit_entry, read_entry
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, NotFound

CATEGORIES = {
    "computers-components": "Computers & Components",
    "peripherals-networking": "Peripherals & Networking",
    "audio-tv-photo": "Audio, TV & Photo",
    "office-software": "Office & Software",
    "home-furniture": "Home & Furniture",
    "grocery-household": "Grocery & Household",
    "fashion-beauty": "Fashion & Beauty",
    "toys-hobbies": "Toys & Hobbies",
}


class Category(Entry):
    """A category as its page shows it."""

    __slots__ = ()


@access_pattern("create a category", "CATEGORY#c / itself, COUNTS", "1 transaction")
def create(slug: str) -> None:
    """Add one of the eight categories with its counters; AlreadyExists if it is there. 1 transaction."""
    taken = AlreadyExists(_("The category %(slug)s is there already.") % {"slug": slug})
    item = {"type": "Category", "slug": slug, "name": CATEGORIES[slug], "version": 1}
    table.transact(
        create_writes(keys.category(slug), item, keys.category_counts(slug), "CategoryCounts", taken)
    )


@access_pattern("create missing categories", "CATEGORY#c / itself, COUNTS", "1 batch get + 8 transactions")
def create_all() -> None:
    """Add those of the eight categories that are missing. 1 batch get, 1 transaction for each missing one."""
    there = table.batch_get(keys.category(slug) for slug in CATEGORIES)
    for slug in CATEGORIES:
        if keys.category(slug) not in there:
            try:
                create(slug)
            except AlreadyExists:
                continue


@access_pattern("one category", "CATEGORY#c", "1 get")
def get(slug: str) -> Category:
    """Return a category, or raise NotFound. 1 get."""
    _check_slug(slug)
    return from_items(slug, table.get(keys.category(slug)), None)


@access_pattern("one category with its counters", "CATEGORY#c / itself, COUNTS", "1 batch get")
def get_with_counts(slug: str) -> Category:
    """Return a category with its counters, or raise NotFound. 1 batch get."""
    return get_many([slug])[0]


@access_pattern("all categories with their counters", "CATEGORY#c / itself, COUNTS", "1 batch get")
def all_categories() -> list[Category]:
    """Return the eight categories with their counters, in the site's order. 1 batch get."""
    return get_many(CATEGORIES)


def get_many(slugs: Iterable[str]) -> list[Category]:
    """Return categories with their counters. 1 batch get."""
    slugs = list(slugs)
    for slug in slugs:
        _check_slug(slug)
    items = table.batch_get(
        key for slug in slugs for key in (keys.category(slug), keys.category_counts(slug))
    )
    return [
        from_items(slug, items.get(keys.category(slug)), items.get(keys.category_counts(slug)))
        for slug in slugs
    ]


@access_pattern("change a category's texts", "CATEGORY#c", "1 transaction")
def edit(
    category: Category, *, name: str, description: str, logo: Picture | None, by: str, now: datetime
) -> Category:
    """Change a category's texts and logo; VersionConflict if it changed since it was loaded. 1 transaction."""
    return edit_entry(
        "category",
        keys.category(category.slug),
        category,
        name=name,
        description=description,
        logo=logo,
        by=by,
        now=now,
        get=get,
    )


def _check_slug(slug: str) -> None:
    if slug not in CATEGORIES:
        raise NotFound(gettext_lazy("There is no such category."))


def from_items(slug: str, item: Item | None, counts: Item | None) -> Category:
    """Return the category of its items; one that is not stored yet has its name and nothing else."""
    return read_entry(Category, {"slug": slug, "name": CATEGORIES[slug], "version": 0} | (item or {}), counts)
