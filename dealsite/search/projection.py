"""The index as a projection of the table: what the stream's consumer feeds, and a scan makes anew."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from dealsite.data.keys import Key
from dealsite.data.table.convert import Item
from dealsite.search import folder
from dealsite.search.documents import is_indexed
from dealsite.search.writer import Writer, checkpoint_in
from dealsite.stream.changes import ItemChange
from dealsite.stream.checkpoints import Checkpoint

INDEXED = ("DEAL#", "DRAFT#")


class SearchIndex:
    """Deals and drafts by their words, in a folder of this machine. See `dealsite.stream.projection.Projection`."""

    name = "search"
    patience = 0.05
    portion = 5_000

    def __init__(self, root: Path | None = None) -> None:
        self.folder = root or folder.root()
        self._writer: Writer | None = None

    def checkpoint(self) -> Checkpoint | None:
        generation = folder.current(self.folder)
        known = checkpoint_in(generation) if generation else None
        return Checkpoint.from_json(known) if known else None

    def open(self) -> Checkpoint | None:
        generation = folder.current(self.folder)
        if generation is None:
            return None
        checkpoint = self.checkpoint()
        if checkpoint is not None:
            self._writer = Writer(generation)
        return checkpoint

    def apply(self, changes: Sequence[ItemChange]) -> None:
        writer = self._opened()
        for change in changes:
            if is_of_index(change.key):
                writer.write(change.key[0], change.new, change.sequence)

    def commit(self, checkpoint: Checkpoint | None) -> None:
        self._opened().commit(checkpoint.to_json() if checkpoint else None)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def build(self, items: Iterable[Item], start: Checkpoint) -> None:
        for left_behind in folder.unused(self.folder):
            shutil.rmtree(left_behind, ignore_errors=True)
        writer = Writer(folder.new_generation(self.folder))
        try:
            for item in items:
                if is_indexed(item):
                    writer.write(item["PK"], item, start.floor)
            writer.commit(start.to_json())
        finally:
            writer.close()

    def swap(self) -> None:
        built = folder.unused(self.folder)
        if built:
            folder.use(built[-1])

    def _opened(self) -> Writer:
        if self._writer is None:
            raise RuntimeError("The index is not open.")
        return self._writer


def is_of_index(key: Key) -> bool:
    """Tell whether a key is a deal's or a draft's own, not that of something beside it."""
    return key[0] == key[1] and key[0].startswith(INDEXED)
