"""Each item by itself, as the charts of entities and keys say; what it refers to is there; and what others name.

Memory grows with what is referred to and has not been seen yet, and with users, brands and deals by a word each.

A brand, category or featured page that is lost is made anew of what names it. A brand is told by the list of names, by
its counters or by deals; what it says of itself (description, logo) is lost. A featured list is made of the deals that
say where they are featured, in the order that the audit log has. A deal of which offer and prices are there, or a user
whose profile is, was lost as well: nothing tells what it was, but what is left of it is kept for whoever decides.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

from dealsite.data import keys
from dealsite.data.catalogue import cards
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.featured import TYPES
from dealsite.data.entities.attributes import YEARS, Attribute, Map, Shape, Whole
from dealsite.data.entities.chart import ENTITIES, RETIRED
from dealsite.data.entities.deals import PAGES
from dealsite.data.entities.entity import INDEX_KEYS, Entity, own_copies, pattern
from dealsite.data.entities.work import SITE
from dealsite.data.integrity.problem import (
    Problem,
    as_seen,
    differences,
    differing,
    kept,
    key_of,
    repair_write,
)
from dealsite.data.names import slugify
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import iso, time_of
from dealsite.data.table.writes import Check, Delete, Put, Write, absent, equals, exists

WRONG_SHAPE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def problems_of(item: Item) -> list[Problem]:
    """Return what is wrong with an item that it says itself, without a look at any other."""
    check = Items()
    check.is_sound(item)
    return check.found


class Items:
    """Sees each item where it stands; `newer` counts those that a newer build of the site wrote.

    `unseen` are the types of those that other checks do not see; `retired` are items of types that the site had once.
    """

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.retired: list[Problem] = []
        self.newer = 0
        self.unseen: set[str] = set()

    def is_sound(self, item: Item) -> bool:
        """Tell whether an item is of a known type and stands under its own key; other checks see only those."""
        kind = item.get("type")
        entity = ENTITIES.get(kind) if isinstance(kind, str) else None
        if entity is None and str(kind) in RETIRED:
            self.retired.append(_retired(item))
            return False
        if entity is None:
            self.found.append(_unknown(item))
            self.unseen.update(_types_of_key(item))
            return False
        if entity.is_newer(item):
            self.newer += 1
            return False
        if said := list(entity.problems(item)):
            self.found.append(_wrong(entity, item, said))
        if not self._is_in_place(entity, item, known_to_be_wrong=bool(said)):
            self.unseen.add(entity.type)
            return False
        copies, right = own_copies(entity, item)
        if copies:
            self.found.append(Problem(key_of(item), f"{'; '.join(copies)}.", (repair_write(item, right),)))
        return True

    def incomplete(self, item: Item, error: Exception) -> None:
        """Note that a check could not read an item, unless that was said of it already."""
        if not self.found or self.found[-1].key != key_of(item):
            self.found.append(Problem(key_of(item), f"This {item['type']} is incomplete ({error!r})."))

    def _is_in_place(self, entity: Entity, item: Item, *, known_to_be_wrong: bool) -> bool:
        try:
            key, rows = entity.key_of(item), entity.rows_of(item)
        except WRONG_SHAPE as error:
            if not known_to_be_wrong:
                what = f"This {entity.type} lacks what its key is made of ({error!r})."
                self.found.append(Problem(key_of(item), what))
            return False
        if key != key_of(item):
            what = f"This {entity.type} belongs under {' / '.join(key)}."
            self.found.append(Problem(key_of(item), what, _as_its_key_says(entity, item)))
            return False
        if wrong := differences(item, {name: rows.get(name) for name in INDEX_KEYS}):
            self.found.append(differing("{} is {!r}, should be {!r}", item, wrong))
        return True


def _unknown(item: Item) -> Problem:
    """Return the problem of an item without a known type: its key may tell it."""
    kind, key = item.get("type"), key_of(item)
    told = _types_of_key(item)
    if len(told) != 1:
        return Problem(key, f"Its type, {kind!r}, is not known.")
    what = f"Its type, {kind!r}, is not known; its key is that of a {told[0]}."
    return Problem(key, what, (repair_write(item, {"type": told[0]}),))


def _retired(item: Item) -> Problem:
    gone = Delete(key=key_of(item), when=as_seen(item, ["type"]))
    return Problem(key_of(item), f"Nothing reads a {item['type']} any more.", (gone,))


def _types_of_key(item: Item) -> list[str]:
    return [name for name, matches in _patterns() if matches("\n".join(key_of(item)))]


@cache
def _patterns() -> list[tuple[str, Any]]:
    """Return what tells the types of keys: items of one type may have keys of several templates."""
    return [(one.type, pattern(key.pieces).fullmatch) for one in ENTITIES.values() for key in one.keys]


def _wrong(entity: Entity, item: Item, said: list[str]) -> Problem:
    """Return the problem of what is wrong with attributes, repaired where the key tells them or nothing is lost."""
    what = f"This {entity.type}: {' '.join(said)}"
    if wanted := dict(_told_by_key(entity, item)):
        return Problem(key_of(item), what, (repair_write(item, wanted),))
    if entity.is_passing:
        return Problem(key_of(item), what, (Delete(key=key_of(item), when=as_seen(item, ["type", "ttl"])),))
    return Problem(key_of(item), what)


def _as_its_key_says(entity: Entity, item: Item) -> tuple[Write, ...]:
    """Return the write that lets an item say what its key says, if its lists agree or all else of it is counted."""
    told = dict(_told_by_key(entity, item, all_of_them=True))
    right = item | told
    if entity.key_of(right) != key_of(item):
        return ()
    rows = {name: item[name] for name in INDEX_KEYS if name in item}
    own = {path for key in entity.keys for path in key.sources.values()}
    is_counted = all(kind.counts for name, kind in entity.shape.items() if name not in own)
    agrees = rows and entity.rows_of(right) == rows
    return (repair_write(item, told),) if agrees or is_counted else ()


def _told_by_key(entity: Entity, item: Item, *, all_of_them: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield those of the attributes in an item's key that the item has not, or not as they are declared."""
    for key in entity.keys:
        found = pattern(key.pieces).fullmatch("\n".join(key_of(item)))
        for argument, text in found.groupdict().items() if found else ():
            path = key.sources.get(argument, "")
            kind = entity.shape.get(path)
            if kind is None or (path in item and not all_of_them and not kind.problem(item[path])):
                continue
            value = _value(kind, text)
            if not kind.problem(value):
                yield path, value


