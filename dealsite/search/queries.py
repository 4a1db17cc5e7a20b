"""Queries to an index, as OpenSearch reads them; and what of a part an index is asked, whichever holds it.

Only the forms made here are ever asked, so each index has to know no others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from dealsite.search.documents import NEVER, Stored

Query = Mapping[str, Any]
Sort = tuple[str, Literal["asc", "desc"]]
BEGINNINGS = ".beginnings"  # ends the name of a field that stands for the beginnings of another one's words
MOST_WORDS_MEANT = 20  # by one with typos: OpenSearch takes a thousand in all
NOTHING: Query = {"match_none": {}}


def all_of(queries: Iterable[Query]) -> Query:
    """All of some queries; nothing where there are none."""
    wanted = [*queries]
    return {"bool": {"must": wanted}} if wanted else NOTHING


def any_of(queries: Iterable[Query], *, at_least: int = 1) -> Query:
    """At least one of some queries, or more of them."""
    wanted = [*queries]
    return {"bool": {"should": wanted, "minimum_should_match": at_least}} if wanted else NOTHING


def both(first: Query, *others: Query, better: Sequence[Query] = (), never: Sequence[Query] = ()) -> Query:
    """All of some queries; the first alone says how well something fits, and what it had `better` be, too."""
    return {"bool": {"must": [first], "filter": [*others], "should": [*better], "must_not": [*never]}}


def fixed(query: Query, score: float) -> Query:
    """A query that says nothing of how well something fits but a number."""
    return {"constant_score": {"filter": query, "boost": score}}


def term(field: str, word: str, boost: float = 1.0) -> Query:
    """A word of a field."""
    return {"term": {field: {"value": word, "boost": boost}}}


def begins(field: str, beginning: str, score: float = 1.0) -> Query:
    """A word that begins so."""
    return fixed({"prefix": {field: {"value": beginning}}}, score)


def close(field: str, word: str, wrong: int, score: float = 1.0, *, beginning: bool = False) -> Query:
    """A word of which so many letters may be wrong, or with `beginning` one that begins so."""
    named = field + BEGINNINGS * beginning
    asked = {"value": word, "fuzziness": wrong, "max_expansions": MOST_WORDS_MEANT}
    return fixed({"fuzzy": {named: asked}}, score)


def phrase(field: str, words: Sequence[str], boost: float = 1.0, *, slop: int = 0) -> Query:
    """Words that follow one another, or with `slop` other words between them."""
    if len(words) == 1:
        return term(field, words[0], boost)
    return {"match_phrase": {field: {"query": " ".join(words), "slop": slop, "boost": boost}}}


def between(field: str, low: int, high: int) -> Query:
    """A number from one to another, both included."""
    high = min(high, NEVER)
    return {"range": {field: {"gte": low, "lte": high}}} if low <= high else NOTHING


Found = TypeVar("Found", bound=Stored)


class Hits(NamedTuple, Generic[Found]):
    """What was found, in order, and how many there are on all pages, if that was asked for."""

    rows: list[Found]
    total: int


class Searcher(Protocol[Found]):
    """One part of an index as it stood at its newest commit. Each may raise Unreadable."""

    def search(
        self, query: Query, size: int, *, offset: int = 0, sort: Sort | None = None, count: bool = False
    ) -> Hits[Found]:
        """Return some of what answers a query, by how well it fits or sorted by a number."""

    def every(self, query: Query, sort: Sort) -> Iterator[Found]:
        """Yield all that answers a query; what comes or goes meanwhile leaves nothing out and brings nothing twice."""

    def aggregate(self, query: Query, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Count what answers a query by its fields, as OpenSearch's aggregations say."""

    def frequency(self, field: str, word: str) -> int:
        """Return how many hold a word, about."""

    def known(self, keys: Iterable[str]) -> dict[str, Found]:
        """Return what is kept under some keys."""
