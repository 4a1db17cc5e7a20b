"""Placing and cancelling orders: what was shown is bought, all of it or nothing, in one transaction."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import deal_changes, deals, deals as stock_marks, featured
from dealsite.data.commerce import (
    cart_changes,
    carts,
    order_changes,
    order_record,
    orders,
    payment_record,
    payments,
)
from dealsite.data.commerce.addresses import Address
from dealsite.data.commerce.carts import CartChanged
from dealsite.data.commerce.order_record import buyer
from dealsite.data.commerce.payment_record import total_changes, total_writes
from dealsite.data.commerce.payments import change_write
from dealsite.data.editing import audit
from dealsite.data.entities.commerce import (
    ACTIVE,
    CANCELLED,
    PLACED,
    PLANS,
    PROCESSED,
    PURCHASED,
    RETURNED,
    SAVED,
    SCHEDULED,
)
from dealsite.data.entities.deals import SHOP
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.people import mails, messages, profiles, users
from dealsite.data.table import client, errors
from dealsite.data.table.ids import iso
from dealsite.data.table.writes import Put, Update
from tests.builders import DAY, EDITOR, HOUR, LINK, NOW, make_deal, make_id
from tests.measuring import measured
from tests.people import make_user
from tests.races import meanwhile
from tests.shop import (
    ADDRESS,
    ANN,
    BOB,
    add,
    bought,
    buy,
    delete,
    edit,
    feature,
    fill,
    held,
    make_deals,
    purchase,
    run_jobs,
    stock,
)

pytestmark = pytest.mark.usefixtures("whole_table")


@pytest.fixture(autouse=True)
def _shoppers(whole_table) -> None:
    make_user("ann")
    make_user("bob")


def refused(form: order_changes.Purchase, *, now=NOW) -> None:
    """Nothing of a form is bought."""
    before = (held(ANN, now=now), carts.read(ANN, now=now).version)
    with pytest.raises(CartChanged):
        order_changes.place(form, now=now)
    assert (held(ANN, now=now), carts.read(ANN, now=now).version) == before
    assert orders.of_user("ann").rows == []
    with pytest.raises(errors.NotFound):
        orders.get("ann", form.order_id)


def sold_out(deal: deals.Deal) -> bool:
    """Whether a deal's card says so; its featured copies have to agree."""
    current = deals.get(deal.id)
    for page_id in current.featured_on:
        assert current.card in featured.get(page_id).cards
    return current.card.sold_out


def test_what_was_in_the_cart_is_bought():
    lamp, desk, later = make_deals(3)
    add(ANN, later)
    (line,) = carts.read(ANN, now=NOW).active
    cart_changes.move(ANN, line.ref, SAVED, now=NOW)
    fill(ANN, [lamp, desk], 2)
    form = purchase()
    order = measured(order_changes.place)(form, now=NOW + HOUR)
    assert order == orders.get("ann", form.order_id)
    assert (order.id, order.username, order.status, order.total, order.version) == (
        form.order_id,
        "ann",
        PLACED,
        Decimal("319.60"),
        1,
    )
    assert (order.card.pieces, order.card.lines, order.card.plan, order.card.name) == (4, 2, 1, "Ann Ash")
    assert (order.placed_at, order.address, order.email) == (NOW + HOUR, ADDRESS, "ann@example.org")
    assert order.timeline == (order_record.Event(PLACED, NOW + HOUR, "ann"),)
    assert bought(order) == {lamp.id: 2, desk.id: 2}
    assert held(ANN) == {later.id: (SAVED, 1)}
    lines = orders.lines_of(order)
    assert {(line.status, line.at, line.order, line.price) for line in lines} == {
        (PURCHASED, NOW + HOUR, order.id, Decimal("79.90"))
    }


def test_whoever_ordered_is_told_and_the_log_knows(wait_for_indexes):
    order = buy("ann", make_deal())
    wait_for_indexes()
    (message,) = messages.inbox("ann").rows
    assert (message.kind, message.order, message.unread) == ("order", order.id, True)
    (entry,) = audit.of_target("order", order.id)
    assert (entry.by, entry.what, entry.at) == ("ann", "placed", NOW)
    waiting = []
    while job := jobs.take_next(now=NOW):
        waiting.append(job)
    assert {job.kind: job.payload for job in waiting if job.kind == mails.ORDER_NOTICE} == {
        mails.ORDER_NOTICE: {
            "status": "PLACED",
            "order": order.id,
            "username": "ann",
            "to": "ann@example.org",
            "at": iso(NOW),
        }
    }


