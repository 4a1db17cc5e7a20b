"""Loads insert each payment once and count it once: repeated, at once, overlapping, and wherever they end."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from decimal import Decimal
from functools import partial

import pytest

from benchmarks.generated_payments import GeneratedSource
from dealsite.data import keys, table
from dealsite.data.commerce import charging, payment_lists, payment_loads, payment_record, payments
from dealsite.data.commerce.payment_record import Payment, payment_item
from dealsite.data.entities.commerce import SCHEDULED
from dealsite.data.integrity import checks
from tests.builders import DAY, NOW
from tests.crashes import Crash, Crasher
from tests.gateways.ledger import Ledger
from tests.measuring import measured
from tests.payments import PaymentList, close_day
from tests.races import at_once

COUNT, LARGEST = 17, 4


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Chunks so small that a few payments are many."""
    monkeypatch.setattr(payment_loads, "LARGEST_CHUNK", LARGEST)
    monkeypatch.setattr(payment_loads, "SEGMENTS", 2)
    monkeypatch.setattr(charging, "THREADS", 1)


def source(count=COUNT, days=3):
    return GeneratedSource(count, first=NOW, days=days, size=20, method="x")


def made(count=COUNT):
    return [payment for payment, _, _ in source(count).payments(0, count)]


def load(wanted):
    return [payment_loads.load_segment(wanted, segment) for segment in payment_loads.begin(wanted, now=NOW)]


def stored():
    return {item["id"]: item for item in table.scan_all(consistent=True) if item["type"] == "Payment"}


def counted():
    return payment_record.whole_totals(payment_record.totals_of_days(NOW.date(), NOW.date() + 4 * DAY))


def expected(wanted):
    return payment_record.Sum(len(wanted), sum((payment.amount for payment in wanted), Decimal("0.00")))


@pytest.mark.usefixtures("whole_table")
def test_a_load_inserts_and_counts_each_payment():
    segments = load(source())
    assert (sum(one.inserted for one in segments), sum(one.repeated for one in segments)) == (COUNT, 0)
    assert all(one.done for one in segments)
    assert sorted(stored()) == sorted(payment.id for payment in made())
    assert counted()["open"] == expected(made())
    one = made()[0]
    read = payments.of_order(one.account, [one.ref])[0]
    assert replace(read, load=None) == one


@pytest.mark.usefixtures("whole_table")
def test_a_few_payments_cost_few_requests(monkeypatch):
    monkeypatch.setattr(payment_loads, "SEGMENTS", 1)
    monkeypatch.setattr(payment_loads, "LARGEST_CHUNK", 25)
    few = GeneratedSource(5, first=NOW, days=1, method="x")
    measured(payment_loads.load_segment)(few, payment_loads.begin(few, now=NOW)[0])
    assert len(stored()) == 5


@pytest.mark.usefixtures("whole_table")
def test_a_load_that_is_done_does_nothing_more():
    load(source())
    before = stored()
    load(source())
    assert stored() == before
    assert counted()["open"] == expected(made())


@pytest.mark.usefixtures("whole_table")
def test_what_another_load_wrote_counts_once():
    load(PaymentList(1, made()[:10]))
    segments = load(PaymentList(2, made()))
    assert (sum(one.inserted for one in segments), sum(one.repeated for one in segments)) == (7, 10)
    assert counted()["open"] == expected(made())


@pytest.mark.usefixtures("whole_table")
def test_the_same_payment_twice_in_a_load_is_one_payment():
    one, *others = made(6)
    segments = load(PaymentList(1, [one, one, *others, one]))
    assert (sum(part.inserted for part in segments), sum(part.repeated for part in segments)) == (6, 2)
    assert counted()["open"] == expected([one, *others])


@pytest.mark.usefixtures("whole_table")
def test_the_same_load_twice_at_once_counts_once():
    at_once(partial(load, source()), partial(load, source()), partial(load, source()))
    load(source())
    assert counted()["open"] == expected(made())
    assert len(stored()) == COUNT


@pytest.mark.usefixtures("whole_table")
def test_two_loads_with_the_same_payments_at_once_count_each_once():
    at_once(partial(load, PaymentList(1, made())), partial(load, PaymentList(2, made()[::-1])))
    assert counted()["open"] == expected(made())
    assert len(stored()) == COUNT


