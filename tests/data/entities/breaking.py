"""Every way in which a stored value can be other than its declaration allows, made from the declaration."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from dealsite.data.entities.attributes import (
    Attribute,
    Bytes,
    Day,
    Each,
    Email,
    Flag,
    Hash,
    Link,
    Map,
    MapOf,
    Money,
    Plain,
    Shape,
    Slug,
    Text,
    Time,
    Ulid,
    Username,
    Whole,
)
from dealsite.data.entities.entity import Entity
from dealsite.data.table.convert import Item

Broken = tuple[str, str, Item]  # the path of an attribute, the way in which it is broken, the item


def broken_items(entity: Entity, item: Item) -> Iterator[Broken]:
    """Yield an item with one attribute broken, for each attribute and each way."""
    yield "surprise", "unknown", item | {"surprise": 1}
    for path, way, attributes in broken_maps(entity.shape, item):
        yield path, way, attributes
    for beginning, kind in entity.named.items():
        for name in [one for one in item if one.startswith(beginning)][:1]:
            for way, value in wrong_values(kind):
                yield name, way, item | {name: value}


def broken_maps(shape: Shape, there: Item, within: str = "") -> Iterator[Broken]:
    """Yield a map with one attribute broken, at any depth."""
    for name, kind in shape.items():
        if not kind.optional:
            yield f"{within}{name}", "missing", {key: value for key, value in there.items() if key != name}
        for way, value in wrong_values(kind):
            yield f"{within}{name}", way, there | {name: value}
        if name in there:
            for path, way, value in inside(kind, there[name], f"{within}{name}"):
                yield path, way, there | {name: value}


def inside(kind: Attribute, value: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    """Yield a map or list with something in it broken."""
    if isinstance(kind, Map):
        yield from broken_maps(kind.shape, value, f"{path}.")
    elif isinstance(kind, Each) and value:
        first, *others = sorted(value) if isinstance(value, set) else value
        for way, wrong in wrong_values(kind.of):
            if kind.stored_as is list or isinstance(wrong, str):
                yield f"{path}[]", way, kind.stored_as([wrong, *others])
        for deep, way, wrong in inside(kind.of, first, f"{path}[]"):
            yield deep, way, kind.stored_as([wrong, *others])
    elif isinstance(kind, MapOf) and value:
        (name, first), *others = value.items()
        for way, wrong in wrong_values(kind.of):
            yield f"{path}[]", way, {name: wrong, **dict(others)}
        for deep, way, wrong in inside(kind.of, first, f"{path}[]"):
            yield deep, way, {name: wrong, **dict(others)}


def wrong_values(kind: Attribute) -> Iterator[tuple[str, Any]]:
    """Yield values that a kind forbids, each with what is wrong about it."""
    if type(kind) is Attribute:  # whatever it may be
        return
    yield "of another type", {"a": 1} if not isinstance(kind, (Map, MapOf, Plain)) else "x"
    match kind:
        case Whole():
            yield "too little", kind.least - 1
            yield "too much", kind.most + 1
            yield "a fraction", Decimal("1.5")
            yield "text", "1"
        case Money():
            yield "too little", kind.least - Decimal("0.01")
            yield "too much", kind.most + 1
            yield "half a cent", max(kind.least, Decimal(0)) + Decimal("0.005")
            yield "text", "1.00"
        case Flag():
            yield "a number", 1
        case Time():
            yield "no time", "yesterday"
            yield "far away", "9999-01-01T00:00:00.000Z"
            yield "without a zone", "2026-11-23T10:00:00.000"
            yield "in another zone", "2026-11-23T10:00:00.000+01:00"
        case Day():
            yield "no day", "2026-02-30"
        case Bytes():
            yield "too long", b"x" * (kind.most + 1)
        case Text():
            yield "a number", 5
            if kind.least and "" not in getattr(kind, "also", ()):
                yield "empty", ""
            yield from wrong_texts(kind)
        case Each():
            if kind.least:
                yield "too few", kind.stored_as()


def wrong_texts(kind: Text) -> Iterator[tuple[str, str]]:
    match kind:
        case Ulid() | Hash() | Username():
            yield "of no such form", "x#Y"
            yield "with controls", "ann\x00"
            return
        case Slug():
            yield "of no such form", "Not A Slug"
        case Email():
            yield "of no such form", "ann at example.org"
        case Link():
            yield "a script", "javascript:alert(1)"
            yield "with a password", "https://a:b@shop.example/"
    if kind.problem("\x00"):
        yield "with controls", "ab\x00c"
    yield "too long", "x" * (kind.most + 1)
    if kind.one_of:
        yield "unknown", "surprise"
    if kind.pattern:
        yield "of no such form", "\ufffd#"
