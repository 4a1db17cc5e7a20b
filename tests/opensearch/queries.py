"""The query DSL: which documents of a snapshot a query matches, and their scores.

Not exact, but near: scores of `fuzzy`, and of phrases with slop in which a word stands twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import Any

from tests.opensearch.documents import NUMBERS, Scores, Snapshot
from tests.opensearch.errors import listed, no_query, only_known, unparsed

QUERIES: dict[str, Callable[[Snapshot, Any], Scores]] = {}


def scores_of(snapshot: Snapshot, query: Any) -> Scores:
    if not isinstance(query, dict) or len(query) != 1:
        raise unparsed("malformed query, expected one query in an object")
    [(name, body)] = query.items()
    if name not in QUERIES:
        raise unparsed(f"unknown query [{name}]")
    return QUERIES[name](snapshot, body)


def query(*known: str, of_field: bool = False) -> Callable[[Callable[..., Scores]], Any]:
    """Name a query as its function; one `of_field` says of which, and its rest in an object, never in short."""

    def named(function: Callable[..., Scores]) -> Callable[..., Scores]:
        name = function.__name__.rstrip("_")

        def run(snapshot: Snapshot, body: Any) -> Scores:
            target = []
            if of_field:
                if not isinstance(body, dict) or len(body) != 1:
                    raise unparsed(f"[{name}] query doesn't support multiple fields")
                [(field_name, body)] = body.items()
                target = [field_name]
            if not isinstance(body, dict):
                raise unparsed(f"[{name}] query malformed, no start_object after query name")
            only_known(body, {*known, "boost"}, name)
            given = {key: value for key, value in body.items() if key != "boost"}
            boost = float(body.get("boost", 1))
            return {number: score * boost for number, score in function(snapshot, *target, **given).items()}

        QUERIES[name] = run
        return function

    return named


@query()
def match_all(snapshot: Snapshot) -> Scores:
    return dict.fromkeys(range(len(snapshot.docs)), 1.0)


@query()
def match_none(snapshot: Snapshot) -> Scores:
    return {}


@query("filter")
def constant_score(snapshot: Snapshot, filter: Any = None) -> Scores:  # noqa: A002
    if filter is None:
        raise unparsed("[constant_score] requires a 'filter' element")
    return dict.fromkeys(scores_of(snapshot, filter), 1.0)


@query("must", "should", "filter", "must_not", "minimum_should_match")
def bool_(snapshot: Snapshot, minimum_should_match: Any = None, **clauses: Any) -> Scores:
    found = {kind: [scores_of(snapshot, one) for one in listed(given)] for kind, given in clauses.items()}
    must, should, filters = (found.get(kind, []) for kind in ("must", "should", "filter"))
    least = int(should != [] and not must and not filters)
    if minimum_should_match is not None:
        least = int(minimum_should_match) + (len(should) if int(minimum_should_match) < 0 else 0)
    if not any(found.values()):
        return match_all(snapshot)
    matched = set(range(len(snapshot.docs))).intersection(*must, *filters)
    matched.difference_update(*found.get("must_not", []))
    scoring = must + should
    return {
        number: sum(scores.get(number, 0.0) for scores in scoring)
        for number in sorted(matched)
        if least <= 0 or sum(number in scores for scores in should) >= least
    }


@query("value", of_field=True)
def term(snapshot: Snapshot, name: str, value: Any) -> Scores:
    return snapshot.term(name, value)


@query("gte", "lte", of_field=True)
def range_(snapshot: Snapshot, name: str, gte: int, lte: int) -> Scores:
    if (one := snapshot.searchable(name)) is None or one.type not in NUMBERS:
        raise no_query(f"[range] of [{name}], which is no number")
    return {
        n: 1.0 for n, values in snapshot.values[name].items() if any(gte <= value <= lte for value in values)
    }


@query("value", of_field=True)
def prefix(snapshot: Snapshot, name: str, value: str) -> Scores:
    found = snapshot.strings(name, "prefix")
    return {number: 1.0 for word, docs in found.items() if word.startswith(value) for number in docs}


@query("value", "fuzziness", "max_expansions", of_field=True)
def fuzzy(snapshot: Snapshot, name: str, value: str, fuzziness: int, max_expansions: int) -> Scores:
    if not 0 <= fuzziness <= 2:
        raise no_query("maxEdits must be between 0 and 2")
    found = snapshot.strings(name, "fuzzy")
    near, letters = [], set(value)
    for word in found:
        if abs(len(word) - len(value)) <= fuzziness and len(letters.difference(word)) <= fuzziness:
            distance = edit_distance(value, word)
            if distance <= fuzziness:
                near.append((distance / min(len(word), len(value)), word))
    kept = sorted(near)[:max_expansions]
    most = max((len(found[word]) for _, word in kept), default=0)  # the words count as equally rare
    scores: Scores = defaultdict(float)
    for share, word in kept:
        for number, score in snapshot.term(name, word, most).items():
            scores[number] += score * max(0.0, 1 - share)
    return scores


@lru_cache(10_000)
def edit_distance(one: str, other: str) -> int:
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, there in enumerate(other, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (letter != there)))
            if i > 1 < j and letter == other[j - 2] and one[i - 2] == there:
                row[j] = min(row[j], before[j - 2] + 1)
        before, last = last, row
    return last[-1]


@query("query", "slop", of_field=True)
def match_phrase(snapshot: Snapshot, name: str, query: str, slop: int) -> Scores:
    one = snapshot.searchable(name)
    slots = list(enumerate(one.search_analyze(query))) if one else []
    if one is None or one.options != "positions":
        raise no_query(f"field:[{name}] was indexed without position data; cannot run PhraseQuery")
    postings = snapshot.postings[name]
    found = [{n for word in words for n in postings.get(word, ())} for _, words in slots]
    freqs = {}
    for number in set.intersection(*found) if found else ():
        places = [
            (sorted({p for word in words for p in postings.get(word, {}).get(number, ())}), at, words)
            for at, words in slots
        ]
        if freq := phrase_freq(places, slop):
            freqs[number] = freq
    return snapshot.bm25(name, freqs, *(len(postings.get(word, ())) for _, words in slots for word in words))


def phrase_freq(places: list[tuple[list[int], int, list[str]]], slop: int) -> float:
    """Count a phrase's matches: each 1 / (1 + its distance), as Lucene's matchers go through the positions."""
    if slop == 0 or len(places) == 1:
        return sum(all(p - places[0][1] + at in of for of, at, _ in places) for p in places[0][0])
    lists: list[list[int]] = []
    used: dict[str, int] = defaultdict(int)
    for of, at, words in places:  # a word that stands twice in the phrase is also there twice
        lists.append([p - at for p in of[used[words[0]] :]])
        used[words[0]] += 1
    if not all(lists):
        return 0.0
    queue = [(of[0], slot, 0) for slot, of in enumerate(lists)]
    heapify(queue)
    end, freq = max(of[0] for of in lists), 0.0
    while True:
        position, slot, index = heappop(queue)
        length, following = end - position, queue[0][0]
        while position <= following and index + 1 < len(lists[slot]):
            index += 1
            position = lists[slot][index]
            end = max(end, position)
            if position <= following:
                length = min(length, end - position)
        freq += 1 / (1 + length) if length <= slop else 0
        if position <= following:
            return freq
        heappush(queue, (position, slot, index))
