"""What the entity chart says of one item by itself: what is wrong with it, and what of it is secret."""

from collections.abc import Sequence

from dealsite.data.entities.attributes import Attribute, Each, Map, MapOf
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.integrity.items import Items
from dealsite.data.integrity.problem import Problem
from dealsite.data.table.convert import Item


def problems_of(item: Item) -> list[Problem]:
    """Return what is wrong with an item that it says itself, without a look at any other."""
    check = Items()
    check.is_sound(item)
    return check.found


def sentences_of(item: Item) -> set[str]:
    """Return the same, with a sentence for each attribute."""
    entity, other = ENTITIES.get(str(item.get("type"))), {problem.what for problem in problems_of(item)}
    if entity is None:
        return other
    return {*entity.problems(item), *(what for what in other if not what.startswith(f"This {entity.type}: "))}


def is_secret(kind: str, path: Sequence[str]) -> bool:
    """Tell whether the chart calls an attribute of a type secret, or what holds it."""
    entity = ENTITIES.get(kind)
    shape, found = dict(entity.shape) if entity else {}, Attribute()
    for name in path:
        of = shape.get(name, Attribute()) if not isinstance(found, Each | MapOf) else found.of
        found, shape = of, dict(of.shape) if isinstance(of, Map) else {}
        if found.secret:
            return True
    return False
