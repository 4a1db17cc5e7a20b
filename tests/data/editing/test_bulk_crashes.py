"""A worker, or a request, ends before or after every single request of a change: the next completes it, each once."""

from __future__ import annotations

import contextlib
import itertools
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.editing.verbs.chart import VERBS
from dealsite.data.entities.imports import CHANGED
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.table.ids import iso
from dealsite.worker import bulk as running
from dealsite.worker.bulk import change_at_once, undo_at_once
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    NOW,
    Clock,
    make_brand,
    make_category,
    make_deal,
    make_draft,
    make_id,
)
from tests.crashes import Crash, Crasher, at_any_request
from tests.data.editing.verb_cases import CASES, EACH, held, made_for
from tests.jobs import run_next

pytestmark = [pytest.mark.engines("native"), pytest.mark.usefixtures("all_are_editors")]
JOB, UNDO = make_id(NOW, 1), make_id(NOW + HOUR, 2)
SECOND = timedelta(seconds=1)
DEALS = [make_id(NOW - (n + 2) * HOUR, 10 + n) for n in range(3)]
DRAFTS = [make_id(NOW - 2 * DAY, 20 + n) for n in range(3)]
LATER = NOW + 9 * DAY
CHANGES = {
    "category": BulkChange("deal", "category", "toys-hobbies"),
    "expiry": BulkChange("deal", "expiry", iso(LATER)),
    "end": BulkChange("deal", "expire"),
    "feature": BulkChange("deal", "feature", "front"),
    "delete": BulkChange("deal", "delete"),
    "publish": BulkChange("draft", "publish"),
}


def seed() -> None:
    make_category("toys-hobbies")
    make_brand()
    for number, deal_id in enumerate(DEALS):
        make_deal(deal_id=deal_id, now=NOW - DAY, title=f"Deal {number}")
    for number, draft_id in enumerate(DRAFTS):
        filled: dict[str, Any] = {"price": None} if number == 1 else {}
        source = deals.get(DEALS[0]).content
        made: dict[str, Any] = {
            "title": f"Draft {number}",
            "category": source.category,
            "price": source.price,
            "sold": source.sold,
        }
        make_draft(draft_id=draft_id, brand="Nordlicht", now=NOW - DAY, **(made | filled))


def work(now: Any) -> None:
    turn = 0
    while run_next(now=now + turn * SECOND):
        turn += 1


def order(change: BulkChange) -> None:
    state = "draft" if change.kind == "draft" else "all"
    bulk.start(change, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW, matching=DealFilter(state=state))


def entries(note: str) -> list[str]:
    rows = [row for row in table.scan_all(consistent=True) if row["type"] == "AuditEntry"]
    return sorted(row["card"]["subject"] for row in rows if row["card"].get("note") == note)


def contents() -> dict[str, Any]:
    """What the deals and drafts hold, as far as a change can be taken back."""
    found = deals.get_many(DEALS)
    kept = {one: (deal.content, sorted(deal.featured_on)) for one, deal in found.items()}
    return kept | {one: (drafts.get(one).content, drafts.get(one).published_as) for one in DRAFTS}


@at_any_request
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_worker_may_end_at_any_request_of_a_change_and_of_its_undoing(name, when, new_table, monkeypatch):
    monkeypatch.setattr(running, "CHUNK", 2)
    monkeypatch.setattr(running, "NOTE_SECONDS", 0.0)
    change = CHANGES[name]
    expected = 2 if name == "publish" else 3
    for at in itertools.count(1):
        new_table()
        seed()
        before = contents()
        order(change)
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            work(NOW + SECOND)
        crashed = crasher.crashed
        assert [str(problem) for problem in checks.find()] == []
        work(NOW + 10 * jobs.LEASE)
        job = jobs.get(JOB)
        assert (job.state, job.progress["changed"], job.progress["refused"]) == (
            "done",
            expected,
            3 - expected,
        )
        assert len(bulk.rows(JOB, CHANGED)) == expected
        if name != "feature":  # its entries stand with the page
            assert len(entries(f"Job {JOB}")) == len(set(entries(f"Job {JOB}"))) == expected
        bulk.undo(bulk.get(JOB), undo_id=UNDO, by=EDITOR, now=NOW + HOUR)
        with Crasher(at, when) as undone, contextlib.suppress(Crash):
            work(NOW + HOUR + SECOND)
        crashed = crashed or undone.crashed
        assert [str(problem) for problem in checks.find()] == []
        work(NOW + 2 * HOUR)
        job = jobs.get(UNDO)
        assert (job.state, job.progress["changed"], job.progress["refused"]) == ("done", expected, 0)
        assert contents() == before
        assert [str(problem) for problem in checks.find()] == []
        if not crashed:
            break
        assert at < 100
    assert at > 15


