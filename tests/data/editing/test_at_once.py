"""What a request does to several deals: each once, however often it is sent, and a worker does what it leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.catalogue import deal_changes, deals, featured
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.entities.imports import CHANGED, REFUSED
from dealsite.data.jobs import jobs, queue
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.worker import bulk as running
from dealsite.worker.bulk import Outcome, change_at_once, undo_at_once
from tests.builders import DAY, EDITOR, HOUR, NOW, Clock, make_category, make_deal, make_id
from tests.data.editing.verb_cases import KEYBOARDS, MINUTE, edit
from tests.jobs import run_next

pytestmark = pytest.mark.usefixtures("whole_table", "all_are_editors")
JOB, UNDO = make_id(NOW, 1), make_id(NOW + HOUR, 2)
CHEAPER = BulkChange("deal", "price", "-10%")
TO_TOYS = BulkChange("deal", "category", "toys-hobbies")
FULL, REDUCED = Decimal("20.00"), Decimal("18.00")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A request takes no time, unless a test says so."""
    clock = Clock()
    monkeypatch.setattr(running, "monotonic", clock)
    return clock


@pytest.fixture
def work(wait_for_indexes: Callable[[], None]) -> Callable[..., int]:
    """Have workers do what is left; returns how often they did something."""

    def run(now: Any = NOW + MINUTE) -> int:
        for turn in range(100):
            wait_for_indexes()
            if not run_next(now=now + turn * MINUTE / 60):
                return turn
        raise AssertionError("It never ends.")

    return run


@pytest.fixture
def made() -> list[deals.Deal]:
    """Three deals for 20.00 each, by their ids."""
    make_category("toys-hobbies")
    return [
        make_deal(live_at=NOW - (9 - n) * HOUR, now=NOW - DAY, title=f"Deal {n}", price=FULL)
        for n in range(3)
    ]


def do(change: BulkChange, made: list[deals.Deal], *, now: Any = NOW) -> Outcome:
    ids = [deal.id for deal in made]
    return change_at_once(change, ids, job_id=JOB, by=EDITOR, asked_at=NOW, now=now)


def take_back() -> Outcome:
    return undo_at_once(bulk.get(JOB), undo_id=UNDO, by="oscar", now=NOW + HOUR)


def prices(made: list[deals.Deal]) -> list[Decimal | None]:
    found = deals.get_many([deal.id for deal in made])
    return [found[deal.id].content.price for deal in made]


def versions(made: list[deals.Deal]) -> list[int]:
    return [deals.get(deal.id).version for deal in made]


def counts(job_id: str = JOB) -> tuple[str, int, int, int]:
    job = jobs.get(job_id)
    return job.state, job.progress["total"], job.progress["changed"], job.progress["refused"]


def log_of(note: str) -> list[str]:
    rows = [row for row in table.scan_all(consistent=True) if row["type"] == "AuditEntry"]
    return sorted(row["card"]["subject"] for row in rows if row["card"].get("note") == note)


def test_several_are_changed_at_once_and_taken_back(made, work):
    outcome = do(CHEAPER, made)
    assert [row.id for row in outcome.changed] == [deal.id for deal in made]
    assert (outcome.job_id, outcome.refused, outcome.is_over) == (JOB, [], True)
    assert outcome.changed == bulk.rows(JOB, CHANGED)
    assert (prices(made), counts()) == ([REDUCED] * 3, ("done", 3, 3, 0))
    assert log_of(f"Job {JOB}") == [deal.id for deal in made]
    assert log_of("deal: price -10%") == [JOB]
    undone = take_back()
    assert undone.changed == bulk.rows(UNDO, CHANGED)
    assert (undone.job_id, undone.refused, undone.is_over) == (UNDO, [], True)
    assert (prices(made), counts(UNDO)) == ([FULL] * 3, ("done", 3, 3, 0))
    assert log_of(UNDO) == [JOB]
    assert work(NOW + DAY) == 0


def test_one_that_is_left_alone_does_not_stop_the_others(made, work):
    edit("deal", made[1].id, by=EDITOR, category="toys-hobbies")
    outcome = do(TO_TOYS, made)
    assert [row.id for row in outcome.changed] == [made[0].id, made[2].id]
    (refused,) = outcome.refused
    assert (refused.id, refused.title, refused.reason) == (
        made[1].id,
        "Deal 1",
        "It is in this category already.",
    )
    assert (outcome.refused, outcome.is_over) == (bulk.rows(JOB, REFUSED), True)
    assert counts() == ("done", 3, 2, 1)
    assert [row.id for row in take_back().changed] == [made[0].id, made[2].id]
    assert [deals.get(deal.id).content.category for deal in made] == [KEYBOARDS, "toys-hobbies", KEYBOARDS]
    assert work(NOW + DAY) == 0


def test_where_all_are_left_alone_there_is_nothing_to_undo(made):
    outcome = do(BulkChange("deal", "category", KEYBOARDS), made)
    assert (len(outcome.refused), outcome.changed, outcome.is_over) == (3, [], True)
    assert counts() == ("done", 3, 0, 3)
    with pytest.raises(Conflict, match="nothing to undo"):
        take_back()


@pytest.mark.parametrize(
    "change", [CHEAPER, TO_TOYS, BulkChange("deal", "delete")], ids=lambda one: one.action
)
def test_the_same_request_again_changes_nothing_more(change, made):
    edit("deal", made[1].id, category="toys-hobbies")  # of somebody else: it is left alone
    first = do(change, made, now=NOW + HOUR)
    there = deals.get_many([deal.id for deal in made])
    again = do(change, made, now=NOW + 2 * HOUR)
    assert (again.job_id, again.is_over) == (JOB, True)
    assert (again.changed, again.refused) == (first.changed, first.refused)
    assert [row.reason for row in first.refused] == ["olga changed it meanwhile."]
    assert deals.get_many([deal.id for deal in made]) == there


