"""Walking through all deals that answer a question, page by page, the newest first, however many they are."""

from __future__ import annotations

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


def question_of(matching: Matching) -> Question:
    """Return what an editor's list asks the index for."""
    return Question(
        text=matching.words,
        brand=matching.brand,
        category=matching.category,
        state="" if matching.state in ("all", "draft") else matching.state,
        kind="draft" if matching.state == "draft" else "deal",
        for_editors=True,
    )


def page(matching: Matching, *, after: str, now: datetime, size: int) -> tuple[list[DealCard], str]:
    """Return some deals of a list and where the next ones begin, '' at the end. No requests.

    Unavailable while there is no index. A deal may come twice where others come or go meanwhile; none is left out.
    """
    opened = reader.searcher()
    if opened is None:
        raise Unavailable(NOT_READY)
    if after and not (after.isascii() and after.isdigit()):
        raise BadCursor()
    searcher, schema = opened
    asked = _query(matching, searcher, schema, now)
    if after:
        asked = both(
            asked, Query.range_query(schema, "newest", FieldType.Unsigned, 0, min(int(after), NEVER))
        )
    found = searcher.search(asked, size + 1, order_by_field="newest", order=Order.Desc, count=False)
    cards = [card for _, address in found.hits if (card := Stored.of(searcher.doc(address)).card)]
    further = str(int(ULID.from_str(cards[size].id)) >> 64) if len(cards) > size else ""
    return cards[:size], further


def _query(matching: Matching, searcher: Searcher, schema: Schema, now: datetime) -> Query:
    """Return what `finding.find` asks when it finds in the way that the list was found."""
    question, names = question_of(matching), category_names.names()
    exact = query_of(question, searcher, schema, now, how="exact", categories=names, scored=False)
    if matching.how == "exact":
        return exact
    unwritten = not searcher.search(exact, 1, count=False).hits
    how = cast(How, matching.how)
    return query_of(
        question, searcher, schema, now, how=how, categories=names, unwritten=unwritten, scored=False
    )
