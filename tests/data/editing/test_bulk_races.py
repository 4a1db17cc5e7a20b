"""Two workers at one bulk change, and editors at work meanwhile: each deal is changed once, nobody's work is lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.catalogue import brands, deals
from dealsite.data.catalogue.deal import editing
from dealsite.data.catalogue.deal_lists import DealFilter
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange, BulkTarget
from dealsite.data.editing.bulk_change import bulk_progress
from dealsite.data.entities.batches import CHANGED, REFUSED
from dealsite.data.jobs import job_actions, jobs
from dealsite.data.table import errors
from dealsite.worker import bulk as running
from dealsite.worker import loop
from tests import races
from tests.builders import DAY, EDITOR, HOUR, NOW, make_category, make_deal, make_id

pytestmark = [
    pytest.mark.engines("native", "local"),
    pytest.mark.engines_differ,
    pytest.mark.usefixtures("whole_table", "all_are_editors"),
]
JOB = make_id(NOW, 1)
SECOND = timedelta(seconds=1)
TO_TOYS = BulkChange("deal", bulk.CATEGORY, "toys-hobbies")
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
            return editing.edit(
                now, content, version=now.version, brand=brands.get("nordlicht"), by="olga", now=NOW + SECOND
            )
        except errors.VersionConflict:
            continue
    raise AssertionError("It never gets through.")


def test_an_order_that_is_sent_many_times_is_one():
    made = make_deals(2)
    assert races.at_once(*[partial(order, made)] * 6) == [None] * 6
    assert loop.run_next(now=NOW + SECOND)
    assert not loop.run_next(now=NOW + 2 * SECOND)
    assert [deals.get(deal.id).version for deal in made] == [2, 2]


def test_a_worker_whose_lease_is_over_changes_nothing_beside_the_next_one():
    made = make_deals(6)
    order(made)
    first = take()
    second = jobs.take_next(now=NOW + SECOND + 2 * jobs.LEASE)
    assert second is not None
    outcomes = races.at_once(
        partial(running.change_many, first, NOW + SECOND),
        partial(running.change_many, second, NOW + SECOND),
    )
    assert isinstance(outcomes[0], bulk_progress.NotOurs | errors.Conflict)
    assert outcomes[1] is None
    assert [deals.get(deal.id).version for deal in made] == [2] * 6
    assert jobs.get(JOB).progress["changed"] == len(bulk_progress.rows(JOB, CHANGED)) == 6


def test_two_workers_collect_a_list_once(monkeypatch):
    monkeypatch.setattr(running, "CHUNK", 2)
    made = make_deals(6)
    bulk.start(TO_TOYS, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW, matching=DealFilter())
    first = take()
    second = jobs.take_next(now=NOW + SECOND + 2 * jobs.LEASE)
    races.at_once(
        partial(running.change_many, first, NOW + SECOND),
        partial(running.change_many, second, NOW + SECOND),
    )
    chunks = [row for row in table.scan_all(consistent=True) if row["type"] == "BulkChunk"]
    collected = sorted(subject["id"] for chunk in chunks for subject in chunk["subjects"])
    assert collected == sorted(deal.id for deal in made)
    assert [deals.get(deal.id).version for deal in made] == [2] * 6


def test_an_editor_at_the_same_deals_keeps_what_he_wrote():
    made = make_deals(8)
    order(made)
    races.at_once(
        lambda: loop.run_next(now=NOW + SECOND),
        lambda: [edit(deal, title="Mine") for deal in made],
        lambda: [edit(deal, category="audio-tv-photo") for deal in made[::2]],
    )
    refused = {row.id for row in bulk_progress.rows(JOB, REFUSED)}
    changed = {row.id for row in bulk_progress.rows(JOB, CHANGED)}
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
    races.at_once(
        lambda: loop.run_next(now=NOW + SECOND),
        lambda: job_actions.cancel(JOB, by=EDITOR, now=NOW + SECOND),
    )
    job = jobs.get(JOB)
    changed = [deal for deal in made if deals.get(deal.id).content.category == "toys-hobbies"]
    assert job.progress["changed"] == len(changed) == len(bulk_progress.rows(JOB, CHANGED))
    assert job.state == ("done" if len(changed) == 10 else "cancelled")


def test_of_two_who_undo_one_does():
    made = make_deals(2)
    order(made)
    loop.run_next(now=NOW + SECOND)
    ids = [make_id(NOW + HOUR, number) for number in (5, 6, 7)]
    outcomes = races.at_once(
        *(partial(bulk.undo, JOB, undo_id=one, by=EDITOR, now=NOW + HOUR) for one in ids)
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict", "Conflict", "NoneType"]
    while loop.run_next(now=NOW + HOUR + SECOND):
        pass
    assert [deals.get(deal.id).version for deal in made] == [3, 3]
