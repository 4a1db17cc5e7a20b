"""What is kept of documents: mappings, the terms of their fields, and what a refresh lets searches see."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import log
from typing import Any, Self

from tests.opensearch.errors import Json, ShardRefused, illegal, listed, no_query, unmappable

Scores = dict[int, float]  # of the documents that a query matches, by their numbers
Analyzer = Callable[[str], list[list[str]]]  # the terms at each position

K1, B = 1.2, 0.75
MAX_TERM = 32766  # bytes of a keyword
GAP = 100  # positions between the values of a list
WORD = re.compile(
    "[^ \\t-\\r\\x1c-\\x1f\\u1680\\u2000-\\u2006\\u2008-\\u200a\\u2028\\u2029\\u205f\\u3000]{1,255}"
)
NUMBERS = {"unsigned_long": (0, 2**64 - 1)}
MAPPING_PARAMETERS = {
    "keyword": {"type", "index", "doc_values", "norms", "index_options", "fields"},
    "text": {"type", "index", "norms", "index_options", "fields", "analyzer", "search_analyzer"},
    "unsigned_long": {"type", "index", "doc_values"},
}
INDEX_OPTIONS = {"keyword": ("docs", "freqs"), "text": ("docs", "freqs", "positions", "offsets")}


def whitespace(text: str) -> list[list[str]]:
    return [[word] for word in WORD.findall(text)]


def analyzers_of(analysis: Json) -> dict[str, Analyzer]:
    """Return the analyzers that fields may name: `whitespace`, and those of an index's settings."""
    analyzers: dict[str, Analyzer] = {"whitespace": whitespace}
    for name, spec in analysis.get("analyzer", {}).items():
        if spec.get("type", "custom") != "custom" or spec.get("tokenizer") != "whitespace":
            raise illegal(f"analyzer [{name}] must have the tokenizer [whitespace]")
        analyzers[name] = whitespace
        for filter_name in listed(spec.get("filter", [])):
            grams = analysis.get("filter", {}).get(filter_name, {})
            if grams.get("type") != "edge_ngram":
                raise illegal(f"Custom Analyzer [{name}] failed to find filter under name [{filter_name}]")
            analyzers[name] = beginnings(analyzers[name], grams.get("min_gram", 1), grams.get("max_gram", 2))
    return analyzers


def beginnings(analyze: Analyzer, shortest: int, longest: int) -> Analyzer:
    """Put in place of each term what it begins with, at its position."""
    sizes = range(int(shortest), int(longest) + 1)
    return lambda text: [
        [term[:size] for term in terms for size in sizes if size <= len(term)] for terms in analyze(text)
    ]


@dataclass(frozen=True)
class Field:
    """A field of a mapping, or one of a field's `fields`."""

    name: str
    type: str
    indexed: bool
    doc_values: bool
    norms: bool
    options: str
    analyze: Analyzer = whitespace
    search_analyze: Analyzer = whitespace

    @classmethod
    def of(cls, name: str, spec: Json, analyzers: dict[str, Analyzer]) -> Iterator[Self]:
        kind = spec.get("type", "object")
        if kind not in MAPPING_PARAMETERS:
            raise unmappable(f"No handler for type [{kind}] declared on field [{name}]")
        if unknown := spec.keys() - MAPPING_PARAMETERS[kind]:
            raise unmappable(f"unknown parameter {sorted(unknown)} on mapper [{name}] of type [{kind}]")
        is_text = kind == "text"
        options = spec.get("index_options", "positions" if is_text else "docs")
        if options not in INDEX_OPTIONS.get(kind, ("docs",)):
            raise unmappable(f"Unknown value [{options}] for field [index_options] of [{name}]")
        analyzer = spec.get("analyzer", "standard")
        at_search = spec.get("search_analyzer", analyzer)
        indexed = spec.get("index", True)
        is_analysed = is_text and indexed
        if is_analysed and (lacking := {analyzer, at_search} - analyzers.keys()):
            raise unmappable(f"analyzer {sorted(lacking)} has not been configured in mappings")
        doc_values = spec.get("doc_values", True) and not is_text
        analyses = (analyzers[analyzer], analyzers[at_search]) if is_analysed else (whitespace, whitespace)
        yield cls(name, kind, indexed, doc_values, spec.get("norms", is_text), options, *analyses)
        for inner, inner_spec in spec.get("fields", {}).items():
            yield from cls.of(f"{name}.{inner}", inner_spec, analyzers)

    def value(self, given: Any) -> Any:
        """Return a value as the field keeps it; raises ValueError if it cannot be one."""
        if isinstance(given, dict) or (self.type in NUMBERS and isinstance(given, bool)):
            raise ValueError
        if self.type in NUMBERS:
            number = int(given) if isinstance(given, int) else int(float(given))
            if isinstance(given, str) and given.lstrip("-").isdigit():
                number = int(given)
            least, most = NUMBERS[self.type]
            if not least <= number <= most:
                raise ValueError
            return number
        return str(given).lower() if isinstance(given, bool) else str(given)


