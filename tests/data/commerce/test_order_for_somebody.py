"""The back office places an order for a customer: out of its own cart, all else is the customer's."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.commerce import (
    cart_changes,
    carts,
    charging,
    order_changes,
    order_record,
    orders,
    payment_lists,
    payments,
)
from dealsite.data.commerce.carts import CartChanged
from dealsite.data.commerce.order_changes import Purchase
from dealsite.data.commerce.order_record import Order, PaymentCard
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.editing import audit
from dealsite.data.entities.commerce import (
    ACTIVE,
    CANCELLED,
    FAILED,
    PLACED,
    PROCESSED,
    PURCHASED,
    SAVED,
    SCHEDULED,
)
from dealsite.data.jobs import jobs
from dealsite.data.people import mails, messages, users
from dealsite.data.table import errors
from tests import shop
from tests.builders import HOUR, NOW, make_deal, make_id
from tests.gateways.ledger import Ledger
from tests.payments import run
from tests.people import give_card, make_user
from tests.races import again, at_once, errors_of, meanwhile
from tests.shop import ADDRESS, ANN, add, bought, buy, edit, fill, held, make_deals, purchase, stock

pytestmark = pytest.mark.usefixtures("whole_table")
OLGA = carts.user_cart("olga")
HANDLERS = shop.HANDLERS | {order_changes.EXPIRE_ORDER: order_changes.expire}


@pytest.fixture(autouse=True)
def _people(whole_table) -> None:
    make_user("ann")
    make_user("olga", roles=["back office"])
    give_card("olga", "tok_olga")


def wanted(*, by: str = "olga", now=NOW, **more) -> Purchase:
    """Return what the form says that orders what is in olga's cart for ann, who does not pay by card."""
    head, lines = carts.read_active(carts.user_cart(by), now=now)
    form: dict[str, Any] = {
        "version": head.version,
        "total": sum((line.total for line in lines), Decimal("0.00")),
    }
    form |= {"order_id": make_id(now), "address": ADDRESS, "email": "ann@example.org"}
    return Purchase(**form | {"username": "ann", "name": "Ann", "by": by} | more)


def place(*some, now=NOW, **more) -> Order:
    """Have olga order some deals for ann."""
    fill(OLGA, some, now=now)
    return order_changes.place(wanted(now=now, **more), now=now)


def paid(order: Order) -> list[Payment]:
    return payments.of_order("ann", order.payments)


def charge(order: Order, gateway: Ledger, *, now=NOW) -> str:
    return charging.charge_first(order, gateway, currency="EUR", clock=lambda: now)


def test_the_lines_leave_the_cart_of_whoever_places_it_and_that_of_the_customer_stays():
    lamp, desk, later, theirs = make_deals(4, stock=5)
    add(OLGA, later)
    (line,) = carts.read(OLGA, now=NOW).active
    cart_changes.move(OLGA, line.ref, SAVED, now=NOW)
    fill(ANN, [theirs, lamp], 3)
    fill(OLGA, [lamp, desk], 2)
    order = order_changes.place(wanted(), now=NOW + HOUR)
    assert order == orders.get("ann", order.id)
    assert bought(order) == {lamp.id: 2, desk.id: 2}
    assert held(OLGA) == {later.id: (SAVED, 1)}
    assert held(ANN) == {theirs.id: (ACTIVE, 3), lamp.id: (ACTIVE, 3)}
    assert (stock(lamp), stock(desk), stock(theirs)) == (3, 3, 5)
    assert order_changes.cancel("ann", order.id, by="olga", now=NOW + HOUR).status == CANCELLED
    assert (stock(lamp), held(OLGA)) == (5, {later.id: (SAVED, 1)})


def test_all_of_the_order_says_the_customer_but_who_placed_it(wait_for_indexes):
    lamp = make_deal()
    order = place(lamp)
    wait_for_indexes()
    assert (order.username, order.email, order.placed_by) == ("ann", "ann@example.org", "olga")
    assert order.timeline == (order_record.Event(PLACED, NOW, "olga"),)
    assert [card.id for card in orders.of_user("ann").rows] == [order.id]
    assert orders.of_user("olga").rows == []
    (line,) = orders.bought("ann").rows
    assert (line.deal, line.username, line.order) == (lamp.id, "ann", order.id)
    assert orders.bought("olga").rows == []
    assert [one.username for one in orders.carts_with(lamp.id, PURCHASED).rows] == ["ann"]
    assert [one.account for one in paid(order)] == ["ann"]
    assert order_record.buyer("ann").address == ADDRESS
    assert order_record.buyer("olga").address != ADDRESS
    (entry,) = audit.of_target("order", order.id)
    assert (entry.by, entry.what, entry.note) == ("olga", "placed", "On behalf of ann")
    (message,) = messages.inbox("ann").rows
    assert (message.headline, message.text, message.order) == (
        "Thank you: your order is placed",
        "",
        order.id,
    )
    assert messages.inbox("olga").rows == []
    told = []
    while job := jobs.take_next(now=NOW):
        told += [job.payload["username"]] if job.kind == mails.ORDER_NOTICE else []
    assert told == ["ann"]