@pytest.mark.usefixtures("whole_table")
def test_a_payment_of_the_history_is_not_loaded_again(wait_for_indexes):
    load(source())
    wait_for_indexes()
    gateway = Ledger()
    while charging.run_due(gateway, currency="EUR", clock=lambda: NOW + 4 * DAY):
        wait_for_indexes()
    assert counted()["processed"] == expected(made())
    wait_for_indexes()
    assert close_day(NOW.date() + 4 * DAY) == COUNT
    segments = load(PaymentList(3, made()))
    assert (sum(one.inserted for one in segments), sum(one.repeated for one in segments)) == (0, COUNT)
    wait_for_indexes()
    assert charging.run_due(gateway, currency="EUR", clock=lambda: NOW + 9 * DAY) == {}
    assert set(gateway.charged.values()) == {1}


@pytest.mark.usefixtures("whole_table")
def test_more_days_than_a_transaction_can_count_are_counted_in_several(monkeypatch):
    monkeypatch.setattr(payment_loads, "MOST_COUNTERS", 5)
    monkeypatch.setattr(payment_loads, "MOST_PENDING", 7)
    wanted, steps = source(40, days=40), []
    for segment in measured(payment_loads.begin)(wanted, now=NOW):
        payment_loads.load_segment(
            wanted, segment, advance=lambda before, after: steps.append((before, after))
        )
    assert max(len(after.pending) for _, after in steps) <= 7 + LARGEST
    assert len(stored()) == 40
    days = payment_record.whole_totals(payment_record.totals_of_days(NOW.date(), NOW.date() + 41 * DAY))
    assert days["open"].count == 40


def uncounted(number=1):
    """Write a chunk's payments and stop before they are counted."""
    wanted = PaymentList(number, made())
    segment = payment_loads.begin(wanted, now=NOW)[0]
    chunk, _ = payment_loads._chunk(wanted, segment)
    payment_loads._store(chunk)
    return wanted


@pytest.mark.usefixtures("whole_table")
def test_a_load_that_ended_before_it_counted_is_known_to_the_check_and_counts_later(wait_for_indexes):
    wanted = uncounted()
    assert counted()["open"] == payment_record.Sum()
    assert [str(problem) for problem in checks.find()] == []
    wait_for_indexes()
    charging.run_due(Ledger(), currency="EUR", clock=lambda: NOW + 4 * DAY)
    assert [str(problem) for problem in checks.find()] == []
    load(wanted)
    assert (counted()["open"] + counted()["processed"]) == expected(made())


@pytest.mark.usefixtures("whole_table")
def test_a_load_goes_on_although_the_day_of_what_it_wrote_was_closed(wait_for_indexes):
    wanted = uncounted()
    wait_for_indexes()
    charging.run_due(Ledger(), currency="EUR", clock=lambda: NOW + 4 * DAY)
    wait_for_indexes()
    assert close_day(NOW.date() + 4 * DAY) == 4
    assert [str(problem) for problem in checks.find()] == []
    load(wanted)
    assert counted()["processed"].count == 4
    assert (counted()["open"] + counted()["processed"]) == expected(made())


@pytest.mark.engines("native")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_load_may_end_at_any_request(when, new_table):
    at, crashed, partly = 0, True, set()
    while crashed:
        at += 1
        new_table()
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            load(source())
        crashed = crasher.crashed
        partly.add(len(stored()))
        assert [str(problem) for problem in checks.find()] == []
        load(source())
        assert len(stored()) == COUNT
        assert counted()["open"] == expected(made())
        assert [str(problem) for problem in checks.find()] == []
        assert at < 200
    assert at > 15
    assert len(partly) > 3


@pytest.mark.usefixtures("whole_table")
def test_a_loaded_payment_is_listed_and_charged_as_others_are(wait_for_indexes):
    load(source())
    wait_for_indexes()
    first, last = NOW.date(), NOW.date() + 4 * DAY
    page = payment_lists.of_status(SCHEDULED, first, last, limit=100)
    assert [row.id for row in page.rows] == [
        payment.id for payment in sorted(made(), key=lambda payment: (payment.due_at, payment.id))
    ]
    gateway = Ledger()
    charging.run_due(gateway, currency="EUR", clock=lambda: NOW + 4 * DAY)
    assert gateway.charged == {payment.id: 1 for payment in made()}


def test_a_loaded_payment_of_8_kb_is_as_large_as_the_model_says():
    (payment,) = [one for one, _, _ in GeneratedSource(1, first=NOW, size=8192).payments(0, 1)]
    assert isinstance(payment, Payment)
    assert len(payment_item(payment)["data"]) == 8192
    assert keys.payment.partition(payment.account) == "PAYMENTS#account-0"
