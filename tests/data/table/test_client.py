"""The one module that talks to DynamoDB: what it asks, and how failures come out."""

from __future__ import annotations

import threading

import pytest

from dealsite.data import table
from dealsite.data.table import client, errors, meters
from dealsite.data.table.writes import (
    Check,
    Delete,
    Put,
    Update,
    absent,
    at_least,
    contains,
    equals,
    exists,
    missing,
)
from tests.table_requests import Lost, Request, handled

pytestmark = [pytest.mark.engines_differ, pytest.mark.usefixtures("fresh_table")]
A = ("A", "A")


def put_row(n: int, partition: str = "list") -> None:
    table.write(
        Put(
            key=(f"ROW#{n:03d}", "ROW"),
            item={"type": "row", "card": {"n": n}, "more": "x", "GSI1PK": partition, "GSI1SK": f"{n:03d}"},
        )
    )


def numbers(rows: list) -> list[int]:
    return [row["card"]["n"] for row in rows]


def test_an_item_that_is_not_there_is_none():
    assert table.get(A) is None


@pytest.mark.moto
def test_a_put_is_read_back_at_once():
    table.write(Put(key=A, item={"x": 1}))
    assert table.get(A) == {"PK": "A", "SK": "A", "x": 1}


def test_a_failed_condition_is_the_error_that_the_write_names():
    table.write(Put(key=A, item={"x": 1}))
    with pytest.raises(errors.AlreadyExists, match="Taken"):
        table.write(Put(key=A, item={"x": 2}, when=(absent(),), otherwise=errors.AlreadyExists("Taken.")))
    with pytest.raises(errors.NotFound):
        table.write(Delete(key=("B", "B"), when=(exists(),), otherwise=errors.NotFound()))
    with pytest.raises(errors.Conflict):
        table.write(Update(key=A, set={"x": 3}, when=(equals("x", 2),)))
    assert table.get(A) == {"PK": "A", "SK": "A", "x": 1}


def test_a_transaction_is_all_or_nothing_and_names_the_first_failed_condition():
    table.write(Put(key=A, item={"n": 1}))
    with pytest.raises(errors.TooManyRequests):
        table.transact(
            [
                Update(key=A, add={"n": 1}),
                Put(key=("B", "B"), item={}),
                Check(key=("C", "C"), when=(exists(),), otherwise=errors.TooManyRequests()),
                Check(key=("D", "D"), when=(exists(),), otherwise=errors.NotFound()),
            ]
        )
    assert table.get(A) == {"PK": "A", "SK": "A", "n": 1}
    assert table.get(("B", "B")) is None


def test_a_transaction_whose_answer_was_lost_counts_once():
    for _ in range(20):
        table.transact([Update(key=A, add={"n": 1}), Update(key=("B", "B"), add={"n": 1})])
    item = table.get(A)
    assert item is not None
    assert item["n"] == 20


def test_conditions_hold_what_they_say():
    table.write(Put(key=A, item={"n": 2, "pages": {"front"}, "card": {"x": 1}}))
    for holding in (
        at_least("n", 2),
        contains("pages", "front"),
        equals(("card", "x"), 1),
        missing("z"),
        exists(),
    ):
        table.transact([Check(key=A, when=(holding,)), Update(key=("B", "B"), add={"n": 1})])
    for failing in (
        at_least("n", 3),
        contains("pages", "toys"),
        equals(("card", "x"), 2),
        missing("n"),
        absent(),
    ):
        with pytest.raises(errors.Conflict):
            table.transact([Check(key=A, when=(failing,)), Update(key=("B", "B"), add={"n": 1})])
    item = table.get(("B", "B"))
    assert item is not None
    assert item["n"] == 5


def test_a_batch_holds_what_exists_and_asks_for_a_key_once():
    for n in range(150):
        put_row(n)
    wanted = [(f"ROW#{n:03d}", "ROW") for n in range(160)]
    found = table.batch_get([*wanted, *wanted])
    assert sorted(found) == wanted[:150]
    assert found[wanted[7]]["more"] == "x"


@pytest.mark.budget
def test_a_batch_is_one_call_for_each_hundred_keys():
    for n in range(120):
        put_row(n)
    with table.metered() as meter:
        table.batch_get([(f"ROW#{n:03d}", "ROW") for n in range(120)])
    assert meter.log == [("BatchGetItem", None)] * 2


def test_ranges_include_both_ends_in_both_directions(wait_for_indexes):
    for n in range(30):
        put_row(n)
    wait_for_indexes()
    assert numbers(table.query("list", index="GSI1", low="005", high="008")) == [5, 6, 7, 8]
    assert numbers(table.query("list", index="GSI1", low="005", high="008", newest_first=True)) == [
        8,
        7,
        6,
        5,
    ]
    assert numbers(table.query("list", index="GSI1", low="027")) == [27, 28, 29]
    assert numbers(table.query("list", index="GSI1", high="002", newest_first=True)) == [2, 1, 0]
    assert numbers(table.query("list", index="GSI1", limit=2)) == [0, 1]
    assert table.query("list", index="GSI1", low="9", high="1") == []
    assert table.query("other", index="GSI1") == []


