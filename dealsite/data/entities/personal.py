"""What an item says about a person, by its declaration: whose it is, what of it they may have, and why it stays.

A name under `by` or `..._by` says who did something, not whom an item is about. What is secret is left out, and who
somebody else is.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from dealsite.data.entities.attributes import Attribute, Each, Map, MapOf, Shape, Username
from dealsite.data.table.convert import Item

SOMEBODY_ELSE = "(somebody else)"
ACCOUNTS = ("username", "account", "owner")  # where user names stand, also in what has no shape
MAILED_TO = ("to", "email")  # under which the payload of a mail's job has an address
# Why an item still names somebody who was deleted: their name is never given out again; the law asks for what was
# bought and paid; logs show what attackers did; it says who made or changed it; or it ends by itself.
Stays = Literal["", "name", "law", "security", "work", "passing"]


def is_actor(name: str) -> bool:
    """Tell whether an attribute says who did something."""
    return name == "by" or name.endswith("_by")


def who(shape: Shape) -> Iterator[str]:
    """Yield the names of the attributes that tell who somebody is, however deep."""
    for name, kind in shape.items():
        if kind.personal:
            yield name
        yield from who(_within(kind))


def _within(kind: Attribute) -> Shape:
    """Return the shape of a map, or of the maps in a list or map of many."""
    inner = kind.of if isinstance(kind, (Each, MapOf)) else kind
    return inner.shape if isinstance(inner, Map) else {}


def is_about(shape: Shape, item: Mapping[str, Any], names: Collection[str]) -> bool:
    """Tell whether an item is about a person of some names, and not only something that they did."""
    return any(not is_actor(name) for name, value in _named(shape, item) if value in names)


def mentions(shape: Shape, item: Mapping[str, Any], names: Collection[str]) -> bool:
    """Tell whether an item names a person of some names at all."""
    return any(value in names for _, value in _named(shape, item))


def _named(shape: Shape, item: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts of an item that say of which user it is, with the name under which each stands.

    Anybody may be shown as, live in or ask for what another's user name is. An address counts only where a mail goes
    to it: anybody may say that one is theirs. `within` names the personal map without a shape around it.
    """
    for name, value in item.items():
        kind = shape.get(name, Attribute())
        inside = within or (name if kind.personal else "")
        if isinstance(value, dict):
            shapes = dict.fromkeys(value, kind.of) if isinstance(kind, MapOf) else _within(kind)
            yield from _named(shapes, value, inside)
        elif isinstance(value, (list, set)):
            inner = kind.of if isinstance(kind, Each) else Attribute()
            for one in value:
                yield from _named({name: inner}, {name: one}, inside)
        elif inside and isinstance(value, str) and _names_a_user(name, kind, item, inside):
            yield name, value


def _names_a_user(name: str, kind: Attribute, item: Mapping[str, Any], within: str) -> bool:
    if name == "subject":  # of an audit entry: the id of anything else may read as a user name does
        return item.get("kind") == "user"
    if name in MAILED_TO:
        return within == "payload"
    return isinstance(kind, Username) or name in ACCOUNTS or is_actor(name)


def own_part(shape: Shape, item: Item, names: Collection[str]) -> Item:
    """Return what a person of some names may have of an item: nothing secret, and nobody else's name.

    Of what they only did, all that tells who somebody else is stays out.
    """
    return _own(shape, item, names, is_theirs=is_about(shape, item, names))


def _own(shape: Shape, item: Item, names: Collection[str], *, is_theirs: bool) -> Item:
    kept: Item = {}
    for name, kind in shape.items():
        if name not in item or kind.secret:
            continue
        value, inner = item[name], _within(kind)
        if isinstance(kind, Username) and kind.personal:
            kept[name] = value if value in names or value in ("", "-") else SOMEBODY_ELSE
        elif kind.personal and not is_theirs:
            continue
        elif isinstance(kind, Each) and inner:
            kept[name] = [_own(inner, one, names, is_theirs=is_theirs) for one in value]
        elif isinstance(kind, MapOf) and inner:
            kept[name] = {key: _own(inner, one, names, is_theirs=is_theirs) for key, one in value.items()}
        elif inner:
            kept[name] = _own(inner, value, names, is_theirs=is_theirs)
        else:
            kept[name] = value
    return kept
