"""What can be written: Put, Update, Delete and Check, each with the conditions it needs and the error they mean.

A condition is a small value made by a function (`exists()`, `equals("version", 3)`). A path is an
attribute's name, or a tuple of names that leads into a map or list: `("cards", card_id)`, `("order", 0)`.
Expression text is ASCII and holds placeholders only; names and values never stand in it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from .convert import Item, Key, key_attributes, to_attribute, to_attributes
from .errors import Conflict, DataError, TooLarge

Path = str | tuple[str | int, ...]
MAX_ACTIONS = 100
SCHEMA = "schema"  # the attribute with the version of an item's shape; an item without one has 0


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression template: `{p0}` stands for the first path, `{v0}` for the first value."""

    template: str
    paths: tuple[Path, ...] = ()
    values: tuple[Any, ...] = ()


def exists() -> Condition:
    """The item is there."""
    return Condition("attribute_exists({p0})", ("PK",))


def absent() -> Condition:
    """The item is not there."""
    return Condition("attribute_not_exists({p0})", ("PK",))


def present(path: Path) -> Condition:
    """The attribute is there."""
    return Condition("attribute_exists({p0})", (path,))


def missing(path: Path) -> Condition:
    """The attribute, or the item, is not there."""
    return Condition("attribute_not_exists({p0})", (path,))


def _comparison(sign: str) -> Callable[[Path, Any], Condition]:
    """Return the function that makes the condition of comparing an attribute, by its path, with a value."""
    return lambda path, value: Condition(f"{{p0}} {sign} {{v0}}", (path,), (value,))


equals, differs = _comparison("="), _comparison("<>")
at_least, at_most = _comparison(">="), _comparison("<=")
above, below = _comparison(">"), _comparison("<")


def fewer(path: Path, number: int) -> Condition:
    """The set, list or map is there and has fewer members."""
    return Condition("size({p0}) < {v0}", (path,), (number,))


def more(path: Path, number: int) -> Condition:
    """The set, list or map has more members."""
    return Condition("size({p0}) > {v0}", (path,), (number,))


def contains(path: Path, member: str) -> Condition:
    """The set holds a member."""
    return Condition("contains({p0}, {v0})", (path,), (member,))


def either(one: Condition, other: Condition) -> Condition:
    """At least one of two conditions of one path and at most one value each holds."""
    shifted = other.template
    for n in range(len(other.paths)):
        shifted = shifted.replace(f"{{p{n}}}", f"{{p{n + len(one.paths)}}}")
    for n in range(len(other.values)):
        shifted = shifted.replace(f"{{v{n}}}", f"{{v{n + len(one.values)}}}")
    return Condition(f"({one.template} OR {shifted})", one.paths + other.paths, one.values + other.values)


def lacks(path: Path, member: str) -> Condition:
    """The set does not hold a member, or is not there."""
    return Condition("NOT contains({p0}, {v0})", (path,), (member,))


