"""Finding deals: a page of those that answer a question, what narrows them, and deals like one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from django.utils.safestring import SafeString

from dealsite.data import keys
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.display_names import category_names
from dealsite.search import site_index
from dealsite.search.documents import (
    BRAND_SEPARATOR,
    DEAL,
    SECOND_BITS,
    StoredDocument,
    closest,
    is_near,
    is_said,
    snippet,
    stem,
    words_of,
)
from dealsite.search.queries import Hits, Query, Searcher, Sort, any_of, both, term
from dealsite.search.question import How, Question, filters, live, over, query_of

PAGE_SIZE = 25
MOST_PAGES = 200  # further back nobody looks, and what one would have to count grows with it
MOST_BRANDS = 30
ENOUGH = 5  # exact answers; with fewer, the words may be misspelt
NEAR = 12
RELATED = 6
NEAR_LOOKED_AT = 30  # of those that have most of the words of a title
REDUCTIONS = (10, 20, 30, 50)  # percent
ORDERS: dict[str, Sort] = {
    "newest": ("newest", "desc"),
    "price": ("by_price", "asc"),
    "discount": ("by_discount", "desc"),
    "likes": ("by_likes", "desc"),
    "changed": ("by_change", "desc"),
    "soonest": ("newest", "asc"),
    "ending": ("by_end", "asc"),
    "ended": ("by_end", "desc"),
}


@dataclass(frozen=True)
class SearchHit:
    """A deal or draft that was found, and the words of its description, marked, where it was found by them."""

    card: DealCard
    snippet: SafeString = SafeString("")  # noqa: RUF009 - never changed
    kind: str = DEAL


@dataclass(frozen=True)
class SearchPage:
    """One page of answers. `ready` is False where there is no index, or nothing in it yet.

    `hits` can be had, `total` of them on all pages; `over` have expired or are sold out, `total_over`, and come after
    these. `near` can be had and are only like what was asked for: `left_out` are words that they lack, `spelled` is the
    text as they were found by, where that has other words, and `spelled_total` how many that text finds.

    To editors all are `hits`; `how` says whether the words were taken as they are (exact), with typos forgiven (close),
    or only half of them (some).

    `sold`, `categories`, `brands` (slug -> (name, number)) and `reductions` (least percent -> number) say to how many
    of the hits a filter would narrow them down.
    """

    ready: bool = True
    hits: list[SearchHit] = field(default_factory=list)
    near: list[SearchHit] = field(default_factory=list)
    over: list[SearchHit] = field(default_factory=list)
    total: int = 0
    total_over: int = 0
    page: int = 1
    pages: int = 0
    how: How = "exact"
    left_out: list[str] = field(default_factory=list)
    spelled: str = ""
    spelled_total: int = 0
    sold: dict[str, int] = field(default_factory=dict)
    categories: dict[str, int] = field(default_factory=dict)
    brands: dict[str, tuple[str, int]] = field(default_factory=dict)
    reductions: dict[int, int] = field(default_factory=dict)

    @property
    def cards(self) -> list[DealCard]:
        """All cards of the page, in order."""
        return [hit.card for hit in (*self.hits, *self.near, *self.over)]

    @property
    def over_cards(self) -> list[DealCard]:
        """Those that can no longer be had."""
        return [hit.card for hit in self.over]

    @property
    def number(self) -> int:
        """How many deals there are on all pages."""
        return self.total + len(self.near) + self.total_over


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

    With `narrowing` also what it could be narrowed down to. Asks nothing of the table but, once
    a minute, the categories' names.
    """
    if sort not in ORDERS:
        sort = "" if question.words else "newest"  # where nothing was asked for, nothing fits better

    def ask(searcher: Searcher[StoredDocument]) -> SearchPage:
        return _find(_SearchRun(searcher, question, now, sort), page, size, narrowing)

    return site_index.answer(StoredDocument, ask, SearchPage(ready=False))


def related(
    card: DealCard, *, now: datetime, size: int = RELATED, without: Sequence[DealCard] = ()
) -> list[DealCard]:
    """Return deals that can be had and are most like another: by its title's words, its brand and its category.

    `without` are shown already."""
    own = [*_words_in_title(card.title), term("brand_slug", card.brand, 2.0)]
    of_category = term("category", card.category, 4.0)
    known, musts = {card.id, *(other.id for other in without)}, [*filters(Question(), now), live(now)]
    found = _most_like([both(any_of(own), of_category)], musts, size + len(known))
    if len(found) < size + len(known):  # all of the category are looked at, too, and others like it
        found = _most_like([*own, of_category], musts, size + len(known))
    return [other for other in found if other.id not in known][:size]


