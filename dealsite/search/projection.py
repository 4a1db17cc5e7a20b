"""The index as a projection of the table: what the stream's consumer feeds, and a scan makes anew.

What is written, and where the stream was read to, take effect together, at the commit.
"""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import tantivy

from dealsite.data.keys import Key
from dealsite.data.table.convert import Item
from dealsite.search import files, folder
from dealsite.search.documents import (
    CHECKPOINT,
    GONE,
    document_of,
    is_indexed,
    note_of,
    open_index,
    stored_of,
)
from dealsite.search.reader import Unreadable, unreadable_if_it_fails
from dealsite.stream.projection import Checkpoint, Damaged
from dealsite.stream.records import ItemChange

MEMORY = 32_000_000  # bytes that wait to be written


class Writer:
    """The only one who writes to a generation's folder; ValueError where another process does already."""

    def __init__(self, generation: Path) -> None:
        self.generation = generation
        exists = (generation / "meta.json").is_file()
        self._index = open_index(str(generation), create=not exists)
        self._writer = self._index.writer(heap_size=MEMORY, num_threads=1)
        self._unseen: dict[str, str] = {}  # sequences of what is written and not yet committed
        self._whole: dict[str, tuple[int, int]] = {}  # files that were found whole

    def write(self, key: str, item: Item | None, sequence: str) -> bool:
        """Note an item as it is after a change, or gone; False, and nothing, if that or a newer change is known."""
        if sequence <= self.sequence_of(key):
            return False
        if item is not None and is_indexed(item):
            self.put(key, document_of(key, item, sequence), sequence)
        else:
            self.put(key, note_of(key, GONE, sequence=sequence), sequence)
        return True

    def put(self, key: str, document: tantivy.Document, sequence: str) -> None:
        """Write a document in place of what is there under its key."""
        self._replace(key, document)
        self._unseen[key] = sequence

    def sequence_of(self, key: str) -> str:
        """Return the newest change that is known of an item, '' for none."""
        if key in self._unseen:
            return self._unseen[key]
        found = stored_of(self._index.searcher(), key)
        return found.sequence if found else ""

    def commit(self, checkpoint: str | None = None) -> None:
        """Make everything written so far, and the checkpoint if one is given, take effect at once."""
        if checkpoint is not None:
            self._replace(CHECKPOINT, note_of(CHECKPOINT, CHECKPOINT, checkpoint=checkpoint))
        self._writer.commit()
        self._unseen.clear()
        self._index.reload()

    def check(self) -> None:
        """Raise Broken where files of the generation were deleted or damaged."""
        files.check(self.generation, self._whole)

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
        with unreadable_if_it_fails():
            found = stored_of(open_index(str(generation)).searcher(), CHECKPOINT)
    except Unreadable:
        return None
    return found.checkpoint if found else None


INDEXED = ("DEAL#", "DRAFT#")


class SearchIndex:
    """Deals and drafts by their words, in a folder of this machine. See `dealsite.stream.projection.Projection`."""

    name = "search"
    patience = 0.05
    portion = 5_000

    def __init__(self, root: Path | None = None) -> None:
        self.folder = root or folder.root()
        self._writer: Writer | None = None
        self._built: Path | None = None

    def checkpoint(self) -> Checkpoint | None:
        generation = folder.current(self.folder)
        known = checkpoint_in(generation) if generation else None
        try:
            return Checkpoint.from_json(known) if known else None
        except (ValueError, LookupError, TypeError):
            return None

    def open(self) -> Checkpoint | None:
        generation = folder.current(self.folder)
        if generation is None:
            return None
        try:
            files.check(generation, {})
            checkpoint = self.checkpoint()
            if checkpoint is not None:
                with unreadable_if_it_fails():
                    self._writer = Writer(generation)
        except (files.Broken, Unreadable) as error:
            raise Damaged(str(error)) from error
        return checkpoint

    def check(self) -> None:
        writer = self._opened()
        try:
            if folder.current(self.folder) != writer.generation:
                raise files.Broken(f"{writer.generation} is no longer in use.")
            writer.check()
        except files.Broken as error:
            raise Damaged(str(error)) from error

    def apply(self, changes: Sequence[ItemChange]) -> None:
        writer = self._opened()
        for change in changes:
            if is_of_index(change.key):
                writer.write(change.key[0], change.new, change.sequence)

    def commit(self, checkpoint: Checkpoint | None) -> None:
        self._opened().commit(checkpoint.to_json() if checkpoint else None)

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def build(self, items: Iterable[Item], start: Checkpoint) -> list[tuple[Key, str]]:
        for left_behind in folder.unused(self.folder):
            shutil.rmtree(left_behind, ignore_errors=True)
        lacking: list[tuple[Key, str]] = []
        self._built = folder.new_generation(self.folder)
        writer = Writer(self._built)
        try:
            for item in items:
                if is_indexed(item):
                    try:
                        document = document_of(item["PK"], item, start.floor)
                    except Exception as error:  # noqa: BLE001 - one odd item must not hide all others
                        lacking.append(((item["PK"], item["SK"]), repr(error)))
                    else:
                        writer.put(item["PK"], document, start.floor)
            writer.commit(start.to_json())
        finally:
            writer.close()
        return lacking

    def swap(self) -> None:
        try:
            if self._built is None:
                raise files.Broken("There is no new index.")
            files.check(self._built, {})
        except files.Broken as error:
            raise Damaged(str(error)) from error
        folder.use(self._built)
        self._built = None

    def _opened(self) -> Writer:
        if self._writer is None:
            raise RuntimeError("The index is not open.")
        return self._writer


def is_of_index(key: Key) -> bool:
    """Tell whether a key is a deal's or a draft's own, not that of something beside it."""
    return key[0] == key[1] and key[0].startswith(INDEXED)
