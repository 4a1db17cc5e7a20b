"""Quarantined items: what a check found wrong with an item and cannot derive, a copy of the item, what was decided.

The item itself stays where it is. A copy of more than 100 KB is not kept: such an item cannot be decided on here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from dealsite.data import keys
from dealsite.data.entities.findings import MOST_CHARACTERS, QUARANTINED
from dealsite.data.integrity.declared import is_secret
from dealsite.data.integrity.problem import Problem
from dealsite.data.table.configuration import SCHEMA
from dealsite.data.table.convert import Item, to_attribute
from dealsite.data.table.errors import VersionConflict
from dealsite.data.table.ids import epoch_seconds, from_iso, hash_of, iso
from dealsite.data.table.writes import Put, absent, at_version

MOST_BYTES = 100_000  # of a copy
KEPT = timedelta(days=30)  # after a deletion or correction, and after an item is found sound
LEFT_KEPT = timedelta(days=90)  # after an item that is to stay was last seen as it was
State = Literal["open", "decided", "gone"]
Decision = Literal["", "deleted", "corrected", "left"]
HIDDEN = "•••"
SECRET = re.compile(r"password|secret|recovery|token|passkey|public_key|credential|method")
VALUE = re.compile(
    r"'[^']*'|\"[^\"]*\"|\S*[\d#]\S*|\bNone\b"
)  # what differs between sentences that are alike


@dataclass(frozen=True, slots=True)
class Quarantined:
    """One sentence about one item; `copy` is the item as it was seen, None where it was not there or is too large.

    `is_derivable`: check_table --repair knows the right value. `changed` holds what a correction changed: each
    attribute's value before and after, None for absent. `at` is when it was decided, or found no more.
    """

    id: str
    key: keys.Key
    kind: str
    what: str
    group: str
    first_at: datetime
    seen_at: datetime
    times: int = 1
    version: int = 0
    state: State = "open"
    is_derivable: bool = False
    fingerprint: str = ""
    copy: Item | None = None
    decision: Decision = ""
    by: str = ""
    at: datetime | None = None
    changed: Mapping[str, Mapping[str, Any]] | None = None

    @property
    def may(self) -> tuple[str, ...]:
        """What can be decided now: delete, correct, leave, undo."""
        if self.state == "open":
            return ("leave",) if self.copy is None or self.is_derivable else ("correct", "delete", "leave")
        return ("undo",) if self.state == "decided" else ()


def entry_of(problem: Problem, item: Item | None, *, now: datetime) -> Quarantined:
    """Return what is kept of a problem; `item` is what stands under its key now."""
    kind, sentence = str((item or {}).get("type", ""))[:100], problem.what
    for path, text, value in leaves(item or {}):
        if hides(kind, path, text) and isinstance(value, str) and value:
            sentence = sentence.replace(value, HIDDEN).replace(value[:60], HIDDEN)
    what = sentence[:MOST_CHARACTERS]
    fingerprint, copy = _copied(item)
    return Quarantined(
        id=hash_of(json.dumps([*problem.key, what])),
        key=problem.key,
        kind=kind,
        what=what,
        group=hash_of(f"{kind}#{VALUE.sub('…', what)}"),
        first_at=now,
        seen_at=now,
        is_derivable=bool(problem.repairs),
        fingerprint=fingerprint,
        copy=copy,
    )


def fingerprint_of(item: Item | None) -> str:
    """Return what tells an item from any other state of it; migrate_items, which notes its schema, changes none."""
    return _copied(item)[0]


def _copied(item: Item | None) -> tuple[str, Item | None]:
    if item is None:
        return "", None
    try:
        text = json.dumps(to_attribute({n: v for n, v in item.items() if n != SCHEMA}), sort_keys=True)
    except TypeError:  # a set of numbers, which this site never stores
        return hash_of(repr(sorted(item.items(), key=lambda pair: pair[0]))), None
    return hash_of(text), item if len(text.encode()) <= MOST_BYTES else None


def seen_again(known: Quarantined, found: Quarantined) -> Quarantined:
    """Return an entry whose problem was found once more: open again, unless it is to stay and is as it was."""
    if known.decision == "left" and known.fingerprint == found.fingerprint:
        return replace(known, times=known.times + 1, seen_at=found.seen_at)
    return replace(found, times=known.times + 1, version=known.version, first_at=known.first_at)


def keep_write(entry: Quarantined) -> Put:
    """Return the write that keeps an entry, if it is still at its version; VersionConflict."""
    item = QUARANTINED.item(
        {
            "id": entry.id,
            "state": entry.state,
            "group": entry.group,
            "first_at": iso(entry.first_at),
            "times": entry.times,
            "version": entry.version + 1,
            "fingerprint": entry.fingerprint,
            "copy": entry.copy,
            "changed": entry.changed,
            "at": iso(entry.at) if entry.at else None,
            "ttl": epoch_seconds(until) if (until := kept_until(entry)) else None,
            "card": {
                "key": list(entry.key),
                "kind": entry.kind,
                "what": entry.what,
                "seen_at": iso(entry.seen_at),
                "is_derivable": entry.is_derivable,
                "decision": entry.decision,
                "by": entry.by,
            },
        }
    )
    when = at_version(entry.version) if entry.version else (absent(),)
    return Put(key=keys.quarantined(entry.id), item=item, when=when, otherwise=VersionConflict())


def kept_until(entry: Quarantined) -> datetime | None:
    """Return until when an entry is kept; None for what is open."""
    if entry.at is None:
        return None
    return entry.seen_at + LEFT_KEPT if entry.decision == "left" else entry.at + KEPT


def from_item(item: Item) -> Quarantined:
    """Return an entry from its item, or what lists show of it from its row in the index."""
    card, entry_id = item["card"], str(item["PK"]).partition("#")[2]
    state = str(item["GSI1PK"]).partition("#")[2].lower()
    first, _, _ = str(item["GSI1SK"]).partition("#")
    seen_at = from_iso(card["seen_at"])
    more = {
        name: item[name] for name in ("times", "version", "fingerprint", "copy", "changed") if name in item
    }
    return Quarantined(
        id=entry_id,
        key=(card["key"][0], card["key"][1]),
        kind=card["kind"],
        what=card["what"],
        group=item.get("group", first),
        first_at=from_iso(item["first_at"]) if "first_at" in item else seen_at,
        seen_at=seen_at,
        state=state or "open",  # type: ignore[arg-type]
        is_derivable=card["is_derivable"],
        decision=card["decision"],
        by=card["by"],
        at=from_iso(first) if state else None,
        **more,
    )


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Yield what is in an item that holds nothing else: its path, the same as text, and its value."""
    if isinstance(value, Mapping) and value:
        for name in sorted(value):
            yield from leaves(value[name], (*path, str(name)))
    elif isinstance(value, list) and any(isinstance(one, (Mapping, list)) for one in value):
        for number, one in enumerate(value):
            yield from leaves(one, (*path, str(number)))
    else:
        yield path, ".".join(path), value


def hides(kind: str, names: tuple[str, ...], path: str) -> bool:
    """Tell whether an attribute of a type is not to be seen: the chart says so, or its name where it knows nothing."""
    return is_secret(kind, names) or bool(SECRET.search(path))


def shown(item: Item, most: int) -> list[tuple[str, str]]:
    """Return at most so many of an item's attributes with their values as texts, secrets hidden."""
    found = []
    for names, path, value in leaves(item):
        text = (
            HIDDEN
            if hides(str(item.get("type")), names, path)
            else f"{sorted(value)}"
            if isinstance(value, set)
            else f"{value}"
        )
        found.append((path, text))
        if len(found) == most:
            break
    return found
