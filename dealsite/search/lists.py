"""Lists of deals and drafts that the index answers: by words, by what they lack, and how many are in each state.

It may lag by a moment: what needs an editor is checked in the table before it is shown.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import cache
from itertools import count
from typing import Any, cast

from django.utils.translation import gettext_lazy

from dealsite.data.catalogue import lists
from dealsite.data.catalogue.buckets import Page
from dealsite.data.catalogue.cards import ENDING_SOON
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Entry
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.table.errors import BadCursor, Unavailable
from dealsite.data.table.ids import number_of
from dealsite.search import reader, site_index
from dealsite.search.documents import (
    ALT,
    DEAL,
    DRAFT,
    FEW,
    LINK,
    NEVER,
    PICTURE,
    STOCK,
    StoredDocument,
    is_few,
    lacking,
    milliseconds,
)
from dealsite.search.finding import MOST_PAGES, PAGE_SIZE, SearchPage, find, wider_ways
from dealsite.search.queries import Query, Searcher, between, both
from dealsite.search.question import MOST_CHARACTERS, How, Question, query_of
from dealsite.text.writing import number_in

LACKS = {  # what a list of deals can be narrowed down by
    PICTURE: gettext_lazy("Without a picture"),
    ALT: gettext_lazy("Pictures without alt text"),
    LINK: gettext_lazy("Broken links"),
    STOCK: gettext_lazy("Sold out"),
    FEW: gettext_lazy("Low stock"),
}
# Where no words say what fits best; the newest first in all other states.
ORDER_OF = {"ending": "ending", "expired": "ended"}
NOT_READY = gettext_lazy("Search is being set up. Please try again in a moment, or use the lists.")
NOT_KNOWN = gettext_lazy("Search is being set up, so nobody can tell now what is in this list.")


def words_in(text: str) -> str:
    """Return what somebody typed into a search box, cut to the longest question that search takes."""
    return " ".join(text[: MOST_CHARACTERS * 4].replace("\x00", " ").split())[:MOST_CHARACTERS]


def page_number(text: str) -> int:
    """Return the number of a page that an address names, 0 if it is none."""
    number = number_in(text, most=3)
    return number if number and number <= MOST_PAGES else 0


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


def is_found(chosen: DealFilter) -> bool:
    """Tell whether search answers a list: words, what is lacking, and what no index of the table holds.

    The last only once search is ready; until then rows of the table are read.
    """
    return chosen.is_searched or (chosen.is_narrowed and site_index.searcher(StoredDocument) is not None)


def find_deals(
    chosen: DealFilter, *, now: datetime, page: int = 1, size: int = PAGE_SIZE, sort: str = ""
) -> SearchPage:
    """Return one page of the deals or drafts of a list, in one of `ORDERS` or as they fit best. No requests."""
    sort = sort or ("" if chosen.words else ORDER_OF.get(chosen.state, ""))
    return find(question_of(chosen), now=now, page=page, sort=sort, size=size)


def totals(chosen: DealFilter, *, now: datetime, is_sorted: bool = False) -> dict[str, int]:
    """Return by state how many a list holds, whatever its own state; nothing where there is no index to ask.

    As many as `find_deals` finds in each, with one question to the index, and one more for each way in which words
    that find too little are taken. No requests.
    """
    question = replace(question_of(replace(chosen, state="all")), kind="any")

    def ask(searcher: Searcher[StoredDocument]) -> dict[str, int]:
        @cache
        def counted(how: How, *, unwritten: bool = True) -> dict[str, int]:
            query = query_of(question, searcher, now, how=how, unwritten=unwritten, scored=not is_sorted)
            return _by_state(searcher, query, now)

        def total(state: str, number: int) -> int:
            ways = wider_ways(question, number, is_sorted=is_sorted)
            wider = (counted(how, unwritten=not number)[state] for how in ways)
            return next((one for one in wider if one > number), number)

        return {state: total(state, number) for state, number in counted("exact").items()}

    return site_index.answer(StoredDocument, ask, {})


def _by_state(searcher: Searcher[StoredDocument], query: Query, now: datetime) -> dict[str, int]:
    moment = milliseconds(now) + 1
    soon = milliseconds(now + ENDING_SOON) + 1
    of_expiry = {
        "field": "expires_at",
        "ranges": [{"to": moment}, {"from": moment, "to": soon}, {"from": soon}],
    }
    of_start = {"field": "live_at", "ranges": [{"to": moment}, {"from": moment}]}
    answer = searcher.aggregate(
        query,
        {
            "kinds": {
                "terms": {"field": "kind"},
                "aggs": {"start": {"range": of_start, "aggs": {"end": {"range": of_expiry}}}},
            }
        },
    )
    kinds = {bucket["key"]: bucket for bucket in answer["kinds"]["buckets"]}
    found = dict.fromkeys(lists.STATES, 0)
    if DRAFT in kinds:
        found["draft"] = kinds[DRAFT]["doc_count"]
    if DEAL in kinds:
        begun, scheduled = kinds[DEAL]["start"]["buckets"]
        expired, ending, later = (bucket["doc_count"] for bucket in begun["end"]["buckets"])
        found |= {"all": kinds[DEAL]["doc_count"], "scheduled": scheduled["doc_count"], "ending": ending}
        found |= {"live": ending + later, "expired": expired}
    return found


def lacks(entry: Entry) -> list[str]:
    """Return the kinds of things that a deal or draft, as the table has it, lacks or has wrong."""
    found = lacking(entry.card, entry.content.link, entry.link_check if isinstance(entry, Deal) else None)
    return [*found, FEW] if entry.kind == DEAL and is_few(entry.content.stock) else found


def holds(question: Question, entry: Entry, *, now: datetime) -> bool:
    """Tell whether a deal or draft, as the table has it, still is what a question of editors without words found."""
    card, state = entry.card, entry.card.state(now)
    if question.lacks and question.lacks not in lacks(entry):
        return False
    if question.kind in (DEAL, DRAFT) and entry.kind != question.kind:
        return False
    if entry.kind == DRAFT:
        return True
    if question.live_until is not None:
        return state == "scheduled" and card.live_at <= question.live_until
    if question.kind == "either":
        return state != "expired"
    ends_soon = card.expires_at is not None and card.expires_at <= now + ENDING_SOON
    return state not in ("scheduled", "expired") and (ends_soon or question.state != "ending")


def every_found(read: Callable[..., Any], name: str) -> Iterator[Any]:
    """Yield what stands under a name on each page that search finds; Unavailable while there is no index."""
    for number in count(1):
        found = read(page=number)
        if not found.ready:
            raise Unavailable(NOT_KNOWN)
        yield from getattr(found, name)
        if number >= found.pages:
            return


def page(chosen: DealFilter, *, after: str | None = None, now: datetime, size: int) -> Page:
    """Return some deals of a list, for whoever goes through all of it; what search finds begins with the newest.

    Unavailable while there is no index to search. Then a deal may come twice where others come or go meanwhile; none
    is left out. It costs what `cms_list` costs, and nothing where search answers.
    """
    if not chosen.is_searched:
        return lists.cms_list(chosen, now=now, after=after, size=size)
    searcher = site_index.searcher(StoredDocument)
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


def _found(searcher: Searcher[StoredDocument], asked: Query, after: str | None, size: int) -> Page:
    if after:
        further_back = min(int(after), NEVER)
        asked = both(asked, between("newest", 0, further_back))
    while True:
        found = searcher.search(asked, size + 1, sort=("newest", "desc"))
        cards = [stored.card for stored in found.rows if stored.card]
        last = cards[size] if len(cards) > size else None
        further = str(number_of(last.id) >> 64) if last else None
        if not further or further != after:
            return Page(cards[:size], further)
        size *= 2  # all of them stand at one place: read past it, or the next page would be this one again


def _query(question: Question, how: How, searcher: Searcher[StoredDocument], now: datetime) -> Query:
    """Return what `finding.find` asks when it finds in the way that the list was found."""
    exact = query_of(question, searcher, now, how="exact", scored=False)
    if how == "exact":
        return exact
    unwritten = not searcher.search(exact, 1).rows
    return query_of(question, searcher, now, how=how, unwritten=unwritten, scored=False)
