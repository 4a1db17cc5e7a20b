"""The eight categories, and what brands have in common with them: texts and logo of their pages, and counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeVar

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import Picture
from dealsite.data.editing import audit
from dealsite.data.entities.deals import CATEGORIES as CATEGORIES, NAME_CHARACTERS
from dealsite.data.entities.entity import Entity, reader
from dealsite.data.entities.taxonomy import BUCKET_ATTRIBUTE, CATEGORY, CATEGORY_COUNTS, MOST_ALSO, listed_in
from dealsite.data.names import as_typed, slugify
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, DataError, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import iso, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put, Update, Write, absent, at_version, exists

Kind = Literal["brand", "category"]


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
        buckets = {name: n for name, n in listed_in(item, BUCKET_ATTRIBUTE).items() if n > 0}
        return cls(item.get("deals", 0), item.get("likes", 0), item.get("watches", 0), buckets)


@dataclass(frozen=True, slots=True)
class Entry:
    """A brand or category as its page shows it; `version` counts its edits, `counts` are there where asked for.

    `also` are other names that find it.
    """

    slug: str
    name: str
    description: str = ""
    logo: Picture | None = None
    version: int = 0
    counts: Counts | None = None
    last_edit: str = ""
    also: tuple[str, ...] = ()

    @property
    def deals(self) -> int | None:
        """How many deals it has, scheduled ones too; for editors only."""
        return self.counts.deals if self.counts else None


class Category(Entry):
    """A category as its page shows it."""

    __slots__ = ()


@access_pattern("create a category", "1 transaction")
def create(slug: str) -> None:
    """Add one of the eight categories with its counters; AlreadyExists if it is there."""
    taken = AlreadyExists(_("The category %(slug)s is there already.") % {"slug": slug})
    texts = {"slug": slug, "name": CATEGORIES[slug], "version": 1}
    table.transact(create_writes(CATEGORY, CATEGORY_COUNTS, texts, taken))


@access_pattern("create missing categories, here all eight", "1 batch get + 8 transactions")
def create_all() -> None:
    """Add those of the eight categories that are missing. 1 batch get, 1 transaction for each missing one."""
    for slug in missing():
        try:
            create(slug)
        except AlreadyExists:
            continue


@access_pattern("which categories are missing", "1 batch get")
def missing() -> list[str]:
    """Return the slugs of the categories that a new table lacks until they are made."""
    there = table.batch_get(keys.category(slug) for slug in CATEGORIES)
    return [slug for slug in CATEGORIES if keys.category(slug) not in there]


@access_pattern("one category", "1 get")
def get(slug: str) -> Category:
    """Return a category, or raise NotFound."""
    _check_slug(slug)
    return from_items(slug, table.get(keys.category(slug)), None)


@access_pattern("one category with its counters", "1 batch get")
def get_with_counts(slug: str) -> Category:
    """Return a category with its counters, or raise NotFound."""
    return get_many([slug])[0]


@access_pattern("all categories with their counters", "1 batch get")
def all_categories() -> list[Category]:
    """Return the eight categories with their counters, in the site's order."""
    return get_many(CATEGORIES)


def get_many(slugs: Iterable[str]) -> list[Category]:
    """Return categories with their counters. 1 batch get."""
    pairs = {}
    for slug in slugs:
        _check_slug(slug)
        pairs[slug] = keys.category(slug), keys.category_counts(slug)
    items = table.batch_get(key for pair in pairs.values() for key in pair)
    return [from_items(slug, items.get(key), items.get(counts)) for slug, (key, counts) in pairs.items()]


def named_by(every: Iterable[Category]) -> dict[str, Category]:
    """Return categories by the slugs of the names that find them: current, other and first ones."""
    return {
        slugify(name): one for one in every for name in (one.slug, CATEGORIES[one.slug], one.name, *one.also)
    }


@access_pattern("change a category's texts", "1 batch get + 1 transaction")
def edit(
    category: Category,
    *,
    name: str,
    description: str,
    logo: Picture | None,
    by: str,
    now: datetime,
    also: Iterable[str] | None = None,
) -> Category:
    """Change a category's names, texts and logo; VersionConflict if it changed since it was loaded.

    An old name becomes one of the others, `also`. Invalid where a name finds another category.
    """
    name, others = names_after(category, name, also)
    changed = replace(category, name=name, also=others, description=description, logo=logo)
    refuse_names_of_others(changed, named_by(all_categories()))
    return edit_entry("category", keys.category(category.slug), category, changed, by=by, now=now, get=get)


def _check_slug(slug: str) -> None:
    if slug not in CATEGORIES:
        raise NotFound(gettext_lazy("There is no such category."))


