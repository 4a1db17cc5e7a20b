"""Brands: their pages' texts, their names by first letter, their counters, and what renaming one takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data import audit, keys, table
from dealsite.data.cards import Picture
from dealsite.data.categories import Counts, in_words, texts_write
from dealsite.data.convert import Item
from dealsite.data.errors import AlreadyExists, Invalid, NotFound, VersionConflict
from dealsite.data.ids import iso, new_ulid, normalise, slugify
from dealsite.data.jobs import job_write
from dealsite.data.writes import Put, Update, Write, absent

NAME_CHARACTERS = 80
NAME_ATTRIBUTE = "brand:"


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
class Brand:
    """A brand as its page shows it; `version` counts its edits, `counts` are there where they were asked for."""

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


def clean_name(name: str) -> str:
    """Return a display name normalised, or raise Invalid: empty, too long, or without a letter or digit."""
    cleaned = normalise(name)
    if not cleaned:
        raise Invalid(name=gettext_lazy("Enter a name."))
    if len(cleaned) > NAME_CHARACTERS:
        raise Invalid(name=_("Shorten the name to %(most)s characters.") % {"most": NAME_CHARACTERS})
    if not slugify(cleaned):
        raise Invalid(name=gettext_lazy("The name needs a letter or a digit."))
    return cleaned


def create(name: str, *, by: str, now: datetime, description: str = "", logo: Picture | None = None) -> Brand:
    """Add a brand; AlreadyExists if its slug is taken, Invalid if the name will not do. 1 transaction."""
    name = clean_name(name)
    brand = Brand(slugify(name), name, description, logo, 1, Counts(), new_ulid(now))
    try:
        table.transact([*_create_writes(brand, by, now), _noted(brand, "added", by=by, now=now)])
    except AlreadyExists:
        if get(brand.slug).last_edit != brand.last_edit:
            raise
    return brand


def create_many(names: Iterable[str], *, by: str, now: datetime) -> dict[str, Brand]:
    """Add several brands without text or logo, all or none, and return them by slug. 1 transaction.

    Meant for imports, up to 30 at once. AlreadyExists if one of them is there, Invalid if a name will
    not do; the caller then adds them one by one.
    """
    cleaned = {slugify(name): name for name in map(clean_name, names)}
    new = {slug: Brand(slug, name, "", None, 1, Counts(), new_ulid(now)) for slug, name in cleaned.items()}
    if not new:
        return new
    first, *others = new.values()
    note = " ".join(brand.slug for brand in others)
    what = f"added with {len(others)} others" if others else "added"
    entry = audit.entry_write(
        by=by, kind="brand", subject=first.slug, what=what, now=now, after={"others": note}
    )
    table.transact([*(w for brand in new.values() for w in _create_writes(brand, by, now)), entry])
    return new


def _create_writes(brand: Brand, by: str, now: datetime) -> list[Write]:
    taken = AlreadyExists(_("There is a brand with this name already: %(slug)s.") % {"slug": brand.slug})
    item = {
        "type": "Brand",
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
    counts = {"type": "BrandCounts", "slug": brand.slug, "deals": 0, "likes": 0, "watches": 0}
    return [
        Put(key=keys.brand(brand.slug), item=item, when=(absent(),), otherwise=taken),
        Put(key=keys.brand_counts(brand.slug), item=counts, when=(absent(),), otherwise=taken),
        name_write(brand.slug, brand.name),
    ]


def name_write(slug: str, name: str) -> Update:
    """Return the write that lists a brand's name under its letter."""
    return Update(
        key=keys.brand_letter(slug[0]), set={"type": "BrandLetter", f"{NAME_ATTRIBUTE}{slug}": name}
    )


def get(slug: str) -> Brand:
    """Return a brand, or raise NotFound. 1 get."""
    return _found(from_items(table.get(_key(slug)), None))


