"""Finding deals: one page of those that answer a question, what they could be narrowed to, and deals like another."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from django.utils.safestring import SafeString
from tantivy import DocAddress, Order, Query, Searcher

from dealsite.data import keys
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.display_names import category_names
from dealsite.search import reader
from dealsite.search.documents import BRAND_SEPARATOR, DEAL, SCHEMA, StoredDocument, stored_of
from dealsite.search.question import (
    How,
    Question,
    any_of,
    both,
    filters,
    live,
    live_first,
    over,
    query_of,
    term,
)
from dealsite.search.words import snippet, stem, words_of

PAGE_SIZE = 25
MOST_PAGES = 200  # further back nobody looks, and what one would have to count grows with it
MOST_BRANDS = 30
ENOUGH = 5  # exact answers; with fewer, the words may be misspelt
RELATED = 4
ORDERS: dict[str, tuple[str, Order]] = {
    "newest": ("newest", Order.Desc),
    "price": ("by_price", Order.Asc),
    "discount": ("by_discount", Order.Desc),
    "soonest": ("newest", Order.Asc),
    "ending": ("expires_at", Order.Asc),
    "ended": ("expires_at", Order.Desc),
}
logger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class SearchHit:
    """A deal or draft that was found, and the words of its description, marked, where it was found by them."""

    card: DealCard
    snippet: SafeString = SafeString("")  # noqa: RUF009 - never changed
    kind: str = DEAL


@dataclass(frozen=True)
class SearchPage:
    """One page of answers. `ready` is False where there is no index, or nothing in it yet.

    `hits` can be had, `over` have expired or are sold out; they come after all that can be had. To editors
    all are `hits`. `how` says whether the words were taken as they are (exact), with typos forgiven (close), or only
    half of them (some). `brands` are (slug, name, number) and `categories` slug -> number to narrow it down to.
    """

    ready: bool = True
    hits: list[SearchHit] = field(default_factory=list)
    over: list[SearchHit] = field(default_factory=list)
    total: int = 0
    page: int = 1
    pages: int = 0
    how: How = "exact"
    brands: list[tuple[str, str, int]] = field(default_factory=list)
    categories: dict[str, int] = field(default_factory=dict)

    @property
    def cards(self) -> list[DealCard]:
        """All cards of the page, in order."""
        return [hit.card for hit in (*self.hits, *self.over)]

    @property
    def over_cards(self) -> list[DealCard]:
        """Those that can no longer be had."""
        return [hit.card for hit in self.over]


def find(
    question: Question,
    *,
    now: datetime,
    sort: str = "",
    page: int = 1,
    size: int = PAGE_SIZE,
    narrowing: bool = False,
) -> SearchPage:
    """Return one page of what answers a question, by how well it fits or by `sort`, one of ORDERS.

    With `narrowing` also brands and categories to narrow it down to. Asks nothing of the table but, once
    a minute, the categories' names.
    """
    searcher = reader.searcher()
    if searcher is None:
        return SearchPage(ready=False)
    if sort not in ORDERS:
        sort = "" if question.words else "newest"  # where nothing was asked for, nothing fits better
    asking = _SearchRun(searcher, question, now, sort)
    try:
        with reader.unreadable_if_it_fails():
            return _find(asking, page, size, narrowing)
    except reader.Unreadable as error:
        logger.warning("search_failed", reason=str(error))
        return SearchPage(ready=False)


def related(card: DealCard, *, now: datetime, size: int = RELATED) -> list[DealCard]:
    """Return deals that can be had and are most like another: by its title's words, its brand and its category."""
    searcher = reader.searcher()
    if searcher is None:
        return []
    likes = [
        *(term("title", stem(word)) for word in dict.fromkeys(words_of(card.title)[:20])),
        Query.boost_query(Query.term_query(SCHEMA, "brand_slug", card.brand), 2.0),
        Query.boost_query(Query.term_query(SCHEMA, "category", card.category), 4.0),
    ]
    musts = [any_of(likes), *filters(Question(), now), live(now)]
    try:
        with reader.unreadable_if_it_fails():
            found = searcher.search(both(*musts), limit=size + 1, count=False)
            cards = [StoredDocument.of(searcher.doc(address)).card for _, address in found.hits]
    except reader.Unreadable as error:
        logger.warning("search_failed", reason=str(error))
        return []
    return [other for other in cards if other and other.id != card.id][:size]


def known_of(ids: Iterable[str]) -> dict[str, StoredDocument]:
    """Return what the index has of some deals and drafts, by their ids. Asks nothing of the table."""
    searcher = reader.searcher()
    if searcher is None:
        return {}
    found = {}
    with suppress(reader.Unreadable), reader.unreadable_if_it_fails():
        for id_ in ids:
            stored = stored_of(searcher, keys.deal(id_)[0]) or stored_of(searcher, keys.draft(id_)[0])
            if stored and stored.card:
                found[id_] = stored
    return found