def test_pages_of_a_query_hold_every_row_once(wait_for_indexes):
    for n in range(25):
        put_row(n)
    wait_for_indexes()
    seen, start = [], None
    while True:
        rows = table.query_page("list", index="GSI1", limit=7, start=start)
        assert len(rows.items) <= 7
        seen += numbers(rows.items)
        start = rows.start
        if start is None:
            break
    assert seen == list(range(25))


def test_an_index_row_holds_its_card_and_no_more(wait_for_indexes):
    put_row(1)
    wait_for_indexes()
    (row,) = table.query("list", index="GSI1")
    assert row == {
        "PK": "ROW#001", "SK": "ROW", "type": "row", "card": {"n": 1}, "GSI1PK": "list", "GSI1SK": "001",
    }  # fmt: skip


def test_an_item_without_index_keys_is_in_no_index(wait_for_indexes):
    table.write(Put(key=A, item={"type": "row", "card": {}}))
    wait_for_indexes()
    assert table.scan_page(index="GSI1").items == []


def test_a_scan_sees_every_item_once():
    for n in range(40):
        put_row(n)
    found = sorted(item["PK"] for item in table.scan_all(limit=7, consistent=True))
    assert found == [f"ROW#{n:03d}" for n in range(40)]


def test_prefixes_are_told_apart_by_letter_case():
    for sort in ("LIKE#a", "LIKE#b", "like#c", "LIKF"):
        table.write(Put(key=("USER", sort), item={}))
    low, high = "LIKE#", "LIKE#\U0010ffff"
    assert [item["SK"] for item in table.query("USER", low=low, high=high, consistent=True)] == [
        "LIKE#a",
        "LIKE#b",
    ]


@pytest.mark.budget
def test_a_meter_counts_calls_units_and_indexes():
    put_row(1)
    with table.metered() as outer:
        table.get(A)
        with table.metered() as inner:
            table.query("list", index="GSI1")
        table.write(Put(key=A, item={"x": 1}))
    assert outer.log == [("GetItem", None), ("Query", "GSI1"), ("PutItem", None)]
    assert inner.log == [("Query", "GSI1")]
    assert outer.calls == 3
    assert outer.read_units == 1.5
    assert outer.write_units == 1.0
    assert outer.milliseconds > 0


@pytest.mark.budget
def test_the_meter_agrees_with_what_leaves_the_client():
    sent = []

    with handled(lambda request: sent.append(request.operation)), table.metered() as meter:
        put_row(1)
        table.get(A)
        table.batch_get([A])
        table.query("list", index="GSI1")
        table.transact([Put(key=A, item={})])
        table.call("DescribeTable", TableName=table.name())
    assert [operation for operation, _ in meter.log] == sent
    assert len(sent) == 6


def test_a_missing_table_says_how_to_make_it(settings):
    settings.DEALSITE_TABLE = "no-such-table"
    with pytest.raises(errors.Misconfigured) as missing:
        table.get(A)
    assert "setup_site" in missing.value.reason
    with pytest.raises(errors.NotFound, match="setup_site"):
        table.call("DescribeTable", TableName="no-such-table")


def test_an_item_beyond_400_kb_is_refused_as_too_much():
    with pytest.raises(errors.Invalid, match="too much"):
        table.write(Put(key=A, item={"text": "x" * 410_000}))


def test_an_index_is_never_asked_for_consistency():
    with pytest.raises(ValueError, match="consistently"):
        table.query("list", index="GSI1", consistent=True)


def test_counters_of_many_threads_add_up():
    def add() -> None:
        for _ in range(10):
            table.transact([Update(key=A, add={"n": 1}), Update(key=("B", "B"), add={"n": 1})])

    threads = [threading.Thread(target=add) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    item = table.get(A)
    assert item is not None
    assert item["n"] == 60


def test_a_call_that_failed_is_not_counted_as_answered(monkeypatch):
    seen: list[meters.Call] = []
    monkeypatch.setattr(meters, "_called", frozenset([seen.append]))
    with pytest.raises(errors.NotFound):
        table.call("DescribeTable", TableName="not-there")
    monkeypatch.setattr(client, "pause", lambda seconds: None)
    with handled(lose), pytest.raises(errors.Unavailable):
        table.call("DescribeTable", TableName="not-there")
    assert [one.outcome for one in seen] == ["refused", "unanswered", "unanswered"]


def lose(request: Request) -> None:
    raise Lost()
