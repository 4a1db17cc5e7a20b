"""What one type of item is: its key, its index rows and its attributes, from which all else about it is derived.

    BRAND = Entity("Brand", "a brand: its texts", key=At(keys.brand, slug="slug"), shape={"slug": Slug(), ...})

`At(template, argument="attribute")` computes a key or an index row from an item's own attributes; an argument that no
attribute tells (what is stored as a hash only) is taken from the stored key. A path such as `card.brand` leads into a
map. Declarations know no queries: access patterns are functions of the rooms.

So is what turns what is stored into a dataclass and back. A field takes the attribute of its name (`names` says where
they differ); those that are `given`, and those without an attribute, are arguments of their own.

    read_deal = reader(DEAL.shape, Deal, "content")     read_deal(item, content=content) -> Deal
    store_card = writer(DEAL_CARD, DealCard)            store_card(card) -> what is stored of it

An attribute that may be absent reads as the field's default, or else as its kind's `nothing`, and is left out where
that is what it would say. Each function is made once, of its text.

An upgrade makes an item of an older schema one of the next: pure, harmless to repeat, keeping what it does not know
(docs/upgrading.md).

    0  everything written before items noted their schema: release 0.2.0, and the builds before and after it
    1  the same shapes, noted; a layout of an import that names no language has none, instead of NULL
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from django.conf import settings

from dealsite.data.entities.attributes import (
    CENT,
    Attribute,
    Day,
    Each,
    Map,
    MapOf,
    Money,
    Shape,
    Time,
    problems,
)
from dealsite.data.entities.personal import Stays, is_actor, who
from dealsite.data.keys import GSI1, GSI2, GSI3, USER_INDEX
from dealsite.data.table.configuration import SCHEMA, schema_of
from dealsite.data.table.convert import Item, Key
from dealsite.data.table.ids import epoch_seconds, from_iso, iso
from dealsite.data.table.key_templates import Part, Pieces, Row


def without_empty_language(item: Item) -> Item:
    """Schema 1 of an import, and of the layout that is kept of one."""
    layout = item.get("layout")
    if not isinstance(layout, dict) or layout.get("language", "") is not None:
        return item
    return {**item, "layout": {name: value for name, value in layout.items() if name != "language"}}


Record = TypeVar("Record")
Names = dict[str, Any]  # what the text of a function refers to
SAID: Names = {"from_iso": from_iso, "iso": iso, "date": date, "Decimal": Decimal, "CENT": CENT}


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


INDEX_KEYS = (*(f"{name}{part}" for name in (GSI1, GSI2, GSI3) for part in ("PK", "SK")), USER_INDEX)
OWN = frozenset(("PK", "SK", "type", SCHEMA, *INDEX_KEYS))  # what an item has beside its attributes
Upgrade = Callable[[Item], Item]
Kept = Callable[[Item], Sequence[tuple[str, datetime]]]


def since(span: str, path: str) -> Kept:
    """Return that items are kept by a span of DEALSITE_RETENTION from the time at a path of them."""
    first, _, last = path.partition(".")
    return lambda item: [(span, from_iso(item[first][last] if last else item[first]))]


class At:
    """A key or index rows, computed from attributes.

    A key or rows are there `only_with` an attribute, or `unless` there is one.
    """

    def __init__(
        self, template: Callable[..., Any], *, only_with: str = "", unless: str = "", **sources: str
    ) -> None:
        self.template, self.sources = template, sources
        self.only_with, self.unless = only_with, unless
        self.entry = getattr(template, "entry", None)

    def bind(self, shape: Shape) -> Callable[[Item], Any]:
        """Return the function of an item for an entity whose attributes these are."""
        take = {name: _take(path, shape) for name, path in self.sources.items()}
        template, only_with, unless = self.template, self.only_with, self.unless

        def made(item: Item) -> Any:
            if (only_with and only_with not in item) or (unless and unless in item):
                return {}
            return template(**{name: one(item) for name, one in take.items()})

        return made

    @property
    def pieces(self) -> tuple[Pieces, Pieces]:
        """The literals and parts of a key's template."""
        return (self.entry.partition_pieces, self.entry.sort_pieces) if self.entry else ((), ())

    def bind_key(self, shape: Shape) -> Callable[[Item], Key]:
        """Return the function of an item that tells under which key it belongs; ValueError where nothing does."""
        pieces = self.pieces
        names = {one.source or one.name for some in pieces for one in some if isinstance(one, Part)}
        if names <= self.sources.keys():
            return self.bind(shape)
        matches, sources = pattern(pieces).fullmatch, self.sources

        def made(item: Item) -> Key:
            found = matches("\n".join((item["PK"], item["SK"])))
            if found is None:
                raise ValueError("its key is of another form")
            texts = found.groupdict() | {name: str(item[path]) for name, path in sources.items()}
            partition, sort = (
                "".join(p if isinstance(p, str) else texts[p.name] for p in one) for one in pieces
            )
            return partition, sort

        return made


