"""Closing a day moves what was processed to the history, where it is found as before."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from dealsite.data import table
from dealsite.data.commerce import charging, payment_lists, payment_record, payments
from dealsite.data.commerce.payment_record import payment_item
from dealsite.data.entities.commerce import CANCELLED, PROCESSED, REFUNDED, SCHEDULED
from dealsite.data.table import errors
from dealsite.data.table.ids import shard
from dealsite.data.table.writes import Delete, Put, Update
from tests.builders import DAY, HOUR, NOW
from tests.gateways.ledger import Ledger
from tests.measuring import measured
from tests.payments import cancel_order, close_day, owe, read, run, work
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")
TODAY = NOW.date()


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Batches so small that a few payments are many."""
    monkeypatch.setattr(charging, "BATCH", 2)
    monkeypatch.setattr(charging, "THREADS", 1)


def paid(wait_for_indexes, count=7, gateway=None, now=NOW + HOUR):
    """Charge an order's payment each for several orders; returns the payments."""
    made = [owe(order_number=number)[0] for number in range(1, count + 1)]
    wait_for_indexes()
    run(gateway or Ledger(), now)
    wait_for_indexes()
    return made


def test_what_was_processed_moves_and_is_found_by_account_date_and_transaction_id(wait_for_indexes):
    made = paid(wait_for_indexes)
    steps: list[int] = []
    assert close_day(TODAY, advance=steps.append) == 7
    assert sum(steps) == 7
    wait_for_indexes()
    found = [read(payment) for payment in made]
    assert {(payment.status, payment.closed) for payment in found} == {(PROCESSED, True)}
    ids = sorted(payment.id for payment in made)
    assert sorted(payment.id for payment in measured(payment_lists.history)("ann").rows) == ids
    assert measured(payment_lists.coming)("ann", now=NOW).rows == []
    assert sorted(payment.id for payment in measured(payment_lists.done)("ann", now=NOW).rows) == ids
    assert sorted(row.id for row in measured(payment_lists.history_of)(TODAY, TODAY).rows) == ids
    assert measured(payment_lists.of_status)(PROCESSED, TODAY, TODAY).rows == []
    row = measured(payment_lists.by_transaction)(f"txn-{made[0].id}-0")
    assert (row.id, row.closed) == (made[0].id, True)
    assert close_day(TODAY) == 0


def test_only_what_was_processed_by_the_end_of_the_day_moves(wait_for_indexes):
    today, later = owe(order_number=1)[0], owe(order_number=2, first=NOW + DAY)[0]
    declined = owe(order_number=3, method="declines")[0]
    wait_for_indexes()
    run(Ledger(), NOW + timedelta(hours=11, minutes=59))
    wait_for_indexes()
    run(Ledger(), NOW + DAY)
    wait_for_indexes()
    assert close_day(TODAY) == 1
    assert [read(payment).closed for payment in (today, later, declined)] == [True, False, False]
    wait_for_indexes()
    assert close_day(TODAY + DAY) == 1


def test_midnight_belongs_to_the_new_day(wait_for_indexes):
    made = paid(wait_for_indexes, 1, now=NOW + timedelta(hours=12))
    assert close_day(TODAY) == 0
    assert close_day(TODAY + DAY) == 1
    assert read(made[0]).closed is True


def test_a_payment_of_the_history_can_be_refunded(wait_for_indexes):
    gateway = Ledger()
    made = paid(wait_for_indexes, 2, gateway)
    close_day(TODAY)
    measured(payments.refund)("ann", made[0].due_at, made[0].id, reason="Broken", by="kim", now=NOW + DAY)
    wait_for_indexes()
    work(NOW + DAY, gateway)
    refunded = read(made[0])
    assert (refunded.status, refunded.closed) == (REFUNDED, True)
    assert gateway.refunded == {refunded.transaction_id: 1}
    wait_for_indexes()
    assert {row.status for row in payment_lists.history_of(TODAY, TODAY).rows} == {"PROCESSED", "REFUNDED"}


def test_what_was_refunded_moves_too(wait_for_indexes):
    gateway = Ledger()
    made = paid(wait_for_indexes, 1, gateway)
    payments.refund("ann", made[0].due_at, made[0].id, reason="Broken", by="kim", now=NOW + HOUR)
    wait_for_indexes()
    work(NOW + HOUR, gateway)
    wait_for_indexes()
    assert close_day(TODAY) == 1
    assert (read(made[0]).status, read(made[0]).closed) == (REFUNDED, True)


