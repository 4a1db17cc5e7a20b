"""Weak mode does what it says: a suite that passes in it has met each fault."""

from __future__ import annotations

import threading

import pytest

from dealsite.data import table
from dealsite.data.table import client
from dealsite.data.table.writes import Delete, Put, Update
from tests.faults.unkind import Faults

pytestmark = [pytest.mark.engines("weak"), pytest.mark.engines_differ, pytest.mark.usefixtures("fresh_table")]
A = ("A", "A")


def calm(faults: Faults, **rates: float) -> None:
    """Take every fault away but the ones named."""
    for name in ("conflicts", "throttles", "unprocessed", "empty_pages", "lost_replies", "lag"):
        setattr(faults, name, rates.get(name, 0))


def put(n: int, partition: str = "list") -> None:
    item = {"type": "row", "card": {"n": n}, "more": n, "GSI1PK": partition, "GSI1SK": f"{n:03d}"}
    table.write(Put(key=(f"ROW#{n}", "ROW"), item=item))


def listed(partition: str = "list", **range_of) -> list[int]:
    return [row["card"]["n"] for row in table.query(partition, index="GSI1", **range_of)]


def test_every_fault_happens(faults):
    for n in range(150):
        table.transact(
            [Update(key=A, add={"n": 1}), Put(key=(f"B#{n}", "B"), item={"GSI1PK": "x", "GSI1SK": f"{n}"})]
        )
        table.write(Put(key=(f"B#{n}", "B"), item={"GSI1PK": "x", "GSI1SK": f"{n}-"}))
        table.get(A, consistent=False)
        table.query("x", index="GSI1", limit=7)
        table.batch_get([A, ("B#1", "B")])
    assert {name for name, times in faults.counts.items() if times} == {
        "throttled",
        "conflict",
        "conflict of a single write",
        "lost request",
        "lost reply",
        "unprocessed",
        "empty page",
        "late index row",
        "old index row",
        "stale read",
    }
    assert 0.2 < faults.counts["conflict"] / 150 < 0.6


def test_the_same_seed_brings_the_same_faults(faults, new_table):
    def run() -> dict[str, int]:
        new_table()
        faults.random.seed(7)
        client.jitter.seed(7)
        faults.row = threading.local()
        faults.counts.clear()
        for n in range(40):
            put(n)
            table.query("list", index="GSI1")
        return dict(faults.counts)

    first = run()
    assert sum(first.values()) > 10
    assert run() == first


def test_an_index_shows_a_write_late_and_the_table_at_once(faults):
    calm(faults, lag=5)
    put(1)
    assert listed() == []
    item = table.get(("ROW#1", "ROW"))
    assert item is not None
    faults.wait_for_indexes()
    assert listed() == [1]


def test_an_index_shows_the_old_image_until_it_has_caught_up(faults):
    calm(faults, lag=5)
    put(1)
    put(2)
    faults.wait_for_indexes()
    put(1, partition="other")
    table.write(Delete(key=("ROW#2", "ROW")))
    assert listed() == [1, 2]
    assert listed("other") == []
    faults.wait_for_indexes()
    assert listed() == []
    assert listed("other") == [1]


def test_an_old_row_has_its_place_in_order_and_within_the_limit(faults):
    calm(faults, lag=5)
    for n in range(6):
        put(n)
    faults.wait_for_indexes()
    table.write(Delete(key=("ROW#2", "ROW")))
    assert listed(limit=3) == [0, 1, 2]
    assert listed(low="002", high="003") == [2, 3]
    assert listed(newest_first=True, limit=4) == [5, 4, 3, 2]
    assert listed(newest_first=True, high="001") == [1, 0]


def test_a_read_that_asks_for_consistency_is_never_stale(faults):
    calm(faults, lag=5)
    table.write(Put(key=A, item={"n": 1}))
    assert table.get(A) is not None
    assert table.get(A, consistent=False) is None
    assert table.batch_get([A], consistent=False) == {}
    assert table.query("A", consistent=False) == []
    assert len(table.query("A", consistent=True)) == 1
    assert len(table.batch_get([A])) == 1
    faults.wait_for_indexes()
    assert table.get(A, consistent=False) is not None


def test_an_index_never_shows_an_older_image_after_a_newer_one(faults):
    calm(faults, lag=5)
    seen = []
    for n in range(60):
        table.write(Put(key=A, item={"type": "row", "card": {"n": n}, "GSI1PK": "list", "GSI1SK": "x"}))
        seen += listed()
        faults.pause(0.4)
    assert seen == sorted(seen)
    assert len(set(seen)) > 5


def test_a_lost_reply_is_a_write_that_happened(faults):
    calm(faults, lost_replies=1)
    table.write(Put(key=A, item={"n": 1}))
    assert faults.counts["lost request"] + faults.counts["lost reply"] == 1
    assert table.get(A) is not None


def test_empty_pages_hide_nothing(faults):
    calm(faults, empty_pages=0.7)
    for n in range(20):
        put(n)
    for _ in range(5):
        assert listed(limit=5) == [0, 1, 2, 3, 4]
        assert listed() == list(range(20))
        assert len(list(table.scan_all(limit=3))) == 20
    assert faults.counts["empty page"] > 5


def test_a_write_that_was_refused_is_never_hidden_from_readers(faults):
    calm(faults, lag=5, conflicts=0.3)
    for n in range(10):
        table.transact([Put(key=(f"B#{n}", "B"), item={"type": "row", "card": {"n": n}})])
    assert len(faults.hidden[table.name()]) == 10
