"""The index as a projection of the table: what the stream's consumer feeds, and a scan makes anew.

It has two parts: what shoppers and editors find, and beside it what the back office finds. What is written, and where
the stream was read to, take effect together, at the commit of the first part, after that of the other.
"""

import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, NamedTuple

from dealsite.data.keys import Key
from dealsite.data.table.convert import Item
from dealsite.search import office, reader
from dealsite.search.documents import (
    CHECKPOINT,
    Found,
    StoredDocument,
    is_few,
    is_indexed,
    open_index,
    stored_of,
)
from dealsite.search.office import OfficeDocument
from dealsite.search.reader import Unreadable, unreadable_if_it_fails
from dealsite.stream.projection import Checkpoint, Damaged
from dealsite.stream.records import ItemChange

MEMORY = 32_000_000  # bytes of a part that wait to be written
BUILT_AT_ONCE = 20_000  # items between two commits of a new index


class Writer(Generic[Found]):
    """The only one who writes to a part's folder; ValueError where another process does already."""

    def __init__(self, folder: Path, kind: type[Found]) -> None:
        self.folder, self._kind = folder, kind
        exists = (folder / reader.META).is_file()
        folder.mkdir(mode=0o700, exist_ok=True)
        self._index = open_index(str(folder), make=None if exists else kind.schema)
        self._writer = self._index.writer(heap_size=MEMORY, num_threads=1)
        self._unseen: dict[str, Found] = {}  # what is written and not yet committed
        self._whole: dict[str, tuple[int, int]] = {}  # files that were found whole

    def known(self, key: str) -> Found:
        """Return what is kept under a key, committed or not; of what is not known, nothing."""
        return self._unseen.get(key) or stored_of(self._index.searcher(), key, self._kind) or self._kind()

    def put(self, key: str, stored: Found) -> None:
        """Write a document in place of what is there under its key."""
        self._writer.delete_documents_by_term("key", key)
        self._writer.add_document(stored.document(key))
        self._unseen[key] = stored

    def commit(self) -> None:
        """Make everything written so far take effect at once."""
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
            found = stored_of(open_index(str(generation)).searcher(), CHECKPOINT, StoredDocument)
    except Unreadable:
        return None
    return found.checkpoint if found else None


class Generation:
    """Both parts of a generation of the index, open to be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._deals = Writer(folder, StoredDocument)
        try:
            self._office = Writer(folder / reader.OFFICE, OfficeDocument)
        except BaseException:
            self._deals.close()
            raise
        self._parts = (self._office, self._deals)

    def take(self, key: Key, item: Item | None, sequence: str) -> bool:
        """Note an item as it is after a change, or gone; False if it says nothing here, or nothing new."""
        if is_of_index(key):
            before = self._deals.known(key[0])
            if sequence > before.sequence:
                stored = StoredDocument.of_item(item) if item and is_indexed(item) else StoredDocument()
                others = {name: getattr(before, name) for one in BESIDE.values() for name in one[:2]}
                self._deals.put(key[0], replace(stored, sequence=sequence, **others))
                return True
        elif beside := beside_deal(key):
            before = self._deals.known(key[0])
            if sequence > getattr(before, beside.change):
                says = {beside.name: beside.read(item or {}), beside.change: sequence}
                self._deals.put(key[0], replace(before, **says))
                return True
        elif read := office.reader_of(key):
            name = office.document_key(key)
            known = self._office.known(name)
            if sequence > known.sequence:
                kept = replace(read(item), lines=known.lines) if item else OfficeDocument()
                self._office.put(name, replace(kept, sequence=sequence))
                return True
        elif bought := office.bought(item):
            name = office.document_key(bought[0])
            known = self._office.known(name)
            if not bought[1].items() <= known.lines.items():
                self._office.put(name, replace(known, lines={**known.lines, **bought[1]}))
                return True
        return False

    def commit(self, checkpoint: str | None = None) -> None:
        """Make everything written so far, and the checkpoint if one is given, take effect."""
        if checkpoint is not None:
            self._deals.put(CHECKPOINT, StoredDocument(kind=CHECKPOINT, checkpoint=checkpoint))
        for part in self._parts:
            part.commit()

    def check(self) -> None:
        """Raise Broken where files of the generation were deleted or damaged."""
        for part in self._parts:
            part.check()

    def close(self) -> None:
        """Let go of the folder; what is not committed is lost."""
        try:
            self._office.close()
        finally:
            self._deals.close()


INDEXED = ("DEAL#", "DRAFT#", "BRAND#")


class Beside(NamedTuple):
    """What a deal's document says of an item beside the deal: under which name, and under which its change."""

    name: str
    change: str
    read: Callable[[Item], Any]


BESIDE = {
    "COUNTS": Beside("likes", "counted", lambda item: int(item.get("likes", 0))),
    "OFFER": Beside("few", "offered", lambda item: is_few(item.get("stock"))),
}


class SearchIndex:
    """Deals, drafts and brands by their words, orders and customers by what is known of them, in a folder of this
    machine: see `dealsite.stream.projection`.
    """

    name = "search"

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
        writer = self._opened()
        taken = [writer.take(change.key, change.new, change.sequence) for change in changes]
        return any(taken)

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
        writer = Generation(self._built)
        try:
            for number, item in enumerate(items, 1):
                key = (item["PK"], item["SK"])
                try:
                    if says_something(key, item):
                        writer.take(key, item, start.floor)
                except Exception as error:  # noqa: BLE001 - one odd item must not hide all others
                    lacking.append((key, repr(error)))
                if number % BUILT_AT_ONCE == 0:
                    writer.commit()
            writer.commit(start.to_json())
        finally:
            writer.close()
        return lacking

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


def is_of_index(key: Key) -> bool:
    """Tell whether a key is a deal's, draft's or brand's own, not that of something beside it."""
    return key[0] == key[1] and key[0].startswith(INDEXED)


def beside_deal(key: Key) -> Beside | None:
    """Return what a deal's document says of an item beside the deal, None for any other key."""
    return BESIDE.get(key[1]) if key[0].startswith("DEAL#") else None


def says_something(key: Key, item: Item) -> bool:
    """Tell whether a new index would be another one without an item."""
    if is_of_index(key):
        return is_indexed(item)
    beside = beside_deal(key)
    return beside is None or bool(beside.read(item))