def test_a_day_closed_twice_at_once_moves_each_payment_once(wait_for_indexes):
    made = paid(wait_for_indexes)
    found = at_once(partial(close_day, TODAY), partial(close_day, TODAY))
    assert not [one for one in found if isinstance(one, Exception)]
    assert all(read(payment).closed for payment in made)
    items = Counter(item["id"] for item in table.scan_all(consistent=True) if item["type"] == "Payment")
    assert set(items.values()) == {1}


def test_a_cancellation_at_the_same_time_is_not_lost(wait_for_indexes):
    made = paid(wait_for_indexes, 3)

    at_once(partial(close_day, TODAY), *(partial(cancel_order, one, NOW + HOUR) for one in made))
    wait_for_indexes()
    close_day(TODAY)
    found = [read(payment) for payment in made]
    assert {(payment.closed, payment.unwanted == payment.amount) for payment in found} == {(True, True)}
    gateway = Ledger()
    wait_for_indexes()
    work(NOW + HOUR, gateway)
    assert {read(payment).status for payment in made} == {REFUNDED}


def interpose(monkeypatch, action):
    """Have something happen once, right after closing has read what it is about to move."""
    actions, batch_get = [action], table.batch_get

    def read_and_act(places, **more):
        found = batch_get(places, **more)
        while actions and len(found):
            actions.pop()()
        return found

    monkeypatch.setattr(table, "batch_get", read_and_act)


def test_a_refund_between_reading_and_moving_is_not_lost(wait_for_indexes, monkeypatch):
    (payment,) = paid(wait_for_indexes, 1)

    def refund():
        payments.refund("ann", payment.due_at, payment.id, reason="x", by="kim", now=NOW + HOUR)

    interpose(monkeypatch, refund)
    assert close_day(TODAY) == 1
    assert (read(payment).closed, read(payment).refunds[0].reason) == (True, "x")


def test_what_is_listed_wrongly_does_not_move(wait_for_indexes):
    (payment,) = owe()
    at = Update(key=payment.key, set={"GSI3SK": f"PROCESSED#{payment.ref['due_at']}#{payment.id}"})
    table.write(at)
    wait_for_indexes()
    assert close_day(TODAY) == 0
    assert read(payment).status == SCHEDULED
    table.write(Update(key=payment.key, set={"GSI3SK": f"SCHEDULED#{payment.ref['due_at']}#{payment.id}"}))


def test_what_is_in_the_history_is_not_overwritten(wait_for_indexes):
    (payment,) = paid(wait_for_indexes, 1)
    close_day(TODAY)
    past = table.get(read(payment).key)
    copy = payment_item(replace(read(payment), closed=False, reason="A copy"))
    table.write(Put(key=(copy["PK"], copy["SK"]), item=copy))
    wait_for_indexes()
    with pytest.raises(errors.Busy):
        close_day(TODAY)
    assert table.get((past["PK"], past["SK"])) == past
    table.write(Delete(key=(copy["PK"], copy["SK"])))


def test_a_payment_that_comes_back_after_its_day_was_closed_is_not_charged_again(wait_for_indexes):
    gateway = Ledger()
    (payment,) = paid(wait_for_indexes, 1, gateway)
    close_day(TODAY)
    again = replace(payment, order="")  # as a load would write it that read the history a moment too early
    counters = payment_record.total_writes(payment_record.added([again]))
    table.transact([Put(key=again.key, item=payment_item(again)), *counters])
    wait_for_indexes()
    assert run(gateway, NOW + DAY) == Counter(cancelled=1)
    assert gateway.charged == {payment.id: 1}
    (row,) = measured(payment_lists.of_account)("ann").rows
    assert (row.status, "processed before" in row.reason) == (CANCELLED, True)


def test_a_shard_is_closed_by_itself(wait_for_indexes):
    (payment,) = paid(wait_for_indexes, 1)
    day = TODAY + timedelta(days=1)
    measured(charging.close_shard)(day, shard(payment.id, charging.SHARDS))
    assert read(payment).status == PROCESSED