@dataclass
class Doc:
    """A version of a document, and what its fields are found by."""

    id: str
    source: Json
    seq_no: int
    version: int
    values: dict[str, list[Any]] = field(default_factory=dict)
    terms: dict[str, dict[str, list[int]]] = field(default_factory=dict)  # with their positions
    lengths: dict[str, int] = field(default_factory=dict)

    def read(self, one: Field, given: Any) -> None:
        """Take a field's value, or a list of them."""
        flat = [given]
        while any(isinstance(value, list) for value in flat):
            flat = [inner for value in flat for inner in listed(value)]
        try:
            values = [one.value(value) for value in flat if value is not None]
        except (ValueError, TypeError):
            told = f"in document with id '{self.id}'. Preview of field's value: '{given}'"
            raise unmappable(f"failed to parse field [{one.name}] of type [{one.type}] {told}") from None
        if not values:
            return
        self.values[one.name] = values
        if one.type not in INDEX_OPTIONS:
            return
        terms: dict[str, list[int]] = {}
        start = self.lengths[one.name] = 0
        for value in values:
            positions = one.analyze(value) if one.type == "text" else [[value]]
            for position, found in enumerate(positions, start):
                self.lengths[one.name] += bool(found)
                for term in found:
                    terms.setdefault(term, []).append(position)
            start += len(positions) + GAP
        if any(len(term.encode()) > MAX_TERM for term in terms):
            raise illegal(f'Document contains at least one immense term in field="{one.name}"')
        if one.options == "docs":
            self.lengths[one.name] = len(terms)
        self.terms[one.name] = terms


class Snapshot:
    """What searches see: an index's documents as they were at a refresh."""

    def __init__(self, fields: dict[str, Field], docs: list[Doc], *, is_legacy: bool) -> None:
        self.fields, self.docs, self.is_legacy = fields, docs, is_legacy
        self.values: dict[str, dict[int, list[Any]]] = defaultdict(dict)
        self.postings: dict[str, dict[str, dict[int, list[int]]]] = {name: {} for name in fields}
        self.lengths: dict[str, dict[int, int]] = defaultdict(dict)
        for number, doc in enumerate(docs):
            for name, values in doc.values.items():
                self.values[name][number] = values
            for name, terms in doc.terms.items():
                if terms:
                    self.lengths[name][number] = doc.lengths[name]
                for term, positions in terms.items():
                    self.postings[name].setdefault(term, {})[number] = positions
        self.averages = {
            name: sum(
                self.freq(name, found) for terms in self.postings[name].values() for found in terms.values()
            )
            / len(lengths)
            for name, lengths in self.lengths.items()
        }

    def freq(self, name: str, positions: list[int]) -> int:
        return 1 if self.fields[name].options == "docs" else len(positions)

    def searchable(self, name: str) -> Field | None:
        """Return a field that a query names, or None if there is no such field: then nothing matches."""
        found = self.fields.get(name)
        if found and not (found.indexed or found.doc_values):
            raise no_query(f"Cannot search on field [{name}] since it is not indexed.")
        return found

    def strings(self, name: str, query: str) -> dict[str, dict[int, list[int]]]:
        """Return the postings of a field that a query of strings names."""
        found = self.searchable(name)
        if found and found.type in NUMBERS:
            kinds = "keyword, text and wildcard" if query == "prefix" else "keyword and text"
            told = f"fields - not on [{name}] which is of type [{found.type}]"
            raise no_query(f"Can only use {query} queries on {kinds} {told}")
        return self.postings.get(name, {})

    def column(self, name: str, use: str) -> dict[int, list[Any]]:
        """Return a field's values by document, to sort or to aggregate."""
        found = self.fields.get(name)
        if found and found.type == "text":
            disabled = "Text fields are not optimised for operations that require per-document field data"
            raise ShardRefused(
                400, "illegal_argument_exception", f"{disabled}, set fielddata=true on [{name}]"
            )
        if found and not found.doc_values:
            told = f"Can't load fielddata on [{name}] for {use}. Use doc values instead."
            raise ShardRefused(400, "illegal_argument_exception", told)
        return self.values.get(name, {})

    def bm25(self, name: str, freqs: dict[int, float], *docs_with: int) -> Scores:
        """Score documents by how often a field has what is sought, and how many documents have each term."""
        one, lengths = self.fields[name], self.lengths[name]
        if not one.indexed or (one.type == "keyword" and not self.is_legacy):
            return dict.fromkeys(freqs, 1.0)
        idf = sum(log(1 + (len(lengths) - docs + 0.5) / (docs + 0.5)) for docs in docs_with)
        weight = idf * (K1 + 1 if self.is_legacy else 1)
        scores = {}
        for number, freq in freqs.items():
            norm = 1.0
            if one.norms:
                norm = 1 - B + B * stored_length(lengths[number]) / self.averages[name]
            scores[number] = weight * freq / (freq + K1 * norm)
        return scores

    def term(self, name: str, given: Any, docs_with: int = 0) -> Scores:
        """Score the documents whose field has a term; or a number, which gives 1."""
        one = self.searchable(name)
        if one is None:
            return {}
        if one.type in NUMBERS:
            wanted = number_of(given)
            return {number: 1.0 for number, values in self.values[name].items() if wanted in values}
        found = self.postings[name].get(str(given).lower() if isinstance(given, bool) else str(given), {})
        freqs = {number: float(self.freq(name, positions)) for number, positions in found.items()}
        return self.bm25(name, freqs, docs_with or len(found))


def stored_length(length: int) -> int:
    """Return a field's length as its norm keeps it, in one byte: from 40, four bits of what is beyond 24."""
    shift = max(0, (length - 24).bit_length() - 4) if length > 24 else 0
    return (length - 24 >> shift << shift) + 24 if shift else length


def number_of(given: Any) -> Any:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise no_query(f"For input string: {given}")
    try:
        return int(given) if isinstance(given, int) or str(given).lstrip("-").isdigit() else float(given)
    except ValueError:
        raise no_query(f'For input string: "{given}"') from None
