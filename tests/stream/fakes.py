"""A stream in memory, whose shards split where a test says, and the simplest of all projections."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from copy import deepcopy
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from dealsite.data.keys import Key
from dealsite.stream.projection import Checkpoint, Damaged
from dealsite.stream.records import ItemChange, Lost, Page, Shard, Stream
from tests.builders import NOW

Item = dict[str, Any]


class FakeStream(Stream):
    """Records what is written to `table`; `page_size` records a page."""

    def __init__(self, page_size: int = 3) -> None:
        super().__init__("arn:fake")
        self.table: dict[Key, Item] = {}
        self.changes: list[ItemChange] = []
        self.parts: list[tuple[Shard, list[ItemChange]]] = [(Shard("shard-0"), [])]
        self.trimmed: set[str] = set()
        self.page_size = page_size
        self.asked: list[str] = []

    def write(self, key: Key, item: Item | None) -> None:
        """Put an item, or delete it with None; a write that changes nothing leaves no record."""
        old, new = self.table.get(key), None if item is None else {**item, "PK": key[0], "SK": key[1]}
        if old == new:
            return
        if new is None:
            del self.table[key]
        else:
            self.table[key] = deepcopy(new)
        number = len(self.changes) + 1
        change = ItemChange(
            key, deepcopy(old), deepcopy(new), f"{number:040d}", NOW + timedelta(seconds=number * 1800)
        )
        self.changes.append(change)
        self.parts[-1][1].append(change)

    def split(self) -> None:
        """Close the shard of now; the next one is its child."""
        parent = self.parts[-1][0].id
        self.parts.append((Shard(f"shard-{len(self.parts)}", parent), []))

    def shards(self) -> list[Shard]:
        return [shard for shard, _ in reversed(self.parts) if shard.id not in self.trimmed]

    def iterator(self, shard_id: str, after: str) -> str:
        if shard_id in self.trimmed:
            raise Lost()
        self.asked.append(shard_id)
        changes = {shard.id: changes for shard, changes in self.parts}[shard_id]
        return json.dumps([shard_id, sum(change.sequence <= after for change in changes)])

    def page(self, iterator: str) -> Page:
        shard_id, start = json.loads(iterator)
        changes = {shard.id: changes for shard, changes in self.parts}[shard_id]
        found = changes[start : start + self.page_size]
        end = start + len(found)
        closed = shard_id != self.parts[-1][0].id and end == len(changes)
        following = None if closed else json.dumps([shard_id, end])
        return Page(len(found), found, found[-1].sequence if found else "", following)


class Copy:
    """The table once more, in one file: state and checkpoint move together."""

    name = "copy"
    keep_every = timedelta(minutes=10)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file, self.made = folder / "copy.json", folder / "made.json"
        self.items: dict[str, Item] = {}
        self.applied: list[str] = []
        self.commits = 0

    def checkpoint(self) -> Checkpoint | None:
        if not self.file.exists():
            return None
        return Checkpoint.from_json(json.loads(self.file.read_text())["checkpoint"])

    def open(self) -> Checkpoint | None:
        if self.file.exists():
            self.items = json.loads(self.file.read_text())["items"]
        return self.checkpoint()

    def apply(self, changes: Sequence[ItemChange]) -> bool:
        for change in changes:
            self.applied.append(change.sequence)
            if change.new is None:
                self.items.pop("|".join(change.key), None)
            else:
                self.items["|".join(change.key)] = change.new
        return True

    def commit(self, checkpoint: Checkpoint | None) -> None:
        known = checkpoint or self.checkpoint()
        assert known is not None
        self.commits += 1
        self._write(self.file, self.items, known)

    def close(self) -> None:
        self.items = {}

    def leads(self) -> bool:
        return True

    def leave(self) -> None:
        pass

    def check(self, read_at: datetime) -> None:
        if not self.file.exists():
            raise Damaged("The copy is gone.")

    def build(self, items: Iterable[Item], start: Checkpoint) -> list[tuple[Key, str]]:
        self._write(self.made, {f"{item['PK']}|{item['SK']}": item for item in items}, start)
        return []

    def swap(self) -> None:
        self.made.replace(self.file)

    def _write(self, path: Path, items: dict[str, Item], checkpoint: Checkpoint) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        written = path.with_suffix(".new")
        written.write_text(
            json.dumps({"items": items, "checkpoint": checkpoint.to_json()}, sort_keys=True, default=str)
        )
        written.replace(path)
