"""Brands: their pages' texts, the names that find them, from A to Z, their counters, and what renaming one takes."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from string import ascii_uppercase

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
from dealsite.data.entities.taxonomy import BRAND, BRAND_COUNTS, BRAND_NAME
from dealsite.data.jobs.jobs import job_write
from dealsite.data.names import is_slug, slugify
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, BadCursor, Conflict, NotFound
from dealsite.data.table.ids import iso, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import Page, to_end
from dealsite.data.table.writes import Check, Delete, Put, Write, absent, either, equals, missing

LETTERS = ("0-9", *ascii_uppercase, "…")  # under which brands are listed; the last are all others


@dataclass(frozen=True, slots=True)
class BrandName:
    """A brand as the list of all brands shows it."""

    slug: str
    name: str

    @property
    def letter(self) -> str:
        """The one of LETTERS that it stands under."""
        first = slugify(self.name)[0].upper()
        return LETTERS[0] if first in "0123456789" else first if first in LETTERS else LETTERS[-1]


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
        *_new_name_writes(brand, names_of(brand), taken),
    ]


def names_of(brand: Brand) -> set[str]:
    """Return the slugs of all names that find a brand."""
    return {slugify(name) for name in (brand.name, *brand.also)}


def name_writes(brand: Brand, slugs: Iterable[str], *, before: str = "") -> list[Put]:
    """Return the writes by which names find a brand, or show its new name.

    AlreadyExists where one finds another brand than this one, or than the one `before`.
    """
    is_free = either(missing("brand"), equals("brand", before or brand.slug))
    return [
        Put(
            key=keys.brand_name(slug),
            item=BRAND_NAME.item({"slug": slug, "brand": brand.slug, "name": brand.name}),
            when=(is_free,),
            otherwise=AlreadyExists(_("Another brand has the name %(name)s now.") % {"name": slug}),
        )
        for slug in sorted(slugs)
    ]


def _new_name_writes(brand: Brand, slugs: Iterable[str], taken: AlreadyExists) -> Iterator[Write]:
    """Yield the writes by which further names find a brand; `taken` where one finds another already."""
    for write in name_writes(brand, slugs):
        yield replace(write, otherwise=taken)
        if (slug := write.item["slug"]) != brand.slug:
            is_free = (either(absent(), equals("merged_into", brand.slug)),)
            yield Check(key=keys.brand(slug), when=is_free, otherwise=taken)


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
    names = table.batch_get(keys.brand_name(slug) for slug in slugs if is_slug(slug))
    owners = {item["slug"]: item["brand"] for item in names.values()}
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


@access_pattern("brands from A to Z, or those of which a name begins so", "1 query")
def names(
    begin: str = "", *, letter: str = "", after: str | None = None, before: str | None = None, size: int = 100
) -> Page[BrandName]:
    """Return some brands by their names, from A to Z, those of one of LETTERS, or those of which a name begins so.

    A page may hold fewer: other names are passed over. Cursors are slugs; BadCursor for what is none.
    """
    if (after and before) or not all(is_slug(cursor) for cursor in (after, before) if cursor):
        raise BadCursor()
    start, (low, high) = keys.brand_name.between()[0], _between(begin, letter)
    if after:
        low = max(low, f"{after}!")  # which stands before all that go on with a hyphen or letter
    rows = table.query(
        keys.brand_name.partition(),
        low=start + low,
        high=start + (min(high, before) if before else high),
        newest_first=bool(before),
        limit=size + 2,
    )
    rows = [row for row in rows if row["slug"] != before]
    rows, more = rows[:size], len(rows) > size
    if before:
        rows.reverse()
    found = [
        BrandName(row["brand"], row["name"]) for row in rows if begin or slugify(row["name"]) == row["slug"]
    ]
    return Page(
        [*dict.fromkeys(found)],
        rows[-1]["slug"] if rows and (more or before) else None,
        rows[0]["slug"] if rows and (after or (before and more)) else None,
    )


def of_letter(letter: str) -> Iterator[BrandName]:
    """Yield all brands of one of LETTERS. 1 query for each 1,000 names."""
    return (brand for page in to_end(partial(names, letter=letter, size=1_000)) for brand in page.rows)


@access_pattern("names of brands, as releases before 0.3.0 listed them", "1 query")
def list_names_anew() -> int:
    """Bring brands' names from items of a letter each, as before 0.3.0, to items of their own; return how many.

    Harmless to repeat. 1 query; then a batch get for each 100 brands, and a batch insert for each 25 names.
    """
    high = f"LETTER#{keys.TOP}"
    old = table.query(keys.brand_name.partition(), low="LETTER#", high=high, limit=1_000, consistent=True)
    slugs = {name.removeprefix("brand:") for item in old for name in item if name.startswith("brand:")}
    found = [write for brand in get_many(slugs).values() for write in name_writes(brand, names_of(brand))]
    items = {write.key: {"PK": write.key[0], "SK": write.key[1], **write.item} for write in found}
    made = table.insert([*items.values()])
    for item in old:
        table.write(Delete(key=(item["PK"], item["SK"])))
    return made


def _between(begin: str, letter: str) -> tuple[str, str]:
    """Return the first and the last slug of names that begin so, or with one of LETTERS."""
    if letter == LETTERS[0]:
        return "0", "9" + keys.TOP
    if letter == LETTERS[-1]:
        return "z" + keys.TOP, keys.TOP
    begin = begin or letter.lower()
    return begin, begin + keys.TOP


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

    def writes_of_names(changed: Brand) -> list[Write]:
        old, new = names_of(brand), names_of(changed)
        writes = [*_new_name_writes(changed, new - old, AlreadyExists())]
        if changed.name != brand.name:
            writes += name_writes(changed, new & old)
            writes.append(
                job_write("rename_brand", RenamePayload(brand.slug), job_id=changed.last_edit, due=now)
            )
        for slug in sorted(old - new):
            is_own = (either(absent(), equals("brand", brand.slug)),)
            writes.append(Delete(key=keys.brand_name(slug), when=is_own, otherwise=AlreadyExists()))
        return writes

    name, others = names_after(brand, name, also)
    new = replace(brand, name=name, also=others, description=description, logo=logo)
    key = keys.brand(brand.slug)
    try:
        return edit_entry("brand", key, brand, new, by=by, now=now, get=get_with_counts, also=writes_of_names)
    except AlreadyExists:
        refuse_names_of_others(new, _named_as(new))
        raise


def _named_as(brand: Brand) -> dict[str, Brand]:
    """Return the brands that a brand's names find, but for the one of its address."""
    return named_by(names_of(brand) - {brand.slug})


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