def test_what_one_orders_for_oneself_is_as_it_always_was(wait_for_indexes):
    deal = make_deal()
    add(ANN, deal)
    order = order_changes.place(wanted(by="ann"), now=NOW)
    wait_for_indexes()
    assert (order.placed_by, held(ANN)) == ("ann", {})
    assert [entry.note for entry in audit.of_target("order", order.id)] == [""]


def test_what_changed_in_the_cart_or_about_its_deals_is_not_ordered():
    deal, other = make_deals(2, stock=3)
    fill(OLGA, [deal, other], 2)
    form = wanted()
    edit(deal, price=Decimal("80.00"))
    with pytest.raises(CartChanged):
        order_changes.place(form, now=NOW)
    assert (set(held(OLGA)), stock(other)) == ({deal.id, other.id}, 3)
    assert orders.of_user("ann").rows == []


def test_the_last_pieces_are_sold_once():
    deal = make_deal(stock=1)
    add(ANN, deal)
    add(OLGA, deal)
    theirs = purchase("ann")
    order = order_changes.place(wanted(), now=NOW)
    assert (stock(deal), bought(order)) == (0, {deal.id: 1})
    with pytest.raises(CartChanged):
        order_changes.place(theirs, now=NOW)


@pytest.mark.engines("native", "local")
@pytest.mark.engines_differ
def test_a_form_sent_many_times_at_once_makes_one_order():
    deal = make_deal(stock=100)
    add(OLGA, deal, 2)
    form = wanted(plan=3)
    results = at_once(*[again(partial(order_changes.place, form, now=NOW))] * 8)
    assert errors_of(results) == []
    assert {order.id for order in results} == {form.order_id}
    assert (stock(deal), held(OLGA)) == (98, {})
    assert [card.id for card in orders.of_user("ann").rows] == [form.order_id]
    add(OLGA, deal)
    assert order_changes.place(form, now=NOW + HOUR).id == form.order_id
    assert len(held(OLGA)) == 1


def test_the_credit_is_the_customers(settings):
    settings.DEALSITE_CREDIT_OPEN = 100
    (deal,) = make_deals(1)
    buy("olga", deal, plan=3)
    assert place(deal, plan=3).card.plan == 3
    with pytest.raises(errors.Invalid) as refused:
        place(deal, plan=3)
    assert set(refused.value.fields) == {"plan"}
    assert place(deal).card.plan == 1


@pytest.mark.engines("native", "local")
@pytest.mark.engines_differ
def test_their_own_order_and_one_that_is_placed_for_them_do_not_both_use_their_credit(settings):
    settings.DEALSITE_CREDIT_OPEN = 100
    deal = make_deal()
    make_user("omar", roles=["back office"])
    for owner in (ANN, OLGA, carts.user_cart("omar")):
        add(owner, deal)
    forms = [purchase("ann", plan=3), wanted(plan=3), wanted(by="omar", plan=3)]
    results = at_once(*(again(partial(order_changes.place, form, now=NOW)) for form in forms))
    assert len(errors_of(results)) == 2
    assert [card.plan for card in orders.of_user("ann").rows] == [3]


def test_credit_that_is_used_up_at_the_last_moment_is_asked_for_again(settings, monkeypatch):
    settings.DEALSITE_CREDIT_OPEN = 100
    deal = make_deal()
    add(ANN, deal)
    add(OLGA, deal)
    meanwhile(monkeypatch, partial(order_changes.place, purchase("ann", plan=3), now=NOW))
    with pytest.raises(errors.Invalid):
        order_changes.place(wanted(plan=3), now=NOW)
    assert len(orders.of_user("ann").rows) == 1


def test_a_customer_who_changes_their_cart_meanwhile_is_no_hindrance(monkeypatch):
    deal, other = make_deals(2)
    add(OLGA, deal)
    meanwhile(monkeypatch, partial(add, ANN, other))
    order = order_changes.place(wanted(), now=NOW)
    assert (bought(order), held(ANN)) == ({deal.id: 1}, {other.id: (ACTIVE, 1)})


