"""What likes and watches have in common: a relation item and a counter, changed in one transaction.

Each of the four relations has its type, its key and the counter beside its brand or category. Repeating
either way is harmless: the relation must be absent (or there) for the counter to move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.categories import CATEGORIES, Counts
from dealsite.data.convert import Item
from dealsite.data.errors import Conflict, NotFound
from dealsite.data.ids import iso, slugify
from dealsite.data.writes import Delete, Put, Update, absent, exists

Target = Literal["brand", "category"]


class AlreadySo(Conflict):
    """The relation is as it was asked to be."""


@dataclass(frozen=True, slots=True)
class Relation:
    """One of the four relations; `counter` is the counter's name beside the brand or category."""

    type: str
    verb: str
    target: Target
    counter: str
    key: Callable[[str, str], keys.Key]

    def count_key(self, slug: str) -> keys.Key:
        return keys.brand_counts(slug) if self.target == "brand" else keys.category_counts(slug)

    def item(self, slug: str, username: str, *, now: datetime) -> Item:
        return {
            "type": self.type,
            "slug": slug,
            "username": username,
            "created_at": iso(now),
            **keys.relation_row(username, self.verb, self.target.upper(), slug),
        }


BRAND_LIKE = Relation("BrandLike", "LIKE", "brand", "likes", keys.brand_like)
CATEGORY_LIKE = Relation("CategoryLike", "LIKE", "category", "likes", keys.category_like)
BRAND_WATCH = Relation("BrandWatch", "WATCH", "brand", "watches", keys.brand_watch)
CATEGORY_WATCH = Relation("CategoryWatch", "WATCH", "category", "watches", keys.category_watch)
MISSING = {
    "brand": gettext_lazy("There is no such brand."),
    "category": gettext_lazy("There is no such category."),
}
RELATIONS = (BRAND_LIKE, CATEGORY_LIKE, BRAND_WATCH, CATEGORY_WATCH)


def add(relation: Relation, slug: str, username: str, *, now: datetime) -> bool:
    """Add a relation and count it; False if it was there. NotFound if its target is not there. 1 transaction."""
    check_slug(relation, slug)
    try:
        table.transact(
            [
                Put(
                    key=relation.key(slug, username),
                    item=relation.item(slug, username, now=now),
                    when=(absent(),),
                    otherwise=AlreadySo(),
                ),
                Update(
                    key=relation.count_key(slug),
                    add={relation.counter: 1},
                    when=(exists(),),
                    otherwise=NotFound(MISSING[relation.target]),
                ),
            ]
        )
    except AlreadySo:
        return False
    return True


def remove(relation: Relation, slug: str, username: str) -> bool:
    """Take a relation back and count it off; False if it was not there. 1 transaction."""
    check_slug(relation, slug)
    try:
        table.transact(
            [
                Delete(key=relation.key(slug, username), when=(exists(),), otherwise=AlreadySo()),
                Update(key=relation.count_key(slug), add={relation.counter: -1}, when=(exists(),)),
            ]
        )
    except AlreadySo:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Related:
    """A row of a user's list: which brand or category it is, and whether a watch is muted."""

    target: Target
    slug: str
    muted: bool = False


def of_user(username: str, verb: str) -> list[Related]:
    """Return what a user likes or watches: brands, then categories, by slug. 1 query a page of 1,000."""
    low, high = keys.prefix(f"{verb}#")
    found: list[Related] = []
    start = None
    while True:
        rows = table.query_page(
            keys.of_user(username), index=keys.GSI2, low=low, high=high, limit=1000, start=start
        )
        for row in rows.items:
            _, target, slug = row["GSI2SK"].split("#")
            kind: Target = "brand" if target == "BRAND" else "category"
            found.append(Related(kind, slug, bool(row.get("card", {}).get("muted"))))
        start = rows.start
        if start is None:
            return found


def remove_all(username: str) -> None:
    """Take back all likes and watches of a user who is gone, and count them off. 2 queries + 1 transaction each."""
    by_name = {(relation.verb, relation.target): relation for relation in RELATIONS}
    for verb in ("LIKE", "WATCH"):
        for related in of_user(username, verb):
            remove(by_name[verb, related.target], related.slug, username)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a user, or a visitor, stands to a brand or category, and how many like and watch it."""

    target: Target
    slug: str
    likes: int = 0
    watches: int = 0
    liked: bool = False
    watched: bool = False

    def after(self, relation: Relation, *, held: bool) -> Standing:
        """Return what one change makes of it, as far as one knows without reading it again."""
        if relation.verb == "LIKE":
            step = int(held) - int(self.liked)
            return replace(self, liked=held, likes=max(self.likes + step, 0))
        step = int(held) - int(self.watched)
        return replace(self, watched=held, watches=max(self.watches + step, 0))


def standing_keys(username: str, target: Target, slug: str) -> list[keys.Key]:
    """Return the keys of a user's like and watch of a target and of its counters; none for what cannot be one."""
    if not can_be(target, slug):
        return []
    of_target = [relation for relation in RELATIONS if relation.target == target]
    return [*(relation.key(slug, username) for relation in of_target), of_target[0].count_key(slug)]


def standing(target: Target, slug: str, items: Mapping[keys.Key, Item]) -> Standing:
    """Return what the items of `standing_keys` say."""
    by_type = {item.get("type"): item for item in items.values()}
    of_target = {
        relation.verb: relation.type in by_type for relation in RELATIONS if relation.target == target
    }
    counts = Counts.from_item(by_type.get("BrandCounts" if target == "brand" else "CategoryCounts"))
    return Standing(target, slug, counts.likes, counts.watches, of_target["LIKE"], of_target["WATCH"])


def standing_of(username: str, target: Target, slug: str) -> Standing:
    """Return how a user stands to a brand or category. 1 consistent batch get."""
    return standing(target, slug, table.batch_get(standing_keys(username, target, slug)))


def can_be(target: Target, slug: str) -> bool:
    """Tell whether a text from outside can be the slug of a brand or is one of a category."""
    return slug in CATEGORIES if target == "category" else bool(slug) and slugify(slug) == slug


def check_slug(relation: Relation, slug: str) -> None:
    """Raise NotFound for what cannot be a target of a relation."""
    if not can_be(relation.target, slug):
        raise NotFound(MISSING[relation.target])
