"""Brands: their pages' texts, their names by first letter, their counters, and what renaming one takes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import Picture
from dealsite.data.catalogue.categories import (
    Counts,
    Entry,
    create_writes,
    edit_entry,
    entry_noted,
    read_counts,
)
from dealsite.data.editing import audit
from dealsite.data.entities.conversion import reader
from dealsite.data.entities.deals import NAME_CHARACTERS
from dealsite.data.entities.taxonomy import BRAND, BRAND_COUNTS, BRAND_LETTER
from dealsite.data.entities.taxonomy import NAME_ATTRIBUTE as NAME_ATTRIBUTE
from dealsite.data.jobs.jobs import job_write
from dealsite.data.names import as_typed, slugify
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Invalid, NotFound
from dealsite.data.table.ids import iso, new_ulid
from dealsite.data.table.writes import Update, Write


@dataclass(frozen=True, slots=True)
class BrandName:
    """A brand as the list of all brands shows it."""

    slug: str
    name: str

    @property
    def letter(self) -> str:
        """The heading it stands under: its first letter, or 0-9."""
        first = self.slug[0].upper()
        return "0-9" if first.isdigit() else first


@dataclass(frozen=True, slots=True)
class RenamePayload:
    """The brand whose new name is brought to its deals."""

    brand: str


class Brand(Entry):
    """A brand as its page shows it."""

    __slots__ = ()


def clean_name(name: str) -> str:
    """Return a display name normalised, or raise Invalid: empty, too long, or without a letter or digit."""
    cleaned = as_typed(name)
    if not cleaned:
        raise Invalid(name=gettext_lazy("Enter a name."))
    if len(cleaned) > NAME_CHARACTERS:
        raise Invalid(name=_("Shorten the name to %(most)s characters.") % {"most": NAME_CHARACTERS})
    if not slugify(cleaned):
        raise Invalid(name=gettext_lazy("The name needs a letter or a digit."))
    return cleaned


@access_pattern("create a brand and list it", "1 transaction")
def create(name: str, *, by: str, now: datetime, description: str = "", logo: Picture | None = None) -> Brand:
    """Add a brand; AlreadyExists if its slug is taken, Invalid if the name will not do."""
    name = clean_name(name)
    brand = Brand(slugify(name), name, description, logo, 1, Counts(), new_ulid(now))
    try:
        noted = entry_noted("brand", "added", None, brand, by=by, now=now)
        table.transact([*_create_writes(brand, by, now), noted])
    except AlreadyExists:
        if get(brand.slug).last_edit != brand.last_edit:
            raise
    return brand


@access_pattern("create several brands", "1 transaction")
def create_many(names: Iterable[str], *, by: str, now: datetime) -> dict[str, Brand]:
    """Add several brands without text or logo, all or none, and return them by slug.

    Meant for imports, up to 30 at once. AlreadyExists if one of them is there, Invalid if a name will not do;
    the caller then adds them one by one.
    """
    cleaned = {slugify(name): name for name in map(clean_name, names)}
    new = {slug: Brand(slug, name, "", None, 1, Counts(), new_ulid(now)) for slug, name in cleaned.items()}
    if not new:
        return new
    first, *others = new.values()
    what = f"added with {len(others)} others" if others else "added"
    after = {"others": " ".join(brand.slug for brand in others)}
    entry = audit.entry_write(by=by, kind="brand", subject=first.slug, what=what, now=now, after=after)
    table.transact([*(w for brand in new.values() for w in _create_writes(brand, by, now)), entry])
    return new


def _create_writes(brand: Brand, by: str, now: datetime) -> list[Write]:
    taken = AlreadyExists(_("There is a brand with this name already: %(slug)s.") % {"slug": brand.slug})
    texts = {
        "slug": brand.slug,
        "name": brand.name,
        "description": brand.description,
        "logo": brand.logo.as_item() if brand.logo else None,
        "version": 1,
        "last_edit": brand.last_edit,
        "created_at": iso(now),
        "updated_at": iso(now),
        "updated_by": by,
    }
    return [*create_writes(BRAND, BRAND_COUNTS, texts, taken), name_write(brand.slug, brand.name)]


def name_write(slug: str, name: str) -> Update:
    """Return the write that lists a brand's name under its letter."""
    listed = {f"{NAME_ATTRIBUTE}{slug}": name}
    return Update(key=keys.brand_letter(slug[0]), set=BRAND_LETTER.item(listed))


