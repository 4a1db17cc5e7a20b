"""Walking through all deals that answer a question, page by page, the newest first, however many they are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import cast

from django.utils.translation import gettext_lazy
from tantivy import FieldType, Order, Query, Schema, Searcher
from ulid import ULID

from dealsite.data import category_names
from dealsite.data.bulk import Matching
from dealsite.data.cards import DealCard
from dealsite.data.errors import BadCursor, Unavailable
from dealsite.search import reader
from dealsite.search.documents import NEVER, Stored
from dealsite.search.question import How, Question, both, query_of

NOT_READY = gettext_lazy("Search is being set up, so what it finds cannot be changed now.")
NOT_KNOWN = gettext_lazy("Search is being set up, so nobody can tell now what is in this list.")


def question_of(matching: Matching) -> Question:
    """Return what an editor's list asks the index for."""
    return Question(
        text=matching.words,
        brand=matching.brand,
        category=matching.category,
        state="" if matching.state in ("all", "draft") else matching.state,
        kind="draft" if matching.state == "draft" else "deal",
        for_editors=True,
        lacks=matching.lacks,
    )


def page(matching: Matching, *, after: str, now: datetime, size: int) -> tuple[list[DealCard], str]:
    """Return some deals of a list and where the next ones begin, '' at the end. No requests.

    Unavailable while there is no index. A deal may come twice where others come or go meanwhile; none is left out.
    """
    found = _page(question_of(matching), cast(How, matching.how), after=after, now=now, size=size)
    if found is None:
        raise Unavailable(NOT_READY)
    return [one.card for one in found[0] if one.card], found[1]


def walk(question: Question, *, now: datetime, size: int, how: How = "exact") -> Iterator[Stored]:
    """Yield all that answers a question, each once, the newest first, reading `size` at a time. No requests.

    Unavailable while there is no index.
    """
    seen: set[str] = set()
    after = ""
    while True:
        found = _page(question, how, after=after, now=now, size=size)
        if found is None:
            raise Unavailable(NOT_KNOWN)
        for one in found[0]:
            if one.card and one.card.id not in seen:
                seen.add(one.card.id)
                yield one
        if not (after := found[1]):
            return


def _page(
    question: Question, how: How, *, after: str, now: datetime, size: int
) -> tuple[list[Stored], str] | None:
    """Return some answers and where the next ones begin; None while there is no index."""
    opened = reader.searcher()
    if opened is None:
        return None
    if after and not (after.isascii() and after.isdigit()):
        raise BadCursor()
    searcher, schema = opened
    asked = _query(question, how, searcher, schema, now)
    if after:
        asked = both(
            asked, Query.range_query(schema, "newest", FieldType.Unsigned, 0, min(int(after), NEVER))
        )
    while True:
        found = searcher.search(asked, size + 1, order_by_field="newest", order=Order.Desc, count=False)
        stored = [one for _, address in found.hits if (one := Stored.of(searcher.doc(address))).card]
        last = stored[size].card if len(stored) > size else None
        further = str(int(ULID.from_str(last.id)) >> 64) if last else ""
        if not further or further != after:
            return stored[:size], further
        size *= 2  # all of them stand at one place: read past it, or the next page would be this one again


def _query(question: Question, how: How, searcher: Searcher, schema: Schema, now: datetime) -> Query:
    """Return what `finding.find` asks when it finds in the way that the list was found."""
    names = category_names.names()
    exact = query_of(question, searcher, schema, now, how="exact", categories=names, scored=False)
    if how == "exact":
        return exact
    unwritten = not searcher.search(exact, 1, count=False).hits
    return query_of(
        question, searcher, schema, now, how=how, categories=names, unwritten=unwritten, scored=False
    )
