"""Races in the shop: whoever wins, nothing is sold twice, nothing is lost, and the table is whole."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest

from dealsite.data import table
from dealsite.data.catalogue import brands, deal_changes, deals, deals as stock_marks, featured
from dealsite.data.commerce import cart_changes, carts, order_changes, order_record, orders, payments
from dealsite.data.entities.commerce import ACTIVE, CANCELLED, PLACED, SAVED, SCHEDULED, SHIPPED
from dealsite.data.jobs.jobs import Job
from dealsite.data.people import users
from dealsite.data.table import errors
from tests.builders import HOUR, NOW, make_deal, make_id
from tests.people import make_user
from tests.races import again, at_once, errors_of
from tests.shop import (
    ANN,
    GUEST,
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
    want,
)

pytestmark = [
    pytest.mark.engines("native", "local"),
    pytest.mark.engines_differ,
    pytest.mark.usefixtures("whole_table"),
]


@pytest.fixture(autouse=True)
def _shoppers(whole_table) -> None:
    make_user("ann")
    make_user("bob")


def test_a_checkout_form_sent_fifty_times_at_once_makes_one_order():
    deal = make_deal(stock=100)
    add(ANN, deal, 2)
    form = purchase(plan=3)
    results = at_once(*[again(partial(order_changes.place, form, now=NOW))] * 50)
    assert errors_of(results) == []
    assert {order.id for order in results} == {form.order_id}
    assert [card.id for card in orders.of_user("ann").rows] == [form.order_id]
    assert (stock(deal), held(ANN)) == (98, {})
    assert len(payments.of_order("ann", results[0].payments)) == 3


def test_two_checkout_forms_of_one_cart_make_one_order():
    deal = make_deal(stock=100)
    add(ANN, deal, 2)
    forms = [purchase() for _ in range(4)]
    results = at_once(*(again(partial(order_changes.place, form, now=NOW)) for form in forms))
    assert errors_of(results) == [carts.CartChanged] * 3
    assert (len(orders.of_user("ann").rows), stock(deal)) == (1, 98)


def test_fifty_shoppers_for_the_last_ten_pieces_make_ten_orders():
    deal = make_deal(stock=10)
    feature(deal)
    names = [f"shopper{n}" for n in range(50)]
    for name in names:
        make_user(name)
        add(carts.user_cart(name), deal)
    forms = [purchase(name) for name in names]
    results = at_once(*(again(partial(order_changes.place, form, now=NOW)) for form in forms))
    assert Counter(errors_of(results)) == {carts.CartChanged: 40}
    placed = [order for order in results if isinstance(order, order_record.Order)]
    assert [bought(order) for order in placed] == [{deal.id: 1}] * 10
    run_jobs()
    card = deals.get(deal.id).card
    assert (stock(deal), card.sold_out) == (0, True)
    assert featured.get("front").cards == [card]
    assert len(held(carts.user_cart(next(n for n in names if n not in {o.username for o in placed})))) == 1


def test_two_tabs_that_add_one_deal_make_one_line():
    deal = make_deal()
    results = at_once(*(again(partial(cart_changes.add, ANN, want(deal), now=NOW)) for _ in range(6)))
    assert errors_of(results) == []
    assert held(ANN) == {deal.id: (ACTIVE, 6)}


def test_a_form_sent_many_times_at_once_adds_once():
    form = want(make_deal(), 2, token=make_id(NOW, 901))
    results = at_once(*[again(partial(cart_changes.add, ANN, form, now=NOW))] * 6)
    assert errors_of(results) == []
    assert held(ANN) == {form.deal: (ACTIVE, 2)}


def test_many_tabs_that_add_different_deals_lose_none_and_overfill_no_cart():
    some = make_deals(28)
    fill(ANN, some[:22])
    results = at_once(*(again(partial(cart_changes.add, ANN, want(deal), now=NOW)) for deal in some[22:]))
    assert errors_of(results) == [cart_changes.CannotAdd] * 3
    assert len(held(ANN)) == 25


def test_a_line_that_is_moved_and_removed_at_once_is_one_of_both():
    deal = make_deal()
    add(ANN, deal)
    (line,) = carts.read(ANN, now=NOW).active
    results = at_once(
        again(partial(cart_changes.move, ANN, line.ref, SAVED, now=NOW)),
        again(partial(cart_changes.remove, ANN, line.ref, now=NOW)),
        again(partial(cart_changes.change_quantity, ANN, deal.id, 3, now=NOW)),
    )
    assert set(errors_of(results)) <= {errors.NotFound}
    assert held(ANN) in ({}, {deal.id: (SAVED, 1)}, {deal.id: (SAVED, 3)})


def test_a_cart_merged_twice_at_once_is_merged_once():
    some = make_deals(3)
    fill(GUEST, some, 2)
    add(ANN, some[0])
    results = at_once(*[again(partial(cart_changes.merge, GUEST, "ann", now=NOW))] * 5)
    assert errors_of(results) == []
    assert sorted(len(merged.lines) for merged in results) == [0, 0, 0, 0, 3]
    assert held(ANN) == {deal.id: (ACTIVE, 3 if deal == some[0] else 2) for deal in some}


def test_a_cart_merged_into_two_at_once_goes_to_one():
    some = make_deals(3)
    fill(GUEST, some, 2)
    results = at_once(
        again(partial(cart_changes.merge, GUEST, "ann", now=NOW)),
        again(partial(cart_changes.merge, GUEST, "bob", now=NOW)),
    )
    assert errors_of(results) == []
    assert sorted([len(held(ANN)), len(held(carts.user_cart("bob")))]) == [0, 3]


def test_a_visitors_cart_that_is_merged_while_something_is_added_loses_nothing():
    first, second = make_deals(2)
    add(GUEST, first)
    results = at_once(
        again(partial(cart_changes.merge, GUEST, "ann", now=NOW)),
        again(partial(cart_changes.add, GUEST, want(second), now=NOW)),
    )
    assert errors_of(results) == []
    assert held(ANN) | held(GUEST) == {first.id: (ACTIVE, 1), second.id: (ACTIVE, 1)}
    assert not held(ANN).keys() & held(GUEST).keys()


def test_what_is_added_after_a_cart_was_read_for_its_order_stops_the_order(monkeypatch):
    first, second = make_deals(2)
    add(ANN, first)
    form, transact = purchase(), table.transact

    def late(*writes, **more):
        monkeypatch.setattr(table, "transact", transact)
        cart_changes.add(ANN, want(second), now=NOW)
        return transact(*writes, **more)

    monkeypatch.setattr(table, "transact", late)
    with pytest.raises(carts.CartChanged):
        order_changes.place(form, now=NOW)
    assert held(ANN) == {first.id: (ACTIVE, 1), second.id: (ACTIVE, 1)}


def test_what_is_added_while_a_cart_is_ordered_is_in_the_order_or_in_the_cart():
    first, second = make_deals(2)
    add(ANN, first)
    form = purchase()
    placed, added = at_once(
        again(partial(order_changes.place, form, now=NOW)),
        again(partial(cart_changes.add, ANN, want(second), now=NOW)),
    )
    assert isinstance(added, deals.Deal)
    if isinstance(placed, order_record.Order):
        assert (bought(placed), held(ANN)) == ({first.id: 1}, {second.id: (ACTIVE, 1)})
    else:
        assert type(placed) is carts.CartChanged
        assert held(ANN) == {first.id: (ACTIVE, 1), second.id: (ACTIVE, 1)}


@pytest.mark.parametrize("_", range(4))
def test_an_order_is_cancelled_or_shipped(_):
    deal = make_deal(stock=5)
    order = buy("ann", deal, quantity=2, plan=3)
    cancelled, shipped = at_once(
        again(partial(order_changes.cancel, "ann", order.id, by="ann", now=NOW + HOUR)),
        again(partial(order_changes.ship, "ann", order.id, unpaid=True, by="bob", now=NOW + HOUR)),
    )
    (error,) = errors_of([cancelled, shipped])
    assert error is errors.Conflict
    status = orders.get("ann", order.id).status
    assert (status, stock(deal)) in ((CANCELLED, 5), (SHIPPED, 3))
    paid = {payment.status for payment in payments.of_order("ann", order.payments)}
    assert paid == {CANCELLED if status == CANCELLED else SCHEDULED}
    assert bought(order) == {deal.id: 2}


def test_an_order_cancelled_many_times_at_once_gives_its_stock_back_once():
    deal = make_deal(stock=2)
    order = buy("ann", deal, quantity=2)
    results = at_once(*[again(partial(order_changes.cancel, "ann", order.id, by="ann", now=NOW + HOUR))] * 6)
    assert errors_of(results) == []
    assert len({result.timeline for result in results}) == 1
    assert (stock(deal), deals.get(deal.id).card.sold_out) == (2, False)


def test_an_order_cancelled_while_another_cancel_reads_its_lines_is_cancelled_once(monkeypatch):
    deal = make_deal(stock=2)
    order = buy("ann", deal, quantity=2)
    cancel = partial(order_changes.cancel, "ann", order.id, by="ann", now=NOW + HOUR)

    def cancel_first(read):
        monkeypatch.undo()
        cancel()
        return orders.with_lines(read)

    monkeypatch.setattr(order_changes, "with_lines", cancel_first)
    assert [event.status for event in cancel().timeline] == [PLACED, CANCELLED]
    assert cancel() == orders.get("ann", order.id)


def test_an_order_shipped_many_times_at_once_is_shipped_once():
    order = buy("ann", make_deal())
    results = at_once(
        *[again(partial(order_changes.ship, "ann", order.id, unpaid=True, by="bob", now=NOW))] * 6
    )
    assert errors_of(results) == []
    assert [event.status for event in orders.get("ann", order.id).timeline] == ["PLACED", SHIPPED]


@pytest.mark.parametrize("_", range(4))
def test_a_price_that_is_edited_while_it_is_accepted_is_the_one_shown_or_is_named(_):
    deal = make_deal(stock=5)
    add(ANN, deal, 2)
    edit(deal, price=Decimal("60.00"))
    look = carts.view(carts.read(ANN, now=NOW), now=NOW)
    accepted, edited = at_once(
        again(partial(cart_changes.accept, ANN, seen=look.digest, now=NOW)),
        again(partial(edit, deal, price=Decimal("70.00"))),
    )
    assert isinstance(edited, deals.Deal)
    assert accepted is None or type(accepted) is carts.CartChanged
    (line,) = carts.read(ANN, now=NOW).active
    assert line.price == Decimal("60.00" if accepted is None else "79.90")
    after = carts.view(carts.read(ANN, now=NOW), now=NOW)
    assert after.changed
    with pytest.raises(carts.CartChanged):
        order_changes.place(purchase(), now=NOW)


@pytest.mark.parametrize("_", range(4))
@pytest.mark.parametrize("change", [{"price": Decimal("70.00")}, {"stock": 0}, {"expires_at": NOW}])
def test_what_is_edited_while_it_is_ordered_is_ordered_as_shown_or_not_at_all(_, change):
    deal = make_deal(stock=5)
    add(ANN, deal, 2)
    form = purchase()

    def edited():
        current = deals.get(deal.id)
        content = replace(current.content, **change)
        try:
            return deal_changes.edit(
                current, content, version=current.version, brand=brands.get("nordlicht"), by="eve", now=NOW
            )
        except deal_changes.StockChanged:
            return None

    placed, _deal = at_once(again(partial(order_changes.place, form, now=NOW)), again(edited))
    if isinstance(placed, order_record.Order):
        assert placed.total == Decimal("159.80")
        assert bought(placed) == {deal.id: 2}
    else:
        assert type(placed) is carts.CartChanged
        assert held(ANN) == {deal.id: (ACTIVE, 2)}


def test_a_deal_deleted_while_it_is_ordered_is_ordered_or_not():
    deal = make_deal(stock=2)
    feature(deal)
    add(ANN, deal, 2)
    form = purchase()
    placed, deleted = at_once(
        again(partial(order_changes.place, form, now=NOW)), again(partial(delete, deal))
    )
    assert deleted is None
    assert isinstance(placed, order_record.Order) or type(placed) is carts.CartChanged
    run_jobs()


def test_the_last_pieces_are_bought_while_others_come_back():
    deal = make_deal(stock=2)
    feature(deal)
    old = buy("bob", deal)
    add(ANN, deal)
    form = purchase()
    placed, cancelled = at_once(
        again(partial(order_changes.place, form, now=NOW)),
        again(partial(order_changes.cancel, "bob", old.id, by="bob", now=NOW + HOUR)),
    )
    assert errors_of([placed, cancelled]) == []
    run_jobs(now=NOW + HOUR)
    assert (stock(deal), deals.get(deal.id).card.sold_out) == (1, False)


def test_a_mark_made_while_stock_comes_back_is_right():
    deal = make_deal(stock=1)
    old = buy("bob", deal)
    marking = Job(make_id(NOW), stock_marks.MARK_SOLD_OUT, {"deals": [deal.id]})
    results = at_once(
        again(partial(order_changes.cancel, "bob", old.id, by="bob", now=NOW + HOUR)),
        *[again(partial(stock_marks.mark_sold_out, marking, NOW))] * 3,
    )
    assert errors_of(results) == []
    assert (stock(deal), deals.get(deal.id).card.sold_out) == (1, False)


def test_an_account_is_deleted_or_orders():
    add(ANN, make_deal())
    form, user = purchase(), users.get("ann")
    placed, deleted = at_once(
        again(partial(order_changes.place, form, now=NOW)),
        again(partial(users.delete, user, job_id=make_id(NOW), now=NOW)),
    )
    if isinstance(placed, order_record.Order):
        assert isinstance(deleted, errors.Conflict)
        assert orders.get("ann", placed.id) == placed
    else:
        assert (type(placed), deleted) == (errors.Invalid, None)
        cart_changes.clear("ann")


def test_a_visitors_cart_begun_in_two_tabs_at_once_is_one():
    some = make_deals(4)
    results = at_once(
        *(
            again(partial(cart_changes.add, GUEST, want(deal), now=NOW + timedelta(seconds=n)))
            for n, deal in enumerate(some)
        )
    )
    assert errors_of(results) == []
    assert len(held(GUEST)) == 4
