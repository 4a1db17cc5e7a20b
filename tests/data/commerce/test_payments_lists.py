"""Lists of payments: by account, by status and date over all accounts, by transaction id; overdue ones by age."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest

from dealsite.data import table
from dealsite.data.commerce import charging, payment_lists, payment_record, payments
from dealsite.data.commerce.payment_record import Sum
from dealsite.data.entities.commerce import FAILED, PENDING, PROCESSED, SCHEDULED
from dealsite.data.table import errors
from tests.builders import DAY, HOUR, NOW
from tests.gateways.ledger import Ledger
from tests.measuring import measured
from tests.payments import close_day, owe, read, run
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")
TODAY = NOW.date()


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(charging, "THREADS", 1)
    monkeypatch.setattr(payment_lists, "PAGE_SIZE", 3)


def owe_many(count=11, account="ann"):
    """Payments an hour apart, two at each time."""
    return [
        owe(order_number=number + 1, account=account, first=NOW + number // 2 * HOUR)[0]
        for number in range(count)
    ]


def in_order(made):
    return [payment.id for payment in sorted(made, key=lambda payment: (payment.due_at, payment.id))]


def all_rows(first, last, status=SCHEDULED):
    """All rows of a list, page by page."""
    rows, after = [], None
    while True:
        page = payment_lists.of_status(status, first, last, after=after, limit=3)
        rows += page.rows
        after = page.after
        if after is None:
            return rows


def test_all_accounts_are_merged_by_time_and_no_page_skips_or_repeats(wait_for_indexes):
    made = [*owe_many(7), owe(order_number=50, account="bob", first=NOW + HOUR)[0]]
    wait_for_indexes()
    assert [row.id for row in all_rows(TODAY, TODAY)] == in_order(made)
    assert {row.account for row in all_rows(TODAY, TODAY)} == {"ann", "bob"}


def test_a_row_says_what_a_list_shows(wait_for_indexes):
    _, second, _ = owe(3)
    wait_for_indexes()
    (row,) = payment_lists.of_status(SCHEDULED, second.due_at.date(), second.due_at.date()).rows
    assert (row.id, row.order, row.number, row.of, row.amount, row.due_at, row.status) == (
        second.id,
        second.order,
        2,
        3,
        Decimal("30.00"),
        second.due_at,
        "SCHEDULED",
    )
    assert (row.listed_at, row.closed, row.transaction_id) == (second.due_at, False, "")


def test_what_comes_and_goes_while_one_pages_moves_nothing_else(wait_for_indexes):
    made = owe_many(8)
    wait_for_indexes()
    page = payment_lists.of_status(SCHEDULED, TODAY, TODAY, limit=3)
    run(Ledger(), NOW)  # the first two are paid
    added = owe(order_number=90, first=NOW + timedelta(minutes=150))[0]
    wait_for_indexes()
    rest = payment_lists.of_status(SCHEDULED, TODAY, TODAY, after=page.after, limit=20)
    assert [row.id for row in (*page.rows, *rest.rows)] == in_order([*made, added])


def test_a_span_holds_its_first_and_last_moment_and_no_other(wait_for_indexes):
    start = NOW.replace(hour=0)
    times = [
        start - timedelta(milliseconds=1),
        start,
        start + DAY - timedelta(milliseconds=1),
        start + DAY,
        start + 2 * DAY,
    ]
    made = [owe(order_number=number, first=at)[0] for number, at in enumerate(times, 1)]
    wait_for_indexes()

    def found(first, last):
        return [row.id for row in all_rows(first, last)]

    assert found(TODAY, TODAY) == [made[1].id, made[2].id]
    assert found(TODAY, TODAY + DAY) == [made[1].id, made[2].id, made[3].id]
    assert found(TODAY + DAY, TODAY) == []
    assert found(TODAY + 9 * DAY, TODAY + 9 * DAY) == []


def claim_all(now=NOW):
    """Claim what is due, as runners that do not come back; returns how many were claimed."""
    return sum(charging.claim(row, now=now) is not None for row in charging.due(now=now))


def test_pending_payments_are_listed_by_when_they_were_due(wait_for_indexes, monkeypatch):
    monkeypatch.setattr(payment_lists, "MANY", 1)  # so that a shard with two of them takes several pages
    made = [owe(order_number=number + 1, first=NOW - number // 2 * DAY)[0] for number in range(9)]
    wait_for_indexes()
    assert claim_all(NOW + HOUR) == 9
    wait_for_indexes()
    rows = all_rows(TODAY - 4 * DAY, TODAY, PENDING)
    assert [row.id for row in rows] == in_order(made)
    assert {row.listed_at - row.due_at for row in rows} == {timedelta(0)}
    for days in range(5):
        due = [payment for payment in made if payment.due_at == NOW - days * DAY]
        assert [row.id for row in all_rows(TODAY - days * DAY, TODAY - days * DAY, PENDING)] == in_order(due)
    assert all_rows(TODAY + DAY, TODAY + 9 * DAY, PENDING) == []


def test_what_is_charged_before_its_day_is_listed_on_its_day(wait_for_indexes):
    second = owe(3)[1]
    measured(payments.pay_early)(second.account, second.due_at, second.id, by="ann", now=NOW)
    wait_for_indexes()
    claim_all()
    wait_for_indexes()
    day = second.due_at.date()
    assert [row.id for row in all_rows(day, day, PENDING)] == [second.id]


@pytest.mark.engines("native")
def test_a_pending_payment_is_listed_once_while_runners_take_it_from_each_other(monkeypatch):
    monkeypatch.setattr(payment_lists, "MANY", 1)
    made = owe_many(4)
    claim_all(NOW + DAY)

    def take_over(number):
        return [claim_all(NOW + (number + 2 * turn) * DAY) for turn in range(2, 6)]

    def look():
        return [[row.id for row in all_rows(TODAY, TODAY, PENDING)] for _ in range(4)]

    seen = at_once(look, partial(take_over, 0), look, partial(take_over, 1))
    assert [*seen[0], *seen[2]] == [in_order(made)] * 8


def test_failed_payments_to_be_tried_again_and_given_up_are_one_list(wait_for_indexes, monkeypatch):
    tried = owe(method="declines", order_number=1)[0]
    wait_for_indexes()
    run(Ledger(), NOW)
    monkeypatch.setattr(charging, "RETRY_AFTER", ())
    given_up = owe(method="declines", order_number=2)[0]
    wait_for_indexes()
    run(Ledger(), NOW)
    wait_for_indexes()
    rows = all_rows(TODAY, TODAY + DAY, FAILED)
    assert [row.id for row in rows] == [given_up.id, tried.id]
    assert {row.reason for row in rows} == {"Your card was declined."}


def test_an_account_sees_its_next_90_days_earliest_first(wait_for_indexes):
    made = owe(6)
    owe(account="bob", order_number=2)
    page = payment_lists.coming("ann", now=NOW)
    assert [payment.id for payment in page.rows] == [payment.id for payment in made[:3]]
    rest = payment_lists.coming("ann", now=NOW, after=page.after) if page.after else None
    assert rest is None or rest.rows == []
    assert all(payment.due_at <= NOW + payment_lists.COMING for payment in page.rows)
    everything = [*(first := payment_lists.of_account("ann")).rows]
    everything += payment_lists.of_account("ann", after=first.after).rows
    assert everything == made
    assert payment_lists.of_account("a#b").rows == []


@pytest.mark.parametrize(
    "cursor", ["x", "2026-11-21", f"2026-11-21T12:00:00.000Z#{'0' * 25}", "#", "SCHEDULED#1"]
)
def test_a_damaged_cursor_is_refused(cursor):
    with pytest.raises(errors.BadCursor):
        payment_lists.of_status(SCHEDULED, TODAY, TODAY, after=cursor)
    with pytest.raises(errors.BadCursor):
        payment_lists.coming("ann", now=NOW, after=cursor)
    with pytest.raises(errors.BadCursor):
        payment_lists.history("ann", after=cursor)
    with pytest.raises(errors.BadCursor):
        payment_lists.done("ann", now=NOW, after=cursor)


def test_a_payment_is_found_by_its_transaction_id(wait_for_indexes):
    (payment,) = owe()
    wait_for_indexes()
    run(Ledger(), NOW)
    wait_for_indexes()
    row = payment_lists.by_transaction(f"txn-{payment.id}-0")
    assert (row.id, row.account, row.status, row.at) == (payment.id, "ann", "PROCESSED", NOW)
    assert payment_lists.by_transaction("txn-0") is None
    assert payment_lists.by_transaction("a#b") is None


def test_history_pages_newest_first(wait_for_indexes):

    made = [owe(order_number=number, first=NOW - number * HOUR)[0] for number in range(1, 6)]
    wait_for_indexes()
    run(Ledger(), NOW)
    wait_for_indexes()
    close_day(TODAY)
    first = payment_lists.history("ann")
    second = payment_lists.history("ann", after=first.after)
    assert [payment.id for payment in (*first.rows, *second.rows)] == [payment.id for payment in made]
    assert second.after is None


def test_overdue_payments_are_told_apart_by_age(wait_for_indexes, monkeypatch):
    ages = {1: 0, 2: 1, 3: 7, 4: 8, 5: 30, 6: 31, 7: 400, 8: -1}
    for number, age in ages.items():
        owe(order_number=number, total=f"{number}.00", first=NOW - age * DAY)
    wait_for_indexes()
    found = measured(payment_lists.overdue)(now=NOW)
    assert (found.today, found.week, found.month, found.older) == (
        Sum(1, Decimal("1.00")),
        Sum(2, Decimal("5.00")),
        Sum(2, Decimal("9.00")),
        Sum(2, Decimal("13.00")),
    )
    assert found.older_at_least is False
    monkeypatch.setattr(charging, "RETRY_AFTER", ())
    run(Ledger(*["decline"] * 9), NOW)
    wait_for_indexes()
    assert payment_lists.overdue(now=NOW) == found  # what was declined and given up is overdue all the same
    monkeypatch.setattr(payment_lists, "COUNTED", 1)  # in a shard
    assert payment_lists.overdue(now=NOW).older_at_least is True


def test_totals_of_a_span_add_up():
    owe(3)
    owe(1, order_number=2)
    span = payment_record.totals_of_days(TODAY, TODAY + 31 * DAY)
    assert span[TODAY]["open"] == Sum(2, Decimal("120.00"))
    assert payment_record.whole_totals(span)["open"] == Sum(3, Decimal("150.00"))
    assert {state: found for state, found in payment_record.whole_totals(span).items() if found.count} == {
        "open": Sum(3, Decimal("150.00"))
    }


@pytest.mark.budget
def test_lists_and_claims_cost_what_their_rows_say():
    (payment,) = owe()

    def cost(ask):
        with table.metered() as meter:
            ask()
        return sorted({operation: 0 for operation, _ in meter.log}), meter.calls

    assert cost(lambda: payment_lists.of_status(SCHEDULED, TODAY, TODAY)) == (["Query"], 10)
    assert cost(lambda: payment_lists.of_status(FAILED, TODAY, TODAY)) == (["Query"], 20)
    assert cost(lambda: payment_lists.history_of(TODAY, TODAY)) == (["Query"], 10)
    assert cost(lambda: payment_lists.coming("ann", now=NOW)) == (["Query"], 1)
    assert cost(lambda: payment_lists.history("ann")) == (["Query"], 1)
    assert cost(lambda: payment_lists.by_transaction("x")) == (["Query"], 1)
    assert cost(lambda: measured(payment_record.totals_of_days)(TODAY, TODAY)) == (["BatchGetItem"], 1)
    (row,) = charging.due(now=NOW)
    with table.metered() as meter:
        claimed = charging.claim(row, now=NOW)
    assert [operation for operation, _ in meter.log] == ["UpdateItem", "GetItem"]
    from dealsite.gateways.interface import ChargeResult

    with table.metered() as meter:
        charging.record(claimed, ChargeResult("txn"), now=NOW)
    assert [operation for operation, _ in meter.log] == ["TransactWriteItems"]
    assert read(payment).status == PROCESSED


def test_what_is_being_charged_is_listed(wait_for_indexes):
    (payment,) = owe()
    wait_for_indexes()
    (row,) = charging.due(now=NOW)
    charging.claim(row, now=NOW)
    wait_for_indexes()
    assert [row.id for row in measured(payment_lists.pending)(TODAY, TODAY).rows] == [payment.id]