def test_the_address_is_kept_for_the_next_time():
    assert buyer("ann").address == Address()
    buy("ann", make_deal(), address=replace(ADDRESS, street="  2 \n Low   Street ", extra="\u202e"))
    assert buyer("ann").address == replace(ADDRESS, street="2 Low Street")
    profile = profiles.get("ann")
    profiles.edit(profile, name="Ann", timezone="")
    assert buyer("ann").address.street == "2 Low Street"


@pytest.mark.parametrize("plan", PLANS)
def test_instalments_come_to_the_total(plan):
    order = buy("ann", make_deal(price=Decimal("100.01"), was_price=None), plan=plan)
    paid = payments.of_order("ann", order.payments)
    assert len(paid) == plan
    assert sum(payment.amount for payment in paid) == order.total == Decimal("100.01")
    assert {(payment.order, payment.account, payment.method, payment.status) for payment in paid} == {
        (order.id, "ann", "tok_visa", SCHEDULED)
    }


def test_what_is_free_is_ordered_without_instalments():
    order = buy("ann", make_deal(price=Decimal("0.00"), was_price=None))
    assert (order.total, order.payments) == (Decimal("0.00"), ())
    assert order_changes.cancel("ann", order.id, by="ann", now=NOW + HOUR).status == CANCELLED


def test_a_form_sent_twice_makes_one_order():
    deal = make_deal(stock=5)
    add(ANN, deal, 2)
    form = purchase()
    first = order_changes.place(form, now=NOW)
    assert order_changes.place(form, now=NOW + HOUR) == first
    add(ANN, deal, 2, now=NOW + HOUR)
    assert order_changes.place(form, now=NOW + HOUR) == first
    assert (stock(deal), held(ANN)) == (3, {deal.id: (ACTIVE, 2)})
    assert [card.id for card in orders.of_user("ann").rows] == [first.id]


def test_an_order_is_never_written_over_by_another_of_its_id():
    deal, other = make_deals(2, stock=5)
    first = buy("ann", deal)
    add(ANN, other)
    assert order_changes.place(purchase(order_id=first.id), now=NOW + HOUR) == first
    assert (stock(other), held(ANN), bought(first)) == (5, {other.id: (ACTIVE, 1)}, {deal.id: 1})


def test_an_order_whose_answer_was_lost_is_the_one_that_is_there(monkeypatch):
    deal = make_deal(stock=5)
    add(ANN, deal, 2)
    form = purchase()
    real = table.transact

    def losing(writes):
        real(writes)
        monkeypatch.setattr(table, "transact", real)
        raise errors.Unavailable

    monkeypatch.setattr(table, "transact", losing)
    with pytest.raises(errors.Unavailable):
        order_changes.place(form, now=NOW)
    assert order_changes.place(form, now=NOW + HOUR).placed_at == NOW
    assert stock(deal) == 3


def test_an_order_id_of_another_shopper_is_another_order():
    deal = make_deal()
    first = buy("ann", deal)
    second = buy("bob", deal, order_id=first.id)
    assert (first.username, second.username) == ("ann", "bob")
    assert orders.get("ann", first.id).username == "ann"


def test_an_empty_cart_is_not_ordered():
    refused(purchase())


def test_a_cart_that_changed_is_not_ordered():
    deal, other = make_deals(2)
    add(ANN, deal)
    form = purchase()
    add(ANN, other)
    refused(form)
    refused(replace(purchase(), version=form.version))
    refused(replace(purchase(), total=form.total))


