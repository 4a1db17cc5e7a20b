"""What a change of an item says to the index: which document it is about, and what that becomes."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Protocol

from dealsite.data.keys import Key
from dealsite.data.table.convert import Item
from dealsite.search import office
from dealsite.search.documents import CHECKPOINT, Stored, StoredDocument, is_few, is_indexed
from dealsite.search.office import OfficeDocument
from dealsite.search.queries import Found
from dealsite.stream.projection import Checkpoint
from dealsite.stream.records import ItemChange

AT_ONCE = 500  # items of a whole table that are looked at together
INDEXED = ("DEAL#", "DRAFT#", "BRAND#")

Failed = list[tuple[Key, str]]


class Part(Protocol[Found]):
    """One part of an index, open to be written."""

    kind: type[Found]

    def look(self, keys: Collection[str]) -> None:
        """Get ready to say what is kept under some keys."""

    def known(self, key: str) -> Found:
        """Return what is kept under a key, committed or not; of what is not known, nothing."""

    def put(self, key: str, stored: Found) -> None:
        """Write a document in place of what is there under its key."""

    def commit(self) -> None:
        """Make everything written so far take effect."""


class Parts:
    """All parts of an index, open to be written; what is written takes effect in their order."""

    def __init__(self, *parts: Part[Any]) -> None:
        self._parts = {part.kind: part for part in parts}

    def apply(self, changes: Iterable[ItemChange]) -> bool:
        """Note items as they are after changes, or gone; False if none says anything here that is new."""
        return self._take([(change.key, change.new, change.sequence) for change in changes])

    def fill(self, items: Iterable[Item], start: Checkpoint, *, commit_every: int) -> Failed:
        """Take all items of a table, and `start`; return the keys of those that cannot be taken, and why."""
        failed: Failed = []
        left, waiting, floor = iter(items), 0, start.floor
        while some := [((item["PK"], item["SK"]), item, floor) for item in islice(left, AT_ONCE)]:
            self._take(some, failed, is_scan=True)
            waiting += len(some)
            if waiting >= commit_every:
                self.commit()
                waiting = 0
        self.commit(start)
        return failed

    def commit(self, checkpoint: Checkpoint | None = None) -> None:
        """Make everything written so far, and the checkpoint if one is given, take effect."""
        if checkpoint is not None:
            part = self._parts[StoredDocument]
            part.look([CHECKPOINT])
            part.put(CHECKPOINT, StoredDocument(kind=CHECKPOINT, checkpoint=checkpoint.to_json()))
        for part in self._parts.values():
            part.commit()

    def _take(
        self,
        changes: Sequence[tuple[Key, Item | None, str]],
        failed: Failed | None = None,
        *,
        is_scan: bool = False,
    ) -> bool:
        told: list[tuple[Key, News, str]] = []
        for key, item, sequence in changes:
            with _noted(key, failed):
                if news := _news_of(key, item, is_scan=is_scan):
                    told.append((key, news, sequence))
        for kind, part in self._parts.items():
            part.look({news.name for _, news, _ in told if news.kind is kind})
        is_new = False
        for key, news, sequence in told:
            with _noted(key, failed):
                part = self._parts[news.kind]
                if stored := news.changed(part.known(news.name), sequence):
                    part.put(news.name, stored)
                    is_new = True
        return is_new


@contextmanager
def _noted(key: Key, failed: Failed | None) -> Iterator[None]:
    """Note what cannot be taken, if anybody notes it: one odd item must not hide all others."""
    try:
        yield
    except Exception as error:
        if failed is None:
            raise
        failed.append((key, repr(error)))


class News(NamedTuple):
    """What an item says: to the document of a name, and what that becomes from how it was, None for nothing new."""

    kind: type[Stored]
    name: str
    changed: Callable[[Any, str], Stored | None]


class Beside(NamedTuple):
    """What a deal's document says of an item beside the deal: under which name, and under which its change."""

    name: str
    change: str
    read: Callable[[Item], Any]


BESIDE = {
    "COUNTS": Beside("likes", "counted", lambda item: int(item.get("likes", 0))),
    "OFFER": Beside("few", "offered", lambda item: is_few(item.get("stock"))),
}


def _news_of(key: Key, item: Item | None, *, is_scan: bool) -> News | None:
    """Return what an item says after a change, or gone; of a scan, only what a new index has to be told."""
    if key[0] == key[1] and key[0].startswith(INDEXED):
        known = item if is_indexed(item) else None
        return None if is_scan and not known else News(StoredDocument, key[0], partial(_itself, known))
    if key[0].startswith("DEAL#") and (beside := BESIDE.get(key[1])):
        said = beside.read(item or {})
        return None if is_scan and not said else News(StoredDocument, key[0], partial(_beside, beside, said))
    if read := office.reader_of(key):
        return News(OfficeDocument, office.document_key(key), partial(_of_office, read, item))
    if bought := office.bought(item):
        return News(OfficeDocument, office.document_key(bought[0]), partial(_bought, bought[1]))
    return None


def _itself(item: Item | None, before: StoredDocument, sequence: str) -> StoredDocument | None:
    if sequence <= before.sequence:
        return None
    stored = StoredDocument.of_item(item) if item else StoredDocument()
    others = {name: getattr(before, name) for one in BESIDE.values() for name in one[:2]}
    return replace(stored, sequence=sequence, **others)


def _beside(beside: Beside, said: Any, before: StoredDocument, sequence: str) -> StoredDocument | None:
    if sequence <= getattr(before, beside.change):
        return None
    return replace(before, **{beside.name: said, beside.change: sequence})


def _of_office(
    read: Callable[[Item], OfficeDocument], item: Item | None, before: OfficeDocument, sequence: str
) -> OfficeDocument | None:
    if sequence <= before.sequence:
        return None
    kept = replace(read(item), lines=before.lines) if item else OfficeDocument()
    return replace(kept, sequence=sequence)


def _bought(lines: dict[str, str], before: OfficeDocument, _: str) -> OfficeDocument | None:
    if lines.items() <= before.lines.items():
        return None
    return replace(before, lines={**before.lines, **lines})