def get_with_counts(slug: str) -> Brand:
    """Return a brand with its counters, or raise NotFound. 1 batch get."""
    items = table.batch_get([_key(slug), keys.brand_counts(slug)])
    return _found(from_items(items.get(keys.brand(slug)), items.get(keys.brand_counts(slug))))


def get_many(slugs: Iterable[str]) -> dict[str, Brand]:
    """Return those of some brands that exist, by slug. 1 batch get for each 100."""
    items = table.batch_get(_key(slug) for slug in slugs)
    found = (from_items(item, None) for item in items.values())
    return {brand.slug: brand for brand in found if brand}


def counts(slugs: Iterable[str]) -> dict[str, Counts]:
    """Return the counters of some brands, by slug. 1 batch get for each 100."""
    items = table.batch_get((keys.brand_counts(slug) for slug in slugs), consistent=False)
    return {item["slug"]: Counts.from_item(item) for item in items.values()}


def all_brands() -> list[BrandName]:
    """Return all brands, sorted by name. 1 query (for each 1 MB: some 20,000 brands)."""
    low, high = keys.prefix("LETTER#")
    names: list[BrandName] = []
    start = None
    while True:
        rows = table.query_page(keys.BRANDS, low=low, high=high, limit=1000, start=start)
        for item in rows.items:
            names += [
                BrandName(attribute.removeprefix(NAME_ATTRIBUTE), name)
                for attribute, name in item.items()
                if attribute.startswith(NAME_ATTRIBUTE)
            ]
        start = rows.start
        if start is None:
            return sorted(names, key=lambda brand: (brand.letter, brand.name.casefold(), brand.slug))


def edit(brand: Brand, *, name: str, description: str, logo: Picture | None, by: str, now: datetime) -> Brand:
    """Change a brand's name, text and logo; its slug stays. VersionConflict if it changed since it was loaded.

    A new name adds a job, which brings it to the brand's deals, drafts and featured cards. 1 transaction.
    """
    name = clean_name(name)
    token = new_ulid(now)
    writes: list[Write] = [
        texts_write(
            keys.brand(brand.slug),
            version=brand.version,
            name=name,
            description=description,
            logo=logo,
            token=token,
            by=by,
            now=now,
        )
    ]
    changed = replace(
        brand, name=name, description=description, logo=logo, version=brand.version + 1, last_edit=token
    )
    writes.append(_noted(changed, "changed", by=by, now=now, old=brand))
    if name != brand.name:
        writes.append(name_write(brand.slug, name))
        writes.append(job_write("rename_brand", {"brand": brand.slug}, job_id=token, due=now))
    try:
        table.transact(writes)
    except VersionConflict as conflict:
        current = get(brand.slug)
        if current.last_edit != token:
            conflict.current = current
            raise
    return changed


def _noted(brand: Brand, what: str, *, by: str, now: datetime, old: Brand | None = None) -> Put:
    differing = audit.changed(in_words(old) if old else {}, in_words(brand))
    return audit.entry_write(by=by, kind="brand", subject=brand.slug, what=what, now=now, **differing)


def from_items(item: Item | None, counts: Item | None) -> Brand | None:
    """Return the brand of its items, None where it does not exist."""
    if item is None:
        return None
    return Brand(
        slug=item["slug"],
        name=item["name"],
        description=item.get("description", ""),
        logo=Picture.from_item(item.get("logo")),
        version=item["version"],
        counts=Counts.from_item(counts) if counts is not None else None,
        last_edit=item.get("last_edit", ""),
    )


def _found(brand: Brand | None) -> Brand:
    if brand is None:
        raise NotFound(gettext_lazy("There is no such brand."))
    return brand


def _key(slug: str) -> keys.Key:
    """Return the key of a slug that came from outside: whatever is no slug is a brand that does not exist."""
    if not slug or slugify(slug) != slug:
        raise NotFound(gettext_lazy("There is no such brand."))
    return keys.brand(slug)
