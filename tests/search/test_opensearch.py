"""The index in OpenSearch: who feeds it, what a rebuild leaves, and what pages do while it is away, slow or lying."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from cms.lists.list_address import ROWS
from dealsite import checks
from dealsite.data import table
from dealsite.data.catalogue import deal_changes, deals
from dealsite.data.jobs import leases
from dealsite.search import opensearch, site_index
from dealsite.search.documents import StoredDocument
from dealsite.search.finding import MOST_PAGES, find
from dealsite.search.office_finding import OrdersQuestion, every_order
from dealsite.search.opensearch import OpenSearchIndex
from dealsite.search.question import Question
from dealsite.search.site_index import search_index
from dealsite.stream import consumer_status, rebuilding
from dealsite.stream.consumer import Poison, Troubles, opened
from dealsite.stream.rebuilding import TurnLost
from dealsite.stream.records import Stream
from tests.builders import DAY, EDITOR, HOUR, NOW, make_deal
from tests.opensearch import StandIn
from tests.search.conftest import START, deal_item, in_opensearch, search, titles
from tests.search.test_office import order
from tests.search.test_projection import change

QUICK = 1.0  # seconds: nobody was waited for


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def server(use_opensearch: StandIn) -> StandIn:
    return use_opensearch


def names(server: StandIn) -> set[str]:
    return {re.sub("-[0-9a-f]{16}", "-*", name) for name in server.indices}


# Asking it


@in_opensearch
def test_a_search_asks_a_few_times_however_many_there_are(index: Any, server: StandIn):
    index(*(deal_item(f"Lamp {n}") for n in range(60)))
    for question, requests in [
        (Question(), 3),  # is there any deal, those that can be had, those that are over
        (Question("lamp"), 4),  # and the brand that is named
        (Question("lapm"), 9),
        (Question("lamp 7 zzz"), 17),
    ]:
        server.requests.clear()
        find(question, now=NOW)
        assert len(server.requests) == requests, question


@in_opensearch
def test_a_change_asks_as_often_however_many_there_are(index: Any, server: StandIn):
    index(*(deal_item(f"Lamp {n}") for n in range(60)))
    projection = search_index()
    projection.open()
    server.requests.clear()
    projection.apply([change(deal_item("Mug"), 1)])
    projection.commit(START)
    # What is known of it and of the checkpoint, both written, one after the other, and seen by searches.
    assert [path.rpartition("/")[2] for _, path in server.requests] == [
        *("_mget", "_mget", "_bulk", "_bulk", "_refresh")
    ]


@in_opensearch
def test_the_last_page_of_the_longest_list_can_be_asked_for(index: Any):
    index(deal_item("Lamp"))
    assert search(page=MOST_PAGES, for_editors=True).ready
    found = find(Question(for_editors=True), now=NOW, page=MOST_PAGES, size=int(ROWS[-1]))
    assert (found.ready, found.total) == (True, 1)


@in_opensearch
def test_all_orders_come_once_however_many_a_request_brings(index: Any, monkeypatch: pytest.MonkeyPatch):
    orders = [order() for _ in range(7)]
    index(*orders)
    for at_once in (1, 3, 7, 500):
        monkeypatch.setattr(opensearch, "READ_AT_ONCE", at_once)
        found = [one.id for one in every_order(OrdersQuestion())]
        assert sorted(found) == sorted(one["id"] for one in orders)


@pytest.mark.parametrize("version", ["2.19.5", "3.2.0"])
def test_earlier_servers_find_the_same(server: StandIn, settings: Any, version: str):
    with StandIn(version) as other:
        settings.DEALSITE_OPENSEARCH_URL = other.url
        projection = search_index()
        projection.build(
            [deal_item("Desk", description="Room for a keyboard."), deal_item("Keyboard")], START
        )
        projection.swap()
        assert titles(search("keyboard")) == ["Keyboard", "Desk"]
        assert titles(search("keybaord")) == ["Keyboard", "Desk"]


def slow(method: str, path: str) -> tuple[int, bytes, str]:
    time.sleep(5)
    return 200, b"{}", "application/json"


@in_opensearch
@pytest.mark.parametrize(
    "fault",
    [
        slow,
        *(
            lambda *_, told=told: (told[0], told[1], "application/json")
            for told in [
                (500, b"{}"),
                (503, b"no"),
                (401, b"{}"),
                (429, b"{}"),
                (400, b"[]"),
                (200, b"<html>"),
            ]
        ),
        *(lambda *_, body=body: (200, body, "application/json") for body in [b"{}", b'{"hits": 7}', b"null"]),
        None,
    ],
)
def test_while_it_is_away_slow_or_lying_pages_go_on_without_it(
    index: Any, server: StandIn, fault: Any, monkeypatch: pytest.MonkeyPatch, search_root: None
):
    index(deal_item("Lamp"))
    if fault:
        server.fault = fault
    else:
        server.stop()
    try:
        began = time.monotonic()
        assert not search("lamp").ready
        assert not search("lamp").ready
        assert time.monotonic() - began < opensearch.ASK_SECONDS + QUICK
    finally:
        server.fault = None
        if not fault:
            server.start()
    monkeypatch.setattr(opensearch, "AWAY_SECONDS", 0)
    monkeypatch.setattr(opensearch, "_away_until", 0)
    assert titles(search("lamp")) == ["Lamp"]


@in_opensearch
def test_one_that_failed_is_left_alone_for_some_seconds(index: Any, server: StandIn):
    index(deal_item("Lamp"))
    server.fault = lambda *_: (503, b"{}", "application/json")
    search("lamp")
    server.fault = None
    server.requests.clear()
    assert not search("lamp").ready
    assert server.requests == []


@in_opensearch
def test_a_question_that_is_too_much_for_it_is_no_reason_to_leave_it_alone(index: Any, server: StandIn):
    index(deal_item("Lamp"))
    too_many = b'{"error": {"type": "too_many_clauses", "reason": "1024"}, "status": 400}'
    server.fault = lambda *_: (400, too_many, "application/json")
    assert not search("lamp").ready
    server.fault = None
    assert titles(search("lamp")) == ["Lamp"]


@in_opensearch
def test_the_longest_question_has_fewer_clauses_than_it_takes(index: Any, monkeypatch: pytest.MonkeyPatch):
    index(deal_item("Lamp"))
    asked: list[Any] = []
    ask = opensearch.OpenSearchSearcher._search

    def noted(searcher: Any, body: Any) -> Any:
        asked.append(body)
        return ask(searcher, body)

    monkeypatch.setattr(opensearch.OpenSearchSearcher, "_search", noted)
    search(" ".join(f"{word}word" for word in "abcdefghijkl"))
    search(" ".join(f"{word}word" for word in "abcdefghijkl"), for_editors=True)
    assert 100 < max(map(clauses, asked)) < 1024


def clauses(query: Any) -> int:
    if isinstance(query, list):
        return sum(map(clauses, query))
    if not isinstance(query, dict):
        return 0
    leaves = sum(1 for name in ("term", "range", "prefix", "match_phrase") if name in query)
    return (
        leaves
        + sum(map(clauses, query.values()))
        + sum(one["max_expansions"] for name, of in query.items() if name == "fuzzy" for one in of.values())
    )


@in_opensearch
def test_the_longest_description_is_kept_and_found(index: Any):
    index(deal_item("Lamp", description="ünïcödé " * 2_400 + "filament"))
    assert titles(search("filament")) == ["Lamp"]


@in_opensearch
def test_a_generation_that_goes_while_it_is_asked_lets_the_next_one_answer(
    index: Any, server: StandIn, monkeypatch: pytest.MonkeyPatch
):
    index(deal_item("Lamp"))
    gone = [(404, b'{"error": {"type": "index_not_found_exception"}, "status": 404}', "application/json")]
    server.fault = lambda *_: gone.pop() if gone else None
    assert titles(search("lamp")) == ["Lamp"]


def test_an_index_that_is_not_there_yet_is_not_ready_and_nothing_is_left_alone(server: StandIn):
    assert not search("lamp").ready
    assert opensearch._away_until < 0
    assert server.indices == {}


# Feeding it


@in_opensearch
def test_a_rebuild_leaves_one_generation_and_only_what_is_this_sites(index: Any, server: StandIn):
    other = opensearch.base().replace("dealsite-", "dealsite-other-", 1)
    opensearch.client().indices.create(index=f"{other}-{'0' * 16}")
    for title in ("Lamp", "Mug"):
        index(deal_item(title))
        assert titles(search()) == [title]
    base = opensearch.base()
    assert names(server) == {f"{base}-*", f"{base}-*-office", f"{other}-*"}
    assert len(server.indices) == 3


def test_what_a_build_of_another_format_feeds_stays_and_goes_a_day_after_it_was_fed(
    server: StandIn, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as older:
        older.setattr(opensearch, "READABLE", "15-0a1b2c3d")
        projection = search_index()
        projection.build([deal_item("Lamp")], START)
        projection.swap()
    for moment, kept in [(NOW + 22 * HOUR, 2), (NOW + DAY, 0)]:
        projection = OpenSearchIndex(clock=partial(next, repeat(moment)))
        projection.build([deal_item("Lamp")], START)
        projection.swap()
        assert len([name for name in server.indices if "15-0a1b2c3d" in name]) == kept
        assert titles(search()) == ["Lamp"]


@in_opensearch
@pytest.mark.parametrize("is_new", [True, False])
def test_who_lost_the_lease_and_does_not_know_it_changes_nothing(index: Any, is_new: bool):
    item = deal_item("Lamp")
    index(*([] if is_new else [item]))
    late, other = search_index(), search_index()
    late.open()
    other.open()
    late.apply([change(item | {"card": item["card"] | {"title": "Old"}}, 1)])
    other.apply([change(item | {"card": item["card"] | {"title": "Mug"}}, 2)])
    other.commit(START)
    with pytest.raises(TurnLost):
        late.commit(START)
    assert titles(search()) == ["Mug"]


def bulk_fails(_: str, path: str) -> tuple[int, bytes, str] | None:
    return (503, b"{}", "application/json") if "_bulk" in path else None


@in_opensearch
def test_a_checkpoint_is_never_ahead_of_what_it_stands_for(index: Any, server: StandIn):
    index()
    projection, item, later = search_index(), deal_item("Lamp"), START.moved({"shard": "1"})
    projection.open()
    projection.apply([change(item, 1)])
    server.requests.clear()
    server.fault = bulk_fails
    with pytest.raises(OSError, match="OpenSearch"):
        projection.commit(later)
    projection.close()
    server.fault = None
    again = search_index()
    assert again.open() == START
    again.apply([change(item, 1)])
    again.commit(later)
    assert (titles(search()), again.checkpoint()) == (["Lamp"], later)
    bulks = [path for _, path in server.requests if "_bulk" in path]
    assert len(bulks) == 3  # the failed one; then the deal, and the checkpoint after it


@in_opensearch
def test_an_index_that_was_deleted_is_not_made_again_by_a_write(index: Any, server: StandIn):
    index(deal_item("Lamp"))
    projection = search_index()
    projection.open()
    projection.apply([change(deal_item("Mug"), 1)])
    server.indices.clear()
    with pytest.raises(TurnLost):
        projection.commit(START)
    assert server.indices == {}
    assert projection.open() is None


@in_opensearch
def test_a_document_that_is_refused_is_no_fault_of_the_server(index: Any, server: StandIn):
    index()
    projection = search_index()
    projection.open()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StoredDocument, "searched", lambda _: {"unknown": "field"})
        projection.apply([change(deal_item("Mug"), 1)])
        with pytest.raises(ValueError, match="unknown"):
            projection.commit(None)


# With a table, a stream and a lease


class Machine:
    """A machine with a folder of its own, whose worker does one thing after the other."""

    def __init__(self, folder: Path, ticks: list[float], settings: Any) -> None:
        settings.SEARCH_ROOT = folder
        self.index = OpenSearchIndex(clock=now, ticks=lambda: ticks[0])
        self.folder = folder
        folder.mkdir()

    def turn(self) -> bool:
        """Feed the index, as a worker does; tell whether this machine led."""
        if not self.index.leads():
            return False
        try:
            consumer = opened(self.index, Stream.of_table(), clock=now)
            while consumer.round():
                pass
            consumer.commit()
            self.index.check(now())
        finally:
            self.index.close()
        return True


@pytest.fixture
def ticks() -> list[float]:
    return [1000.0]


@pytest.fixture
def machine(
    fresh_table: None,
    server: StandIn,
    tmp_path: Path,
    ticks: list[float],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str], Machine]:
    monkeypatch.setattr(opensearch, "Lease", leases.Lease)
    return lambda name: Machine(tmp_path / name, ticks, settings)


def publish(title: str) -> Any:
    return make_deal(title=title, live_at=now() - HOUR, now=now())


def finds() -> list[str]:
    return sorted(titles(search(now=now())))


def test_one_machine_feeds_it_and_another_takes_over_without_a_scan(
    machine: Any, ticks: list[float], monkeypatch: pytest.MonkeyPatch
):
    a, b = machine("a"), machine("b")
    publish("Lamp")
    assert a.turn()
    assert not b.turn()
    monkeypatch.setattr(table, "scan_all", lambda *_, **__: pytest.fail("It scans."))
    mug = publish("Mug")
    assert a.turn()
    assert finds() == ["Lamp", "Mug"]
    deal_changes.delete(deals.get(mug.id), by=EDITOR, now=now())
    publish("Fan")  # a is dead
    ticks[0] += leases.SPAN_SECONDS - 1
    assert not b.turn()
    ticks[0] += leases.RENEW_SECONDS
    assert b.turn()
    assert not a.turn()
    assert finds() == ["Fan", "Lamp"]


def test_machines_that_do_not_feed_it_say_how_far_it_is(machine: Any, server: StandIn):
    a, b = machine("a"), machine("b")
    a.turn()
    b.turn()
    known = consumer_status.status(b.folder)
    assert known is not None
    assert (known.state, known.read_at) == ("following", a.index.checkpoint().read_at)
    server.fault = lambda *_: (503, b"{}", "application/json")
    b.turn()
    failing = consumer_status.status(b.folder)
    assert failing is not None
    assert failing.state == "failing"


def test_an_idle_one_says_soon_that_everything_is_read(machine: Any):
    a = machine("a")
    a.turn()
    moment = [now()]
    consumer = opened(a.index, Stream.of_table(), clock=lambda: moment[0])
    consumer.round()
    before = a.index.checkpoint().read_at
    moment[0] += OpenSearchIndex.keep_every
    consumer.round()
    assert a.index.checkpoint().read_at > before


def test_a_rebuild_takes_over_what_another_feeds_and_gives_it_back(
    machine: Any, ticks: list[float], settings: Any, tmp_path: Path
):
    a = machine("a")
    publish("Lamp")
    a.turn()
    used = a.index._used()
    settings.SEARCH_ROOT = tmp_path / "elsewhere"
    call_command("rebuild")
    assert a.index._used() != used
    publish("Mug")
    ticks[0] += leases.RENEW_SECONDS
    assert not a.turn()
    ticks[0] += leases.RENEW_SECONDS
    assert a.turn()
    assert finds() == ["Lamp", "Mug"]


def test_a_rebuild_keeps_what_it_makes_while_a_worker_takes_the_lease(
    machine: Any, ticks: list[float], monkeypatch: pytest.MonkeyPatch
):
    a, b = machine("a"), machine("b")
    publish("Lamp")
    a.turn()
    used = a.index._used()
    a.index.leave()
    scan = table.scan_all
    led: list[bool] = []

    def scan_slowly(**given: Any) -> Any:
        for item in scan(**given):
            if not led:
                led.append(a.index.leads())
            yield item

    monkeypatch.setattr(table, "scan_all", scan_slowly)
    ticks[0] += leases.RENEW_SECONDS
    rebuilding.rebuild(b.index, now=now())
    assert led == [True]
    assert b.index._used() not in (None, used)
    assert finds() == ["Lamp"]


def test_what_it_refuses_is_skipped_and_all_else_is_found(machine: Any, monkeypatch: pytest.MonkeyPatch):
    a = machine("a")
    a.turn()
    bad = publish("Bad")
    made = StoredDocument.searched
    monkeypatch.setattr(
        StoredDocument,
        "searched",
        lambda one: made(one) | ({"unknown": ""} if one.card and one.card.id == bad.id else {}),
    )
    publish("Lamp")
    troubles = Troubles(a.index)
    for _ in range(20):
        try:
            consumer = opened(a.index, Stream.of_table(), clock=now, troubles=troubles)
            while consumer.round():
                pass
            consumer.commit()
        except (Poison, ValueError) as error:
            troubles.note(error, now=now(), ticks=0)
        a.index.close()
    assert finds() == ["Lamp"]
    assert [record.key[0] for record in consumer_status.skipped_records(a.folder)] == [f"DEAL#{bad.id}"]


# Setting it up


def test_a_site_with_https_says_what_crosses_the_network_in_the_clear(settings: Any):
    settings.HTTPS = True
    settings.DEALSITE_OPENSEARCH_URL = "http://search.internal:9200"
    found = {message.id for message in checks.unsafe_public_settings()}
    assert "dealsite.plain_search" in found
    settings.DEALSITE_OPENSEARCH_URL = "https://search.internal:9200"
    assert "dealsite.plain_search" not in {message.id for message in checks.unsafe_public_settings()}


def test_a_site_without_its_library_says_what_to_install(settings: Any, monkeypatch: pytest.MonkeyPatch):
    settings.DEALSITE_OPENSEARCH_URL = "https://search.internal:9200"
    assert checks.opensearch_is_installed() == []
    monkeypatch.setattr(checks, "find_spec", lambda _: None)
    (said,) = checks.opensearch_is_installed()
    assert "requirements-opensearch.txt" in said.hint
    settings.DEALSITE_OPENSEARCH_URL = ""
    assert checks.opensearch_is_installed() == []


def test_whoever_has_it_reads_no_index_of_a_folder(server: StandIn, settings: Any):
    assert site_index.is_shared()
    assert site_index.searcher(StoredDocument) is not None
    settings.DEALSITE_OPENSEARCH_URL = ""
    assert not site_index.is_shared()
    assert site_index.searcher(StoredDocument) is None