def pattern(pieces: tuple[Pieces, Pieces]) -> re.Pattern[str]:
    """Return what matches the partition key and the sort key of a template, a line each."""
    seen: set[str] = set()

    def text(piece: str | Part) -> str:
        if isinstance(piece, str):
            return re.escape(piece)
        if piece.name in seen:
            return f"(?P={piece.name})"
        seen.add(piece.name)
        return f"(?P<{piece.name}>[^#\n]+)"

    return re.compile("\n".join("".join(map(text, some)) for some in pieces))


def _take(path: str, shape: Shape) -> Callable[[Item], Any]:
    """Return the function that takes the value at a path of an item, as the templates want it."""
    first, _, rest = path.partition(".")
    kind = shape[first]
    if rest:
        if not isinstance(kind, Map):
            raise ValueError(f"{first} is no map with attributes of its own.")
        inner, is_there = _take(rest, kind.shape), not kind.optional
        return lambda item: inner(item[first] if is_there else item.get(first, {}))
    reads: Callable[[Any], Any] = (
        from_iso
        if isinstance(kind, Time)
        else date.fromisoformat
        if isinstance(kind, Day)
        else lambda value: value
    )
    if not kind.optional:
        return lambda item: reads(item[first])
    return lambda item: reads(item[first]) if first in item else kind.nothing