@dataclass(frozen=True)
class _SearchRun:
    """One search: where, for what, when, and in which order."""

    searcher: Searcher
    question: Question
    now: datetime
    sort: str

    def query(self, how: How, *without: str, unwritten: bool = True) -> Query:
        question, scored = self.question.without(*without), not self.sort
        return query_of(question, self.searcher, self.now, how=how, unwritten=unwritten, scored=scored)

    def page(self, query: Query, offset: int, size: int) -> tuple[list[DocAddress], int]:
        """Return the addresses of a page, those that can be had first, and how many there are on all pages."""
        asked = self.question
        if asked.state or asked.for_editors:
            return self._sorted(query, offset, size)
        if not self.sort:
            return self._sorted(live_first(query, self.now), offset, size)
        can_be_had, number = self._sorted(both(query, live(self.now)), offset, size)
        left = max(offset - number, 0), size - len(can_be_had)
        gone, further = self._sorted(both(query, over(self.now)), *left)
        return [*can_be_had, *gone], number + further

    def _sorted(self, query: Query, offset: int, size: int) -> tuple[list[DocAddress], int]:
        size = max(size, 1)
        if self.sort:
            by, order = ORDERS[self.sort]
            result = self.searcher.search(query, size, offset=offset, order_by_field=by, order=order)
        else:
            result = self.searcher.search(query, size, offset=offset)
        return [address for _, address in result.hits], result.count  # type: ignore[attr-defined]


def _find(asking: _SearchRun, page: int, size: int, narrowing: bool) -> SearchPage:
    searcher, question = asking.searcher, asking.question
    of_deals = Query.term_query(SCHEMA, "kind", DEAL)
    if not question.for_editors and not searcher.search(of_deals, 1, count=False).hits:
        return SearchPage(ready=False)
    how, query, addresses, number = _as_asked(asking, (page - 1) * size, size)
    found = SearchPage(total=number, page=page, pages=min(-(-number // size), MOST_PAGES), how=how)
    for address in addresses:
        hit = _hit(searcher, address, question)
        is_over = not question.for_editors and hit.card.state(asking.now) in ("expired", "sold_out")
        (found.over if is_over else found.hits).append(hit)
    if narrowing:
        _narrow(found, asking, how, query)
    return found


def _as_asked(asking: _SearchRun, offset: int, size: int) -> tuple[How, Query, list[DocAddress], int]:
    """Return the strictest query that finds something, and its page.

    Where the words as they are find nothing, rare ones among them may have typos; where they find next to
    nothing, those may that a few deals hold, perhaps misspelt themselves. Of several words, at last half will do.
    """
    query = asking.query("exact")
    addresses, number = asking.page(query, offset, size)
    enough = 1 if asking.sort else ENOUGH
    if number >= enough or not asking.question.words:
        return "exact", query, addresses, number
    hows: tuple[How, ...] = ("close", "some") if len(asking.question.units) > 1 and not number else ("close",)
    for how in hows:
        wider = asking.query(how, unwritten=not number)
        others, further = asking.page(wider, offset, size)
        if further > number:
            return how, wider, others, further
    return "exact", query, addresses, number


def _hit(searcher: Searcher, address: DocAddress, question: Question) -> SearchHit:
    stored = StoredDocument.of(searcher.doc(address))
    assert stored.card is not None  # noqa: S101 - only deals and drafts are found
    return SearchHit(stored.card, snippet(stored.words, stored.card, question.words), stored.kind)


def _narrow(found: SearchPage, asking: _SearchRun, how: How, query: Query) -> None:
    """Count the brands and categories that an answer could be narrowed down to; each without its own filter."""
    question, searcher = asking.question, asking.searcher
    counts = {"brand_label": MOST_BRANDS, "category": len(category_names.names()) + 1}
    if question.brand or question.category:
        brands = _counts(searcher, asking.query(how, "brand"), {"brand_label": MOST_BRANDS})
        counted = brands | _counts(searcher, asking.query(how, "category"), {"category": counts["category"]})
    else:
        counted = _counts(searcher, query, counts)
    found.categories.update(counted["category"])
    for label, number in counted["brand_label"].items():
        slug, _, name = label.partition(BRAND_SEPARATOR)
        found.brands.append((slug, name, number))
    found.brands.sort(key=lambda brand: brand[1].casefold())


def _counts(searcher: Searcher, query: Query, most: dict[str, int]) -> dict[str, dict[str, int]]:
    """Return, of some fields, the most frequent values with how often they are."""
    wanted = {name: {"terms": {"field": name, "size": size}} for name, size in most.items()}
    answer = searcher.aggregate(query, wanted)
    return {name: {bucket["key"]: bucket["doc_count"] for bucket in answer[name]["buckets"]} for name in most}
