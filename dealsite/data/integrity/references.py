"""What refers to another item: a like to its user and brand, an offer to its deal. What the other is must be there.

Memory grows with what is referred to and has not been seen yet, and with users, brands and deals by a word each.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from dealsite.data.entities.attributes import Map, Shape
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.integrity.problem import Problem, kept, key_of
from dealsite.data.table.convert import Item
from dealsite.data.table.writes import Delete, exists

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
