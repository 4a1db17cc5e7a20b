"""What there is to do in the CMS: a worker counts it, each process knows it, and a table that is away costs nothing."""

from __future__ import annotations

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import featured
from dealsite.data.commerce import charging
from dealsite.data.commerce.payment_record import payment_item
from dealsite.data.jobs import site_switch, task_counts
from dealsite.data.jobs.task_counts import TaskCounts
from dealsite.data.table import meters
from dealsite.data.table.errors import Unavailable
from dealsite.data.table.writes import Update
from dealsite.worker.schedule import count_tasks
from tests.builders import DAY, EDITOR, HOUR, NOW, Clock, make_deal, make_draft
from tests.gateways.ledger import Ledger
from tests.measuring import measured
from tests.orders import make_order
from tests.payments import owe
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


def test_overdue_is_what_is_due_for_an_hour_and_not_paid_failed_or_not(wait_for_indexes):
    failed, _waiting, paid = (owe(order_number=number)[0] for number in (1, 2, 3))
    owe(3, order_number=4, first=NOW + HOUR)
    for payment, script in ((failed, ["decline"]), (paid, [])):
        charging.run_one(payment_item(payment), Ledger(*script), currency="EUR", clock=lambda: NOW)
    wait_for_indexes()
    assert [count_tasks(now=NOW + HOUR * hours).overdue for hours in (1, 1.5, 2, 2.5)] == [0, 2, 2, 3]
    assert count_tasks(now=NOW).payments == 1


def test_a_count_of_before_there_were_overdue_ones_is_read():
    task_counts.store(TaskCounts(orders=6), now=NOW)
    table.write(Update(key=keys.task_counts(), remove=("overdue",)))
    assert task_counts.read() == TaskCounts(orders=6)


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
