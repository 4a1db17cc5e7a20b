"""The stand-in for OpenSearch keeps the rules of its documentation that a product could get wrong."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any

import pytest
from opensearchpy import OpenSearch, exceptions

from tests.opensearch import StandIn

GRAMS = {"begins": {"type": "edge_ngram", "min_gram": 1, "max_gram": 8}}
BEGINS = {"begins": {"type": "custom", "tokenizer": "whitespace", "filter": ["begins"]}}
SETTINGS = {"refresh_interval": "-1", "analysis": {"filter": GRAMS, "analyzer": BEGINS}}
INNER = {"begins": {"type": "text", "analyzer": "begins", "search_analyzer": "whitespace", "norms": False}}
WORDS = {"type": "text", "analyzer": "whitespace", "fields": INNER}
PROPERTIES = {
    "words": WORDS,
    "bare": {"type": "text", "analyzer": "whitespace", "index_options": "docs"},
    "brand": {"type": "keyword"},
    "price": {"type": "unsigned_long"},
}
MAPPINGS = {"dynamic": "strict", "properties": PROPERTIES}


@pytest.fixture(params=["2.19.5", "3.2.0"])
def stand_in(request: Any) -> Iterator[StandIn]:
    with StandIn(request.param) as started:
        yield started


@pytest.fixture
def client(stand_in: StandIn) -> Iterator[OpenSearch]:
    with OpenSearch(stand_in.url, max_retries=0) as client:
        body = {"settings": SETTINGS, "mappings": MAPPINGS, "aliases": {"deals": {}}}
        client.indices.create(index="deals-1", body=body)
        yield client


def store(client: OpenSearch, *docs: dict[str, Any]) -> None:
    lines = [line for at, doc in enumerate(docs) for line in ({"index": {"_id": str(at)}}, doc)]
    assert not client.bulk(body=lines, index="deals", refresh="true")["errors"]


def found(client: OpenSearch, query: dict[str, Any], **more: Any) -> list[str]:
    return [hit["_id"] for hit in client.search(index="deals", body={"query": query, **more})["hits"]["hits"]]


def scores(client: OpenSearch, query: dict[str, Any]) -> list[float]:
    return [hit["_score"] for hit in client.search(index="deals", body={"query": query})["hits"]["hits"]]


def reason(refused: Any) -> str:
    return refused.value.info["error"]["root_cause"][0]["reason"]


def test_a_document_is_got_at_once_and_found_after_a_refresh(client, stand_in):
    client.bulk(body=[{"index": {"_id": "1"}}, {"brand": "a"}], index="deals")
    assert client.mget(body={"ids": ["1"]}, index="deals")["docs"][0]["_source"] == {"brand": "a"}
    assert found(client, {"match_all": {}}) == []
    client.indices.refresh(index="deals")
    assert found(client, {"match_all": {}}) == ["1"]
    assert stand_in.requests[-2:] == [("POST", "/deals/_refresh"), ("POST", "/deals/_search")]


def test_a_bulk_request_reports_each_of_its_items(client):
    actions = [
        {"create": {"_index": "deals", "_id": "1"}}, {"brand": "a"},
        {"create": {"_index": "deals", "_id": "1"}}, {"brand": "b"},
        {"index": {"_index": "deals", "_id": "1", "if_seq_no": 0, "if_primary_term": 1}}, {"brand": "c"},
        {"index": {"_index": "deals", "_id": "1", "if_seq_no": 0, "if_primary_term": 1}}, {"brand": "d"},
        {"index": {"_index": "deals", "_id": "2"}}, {"color": "red"},
        {"index": {"_index": "deals", "_id": "3"}}, {"price": "much"},
        {"delete": {"_index": "deals", "_id": "4"}},
        {"index": {"_index": "none", "_id": "5"}}, {},
        {"index": {"_index": "deals-1", "_id": "6", "require_alias": True}}, {},
    ]  # fmt: skip
    told = client.bulk(body=actions)
    items = [item for answer in told["items"] for item in answer.values()]
    assert told["errors"]
    assert [item["status"] for item in items] == [201, 409, 200, 409, 400, 400, 404, 201, 404]
    assert [item.get("error", {}).get("type") for item in items] == [
        None, "version_conflict_engine_exception", None, "version_conflict_engine_exception",
        "strict_dynamic_mapping_exception",
        "mapper_parsing_exception", None, None, "index_not_found_exception",
    ]  # fmt: skip
    assert [item.get("_seq_no") for item in items] == [0, None, 1, None, None, None, 2, 0, None]
    assert client.indices.exists(index="none")  # as where nobody set action.auto_create_index


def test_actions_on_aliases_are_done_all_or_not_at_all(client):
    client.indices.create(index="deals-2", body={})
    swap = [
        {"add": {"index": "deals-2", "alias": "deals"}},
        {"remove": {"index": "deals-1", "alias": "deals"}},
    ]
    with pytest.raises(exceptions.NotFoundError):
        client.indices.update_aliases(body={"actions": [*swap, {"remove_index": {"index": "deals-3"}}]})
    assert list(client.indices.get_alias(name="deals")) == ["deals-1"]
    client.indices.update_aliases(body={"actions": [*swap, {"remove_index": {"index": "deals-1"}}]})
    assert client.indices.get_alias(name="deals") == {"deals-2": {"aliases": {"deals": {}}}}
    assert list(client.indices.get(index="deals*")) == ["deals-2"]
    assert not client.indices.exists_alias(name="offers")
    with pytest.raises(exceptions.RequestError, match="matches an alias"):
        client.indices.delete(index="deals")


def test_an_index_is_refused_that_is_there_or_badly_named_or_badly_mapped(client):
    for name, mappings, kind in (
        ("deals-1", {}, "resource_already_exists_exception"),
        ("Deals", {}, "invalid_index_name_exception"),
        ("new", {"properties": {"a": {"type": "word"}}}, "mapper_parsing_exception"),
        ("new", {"properties": {"a": {"type": "text", "doc_values": False}}}, "mapper_parsing_exception"),
    ):
        with pytest.raises(exceptions.RequestError, match=kind):
            client.indices.create(index=name, body={"mappings": mappings})


def test_bool_needs_a_should_only_where_nothing_else_is_needed(client):
    store(client, {"brand": "a"}, {"brand": "b", "price": 1}, {"price": 1})
    is_a, is_b, costs = (
        {"term": {"brand": {"value": "a"}}},
        {"term": {"brand": {"value": "b"}}},
        {"term": {"price": {"value": 1}}},
    )
    assert found(client, {"bool": {}}) == ["0", "1", "2"]
    assert found(client, {"bool": {"should": [is_a, is_b]}}) == ["0", "1"]
    assert found(client, {"bool": {"filter": costs, "should": is_b}}) == ["1", "2"]
    assert found(client, {"bool": {"filter": costs, "should": [is_b], "minimum_should_match": 1}}) == ["1"]
    assert found(client, {"bool": {"must_not": costs}}) == ["0"]
    assert found(client, {"bool": {"must": [{"range": {"price": {"gte": 1, "lte": 2}}}, is_b]}}) == ["1"]
    assert scores(client, {"bool": {"filter": costs}}) == [0, 0]
    assert scores(client, {"constant_score": {"filter": is_a, "boost": 3}}) == [3]
    wrongs: list[dict[str, Any]] = [
        {"bool": {"shall": []}},
        {"match": {"words": "a"}},
        {"term": {"brand": {"a": 1}}},
    ]
    for wrong in wrongs:
        with pytest.raises(exceptions.RequestError, match="parsing_exception"):
            found(client, wrong)


def test_phrases_have_slop_and_need_positions(client):
    store(client, {"words": "red big bag", "bare": "red bag"}, {"words": "bag red"}, {"words": "red bag"})
    for slop, ids in ((0, ["2"]), (1, ["2", "0"]), (2, ["2", "0", "1"])):
        assert found(client, {"match_phrase": {"words": {"query": "red bag", "slop": slop}}}) == ids
    assert found(client, {"match_phrase": {"words.begins": {"query": "re ba", "slop": 0}}}) == ["2"]
    with pytest.raises(exceptions.RequestError) as refused:
        found(client, {"match_phrase": {"bare": {"query": "red bag", "slop": 0}}})
    assert "was indexed without position data" in reason(refused)


def test_fuzzy_counts_swapped_letters_once_and_prefixes_are_not_analysed(client):
    store(client, {"words": "lamp"}, {"words": "lampe"}, {"words": "lmap"}, {"words": "lmape"})
    near = {"value": "lamp", "fuzziness": 1, "max_expansions": 20}
    assert found(client, {"fuzzy": {"words": near}}) == ["0", "1", "2"]
    assert scores(client, {"prefix": {"words": {"value": "lam", "boost": 2}}}) == [2, 2]
    assert found(client, {"prefix": {"words": {"value": "Lam"}}}) == []


def test_scores_are_those_of_bm25_in_the_version(client, stand_in):
    store(client, {"words": "a b", "brand": "x"}, {"words": "b b b c"})
    is_legacy = stand_in.version.startswith("2")
    idf, factor = log(1 + 1.5 / 1.5), 2.2 if is_legacy else 1.0
    assert scores(client, {"term": {"words": {"value": "a"}}}) == [
        pytest.approx(factor * idf / (1 + 1.2 * (0.25 + 0.75 * 2 / 3)))
    ]
    alone = log(1 + 0.5 / 1.5) if is_legacy else 1.0
    assert scores(client, {"term": {"brand": {"value": "x"}}}) == [pytest.approx(alone)]


def test_sorted_hits_go_on_after_the_values_of_one(client):
    store(client, {"price": 3}, {"price": 1}, {"brand": "a"}, {"price": 2})
    sort = [{"price": {"order": "desc"}}]
    told = client.search(index="deals", body={"sort": sort, "size": 2, "track_total_hits": 2})["hits"]
    assert [(hit["_id"], hit["_score"], hit["sort"]) for hit in told["hits"]] == [
        ("0", None, [3]),
        ("3", None, [2]),
    ]
    assert told["total"] == {"value": 2, "relation": "gte"}
    assert found(client, {"match_all": {}}, sort=sort, search_after=[2]) == ["1", "2"]
    for name in ("bare", "none"):
        with pytest.raises(exceptions.RequestError, match="search_phase_execution_exception"):
            found(client, {"match_all": {}}, sort=[name])


def test_nothing_beyond_the_result_window_is_shown(client):
    assert found(client, {"match_all": {}}, size=0, **{"from": 10_000}) == []
    with pytest.raises(exceptions.RequestError) as refused:
        found(client, {"match_all": {}}, size=1, **{"from": 10_000})
    assert "Result window is too large" in reason(refused)


def test_terms_count_what_they_do_not_show_and_ranges_end_before_their_to(client):
    store(
        client,
        {"brand": "a", "price": 1},
        {"brand": "b", "price": 2},
        {"brand": "b", "price": 4},
        {"brand": "c"},
    )
    ranges = {"range": {"field": "price", "ranges": [{"to": 2}, {"from": 2, "to": 5}]}}
    aggs = {
        "of": {"terms": {"field": "brand", "size": 1}, "aggs": {"sum": {"sum": {"field": "price"}}}},
        "by": ranges,
    }
    told = client.search(index="deals", body={"size": 0, "aggs": aggs})["aggregations"]
    buckets = [{"key": "b", "doc_count": 2, "sum": {"value": 6.0}}]
    assert told["of"] == {"doc_count_error_upper_bound": 0, "sum_other_doc_count": 2, "buckets": buckets}
    assert [(bucket["key"], bucket["doc_count"]) for bucket in told["by"]["buckets"]] == [
        ("*-2.0", 1),
        ("2.0-5.0", 2),
    ]
    with pytest.raises(exceptions.RequestError, match="search_phase_execution_exception"):
        client.search(index="deals", body={"aggs": {"of": {"terms": {"field": "words"}}}})


def test_a_fault_answers_instead_and_a_stopped_server_not_at_all(client, stand_in):
    stand_in.fault = lambda method, path: (
        (503, b"{}", "application/json") if path == "/deals/_search" else None
    )
    with pytest.raises(exceptions.TransportError):
        client.search(index="deals")
    stand_in.reset()
    with pytest.raises(exceptions.NotFoundError):
        client.search(index="deals")
    stand_in.stop()
    with pytest.raises(exceptions.ConnectionError):
        client.info()
    stand_in.start()
    assert client.info()["version"]["number"] == stand_in.version
