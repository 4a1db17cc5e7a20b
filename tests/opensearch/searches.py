"""Searches: hits in order, their total, and aggregations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

from tests.opensearch.documents import NUMBERS, Snapshot
from tests.opensearch.errors import Json, ShardRefused, illegal, listed, only_known, unparsed
from tests.opensearch.index import SHARDS, Index, source_part
from tests.opensearch.queries import scores_of

COUNTED = 10_000  # hits, unless a search asks for more


@dataclass(frozen=True)
class Hit:
    """A document that a search found."""

    index: Index
    snapshot: Snapshot
    number: int
    score: float


SEARCH = "query from size sort search_after track_total_hits _source aggs aggregations"


def search(indices: list[Index], body: Json) -> Json:
    """Answer a search of some indices."""
    only_known(body, set(SEARCH.split()), "search")
    start, size = body.get("from", 0), body.get("size", 10)
    if min(start, size) < 0:
        raise illegal(f"[from] and [size] parameters cannot be negative, found [{min(start, size)}]")
    window = min((int(index.settings.get("max_result_window", 10_000)) for index in indices), default=inf)
    if start + size > window:
        most = f"from + size must be less than or equal to: [{window}] but was [{start + size}]"
        raise ShardRefused(400, "illegal_argument_exception", f"Result window is too large, {most}.")
    found: list[Hit] = []
    snapshots = [index.snapshot() for index in indices]
    for index, snapshot in zip(indices, snapshots, strict=True):
        scores = sorted(scores_of(snapshot, body.get("query", {"match_all": {}})).items())
        found += [Hit(index, snapshot, *pair) for pair in scores]
    aggregations = aggregate(body.get("aggs", body.get("aggregations", {})), snapshots, found)
    keys = sort_keys(body.get("sort", []))
    told = {"took": 0, "timed_out": False, "_shards": SHARDS}
    best = max((hit.score for hit in found), default=None) if size and not keys else None
    ordered = in_order(found, keys, snapshots, body.get("search_after"), start)
    hits = [
        {
            "_index": hit.index.name,
            "_id": hit.snapshot.docs[hit.number].id,
            "_score": hit.score
            if not keys or ("_score", True) in keys or ("_score", False) in keys
            else None,
            **source_part(hit.snapshot.docs[hit.number].source, body.get("_source", True)),
            **({"sort": values} if keys else {}),
        }
        for values, hit in ordered[start : start + size]
    ]
    total = total_of(len(found), body.get("track_total_hits", COUNTED))
    told["hits"] = total | {"max_score": best, "hits": hits}
    return told | ({"aggregations": aggregations} if aggregations else {})


def total_of(found: int, counted: Any) -> Json:
    if counted is False:
        return {}
    if counted is True or found <= counted:
        return {"total": {"value": found, "relation": "eq"}}
    return {"total": {"value": counted, "relation": "gte"}}


def sort_keys(given: Any) -> list[tuple[str, bool]]:
    """Return the fields to sort by, and whether from high to low; none if it is the score alone."""
    keys = []
    for spec in listed(given):
        [(name, order)] = spec.items() if isinstance(spec, dict) else [(spec, {})]
        order = order if isinstance(order, dict) else {"order": order}
        only_known(order, {"order"}, "sort")
        keys.append((name, order.get("order", "desc" if name == "_score" else "asc") == "desc"))
    return [] if keys == [("_score", True)] else keys


def in_order(
    found: list[Hit], keys: list[tuple[str, bool]], snapshots: list[Snapshot], after: Any, start: int
) -> list[tuple[list[Any], Hit]]:
    """Sort hits, with the values that they are sorted by; a document without a value comes last."""
    if not keys:
        return [([], hit) for hit in sorted(found, key=lambda hit: -hit.score)]
    columns: dict[tuple[int, str], dict[int, list[Any]]] = {}
    for snapshot in snapshots:
        for name, _ in keys:
            if name != "_score" and name not in snapshot.fields:
                reason = f"No mapping found for [{name}] in order to sort on"
                raise ShardRefused(400, "query_shard_exception", reason)
            columns[id(snapshot), name] = {} if name == "_score" else snapshot.column(name, "sorting")

    def value(hit: Hit, name: str, is_down: bool) -> Any:
        if name == "_score":
            return hit.score
        values = columns[id(hit.snapshot), name].get(hit.number)
        if values:
            return max(values) if is_down else min(values)
        kind = hit.snapshot.fields[name].type
        return NUMBERS[kind][not is_down] if kind in NUMBERS else None

    ordered = [([value(hit, *key) for key in keys], hit) for hit in found]
    for at, (_, is_down) in reversed(list(enumerate(keys))):
        ordered.sort(key=lambda pair: ((pair[0][at] is None) != is_down, pair[0][at]), reverse=is_down)
    if after is None:
        return ordered
    if start:
        raise ShardRefused(
            500, "search_exception", "`from` parameter must be set to 0 when `search_after` is used."
        )
    if len(after) != len(keys):
        reason = f"search_after has {len(after)} value(s) but sort has {len(keys)}."
        raise ShardRefused(400, "illegal_argument_exception", reason)

    def is_after(values: list[Any]) -> bool:
        for value, last, (_, is_down) in zip(values, after, keys, strict=True):
            if value != last:
                return value is None or (last is not None and (value < last) == is_down)
        return False

    return [pair for pair in ordered if is_after(pair[0])]


def aggregate(specs: Json, snapshots: list[Snapshot], found: list[Hit]) -> Json:
    """Answer the aggregations of a search, or of a bucket."""
    told = {}
    for name, given in specs.items():
        inner = given.get("aggs", given.get("aggregations", {}))
        kinds = [kind for kind in given if kind not in ("aggs", "aggregations")]
        if len(kinds) != 1 or kinds[0] not in AGGREGATIONS:
            raise unparsed(f"Unknown aggregation type {kinds} of [{name}]")
        [kind] = kinds
        run, known = AGGREGATIONS[kind]
        only_known(given[kind], known, kind)
        field_name = given[kind]["field"]
        for snapshot in snapshots:
            snapshot.column(field_name, "aggregations")
            one = snapshot.fields.get(field_name)
            if one and kind != "terms" and one.type not in NUMBERS:
                reason = (
                    f"Field [{field_name}] of type [{one.type}] is not supported for aggregation [{kind}]"
                )
                raise ShardRefused(400, "illegal_argument_exception", reason)
        valued = [(hit, set(hit.snapshot.values.get(field_name, {}).get(hit.number, ()))) for hit in found]
        told[name] = run(given[kind], valued, partial(aggregate, inner, snapshots))
    return told


Valued = list[tuple[Hit, set[Any]]]
Inner = Callable[[list[Hit]], Json]


def terms_buckets(spec: Json, valued: Valued, inner: Inner) -> Json:
    size = spec.get("size", 10)
    if size <= 0:
        raise illegal(f"[size] must be greater than 0. Found [{size}]")
    by_key = defaultdict(list)
    for hit, values in valued:
        for value in values:
            by_key[value].append(hit)
    ordered = sorted(by_key.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return {
        "doc_count_error_upper_bound": 0,
        "sum_other_doc_count": sum(len(hits) for _, hits in ordered[size:]),
        "buckets": [{"key": key, "doc_count": len(hits)} | inner(hits) for key, hits in ordered[:size]],
    }


def range_buckets(spec: Json, valued: Valued, inner: Inner) -> Json:
    """Return a bucket for each range, from the lowest to the highest."""
    buckets = []
    for one in sorted(spec["ranges"], key=lambda one: (one.get("from", -inf), one.get("to", inf))):
        only_known(one, {"key", "from", "to"}, "range")
        bounds = {side: float(one[side]) for side in ("from", "to") if one.get(side) is not None}
        low, high = bounds.get("from", -inf), bounds.get("to", inf)
        hits = [hit for hit, values in valued if any(low <= value < high for value in values)]
        key = one.get("key", f"{bounds.get('from', '*')}-{bounds.get('to', '*')}")
        buckets.append({"key": key, **bounds, "doc_count": len(hits)} | inner(hits))
    return {"buckets": buckets}


def total_value(spec: Json, valued: Valued, inner: Inner) -> Json:
    columns = [hit.snapshot.values[spec["field"]].get(hit.number, []) for hit, _ in valued]
    return {"value": float(sum(map(sum, columns)))}


AGGREGATIONS: dict[str, tuple[Callable[[Json, Valued, Inner], Json], set[str]]] = {
    "terms": (terms_buckets, {"field", "size"}),
    "range": (range_buckets, {"field", "ranges"}),
    "sum": (total_value, {"field"}),
}
