"""What brands and categories have in common: the texts and the logo of their pages, and their counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeVar

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import Picture
from dealsite.data.editing import audit
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import DataError, VersionConflict
from dealsite.data.table.ids import iso, new_ulid
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
        buckets = {
            name.removeprefix("deals_"): n for name, n in item.items() if name.startswith("deals_") and n > 0
        }
        return cls(item.get("deals", 0), item.get("likes", 0), item.get("watches", 0), buckets)


@dataclass(frozen=True, slots=True)
class Entry:
    """A brand or category as its page shows it; `version` counts its edits, `counts` are there where asked for."""

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


Stored = TypeVar("Stored", bound=Entry)


def read_entry(cls: type[Stored], item: Item, counts: Item | None) -> Stored:
    """Return the brand or category of its items."""
    return cls(
        slug=item["slug"],
        name=item["name"],
        description=item.get("description", ""),
        logo=Picture.from_item(item.get("logo")),
        version=item["version"],
        counts=Counts.from_item(counts) if counts is not None else None,
        last_edit=item.get("last_edit", ""),
    )


def create_writes(
    key: keys.Key, item: Item, counts_key: keys.Key, counts_type: str, taken: DataError
) -> list[Write]:
    """Return the writes that add a brand or category with its counters; `taken` if either is there."""
    counts = {"type": counts_type, "slug": item["slug"], "deals": 0, "likes": 0, "watches": 0}
    return [
        Put(key=key, item=item, when=(absent(),), otherwise=taken),
        Put(key=counts_key, item=counts, when=(absent(),), otherwise=taken),
    ]


def edit_entry(
    kind: Kind,
    key: keys.Key,
    entry: Stored,
    *,
    name: str,
    description: str,
    logo: Picture | None,
    by: str,
    now: datetime,
    get: Callable[[str], Stored],
    also: Callable[[Stored], Iterable[Write]] = lambda _: (),
) -> Stored:
    """Change texts and logo, with what `also` writes of the result; VersionConflict if it changed since it was loaded.

    1 transaction.
    """
    changed = replace(
        entry,
        name=name,
        description=description,
        logo=logo,
        version=entry.version + 1,
        last_edit=new_ulid(now),
    )
    texts = {
        "name": name,
        "description": description,
        "version": changed.version,
        "last_edit": changed.last_edit,
        "updated_at": iso(now),
        "updated_by": by,
    }
    update = Update(
        key=key,
        set=texts | ({"logo": logo.as_item()} if logo else {}),
        remove=() if logo else ("logo",),
        when=(exists(), *at_version(entry.version)),
        otherwise=VersionConflict(),
    )
    noted = entry_noted(kind, "changed", entry, changed, by=by, now=now)
    try:
        table.transact([update, noted, *also(changed)])
    except VersionConflict as conflict:
        current = get(entry.slug)
        if current.last_edit != changed.last_edit:
            conflict.current = current
            raise
    return changed


def entry_noted(kind: Kind, what: str, old: Entry | None, new: Entry, *, by: str, now: datetime) -> Put:
    """Return the write that notes in the audit log what changed of a brand or category."""
    differing = audit.changed(_in_words(old) if old else {}, _in_words(new))
    return audit.entry_write(by=by, kind=kind, subject=new.slug, what=what, now=now, **differing)


def _in_words(entry: Entry) -> dict[str, str]:
    """Return the texts and the logo as texts by field: what the audit log compares."""
    logo = f"{entry.logo.name} ({entry.logo.alt})" if entry.logo else ""
    return {"name": entry.name, "description": entry.description, "logo": logo}
