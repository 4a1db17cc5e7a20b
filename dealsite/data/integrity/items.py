"""Each item by itself: of a known type, every attribute as the entity chart says, under its own key, in its indexes."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from dealsite.data.entities.attributes import Attribute, Whole
from dealsite.data.entities.chart import ENTITIES, RETIRED
from dealsite.data.entities.entity import INDEX_KEYS, Entity, own_copies, pattern
from dealsite.data.integrity.problem import Problem, as_seen, differences, differing, key_of, repair_write
from dealsite.data.table.convert import Item
from dealsite.data.table.writes import Delete, Write

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
