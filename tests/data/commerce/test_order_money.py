"""An order knows what its payments come to, and is not shipped unpaid unless somebody says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import deals
from dealsite.data.commerce import charging, order_changes, order_record, orders, payment_lists, payments
from dealsite.data.commerce.order_record import OrderMoney
from dealsite.data.commerce.payment_lists import Debt
from dealsite.data.commerce.payment_record import PAYMENT_TOTALS, Sum, apply_totals, payment_item
from dealsite.data.editing import audit
from dealsite.data.entities.commerce import CANCELLED, PLACED, SHIPPED
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs, payloads
from dealsite.data.people import messages, users
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Delete, Put, Update
from dealsite.gateways.interface import ChargeDecline, ChargeResult
from tests.builders import DAY, HOUR, NOW, make_deal
from tests.gateways.ledger import Ledger
from tests.measuring import measured
from tests.orders import make_order
from tests.payments import owe, read, run, work
from tests.people import make_user
from tests.races import at_once, meanwhile
from tests.shop import ANN, add, buy, purchase

pytestmark = pytest.mark.usefixtures("whole_table")
WHOLE = Decimal("90.00")
THIRD = Decimal("30.00")


def order_of(payment):
    return orders.get(payment.account, payment.order)


def state_of(payment):
    """Return how it stands with the order of a payment, in a word and in sums that are not 0."""
    card = order_of(payment).card
    sums = {name: getattr(card.money, name) for name in OrderMoney.__slots__}
    return card.payment_state, {name: amount for name, amount in sums.items() if amount}


def settle(payment, outcome=None, now=NOW):
    """Charge a payment, which comes out as said."""
    claimed = charging.claim(payment_item(read(payment)), now=now)
    return charging.record(claimed, outcome or ChargeResult(f"txn-{payment.id}"), now=now)


DECLINED = ChargeDecline("Your card was declined.")


def test_an_order_is_placed_unpaid():
    order = make_order(plan=3)
    assert order == orders.get(order.username, order.id)
    assert order.card.payment_state == order_record.UNPAID
    assert order.card.money == OrderMoney(open=order.total)


def test_an_order_knows_what_becomes_of_its_payments(wait_for_indexes):
    first, second, third = owe(3)
    settle(first, DECLINED)
    assert state_of(first) == ("declined", {"failed": THIRD, "open": 2 * THIRD})
    charging.claim(payment_item(read(first)), now=NOW + DAY)
    assert state_of(first) == ("declined", {"failed": THIRD, "open": 2 * THIRD})
    wait_for_indexes()
    work(NOW, Ledger())
    settle(second, now=NOW + HOUR)
    assert state_of(first) == ("declined", {"failed": THIRD, "processed": THIRD, "open": THIRD})
    payments.cancel("ann", third.due_at, third.id, reason="A favour", by="eve", now=NOW + HOUR)
    settle(first, now=NOW + 2 * DAY)
    assert state_of(first) == ("paid", {"processed": 2 * THIRD, "cancelled": THIRD})
    payments.refund("ann", first.due_at, first.id, reason="Broken", by="eve", now=NOW + 3 * DAY)
    wait_for_indexes()
    work(NOW + 3 * DAY, Ledger())
    assert state_of(first) == ("paid", {"processed": THIRD, "refunded": THIRD, "cancelled": THIRD})


def test_a_cancelled_order_knows_what_it_owes_back(wait_for_indexes):
    first, _second, third = owe(3)
    settle(first)
    claimed = charging.claim(payment_item(third), now=NOW + HOUR)
    order_changes.cancel("ann", first.order, by="ann", now=NOW + HOUR)
    assert state_of(first) == ("part_paid", {"processed": THIRD, "open": THIRD, "cancelled": THIRD})
    charging.record(claimed, DECLINED, now=NOW + HOUR)
    assert state_of(first) == ("owed_back", {"processed": THIRD, "cancelled": 2 * THIRD})
    wait_for_indexes()
    work(NOW + 2 * HOUR, Ledger())
    assert state_of(first) == ("given_back", {"refunded": THIRD, "cancelled": 2 * THIRD})


def test_payments_of_one_order_that_come_out_at_once_are_all_counted():
    made = owe(12, "120.00")
    claimed = [charging.claim(payment_item(payment), now=NOW) for payment in made]
    outcomes = [DECLINED if one.number % 3 else ChargeResult(f"txn-{one.id}") for one in claimed]
    at_once(
        *(
            partial(charging.record, one, outcome, now=NOW)
            for one, outcome in zip(claimed, outcomes, strict=True)
        )
    )
    assert state_of(made[0]) == ("declined", {"processed": Decimal("40.00"), "failed": Decimal("80.00")})


@pytest.mark.parametrize(
    ("rule", "outcomes", "may_ship"),
    [
        ("first-paid", [], False),
        ("first-paid", ["paid"], True),
        ("first-paid", ["declined"], False),
        ("first-paid", ["paid", "declined"], False),
        ("first-paid", ["paid", "paid", "paid"], True),
        ("all-paid", ["paid", "paid"], False),
        ("all-paid", ["paid", "paid", "paid"], True),
        ("ordered", ["declined"], True),
    ],
)
def test_the_rule_says_what_may_be_shipped(settings, wait_for_indexes, rule, outcomes, may_ship):
    settings.DEALSITE_SHIP_WHEN = rule
    made = owe(3)
    for payment, outcome in zip(made, outcomes, strict=False):
        settle(payment, DECLINED if outcome == "declined" else None)
    ship = partial(order_changes.ship, "ann", made[0].order, by="kim", now=NOW + HOUR)
    if not may_ship:
        with pytest.raises(order_changes.NotPaid, match="only if you say so"):
            ship()
        assert ship(unpaid=True).status == SHIPPED
    assert ship().status == SHIPPED
    wait_for_indexes()
    (entry,) = (one for one in audit.of_target("order", made[0].order) if one.by == "kim")
    assert (entry.what, entry.note) == ("shipped", "" if may_ship else "Before it was paid.")


def test_what_costs_nothing_may_be_shipped(settings):
    settings.DEALSITE_SHIP_WHEN = "all-paid"
    card = order_record.OrderCard("", "", "", "PLACED", NOW, Decimal("0.00"), 1, 1, money=OrderMoney())
    assert card.may_ship
    assert card.payment_state == order_record.NOTHING


def test_a_payment_that_fails_while_its_order_is_shipped_is_not_overlooked(monkeypatch):
    first, second, _third = owe(3)
    settle(first)
    meanwhile(monkeypatch, partial(settle, second, DECLINED))
    with pytest.raises(order_changes.NotPaid):
        order_changes.ship("ann", first.order, by="kim", now=NOW)
    assert state_of(first) == ("declined", {"processed": THIRD, "failed": THIRD, "open": THIRD})


def test_a_payment_that_comes_in_while_its_order_is_cancelled_is_given_back(monkeypatch, wait_for_indexes):
    (payment,) = owe(1)
    meanwhile(monkeypatch, partial(settle, payment))
    order_changes.cancel("ann", payment.order, by="ann", now=NOW + HOUR)
    assert state_of(payment) == ("owed_back", {"processed": WHOLE})
    wait_for_indexes()
    work(NOW + 2 * HOUR, Ledger())
    assert state_of(payment) == ("given_back", {"refunded": WHOLE})


def forget(payment):
    """Make an order one that an earlier release placed."""
    key = keys.order(payment.account, payment.order)
    table.write(Update(key=key, remove=[("card", "money")]))


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (lambda one: settle(one), ("part_paid", {"processed": THIRD, "open": 2 * THIRD})),
        (
            lambda one: order_changes.cancel("ann", one.order, by="ann", now=NOW + HOUR),
            ("nothing", {"cancelled": WHOLE}),
        ),
        (
            lambda one: order_changes.ship("ann", one.order, unpaid=True, by="kim", now=NOW),
            ("unpaid", {"open": WHOLE}),
        ),
    ],
)
def test_an_order_of_an_earlier_release_is_added_up_by_what_happens_to_it(change, after):
    first, *_others = owe(3)
    forget(first)
    assert order_of(first).card.payment_state == order_record.UNKNOWN
    change(first)
    assert state_of(first) == after


def test_an_old_order_is_added_up():
    first, *_others = owe(3)
    settle(first)
    forget(first)
    assert measured(payments.add_up)("ann", first.order) is True
    assert state_of(first) == ("part_paid", {"processed": THIRD, "open": 2 * THIRD})


def test_payments_of_an_old_order_that_come_out_at_once_are_all_counted():
    made = owe(6)
    claimed = [charging.claim(payment_item(payment), now=NOW) for payment in made]
    forget(made[0])
    paid = [ChargeResult(f"txn-{one.id}") for one in claimed]
    at_once(
        *(partial(charging.record, one, charge, now=NOW) for one, charge in zip(claimed, paid, strict=True))
    )
    assert state_of(made[0]) == ("paid", {"processed": WHOLE})


def test_a_payment_whose_order_is_lost_is_recorded_all_the_same():
    (payment,) = owe(1)
    key = keys.order(payment.account, payment.order)
    item = table.get(key)
    table.write(Delete(key=key))
    assert settle(payment).status == "PROCESSED"
    assert payments.add_up(payment.account, payment.order) is False
    table.write(Put(key=key, item=item))
    checks.repair_all()


def test_what_an_order_says_wrongly_of_its_payments_is_found_and_repaired():
    made = owe(3)
    settle(made[0])
    key = keys.order("ann", made[0].order)
    wrong = {"open": WHOLE, "processed": 0, "failed": 0, "cancelled": 0, "refunded": 0}
    table.write(Update(key=key, set={("card", "money"): wrong}))
    (problem,) = checks.find()
    assert "What it says of its payments is not what they come to" in problem.what
    forget(made[0])
    (problem,) = checks.find()
    assert checks.repair(problem)
    assert state_of(made[0]) == ("part_paid", {"processed": THIRD, "open": 2 * THIRD})


def test_runners_keep_orders_right(wait_for_indexes):
    (payment,) = owe(1)
    wait_for_indexes()
    run(Ledger("decline"), NOW + HOUR)
    assert state_of(payment)[0] == "declined"
    wait_for_indexes()
    run(Ledger(), NOW + 2 * DAY)
    assert state_of(payment) == ("paid", {"processed": WHOLE})


def test_a_change_of_a_payment_that_moves_no_money_leaves_its_order_alone():
    (payment,) = owe(1)
    payments.pay_early("ann", payment.due_at, payment.id, by="ann", now=NOW)
    assert order_of(payment).version == 1


def test_a_payment_that_changed_meanwhile_is_refused():
    (payment,) = owe(1)
    after = settle(payment)
    with pytest.raises(Conflict):
        payments.save(payment, after)


def give_up(payment, now=NOW):
    """Have a payment declined until it is tried no more; returns when that was."""
    for wait in (*charging.RETRY_AFTER, None):
        settle(payment, DECLINED, now=now)
        now += wait or timedelta()
    return now


def run_jobs(now):
    """Carry out the jobs of payments and unpaid orders that are due."""
    handlers = {order_changes.EXPIRE_ORDER: order_changes.expire, PAYMENT_TOTALS: apply_totals}
    while (job := jobs.take_next(now=now)) is not None:
        if job.kind in handlers:
            handlers[job.kind](job, now)
        jobs.finish(job)


WEEK = timedelta(days=7)


def test_cancelling_what_nobody_paid_costs_what_it_says():
    first, *_others = owe(3)
    payload = order_changes.ExpiryPayload("ann", first.order)
    end = give_up(first)
    job = jobs.Job(new_ulid(end), order_changes.EXPIRE_ORDER, payloads.payload_to_item(payload))
    measured(order_changes.expire)(job, NOW + 30 * DAY)
    assert order_of(first).status == CANCELLED


def test_an_order_that_nobody_pays_is_cancelled_and_its_stock_goes_back(wait_for_indexes):
    deal = make_deal(stock=5)
    make_user("ann")
    order = buy("ann", deal, quantity=2, plan=3)
    run_jobs(NOW)
    (first, *_others) = payments.of_order("ann", order.payments)
    end = give_up(first)
    wait_for_indexes()
    run_jobs(end + WEEK - timedelta(seconds=1))
    assert orders.get("ann", order.id).status == PLACED
    wait_for_indexes()
    run_jobs(end + WEEK)
    wait_for_indexes()
    run_jobs(end + WEEK)
    cancelled = orders.get("ann", order.id)
    assert (cancelled.status, cancelled.timeline[-1].by, cancelled.timeline[-1].note) == (
        CANCELLED,
        "-",
        "It was not paid.",
    )
    assert deals.get(deal.id).stock == 5
    assert cancelled.card.money == OrderMoney(cancelled=order.total)
    assert messages.inbox("ann").rows[0].headline == "Your order was cancelled"


PAID_IN_TIME = {
    "it was paid": settle,
    "another instalment was paid": lambda first: settle(read_all(first)[1]),
    "it was shipped on account": lambda first: order_changes.ship(
        "ann", first.order, unpaid=True, by="kim", now=NOW + 20 * DAY
    ),
    "it is tried again": lambda first: payments.retry_now(
        "ann", first.due_at, first.id, by="ann", now=NOW + 20 * DAY
    ),
}


def read_all(payment):
    return payments.of_order("ann", order_of(payment).payments)


@pytest.mark.parametrize("case", PAID_IN_TIME)
def test_an_order_is_not_cancelled_for_being_unpaid_if(case, wait_for_indexes):
    first, *_others = owe(3)
    end = give_up(first)
    if case == "it was paid":
        payments.retry_now("ann", first.due_at, first.id, by="ann", now=end)
        settle(first, now=end)
    else:
        PAID_IN_TIME[case](first)
    wait_for_indexes()
    run_jobs(end + WEEK)
    assert order_of(first).status != CANCELLED


def test_a_payment_that_is_tried_once_more_leaves_as_long_as_its_shopper_is_told_then(wait_for_indexes):
    first, *_others = owe(3)
    last = give_up(first) + WEEK - DAY
    payments.retry_now("ann", first.due_at, first.id, by="ann", now=last)
    settle(first, DECLINED, now=last)
    wait_for_indexes()
    run_jobs(last + WEEK - timedelta(seconds=1))
    assert order_of(first).status == PLACED
    wait_for_indexes()
    run_jobs(last + WEEK)
    wait_for_indexes()
    run_jobs(last + WEEK)
    assert order_of(first).status == CANCELLED


def test_a_payment_that_comes_in_right_before_its_order_is_cancelled_for_not_being_paid(monkeypatch):
    first, *_others = owe(3)
    end = give_up(first)

    def pay_after_all():
        payments.retry_now("ann", first.due_at, first.id, by="ann", now=end)
        settle(first, now=end)

    meanwhile(monkeypatch, pay_after_all)
    order_changes.cancel("ann", first.order, by="-", now=end + WEEK, given_up=end)
    assert (order_of(first).status, state_of(first)[0]) == (PLACED, "part_paid")


def test_no_order_is_cancelled_for_being_unpaid_where_the_setting_says_never(settings, wait_for_indexes):
    settings.DEALSITE_UNPAID_DAYS = 0
    first, *_others = owe(3)
    end = give_up(first)
    wait_for_indexes()
    run_jobs(end + 52 * WEEK)
    assert order_of(first).status == PLACED


def ann(**more):
    return replace(make_user("ann"), **more)


# Settings, what the user is, what they have to pay, and what is said.
CREDIT: dict[str, tuple[dict[str, Any], dict[str, Any], Any, str]] = {
    "they may": ({}, {}, None, ""),
    "the order is too large": ({"ORDER": 89}, {}, None, "Orders of more than €89.00 are paid at once."),
    "nobody may": ({"ORDER": 0}, {}, None, "Orders are paid at once here."),
    "no address is confirmed": (
        {},
        {"email": ""},
        None,
        "Confirm your e-mail address to pay in instalments.",
    ),
    "that does not matter": ({"CONFIRMED": False}, {"email": ""}, None, ""),
    "the account is new": (
        {"DAYS": 3},
        {"created_at": NOW - 2 * DAY},
        None,
        "You can pay in instalments once your account is 3 days old.",
    ),
    "a clock is behind": ({}, {"created_at": NOW + HOUR}, None, ""),
    "it is old enough": ({"DAYS": 3}, {"created_at": NOW - 3 * DAY}, None, ""),
    "they owe too much": (
        {"OPEN": 179},
        {},
        lambda first: None,
        "You still have €90.00 to pay: with this order that would be more than €179.00.",
    ),
    "they owe no more than they may": ({"OPEN": 180}, {}, lambda first: None, ""),
    "they paid some of it": ({"OPEN": 150}, {}, settle, ""),
    "a payment failed": (
        {},
        {},
        lambda first: settle(first, DECLINED),
        "A payment of yours failed. Once it is paid, you can pay in instalments again.",
    ),
    "one may fail": ({"FAILED": 1}, {}, lambda first: settle(first, DECLINED), ""),
}


@pytest.mark.parametrize("case", CREDIT)
def test_who_may_pay_in_instalments(settings, case):
    limits, user, happened, said = CREDIT[case]
    for name, value in limits.items():
        setattr(settings, f"DEALSITE_CREDIT_{name}", value)
    shopper = ann(**user)
    if happened:
        happened(owe(3)[0])
    assert payments.no_credit(shopper, WHOLE, now=NOW) == said


def test_an_order_beyond_somebodys_credit_is_not_placed(settings):
    settings.DEALSITE_CREDIT_ORDER = 50
    deal = make_deal(stock=5)
    make_user("ann")
    with pytest.raises(Invalid) as refused:
        buy("ann", deal, plan=3)
    assert refused.value.fields == {"plan": "Orders of more than €50.00 are paid at once."}
    assert deals.get(deal.id).stock == 5


def test_two_orders_at_once_do_not_both_use_the_credit_that_is_left(settings):
    settings.DEALSITE_CREDIT_OPEN = 100
    make_user("ann")
    add(ANN, make_deal())
    outcomes = at_once(*(partial(order_changes.place, purchase("ann", plan=3), now=NOW) for _ in range(4)))
    assert sum(isinstance(one, order_record.Order) for one in outcomes) == 1
    assert measured(payment_lists.owed)("ann").total == Decimal("79.90")


def test_an_account_is_not_deleted_while_it_owes():
    first, *_others = owe(3)
    with pytest.raises(users.StillOwes):
        users.delete(users.get("ann"), job_id=new_ulid(NOW), now=NOW)
    order_changes.cancel("ann", first.order, by="ann", now=NOW)
    users.delete(users.get("ann"), job_id=new_ulid(NOW), now=NOW)
    assert users.find("ann") is None


def test_an_account_that_orders_while_it_is_deleted_is_not_deleted(monkeypatch):
    user = make_user("ann")
    add(ANN, make_deal())
    form = purchase("ann", plan=3)
    meanwhile(monkeypatch, partial(order_changes.place, form, now=NOW))
    with pytest.raises(Conflict):
        users.delete(user, job_id=new_ulid(NOW), now=NOW)
    assert orders.get("ann", form.order_id).status == PLACED


def test_nothing_is_charged_for_an_account_that_is_gone(monkeypatch):
    """An earlier release deleted accounts that owed."""
    (payment,) = owe(1)
    monkeypatch.setattr(users, "owed", lambda _: Debt(Sum(), Sum()))
    users.delete(users.get("ann"), job_id=new_ulid(NOW), now=NOW)
    gateway = Ledger()
    claimed = charging.claim(payment_item(payment), now=NOW)
    outcome = charging.charge(claimed, gateway, currency="EUR", now=NOW)
    assert outcome == ChargeDecline("No card is on file for this payment.")
    assert gateway.asked == []
