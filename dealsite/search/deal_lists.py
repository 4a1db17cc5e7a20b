"""Lists of deals by their filter, to go through all of one, however long: from the table, or from search."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from django.utils.translation import gettext_lazy
from tantivy import FieldType, Order, Query, Searcher
from ulid import ULID

from dealsite.data.catalogue import deal_lists
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.deal_lists import DealFilter
from dealsite.data.catalogue.lists import Page
from dealsite.data.table.errors import BadCursor, Unavailable
from dealsite.data.table.paging import to_end
from dealsite.search import reader
from dealsite.search.documents import NEVER, SCHEMA, StoredDocument
from dealsite.search.finding import find
from dealsite.search.question import How, Question, both, query_of

NOT_KNOWN = gettext_lazy("Search is being set up, so nobody can tell now what is in this list.")


@dataclass(frozen=True, slots=True)
class _Page:
    stored: list[StoredDocument]
    after: str | None


def question_of(chosen: DealFilter) -> Question:
    """Return what an editor's list asks the index for."""
    return Question(
        text=chosen.words,
        brand=chosen.brand,
        category=chosen.category,
        state="" if chosen.state in ("all", "draft") else chosen.state,
        kind="draft" if chosen.state == "draft" else "deal",
        for_editors=True,
        lacks=chosen.lacks,
    )


def page(chosen: DealFilter, *, after: str | None = None, now: datetime, size: int) -> Page:
    """Return some deals of a list, for whoever goes through all of it; what search finds begins with the newest.

    Unavailable while there is no index to search. Then a deal may come twice where others come or go meanwhile; none
    is left out. It costs what `cms_list` costs, and nothing where search answers.
    """
    if not chosen.is_searched:
        return deal_lists.cms_list(chosen, now=now, after=after, size=size)
    found = _page(question_of(chosen), cast(How, chosen.how), after=after, now=now, size=size)
    return Page([one.card for one in found.stored if one.card], found.after)


def whole(chosen: DealFilter, *, now: datetime, size: int) -> Iterator[DealCard]:
    """Yield all deals of a list, reading `size` at a time; what search finds each once, in the way it finds it now."""
    if chosen.is_searched:
        question = question_of(chosen)
        how = find(question, now=now, size=1).how
        yield from (one.card for one in scan(question, how=how, now=now, size=size) if one.card)
        return
    for some in to_end(lambda after: page(chosen, after=after, now=now, size=size)):
        yield from some.cards


def scan(question: Question, *, now: datetime, size: int, how: How = "exact") -> Iterator[StoredDocument]:
    """Yield all that answers a question, each once, the newest first, reading `size` at a time. No requests.

    Unavailable while there is no index.
    """
    seen: set[str] = set()
    for some in to_end(lambda after: _page(question, how, after=after, now=now, size=size)):
        for one in some.stored:
            if one.card and one.card.id not in seen:
                seen.add(one.card.id)
                yield one


def _page(question: Question, how: How, *, after: str | None, now: datetime, size: int) -> _Page:
    """Return some answers and where the next ones begin; Unavailable while there is no index."""
    searcher = reader.searcher()
    if searcher is None:
        raise Unavailable(NOT_KNOWN)
    if after and not (after.isascii() and after.isdigit()):
        raise BadCursor()
    try:
        with reader.unreadable_if_it_fails():
            return _found(searcher, _query(question, how, searcher, now), after, size)
    except reader.Unreadable as error:
        raise Unavailable(NOT_KNOWN) from error


def _found(searcher: Searcher, asked: Query, after: str | None, size: int) -> _Page:
    if after:
        further_back = min(int(after), NEVER)
        asked = both(asked, Query.range_query(SCHEMA, "newest", FieldType.Unsigned, 0, further_back))
    while True:
        found = searcher.search(asked, size + 1, order_by_field="newest", order=Order.Desc, count=False)
        stored = [one for _, address in found.hits if (one := StoredDocument.of(searcher.doc(address))).card]
        last = stored[size].card if len(stored) > size else None
        further = str(int(ULID.from_str(last.id)) >> 64) if last else None
        if not further or further != after:
            return _Page(stored[:size], further)
        size *= 2  # all of them stand at one place: read past it, or the next page would be this one again


def _query(question: Question, how: How, searcher: Searcher, now: datetime) -> Query:
    """Return what `finding.find` asks when it finds in the way that the list was found."""
    exact = query_of(question, searcher, now, how="exact", scored=False)
    if how == "exact":
        return exact
    unwritten = not searcher.search(exact, 1, count=False).hits
    return query_of(question, searcher, now, how=how, unwritten=unwritten, scored=False)
