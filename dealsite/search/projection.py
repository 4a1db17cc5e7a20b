"""The index as a projection of the table: what the stream's consumer feeds, and a scan makes anew.

What is written, and where the stream was read to, take effect together, at the commit.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from dealsite.data.keys import Key
from dealsite.data.table.convert import Item
from dealsite.search import reader
from dealsite.search.documents import (
    CHECKPOINT,
    StoredDocument,
    document_of,
    is_indexed,
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
        self._unseen: dict[str, StoredDocument] = {}  # what is written and not yet committed
        self._whole: dict[str, tuple[int, int]] = {}  # files that were found whole

    def write(self, key: str, item: Item | None, sequence: str) -> None:
        """Note an item as it is after a change, or gone; nothing if that or a newer change is known."""
        known = self._known(key)
        if sequence > known.sequence:
            stored = StoredDocument.of_item(item) if item and is_indexed(item) else StoredDocument()
            self._put(key, replace(stored, sequence=sequence, likes=known.likes, counted=known.counted))

    def count(self, key: str, likes: int, sequence: str) -> None:
        """Note how many like a deal after a change; nothing if a newer one is known."""
        known = self._known(key)
        if sequence > known.counted:
            self._put(key, replace(known, likes=likes, counted=sequence))

    def add(self, key: str, stored: StoredDocument) -> None:
        """Write a document in place of what is there under its key."""
        self._writer.delete_documents_by_term("key", key)
        self._writer.add_document(document_of(key, stored))

    def _put(self, key: str, stored: StoredDocument) -> None:
        self.add(key, stored)
        self._unseen[key] = stored

    def _known(self, key: str) -> StoredDocument:
        return self._unseen.get(key) or stored_of(self._index.searcher(), key) or StoredDocument()

    def commit(self, checkpoint: str | None = None) -> None:
        """Make everything written so far, and the checkpoint if one is given, take effect at once."""
        if checkpoint is not None:
            self.add(CHECKPOINT, StoredDocument(kind=CHECKPOINT, checkpoint=checkpoint))
        self._writer.commit()
        self._unseen.clear()
        self._index.reload()

    def check(self) -> None:
        """Raise Broken where files of the generation were deleted or damaged."""
        reader.check_files(self.generation, self._whole)

    def close(self) -> None:
        """Let go of the folder; what is not committed is lost."""
        self._writer.rollback()
        self._writer.wait_merging_threads()


def checkpoint_in(generation: Path) -> str | None:
    """Return where the stream was read to when a generation was last committed; None for one without."""
    try:
        with unreadable_if_it_fails():
            found = stored_of(open_index(str(generation)).searcher(), CHECKPOINT)
    except Unreadable:
        return None
    return found.checkpoint if found else None


INDEXED = ("DEAL#", "DRAFT#", "BRAND#")


class SearchIndex:
    """Deals, drafts and brands by their words, in a folder of this machine: see `dealsite.stream.projection`."""

    name = "search"
    patience, delay = 0.5, 0.0
    portion = 5_000

    def __init__(self, root: Path | None = None) -> None:
        self.folder = root or reader.index_root()
        self._writer: Writer | None = None
        self._built: Path | None = None

    def checkpoint(self) -> Checkpoint | None:
        generation = reader.current_generation(self.folder)
        known = checkpoint_in(generation) if generation else None
        try:
            return Checkpoint.from_json(known) if known else None
        except (ValueError, LookupError, TypeError):
            return None

    def open(self) -> Checkpoint | None:
        generation = reader.current_generation(self.folder)
        if generation is None:
            return None
        try:
            reader.check_files(generation, {})
            checkpoint = self.checkpoint()
            if checkpoint is not None:
                with unreadable_if_it_fails():
                    self._writer = Writer(generation)
        except (reader.Broken, Unreadable) as error:
            raise Damaged(str(error)) from error
        return checkpoint

    def check(self) -> None:
        writer = self._opened()
        try:
            if reader.current_generation(self.folder) != writer.generation:
                raise reader.Broken(f"{writer.generation} is no longer in use.")
            writer.check()
        except reader.Broken as error:
            raise Damaged(str(error)) from error

    def apply(self, changes: Sequence[ItemChange]) -> None:
        writer = self._opened()
        for change in changes:
            if is_of_index(change.key):
                writer.write(change.key[0], change.new, change.sequence)
            elif is_of_likes(change.key):
                writer.count(change.key[0], _likes(change.new), change.sequence)

    def commit(self, checkpoint: Checkpoint | None) -> None:
        self._opened().commit(checkpoint.to_json() if checkpoint else None)

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def build(self, items: Iterable[Item], start: Checkpoint) -> list[tuple[Key, str]]:
        for left_behind in reader.unused_generations(self.folder):
            shutil.rmtree(left_behind, ignore_errors=True)
        lacking: list[tuple[Key, str]] = []
        self._built = reader.new_generation(self.folder)
        writer = Writer(self._built)
        likes: dict[str, int] = {}  # of deals that are still to come
        try:
            for item in items:
                key = (item["PK"], item["SK"])
                if is_of_likes(key):
                    likes[key[0]] = _likes(item)
                elif is_indexed(item):
                    counted, number = (start.floor if key[0] in likes else ""), likes.pop(key[0], 0)
                    try:
                        stored = StoredDocument.of_item(item)
                        stored = replace(stored, sequence=start.floor, likes=number, counted=counted)
                        writer.add(key[0], stored)
                    except Exception as error:  # noqa: BLE001 - one odd item must not hide all others
                        lacking.append((key, repr(error)))
            writer.commit(start.to_json())
            for deal, number in likes.items():  # of those that came before their likes
                writer.count(deal, number, start.floor)
            writer.commit()
        finally:
            writer.close()
        return lacking

    def swap(self) -> None:
        try:
            if self._built is None:
                raise reader.Broken("There is no new index.")
            reader.check_files(self._built, {})
        except reader.Broken as error:
            raise Damaged(str(error)) from error
        reader.use_generation(self._built)
        self._built = None

    def _opened(self) -> Writer:
        if self._writer is None:
            raise RuntimeError("The index is not open.")
        return self._writer


def is_of_index(key: Key) -> bool:
    """Tell whether a key is a deal's, draft's or brand's own, not that of something beside it."""
    return key[0] == key[1] and key[0].startswith(INDEXED)


def is_of_likes(key: Key) -> bool:
    """Tell whether a key is that of how many like a deal."""
    return key[1] == "COUNTS" and key[0].startswith("DEAL#")


def _likes(item: Item | None) -> int:
    return int(item.get("likes", 0)) if item else 0
