"""Brands: their pages' texts, their names by first letter, their counters, and what renaming one takes."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import Picture
from dealsite.data.catalogue.categories import (
    Counts,
    Entry,
    audit_change,
    clean_name,
    create_writes,
    edit_entry,
    names_after,
    read_counts,
    refuse_names_of_others,
)
from dealsite.data.editing import audit
from dealsite.data.entities.entity import reader
from dealsite.data.entities.taxonomy import (
    ALIAS_ATTRIBUTE as ALIAS_ATTRIBUTE,
    BRAND,
    BRAND_COUNTS,
    BRAND_LETTER,
    NAME_ATTRIBUTE as NAME_ATTRIBUTE,
    listed_in,
)
from dealsite.data.jobs.jobs import job_write
from dealsite.data.names import is_slug, slugify
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Conflict, NotFound
from dealsite.data.table.ids import iso, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Check, Update, Write, absent, either, equals, missing


@dataclass(frozen=True, slots=True)
class BrandName:
    """A brand as the list of all brands shows it; `also` are the slugs of other names that find it."""

    slug: str
    name: str
    also: tuple[str, ...] = ()

    @property
    def letter(self) -> str:
        """The heading it stands under: the first letter of its name, or 0-9."""
        first = self.name[0] if self.name[0].isascii() and self.name[0].isalnum() else slugify(self.name)[0]
        return "0-9" if first.isdigit() else first.upper()

    def holds(self, typed: str) -> bool:
        """Tell whether one of its names holds a text, both as slugs."""
        return any(typed in one for one in (self.slug, *self.also))

    def begins(self, typed: str) -> bool:
        """Tell whether one of its names begins with a text, both as slugs."""
        return any(one.startswith(typed) for one in (self.slug, *self.also))


@dataclass(frozen=True, slots=True)
class RenamePayload:
    """The brand whose new name is brought to its deals."""

    brand: str


class BrandChanged(Conflict):
    """The brand was renamed, merged or is gone since it was read."""


@dataclass(frozen=True, slots=True)
class Brand(Entry):
    """A brand as its page shows it; one that was merged says into which, and which jobs move its deals and drafts.

    `merged` are the slugs of all that were merged into it, or into one of these.
    """

    merged_into: str = ""
    merged: tuple[str, ...] = ()
    merge_jobs: tuple[str, ...] = ()


@access_pattern("create a brand and list it", "1 transaction")
def create(
    name: str,
    *,
    by: str,
    now: datetime,
    description: str = "",
    logo: Picture | None = None,
    also: Iterable[str] = (),
) -> Brand:
    """Add a brand; AlreadyExists if one of its names finds one already, Invalid if a name will not do."""
    name, others = names_after(Brand("", name), name, also)
    brand = Brand(slugify(name), name, description, logo, 1, Counts(), new_ulid(now), others)
    try:
        entry = audit_change("brand", "added", None, brand, by=by, now=now)
        table.transact([*_create_writes(brand, by, now), entry])
    except AlreadyExists:
        if (found := named_by([brand.slug]).get(brand.slug)) is None:
            refuse_names_of_others(brand, _named_as(brand))
        if found is None or found.last_edit != brand.last_edit:
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
    is_free = missing(f"{ALIAS_ATTRIBUTE}{brand.slug}")
    listed = replace(name_write(brand.slug, brand.name), when=(is_free,), otherwise=taken)
    texts = {
        "slug": brand.slug,
        "name": brand.name,
        "also": [*brand.also] or None,
        "description": brand.description,
        "logo": brand.logo.as_item() if brand.logo else None,
        "version": 1,
        "last_edit": brand.last_edit,
        "created_at": iso(now),
        "updated_at": iso(now),
        "updated_by": by,
    }
    return [
        *create_writes(BRAND, BRAND_COUNTS, texts, taken),
        listed,
        *_alias_writes(aliases(brand.slug, brand.also), brand.slug),
    ]


def name_write(slug: str, name: str) -> Update:
    """Return the write that lists a brand's name under its letter."""
    listed = {f"{NAME_ATTRIBUTE}{slug}": name}
    return Update(key=keys.brand_letter(slug[0]), set=BRAND_LETTER.item(listed))


def alias_write(alias: str, slug: str) -> Update:
    """Return the write by which the slug of another name finds a brand, unless it finds another one."""
    attribute = f"{ALIAS_ATTRIBUTE}{alias}"
    return Update(
        key=keys.brand_letter(alias[0]),
        set=BRAND_LETTER.item({attribute: slug}),
        when=(either(missing(attribute), equals(attribute, slug)),),
        otherwise=AlreadyExists(),
    )


def aliases(slug: str, names: Iterable[str]) -> set[str]:
    """Return the slugs of a brand's names that are not its own."""
    return {slugify(name) for name in names} - {slug}


def _alias_writes(some: Iterable[str], slug: str) -> Iterator[Write]:
    """Yield the writes by which some names find a brand, unless they find another; AlreadyExists then."""
    for alias in sorted(some):
        yield alias_write(alias, slug)
        is_free = (either(absent(), equals("merged_into", slug)),)
        yield Check(key=keys.brand(alias), when=is_free, otherwise=AlreadyExists())


def check_brand(brand: Brand) -> Check:
    """Return the check that a brand still has the name that it was read with, and was not merged."""
    return Check(
        key=keys.brand(brand.slug),
        when=(equals("name", brand.name), missing("merged_into")),
        otherwise=BrandChanged(gettext_lazy("The brand was renamed meanwhile. Please try again.")),
    )


@access_pattern("one brand", "1 get")
def get(slug: str) -> Brand:
    """Return a brand, or the one that it was merged into, or raise NotFound. 1 get, 1 more for each merge."""
    brand = _found(from_items(table.get(_key(slug)), None))
    return get(brand.merged_into) if brand.merged_into else brand


