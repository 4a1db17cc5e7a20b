"""Payments of closed days in a table of their own, by the settings: found, refunded and checked as before."""

from __future__ import annotations

from datetime import timedelta

import pytest

from benchmarks.generated_payments import GeneratedSource
from dealsite.data import table
from dealsite.data.commerce import payments
from dealsite.data.commerce.payment import (
    charging,
    payment_actions,
    payment_lists,
    payment_loads,
)
from dealsite.data.integrity import checks
from dealsite.data.table import schema
from dealsite.data.table.drift import drift
from dealsite.data.table.writes import Update
from tests.builders import DAY, HOUR, NOW
from tests.gateways.ledger import Ledger
from tests.measuring import measured
from tests.payments import PaymentList, close_day, owe, read, run, work

TODAY = NOW.date()


@pytest.fixture
def history(fresh_table, settings):
    """A table for the history beside the table; both must be whole at the end."""
    settings.DEALSITE_HISTORY_TABLE = f"{table.name()}-history"
    schema.create_table()
    yield settings.DEALSITE_HISTORY_TABLE
    assert [str(problem) for problem in checks.find()] == []
    table.call("DeleteTable", TableName=settings.DEALSITE_HISTORY_TABLE)


def types(table_name):
    return sorted({item["type"] for item in table.scan_page(table_name=table_name, consistent=True).items})


def closed(wait_for_indexes, gateway):
    made = [owe(order_number=number)[0] for number in range(1, 4)]
    wait_for_indexes()
    run(gateway, NOW + HOUR)
    wait_for_indexes()
    assert close_day(TODAY) == 3
    wait_for_indexes()
    return made


def test_what_is_closed_lies_in_the_history_table_and_is_found_as_before(history, wait_for_indexes):
    made = closed(wait_for_indexes, Ledger())
    assert types(history) == ["Payment"]
    assert "Payment" not in types(table.name())
    ids = sorted(payment.id for payment in made)
    assert sorted(payment.id for payment in payment_lists.history("ann").payments) == ids
    assert sorted(row.id for row in payment_lists.history_of(TODAY, TODAY).rows) == ids
    row = payment_lists.by_transaction(f"txn-{made[0].id}-0")
    assert (row.id, row.closed) == (made[0].id, True)
    assert all(read(payment).closed for payment in made)
    open_one = owe(order_number=9, first=NOW + DAY)[0]
    wait_for_indexes()
    run(Ledger(), NOW + DAY)
    wait_for_indexes()
    assert payment_lists.by_transaction(f"txn-{open_one.id}-0").closed is False


def test_what_is_closed_can_be_refunded(history, wait_for_indexes):
    gateway = Ledger()
    made = closed(wait_for_indexes, gateway)
    payment_actions.refund("ann", made[0].due_at, made[0].id, reason="x", by="kim", now=NOW + DAY)
    wait_for_indexes()
    work(NOW + DAY, gateway)
    assert read(made[0]).status == payments.REFUNDED


def test_what_is_in_the_history_table_is_not_loaded_again(history, wait_for_indexes, monkeypatch):
    monkeypatch.setattr(payment_loads, "SEGMENTS", 1)
    monkeypatch.setattr(charging, "THREADS", 1)
    source = GeneratedSource(5, first=NOW, days=1, method="x")
    measured(payment_loads.load_segment)(source, payment_loads.begin(source, now=NOW)[0])
    wait_for_indexes()
    run(Ledger(), NOW + DAY)
    wait_for_indexes()
    assert close_day(TODAY + timedelta(days=1)) == 5
    again = PaymentList(1, [payment for payment, _, _ in source.payments(0, 5)])
    done = payment_loads.load_segment(again, payment_loads.begin(again, now=NOW)[0])
    assert (done.inserted, done.repeated) == (0, 5)


def test_damage_in_the_history_table_is_found_and_repaired(history, wait_for_indexes):
    made = closed(wait_for_indexes, Ledger())
    table.write(Update(key=read(made[0]).key, set={"GSI3SK": "nowhere"}))
    (problem,) = checks.find()
    assert problem.key == read(made[0]).key
    assert checks.repair(problem) is True


@pytest.mark.engines("native")
def test_both_tables_are_compared_with_the_definition(history):
    table.call("DeleteTable", TableName=table.name())
    schema.create_table()
    assert drift() == []


@pytest.mark.usefixtures("fresh_table")
def test_without_the_setting_there_is_one_table(settings):
    assert table.names() == [table.name()]
    settings.DEALSITE_HISTORY_TABLE = table.name()
    assert table.names() == [table.name()]
