"""What the index knows of one deal or draft: to tell why search does not find it."""

from __future__ import annotations

from dataclasses import dataclass

import tantivy

from dealsite.data.catalogue.cards import DealCard
from dealsite.search import reader
from dealsite.search.documents import StoredDocument


@dataclass(frozen=True, slots=True)
class Availability:
    """`is_ready`: there is an index; `card`: what it shows of the thing, None if it does not have it."""

    is_ready: bool
    card: DealCard | None = None


def known(kind: str, thing_id: str) -> Availability:
    """Return what the index knows of a deal or draft. No request."""
    opened = reader.searcher()
    if opened is None:
        return Availability(False)
    searcher, schema = opened
    key = f"{kind.upper()}#{thing_id}"
    hits = searcher.search(tantivy.Query.term_query(schema, "key", key), limit=1, count=False).hits
    return Availability(True, StoredDocument.of(searcher.doc(hits[0][1])).card if hits else None)
