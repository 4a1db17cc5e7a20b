"""docs/entities.md shows the entity chart; `UPDATE_DOCS=1` in the environment writes it anew."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from dealsite.data import keys
from dealsite.data.entities.attributes import Attribute, Each, Map, MapOf, Shape
from dealsite.data.entities.chart import ENTITIES, ROOMS
from dealsite.data.entities.entity import Entity, pattern
from dealsite.data.table.key_templates import Entry, Pieces
from tests.data.entities.examples import EXAMPLES

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "entities.md"
INTRODUCTION = """\
# The entity chart: what is stored

Every type of item, as `dealsite/data/entities/` declares it. Conversion, the checks of `check_table`, the kinds
of the lake's columns and this page follow from there (`UPDATE_DOCS=1 pytest tests/data/test_entity_chart.py`).
Each item also has its `type`, its `schema` (the version of its declaration, see [upgrading.md](upgrading.md))
and the keys of its index rows.

An attribute may be *absent* where that is said. *secret*: could let somebody in, so no page, export, question or
log shows it. *personal*: tells who somebody is. `= Brand.name` repeats another attribute; `-> Brand` names an item
that must be there. A *root* that is lost is made anew where something names it; what is *passing* may go at any time.
What *stays* still names a person who was deleted: because of their *name*, which is never given out again, the *law*,
*security* (logs), *work* that they did, or in *passing*, until it goes by itself.
"""


def test_the_page_shows_the_chart():
    page = "\n".join([INTRODUCTION, *lines()]) + "\n"
    if os.environ.get("UPDATE_DOCS") == "1":
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def test_every_type_has_an_example_that_is_as_declared():
    for name, entity in ENTITIES.items():
        item = EXAMPLES[name]
        assert list(entity.problems(item)) == [], name
        assert entity.key_of(item) == (item["PK"], item["SK"]), name


def lines() -> Iterator[str]:
    seen: dict[int, str] = {}
    for room in ROOMS:
        yield f"## {(room.__doc__ or '').partition('.')[0]}\n"
        for one in vars(room).values():
            if isinstance(one, Entity):
                yield from of_entity(one, seen)


def of_entity(one: Entity, seen: dict[int, str]) -> Iterator[str]:
    yield f"### {one.type}\n"
    notes = [
        f"schema {one.schema}",
        *(["a root"] if one.is_root else []),
        *(["passing"] if one.is_passing else []),
        *([f"stays ({one.stays_for})"] if one.stays_for else []),
    ]
    yield f"{one.about[:1].upper()}{one.about[1:]}. {', '.join(notes)[:1].upper()}{', '.join(notes)[1:]}.\n"
    yield "| | partition key | sort key | |"
    yield "|---|---|---|---|"
    for key in one.keys:
        yield f"| key | {template(key.entry, key.pieces)} | |"
    for entry in rows(one):
        yield f"| {entry.index} | {template(entry, (entry.partition_pieces, entry.sort_pieces))} | {entry.about} |"
    yield "\n| attribute | holds | |\n|---|---|---|"
    for path, kind in attributes(one.type, one.shape, seen):
        yield f"| `{path}` | {holds(kind)} | {notes_of(kind)} |"
    for beginning, kind in one.named.items():
        yield f"| `{beginning}…` | {holds(kind)} | {notes_of(kind)} |"
    yield ""


def template(entry: Entry, pieces: tuple[Pieces, Pieces]) -> str:
    return " | ".join(f"`{text(some)}`" if some else "" for some in pieces)


def text(pieces: Pieces) -> str:
    return "".join(
        piece
        if isinstance(piece, str)
        else f"{{{piece.name}}}"
        if not piece.source
        else f"{{{piece.name} of {piece.source}}}"
        for piece in pieces
    )


def rows(one: Entity) -> Iterator[Entry]:
    """The lines of the key chart in which an example of the type stands."""
    item = EXAMPLES[one.type]
    for entry in (line.entry for line in keys.CHART.values()):
        names = [f"{entry.index}PK", f"{entry.index}SK"] if entry.sort else [entry.index]
        if entry.index and names[0] in item:
            pieces = (entry.partition_pieces, entry.sort_pieces)
            values = "\n".join([*(item[name] for name in names), *([""] if not entry.sort else [])])
            if pattern(pieces).fullmatch(values):
                yield entry


def attributes(
    path: str, shape: Shape, seen: dict[int, str], within: str = ""
) -> Iterator[tuple[str, Attribute]]:
    """Each attribute with its path; a map that was shown before is not shown again."""
    seen[id(shape)] = path
    for name, kind in shape.items():
        yield f"{within}{name}", kind
        inner = kind.of if isinstance(kind, (Each, MapOf)) else kind
        if isinstance(inner, Map) and id(inner.shape) not in seen:
            end = "[]." if isinstance(kind, (Each, MapOf)) else "."
            yield from attributes(f"{path}.{name}", inner.shape, seen, f"{within}{name}{end}")


def holds(kind: Attribute) -> str:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(kind).__name__).lower()
    if isinstance(kind, (Each, MapOf)):
        name = f"{name} {re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', type(kind.of).__name__).lower()}"
    said = f"{name}: {kind.range()}" if kind.range() else name
    return f"{said} {kind.unit}".strip()


def notes_of(kind: Attribute) -> str:
    said = [
        "absent" if kind.optional else "",
        "**secret**" if kind.secret else "",
        "*personal*" if kind.personal else "",
        f"-> {kind.refers}" if kind.refers else "",
        f"= `{kind.copy_of}`" if kind.copy_of else "",
        f"counts {kind.counts}" if kind.counts else "",
        kind.about,
    ]
    return "; ".join(one for one in said if one)