def at_version(version: int) -> tuple[Condition, ...]:
    """The item has the version that was loaded; version 0 means that it was not there yet."""
    return (equals("version", version),) if version else (missing("version"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One action on one item; `otherwise` is the error that a failed condition means.

    `once`: two may want to write the very same, and only one of them must be told that it did.
    """

    key: Key
    when: tuple[Condition, ...] = ()
    otherwise: DataError | None = None
    once: bool = False

    kind: ClassVar[str]

    def request(
        self, also: tuple[Condition, ...] = (), schema: int | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Return the kind of action and its request, without the table's name.

        `also` are further conditions, `schema` is what an item notes that is made so.
        """
        expressions = _Expressions()
        request = self._what(expressions, schema)
        return self.kind, request | expressions.condition((*self.when, *also))

    def _what(self, expressions: "_Expressions", schema: int | None) -> dict[str, Any]:
        """Return what a request says beside its conditions."""
        return {"Key": key_attributes(self.key)}

    def error(self) -> DataError:
        return self.otherwise or Conflict()


@dataclass(frozen=True, slots=True, kw_only=True)
class Put(Write):
    """Write a whole item."""

    kind = "Put"
    item: Item

    def _what(self, expressions: "_Expressions", schema: int | None) -> dict[str, Any]:
        item = to_attributes(self.item) | key_attributes(self.key)
        return {"Item": item if schema is None else item | {SCHEMA: to_attribute(schema)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(Write):
    """Change attributes: `set` them, `add` to numbers or sets, `discard` from sets, `remove` them.

    What is added to within a map has to be a number, and there.
    """

    kind = "Update"
    set: Mapping[Any, Any] = field(default_factory=dict)
    add: Mapping[Any, Any] = field(default_factory=dict)
    discard: Mapping[Any, Any] = field(default_factory=dict)
    remove: Sequence[Path] = ()

    def _what(self, expressions: "_Expressions", schema: int | None) -> dict[str, Any]:
        within = {path: number for path, number in self.add.items() if isinstance(path, tuple)}
        clauses: dict[str, list[str]] = {}
        for verb, change, changes in (
            ("SET", "{0} = {1}", self.set if schema is None else {**self.set, SCHEMA: schema}),
            ("SET", "{0} = {0} + {1}", within),  # ADD knows no paths
            ("ADD", "{0} {1}", {path: value for path, value in self.add.items() if path not in within}),
            ("DELETE", "{0} {1}", self.discard),
        ):
            for path, value in changes.items():
                text = change.format(expressions.path(path), expressions.value(value))
                clauses.setdefault(verb, []).append(text)
        if self.remove:
            clauses["REMOVE"] = [expressions.path(path) for path in self.remove]
        expression = " ".join(f"{verb} {', '.join(texts)}" for verb, texts in clauses.items())
        return {"Key": key_attributes(self.key), "UpdateExpression": expression}


def rewrite(key: Key, before: Item, after: Item, otherwise: DataError) -> Update:
    """Return the update that makes an item another, by what differs, while its version is as before."""
    changed = {name: value for name, value in after.items() if before.get(name) != value}
    gone = [name for name in before if name not in after]
    when = at_version(before["version"])
    return Update(key=key, set=changed, remove=gone, when=when, otherwise=otherwise)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Write):
    """Remove an item."""

    kind = "Delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Write):
    """Change nothing, but stop the transaction unless the conditions hold."""

    kind = "ConditionCheck"


class _Expressions:
    """Hands out placeholders for the names and values of one action."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def name(self, name: str) -> str:
        return self.names.setdefault(name, f"#n{len(self.names)}")

    def path(self, path: Path) -> str:
        text = ""
        for step in (path,) if isinstance(path, str) else path:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += ("." if text else "") + self.name(step)
        return text

    def value(self, value: Any) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = to_attribute(value)
        return placeholder

    def condition(self, conditions: Sequence[Condition]) -> dict[str, Any]:
        texts = [
            c.template.format(
                **{f"p{n}": self.path(path) for n, path in enumerate(c.paths)},
                **{f"v{n}": self.value(value) for n, value in enumerate(c.values)},
            )
            for c in conditions
        ]
        request: dict[str, Any] = {"ConditionExpression": " AND ".join(texts)} if texts else {}
        if self.names:
            request["ExpressionAttributeNames"] = {short: name for name, short in self.names.items()}
        if self.values:
            request["ExpressionAttributeValues"] = self.values
        return request


def merge(writes: Sequence[Write]) -> list[Write]:
    """Return the writes with those of one item made one, in order of first appearance.

    A transaction must not touch an item twice. Updates of one item add up; a Check joins whatever
    else is done to its item. TooLarge above 100 actions; ValueError where two writes contradict.
    """
    merged: dict[Key, Write] = {}
    for write in writes:
        earlier = merged.get(write.key)
        merged[write.key] = write if earlier is None else _both(earlier, write)
    if len(merged) > MAX_ACTIONS:
        raise TooLarge()
    return list(merged.values())


def _both(one: Write, other: Write) -> Write:
    if isinstance(one, Check):
        one, other = other, one
    when = one.when + tuple(c for c in other.when if c not in one.when)
    otherwise = one.otherwise or other.otherwise
    if isinstance(other, Check):
        return replace(one, when=when, otherwise=otherwise)
    if not (isinstance(one, Update) and isinstance(other, Update)):
        raise ValueError(f"Two writes of {one.key} in one transaction cannot be merged.")
    return Update(
        key=one.key,
        when=when,
        otherwise=otherwise,
        once=one.once or other.once,
        set=_union(one.set, other.set),
        add=_sums(one.add, other.add),
        discard=_sums(one.discard, other.discard),
        remove=list(dict.fromkeys([*one.remove, *other.remove])),
    )


def _union(one: Mapping[Path, Any], other: Mapping[Path, Any]) -> dict[Path, Any]:
    for path in one.keys() & other.keys():
        if one[path] != other[path]:
            raise ValueError(f"{path!r} is set to two values in one transaction.")
    return {**one, **other}


def _sums(one: Mapping[Path, Any], other: Mapping[Path, Any]) -> dict[Path, Any]:
    return {path: _sum(one.get(path), other.get(path)) for path in {**one, **other}}


def _sum(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return one | other if isinstance(one, (set, frozenset)) else one + other
