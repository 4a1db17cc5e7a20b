"""All that is stored about a person: where it stands follows from the charts of keys and entities.

Each partition that is named by a user alone is theirs; what repeats an attribute of theirs in its own key (whose an
address is) belongs to it.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from dealsite.data import keys, table
from dealsite.data.editing import audit
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.entity import At
from dealsite.data.entities.personal import is_about, mentions, own_part
from dealsite.data.table.convert import Item, Key
from dealsite.data.table.ids import folded, iso
from dealsite.data.table.key_templates import Part, Template
from dealsite.data.table.meters import access_pattern

AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class OwnItem:
    """What a person may have of one item."""

    type: str
    attributes: Item


def as_json(username: str, *, now: datetime, everywhere: bool = False) -> tuple[str, Counter[str]]:
    """Return all that is stored about a person as JSON, and how many items there are of each type; see `all_items`."""
    found = list(all_items(username, everywhere=everywhere))
    counts = Counter(one.type for one in found)
    said = {
        "username": username,
        "written_at": iso(now),
        "items": [{"type": one.type, **one.attributes} for one in found],
        "types": {type_: ENTITIES[type_].about for type_ in sorted(counts)},
    }
    return json.dumps(said, ensure_ascii=False, indent=1, default=_plain), counts


def _plain(value: Any) -> Any:
    """Return what JSON has no word for: sets as lists, amounts as text."""
    return sorted(value) if isinstance(value, (set, frozenset)) else str(value)


@access_pattern("note that all that is stored about a person was written to a file", "1 put")
def note_export(username: str, *, by: str, now: datetime) -> None:
    """Note in the audit log that somebody else was given all that is stored about a user."""
    what = "wrote a file of all that is stored about them"
    table.write(audit.entry_write(by=by, kind="user", subject=username, what=what, now=now))


# Where it stands


@cache
def partitions() -> list[Template[Any]]:
    """Return the lines of the key chart whose partition is named by a user alone, each partition once."""
    found: dict[tuple[str, str], Template[Any]] = {}
    for one in keys.CHART.values():
        entry = one.entry
        parts = [piece for piece in entry.partition_pieces if isinstance(piece, Part)]
        if entry.sort and [part.type for part in parts] == ["username"]:
            literal = entry.partition.partition("{")[0]
            found.setdefault((entry.index, literal), one)
    return sorted(found.values(), key=lambda one: one.entry.index)


@cache
def links() -> list[tuple[str, str, At, str]]:
    """Return what leads from an item to another one: a type, its attribute, the other's key and that key's argument."""
    found = []
    for entity in ENTITIES.values():
        (key, *others) = entity.keys
        if others or len(key.sources) != 1:
            continue
        ((argument, attribute),) = key.sources.items()
        kind, _, name = (
            entity.shape[attribute].copy_of.partition(".") if attribute in entity.shape else ("",) * 3
        )
        if kind in ENTITIES and kind != entity.type:
            found.append((kind, name, key, argument))
    return found


@access_pattern("all that is stored about a person", "1 get + 12 queries + 3 batch gets")
def all_items(username: str, *, everywhere: bool = False) -> Iterator[OwnItem]:
    """Yield what a person may have of each item that is stored about them, each once.

    1 query for each 100 items of a partition of theirs, 1 batch get for each 100 that an index or another item leads
    to. `everywhere`: also what they made or changed, and jobs about them, which only a scan of the table finds.
    """
    names, seen = _names(username), set[Key]()
    for item in _items(username, names, everywhere=everywhere):
        if (key := (item["PK"], item["SK"])) not in seen and (entity := ENTITIES.get(item["type"])):
            seen.add(key)
            yield OwnItem(entity.type, own_part(entity.shape, item, names))


def _names(username: str) -> set[str]:
    """Return what a person is called in items: their name and their address, once they have confirmed it."""
    email = (table.get(keys.user(username)) or {}).get("email", "")
    return {username, email, folded(email)} - {""}


def _items(username: str, names: set[str], *, everywhere: bool) -> Iterator[Item]:
    led_to: dict[Key, None] = {}
    for item in _of_partitions(username):
        yield item
        for kind, name, key, argument in links():
            if item["type"] == kind and item.get(name):
                led_to[key.template(**{argument: item[name]})] = None
    yield from table.batch_get(led_to).values()
    for item in table.scan_all() if everywhere else ():
        entity = ENTITIES.get(item["type"])
        if entity is None or not mentions(entity.shape, item, names):
            continue
        if entity.stays_for == "work" or is_about(entity.shape, item, names):
            yield item


def _of_partitions(username: str) -> Iterator[Item]:
    listed, own = [(keys.GSI2, keys.audit_of.partition("user", username))], set[str]()
    for one in partitions():  # indexes last
        partition = one.partition(username)
        if one.entry.index:
            listed.append((one.entry.index, partition))
        else:
            own.add(partition)
            yield from table.query_all(partition, consistent=True, limit=AT_ONCE)
    for index, partition in listed:
        start: dict[str, Any] | None = None
        while True:
            rows = table.query_page(partition, index=index, limit=AT_ONCE, start=start)
            wanted = [(row["PK"], row["SK"]) for row in rows.items if row["PK"] not in own]
            yield from table.batch_get(wanted).values()
            if (start := rows.start) is None:
                break