# What is done within a request, which ends at any of its own, and is sent again


@pytest.fixture
def no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done at once is done at the moment that the request began."""
    monkeypatch.setattr(running, "monotonic", Clock())


def problems() -> list[str]:
    return [str(problem) for problem in checks.find()]


def job_there(job_id: str) -> jobs.Job | None:
    return jobs.get_many([job_id]).get(job_id)


@at_any_request
@pytest.mark.usefixtures("no_time_passes")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("name", "kind"), EACH)
def test_a_request_for_one_may_end_anywhere_and_is_sent_again(name, kind, when, new_table):
    case = CASES[name]
    change = BulkChange(kind, name, case.value)
    for at in itertools.count(1):
        new_table()
        made = made_for(case, kind)
        before = held()
        what = partial(change_at_once, change, [made.id], job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW)
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            what()
        assert (held() == before, len(bulk.rows(JOB, CHANGED))) == (
            (False, 1) if job_there(JOB) else (True, 0)
        )
        assert problems() == []
        (row,) = what().changed
        assert bulk.rows(JOB, CHANGED) == [row]
        assert case.shows(kind, row) == case.becomes
        assert (jobs.get(JOB).state, jobs.get(JOB).progress["changed"]) == ("done", 1)
        back = partial(undo_at_once, bulk.get(JOB), undo_id=UNDO, by=EDITOR, now=NOW + HOUR)
        with Crasher(at, when) as undone, contextlib.suppress(Crash):
            back()
        assert (held() == before) == bool(bulk.get(JOB).undone_by) == bool(job_there(UNDO))
        assert problems() == []
        assert [one.id for one in back().changed] == [made.id]
        assert held() == before
        assert bulk.get(JOB).undone_by == UNDO
        assert (jobs.get(UNDO).state, jobs.get(UNDO).progress["changed"]) == ("done", 1)
        assert problems() == []
        if not crasher.crashed and not undone.crashed:
            break
    assert 3 < at < 30


MORE = {
    "price": 0,
    "publish": 3,
    "delete": -3,
    "duplicate": 3,
    "reschedule": 0,
}  # deals and drafts there are then


@at_any_request
@pytest.mark.usefixtures("no_time_passes")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", MORE)
def test_a_request_for_several_may_end_anywhere_and_a_worker_does_the_rest_once(name, when, new_table):
    case, kind = CASES[name], VERBS[name].kinds[0]
    change = BulkChange(kind, name, case.value)
    for at in itertools.count(1):
        new_table()
        ids = sorted(made_for(case, kind).id for _ in range(3))
        before = held()
        what = partial(change_at_once, change, ids, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW)
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            what()
        assert problems() == []
        so_far = bulk.rows(JOB, CHANGED)
        if job_there(JOB):  # sent again, it waits for a worker
            assert what().changed == so_far
        work(NOW + 10 * jobs.LEASE)
        what()  # the first time, if it was not even ordered
        rows = bulk.rows(JOB, CHANGED)
        assert [row.id for row in rows] == ids
        assert len(held()) == len(before) + MORE[name]
        if name != "publish":  # a worker does so later
            assert [case.shows(kind, row) for row in rows] == [case.becomes] * 3
        job = jobs.get(JOB)
        assert (job.state, job.progress["total"], job.progress["changed"]) == ("done", 3, 3)
        later = NOW + HOUR
        back = partial(undo_at_once, bulk.get(JOB), undo_id=UNDO, by=EDITOR, now=later)
        with Crasher(at, when) as undone, contextlib.suppress(Crash):
            back()
        assert problems() == []
        work(later + 10 * jobs.LEASE)
        back()
        assert held() == before
        job = jobs.get(UNDO)
        assert (job.state, job.progress["total"], job.progress["changed"]) == ("done", 3, 3)
        assert problems() == []
        if not crasher.crashed and not undone.crashed:
            break
    assert 8 < at < 60