def _value(kind: Attribute, text: str) -> Any:
    """Return what a part of a key says of an attribute."""
    if isinstance(kind, Whole):
        return int(text) if text.isdecimal() else text
    return text.lower() if kind.problem(text) else text


Named = tuple[str, str]  # a type, and the name or id of one of its items


@cache
def _references() -> dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]]:
    """Return, by type, the paths of attributes that refer, and the types of one of which there must be the item."""
    found: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = defaultdict(list)

    def look(type_: str, path: tuple[str, ...], shape: Shape) -> None:
        for name, kind in shape.items():
            if kind.refers:
                found[type_].append(((*path, name), tuple(kind.refers.split(" or "))))
            if isinstance(kind, Map):
                look(type_, (*path, name), kind.shape)

    for one in ENTITIES.values():
        look(one.type, (), one.shape)
    return dict(found)


class References:
    """Keeps what is there of what can be referred to, and what refers to something that was not seen yet."""

    def __init__(self) -> None:
        types = {type_ for paths in _references().values() for _, some in paths for type_ in some}
        self.there: dict[str, set[str]] = {type_: set() for type_ in types}
        self.waiting: dict[Named, list[tuple[Item, tuple[str, ...]]]] = defaultdict(list)

    def see(self, item: Item) -> None:
        kind = item["type"]
        if kind in self.there:
            self.there[kind].add(item[ENTITIES[kind].name])
        for path, types in _references().get(kind, ()):
            name = _at(item, path)
            if isinstance(name, str) and name and not any(name in self.there[one] for one in types):
                self.waiting[types[0], name].append((kept(item, "type"), types))

    def dangling(self) -> Iterator[tuple[Named, Item]]:
        """Yield what is referred to and is not there, with the item that refers to it."""
        for (type_, name), items in self.waiting.items():
            for item, types in items:
                if not any(name in self.there[one] for one in types):
                    yield (type_, name), item

    def problems(self) -> Iterator[Problem]:
        for (type_, name), item in self.dangling():
            entity = ENTITIES[item["type"]]
            what = f"This {entity.type} is of the {type_} {name}, which does not exist."
            named = ENTITIES[type_]
            root = named.key_of({named.name: name}) if named.is_root else None
            yield Problem(key_of(item), what, _removal(item) if entity.is_passing else (), root)


def _removal(item: Item) -> tuple[Delete]:
    return (Delete(key=key_of(item), when=(exists(),)),)


def _at(item: Item, path: tuple[str, ...]) -> object:
    value: object = item
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


LISTED = re.compile(r"\(([0-9A-Z]{26})\)$", re.MULTILINE)  # a deal in a list as the audit log shows it
# What makes up deals and users, and the attribute that says whose it is.
PARTS = {
    "Deal": "id",
    "Offer": "id",
    "Price": "deal",
    "Trash": "id",
    "User": "username",
    "Profile": "username",
}
NO_EDIT = "0" * 26
FIRST = datetime(YEARS[0], 1, 1, tzinfo=UTC)