def near_titles(title: str, brand: str, *, now: datetime) -> list[str]:
    """Return the ids of deals that are not over, and of drafts, whose titles are near this one, the nearest first.

    They are of the brand with a slug; where none is given, of a brand that the title names. No requests.
    """
    question = Question(kind="either", brands=(brand,) if brand else (), for_editors=True)
    cards = _most_like(_words_in_title(title), filters(question, now), NEAR_LOOKED_AT)
    if not brand:
        words = {*words_of(title)}
        cards = [card for card in cards if card.brand_name and words.issuperset(words_of(card.brand_name))]
    return [card.id for card in cards if is_near(title, card.title, card.brand_name)]


def known_of(ids: Iterable[str]) -> dict[str, StoredDocument]:
    """Return what the index has of some deals and drafts, by their ids. Asks nothing of the table."""

    def ask(searcher: Searcher[StoredDocument]) -> dict[str, StoredDocument]:
        named = {key[0]: id_ for id_ in ids for key in (keys.draft(id_), keys.deal(id_))}
        found = searcher.known(named)
        return {id_: found[key] for key, id_ in named.items() if key in found and found[key].card}

    return site_index.answer(StoredDocument, ask, {})


def _words_in_title(title: str) -> list[Query]:
    """A query for each of the first words of a title, wherever a title has it."""
    return [term("title", stem(word)) for word in dict.fromkeys(words_of(title)[:20])]


def _most_like(likes: Iterable[Query], musts: Iterable[Query], size: int) -> list[DealCard]:
    """Return those that answer most of some queries, and all of others; none where there is no index to ask."""

    def ask(searcher: Searcher[StoredDocument]) -> list[DealCard]:
        found = searcher.search(both(any_of(likes), *musts), size).rows
        return [stored.card for stored in found if stored.card]

    return site_index.answer(StoredDocument, ask, [])


@dataclass(frozen=True)
class _SearchRun:
    """One search: where, for what, when, and in which order."""

    searcher: Searcher[StoredDocument]
    question: Question
    now: datetime
    sort: str

    def query(self, how: How, *without: str, unwritten: bool = True) -> Query:
        question, scored = self.question.without(*without), not self.sort
        return query_of(question, self.searcher, self.now, how=how, unwritten=unwritten, scored=scored)

    def live(self, query: Query) -> Query:
        return both(query, live(self.now))

    def page(self, query: Query, offset: int, size: int) -> Hits[StoredDocument]:
        """Return what is on a page, and how many there are on all pages."""
        return self.searcher.search(query, size, offset=offset, sort=ORDERS.get(self.sort), count=True)


def _find(asking: _SearchRun, page: int, size: int, narrowing: bool) -> SearchPage:
    searcher, question, offset = asking.searcher, asking.question, (page - 1) * size
    if question.for_editors:
        how, (rows, number) = _as_asked(asking, offset, size)
        hits = _hits(asking, rows)
        return SearchPage(hits=hits, total=number, page=page, pages=_pages(number, size), how=how)
    if not searcher.search(term("kind", DEAL), 1).rows:
        return SearchPage(ready=False)
    exact = asking.query("exact")
    can_be_had, total = asking.page(asking.live(exact), offset, size)
    left = 0 if question.state == "live" else size - len(can_be_had)
    gone, total_over = asking.page(both(exact, over(asking.now)), max(offset - total, 0), left)
    found = SearchPage(
        hits=_hits(asking, can_be_had),
        over=_hits(asking, gone),
        total=total,
        total_over=total_over,
        page=page,
        pages=_pages(total if question.state == "live" else total + total_over, size),
    )
    if page == 1 and total < ENOUGH and question.words:
        found = _with_near(found, replace(asking, sort=""), exact)
    if narrowing:
        _count(found, asking, exact)
    return found


