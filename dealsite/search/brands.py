"""Brands: those that go with what somebody types, and which have live deals."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from dealsite.data.catalogue import brands
from dealsite.data.catalogue.brands import BrandName
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.names import slugify
from dealsite.data.table.paging import Page
from dealsite.search import site_index
from dealsite.search.documents import BRAND_SEPARATOR, LETTERS_FOR_A_TYPO, StoredDocument, words_of
from dealsite.search.finding import find
from dealsite.search.queries import Query, Searcher, all_of, any_of, begins, close, term
from dealsite.search.question import LETTERS_FOR_TWO_TYPOS, MOST_WORDS, Question, filters, live

FEW, OTHERS = 5, 10
NEAR = 5


def brands_like(
    typed: str, *, letter: str = "", after: str | None = None, before: str | None = None, size: int
) -> Page[BrandName]:
    """Return some brands: of which a name begins as somebody types, then those whose names have such words.

    All brands, or those of a letter, where nothing is typed; none where it has no letter or digit. The words are asked
    of the index, if there is one. 1 query.
    """
    begin = slugify(typed)
    if typed and not begin:
        return Page([])
    page = brands.names(begin, letter=letter, after=after, before=before, size=size)
    if not begin or after or before:
        return page
    found = [*dict.fromkeys([*page.rows, *_found(typed, size)])]
    return page.showing(found[:size])


def brands_near(typed: str) -> list[BrandName]:
    """Return up to five brands that what was typed may mean, typos forgiven, the likeliest first. No requests."""
    return _found(typed, NEAR, forgiving=True)


def _found(typed: str, size: int, *, forgiving: bool = False) -> list[BrandName]:
    words = words_of(typed)[:MOST_WORDS]
    asked = all_of(
        _word(word, forgiving=forgiving, is_last=number == len(words)) for number, word in enumerate(words, 1)
    )

    def ask(searcher: Searcher[StoredDocument]) -> list[BrandName]:
        return [BrandName(one.slug, one.names[0]) for one in searcher.search(asked, size).rows]

    return site_index.answer(StoredDocument, ask, []) if words else []


def _word(word: str, *, forgiving: bool, is_last: bool) -> Query:
    """Return the query for a word of a name; the last may be unfinished, and each misspelt where that is forgiven."""
    ways = [term("names", word, 2.0)]
    if is_last:
        ways.append(begins("names", word))
    if forgiving and len(word) >= LETTERS_FOR_A_TYPO and not any(map(str.isdigit, word)):
        wrong = 1 if len(word) < LETTERS_FOR_TWO_TYPOS else 2
        ways.append(close("names", word, wrong))
    return any_of(ways)


class BrandCount(NamedTuple):
    """A brand, and how many of its deals are live."""

    slug: str
    name: str
    number: int


class LiveDeals(NamedTuple):
    """How many deals are live, and the brands that have most of them."""

    number: int
    brands: list[BrandCount]


def live_deals(
    *, now: datetime, brands: Collection[str] = (), category: str = "", most: int = 1
) -> LiveDeals | None:
    """Return how many deals of some brands, or in a category, are live, and up to `most` brands that have most.

    `brands` and `category` are slugs. None where there is no index.
    """
    one = Question(brands=tuple(brands), categories=(category,) if category else ())
    that_live = all_of([*filters(one, now), live(now)])
    wanted = {"brands": {"terms": {"field": "brand_label", "size": most}}}

    def ask(searcher: Searcher[StoredDocument]) -> Any:
        return searcher.aggregate(that_live, wanted)["brands"]

    answer = site_index.answer(StoredDocument, ask, None)
    if answer is None:
        return None
    found = []
    for bucket in answer["buckets"]:
        slug, _, name = bucket["key"].partition(BRAND_SEPARATOR)
        found.append(BrandCount(slug, name, bucket["doc_count"]))
    number = answer["sum_other_doc_count"] + sum(one.number for one in found)
    return LiveDeals(number, sorted(found, key=lambda one: (-one.number, one.name.casefold(), one.slug)))


def cheapest(brand: str, *, now: datetime) -> DealCard | None:
    """Return a brand's live deal of the lowest price, if it has one."""
    found = find(Question(brands=(brand,), state="live"), now=now, sort="price", size=1)
    return next(iter(found.cards), None)


def of_other_brands(brand: str, category: str, *, now: datetime) -> list[DealCard]:
    """Return the newest live deals that other brands than one with fewer than FEW live deals have in a category."""
    found = find(Question(categories=(category,), state="live"), now=now, size=OTHERS + FEW - 1)
    return [card for card in found.cards if card.brand != brand][:OTHERS]
