"""Lists of deals by their filter, to go through all of one, however long: from the table, or from search."""

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import count
from typing import Any, cast

from django.utils.translation import gettext_lazy
from tantivy import FieldType, Order, Query, Searcher
from ulid import ULID

from dealsite.data.catalogue import deal_lists
from dealsite.data.catalogue.deal_lists import DealFilter
from dealsite.data.catalogue.lists import Page
from dealsite.data.table.errors import BadCursor, Unavailable
from dealsite.search import reader
from dealsite.search.documents import NEVER, SCHEMA, StoredDocument
from dealsite.search.question import How, Question, both, query_of

NOT_KNOWN = gettext_lazy("Search is being set up, so nobody can tell now what is in this list.")


def question_of(chosen: DealFilter) -> Question:
    """Return what an editor's list asks the index for."""
    return Question(
        text=chosen.words,
        brands=(chosen.brand,) if chosen.brand else (),
        categories=(chosen.category,) if chosen.category else (),
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
    searcher = reader.searcher()
    if searcher is None:
        raise Unavailable(NOT_KNOWN)
    if after and not (after.isascii() and after.isdigit()):
        raise BadCursor()
    try:
        with reader.unreadable_if_it_fails():
            asked = _query(question_of(chosen), cast(How, chosen.how), searcher, now)
            return _found(searcher, asked, after, size)
    except reader.Unreadable as error:
        raise Unavailable(NOT_KNOWN) from error


def every_found(read: Callable[..., Any], name: str) -> Iterator[Any]:
    """Yield what stands under a name on each page that search finds; Unavailable while there is no index."""
    for number in count(1):
        found = read(page=number)
        if not found.ready:
            raise Unavailable(NOT_KNOWN)
        yield from getattr(found, name)
        if number >= found.pages:
            return


def _found(searcher: Searcher, asked: Query, after: str | None, size: int) -> Page:
    if after:
        further_back = min(int(after), NEVER)
        asked = both(asked, Query.range_query(SCHEMA, "newest", FieldType.Unsigned, 0, further_back))
    while True:
        found = searcher.search(asked, size + 1, order_by_field="newest", order=Order.Desc, count=False)
        cards = [card for _, address in found.hits if (card := StoredDocument.of(searcher.doc(address)).card)]
        last = cards[size] if len(cards) > size else None
        further = str(int(ULID.from_str(last.id)) >> 64) if last else None
        if not further or further != after:
            return Page(cards[:size], further)
        size *= 2  # all of them stand at one place: read past it, or the next page would be this one again


def _query(question: Question, how: How, searcher: Searcher, now: datetime) -> Query:
    """Return what `finding.find` asks when it finds in the way that the list was found."""
    exact = query_of(question, searcher, now, how="exact", scored=False)
    if how == "exact":
        return exact
    unwritten = not searcher.search(exact, 1, count=False).hits
    return query_of(question, searcher, now, how=how, unwritten=unwritten, scored=False)