class Roots:
    """Keeps which roots there are, and by whom others are named: memory grows with brands."""

    def __init__(self) -> None:
        self.there: set[keys.Key] = set()
        self.listed: dict[str, str] = {}  # brands' names in the list of names
        self.also: dict[str, list[str]] = defaultdict(list)  # slugs of brands' names in it
        self.counted: set[str] = set()
        self.in_deals: dict[str, str] = {}  # brands' names on cards
        self.first: dict[str, str] = {}  # the oldest deal of each brand
        self.categories: set[str] = set()
        self.featured: dict[str, dict[str, Item]] = defaultdict(dict)  # page -> deal -> its card
        self.versions: dict[str, Item] = {}  # the newest one kept of each page's list
        self.logged: dict[str, Item] = {}  # the last entry of the audit log on each page's list
        self.parts: dict[str, set[str]] = {
            kind: set() for kind in PARTS
        }  # of what there is: ids and user names

    def see(self, item: Item) -> None:
        if item["type"] in PARTS:
            self.parts[item["type"]].add(item[PARTS[item["type"]]])
        match item["type"]:
            case "Brand" | "Category" | "FrontPage" | "EditorsChoicePage":
                self.there.add(key_of(item))
            case "BrandName":
                self.listed[item["brand"]] = item["name"]
                self.also[item["brand"]].append(item["slug"])
            case "BrandCounts":
                self.counted.add(item["slug"])
            case "CategoryCounts":
                self.categories.add(item["slug"])
            case "FeaturedVersion":
                known = self.versions.get(item["page"])
                if known is None or known["version"] < item["version"]:
                    self.versions[item["page"]] = item
            case "AuditEntry" if item["card"]["kind"] == "page" and "deals" in item.get("after", ()):
                known = self.logged.get(item["card"]["subject"])
                if known is None or known["SK"] < item["SK"]:
                    self.logged[item["card"]["subject"]] = item
            case "Deal":
                self._see_deal(item["id"], item["card"], item.get("featured_on", ()))

    def _see_deal(self, deal_id: str, card: Item, featured_on: set[str]) -> None:
        brand = card["brand"]
        self.in_deals[brand] = card["brand_name"]
        self.first[brand] = min(self.first.get(brand, deal_id), deal_id)
        self.categories.add(card["category"])
        for page in featured_on:
            self.featured[page][deal_id] = card

    def problems(self) -> Iterator[Problem]:
        for slug in sorted(self.counted | self.listed.keys() | self.in_deals.keys()):
            if keys.brand(slug) not in self.there:
                yield from self._brand(slug)
        for page in PAGES:
            named = self.categories if page in CATEGORIES else self.featured
            if (page in named or page in self.versions) and cards.page_key(page) not in self.there:
                yield self._page(page)

    def lost(self) -> set[keys.Key]:
        """Return the keys of deals and users of which only parts are there."""
        there = self.parts
        deals = (there["Offer"] & there["Price"]) - there["Deal"] - there["Trash"]
        return {keys.deal(one) for one in deals} | {
            keys.user(one) for one in there["Profile"] - there["User"]
        }

    def _brand(self, slug: str) -> Iterator[Problem]:
        name = self.listed.get(slug) or self.in_deals.get(slug, "")
        is_known = slug in self.in_deals and (slug in self.counted or slug in self.listed)
        also = self.also[slug]
        if not is_known or slugify(name) not in (slug, *also):
            return  # a stray counter or name, or a deal that names a brand by mistake: other checks say so
        begun = iso(time_of(self.first[slug]))
        item = {"type": "Brand", "slug": slug, "name": name, "description": "", "version": 1}
        item |= {"also": others} if (others := sorted({*also} - {slugify(name)})) else {}
        item |= {"created_at": begun, "last_edit": self.first[slug], "updated_at": begun, "updated_by": SITE}
        named = Check(key=keys.deal(self.first[slug]), when=(equals(("card", "brand"), slug),))
        what = "This brand is lost, and deals are of it; its description and logo are lost."
        yield Problem(keys.brand(slug), what, (Put(key=keys.brand(slug), item=item, when=(absent(),)), named))

    def _page(self, page: str) -> Problem:
        shown, last = self.featured.get(page, {}), self.versions.get(page)
        named = LISTED.findall(self.logged[page]["after"]["deals"]) if page in self.logged else []
        places = {deal_id: number for number, deal_id in enumerate(named)}
        order = sorted(sorted(shown, reverse=True), key=lambda deal_id: places.get(deal_id, len(places)))
        item: Item = {"order": order, "cards": {deal_id: shown[deal_id] for deal_id in order}}
        newest = max(order, default=NO_EDIT)
        item |= {"featured_version": (last["version"] if last else 0) + 1, "featured_edit": newest}
        item |= {"featured_at": iso(max(time_of(newest), FIRST)), "featured_by": SITE}
        if page in TYPES:
            item["type"] = TYPES[page]
        else:
            item |= {"type": "Category", "slug": page, "name": CATEGORIES[page], "version": 1}
        what = f"This page is lost; {len(order)} deals say that it features them."
        return Problem(
            cards.page_key(page), what, (Put(key=cards.page_key(page), item=item, when=(absent(),)),)
        )