CHANGES = {
    "a higher price": lambda deal: edit(deal, price=Decimal("80.00")),
    "a lower price": lambda deal: edit(deal, price=Decimal("70.00")),
    "it is sold out": lambda deal: edit(deal, stock=0),
    "fewer are left": lambda deal: edit(deal, stock=1),
    "it has expired": lambda deal: edit(deal, expires_at=NOW + HOUR),
    "a shop sells it": lambda deal: edit(deal, sold=SHOP, link=LINK, stock=None),
    "it is gone": delete,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("counted", [True, False])
def test_a_deal_that_changed_is_not_ordered_and_nothing_else_either(change, counted):
    deal, other = make_deals(2, stock=5 if counted else None)
    fill(ANN, [deal, other], 2)
    form = purchase()
    CHANGES[change](deal)
    refused(form, now=NOW + HOUR)
    assert stock(other) == (5 if counted else None)


@pytest.mark.parametrize("change", CHANGES)
def test_what_an_editor_changes_at_the_last_moment_is_not_ordered(change, monkeypatch):
    deal, other = make_deals(2, stock=5)
    fill(ANN, [deal, other], 2)
    form, real = purchase(), table.transact

    def interrupted(writes):
        monkeypatch.setattr(table, "transact", real)
        CHANGES[change](deal)
        real(writes)

    monkeypatch.setattr(table, "transact", interrupted)
    refused(form, now=NOW + HOUR)
    assert stock(other) == 5


@pytest.mark.parametrize("change", CHANGES)
def test_what_an_editor_changes_while_the_last_pieces_are_bought_is_not_ordered(change, monkeypatch):
    deal, other = make_deals(2, stock=2)
    fill(ANN, [deal, other], 2)
    form, real, tries = purchase(), table.transact, []

    def interrupted(writes):
        tries.append(len(writes))
        if len(tries) == 2:  # the offers were read, and what sells out is marked in this try
            monkeypatch.setattr(table, "transact", real)
            CHANGES[change](deal)
        real(writes)

    monkeypatch.setattr(table, "transact", interrupted)
    refused(form, now=NOW + HOUR)
    assert (len(tries), stock(other), sold_out(other)) == (2, 2, False)


@pytest.mark.parametrize(("before", "then", "left"), [(None, 5, 3), (5, None, None)])
def test_stock_whose_counting_begins_or_ends_is_no_hindrance(before, then, left):
    deal = make_deal(stock=before)
    add(ANN, deal, 2)
    form = purchase()
    edit(deal, stock=then)
    order = order_changes.place(form, now=NOW)
    (line,) = orders.lines_of(order)
    assert (stock(deal), line.counted) == (left, left is not None)


def test_the_last_pieces_are_not_bought_when_one_of_them_goes_at_the_last_moment(monkeypatch):
    deal = make_deal(stock=2)
    add(ANN, deal, 2)
    add(BOB, deal, 1)
    form, others, real, tries = purchase(), purchase("bob"), table.transact, []

    def interrupted(writes):
        tries.append(len(writes))
        if len(tries) == 2:  # both pieces were seen, and are to be marked as the last
            monkeypatch.setattr(table, "transact", real)
            order_changes.place(others, now=NOW)
        real(writes)

    monkeypatch.setattr(table, "transact", interrupted)
    refused(form)
    assert (stock(deal), sold_out(deal)) == (1, False)


def test_the_last_pieces_mark_the_deal_wherever_it_shows():
    deal, other = make_deals(2, stock=3)
    feature(deal, other)
    buy("ann", deal, other, quantity=2)
    assert (stock(deal), sold_out(deal)) == (1, False)
    buy("bob", deal)
    assert (stock(deal), sold_out(deal), sold_out(other)) == (0, True, False)
    with pytest.raises(cart_changes.CannotAdd, match="sold out"):
        add(BOB, deal)


def test_an_order_of_a_deleted_account_is_refused():
    add(ANN, make_deal())
    form = purchase()
    users.delete(users.get("ann"), job_id=make_id(NOW), now=NOW)
    with pytest.raises(errors.Invalid, match="Choose a card"):
        order_changes.place(form, now=NOW)
    with pytest.raises(errors.Conflict, match="This account was deleted"):
        order_changes.place(replace(form, method=""), now=NOW)
    assert orders.of_user("ann").rows == []


@pytest.mark.parametrize(
    ("damage", "field"),
    [
        ({"order_id": "x#y"}, ""),
        ({"plan": 2}, ""),
        ({"plan": -1}, ""),
        ({"address": replace(ADDRESS, street=" \u200b ")}, "street"),
        ({"address": replace(ADDRESS, city="x" * 121)}, "city"),
        ({"address": Address()}, "name"),
    ],
)
def test_a_form_that_cannot_be_is_refused(damage, field):
    add(ANN, make_deal())
    with pytest.raises(errors.Invalid) as invalid:
        order_changes.place(replace(purchase(), **damage), now=NOW)
    assert field in invalid.value.fields or not field
    assert len(held(ANN)) == 1


def test_no_instalment_is_below_one():
    add(ANN, make_deal(price=Decimal("2.99"), was_price=None))
    with pytest.raises(errors.Invalid) as invalid:
        order_changes.place(purchase(plan=3), now=NOW)
    assert "plan" in invalid.value.fields
    assert order_changes.place(purchase(), now=NOW).total == Decimal("2.99")


@pytest.mark.budget
def test_placing_an_order_costs_a_query_and_a_transaction():
    deal, last = make_deal(stock=5), make_deal(stock=1)
    add(ANN, deal)
    form = purchase()
    with table.metered() as meter:
        order_changes.place(form, now=NOW)
    assert [operation for operation, _ in meter.log] == ["Query", "TransactWriteItems"]
    with table.metered() as meter:
        order_changes.place(form, now=NOW)
    assert [operation for operation, _ in meter.log] == ["Query", "GetItem"]
    add(ANN, last)
    form = purchase()
    with table.metered() as meter:
        order_changes.place(form, now=NOW)
    assert [operation for operation, _ in meter.log] == [
        "Query",
        "TransactWriteItems",
        "BatchGetItem",
        "TransactWriteItems",
    ]


# Cancelling


def test_a_cancelled_order_gives_back_all_that_was_bought():
    counted, last, uncounted = make_deal(stock=5), make_deal(stock=2), make_deal()
    feature(last)
    order = buy("ann", counted, last, uncounted, quantity=2, plan=3)
    assert (stock(counted), stock(last), sold_out(last)) == (3, 0, True)
    after = order_changes.cancel("ann", order.id, by="ann", reason=" I  changed my mind ", now=NOW + HOUR)
    assert after == orders.get("ann", order.id)
    assert (after.status, after.closed_at) == (CANCELLED, NOW + HOUR)
    assert after.timeline[-1] == order_record.Event(CANCELLED, NOW + HOUR, "ann", "I changed my mind")
    assert (stock(counted), stock(last), stock(uncounted), sold_out(last)) == (5, 2, None, False)
    lines = orders.lines_of(after)
    assert {(line.status, line.at) for line in lines} == {(RETURNED, NOW + HOUR)}
    assert bought(after) == {counted.id: 2, last.id: 2, uncounted.id: 2}
    assert {payment.status for payment in payments.of_order("ann", after.payments)} == {CANCELLED}
    assert (after.total, held(ANN)) == (order.total, {})


def test_an_order_is_cancelled_once():
    deal = make_deal(stock=5)
    order = buy("ann", deal, quantity=2)
    first = order_changes.cancel("ann", order.id, by="ann", now=NOW + HOUR)
    assert order_changes.cancel("ann", order.id, by="bob", now=NOW + DAY) == first
    assert stock(deal) == 5


@pytest.mark.parametrize("status", ["shipped", "delivered"])
def test_what_is_on_its_way_is_not_cancelled(status):
    deal = make_deal(stock=5)
    order = buy("ann", deal, quantity=2)
    order_changes.ship("ann", order.id, unpaid=True, by="bob", now=NOW)
    if status == "delivered":
        order_changes.deliver("ann", order.id, by="bob", now=NOW)
    with pytest.raises(errors.Conflict, match=f"This order is {status}: it cannot be cancelled"):
        order_changes.cancel("ann", order.id, by="ann", now=NOW)
    assert (stock(deal), bought(order)) == (3, {deal.id: 2})


def test_another_shoppers_order_is_not_there():
    order = buy("ann", make_deal())
    for act in (
        partial(orders.get, "bob", order.id),
        partial(order_changes.cancel, "bob", order.id, by="bob", now=NOW),
        partial(order_changes.ship, "bob", order.id, unpaid=True, by="bob", now=NOW),
        partial(order_changes.deliver, "bob", order.id, by="bob", now=NOW),
    ):
        with pytest.raises(errors.NotFound):
            act()
    assert orders.get("ann", order.id).status == PLACED


STOCK_AFTERWARDS = {
    "uncounted by then": (lambda deal: edit(deal, stock=None), None),
    "restocked by then": (lambda deal: edit(deal, stock=7), 9),
    "sold out by then": (lambda deal: edit(deal, stock=0), 2),
    "expired by then": (lambda deal: edit(deal, expires_at=NOW + HOUR), 5),
}


@pytest.mark.parametrize("change", STOCK_AFTERWARDS)
def test_stock_goes_back_to_what_the_deal_has_become(change):
    deal = make_deal(stock=5)
    order = buy("ann", deal, quantity=2)
    act, left = STOCK_AFTERWARDS[change]
    act(deal)
    order_changes.cancel("ann", order.id, by="ann", now=NOW + 2 * HOUR)
    assert (stock(deal), sold_out(deal)) == (left, False)


@pytest.mark.parametrize("change", STOCK_AFTERWARDS)
def test_stock_that_changes_at_the_last_moment_is_right_when_an_order_is_cancelled(change, monkeypatch):
    deal = make_deal(stock=5)
    order = buy("ann", deal, quantity=2)
    act, left = STOCK_AFTERWARDS[change]
    real = table.transact

    def interrupted(writes):
        monkeypatch.setattr(table, "transact", real)
        act(deal)
        real(writes)

    monkeypatch.setattr(table, "transact", interrupted)
    order_changes.cancel("ann", order.id, by="ann", now=NOW + 2 * HOUR)
    assert (stock(deal), sold_out(deal)) == (left, False)


def restore(deal):
    deal_changes.restore(deal.id, by=EDITOR, now=NOW + HOUR)


@pytest.mark.parametrize(("first", "last_moment"), [(delete, None), (None, delete), (delete, restore)])
def test_stock_of_a_deal_that_was_deleted_comes_back_with_it(first, last_moment, monkeypatch):
    deal = make_deal(stock=5)
    order = buy("ann", deal, quantity=2)
    if first:
        first(deal)
    if last_moment:
        meanwhile(monkeypatch, partial(last_moment, deal))
    order_changes.cancel("ann", order.id, by="ann", now=NOW + HOUR)
    if last_moment is not restore:
        restore(deal)
    assert (stock(deal), sold_out(deal)) == (5, False)


def test_stock_that_comes_back_while_its_deal_is_restored_is_counted(monkeypatch):
    deal = make_deal(stock=2)
    order = buy("ann", deal, quantity=2)
    delete(deal)
    cancel = partial(order_changes.cancel, "ann", order.id, by="ann", now=NOW + HOUR)
    meanwhile(monkeypatch, cancel)
    restore(deal)
    assert (stock(deal), sold_out(deal)) == (2, False)


def test_stock_whose_counting_ends_at_the_last_moment_does_not_begin_again(monkeypatch):
    deal = make_deal(stock=2)
    order = buy("ann", deal, quantity=2)
    monkeypatch.setattr(stock_marks, "MAX_ACTIONS", 0)  # no room for marks: the deal itself is not looked at
    real = table.transact

    def interrupted(writes):
        monkeypatch.setattr(table, "transact", real)
        edit(deal, stock=None)
        real(writes)

    monkeypatch.setattr(table, "transact", interrupted)
    order_changes.cancel("ann", order.id, by="ann", now=NOW + HOUR)
    assert stock(deal) is None


def test_stock_that_was_not_counted_when_it_was_bought_does_not_come_back():
    deal = make_deal()
    order = buy("ann", deal, quantity=2)
    edit(deal, stock=7)
    order_changes.cancel("ann", order.id, by="ann", now=NOW + HOUR)
    assert stock(deal) == 7


def test_an_order_of_a_deal_that_is_gone_can_be_cancelled(monkeypatch):
    gone, soon = make_deals(2, stock=5)
    order = buy("ann", gone, soon)
    delete(gone)
    real = table.transact

    def interrupted(writes):
        monkeypatch.setattr(table, "transact", real)
        delete(soon)
        real(writes)

    monkeypatch.setattr(table, "transact", interrupted)
    assert order_changes.cancel("ann", order.id, by="ann", now=NOW + HOUR).status == CANCELLED


# The most that there can be


@pytest.fixture
def actions(monkeypatch) -> list[int]:
    """How many actions each transaction had."""
    found: list[int] = []
    real = client.send

    def counting(operation, parameters):
        if operation == "TransactWriteItems":
            found.append(len(parameters["TransactItems"]))
        return real(operation, parameters)

    monkeypatch.setattr(client, "send", counting)
    return found


@pytest.mark.engines("native", "local")
def test_the_largest_order_of_last_pieces_fits_one_transaction_and_so_does_cancelling_it(actions):
    some = make_deals(25, stock=2)
    feature(*some[:24])
    fill(ANN, some, 2)
    actions.clear()
    order = order_changes.place(purchase(plan=12), now=NOW)
    assert len(actions) == 2  # the second knows the last pieces
    assert max(actions) == 100
    assert {stock(deal) for deal in some} == {0}
    assert checks.find() == []  # what is not marked yet will be
    assert 0 < [deals.get(deal.id).card.sold_out for deal in some].count(True) < 25
    assert run_jobs()[stock_marks.MARK_SOLD_OUT] == 1
    assert all(sold_out(deal) for deal in some)
    actions.clear()
    order_changes.cancel("ann", order.id, by="ann", now=NOW + HOUR)
    assert len(actions) == 1
    assert actions[0] <= 100
    assert {stock(deal) for deal in some} == {2}
    assert checks.find() == []
    assert run_jobs(now=NOW + HOUR)[stock_marks.MARK_SOLD_OUT] == 1
    assert not any(sold_out(deal) for deal in some)


@pytest.mark.engines("native", "local")
def test_an_order_is_cancelled_while_the_marks_of_what_it_sold_out_are_still_to_come():
    some = make_deals(25, stock=2)
    feature(*some[:24])
    fill(ANN, some, 2)
    order = order_changes.place(purchase(plan=12), now=NOW)
    order_changes.cancel("ann", order.id, by="ann", now=NOW)
    assert run_jobs()[stock_marks.MARK_SOLD_OUT] == 2
    assert not any(sold_out(deal) for deal in some)


@pytest.mark.engines("native", "local")
def test_the_largest_order_that_is_partly_paid_can_be_cancelled(actions):
    some = make_deals(25, stock=3)
    order = buy("ann", *some, plan=12)
    changed = payments.of_order("ann", order.payments)
    paid = changed[0]
    step = payment_record.Step(PROCESSED, NOW, "runner")
    after = paid.after(step, processed_at=NOW, transaction_id="tx1")
    guard = Put(
        key=keys.transaction("tx1"),
        item={"type": "TransactionGuard", "transaction_id": "tx1", "payment": paid.id, "account": "ann"},
    )
    table.transact([change_write(paid, after), guard, *total_writes(total_changes(paid, after))])
    actions.clear()
    order_changes.cancel("ann", order.id, by="ann", now=NOW + HOUR)
    assert max(actions) <= 100
    states = [payment.status for payment in payments.of_order("ann", order.payments)]
    assert (states[0], set(states[1:])) == (PROCESSED, {CANCELLED})


# What the job of sold-out marks does


def test_a_mark_that_is_right_is_left_alone(wait_for_indexes):
    deal = make_deal(stock=0)
    job = stock_marks.mark_sold_out_later([deal.id], now=NOW)
    table.write(job)
    wait_for_indexes()
    writes = deals.get(deal.id).writes
    assert run_jobs()[stock_marks.MARK_SOLD_OUT] == 1
    assert deals.get(deal.id).writes == writes


def test_a_deal_that_is_gone_needs_no_mark(wait_for_indexes):
    table.transact([stock_marks.mark_sold_out_later([make_id()], now=NOW)])
    wait_for_indexes()
    assert run_jobs()[stock_marks.MARK_SOLD_OUT] == 1


@pytest.mark.parametrize("whole", [True, False])
def test_a_mark_is_made_from_the_stock_of_the_same_moment(whole, monkeypatch, wait_for_indexes):
    deal = make_deal(stock=2)
    table.write(Update(key=keys.offer(deal.id), set={"stock": 0}))  # as a checkout without room leaves it
    table.transact([stock_marks.mark_sold_out_later([deal.id], now=NOW)])
    wait_for_indexes()
    real = table.transact

    def interrupted(writes):
        monkeypatch.setattr(table, "transact", real)
        if whole:
            edit(deal, stock=4)
        else:  # pieces that came back, where there was no room for a mark
            table.write(Update(key=keys.offer(deal.id), set={"stock": 4}))
        real(writes)

    monkeypatch.setattr(table, "transact", interrupted)
    assert run_jobs()[stock_marks.MARK_SOLD_OUT] == 1
    assert (stock(deal), sold_out(deal)) == (4, False)