def test_an_account_is_not_deleted_while_something_is_ordered_for_it(monkeypatch):
    add(OLGA, make_deal())
    form, user = wanted(), users.get("ann")
    meanwhile(monkeypatch, partial(order_changes.place, form, now=NOW))
    with pytest.raises(errors.Conflict):
        users.delete(user, job_id=make_id(NOW), now=NOW)
    assert orders.get("ann", form.order_id).status == PLACED


def test_nothing_is_ordered_for_an_account_that_is_gone():
    add(OLGA, make_deal())
    users.delete(users.get("ann"), job_id=make_id(NOW), now=NOW)
    with pytest.raises(errors.Conflict, match="This account was deleted"):
        order_changes.place(wanted(), now=NOW)
    assert len(held(OLGA)) == 1


def test_without_a_card_the_payment_waits_the_customer_is_told_once_and_the_order_expires(wait_for_indexes):
    give_card("ann", "tok_ann")  # which nobody said is to pay
    deal, gateway = make_deal(stock=5), Ledger()
    order = place(deal, plan=3)
    assert {one.method for one in paid(order)} == {""}
    assert charge(order, gateway) == "scheduled"
    assert charge(order, gateway) == "left"  # a form that is sent twice
    first = paid(order)[0]
    assert (first.status, first.reason, first.tries) == (SCHEDULED, charging.NO_CARD.reason, 0)
    assert orders.get("ann", order.id).card.payment_state == order_record.UNPAID
    wait_for_indexes()
    (listed,) = payment_lists.of_status(FAILED, NOW.date(), NOW.date()).rows
    assert (listed.id, listed.status) == (first.id, SCHEDULED)
    told = []
    for now in (NOW + timedelta(days=days) for days in range(9)):
        assert run(gateway, now) == {}
        while job := jobs.take_next(now=now):
            if handler := HANDLERS.get(job.kind):
                handler(job, now)
            told += [job.payload["status"]] if job.kind == payments.PAYMENT_NOTICE else []
            jobs.finish(job)
    assert told == [SCHEDULED]
    assert orders.get("ann", order.id).status == CANCELLED
    assert (stock(deal), gateway.asked) == (5, [])


@pytest.mark.parametrize("way", ["a new card", "paid"])
def test_what_waits_for_a_card_is_charged_to_the_one_that_is_given(wait_for_indexes, way):
    order, gateway = place(make_deal(), plan=3), Ledger()
    charge(order, gateway)
    first = paid(order)[0]
    if way == "paid":
        give_card("ann", "tok_ann")
        place_of = ("ann", first.due_at, first.id)
        for _ in range(2):
            payments.pay_early(*place_of, method="tok_ann", by="ann", now=NOW + HOUR)
    else:
        job_id = make_id(NOW + HOUR)
        order_record.save_card("ann", PaymentCard("test", "tok_ann", "Visa"), job_id=job_id, now=NOW + HOUR)
        order_record.use_card(jobs.get(job_id), NOW + HOUR)
    waiting = paid(order)[0]
    assert (waiting.status, waiting.final, waiting.reason) == (SCHEDULED, False, "")
    wait_for_indexes()
    assert run(gateway, NOW + HOUR) == {"processed": 1}
    assert orders.get("ann", order.id).card.payment_state == order_record.PART_PAID


def test_their_card_is_charged_if_it_is_said_to_pay_and_never_that_of_whoever_places_it():
    give_card("ann", "tok_ann")
    order, gateway = place(make_deal(), method="tok_ann", plan=3), Ledger()
    assert {one.method for one in paid(order)} == {"tok_ann"}
    assert charge(order, gateway) == "processed"
    assert paid(order)[0].status == PROCESSED
    add(OLGA, make_deal())
    with pytest.raises(errors.Invalid) as refused:
        order_changes.place(wanted(method="tok_olga"), now=NOW)
    assert set(refused.value.fields) == {"card"}


@pytest.mark.budget
def test_placing_it_costs_a_get_more():
    add(OLGA, make_deal(stock=5))
    form = wanted()
    with table.metered() as meter:
        order_changes.place(form, now=NOW)
    assert [operation for operation, _ in meter.log] == ["Query", "GetItem", "TransactWriteItems"]


def test_the_largest_order_fits_into_a_transaction():
    fill(OLGA, make_deals(25, stock=1))
    order = order_changes.place(wanted(plan=12), now=NOW)
    assert (len(bought(order)), order.card.lines) == (25, 25)