def from_items(slug: str, item: Item | None, counts: Item | None) -> Category:
    """Return the category of its items; one that is not stored yet has its name and nothing else."""
    nothing = {"slug": slug, "name": CATEGORIES[slug], "version": 0}
    return _read_category(nothing | (item or {}), counts=read_counts(counts))


_read_category = reader(CATEGORY.shape, Category)


# Shared with brands


def clean_name(name: str, field: str = "name") -> str:
    """Return a display name normalised, or raise Invalid: empty, too long, or without a letter or digit."""
    cleaned = as_typed(name)
    if not cleaned:
        raise Invalid(**{field: gettext_lazy("Enter a name.")})
    if len(cleaned) > NAME_CHARACTERS:
        raise Invalid(**{field: _("Shorten the name to %(most)s characters.") % {"most": NAME_CHARACTERS}})
    if not slugify(cleaned):
        raise Invalid(**{field: gettext_lazy("The name needs a letter or a digit.")})
    return cleaned


def names_after(entry: Entry, name: str, also: Iterable[str] | None) -> tuple[str, tuple[str, ...]]:
    """Return a new name and the others, cleaned; the old name is one of these then. Invalid if one will not do."""
    name = clean_name(name)
    others = [clean_name(one, "also") for one in (entry.also if also is None else also)]
    found = {slugify(one): one for one in [*others, entry.name]}
    found.pop(slugify(name), None)
    if len(found) > MOST_ALSO:
        raise Invalid(also=_("Keep at most %(most)s other names.") % {"most": MOST_ALSO})
    return name, tuple(found.values())


def refuse_names_of_others(entry: Entry, found: Mapping[str, Entry]) -> None:
    """Raise Invalid where one of an entry's names finds another, as `found` says by the names' slugs."""
    for name in (entry.name, *entry.also):
        other = found.get(slugify(name), entry)
        if other.slug != entry.slug:
            said = _("The name %(name)s finds “%(other)s” already.") % {"name": name, "other": other.name}
            raise Invalid(**{"name" if name == entry.name else "also": said})


Stored = TypeVar("Stored", bound=Entry)


def read_counts(counts: Item | None) -> Counts | None:
    """Return the counters of their item, None where it was not read."""
    return None if counts is None else Counts.from_item(counts)


def create_writes(entity: Entity, counts: Entity, texts: Item, taken: DataError) -> list[Write]:
    """Return the writes that add a brand or category with its counters; `taken` if either is there."""
    none = {"slug": texts["slug"], "deals": 0, "likes": 0, "watches": 0}
    return [
        Put(key=one.key_of(values), item=one.item(values), when=(absent(),), otherwise=taken)
        for one, values in ((entity, texts), (counts, none))
    ]


def edit_entry(
    kind: Kind,
    key: keys.Key,
    entry: Stored,
    changed: Stored,
    *,
    by: str,
    now: datetime,
    get: Callable[[str], Stored],
    also: Callable[[Stored], Iterable[Write]] = lambda _: (),
) -> Stored:
    """Change texts and logo, with what `also` writes of the result; VersionConflict if it changed since it was loaded.

    1 transaction.
    """
    changed = replace(changed, version=entry.version + 1, last_edit=new_ulid(now))
    texts = {
        "name": changed.name,
        "also": [*changed.also],
        "description": changed.description,
        "logo": changed.logo.as_item() if changed.logo else None,
        "version": changed.version,
        "last_edit": changed.last_edit,
        "updated_at": iso(now),
        "updated_by": by,
    }
    update = Update(
        key=key,
        set={name: value for name, value in texts.items() if value not in (None, [])},
        remove=[name for name, value in texts.items() if value in (None, [])],
        when=(exists(), *at_version(entry.version)),
        otherwise=VersionConflict(),
    )
    audited = audit_change(kind, "changed", entry, changed, by=by, now=now)
    try:
        table.transact([update, audited, *also(changed)])
    except VersionConflict as conflict:
        conflict.current = get(entry.slug)
        raise
    return changed


def audit_change(kind: Kind, what: str, old: Entry | None, new: Entry, *, by: str, now: datetime) -> Put:
    """Return the write that notes in the audit log what changed of a brand or category."""
    differing = audit.changed(_in_words(old) if old else {}, _in_words(new))
    return audit.entry_write(by=by, kind=kind, subject=new.slug, what=what, now=now, **differing)


def _in_words(entry: Entry) -> dict[str, str]:
    """Return the texts and the logo as texts by field: what the audit log compares."""
    logo = f"{entry.logo.name} ({entry.logo.alt})" if entry.logo else ""
    also = ", ".join(entry.also)
    return {"name": entry.name, "also": also, "description": entry.description, "logo": logo}