def _pages(number: int, size: int) -> int:
    return min(-(-number // size), MOST_PAGES)


def _as_asked(asking: _SearchRun, offset: int, size: int) -> tuple[How, Hits[StoredDocument]]:
    """Return the strictest way in which editors find something, and its page."""
    exact = asking.page(asking.query("exact"), offset, size)
    for how in wider_ways(asking.question, exact.total, is_sorted=bool(asking.sort)):
        wider = asking.page(asking.query(how, unwritten=not exact.total), offset, size)
        if wider.total > exact.total:
            return how, wider
    return "exact", exact


def wider_ways(question: Question, number: int, *, is_sorted: bool) -> tuple[How, ...]:
    """Return how else editors' words are taken, the strictest way first, where as they are they find a number of deals.

    Where they find nothing, rare ones among them may have typos; where they find next to nothing, those may that a
    few deals hold, perhaps misspelt themselves. Of several words, at last half will do.
    """
    if number >= (1 if is_sorted else ENOUGH) or not question.words:
        return ()
    return ("close", "some") if len(question.units) > 1 and not number else ("close",)


def _with_near(found: SearchPage, asking: _SearchRun, exact: Query) -> SearchPage:
    """Return the page with those near it: typos forgiven, else without the rarest word that can be left out.

    Of four words and more, up to half may be left out.
    """
    units = [*dict.fromkeys(asking.question.units)]

    def near(left_out: Sequence[str]) -> tuple[_SearchRun, list[StoredDocument]]:
        kept = " ".join(unit for unit in units if unit not in left_out)
        less = replace(asking, question=replace(asking.question, text=kept))
        wide = less.live(less.query("close", unwritten=not found.total))
        return less, less.page(both(wide, never=[exact]), 0, NEAR).rows

    def frequency(unit: str) -> int:
        alone = replace(asking, question=Question(unit))
        return asking.page(alone.live(alone.query("close")), 0, 0).total

    left_out: list[str] = []
    less, rows = near(left_out)
    if not rows and len(units) > 1:
        numbers = {unit: frequency(unit) for unit in units}
        rare_first = sorted(units, key=numbers.__getitem__)
        unknown = [unit for unit in units if not numbers[unit]]  # with any of these nothing is found
        fewer = [unknown] if unknown else [[unit] for unit in rare_first]
        fewer += [rare_first[:n] for n in range(len(fewer[0]) + 1, len(units) // 2 + 1)]
        for left_out in (some for some in fewer if len(some) <= len(units) // 2):
            less, rows = near(left_out)
            if rows:
                break
    if not rows:
        return found
    spelled = _spelled(less.question, rows[0])
    alike = replace(less, question=replace(less.question, text=spelled))
    number = alike.page(alike.live(alike.query("exact")), 0, 0).total if spelled else 0
    hits = _hits(less, rows)
    return replace(found, near=hits, left_out=left_out, spelled=spelled, spelled_total=number)


def _spelled(question: Question, stored: StoredDocument) -> str:
    """Return a question's text with the words of a deal in place of those that it holds only misspelt; '' if none."""
    card = stored.card
    category = category_names.names().get(card.category, "") if card else ""
    said = words_of(f"{card.title} {card.brand_name} {category} {stored.words}") if card else []
    units = question.units
    read = [unit if is_said(unit, said) else closest(unit, said) for unit in units]
    return " ".join(read) if read != units else ""


def _hits(asking: _SearchRun, rows: Iterable[StoredDocument]) -> list[SearchHit]:
    words = asking.question.words
    return [
        SearchHit(stored.card, snippet(stored.words, stored.card, words), stored.kind)
        for stored in rows
        if stored.card
    ]


def _count(found: SearchPage, asking: _SearchRun, exact: Query) -> None:
    """Count what the hits could be narrowed down to; each filter as if it alone were not there."""
    ranges = [
        {"from": low << SECOND_BITS, **({"to": high << SECOND_BITS} if high else {})}
        for low, high in pairwise((*REDUCTIONS, 0))
    ]
    facets: dict[str, dict[str, Any]] = {
        "sold": {"terms": {"field": "sold"}},
        "categories": {"terms": {"field": "category", "size": len(category_names.names()) + 1}},
        "brands": {"terms": {"field": "brand_label", "size": MOST_BRANDS}},
        "off_at_least": {"range": {"field": "by_discount", "ranges": ranges}},
    }
    chosen = [name for name in facets if getattr(asking.question, name)]
    counted: dict[str, dict[str, int]] = {}
    others = facets.keys() - chosen
    for names in filter(None, (others, *({name} for name in chosen))):
        wanted = {name: facets[name] for name in names}
        query = exact if names is others else asking.query("exact", *names)
        answer = asking.searcher.aggregate(asking.live(query), wanted)
        counted |= {
            name: {one["key"]: one["doc_count"] for one in answer[name]["buckets"]} for name in wanted
        }
    found.sold.update(counted["sold"])
    found.categories.update(counted["categories"])
    for label, number in counted["brands"].items():
        slug, _, name = label.partition(BRAND_SEPARATOR)
        found.brands[slug] = name, number
    reduced = [*counted["off_at_least"].values()][-len(REDUCTIONS) :]
    found.reductions.update({low: sum(reduced[n:]) for n, low in enumerate(REDUCTIONS)})
