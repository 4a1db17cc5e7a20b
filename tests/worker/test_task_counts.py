"""What there is to do in the CMS: a worker counts it, each process knows it, and a table that is away costs nothing."""

from __future__ import annotations

import pytest

from dealsite.data.catalogue import featured
from dealsite.data.jobs import site_switch, task_counts
from dealsite.data.jobs.task_counts import TaskCounts
from dealsite.data.table import meters
from dealsite.data.table.errors import Unavailable
from dealsite.worker.schedule import count_tasks
from tests.builders import DAY, EDITOR, NOW, Clock, make_deal, make_draft
from tests.measuring import measured
from tests.orders import make_order
from tests.searching import index_table

pytestmark = pytest.mark.usefixtures("whole_table")


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(site_switch, "clock", made := Clock())
    return made


def test_nothing_is_to_do_before_a_worker_has_counted():
    assert measured(task_counts.read)() == TaskCounts()


@pytest.mark.usefixtures("search_index")
def test_drafts_featured_deals_orders_and_failed_payments_are_counted(wait_for_indexes):
    deal = make_deal(expires_at=NOW + DAY)
    featured.set_featured(featured.get("front"), [deal], version=0, by=EDITOR, now=NOW)
    make_draft()
    make_order("ann")
    wait_for_indexes()
    index_table()
    assert count_tasks(now=NOW) == TaskCounts(drafts=1, featured=0, orders=1, payments=0)
    assert count_tasks(now=NOW + 2 * DAY).featured == 1
    assert task_counts.read().featured == 1


def test_a_process_reads_them_each_half_minute_and_goes_on_without_a_table(time, monkeypatch):
    task_counts.of_process.forget()
    assert task_counts.of_process.current() == TaskCounts()
    measured(task_counts.store)(TaskCounts(orders=6), now=NOW)
    time.now += 29
    assert task_counts.of_process.current().orders == 0
    time.now += 1
    with meters.metered() as meter:
        assert task_counts.of_process.current().orders == 6
    assert meter.calls == 0  # no page's
    tries = []

    def away() -> TaskCounts:
        tries.append(1)
        raise Unavailable

    monkeypatch.setattr(task_counts, "read", away)
    time.now += 30
    assert [task_counts.of_process.current().orders for _ in range(3)] == [6, 6, 6]
    assert len(tries) == 1
