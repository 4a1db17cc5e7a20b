"""Two workers at one bulk change, and editors at work meanwhile: each deal is changed once, nobody's work is lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.catalogue import brands, deal_changes, deals
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange, BulkTarget
from dealsite.data.entities.imports import CHANGED, REFUSED
from dealsite.data.jobs import jobs, queue
from dealsite.data.table import errors
from dealsite.worker import bulk as running
from dealsite.worker.bulk import Outcome, change_at_once, undo_at_once
from tests import races
from tests.builders import DAY, EDITOR, HOUR, NOW, make_category, make_deal, make_id
from tests.jobs import run_next

pytestmark = [
    pytest.mark.engines("native", "local"),
    pytest.mark.engines_differ,
    pytest.mark.usefixtures("whole_table", "all_are_editors"),
]
JOB = make_id(NOW, 1)
SECOND = timedelta(seconds=1)
TO_TOYS = BulkChange("deal", "category", "toys-hobbies")
WAS = "peripherals-networking"


def make_deals(number: int) -> list[deals.Deal]:
    make_category("toys-hobbies")
    make_category("audio-tv-photo")
    return [make_deal(live_at=NOW - (n + 2) * HOUR, now=NOW - DAY, title=f"Deal {n}") for n in range(number)]


def order(made: list[deals.Deal]) -> None:
    targets = [BulkTarget(deal.id, deal.content.title, WAS) for deal in made]
    bulk.start(TO_TOYS, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW, targets=targets)


def take() -> jobs.Job:
    job = jobs.take_next(now=NOW + SECOND)
    assert job is not None
    return job


def edit(deal: deals.Deal, **changes: Any) -> deals.Deal:
    for _ in range(20):
        now = deals.get(deal.id)
        content = replace(now.content, **changes)
        try:
            return deal_changes.edit(
                now, content, version=now.version, brand=brands.get("nordlicht"), by="olga", now=NOW + SECOND
            )
        except errors.VersionConflict:
            continue
    raise AssertionError("It never gets through.")


def test_an_order_that_is_sent_many_times_is_one():
    made = make_deals(2)
    outcomes = races.at_once(*[partial(order, made)] * 6)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == [*["DoneBefore"] * 5, "NoneType"]
    assert run_next(now=NOW + SECOND)
    assert not run_next(now=NOW + 2 * SECOND)
    assert [deals.get(deal.id).version for deal in made] == [2, 2]


def test_a_worker_whose_lease_is_over_changes_nothing_beside_the_next_one():
    made = make_deals(6)
    order(made)
    first = take()
    second = jobs.take_next(now=NOW + SECOND + 2 * jobs.LEASE)
    assert second is not None
    outcomes = races.at_once(
        partial(running.change_many, first, NOW + SECOND), partial(running.change_many, second, NOW + SECOND)
    )
    assert isinstance(outcomes[0], bulk.NotOurs | errors.Conflict)
    assert outcomes[1] is None
    assert [deals.get(deal.id).version for deal in made] == [2] * 6
    assert jobs.get(JOB).progress["changed"] == len(bulk.rows(JOB, CHANGED)) == 6


def test_two_workers_collect_a_list_once(monkeypatch):
    monkeypatch.setattr(running, "CHUNK", 2)
    made = make_deals(6)
    bulk.start(TO_TOYS, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW, matching=DealFilter())
    first = take()
    second = jobs.take_next(now=NOW + SECOND + 2 * jobs.LEASE)
    races.at_once(
        partial(running.change_many, first, NOW + SECOND), partial(running.change_many, second, NOW + SECOND)
    )
    chunks = [row for row in table.scan_all(consistent=True) if row["type"] == "BulkChunk"]
    collected = sorted(subject["id"] for chunk in chunks for subject in chunk["subjects"])
    assert collected == sorted(deal.id for deal in made)
    later = NOW + SECOND + 3 * jobs.LEASE
    while run_next(now=later):
        later += SECOND
    assert [deals.get(deal.id).version for deal in made] == [2] * 6


def test_an_editor_at_the_same_deals_keeps_what_he_wrote():
    made = make_deals(8)
    order(made)
    races.at_once(
        lambda: run_next(now=NOW + SECOND),
        lambda: [edit(deal, title="Mine") for deal in made],
        lambda: [edit(deal, category="audio-tv-photo") for deal in made[::2]],
    )
    refused = {row.id for row in bulk.rows(JOB, REFUSED)}
    changed = {row.id for row in bulk.rows(JOB, CHANGED)}
    assert refused | changed == {deal.id for deal in made}
    assert not refused & changed
    for number, deal in enumerate(made):
        content = deals.get(deal.id).content
        assert content.title == "Mine"
        if number % 2:
            assert content.category == "toys-hobbies"
        else:  # the editor's category stands, before the job's turn or after it
            assert content.category == "audio-tv-photo"


def test_cancelling_at_any_moment_leaves_the_count_right():
    made = make_deals(10)
    order(made)
    races.at_once(lambda: run_next(now=NOW + SECOND), lambda: queue.cancel(JOB, by=EDITOR, now=NOW + SECOND))
    job = jobs.get(JOB)
    changed = [deal for deal in made if deals.get(deal.id).content.category == "toys-hobbies"]
    assert job.progress["changed"] == len(changed) == len(bulk.rows(JOB, CHANGED))
    assert job.state == ("done" if len(changed) == 10 else "cancelled")


def test_of_two_who_undo_one_does():
    made = make_deals(2)
    order(made)
    run_next(now=NOW + SECOND)
    ids = [make_id(NOW + HOUR, number) for number in (5, 6, 7)]
    outcomes = races.at_once(
        *(partial(bulk.undo, bulk.get(JOB), undo_id=one, by=EDITOR, now=NOW + HOUR) for one in ids)
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict", "Conflict", "Job"]
    while run_next(now=NOW + HOUR + SECOND):
        pass
    assert [deals.get(deal.id).version for deal in made] == [3, 3]


# What is done within a request


CHEAPER = BulkChange("deal", "price", "-10%")
END = BulkChange("deal", "expire")


def do(
    change: BulkChange,
    made: list[deals.Deal],
    *,
    job_id: str = JOB,
    by: str = EDITOR,
    asked_at: datetime = NOW,
) -> Outcome:
    ids = [deal.id for deal in made]
    return change_at_once(change, ids, job_id=job_id, by=by, asked_at=asked_at, now=asked_at + SECOND)


def done(outcomes: list[Any]) -> list[int]:
    """How many deals each of some requests changed, the fewest first."""
    assert all(isinstance(outcome, Outcome) for outcome in outcomes), outcomes
    return sorted(len(outcome.changed) for outcome in outcomes)


@pytest.mark.parametrize("change", [CHEAPER, TO_TOYS, END, BulkChange("deal", "duplicate")])
def test_a_request_for_one_deal_that_is_sent_many_times_is_one(change):
    made = make_deals(1)
    outcomes = races.at_once(*[partial(do, change, made)] * 5)
    assert outcomes == [outcomes[0]] * 5
    assert outcomes[0].changed == bulk.rows(JOB, CHANGED)
    assert jobs.get(JOB).progress["changed"] == 1
    copies = [row for row in table.scan_all(consistent=True) if row["type"] == "Draft"]
    assert deals.get(made[0].id).version + len(copies) == 2


def test_a_request_for_several_deals_that_is_sent_many_times_is_one():
    made = make_deals(4)
    outcomes = races.at_once(*[partial(do, CHEAPER, made)] * 4)
    assert done(outcomes)[-1] == 4
    assert [deals.get(deal.id).version for deal in made] == [2] * 4
    assert (jobs.get(JOB).state, jobs.get(JOB).progress["changed"]) == ("done", 4)


@pytest.mark.parametrize("change", [CHEAPER, END])
def test_of_several_editors_who_change_the_same_value_of_one_deal_one_does(change):
    made = make_deals(1)
    outcomes = races.at_once(
        *(partial(do, change, made, job_id=make_id(NOW, 10 + n), by=f"editor{n}") for n in range(4))
    )
    assert done(outcomes) == [0, 0, 0, 1]
    (winner,) = (outcome for outcome in outcomes if outcome.changed)
    assert deals.get(made[0].id).version == 2
    assert jobs.get(winner.job_id).state == "done"
    for outcome in outcomes:
        if outcome is not winner:
            assert (len(outcome.refused), outcome.job_id) == (1, "")


def test_a_worker_that_takes_over_from_a_request_that_goes_on_changes_nothing_twice():
    made = make_deals(6)
    outcomes = races.at_once(
        partial(do, CHEAPER, made),
        lambda: [run_next(now=NOW + 2 * jobs.LEASE + n * jobs.LEASE) for n in range(20)],
    )
    while run_next(now=NOW + DAY):
        pass
    assert isinstance(outcomes[0], Outcome)
    assert [deals.get(deal.id).version for deal in made] == [2] * 6
    job = jobs.get(JOB)
    assert (job.state, job.progress["changed"], job.progress["refused"]) == ("done", 6, 0)
    assert len(bulk.rows(JOB, CHANGED)) == 6


@pytest.mark.parametrize("number", [1, 3])
def test_of_several_who_undo_at_once_one_does(number):
    made = make_deals(number)
    do(CHEAPER, made)
    as_seen, ids = bulk.get(JOB), [make_id(NOW + HOUR, 20 + n) for n in range(4)]
    outcomes = races.at_once(
        *(partial(undo_at_once, as_seen, undo_id=one, by=EDITOR, now=NOW + HOUR) for one in ids)
    )
    did = [one for one in outcomes if isinstance(one, Outcome) and one.changed]
    assert [len(one.changed) for one in did] == [number]
    for one in outcomes:  # of one alone it is said as what stood against it, of several for all of them
        assert one in did or (one.job_id == "" if number == 1 else isinstance(one, errors.Conflict))
    assert [deals.get(deal.id).version for deal in made] == [3] * number
    assert bulk.get(JOB).undone_by == did[0].job_id


@pytest.mark.parametrize("number", [1, 3])
def test_beside_an_undo_a_change_of_the_same_value_is_done_before_it_or_not_at_all(number):
    made, other = make_deals(number), make_id(NOW + HOUR, 30)
    do(CHEAPER, made)
    as_seen = bulk.get(JOB)
    undone, changed = races.at_once(
        partial(undo_at_once, as_seen, undo_id=make_id(NOW + HOUR, 31), by="oscar", now=NOW + HOUR + SECOND),
        partial(do, CHEAPER, made, job_id=other, by="olga", asked_at=NOW + HOUR),
    )
    by_undo, by_change = ({row.id for row in one.changed} for one in (undone, changed))
    assert (by_undo | by_change, by_undo & by_change) == ({deal.id for deal in made}, set())
    for deal in made:
        price = deal.content.price if deal.id in by_undo else Decimal("64.72")
        assert deals.get(deal.id).content.price == price
