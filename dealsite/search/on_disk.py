"""An index in a folder of this machine, by tantivy: its fields, and how it is asked what `queries` ask."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import count as counting
from typing import Any, Generic

import tantivy
from tantivy import FieldType, Occur, Order

from dealsite.search.documents import Fields, stemming_analyser
from dealsite.search.queries import BEGINNINGS, Found, Hits, Query, Sort, term

AT_ONCE = 10_000  # rows of all
ORDERS = {"asc": Order.Asc, "desc": Order.Desc}


@cache
def schema_of(fields: Fields) -> tantivy.Schema:
    """Return some fields as tantivy keeps them."""
    made = tantivy.SchemaBuilder()
    for name in (*fields.names, *fields.counted):
        made.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=name in fields.counted)
    for name in fields.words:
        tokenizer, option = ("stems", "freq") if name in fields.stemmed else ("plain", "basic")
        option = "position" if name in fields.places else option
        made.add_text_field(name, tokenizer_name=tokenizer, index_option=option)
    for name in fields.numbers:
        made.add_unsigned_field(name, indexed=True, fast=True)
    made.add_bytes_field("stored", stored=True)
    return made.build()


def open_index(folder: str, *, make: Fields | None = None) -> tantivy.Index:
    """Open the index of a folder, or make an empty one of some fields."""
    index = tantivy.Index(schema_of(make), path=folder) if make else tantivy.Index.open(folder)
    whitespace = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    index.register_tokenizer("plain", whitespace.build())
    index.register_tokenizer("stems", stemming_analyser())
    return index


@dataclass(frozen=True)
class FolderSearcher(Generic[Found]):
    """See `queries.Searcher`."""

    kind: type[Found]
    searcher: tantivy.Searcher

    def search(
        self, query: Query, size: int, *, offset: int = 0, sort: Sort | None = None, count: bool = False
    ) -> Hits[Found]:
        order: dict[str, Any] = {"order_by_field": sort[0], "order": ORDERS[sort[1]]} if sort else {}
        asked = self._made(query)
        found = self.searcher.search(asked, max(size, 1), offset=offset, count=count, **order)
        rows = [self._read(address) for _, address in found.hits[:size]]
        return Hits(rows, found.count if count else 0)  # type: ignore[attr-defined]

    def every(self, query: Query, sort: Sort) -> Iterator[Found]:
        for offset in counting(step=AT_ONCE):
            rows = self.search(query, AT_ONCE, offset=offset, sort=sort).rows
            yield from rows
            if len(rows) < AT_ONCE:
                return

    def aggregate(self, query: Query, wanted: Mapping[str, Any]) -> dict[str, Any]:
        return self.searcher.aggregate(self._made(query), dict(wanted))

    def frequency(self, field: str, word: str) -> int:
        return self.searcher.doc_freq(field, word)

    def known(self, keys: Iterable[str]) -> dict[str, Found]:
        found = {key: self.search(term("key", key), 1).rows for key in keys}
        return {key: rows[0] for key, rows in found.items() if rows}

    def _read(self, address: tantivy.DocAddress) -> Found:
        return self.kind.of(self.searcher.doc(address)["stored"][0])

    def _made(self, query: Query, option: str = "freq") -> tantivy.Query:
        """Return tantivy's own query; `option` is how often a word must be known to stand somewhere."""
        made, schema = tantivy.Query, schema_of(self.kind.fields)
        ((form, said),) = query.items()
        if form == "bool":
            parts = [(Occur.Must, self._made(one, option)) for one in said.get("must", ())]
            parts += [(Occur.Must, self._fixed(one, 0.0)) for one in said.get("filter", ())]
            parts += [(Occur.Should, self._made(one, option)) for one in said.get("should", ())]
            parts += [(Occur.MustNot, self._made(one, "basic")) for one in said.get("must_not", ())]
            return made.boolean_query(parts, said.get("minimum_should_match"))
        if form == "constant_score":
            return self._fixed(said["filter"], said["boost"])
        if form == "match_none":
            return made.empty_query()
        ((field, asked),) = said.items()
        if form == "term":
            one = made.term_query(schema, field, asked["value"], index_option=option)
            return made.boost_query(one, asked["boost"])
        if form == "match_phrase":
            one = made.phrase_query(schema, field, asked["query"].split(), slop=asked["slop"])
            return made.boost_query(one, asked["boost"])
        if form == "range":
            return made.range_query(schema, field, FieldType.Unsigned, asked["gte"], asked["lte"])
        name, wrong = field.removesuffix(BEGINNINGS), asked.get("fuzziness", 0)
        is_beginning = form == "prefix" or name != field
        return made.fuzzy_term_query(schema, name, asked["value"], distance=wrong, prefix=is_beginning)

    def _fixed(self, query: Query, score: float) -> tantivy.Query:
        return tantivy.Query.const_score_query(self._made(query, "basic"), score)
