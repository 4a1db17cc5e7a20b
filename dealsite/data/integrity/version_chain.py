"""Versions: each was before what its deal or draft is now; those of what is gone are gone, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dealsite.data import keys
from dealsite.data.integrity.problem import Problem, key_of
from dealsite.data.table.convert import Item
from dealsite.data.table.writes import Check, Delete, absent, equals

MOST_SEEN = 1000  # versions of one thing that one run looks at


@dataclass(slots=True)
class _Seen:
    """What has been seen of one history: its owner's key, kind and version, and the numbers kept."""

    owner: keys.Key | None = None
    token: tuple[str, object] = ("version", None)
    version: int = 0
    numbers: list[int] = field(default_factory=list)
    has_changes: bool = False


class Versions:
    """Keeps the numbers of all versions; memory grows with deals and their changes, by little each."""

    def __init__(self) -> None:
        self.seen: dict[str, _Seen] = {}

    def see(self, item: Item) -> None:
        match item["type"]:
            case "Deal" | "Draft":
                self._own(item, item.get("history") or item["id"], item["version"], "version")
            case "Trash":
                kept = item["kept"]
                self._own(item, kept.get("history") or item["id"], kept["version"], "token")
            case "DealChanges":
                self.seen.setdefault(item["of"], _Seen()).has_changes = True
            case "Version":
                seen = self.seen.setdefault(item["of"], _Seen())
                if len(seen.numbers) < MOST_SEEN:
                    seen.numbers.append(item["version"])

    def _own(self, item: Item, history_id: str, version: int, name: str) -> None:
        seen = self.seen.setdefault(history_id, _Seen())
        if version > seen.version:
            seen.owner, seen.token, seen.version = key_of(item), (name, item[name]), version

    def problems(self) -> Iterator[Problem]:
        for history_id, seen in self.seen.items():
            if seen.has_changes and seen.owner is None:
                yield _stray(keys.changes(history_id), history_id, "These unpublished changes have no deal.")
            for number in sorted(seen.numbers):
                if number >= seen.version:
                    yield _too_much(history_id, seen, number)


def _too_much(history_id: str, seen: _Seen, number: int) -> Problem:
    delete = Delete(key=keys.version(history_id, number))
    if seen.owner is not None:
        same = Check(key=seen.owner, when=(equals(*seen.token),))
        what = f"This version is not before what it is now, which is version {seen.version}."
        return Problem(delete.key, what, (delete, same))
    return _stray(delete.key, history_id, "This version has no deal or draft.")


def _stray(key: keys.Key, history_id: str, what: str) -> Problem:
    owners = [keys.deal(history_id), keys.draft(history_id)]
    owners += [keys.trash(kind, history_id) for kind in keys.TARGETS]
    gone = (Check(key=owner, when=(absent(),)) for owner in owners)
    return Problem(key, what, (Delete(key=key), *gone))
