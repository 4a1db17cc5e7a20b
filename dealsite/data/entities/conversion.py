"""From what is stored to a dataclass and back, by the declaration of what is stored.

    read_deal = reader(DEAL.shape, Deal, "content")     read_deal(item, content=content) -> Deal
    store_card = writer(DEAL_CARD, DealCard)            store_card(card) -> what is stored of it

A field takes the attribute of its name (`names` says where they differ); those that are `given`, and those without an
attribute, are arguments of their own. An attribute that may be absent reads as the field's default, or else as its
kind's `nothing`, and is left out where that is what it would say. Each function is made once, of its text.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from dealsite.data.entities.attributes import Attribute, Day, Each, Map, MapOf, Shape, Time, money
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso, iso

Record = TypeVar("Record")
Names = dict[str, Any]  # what the text of a function refers to
SAID: Names = {"from_iso": from_iso, "iso": iso, "date": date, "money": money}


def reader(shape: Shape, cls: type[Record], *given: str, **names: str) -> Callable[..., Record]:
    """Return a function of an item, and of what is given beside it, that returns the dataclass of it."""
    space: Names = SAID | {"cls": cls}
    hints, arguments, more = get_type_hints(cls), list[str](), list[str]()
    for one in fields(cast(Any, cls)):
        name = names.get(one.name, one.name)
        kind = None if one.name in given else shape.get(name)
        if kind is None:
            space[f"default_{one.name}"] = _default(one, None)
            more.append(one.name if _is_required(one) else f"{one.name}=default_{one.name}")
            arguments.append(f"{one.name}={one.name}")
            continue
        text = _read(f'item["{name}"]', kind, hints[one.name], space, name)
        if kind.optional:
            space[f"none_{name}"] = _default(one, kind)
            text = f'{text} if item.get("{name}") is not None else none_{name}'
        arguments.append(f"{one.name}={text}")
    signature = ", ".join(["item", *(["*", *sorted(more, key=lambda text: "=" in text)] if more else ())])
    return cast(Callable[..., Record], _compiled(signature, [], f"cls({', '.join(arguments)})", space))


def writer(shape: Shape, cls: type[Any], **names: str) -> Callable[[Any], Item]:
    """Return a function of a dataclass that returns what is stored of it."""
    space, hints = dict(SAID), get_type_hints(cls)
    always, sometimes = list[str](), list[str]()
    for one in fields(cls):
        name = names.get(one.name, one.name)
        kind = shape.get(name)
        if kind is None:
            continue
        value = f"one.{one.name}"
        stored = _stored(value, kind, hints[one.name], space, name)
        if kind.optional:
            space[f"none_{name}"] = _default(one, kind)
            sometimes.append(f"if {value} is not None and {value} != none_{name}:")
            sometimes.append(f'    item["{name}"] = {stored}')
        else:
            always.append(f'"{name}": {stored}')
    lines = [f"item = {{{', '.join(always)}}}", *sometimes]
    return cast(Callable[[Any], Item], _compiled("one", lines, "item", space))


def _read(value: str, kind: Attribute, hint: Any, space: Names, name: str) -> str:
    """Return the expression that reads a stored value as a field's type says."""
    hint, origin = _type(hint)
    if isinstance(kind, Map) and is_dataclass(hint):
        space[f"read_{name}"] = reader(kind.shape, cast(Any, hint))
        return f"read_{name}({value})"
    if isinstance(kind, Each) and origin is not None:
        space[f"many_{name}"] = origin
        inner = _read("each", kind.of, get_args(hint)[0], space, f"{name}_each")
        return f"many_{name}({value if inner == 'each' else f'[{inner} for each in {value}]'})"
    if isinstance(kind, MapOf) and origin is not None:
        inner = _read("each", kind.of, get_args(hint)[1], space, f"{name}_each")
        return value if inner == "each" else f"{{key: {inner} for key, each in {value}.items()}}"
    return kind.reading.replace("(x)", f"({value})") if kind.reading != "x" else value


def _stored(value: str, kind: Attribute, hint: Any, space: Names, name: str) -> str:
    """Return the expression that stores a field's value."""
    hint, origin = _type(hint)
    if isinstance(kind, Map) and hasattr(hint, "as_item"):  # it says itself
        return f"{value}.as_item()"
    if isinstance(kind, Map) and is_dataclass(hint):
        space[f"store_{name}"] = writer(kind.shape, cast(Any, hint))
        return f"store_{name}({value})"
    if isinstance(kind, Each) and origin is not None:
        space[f"kept_{name}"] = kind.stored_as
        inner = _stored("each", kind.of, get_args(hint)[0], space, f"{name}_each")
        return f"kept_{name}({value if inner == 'each' else f'[{inner} for each in {value}]'})"
    if isinstance(kind, MapOf) and origin is not None:
        inner = _stored("each", kind.of, get_args(hint)[1], space, f"{name}_each")
        return f"{{key: {inner} for key, each in {value}.items()}}"
    if isinstance(kind, Time) and hint is datetime:
        return f"iso({value})"
    return f"{value}.isoformat()" if isinstance(kind, Day) and hint is date else value


def _type(hint: Any) -> tuple[Any, Any]:
    """Return a type without `| None`, and what it is a tuple, set or dict of."""
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (one for one in get_args(hint) if one is not type(None))
    return hint, get_origin(hint)


def _is_required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _default(one: Field[Any], kind: Attribute | None) -> Any:
    """Return what a field says without its attribute."""
    if one.default is not MISSING:
        return one.default
    if one.default_factory is not MISSING:
        return one.default_factory()
    return kind.nothing if kind else None


def _compiled(signature: str, lines: list[str], result: str, space: Names) -> Callable[..., Any]:
    body = "\n    ".join([*lines, f"return {result}"])
    exec(f"def made({signature}):\n    {body}", space)  # noqa: S102
    return cast(Callable[..., Any], space["made"])
