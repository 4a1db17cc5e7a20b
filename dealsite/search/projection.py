"""The index as a projection of the table: what the stream's consumer feeds, and a scan makes anew.

It has two parts: what shoppers and editors find, and beside it what the back office finds. What is written, and where
the stream was read to, take effect together, at the commit of the first part, after that of the other.
"""

import shutil
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Generic

import tantivy

from dealsite.data.keys import Key
from dealsite.data.table.convert import Item
from dealsite.search import reader
from dealsite.search.changes import Parts
from dealsite.search.documents import CHECKPOINT, StoredDocument
from dealsite.search.office import OfficeDocument
from dealsite.search.on_disk import FolderSearcher, open_index, schema_of
from dealsite.search.queries import Found
from dealsite.search.reader import Unreadable, unreadable_if_it_fails
from dealsite.stream.projection import Checkpoint, Damaged
from dealsite.stream.records import ItemChange

MEMORY = 32_000_000  # bytes of a part that wait to be written
BUILT_AT_ONCE = 20_000  # items between two commits of a new index


class Writer(Generic[Found]):
    """The only one who writes to a part's folder, see `changes.Part`; ValueError where another process does already."""

    def __init__(self, folder: Path, kind: type[Found]) -> None:
        self.folder, self.kind = folder, kind
        exists = (folder / reader.META).is_file()
        folder.mkdir(mode=0o700, exist_ok=True)
        self._index = open_index(str(folder), make=None if exists else kind.fields)
        self._writer = self._index.writer(heap_size=MEMORY, num_threads=1)
        self._unseen: dict[str, Found] = {}  # what is written and not yet committed
        self._whole: dict[str, tuple[int, int]] = {}  # files that were found whole

    def look(self, keys: Collection[str]) -> None:
        pass

    def known(self, key: str) -> Found:
        committed = FolderSearcher(self.kind, self._index.searcher())
        return self._unseen.get(key) or committed.known([key]).get(key) or self.kind()

    def put(self, key: str, stored: Found) -> None:
        self._writer.delete_documents_by_term("key", key)
        document = tantivy.Document.from_dict(stored.document(key), schema_of(self.kind.fields))
        self._writer.add_document(document)
        self._unseen[key] = stored

    def commit(self) -> None:
        self._writer.commit()
        self._unseen.clear()
        self._index.reload()
        self._keep_private()

    def check(self) -> None:
        """Raise Broken where files were deleted or damaged."""
        reader.check_files(self.folder, self._whole)
        self._keep_private()

    def close(self) -> None:
        """Let go of the folder; what is not committed is lost."""
        self._writer.rollback()
        self._writer.wait_merging_threads()
        self._keep_private()

    def _keep_private(self) -> None:
        """Let nobody else read the files, which the index makes as it likes, also while it merges them."""
        for file in self.folder.glob("*"):
            with suppress(FileNotFoundError):
                if file.stat().st_mode & 0o077:
                    file.chmod(0o700 if file.is_dir() else 0o600)


def checkpoint_in(generation: Path) -> str | None:
    """Return where the stream was read to when a generation was last committed; None for one without."""
    try:
        with unreadable_if_it_fails():
            known = FolderSearcher(StoredDocument, open_index(str(generation)).searcher()).known([CHECKPOINT])
    except Unreadable:
        return None
    return known[CHECKPOINT].checkpoint if known else None


class Generation(Parts):
    """Both parts of a generation of the index, open to be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._deals = Writer(folder, StoredDocument)
        try:
            self._office = Writer(folder / OfficeDocument.part, OfficeDocument)
        except BaseException:
            self._deals.close()
            raise
        super().__init__(self._office, self._deals)

    def check(self) -> None:
        """Raise Broken where files of the generation were deleted or damaged."""
        self._office.check()
        self._deals.check()

    def close(self) -> None:
        """Let go of the folder; what is not committed is lost."""
        try:
            self._office.close()
        finally:
            self._deals.close()


class SearchIndex:
    """Deals, drafts and brands by their words, orders and customers by what is known of them, in a folder of this
    machine: see `dealsite.stream.projection`.
    """

    name = "search"
    keep_every = timedelta(minutes=10)

    def __init__(self, root: Path | None = None) -> None:
        self.folder = root or reader.index_root()
        self._writer: Generation | None = None
        self._built: Path | None = None

    def checkpoint(self) -> Checkpoint | None:
        generation = reader.current_generation(self.folder)
        known = checkpoint_in(generation) if generation else None
        try:
            return Checkpoint.from_json(known) if known else None
        except (ValueError, LookupError, TypeError):
            return None

    def leads(self) -> bool:
        return True

    def leave(self) -> None:
        pass

    def open(self) -> Checkpoint | None:
        generation = reader.current_generation(self.folder)
        if generation is None:
            return None
        try:
            reader.check_generation(generation)
            checkpoint = self.checkpoint()
            if checkpoint is not None:
                with unreadable_if_it_fails():
                    self._writer = Generation(generation)
        except (reader.Broken, Unreadable) as error:
            raise Damaged(str(error)) from error
        return checkpoint

    def check(self, read_at: datetime) -> None:
        writer = self._opened()
        try:
            if reader.current_generation(self.folder) != writer.folder:
                raise reader.Broken(f"{writer.folder} is no longer in use.")
            writer.check()
        except reader.Broken as error:
            raise Damaged(str(error)) from error

    def apply(self, changes: Sequence[ItemChange]) -> bool:
        return self._opened().apply(changes)

    def commit(self, checkpoint: Checkpoint | None) -> None:
        self._opened().commit(checkpoint)

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def build(self, items: Iterable[Item], start: Checkpoint) -> list[tuple[Key, str]]:
        for left_behind in reader.unused_generations(self.folder):
            shutil.rmtree(left_behind, ignore_errors=True)
        self._built = reader.new_generation(self.folder)
        writer = Generation(self._built)
        try:
            return writer.fill(items, start, commit_every=BUILT_AT_ONCE)
        finally:
            writer.close()

    def swap(self) -> None:
        try:
            if self._built is None:
                raise reader.Broken("There is no new index.")
            reader.check_generation(self._built)
        except reader.Broken as error:
            raise Damaged(str(error)) from error
        reader.use_generation(self._built)
        self._built = None

    def _opened(self) -> Generation:
        if self._writer is None:
            raise RuntimeError("The index is not open.")
        return self._writer