@dataclass(frozen=True, kw_only=True)
class Entity:
    """One type of item; where it can stand under several keys, the first of them that is there is its own.

    `named` are attributes whose names are data: what they begin with, and what they hold. `rules` are functions of an
    item that return what is wrong with attributes that are each right, as a sentence, or ''. A root must be there where
    something names it; what is passing may be taken away at any time, and nothing is lost. `kept` tells of an item by
    which spans of DEALSITE_RETENTION it is kept and since when, none for one that stays. `stays` says why it still
    names a person who was deleted (see personal.py). `schema` counts the versions of this declaration from 1; the n-th
    of `upgrades` makes an item of version n + 1 of one of version n (0: written before there were versions).
    """

    type: str
    about: str
    key: At | Sequence[At]
    rows: Sequence[At] | Callable[[Item], Row] = ()
    shape: Shape
    named: Mapping[str, Attribute] = field(default_factory=dict)
    rules: tuple[Callable[[Item], str], ...] = ()
    is_root: bool = False
    is_passing: bool = False
    gone: tuple[str, ...] = ()  # attributes that earlier releases wrote and nobody reads
    kept: Kept | None = None
    stays: Stays = ""
    schema: int = 1
    upgrades: tuple[Upgrade, ...] = ()

    @property
    def stays_for(self) -> Stays:
        """Why items still name a person who was deleted; '' where none does."""
        names = list(who(self.shape))
        return self.stays or ("work" if names and all(map(is_actor, names)) else "")

    @property
    def keys(self) -> Sequence[At]:
        """Under which keys it can stand."""
        return (self.key,) if isinstance(self.key, At) else self.key

    @property
    def name(self) -> str:
        """The attribute by which other items name one: what its key is made of, or its id."""
        sources = list(self.keys[0].sources.values())
        return sources[0] if len(sources) == 1 else "id"

    @cached_property
    def key_of(self) -> Callable[[Item], Key]:
        """The function of an item that returns the key under which it belongs; ValueError where nothing does."""
        if isinstance(self.key, At):
            return self.key.bind_key(self.shape)
        bound = [one.bind_key(self.shape) for one in self.key]

        def first(item: Item) -> Key:
            for one in bound:
                if key := one(item):
                    return key
            raise ValueError("it lacks what its key is made of")

        return first

    @cached_property
    def rows_of(self) -> Callable[[Item], Row]:
        """The function of an item that returns the index rows that it should have."""
        if callable(self.rows):
            return self.rows
        bound = [one.bind(self.shape) for one in self.rows]
        if len(bound) == 1:
            return bound[0]
        return lambda item: {name: text for one in bound for name, text in one(item).items()}

    @cached_property
    def repeats(self) -> list[tuple[str, str, Attribute]]:
        """Where an attribute, up to one map deep, repeats another one of the same item; of money, both are evidence."""
        inner = {
            f"{name}.{deep}": kind
            for name, one in self.shape.items()
            if isinstance(one, Map)
            for deep, kind in one.shape.items()
        }
        own = {**self.shape, **inner}
        return [
            (path, kind.copy_of, kind)
            for path, kind in own.items()
            if kind.copy_of.partition(".")[0] in self.shape and not isinstance(kind, Money)
        ]

    @cached_property
    def required(self) -> frozenset[str]:
        return frozenset(name for name, one in self.shape.items() if not one.optional)

    def item(self, values: Mapping[str, Any]) -> Item:
        """Return an item as it is stored, but for its key: its type, what is there of it, and its index rows."""
        there = {name: value for name, value in values.items() if value is not None}
        made = {"type": self.type, **there, **self.rows_of(there)}
        if self.kept is not None and (ends := self.expiry(made)) is not None:
            made.setdefault("ttl", ends)
        return made

    def expiry(self, item: Item) -> int | None:
        """Return when an item is to go, by the first of its spans to end, in seconds since 1970; None: it stays."""
        spans, said = settings.DEALSITE_RETENTION, self.kept(item) if self.kept else ()
        ends = [start + span for name, start in said if (span := spans[name]) is not None]
        return epoch_seconds(min(ends)) if ends else None

    def problems(self, item: Item) -> Iterator[str]:
        """Yield what is wrong with an item's attributes, a sentence each."""
        yield from (f"{said}." for said in problems(item, self.shape, self.required, self._other))
        if not self.rules:
            return
        for rule in self.rules:
            try:
                said = rule(item)
            except (AttributeError, KeyError, TypeError, ValueError):
                continue  # an attribute is missing or wrong, as was said
            if said:
                yield said

    def _other(self, name: str, value: Any) -> str:
        for beginning, kind in self.named.items():
            if name.startswith(beginning):
                return kind.problem(value)
        if name in OWN or name in self.gone:
            return ""
        return "is not one of its attributes"

    def is_newer(self, item: Item) -> bool:
        """Tell whether a newer build of the site wrote an item, of which this one knows too little to judge it."""
        return schema_of(item) > self.schema


def own_copies(entity: Entity, item: Item) -> tuple[list[str], Item]:
    """Return what repeats another attribute of its item and differs, as sentences, and the attributes put right."""
    said, right = list[str](), dict[str, Any]()
    for path, source, kind in entity.repeats:
        first, _, last = path.rpartition(".")
        holder = right.get(first, item.get(first)) if first else item
        is_known, value = _value_at(entity.shape, item, source)
        if not is_known or not isinstance(holder, dict) or holder.get(last) == value:
            continue
        if value is not None and kind.problem(value):  # wrong itself, as is said elsewhere
            continue
        said.append(f"{path} is {holder.get(last)!r}, should be {value!r}")
        fixed = {name: inner for name, inner in (holder | {last: value}).items() if inner is not None}
        right |= {first: fixed} if first else {last: value}
    return said, right


def _value_at(shape: Shape, item: Item, path: str) -> tuple[bool, Any]:
    """Return whether an item tells what stands at a path, and that: None for what may be absent and is."""
    first, _, rest = path.partition(".")
    kind = shape[first]
    if first not in item:
        return kind.optional and not rest, None
    if not rest:
        return True, item[first]
    return (
        _value_at(kind.shape, item[first], rest)
        if isinstance(kind, Map) and isinstance(item[first], dict)
        else (False, None)
    )
