"""Every attribute of every type of item, broken in each way that its declaration forbids, is found and named.

`make test-all` prints how many ways there are and how many were found, by type: of a third of the types each day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest

from dealsite.data import table
from dealsite.data.entities.attributes import (
    Attribute,
    Each,
    Map,
    Money,
    Shape,
    Text,
    Time,
    Ulid,
    Username,
    Whole,
)
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.entity import INDEX_KEYS, Entity
from dealsite.data.integrity import checks
from dealsite.data.table.convert import Item
from tests.builders import NOW, make_id
from tests.data.entities.breaking import broken_items
from tests.data.entities.examples import EXAMPLES
from tests.every_type import copy_every_type, everything, look_in
from tests.payments import seed_payments
from tests.sampling import is_due

STRANGER = make_id(NOW, 999)
LEFT_OUT: dict[str, str] = {  # what refers to, repeats or counts, and is not compared: the reason
}


def test_a_value_that_cannot_be_is_named():
    """Judged by itself, each item says of the broken attribute that it is."""
    missed = [
        f"{name} {path} {way}"
        for name, entity in ENTITIES.items()
        for path, way, item in broken_items(entity, EXAMPLES[name])
        if not any(path.partition(".")[0].partition("[")[0] in said for said in entity.problems(item))
    ]
    assert "\n".join(missed) == ""


@pytest.fixture
def items(fresh_table, wait_for_indexes) -> list[Item]:
    """A sound table with every type, as it was read."""
    copy_every_type()
    seed_payments(wait_for_indexes)
    look_in()
    return list(everything().values())


@pytest.mark.thorough
@pytest.mark.engines("native")
def test_every_corruption_of_a_table_is_found(items, monkeypatch, record_property):
    by_key = {(item["PK"], item["SK"]): item for item in items}
    monkeypatch.setattr(
        table, "batch_get", lambda wanted: {key: by_key[key] for key in wanted if key in by_key}
    )
    assert checks.judge(items) == []
    tried, missed = Counter[tuple[str, str]](), []
    for type_ in filter(partial(is_due, quick=0, whole=3), sorted(ENTITIES)):
        victim = fullest(items, type_)
        key = victim["PK"], victim["SK"]
        for path, way, broken in corruptions(ENTITIES[type_], victim):
            tried[type_, way] += 1
            by_key[key] = broken
            table_now = [broken if item is victim else item for item in items]
            if not checks.judge(table_now):
                missed.append(f"{type_} {path} {way}")
            by_key[key] = victim
    record_property("printed", lines(tried, missed))
    assert "\n".join(missed) == ""


def corruptions(entity: Entity, item: Item) -> Iterator[tuple[str, str, Item]]:
    """Yield an item broken in each way: what its declaration forbids, and what other items contradict."""
    yield from broken_items(entity, item)
    yield "type", "unknown", item | {"type": "Ghost"}
    yield "type", "missing", {name: value for name, value in item.items() if name != "type"}
    for name in INDEX_KEYS:
        yield name, "of another list", item | {name: "ELSEWHERE"}
        if name in item:
            yield name, "missing", {one: value for one, value in item.items() if one != name}
    for path, value in contradictions(entity.shape, item):
        yield path, "contradicts", value


def contradictions(shape: Shape, there: Item, within: str = "") -> Iterator[tuple[str, Item]]:
    """Yield a map in which what repeats, refers to or counts other items has another value that could be."""
    for name, kind in shape.items():
        if name not in there or f"{within}{name}" in LEFT_OUT:
            continue
        if (kind.copy_of or kind.refers or kind.counts) and (other := another(kind, there[name])) is not None:
            yield f"{within}{name}", there | {name: other}
        if isinstance(kind, Map):
            for path, value in contradictions(kind.shape, there[name], f"{within}{name}."):
                yield path, there | {name: value}


def another(kind: Attribute, value: object) -> object:
    """Return a value that a kind allows and is not this one."""
    wanted: dict[type, object] = {Ulid: STRANGER, Username: "stranger", Time: "2026-01-01T00:00:00.000Z"}
    match kind:
        case Whole() | Money():
            return value + 1 if not kind.problem(value + 1) else value - 1  # type: ignore[operator]
        case Text() if kind.one_of:
            return next(one for one in kind.one_of if one != value)
        case Each():
            return None
    return wanted.get(type(kind), f"{value}x")


def fullest(items: list[Item], type_: str) -> Item:
    """The item of a type that has the most attributes."""
    return max((item for item in items if item["type"] == type_), key=lambda item: (len(item), item["SK"]))


def lines(tried: Counter[tuple[str, str]], missed: list[str]) -> str:
    """The matrix: types by ways, how many were tried; what was missed below."""
    ways = sorted({way for _, way in tried})
    said = [f"{sum(tried.values()):,} corruptions of {len(ENTITIES)} types of items, {len(missed)} missed"]
    for type_ in sorted(ENTITIES):
        counts = ", ".join(f"{way} {tried[type_, way]}" for way in ways if tried[type_, way])
        said.append(f"  {type_}: {counts}")
    return "\n".join([*said, *(f"  missed: {one}" for one in missed)])
