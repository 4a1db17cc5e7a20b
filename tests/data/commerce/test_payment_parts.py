"""A payment is lowered before it is charged, and refunded in parts; its order's sums always add up to its total."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dealsite.data import table
from dealsite.data.commerce import charging, orders, payment_lists, payment_record, payments
from dealsite.data.commerce.charging import LEASE, RETRY_AFTER
from dealsite.data.commerce.order_record import OrderMoney
from dealsite.data.commerce.payment_record import Refund, amounts_of, payment_from_item, payment_item
from dealsite.data.entities.attributes import CENT
from dealsite.data.entities.commerce import CANCELLED, FAILED, PENDING, PLANS, PROCESSED, REFUNDED, SCHEDULED
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Put
from tests.builders import HOUR, NOW, make_id
from tests.gateways.ledger import Ledger
from tests.payments import cancel_order, lower, owe, read, run, work
from tests.races import at_once

WORDS: dict[str, Any] = {"by": "kim", "reason": "Fewer", "now": NOW}
STATUSES = (SCHEDULED, FAILED, PENDING, PROCESSED)


def a_payment(status=SCHEDULED, cut=0, refunds=(), tries=0):
    (payment,) = payments.new_payments(
        make_id(NOW, 1), "ann", Decimal("10.00"), 1, method="approves", first=NOW
    )
    refunds = tuple(
        Refund(Decimal(amount).quantize(CENT), "x", "kim", NOW, done_at) for amount, done_at in refunds
    )
    return replace(payment, status=status, cut=Decimal(cut).quantize(CENT), refunds=refunds, tries=tries)


@pytest.mark.parametrize(
    ("payment", "found"),
    [
        (a_payment(), {"open": "10.00"}),
        (a_payment(cut="3.33"), {"open": "6.67", "cancelled": "3.33"}),
        (a_payment(FAILED, "3.33", tries=1), {"failed": "6.67", "cancelled": "3.33"}),
        (a_payment(PENDING, "1", [("2", None)]), {"open": "9.00", "cancelled": "1.00"}),
        (
            a_payment(PROCESSED, "1", [("2.50", NOW), ("3", None)]),
            {"processed": "6.50", "refunded": "2.50", "cancelled": "1.00"},
        ),
        (a_payment(CANCELLED, "1"), {"cancelled": "10.00"}),
        (a_payment(REFUNDED, "1", [("4", NOW), ("5", NOW)]), {"refunded": "9.00", "cancelled": "1.00"}),
    ],
)
def test_an_amount_is_spread_over_the_states(payment, found):
    amounts = amounts_of(payment)
    assert {state: str(amount) for state, amount in amounts.items() if amount} == found
    assert sum(amounts.values()) == payment.amount


def of_statuses(*statuses, total="100.00"):
    made = payments.new_payments(
        make_id(NOW, 1), "ann", Decimal(total), len(statuses), method="approves", first=NOW
    )
    return [
        replace(one, status=status, tries=int(status == FAILED))
        for one, status in zip(made, statuses, strict=True)
    ]


@pytest.mark.parametrize(
    ("statuses", "amount", "after"),
    [
        ("SSS", "10.01", ["S 33.34", "S 33.33", "S 23.32"]),
        ("SSS", "33.33", ["S 33.34", "S 33.33", "C 33.33"]),
        ("SSS", "33.00", ["S 33.34", "S 32.66", "S 1.00"]),
        ("PPS", "33.00", ["P 33.34", "P 33.33", "S 0.33"]),
        ("PFS", "40.00", ["P 33.34", "F 26.66", "C 33.33"]),
        ("PPS", "40.00", ["P 33.34", "P 33.33 less 6.67", "C 33.33"]),
        ("PPP", "99.99", ["P 33.34 less 33.33", "P 33.33 less 33.33", "P 33.33 less 33.33"]),
        ("NSS", "70.00", ["N 33.34 less 3.34", "C 33.33", "C 33.33"]),
        ("PNC", "60.00", ["P 33.34 less 33.34", "N 33.33 less 26.66", "C 33.33"]),
        ("PSN", "500", ["P 33.34 less 33.34", "C 33.33", "N 33.33 less 33.33"]),
        ("PSN", None, ["P 33.34 less 33.34", "C 33.33", "N 33.33 less 33.33"]),
        ("PSN", "0", ["P 33.34", "S 33.33", "N 33.33"]),
    ],
)
def test_what_is_not_paid_goes_first_and_the_last_instalment_first(statuses, amount, after):
    named = {"S": SCHEDULED, "F": FAILED, "P": PROCESSED, "N": PENDING, "C": CANCELLED}
    letters = {status: letter for letter, status in named.items()}
    made = of_statuses(*(named[letter] for letter in statuses))
    found, writes = payments.cancel_writes(made, amount and Decimal(amount), **WORDS)
    said = [
        f"{letters[one.status]} {one.to_charge}" + (f" less {one.unwanted}" if one.unwanted else "")
        for one in found
    ]
    assert said == after
    changed = sum(one != before for one, before in zip(found, made, strict=True))
    kinds = Counter(one.item["kind"] for one in writes if isinstance(one, Put))
    assert len(writes) == changed + kinds.total()
    moved = payment_record.sums(found) != payment_record.sums(made)
    assert kinds == Counter(
        refund_payment=int(any(one.status == PROCESSED and one.unwanted for one in found)),
        payment_totals=int(moved),
    )
    assert payments.cancel_writes(found, Decimal(0), **WORDS) == (found, [])


@given(
    st.sampled_from(PLANS[:3]).flatmap(
        lambda plan: st.lists(st.sampled_from(STATUSES), min_size=plan, max_size=plan)
    ),
    st.integers(min_value=600, max_value=99_999),
    st.lists(st.tuples(st.integers(min_value=0, max_value=60_000), st.booleans()), max_size=8),
)
def test_whatever_is_taken_off_the_sums_add_up_and_nothing_is_taken_twice(statuses, cents, series):
    total = Decimal(cents) / 100
    found = of_statuses(*statuses, total=str(total))
    for asked, is_worked in series:
        there = sum(one.kept for one in found if one.status != CANCELLED)
        found, writes = payments.cancel_writes(found, Decimal(asked) / 100, **WORDS)
        left = sum(one.kept for one in found if one.status != CANCELLED)
        assert there - left == min(there, Decimal(asked) / 100)
        assert len(writes) <= len(found) + 2
        if is_worked:
            found = [with_refunds_done(one) for one in found]
        sums = payment_record.sums(found)
        assert sum(sums.values()) == total
        assert min(sums.values()) >= 0
        for one in found:
            assert payment_from_item(payment_item(one)) == one


def with_refunds_done(payment):
    if payment.status != PROCESSED:
        return payment
    done = tuple(replace(refund, done_at=NOW) for refund in payment.refunds)
    is_all_back = sum(refund.amount for refund in done) == payment.to_charge
    return replace(payment, refunds=done, status=REFUNDED if is_all_back else PROCESSED)


# On the table


@pytest.fixture
def one_thread(monkeypatch, whole_table):
    monkeypatch.setattr(charging, "THREADS", 1)


def money(payment):
    found = orders.get("ann", payment.order).card.money
    assert found == OrderMoney.of(payments.of_order("ann", orders.get("ann", payment.order).payments))
    return {name: str(amount) for name in found.__dataclass_fields__ if (amount := getattr(found, name))}


def whole():
    return [str(problem) for problem in checks.find()]


def test_what_was_lowered_is_charged_less_and_given_back_in_parts(one_thread, wait_for_indexes):
    made, gateway = owe(3), Ledger()
    lower(made[0], "70.00", NOW)
    wait_for_indexes()
    work(NOW, gateway)
    assert money(made[0]) == {"open": "20.00", "cancelled": "70.00"}
    assert payment_lists.owed("ann").total == Decimal("20.00")
    wait_for_indexes()
    assert run(gateway, NOW) == Counter(processed=1)
    assert gateway.held == {made[0].id: Decimal("20.00")}
    lower(made[0], "5.50", NOW + HOUR)
    lower(made[0], "4.50", NOW + HOUR)
    assert (read(made[0]).unwanted, read(made[0]).kept) == (Decimal(10), Decimal(10))
    wait_for_indexes()
    work(NOW + HOUR, gateway)
    now_is = read(made[0])
    assert (now_is.status, now_is.refunded, now_is.unwanted) == (PROCESSED, Decimal(10), Decimal(0))
    assert [step.note for step in now_is.timeline[-2:]] == ["Refunded 5.50: Fewer", "Refunded 4.50: Fewer"]
    assert {f"{made[0].id}-refund", f"{made[0].id}-refund-2"} <= gateway.kept.keys()
    assert money(made[0]) == {"processed": "10.00", "refunded": "10.00", "cancelled": "70.00"}
    totals = payment_record.totals_of_days(NOW.date(), NOW.date())[NOW.date()]
    assert {state: (found.count, str(found.amount)) for state, found in totals.items() if found.amount} == {
        "processed": (1, "10.00"),
        "refunded": (0, "10.00"),
        "cancelled": (0, "10.00"),
    }
    wait_for_indexes()
    assert whole() == []
    payments.refund("ann", made[0].due_at, made[0].id, reason="Broken", by="kim", now=NOW + HOUR)
    payments.refund("ann", made[0].due_at, made[0].id, reason="Broken", by="kim", now=NOW + HOUR)
    wait_for_indexes()
    work(NOW + HOUR, gateway)
    assert (read(made[0]).status, gateway.held[made[0].id]) == (REFUNDED, Decimal(0))
    assert money(made[0]) == {"refunded": "20.00", "cancelled": "70.00"}
    wait_for_indexes()
    assert whole() == []


@pytest.mark.parametrize(
    ("script", "amount", "status", "held", "after"),
    [
        ("", "30.00", PROCESSED, "60.00", {"processed": "60.00", "refunded": "30.00"}),
        ("", "90.00", REFUNDED, "0.00", {"refunded": "90.00"}),
        ("decline", "30.00", FAILED, "0", {"failed": "60.00", "cancelled": "30.00"}),
        ("decline", "90.00", CANCELLED, "0", {"cancelled": "90.00"}),
        ("lost", "30.00", PROCESSED, "60.00", {"processed": "60.00", "refunded": "30.00"}),
    ],
)
def test_what_is_lowered_while_it_is_charged_ends_well(
    script, amount, status, held, after, one_thread, wait_for_indexes
):
    (payment,) = owe()
    gateway = Ledger(script)
    gateway.during = partial(lower, payment, amount, NOW)
    wait_for_indexes()
    run(gateway, NOW)
    gateway.during = lambda: None
    later = NOW + 2 * LEASE
    wait_for_indexes()
    run(gateway, later)  # under the same key, where the answer was lost
    wait_for_indexes()
    work(later, gateway)
    assert (read(payment).status, gateway.held[payment.id]) == (status, Decimal(held))
    assert (money(payment), read(payment).unwanted) == (after, Decimal(0))
    wait_for_indexes()
    assert whole() == []
    if status == FAILED:
        again = NOW + RETRY_AFTER[0]
        assert run(gateway, again) == Counter(processed=1)
        assert gateway.held[payment.id] == Decimal("60.00")
        assert gateway.asked == [f"{payment.id}-0", f"{payment.id}-1"]


def test_a_silent_gateway_is_asked_for_the_same_amount_again(one_thread, wait_for_indexes):
    (payment,) = owe()
    gateway = Ledger("silent")
    wait_for_indexes()
    assert run(gateway, NOW) == Counter(unknown=1)
    lower(payment, "30.00", NOW)
    assert (read(payment).status, read(payment).to_charge, read(payment).unwanted) == (
        PENDING,
        Decimal(90),
        Decimal(30),
    )
    wait_for_indexes()
    assert run(gateway, NOW + 2 * LEASE) == Counter(processed=1)
    assert gateway.held[payment.id] == Decimal("90.00")
    wait_for_indexes()
    work(NOW + 2 * LEASE, gateway)
    assert gateway.held[payment.id] == Decimal("60.00")


def test_a_claim_and_a_cut_at_once_agree_on_the_amount(one_thread, wait_for_indexes):
    (payment,) = owe()
    wait_for_indexes()
    (row,) = charging.due(now=NOW)
    claimed, lowered = at_once(partial(charging.claim, row, now=NOW), partial(lower, payment, "30.00", NOW))
    assert lowered is None
    now_is = read(payment)
    assert (claimed.to_charge, now_is.unwanted) in ((Decimal(90), Decimal(30)), (Decimal(60), Decimal(0)))
    assert (now_is.status, now_is.to_charge) == (PENDING, claimed.to_charge)


def test_two_workers_give_a_part_back_once(one_thread, wait_for_indexes):
    (payment,) = owe()
    gateway = Ledger()
    wait_for_indexes()
    run(gateway, NOW)
    lower(payment, "30.00", NOW)
    lower(payment, "20.00", NOW)
    job = jobs.Job(new_ulid(NOW), payments.REFUND_PAYMENT, {"payments": [payment.ref | {"account": "ann"}]})
    refund = partial(charging.refund_payments, job, NOW, gateway=gateway, currency="EUR")
    assert at_once(refund, refund) == [None, None]
    assert (read(payment).refunded, gateway.held[payment.id]) == (Decimal(50), Decimal(40))
    assert len(read(payment).timeline) == 6  # placed, paid, asked twice, done twice


def test_mails_tell_what_was_charged_and_each_refund(one_thread, wait_for_indexes):
    (payment,) = owe()
    gateway = Ledger()
    lower(payment, "10.00", NOW)
    wait_for_indexes()
    run(gateway, NOW)
    for amount in ("30.00", "20.00"):
        lower(payment, amount, NOW)
    wait_for_indexes()
    work(NOW, gateway)
    order = orders.get("ann", payment.order)
    told = [one for one in orders.mails_of_order(order, [read(payment)]) if one.number]
    assert Counter(
        (one.status, job.payload["status"], job.payload["amount"]) for one in told for _, job in one.jobs
    ) == Counter(
        [
            (PROCESSED, PROCESSED, Decimal("80.00")),
            (REFUNDED, REFUNDED, Decimal("30.00")),
            (REFUNDED, REFUNDED, Decimal("20.00")),
        ]
    )


@pytest.mark.parametrize("is_done", [False, True])
def test_the_refund_of_an_earlier_release_is_one_of_all_of_it(is_done, one_thread, wait_for_indexes):
    (payment,) = owe()
    gateway = Ledger()
    wait_for_indexes()
    run(gateway, NOW)
    cancel_order(payment, NOW)
    wait_for_indexes()
    if is_done:
        work(NOW + HOUR, gateway)
    item = table.get(payment.key)
    (new,) = item.pop("refunds")
    item["refund"] = {name: new[name] for name in ("reason", "by", "at")}
    item["card"].pop("refunded", None)
    table.write(Put(key=payment.key, item=item))
    now_is = read(payment)
    (refund,) = now_is.refunds
    assert (refund.amount, refund.by, refund.reason) == (Decimal(90), "ann", "x")
    assert refund.done_at == (NOW + HOUR if is_done else None)
    wait_for_indexes()
    assert whole() == []
    work(NOW + HOUR, gateway)
    payments.save(read(payment), replace(read(payment), version=read(payment).version + 1))
    stored = table.get(payment.key)
    assert "refund" not in stored
    assert [one["amount"] for one in stored["refunds"]] == [90]
    assert (read(payment).status, gateway.refunded.total()) == (REFUNDED, 1)
    wait_for_indexes()
    assert whole() == []
