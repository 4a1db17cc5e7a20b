"""A write whose answer was lost is carried out once, and says so; by an engine, too, that forgets tokens."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.table import client, errors
from dealsite.data.table.writes import (
    Check,
    Delete,
    Put,
    Update,
    Write,
    absent,
    at_least,
    at_version,
    below,
    differs,
    either,
    equals,
    exists,
    missing,
)
from tests.faults.unkind import errored
from tests.table_requests import Lost, Request, handled

A, B = ("A", "A"), ("B", "B")
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchExecuteStatement")
TAKEN = errors.AlreadyExists("Taken.")


class Forgetful:
    """An engine that knows no tokens; `loses(n)` says what happens to the n-th write: 'answer', 'request', 'nobody'.

    'failed': it answers 500 all the same.
    """

    def __init__(self) -> None:
        self.loses: Callable[[int], str] = lambda number: ""
        self.requests = 0
        self.lock = threading.Lock()

    def __call__(self, request: Request) -> Any:
        with self.lock:
            self.requests += 1
            lost = self.loses(self.requests)
        if lost == "request":
            raise Lost()
        if lost == "nobody":
            raise errors.NotSent()
        body = json.loads(request.body)
        body.pop("ClientRequestToken", None)
        answer = request.send(body=json.dumps(body).encode())
        if lost == "failed":
            return errored("InternalServerError", "Nobody knows.", 500)
        if lost == "answer":
            raise Lost()
        return answer


@pytest.fixture
def engine_of(fresh_table: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Forgetful]:
    monkeypatch.setattr(client, "pause", lambda seconds: None)
    forgetful = Forgetful()
    with handled(forgetful, *WRITES):
        yield forgetful


def lose(forgetful: Forgetful, what: str) -> None:
    """Lose something of the next write."""
    next_one = forgetful.requests + 1
    forgetful.loses = lambda number: what if number == next_one else ""


pytestmark = pytest.mark.engines("native")


@pytest.mark.parametrize("lost", ["answer", "failed", "request", "nobody"])
def test_what_is_lost_is_done_once_and_no_conflict(engine_of: Forgetful, lost: str):
    put = Put(
        key=A, item={"n": 1, "at": None, "tags": {"x"}, "list": (1, 2)}, when=(absent(),), otherwise=TAKEN
    )
    lose(engine_of, lost)
    table.write(put)
    lose(engine_of, lost)
    table.write(Update(key=A, set={"name": "Ann", "version": 1}, add={"n": 1}, when=at_version(0)))
    lose(engine_of, lost)
    table.transact(
        [Put(key=B, item={"x": 1}, when=(absent(),)), Update(key=A, add={"n": 1}, when=(exists(),))]
    )
    stored = table.get(A)
    assert stored is not None
    assert stored["n"] == 3
    lose(engine_of, lost)
    table.transact([Delete(key=B, when=(exists(),)), Update(key=A, add={"n": -1})])
    stored = table.get(A)
    assert stored is not None
    assert stored["n"] == 2
    assert table.get(B) is None
    assert engine_of.requests == 8


def test_what_somebody_else_did_stays_a_conflict(engine_of: Forgetful):
    table.write(Put(key=A, item={"owner": "ann"}))
    lose(engine_of, "request")
    with pytest.raises(errors.AlreadyExists):
        table.write(Put(key=A, item={"owner": "bob"}, when=(absent(),), otherwise=TAKEN))
    lose(engine_of, "request")
    with pytest.raises(errors.AlreadyExists):
        table.transact(
            [Put(key=A, item={"owner": "bob"}, when=(absent(),), otherwise=TAKEN), Put(key=B, item={})]
        )
    lose(engine_of, "answer")
    with pytest.raises(errors.AlreadyExists):
        table.write(Update(key=A, set={"owner": "bob"}, when=(equals("owner", "eve"),), otherwise=TAKEN))
    assert table.batch_get([A, B]) == {A: {"PK": "A", "SK": "A", "owner": "ann"}}


def test_a_conflict_without_a_lost_answer_is_not_looked_into(engine_of: Forgetful):
    table.write(Put(key=A, item={"n": 1}))
    with table.metered() as meter, pytest.raises(errors.AlreadyExists):
        table.write(Put(key=A, item={"n": 1}, when=(absent(),), otherwise=TAKEN))
    assert meter.log == [("PutItem", None)]


@pytest.mark.parametrize("lost", ["answer", "failed"])
def test_what_could_be_counted_twice_is_not_sent_again(engine_of: Forgetful, lost: str):
    lose(engine_of, lost)
    with pytest.raises(errors.OutcomeUnknown):
        table.write(Update(key=A, set={"type": "Count"}, add={"n": 1}))
    assert engine_of.requests == 1
    lose(engine_of, "nobody")  # what reached nobody was not counted
    table.write(Update(key=A, set={"type": "Count"}, add={"n": 1}))
    stored = table.get(A)
    assert stored is not None
    assert stored["n"] == 2


@pytest.mark.parametrize("lost", ["answer", "failed"])
def test_where_nothing_tells_it_is_unavailable_and_no_conflict(engine_of: Forgetful, lost: str):
    lose(engine_of, lost)
    with pytest.raises(errors.OutcomeUnknown, match="not known whether"):
        table.write(Update(key=A, add={"n": 1}, when=(missing("n"),)))


@pytest.mark.parametrize("lost", ["answer", "failed", "request"])
def test_inserted_once_whatever_was_lost(engine_of: Forgetful, lost: str):
    table.write(Put(key=("K0", "K"), item={"mine": False}))
    lose(engine_of, lost)
    items = [{"PK": f"K{n}", "SK": "K", "mine": True} for n in range(30)]
    assert table.insert(items) == (29 if lost == "request" else 5)  # the first 25 are there when asked again
    lose(engine_of, lost)
    assert table.insert(items) == 0


@pytest.mark.parametrize("lost", ["answer", "failed", "request"])
def test_of_two_who_write_the_same_only_one_is_told_that_it_was_theirs(engine_of: Forgetful, lost: str):
    table.write(Put(key=A, item={"step": 7}))
    use = Update(key=A, set={"step": 8}, when=(below("step", 8),), once=True)
    table.transact([use, Update(key=B, set={"used": True})])
    lose(engine_of, lost)
    with pytest.raises(errors.Unavailable):
        table.transact([use])
    lose(engine_of, lost)
    with pytest.raises(errors.Unavailable):
        table.transact([use, Update(key=B, set={"used": True})])


def test_many_threads_whose_answers_are_lost_count_what_they_are_told(engine_of: Forgetful):
    dice, done, lock = random.Random(13), [0], threading.Lock()
    engine_of.loses = lambda number: dice.choice(["answer", "failed", "request", "", "", ""])

    def work(thread: int) -> None:
        for number in range(12):
            try:
                put = Put(key=(f"T{thread}", f"{number}"), item={"by": thread}, when=(absent(),))
                table.transact([put, Update(key=A, add={"n": 1})])
            except errors.Unavailable:
                continue
            with lock:
                done[0] += 1

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    stored, items = table.get(A), [item for item in table.scan_all(consistent=True) if item["PK"] != "A"]
    assert stored is not None
    assert stored["n"] == len(items) >= done[0] > 30  # no item without its count, and none twice


GUARDED: dict[str, tuple[Write, bool, bool]] = {
    "a new item": (Put(key=A, item={}, when=(absent(),)), False, True),
    "any item": (Put(key=A, item={}), False, False),
    "what is there": (Delete(key=A, when=(exists(),)), False, True),
    "anything": (Delete(key=A), False, False),
    "a version": (Update(key=A, add={"version": 1}, when=at_version(3)), True, True),
    "a first version": (Update(key=A, add={"version": 1}, when=at_version(0)), True, True),
    "a state": (Update(key=A, set={"s": "new"}, add={"n": 1}, when=(equals("s", "old"),)), True, True),
    "the same state": (
        Update(key=A, set={"s": "old"}, add={"n": 1}, when=(equals("s", "old"),)),
        True,
        False,
    ),
    "another attribute": (Update(key=A, add={"n": 1}, when=(equals("s", "old"), exists())), True, False),
    "enough": (Update(key=A, add={"n": -1}, when=(at_least("n", 1),)), True, False),
    "few": (Update(key=A, add={"n": 1}, when=(either(missing("n"), below("n", 9)),)), True, False),
    "a difference": (Update(key=A, add={"n": 1}, when=(differs("n", 1),)), True, False),
    "members": (Update(key=A, add={"tags": {"x"}}), False, False),
    "nothing": (Check(key=A, when=(absent(),)), False, False),
}


@pytest.mark.parametrize(("action", "counts", "is_guarded"), GUARDED.values(), ids=GUARDED)
def test_which_writes_may_be_sent_again(action: Write, counts: bool, is_guarded: bool):
    assert (client.repeat_counts(action), client.is_guarded(action)) == (counts, is_guarded)
