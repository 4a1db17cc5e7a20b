"""check_table finds each kind of damage to payments, and only that; it repairs what is derived."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from dealsite.data import keys, table
from dealsite.data.commerce import charging, payments
from dealsite.data.commerce.payment_record import place_of
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Delete, Update
from dealsite.gateways.testing import TestGateway
from tests.builders import DAY, NOW, make_id
from tests.payments import place, read, seed_payments, work

pytestmark = [pytest.mark.usefixtures("fresh_table"), pytest.mark.engines("native")]


def change(key, **attributes):
    table.write(Update(key=key, set=attributes))


def lose(key, *attributes):
    table.write(Update(key=key, remove=attributes) if attributes else Delete(key=key))


def totals_of(payment):
    return keys.payment_totals(*place_of(payment))


# What is planted, given the paid, the second and the third payment of an order; a word of what is said.
DERIVED: dict[str, tuple[Callable, str]] = {
    "a payment listed under another status": (
        lambda paid, second, _: change(second.key, GSI3SK=f"PENDING#{second.ref['due_at']}#{second.id}"),
        "GSI3SK",
    ),
    "a payment in another shard": (
        lambda paid, second, _: change(second.key, GSI3PK=keys.payments_by_status.partition(99)),
        "GSI3PK",
    ),
    "a payment that is in no list": (lambda paid, second, _: lose(second.key, "GSI3PK", "GSI3SK"), "GSI3PK"),
    "a processed payment that its transaction id does not lead to": (
        lambda paid, *_: lose(read(paid).key, "GSI1PK", "GSI1SK"),
        "GSI1PK",
    ),
    "a day's totals with a payment too many": (
        lambda paid, *_: change(totals_of(paid), processed=2),
        "processed is 2, counted 1",
    ),
    "a day's totals with another amount": (
        lambda _, second, __: change(totals_of(second), open_amount=Decimal("1.00")),
        "open_amount",
    ),
    "a day's totals lost": (lambda _, second, __: lose(totals_of(second)), "open is 0, counted 1"),
    "totals of a day without payments": (
        lambda *_: (
            change(keys.payment_totals(NOW.date() + 400 * DAY, 3), type="PaymentTotals", failed=1)
            or change(keys.payment_totals(NOW.date() + 400 * DAY, 3), day="2027-12-26", shard=3)
        ),
        "failed is 1, counted 0",
    ),
    "a guard lost": (
        lambda paid, *_: lose(keys.transaction(read(paid).transaction_id)),
        "guard of its transaction",
    ),
}


@pytest.mark.parametrize("damage", DERIVED)
def test_damage_to_what_is_derived_is_found_and_repaired(damage):
    plant, word = DERIVED[damage]
    made = seed_payments()
    assert checks.find() == []
    plant(*made)
    found = [str(problem) for problem in checks.find()]
    assert len(found) == 1
    assert word in found[0]
    assert checks.repair_all()[1] == []
    assert checks.find() == []


UNDERIVED: dict[str, tuple[Callable, str]] = {
    "an instalment of another amount": (
        lambda _, second, __: change(second.key, amount=Decimal("1.00")),
        "differ by 29.00",
    ),
    "an instalment lost": (lambda _, second, __: lose(second.key), "differ by 30.00"),
    "a status that nobody knows": (lambda _, second, __: change(second.key, status="LOST"), "'LOST'"),
    "a guard of no payment": (
        lambda *_: change(
            keys.transaction("t9"),
            type="TransactionGuard",
            transaction_id="t9",
            payment=make_id(NOW, 9),
            account="ann",
        ),
        "belongs to no payment",
    ),
    "a transaction of another payment": (
        lambda paid, second, _: change(keys.transaction(read(paid).transaction_id), payment=second.id),
        "is another payment's",
    ),
    "a payment under another account": (
        lambda _, second, __: change(second.key, account="bob"),
        "belongs under PAYMENTS#bob",
    ),
}


@pytest.mark.parametrize("damage", UNDERIVED)
def test_other_damage_is_reported(damage):
    plant, word = UNDERIVED[damage]
    made = seed_payments()
    plant(*made)
    found = [str(problem) for problem in checks.find()]
    assert any(word in text for text in found)


def test_what_a_job_is_still_to_count_is_no_problem_and_what_it_has_counted_is_not_counted_twice():
    made = payments.new_payments(
        make_id(NOW, 1), "ann", Decimal("90.00"), 3, method="test:approve", first=NOW
    )
    job_id = new_ulid(NOW)
    place(made, job_id)
    assert checks.find() == []
    charging.run_due(TestGateway(), currency="EUR", clock=lambda: NOW)
    assert checks.find() == []
    work(NOW, TestGateway())
    assert checks.find() == []
    assert jobs.get(job_id).state == "done"


def test_a_repair_of_totals_that_changed_meanwhile_changes_nothing():
    paid, *_ = seed_payments()
    change(totals_of(paid), processed=2)
    (problem,) = checks.find()
    table.write(Update(key=totals_of(paid), add={"processed": 1}))
    assert checks.repair(problem) is False
