"""Writes that are sent again because the first answer was lost: whether they may be, and what came of them.

A repeat is carried out anew by an engine that was started again meanwhile. A write whose conditions no longer hold once
it was carried out is safe from that; the repeat then fails, and what is stored tells whose doing it was.
"""

from collections.abc import Sequence
from typing import Any

from .convert import Item, from_attributes, to_attributes
from .writes import Check, Condition, Delete, Path, Put, Update, Write, absent, equals, exists, missing

UNKNOWN = object()


def counts(action: Write) -> bool:
    """Whether a write adds to numbers, so that it must not be carried out twice."""
    return isinstance(action, Update) and not all(
        isinstance(added, set | frozenset) for added in action.add.values()
    )


def is_guarded(action: Write) -> bool:
    """Whether a write's own condition fails once it was carried out."""
    match action:
        case Put():
            return absent() in action.when
        case Delete():
            return exists() in action.when
        case Update():
            changed = {**action.set, **{path: UNKNOWN for path, added in action.add.items() if added}}
            return any(
                _excludes(condition, path, value)
                for condition in action.when
                for path, value in changed.items()
            )
    return False


def _excludes(condition: Condition, path: Path, value: Any) -> bool:
    """Whether a condition fails once a path has a value."""
    if len(condition.values) != 1:
        return condition == missing(path)
    return condition == equals(path, condition.values[0]) and value != condition.values[0]


def is_done(action: Write, item: Item | None) -> bool | None:
    """Whether what is stored is what a write says; None where it cannot tell whose it is."""
    match action:
        case Put():
            key = {"PK": action.key[0], "SK": action.key[1]}
            return item == from_attributes(to_attributes(action.item | key))
        case Delete():
            return item is None
        case Update() if action.set or action.remove:
            if item is None:
                return False
            return all(_at(item, path) == _stored(value) for path, value in action.set.items()) and all(
                _at(item, path) is None for path in action.remove
            )
    return None


def were_done(actions: Sequence[Write], found: dict[Any, Item]) -> bool | None:
    """Whether a transaction was carried out, as far as its items tell; None where none of them can."""
    told = [is_done(action, found.get(action.key)) for action in actions if not isinstance(action, Check)]
    if False in told:
        return False
    return True if True in told and not any(action.once for action in actions) else None


def _stored(value: Any) -> Any:
    """Return what is read back of a value."""
    return from_attributes(to_attributes({"": value})).get("")


def _at(item: Item, path: Path) -> Any:
    """Return what an item has at a path; None where there is nothing."""
    value: Any = item
    for step in (path,) if isinstance(path, str) else path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value
