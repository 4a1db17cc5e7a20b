"""The worker ends before or after every single request of a bulk change: the next one completes it, each deal once."""

from __future__ import annotations

import contextlib
import itertools
from datetime import timedelta
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.deal_lists import DealFilter
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.editing.bulk_change import bulk_progress
from dealsite.data.entities.batches import CHANGED
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.table.ids import iso
from dealsite.worker import bulk as running
from dealsite.worker import loop
from tests.builders import DAY, EDITOR, HOUR, NOW, make_brand, make_category, make_deal, make_draft, make_id
from tests.crashes import Crash, Crasher, at_any_request

pytestmark = [pytest.mark.engines("native"), pytest.mark.usefixtures("all_are_editors")]
JOB, UNDO = make_id(NOW, 1), make_id(NOW + HOUR, 2)
SECOND = timedelta(seconds=1)
DEALS = [make_id(NOW - (n + 2) * HOUR, 10 + n) for n in range(3)]
DRAFTS = [make_id(NOW - 2 * DAY, 20 + n) for n in range(3)]
LATER = NOW + 9 * DAY
CHANGES = {
    "category": BulkChange("deal", bulk.CATEGORY, "toys-hobbies"),
    "expiry": BulkChange("deal", bulk.EXPIRY, iso(LATER)),
    "end": BulkChange("deal", bulk.EXPIRE),
    "feature": BulkChange("deal", bulk.FEATURE, "front"),
    "delete": BulkChange("deal", bulk.DELETE),
    "publish": BulkChange("draft", bulk.PUBLISH),
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
    while loop.run_next(now=now + turn * SECOND):
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
        assert len(bulk_progress.rows(JOB, CHANGED)) == expected
        if name != "feature":  # its entries stand with the page
            assert len(entries(f"Job {JOB}")) == len(set(entries(f"Job {JOB}"))) == expected
        bulk.undo(JOB, undo_id=UNDO, by=EDITOR, now=NOW + HOUR)
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