@access_pattern("one brand", "1 get")
def get(slug: str) -> Brand:
    """Return a brand, or raise NotFound."""
    return _found(from_items(table.get(_key(slug)), None))


@access_pattern("one brand with its counters", "1 batch get")
def get_with_counts(slug: str) -> Brand:
    """Return a brand with its counters, or raise NotFound."""
    items = table.batch_get([_key(slug), keys.brand_counts(slug)])
    return _found(from_items(items.get(keys.brand(slug)), items.get(keys.brand_counts(slug))))


@access_pattern("several brands", "1 batch get")
def get_many(slugs: Iterable[str]) -> dict[str, Brand]:
    """Return those of some brands that exist, by slug. 1 batch get for each 100."""
    items = table.batch_get(_key(slug) for slug in slugs)
    found = (from_items(item, None) for item in items.values())
    return {brand.slug: brand for brand in found if brand}


@access_pattern("the counters of some brands", "1 batch get")
def counts(slugs: Iterable[str]) -> dict[str, Counts]:
    """Return the counters of some brands, by slug. 1 batch get for each 100."""
    items = table.batch_get((keys.brand_counts(slug) for slug in slugs), consistent=False)
    return {item["slug"]: Counts.from_item(item) for item in items.values()}


@access_pattern("all brands", "1 query")
def all_brands() -> list[BrandName]:
    """Return all brands, sorted by name. 1 query (for each 1 MB: some 20,000 brands)."""
    low, high = keys.brand_letter.between()
    names = [
        BrandName(attribute.removeprefix(NAME_ATTRIBUTE), name)
        for item in table.query_all(keys.brand_letter.partition(), low=low, high=high, limit=1000)
        for attribute, name in item.items()
        if attribute.startswith(NAME_ATTRIBUTE)
    ]
    return sorted(names, key=lambda brand: (brand.letter, brand.name.casefold(), brand.slug))


@access_pattern("change or rename a brand", "1 transaction")
def edit(brand: Brand, *, name: str, description: str, logo: Picture | None, by: str, now: datetime) -> Brand:
    """Change a brand's name, text and logo; its slug stays. VersionConflict if it changed since it was loaded.

    A new name adds a job, which brings it to the brand's deals, drafts and featured cards.
    """

    def rename_writes(changed: Brand) -> list[Write]:
        if changed.name == brand.name:
            return []
        job = job_write("rename_brand", RenamePayload(brand.slug), job_id=changed.last_edit, due=now)
        return [name_write(brand.slug, changed.name), job]

    new = replace(brand, name=clean_name(name), description=description, logo=logo)
    key = keys.brand(brand.slug)
    return edit_entry("brand", key, brand, new, by=by, now=now, get=get, also=rename_writes)


def from_items(item: Item | None, counts: Item | None) -> Brand | None:
    """Return the brand of its items, None where it does not exist."""
    return None if item is None else _read_brand(item, counts=read_counts(counts))


_read_brand = reader(BRAND.shape, Brand)


def _found(brand: Brand | None) -> Brand:
    if brand is None:
        raise NotFound(gettext_lazy("There is no such brand."))
    return brand


def _key(slug: str) -> keys.Key:
    """Return the key of a slug that came from outside: whatever is no slug is a brand that does not exist."""
    if not slug or slugify(slug) != slug:
        raise NotFound(gettext_lazy("There is no such brand."))
    return keys.brand(slug)
