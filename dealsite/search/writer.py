"""Writing to the index. What is written, and where the stream was read to, take effect together, at the commit."""

from __future__ import annotations

from pathlib import Path

import tantivy

from dealsite.data.table.convert import Item
from dealsite.search.documents import (
    CHECKPOINT,
    GONE,
    StoredDocument,
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
        found = _stored(self._index, key)
        return found.sequence if found else ""

    def commit(self, checkpoint: str | None = None) -> None:
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


def checkpoint_in(generation: Path) -> str | None:
    """Return where the stream was read to when a generation was last committed; None for one without."""
    try:
        found = _stored(open_index(str(generation)), CHECKPOINT)
    except (OSError, ValueError):
        return None
    return found.checkpoint if found else None


def _stored(index: tantivy.Index, key: str) -> StoredDocument | None:
    searcher = index.searcher()
    found = searcher.search(tantivy.Query.term_query(index.schema, "key", key), limit=1, count=False).hits
    return StoredDocument.of(searcher.doc(found[0][1])) if found else None