def test_an_undo_of_several_that_was_begun_twice_is_done_once(made):
    do(CHEAPER, made)
    as_seen = bulk.get(JOB)
    first = take_back()
    assert undo_at_once(as_seen, undo_id=UNDO, by="oscar", now=NOW + HOUR) == first
    with pytest.raises(Conflict, match="undone already"):
        undo_at_once(as_seen, undo_id=make_id(NOW + HOUR), by="oscar", now=NOW + HOUR)
    assert versions(made) == [3] * 3


def test_what_others_changed_since_of_several_stays_and_is_reported(made):
    do(CHEAPER, made)
    edit("deal", made[0].id, price=Decimal("5.00"))
    undone = take_back()
    assert [(row.id, row.reason) for row in undone.refused] == [(made[0].id, "olga changed it since.")]
    assert prices(made) == [Decimal("5.00"), FULL, FULL]
    assert counts(UNDO) == ("done", 3, 2, 1)


def test_featured_deals_come_one_after_the_other(made):
    do(BulkChange("deal", "feature", "front"), made)
    assert featured.get("front").ids == [deal.id for deal in made]
    take_back()
    assert featured.get("front").ids == []


# What a request does not come to


@contextmanager
def slow(clock: Clock, seconds: float) -> Iterator[None]:
    """Let each change of a deal take so long."""
    save = deal_changes.edit

    def slowly(*args: Any, **more: Any) -> deals.Deal:
        clock.now += seconds
        return save(*args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deal_changes, "edit", slowly)
        yield


@pytest.mark.parametrize(("seconds", "at_once"), [(0.9, 3), (1.1, 2), (9.0, 1)])
def test_after_two_seconds_a_worker_goes_on(seconds, at_once, made, work, clock):
    with slow(clock, seconds):
        outcome = do(CHEAPER, made)
    assert [row.id for row in outcome.changed] == [deal.id for deal in made[:at_once]]
    assert outcome.is_over == (at_once == 3)
    assert prices(made) == [REDUCED] * at_once + [FULL] * (3 - at_once)
    assert do(CHEAPER, made).is_over == outcome.is_over
    assert work() == (0 if at_once == 3 else 1)
    assert (prices(made), versions(made)) == ([REDUCED] * 3, [2] * 3)
    assert (counts(), len(bulk.rows(JOB, CHANGED))) == (("done", 3, 3, 0), 3)


def test_after_two_seconds_a_worker_goes_on_with_an_undo(made, work, clock):
    do(CHEAPER, made)
    with slow(clock, 1.1):
        undone = take_back()
    assert ([row.id for row in undone.changed], undone.is_over) == ([deal.id for deal in made[:2]], False)
    assert work(NOW + HOUR + MINUTE) == 1
    assert (prices(made), versions(made), counts(UNDO)) == ([FULL] * 3, [3] * 3, ("done", 3, 3, 0))


def test_one_alone_is_changed_however_late_it_is(made, monkeypatch):
    monkeypatch.setattr(running, "AT_ONCE_SECONDS", 0.0)
    assert [row.id for row in do(CHEAPER, made[:1]).changed] == [made[0].id]
    assert prices(made) == [REDUCED, FULL, FULL]


def test_what_an_editor_cancels_while_it_is_done_is_said_as_far_as_it_came(made, monkeypatch, work):
    save = deal_changes.edit

    def then_cancel(*args: Any, **more: Any) -> deals.Deal:
        deal = save(*args, **more)
        queue.cancel(JOB, by="oscar", now=NOW)
        return deal

    monkeypatch.setattr(deal_changes, "edit", then_cancel)
    outcome = do(CHEAPER, made)
    assert ([row.id for row in outcome.changed], outcome.is_over) == ([made[0].id], True)
    assert (prices(made), counts()) == ([REDUCED, FULL, FULL], ("cancelled", 3, 1, 0))
    monkeypatch.setattr(deal_changes, "edit", save)
    take_back()
    assert (prices(made), work(NOW + DAY)) == ([FULL] * 3, 0)


def test_what_is_ordered_by_a_request_is_no_workers_until_its_lease_is_over(made, work):
    targets = [bulk.BulkTarget(deal.id, deal.content.title, "") for deal in made]
    when: dict[str, Any] = {"by": EDITOR, "asked_at": NOW, "now": NOW}
    bulk.start(CHEAPER, job_id=JOB, targets=targets, taken_by=make_id(NOW), **when)
    assert jobs.take_next(now=NOW + jobs.LEASE / 2) is None
    assert work(NOW + 2 * jobs.LEASE) == 1
    assert counts()[0] == "done"


def test_one_that_is_gone_is_reported_beside_what_was_changed(made):
    gone = replace(made[0], id=make_id())
    outcome = do(CHEAPER, [gone, *made])
    assert [row.id for row in outcome.changed] == [deal.id for deal in made]
    assert [(row.id, row.reason) for row in outcome.refused] == [(gone.id, "It was deleted meanwhile.")]
    assert (prices(made), counts()) == ([REDUCED] * 3, ("done", 4, 3, 1))


def test_of_several_that_are_all_gone_each_is_said_to_be():
    ids = [make_id(), make_id()]
    outcome = change_at_once(CHEAPER, ids, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW)
    assert [(row.id, row.reason) for row in outcome.refused] == [
        (one, "It was deleted meanwhile.") for one in ids
    ]
    with pytest.raises(NotFound):
        jobs.get(JOB)
