"""The eight categories, their pages' texts and their counters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data import audit, keys, table
from dealsite.data.cards import Picture
from dealsite.data.convert import Item
from dealsite.data.errors import AlreadyExists, NotFound, VersionConflict
from dealsite.data.ids import iso, new_ulid
from dealsite.data.writes import Put, Update, absent, at_version, exists

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


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters of a brand or category: its deals (also scheduled ones), likes and watches, and its deals by bucket."""

    deals: int = 0
    likes: int = 0
    watches: int = 0
    buckets: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_item(cls, item: Item | None) -> Counts:
        item = item or {}
        buckets = {
            name.removeprefix("deals_"): n for name, n in item.items() if name.startswith("deals_") and n > 0
        }
        return cls(item.get("deals", 0), item.get("likes", 0), item.get("watches", 0), buckets)


class Described(Protocol):
    """A category or a brand: what editors write of it."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def logo(self) -> Picture | None: ...


@dataclass(frozen=True, slots=True)
class Category:
    """A category as its page shows it; `version` counts the edits of its texts."""

    slug: str
    name: str
    description: str = ""
    logo: Picture | None = None
    version: int = 0
    counts: Counts | None = None
    last_edit: str = ""

    @property
    def deals(self) -> int | None:
        """How many deals it has, scheduled ones too; for editors only."""
        return self.counts.deals if self.counts else None


def create(slug: str) -> None:
    """Add one of the eight categories with its counters; AlreadyExists if it is there. 1 transaction."""
    taken = AlreadyExists(_("The category %(slug)s is there already.") % {"slug": slug})
    table.transact(
        [
            Put(
                key=keys.category(slug),
                item={"type": "Category", "slug": slug, "name": CATEGORIES[slug], "version": 1},
                when=(absent(),),
                otherwise=taken,
            ),
            Put(
                key=keys.category_counts(slug),
                item={"type": "CategoryCounts", "slug": slug, "deals": 0, "likes": 0, "watches": 0},
                when=(absent(),),
                otherwise=taken,
            ),
        ]
    )


def create_all() -> None:
    """Add those of the eight categories that are missing. 1 batch get, 1 transaction for each missing one."""
    there = table.batch_get(keys.category(slug) for slug in CATEGORIES)
    for slug in CATEGORIES:
        if keys.category(slug) not in there:
            try:
                create(slug)
            except AlreadyExists:
                continue


def get(slug: str) -> Category:
    """Return a category, or raise NotFound. 1 get."""
    _check_slug(slug)
    return from_items(slug, table.get(keys.category(slug)), None)


def get_with_counts(slug: str) -> Category:
    """Return a category with its counters, or raise NotFound. 1 batch get."""
    return get_many([slug])[0]


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


def edit(
    category: Category, *, name: str, description: str, logo: Picture | None, by: str, now: datetime
) -> Category:
    """Change a category's texts and logo; VersionConflict if it changed since it was loaded. 1 transaction."""
    token = new_ulid(now)
    changed = replace(category, name=name, description=description, logo=logo, version=category.version + 1)
    write = texts_write(
        keys.category(category.slug),
        version=category.version,
        name=name,
        description=description,
        logo=logo,
        token=token,
        by=by,
        now=now,
    )
    differing = audit.changed(in_words(category), in_words(changed))
    entry = audit.entry_write(
        by=by, kind="category", subject=category.slug, what="changed", now=now, **differing
    )
    try:
        table.transact([write, entry])
    except VersionConflict as conflict:
        current = get(category.slug)
        if current.last_edit != token:
            conflict.current = current
            raise
    return changed


def texts_write(
    key: keys.Key,
    *,
    version: int,
    name: str,
    description: str,
    logo: Picture | None,
    token: str,
    by: str,
    now: datetime,
) -> Update:
    """Return the write that changes the texts and logo of a category, or brand, that has a version."""
    return Update(
        key=key,
        set={
            "name": name,
            "description": description,
            "version": version + 1,
            "last_edit": token,
            "updated_at": iso(now),
            "updated_by": by,
            **({"logo": logo.as_item()} if logo else {}),
        },
        remove=() if logo else ("logo",),
        when=(exists(), *at_version(version)),
        otherwise=VersionConflict(),
    )


def in_words(described: Described) -> dict[str, str]:
    """Return the texts and the logo as texts by field: what the audit log compares."""
    logo = f"{described.logo.name} ({described.logo.alt})" if described.logo else ""
    return {"name": described.name, "description": described.description, "logo": logo}


def _check_slug(slug: str) -> None:
    if slug not in CATEGORIES:
        raise NotFound(gettext_lazy("There is no such category."))


def from_items(slug: str, item: Item | None, counts: Item | None) -> Category:
    """Return the category of its items; one that is not stored yet has its name and nothing else."""
    item = item or {}
    return Category(
        slug=slug,
        name=item.get("name", CATEGORIES[slug]),
        description=item.get("description", ""),
        logo=Picture.from_item(item.get("logo")),
        version=item.get("version", 0),
        counts=Counts.from_item(counts) if counts is not None else None,
        last_edit=item.get("last_edit", ""),
    )