def with_merged(slug: str) -> tuple[str, ...]:
    """Return the slugs of a brand, be there one or not, and of all that were merged into it. As `get` costs."""
    try:
        brand = get(slug)
    except NotFound:
        return (slug,)
    return (brand.slug, *brand.merged)


@access_pattern("one brand with its counters", "1 batch get")
def get_with_counts(slug: str) -> Brand:
    """Return a brand with its counters, itself if it was merged, or raise NotFound."""
    items = table.batch_get([_key(slug), keys.brand_counts(slug)])
    return _found(from_items(items.get(keys.brand(slug)), items.get(keys.brand_counts(slug))))


@access_pattern("several brands", "1 batch get")
def get_many(slugs: Iterable[str]) -> dict[str, Brand]:
    """Return those of some brands that exist, by slug; for one that was merged, what it was merged into.

    1 batch get for each 100, and 1 more for each step of merges.
    """
    items = table.batch_get(_key(slug) for slug in slugs)
    found = {brand.slug: brand for item in items.values() if (brand := from_items(item, None))}
    if not (merged := {slug: one.merged_into for slug, one in found.items() if one.merged_into}):
        return found
    into = get_many(set(merged.values()))
    there = {slug: one for slug, one in found.items() if slug not in merged}
    return there | {slug: into[target] for slug, target in merged.items() if target in into}


@access_pattern("several brands by their names", "1 batch get")
def named_by(slugs: Iterable[str]) -> dict[str, Brand]:
    """Return brands by the slugs of names that they have or had.

    1 batch get for each 100, and 2 more where some are not slugs of brands.
    """
    wanted = set(slugs)
    found = get_many(wanted)
    return found | _by_other_names(wanted - found.keys())


def _by_other_names(slugs: Collection[str]) -> dict[str, Brand]:
    """Return brands by slugs of names that are not their own slugs. 2 batch gets, or 1 where none is found."""
    letters = table.batch_get({keys.brand_letter(slug[0]) for slug in slugs})
    listed = dict[str, str]()
    for item in letters.values():
        listed |= listed_in(item, ALIAS_ATTRIBUTE)
    owners = {slug: listed[slug] for slug in slugs if slug in listed}
    brands = get_many(set(owners.values()))
    return {slug: brands[owner] for slug, owner in owners.items() if owner in brands}


@access_pattern("the brand of a name", "1 get")
def named(name: str) -> Brand:
    """Return the brand of a name that it has or had, or raise NotFound. 1 get, and up to 2 batch gets."""
    slug = slugify(name)
    try:
        return get(slug)
    except NotFound:
        return _found(_by_other_names([slug] if slug else []).get(slug))


@access_pattern("the counters of some brands", "1 batch get")
def counts(slugs: Iterable[str]) -> dict[str, Counts]:
    """Return the counters of some brands, by slug. 1 batch get for each 100."""
    items = table.batch_get((keys.brand_counts(slug) for slug in slugs), consistent=False)
    return {item["slug"]: Counts.from_item(item) for item in items.values()}


@access_pattern("all brands", "1 query")
def all_brands() -> list[BrandName]:
    """Return all brands, sorted by name. 1 query (for each 1 MB: some 20,000 brands)."""
    low, high = keys.brand_letter.between()
    names, also = dict[str, str](), defaultdict[str, list[str]](list)
    for item in table.query_all(keys.brand_letter.partition(), low=low, high=high, limit=1000):
        names |= listed_in(item, NAME_ATTRIBUTE)
        for alias, slug in listed_in(item, ALIAS_ATTRIBUTE).items():
            also[slug].append(alias)
    found = (BrandName(slug, name, tuple(also.get(slug, ()))) for slug, name in names.items())
    return sorted(found, key=lambda brand: (brand.letter, brand.name.casefold(), brand.slug))


@access_pattern("change or rename a brand", "1 transaction")
def edit(
    brand: Brand,
    *,
    name: str,
    description: str,
    logo: Picture | None,
    by: str,
    now: datetime,
    also: Iterable[str] | None = None,
) -> Brand:
    """Change a brand's names, text and logo; its slug stays. VersionConflict if it changed since it was loaded.

    A new name adds a job, which brings it to the brand's deals, drafts and featured cards; the old one becomes one of
    the others, `also`. Invalid where a name finds another brand.
    """

    def name_writes(changed: Brand) -> list[Write]:
        writes = list[Write]()
        if changed.name != brand.name:
            job = job_write("rename_brand", RenamePayload(brand.slug), job_id=changed.last_edit, due=now)
            writes += [name_write(brand.slug, changed.name), job]
        old, new = (aliases(one.slug, (one.name, *one.also)) for one in (brand, changed))
        writes += _alias_writes(new - old, brand.slug)
        for alias in sorted(old - new):
            write = alias_write(alias, brand.slug)
            writes.append(replace(write, set={}, remove=[f"{ALIAS_ATTRIBUTE}{alias}"]))
        return writes

    name, others = names_after(brand, name, also)
    new = replace(brand, name=name, also=others, description=description, logo=logo)
    key = keys.brand(brand.slug)
    try:
        return edit_entry("brand", key, brand, new, by=by, now=now, get=get_with_counts, also=name_writes)
    except AlreadyExists:
        refuse_names_of_others(new, _named_as(new))
        raise


def _named_as(brand: Brand) -> dict[str, Brand]:
    """Return the brands that a brand's names find, but for the one of its address."""
    return named_by(aliases(brand.slug, (brand.name, *brand.also)))


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
    if not is_slug(slug):
        raise NotFound(gettext_lazy("There is no such brand."))
    return keys.brand(slug)
