"""Writing to the index. What is written, and where the stream was read to, take effect together, at the commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tantivy

from dealsite.data.convert import Item
from dealsite.search.documents import (
    CHECKPOINT,
    GONE,
    Stored,
    document_of,
    is_indexed,
    note_of,
    open_index,
)

MEMORY = 32_000_000  # bytes that wait to be written


class Writer:
    """The only one who writes to a generation's folder; ValueError where another process does already."""

    def __init__(self, generation: Path) -> None:
        self.generation = generation
        exists = (generation / "meta.json").is_file()
        self._index = open_index(str(generation), create=not exists)
        self._writer = self._index.writer(heap_size=MEMORY, num_threads=1)
        self._unseen: dict[str, str] = {}  # sequences of what is written and not yet committed

    @property
    def checkpoint(self) -> Any:
        """Where the stream was read to when this was last committed; None at first."""
        found = self._stored(CHECKPOINT)
        return found.checkpoint if found else None

    def write(self, key: str, item: Item | None, sequence: str) -> bool:
        """Note an item as it is after a change, or gone; False, and nothing, if that or a newer change is known."""
        if sequence <= self.sequence_of(key):
            return False
        if item is not None and is_indexed(item):
            self._replace(key, document_of(key, item, sequence))
        else:
            self._replace(key, note_of(key, GONE, sequence=sequence))
        self._unseen[key] = sequence
        return True

    def sequence_of(self, key: str) -> str:
        """Return the newest change that is known of an item, '' for none."""
        if key in self._unseen:
            return self._unseen[key]
        found = self._stored(key)
        return found.sequence if found else ""

    def commit(self, checkpoint: Any = None) -> None:
        """Make everything written so far, and the checkpoint if one is given, take effect at once."""
        if checkpoint is not None:
            self._replace(CHECKPOINT, note_of(CHECKPOINT, CHECKPOINT, checkpoint=checkpoint))
        self._writer.commit()
        self._unseen.clear()
        self._index.reload()

    def close(self) -> None:
        """Let go of the folder; what is not committed is lost."""
        self._writer.rollback()
        self._writer.wait_merging_threads()

    def _replace(self, key: str, document: tantivy.Document) -> None:
        self._writer.delete_documents_by_term("key", key)
        self._writer.add_document(document)

    def _stored(self, key: str) -> Stored | None:
        searcher = self._index.searcher()
        found = searcher.search(
            tantivy.Query.term_query(self._index.schema, "key", key), limit=1, count=False
        ).hits
        return Stored.of(searcher.doc(found[0][1])) if found else None
