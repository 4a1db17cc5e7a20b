"""The lines of an order are all read, whatever stands around them; if some are lost, that is said and nothing done."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from decimal import Decimal
from functools import partial

import pytest

from dealsite.data import keys, table
from dealsite.data.commerce import carts, order_changes, order_record, orders, payments
from dealsite.data.commerce.orders import IncompleteOrder
from dealsite.data.entities.commerce import CANCELLED, PLACED, PURCHASED, RETURNED, SCHEDULED
from dealsite.data.integrity import checks
from dealsite.data.table.writes import Delete, Put, Update
from tests.builders import DAY, HOUR, NOW
from tests.measuring import measured
from tests.orders import a_line_lost
from tests.people import make_user
from tests.races import at_once
from tests.shop import bought, buy, make_deals, stock

pytestmark = [pytest.mark.engines("native", "local"), pytest.mark.usefixtures("whole_table")]
SAID = "there are 2 of 3 lines, 4 of 6 pieces, and 39.96 of 59.94"


def line_key(line: carts.Line) -> keys.Key:
    return keys.cart_line("ann", line.status, line.at, line.id)


def placed(**more) -> order_record.Order:
    make_user("ann")
    return buy("ann", *make_deals(3, price=Decimal("9.99")), quantity=2, **more)


@pytest.mark.engines("native")
def test_five_orders_of_one_moment_have_25_lines_each_and_are_cancelled_whole(settings, wait_for_indexes):
    settings.DEALSITE_CREDIT_ORDER = settings.DEALSITE_CREDIT_OPEN = 1_000_000
    make_user("ann")
    some = make_deals(25, stock=100)
    made = [buy("ann", *some, quantity=number, plan=12) for number in range(1, 6)]
    for number, order in enumerate(made, 1):
        with table.metered() as meter:
            same, lines = orders.with_lines(order)
        assert [operation for operation, _ in meter.log] == ["Query"]
        assert (same, {line.deal: line.quantity for line in lines}) == (
            order,
            {one.id: number for one in some},
        )
        assert sum(line.total for line in lines) == order.total
    cancelled = order_changes.cancel("ann", made[3].id, by="ann", now=NOW + HOUR)
    assert {line.status for line in orders.lines_of(cancelled)} == {RETURNED}
    assert [len(bought(order)) for order in made] == [25] * 5
    assert {stock(deal) for deal in some} == {100 - (1 + 2 + 3 + 5)}
    assert {one.status for one in payments.of_order("ann", cancelled.payments)} == {CANCELLED}
    wait_for_indexes()
    assert [len(orders.get_with_lines(order.id)[1]) for order in made] == [25] * 5


def test_lines_beyond_a_page_are_read(monkeypatch):
    monkeypatch.setattr("dealsite.data.commerce.orders.AT_ONCE", 4)
    make_user("ann")
    some = make_deals(3)
    made = [buy("ann", *some) for _ in range(4)]
    assert [len(orders.lines_of(order)) for order in made] == [3] * 4
    assert [len(orders.get_with_lines(order.id)[1]) for order in made] == [3] * 4


def test_an_order_that_lost_a_line_is_refused(wait_for_indexes):
    order = placed()
    with a_line_lost(order):
        wait_for_indexes()
        for read in (partial(orders.with_lines, order), partial(orders.get_with_lines, order.id)):
            with pytest.raises(IncompleteOrder, match=SAID):
                read()
        same, lines, problem = orders.found_lines(order)
        assert (same, len(lines)) == (order, 2)
        assert SAID in str(problem)


@pytest.mark.parametrize("change", [{("card", "quantity"): 3}, {("card", "price"): 1}])
def test_an_order_is_refused_whose_pieces_or_total_differ(change):
    order = placed()
    line = orders.lines_of(order)[0]
    as_it_was = {("card", "quantity"): line.quantity, ("card", "price"): line.price}
    table.write(Update(key=line_key(line), set=change))
    with pytest.raises(IncompleteOrder):
        orders.with_lines(order)
    table.write(Update(key=line_key(line), set=as_it_was))


def test_an_order_that_lost_a_line_cannot_be_cancelled():
    order = placed()
    with a_line_lost(order), pytest.raises(IncompleteOrder, match=SAID):
        order_changes.cancel("ann", order.id, by="ann", now=NOW + HOUR)
    current, lines, _ = measured(orders.found_lines)(orders.get("ann", order.id))
    assert (current, {line.status for line in lines}) == (order, {PURCHASED})
    assert [one.status for one in payments.of_order("ann", order.payments)] == [SCHEDULED]


def test_a_line_that_goes_while_its_order_is_cancelled_stops_that(monkeypatch):
    order = placed()
    real = table.transact
    with ExitStack() as later:

        def losing(writes):
            monkeypatch.setattr(table, "transact", real)
            later.enter_context(a_line_lost(order))
            real(writes)

        monkeypatch.setattr(table, "transact", losing)
        with pytest.raises(IncompleteOrder, match=SAID):
            order_changes.cancel("ann", order.id, by="ann", now=NOW + HOUR)
    assert orders.get("ann", order.id).status == PLACED


def test_an_order_is_read_as_it_is_when_it_was_cancelled_in_between():
    order = placed()
    after = order_changes.cancel("ann", order.id, by="ann", now=NOW + HOUR)
    current, lines = orders.with_lines(order)
    assert current == after
    assert {(line.status, line.at) for line in lines} == {(RETURNED, NOW + HOUR)}


def test_whoever_reads_while_an_order_is_cancelled_sees_it_whole():
    order = placed()
    read = partial(orders.with_lines, order)
    cancel = partial(order_changes.cancel, "ann", order.id, by="ann", now=NOW + DAY)
    outcomes = at_once(read, cancel, read, cancel, read)
    seen = [outcome for outcome in outcomes if isinstance(outcome, tuple)]
    assert len(seen) == 3
    for current, lines in seen:
        status = RETURNED if current.status == CANCELLED else PURCHASED
        assert [line.status for line in lines] == [status] * 3
    assert [outcome.status for outcome in (outcomes[1], outcomes[3])] == [CANCELLED] * 2


def test_lines_that_cancelling_had_left_are_returned_by_check_table():
    make_user("ann")
    some = make_deals(3, stock=4)
    order = buy("ann", *some, quantity=2)
    line = next(line for line in orders.lines_of(order) if line.deal == some[0].id)
    left = table.get(line_key(line))
    after = order_changes.cancel("ann", order.id, by="ann", now=NOW + HOUR)
    table.write(Delete(key=line_key(replace(line, status=RETURNED, at=NOW + HOUR))))
    table.write(Put(key=line_key(line), item=left))
    table.write(Update(key=keys.offer(line.deal), add={"stock": -2}))
    with pytest.raises(IncompleteOrder, match="there are 2 of 3 lines"):
        orders.with_lines(after)
    (problem,) = checks.find()
    assert (problem.key, problem.what) == (keys.order("ann", order.id), "Its lines are not all RETURNED.")
    assert sorted(at_once(*[partial(checks.repair, problem)] * 3)) == [False, False, True]
    assert (len(bought(order)), [stock(deal) for deal in some]) == (3, [4, 4, 4])


def test_a_cancelled_order_of_which_a_line_is_lost_is_not_repaired():
    order = placed()
    order_changes.cancel("ann", order.id, by="ann", now=NOW + HOUR)
    with a_line_lost(orders.get("ann", order.id)):
        repaired, (problem,) = checks.repair_all()
    assert (repaired, problem.key) == ([], keys.order("ann", order.id))
