"""A bulk change of some hundred deals: what it costs for each, and that it never holds more than a chunk of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import deals, drafts, publishing
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.entities.imports import CHUNK
from dealsite.data.jobs import jobs
from tests.builders import DAY, EDITOR, HOUR, NOW, make_brand, make_category, make_content, make_id
from tests.jobs import run_next

pytestmark = [
    pytest.mark.engines("native"),
    pytest.mark.budget,
    pytest.mark.thorough,
    pytest.mark.usefixtures("whole_table", "all_are_editors"),
]
JOB, UNDO = make_id(NOW, 1), make_id(NOW + HOUR, 2)
DEALS = 300
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@pytest.fixture
def ids() -> list[str]:
    """The ids of 300 deals over three days."""
    brand = make_brand()
    for category in ("toys-hobbies", "peripherals-networking"):
        make_category(category)
    made = [make_id(NOW - DAY - n * 12 * MINUTE, 10_000 + n) for n in range(DEALS)]
    for first in range(0, DEALS, 20):
        new = [(one, make_content(), brand) for one in made[first : first + 20]]
        publishing.publish_many(new, by=EDITOR, now=NOW - HOUR)
    return made


def work(now: Any) -> Counter[str]:
    """Run jobs until none is left; return the requests sent, by operation."""
    with table.metered() as meter:
        turn = 0
        while run_next(now=now + turn * SECOND):
            turn += 1
    return Counter(
        operation for operation, index in meter.log if index != keys.GSI3
    )  # by which jobs are found


def test_each_deal_costs_a_transaction_and_little_else_and_progress_is_kept(ids, monkeypatch):
    held: list[int] = []
    read = drafts.get_entries

    def watch(kind: str, wanted: Iterable[str]) -> Any:
        wanted = list(wanted)
        held.append(len(wanted))
        return read(kind, wanted)

    monkeypatch.setattr(drafts, "get_entries", watch)
    monkeypatch.setattr(jobs, "TURN_SECONDS", 0.0)  # a turn for each chunk, as if there were very many
    change = BulkChange("deal", "category", "toys-hobbies")
    bulk.start(change, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW, matching=DealFilter())
    sent = work(NOW + SECOND)
    chunks = DEALS // CHUNK
    assert sent["TransactWriteItems"] == DEALS + chunks + 1  # one splits it
    assert sum(sent.values()) <= DEALS + chunks * 40
    assert max(held) == CHUNK
    assert {deal.content.category for deal in deals.get_many(ids).values()} == {"toys-hobbies"}
    job = jobs.get(JOB)
    assert (job.state, job.progress["changed"], job.progress["total"]) == ("done", DEALS, DEALS)
    bulk.undo(bulk.get(JOB), undo_id=UNDO, by=EDITOR, now=NOW + HOUR)
    sent = work(NOW + HOUR + SECOND)
    assert sent["TransactWriteItems"] == DEALS + 1
    assert sum(sent.values()) <= DEALS + chunks * 40
    assert {deal.content.category for deal in deals.get_many(ids).values()} == {"peripherals-networking"}
    assert jobs.get(UNDO).progress["changed"] == DEALS


def test_a_report_is_paged_through_whole(ids):
    change = BulkChange("deal", "category", "peripherals-networking")
    bulk.start(change, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW, matching=DealFilter())
    work(NOW + SECOND)
    found: list[str] = []
    while rows := bulk.rows(JOB, "REFUSED", after=found[-1] if found else "", limit=70):
        found += [row.id for row in rows]
    assert found == sorted(ids)
    assert jobs.get(JOB).progress["refused"] == DEALS
