"""A part of an order: shipped in a parcel, cancelled, taken back or made cheaper; its lines, stock and payments."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.commerce import charging, order_changes, order_returns, orders, payments
from dealsite.data.commerce.order_lines import OrderHistory, OrderLine, history, open_return
from dealsite.data.commerce.order_record import Order, OrderMoney
from dealsite.data.commerce.order_returns import TakeOff
from dealsite.data.entities.commerce import (
    CANCELLED,
    DELIVERED,
    FAILED,
    PENDING,
    PLACED,
    PROCESSED,
    PURCHASED,
    REDUCED,
    RETURNED,
    SCHEDULED,
    SHIPPED,
)
from dealsite.data.people import messages
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.data.table.writes import Update
from tests.builders import NOW
from tests.gateways.ledger import Ledger
from tests.measuring import measured
from tests.payments import pay, run, work
from tests.people import make_user
from tests.races import again, at_once, errors_of
from tests.shop import buy, make_deals, stock

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
PRICE = Decimal("79.90")


@pytest.fixture(autouse=True)
def _ann(whole_table: None) -> None:
    make_user("ann")


def of_three(**more: Any) -> Order:
    """Return an order of three pieces of each of two deals, of which there were five."""
    return buy("ann", *make_deals(2, stock=5), quantity=3, **more)


def now_of(order: Order) -> tuple[Order, OrderHistory]:
    current, lines = orders.with_lines(orders.get("ann", order.id))
    return current, history(current, lines)


def ids(order: Order) -> list[str]:
    return [line.id for line in orders.lines_of(order)]


def ship(order: Order, pieces: dict[str, int] | None = None, hours: int = 1, **more: Any) -> Order:
    given: dict[str, Any] = {"pieces": pieces, "unpaid": True, "by": "eve", "now": NOW + hours * HOUR} | more
    return order_changes.ship("ann", order.id, **given)


def cancel(order: Order, pieces: dict[str, int] | None = None, hours: int = 2, **more: Any) -> Order:
    given: dict[str, Any] = {
        "pieces": pieces,
        "reason": "Broken",
        "by": "eve",
        "now": NOW + hours * HOUR,
    } | more
    return order_changes.cancel("ann", order.id, **given)


def take_back(order: Order, pieces: dict[str, int], hours: int = 3, **more: Any) -> Order:
    given: dict[str, Any] = {
        "pieces": pieces,
        "reason": "Too loud",
        "by": "eve",
        "now": NOW + hours * HOUR,
    } | more
    return order_returns.take_back("ann", order.id, **given)


def reduce(order: Order, amounts: dict[str, str], hours: int = 4, **more: Any) -> Order:
    given: dict[str, Any] = {"reason": "Scratched", "by": "eve", "now": NOW + hours * HOUR} | more
    named = {line: Decimal(amount) for line, amount in amounts.items()}
    return order_returns.reduce("ann", order.id, amounts=named, **given)


def counts(one: OrderLine) -> tuple[int, ...]:
    return one.to_ship, one.on_the_way, one.delivered, one.cancelled, one.returned


def test_an_order_goes_out_in_parcels_and_its_status_is_that_of_the_pieces_that_are_least_far():
    order = of_three()
    first, second = ids(order)
    after = ship(order, {first: 2}, carrier="DHL", tracking="JD 1")
    assert (after.status, after.card.to_ship, after.tracking) == (PLACED, 4, "JD 1")
    after = ship(order, {first: 1, second: 1}, 2)
    assert (after.status, after.card.to_ship) == (PLACED, 2)
    after = order_changes.deliver("ann", order.id, parcel=after.timeline[1].at, by="eve", now=NOW + 3 * HOUR)
    assert after.status == PLACED
    after = ship(order, None, 4)
    assert (after.status, after.card.to_ship) == (SHIPPED, 0)
    _, became = now_of(order)
    assert [counts(one) for one in became.lines] == [(0, 1, 2, 0, 0), (0, 3, 0, 0, 0)]
    assert [
        (one.number, [(line.id, pieces) for line, pieces in one.lines], one.delivered_at is not None)
        for one in became.parcels
    ] == [(1, [(first, 2)], True), (2, [(first, 1), (second, 1)], False), (3, [(second, 2)], False)]
    assert became.parcels[0].event.link.endswith("JD1")
    after = order_changes.deliver("ann", order.id, by="eve", now=NOW + 5 * HOUR)
    assert after.status == DELIVERED
    assert all(one.delivered_at for one in now_of(order)[1].parcels)


def test_a_parcel_is_delivered_once_and_only_one_that_there_is():
    order = of_three()
    first, _ = ids(order)
    sent = ship(order, {first: 1})
    deliver = partial(order_changes.deliver, "ann", order.id, by="eve", now=NOW + 2 * HOUR)
    after = deliver(parcel=sent.timeline[1].at)
    assert deliver(parcel=sent.timeline[1].at) == after
    with pytest.raises(Invalid, match="This form is damaged"):
        deliver(parcel=NOW)


def test_pieces_that_are_cancelled_go_back_into_stock_and_are_not_paid():
    order = of_three(plan=3)
    first, _second = ids(order)
    (deal, other) = (line.deal for line in orders.lines_of(order))
    after = cancel(order, {first: 2})
    assert (after.status, after.card.to_ship, after.card.taken_back) == (PLACED, 4, 2)
    assert (stock(deal), stock(other)) == (4, 2)
    # 479.40 in three: 159.80 each; what is off is taken from the last
    assert [one.to_charge for one in payments.of_order("ann", after.payments) if one.status == SCHEDULED] == [
        Decimal("159.80"),
        Decimal("159.80"),
    ]
    assert after.card.money == OrderMoney(open=Decimal("319.60"), cancelled=Decimal("159.80"))
    assert [counts(one) for one in now_of(order)[1].lines] == [(1, 0, 0, 2, 0), (3, 0, 0, 0, 0)]
    left = table.query_all("CART#ann", low=f"{PURCHASED}#", high=f"{RETURNED}#~", limit=9, consistent=True)
    assert sorted((row["status"], row["card"]["quantity"]) for row in left) == [
        (PURCHASED, 1),
        (PURCHASED, 3),
        (RETURNED, 2),
    ]
    after = cancel(order, {first: 1}, 3)
    assert [(one.worth, one.status) for one in now_of(order)[1].lines] == [
        (Decimal("0.00"), CANCELLED),
        (Decimal("239.70"), PLACED),
    ]
    whole = cancel(order, hours=4)
    assert (whole.status, whole.card.taken_back, stock(deal), stock(other)) == (CANCELLED, 6, 5, 5)
    assert whole.card.money == OrderMoney(cancelled=Decimal("479.40"))


def test_what_is_not_sent_can_be_cancelled_after_a_parcel_left():
    order = of_three()
    first, _second = ids(order)
    ship(order, {first: 3})
    after = cancel(order)
    assert (after.status, after.timeline[-1].headline) == (SHIPPED, "A part of your order was cancelled")
    assert [counts(one) for one in now_of(order)[1].lines] == [(0, 3, 0, 0, 0), (0, 0, 0, 3, 0)]
    with pytest.raises(Conflict, match="This order is shipped: it cannot be cancelled"):
        cancel(order)


@pytest.mark.engines("native", "local")
def test_what_comes_back_is_refunded_and_put_back_into_stock_if_wanted():
    order = pay(of_three())
    first, second = ids(order)
    deal, other = (line.deal for line in orders.lines_of(order))
    ship(order)
    order_changes.deliver("ann", order.id, by="eve", now=NOW + 2 * HOUR)
    given: dict[str, Any] = {"reason": "Too loud", "by": "eve", "now": NOW + 3 * HOUR}
    after = measured(order_returns.take_back)("ann", order.id, pieces={first: 1}, **given)
    assert (after.status, after.card.taken_back, stock(deal)) == (DELIVERED, 1, 3)
    assert [one.unwanted for one in payments.of_order("ann", after.payments)] == [PRICE]
    work(NOW + 4 * HOUR, Ledger())
    assert orders.get("ann", order.id).card.money == OrderMoney(processed=Decimal("399.50"), refunded=PRICE)
    after = take_back(order, {first: 2, second: 1}, 5, amounts={first: Decimal("100.00")}, restock=False)
    assert (after.status, stock(deal), stock(other)) == (DELIVERED, 3, 2)
    after = take_back(order, {second: 2}, 6)
    assert (after.status, after.card.taken_back) == (RETURNED, 6)
    work(NOW + 7 * HOUR, Ledger())
    assert orders.get("ann", order.id).card.money == OrderMoney(
        processed=Decimal("59.80"), refunded=Decimal("419.60")
    )
    assert [row.status for row in orders.of_user("ann").rows] == [RETURNED]


@pytest.mark.engines("native", "local")
def test_an_order_can_cost_less_and_no_more_than_a_line_came_to_is_given_back():
    order = pay(of_three())
    first, _second = ids(order)
    ship(order)
    given: dict[str, Any] = {"reason": "Scratched", "by": "eve", "now": NOW + 4 * HOUR}
    amounts = {first: Decimal("200.00")}
    after = measured(order_returns.reduce)("ann", order.id, amounts=amounts, **given)
    assert (after.status, after.timeline[-1].status) == (SHIPPED, REDUCED)
    after = take_back(order, {first: 3}, 5)  # 39.70 of it are left
    work(NOW + 6 * HOUR, Ledger())
    money = orders.get("ann", order.id).card.money
    assert money == OrderMoney(processed=Decimal("239.70"), refunded=Decimal("239.70"))
    with pytest.raises(Invalid, match=r"enter an amount up to €0\.00"):
        reduce(order, {first: "0.01"}, 7)


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda order, line: ship(order, {line: 4}), "Of “Deal 1”, 3 can be chosen now."),
        (lambda order, line: ship(order, {}), "Choose how many pieces"),
        (lambda order, line: ship(order, {line: 0}), "Choose how many pieces"),
        (lambda order, line: ship(order, {line: -1}), "This form is damaged"),
        (lambda order, line: cancel(order, {"0" * 26: 1}), "This form is damaged"),
        (lambda order, line: cancel(order, {line: 1}, seen=0), "This form is damaged"),
        (lambda order, line: cancel(order, {line: 1}, seen=2), "This form is damaged"),
        (lambda order, line: take_back(order, {line: 1}), "Of “Deal 1”, 0 can be chosen now."),
        (lambda order, line: reduce(order, {line: "239.71"}), "enter an amount up to €239.70"),
        (lambda order, line: reduce(order, {line: "-1"}), "enter an amount up to €239.70"),
        (lambda order, line: reduce(order, {line: "0"}), "Choose how many pieces"),
        (lambda order, line: look(order, cancel, {line: 4}), "Of “Deal 1”, 3 can be chosen now."),
        (lambda order, line: look(order, take_back, {line: 1}), "Of “Deal 1”, 0 can be chosen now."),
        (lambda order, line: look(order, reduce, {line: "239.71"}), "enter an amount up to €239.70"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_happens(act, error):
    order = of_three()
    line = orders.lines_of(order)[0]
    with pytest.raises((Conflict, Invalid), match=error.replace("Deal 1", line.title)):
        act(order, line.id)
    assert orders.get("ann", order.id) == order


@pytest.mark.parametrize(
    "act",
    [
        lambda order, line: ship(order, {line: 1}, seen=1, tracking="JD 1"),
        lambda order, line: cancel(order, {line: 1}, seen=1),
        lambda order, line: cancel(order, seen=1),
    ],
)
def test_a_form_that_is_sent_twice_is_done_once(act):
    order = of_three()
    line = ids(order)[0]
    assert act(order, line) == act(order, line)
    assert len(orders.get("ann", order.id).timeline) == 2


def test_a_form_of_an_order_that_changed_meanwhile_is_refused():
    order = pay(of_three())
    first, second = ids(order)
    cancel(order, {first: 1}, seen=1)
    with pytest.raises(Conflict, match="This order changed meanwhile"):
        cancel(order, {first: 2}, seen=1)
    with pytest.raises(Conflict, match="This order changed meanwhile"):
        ship(order, {second: 1}, seen=1)
    assert cancel(order, {second: 1}, 3, seen=2).card.taken_back == 2


def test_what_happens_to_a_part_is_told_in_a_message_that_says_so():
    order = of_three()
    first, _ = ids(order)
    ship(order, {first: 1})
    cancel(order, {first: 1})
    take_back(order, {first: 1})
    assert [one.headline for one in messages.inbox("ann").rows][:3] == [
        "What you sent back has arrived",
        "A part of your order was cancelled",
        "A part of your order is on its way",
    ]


def test_an_order_of_an_earlier_release_is_read_as_a_whole_one(wait_for_indexes):
    order = of_three()
    first, _second = ids(order)
    ship(order, tracking="JD 7")
    sent = order_changes.deliver("ann", order.id, by="eve", now=NOW + DAY)
    item = table.get(keys.order("ann", order.id))
    assert item is not None
    del item["timeline"][1]["tracking"]
    old = {"timeline": item["timeline"], "tracking": "JD 7"}
    table.write(Update(key=keys.order("ann", order.id), set=old, remove=[("card", "unshipped")]))
    assert now_of(order)[0] == replace(sent, card=replace(sent.card, unshipped=None))
    current, became = now_of(order)
    assert (current.tracking, current.card.to_ship, current.card.taken_back) == ("JD 7", 0, 0)
    assert [counts(one) for one in became.lines] == [(0, 0, 3, 0, 0)] * 2
    assert [(one.number, one.event.tracking, one.delivered_at) for one in became.parcels] == [
        (1, "JD 7", NOW + DAY)
    ]
    after = take_back(order, {first: 3}, 30)
    assert (after.status, after.tracking, after.card.taken_back) == (DELIVERED, "JD 7", 3)
    wait_for_indexes()
    assert [line.quantity for line in orders.get_with_lines(order.id)[1]] == [3, 3]
    assert [line.quantity for line in orders.lines_of_many([after.card])[order.id]] == [3, 3]


def test_all_but_a_piece_of_the_largest_order_is_cancelled_in_one_transaction():
    order = buy("ann", *make_deals(25, stock=4), quantity=2, plan=12)
    pieces = dict.fromkeys(ids(order), 2)
    pieces[min(pieces)] = 1
    after = cancel(order, pieces)
    assert (after.status, after.card.to_ship) == (PLACED, 1)
    assert after.card.money == OrderMoney(open=PRICE, cancelled=49 * PRICE)


# What happens at the same time


def test_a_line_that_is_shipped_and_cancelled_at_once_is_one_of_them():
    for _ in range(3):
        order = of_three()
        first, _second = ids(order)
        outcomes = at_once(
            again(partial(ship, order, {first: 3})), again(partial(cancel, order, {first: 3}, 1))
        )
        assert len(errors_of(outcomes)) == 1
        line = now_of(order)[1].lines[0]
        assert counts(line) in ((0, 3, 0, 0, 0), (0, 0, 0, 3, 0))
        assert stock(line.line.deal) == (5 if line.cancelled else 2)


def test_of_what_is_taken_back_twice_at_once_no_more_comes_back_than_was_sent():
    order = pay(of_three())
    first, _ = ids(order)
    ship(order)
    outcomes = at_once(*[again(partial(take_back, order, {first: 2}))] * 4)
    assert len(errors_of(outcomes)) == 3
    assert counts(now_of(order)[1].lines[0]) == (0, 1, 0, 0, 2)
    assert [one.unwanted for one in payments.of_order("ann", order.payments)] == [2 * PRICE]


@pytest.mark.engines("native", "local")
def test_a_refund_that_is_asked_for_many_times_at_once_by_one_form_is_given_once():
    order = pay(of_three())
    first, _ = ids(order)
    outcomes = at_once(*[again(partial(reduce, order, {first: "50.00"}, seen=1))] * 4)
    assert errors_of(outcomes) == []
    work(NOW + DAY, Ledger())
    assert orders.get("ann", order.id).card.money == OrderMoney(
        processed=Decimal("429.40"), refunded=Decimal("50.00")
    )


def test_different_lines_that_are_cancelled_at_once_are_all_cancelled():
    order = of_three(plan=3)
    first, second = ids(order)
    outcomes = at_once(*[again(partial(cancel, order, {line: 1})) for line in (first, second, first, second)])
    assert errors_of(outcomes) == []
    current, became = now_of(order)
    assert [counts(one) for one in became.lines] == [(1, 0, 0, 2, 0)] * 2
    assert current.card.money == OrderMoney(open=2 * PRICE, cancelled=4 * PRICE)


# What is said before it is done


def look(order: Order, act: Any, chosen: dict[str, Any], hours: int = 9) -> TakeOff:
    """Return the preview of what a change takes off an order."""
    current, lines = orders.with_lines(orders.get("ann", order.id))
    amounts = {line: Decimal(amount) for line, amount in chosen.items()} if act is reduce else None
    pieces = {} if amounts else chosen
    status = {cancel: CANCELLED, take_back: RETURNED, reduce: REDUCED}[act]
    at = NOW + hours * HOUR
    return order_returns.preview(current, lines, status, pieces, amounts, by="eve", now=at)


def as_previewed(act: Any, order: Order, chosen: dict[str, Any], hours: int = 9) -> TakeOff:
    """Take something off an order, which has to do what its preview says, and return that."""
    plan = look(order, act, chosen, hours)
    assert act(order, chosen, hours, reason="") == plan.order
    assert payments.of_order("ann", order.payments) == [then for _before, then in plan.payments]
    assert now_of(order)[1].worth == plan.total
    return plan


def all_paid(order: Order, wait_for_indexes: Any) -> Order:
    wait_for_indexes()
    run(Ledger(), NOW + 70 * DAY)
    return order


def partly_refunded(order: Order, wait_for_indexes: Any) -> Order:
    reduce(all_paid(order, wait_for_indexes), {ids(order)[1]: "100.00"})
    work(NOW + 70 * DAY, Ledger())
    return order


def being_charged(order: Order, wait_for_indexes: Any) -> Order:
    wait_for_indexes()
    for row in charging.due(now=NOW):
        charging.claim(row, now=NOW)
    return order


@pytest.mark.parametrize("act", [cancel, take_back, reduce])
@pytest.mark.parametrize(
    ("plan", "prepare", "changes", "total", "to_pay"),
    [
        (3, lambda order, _: order, ["2 S 79.90", "3 C 159.80"], "239.70", "239.70"),
        (3, lambda order, _: pay(order), ["2 S 79.90", "3 C 159.80"], "239.70", "79.90"),
        (3, all_paid, ["2 P less 79.90", "3 P less 159.80"], "239.70", "0"),
        (3, partly_refunded, ["1 P less 20.10", "2 P less 159.80", "3 P less 59.80"], "139.70", "0"),
        (3, lambda order, _: pay(order, "decline"), ["2 S 79.90", "3 C 159.80"], "239.70", "239.70"),
        (1, lambda order, _: pay(order, "decline"), ["1 F 239.70"], "239.70", "239.70"),
        (1, lambda order, _: pay(order), ["1 P less 239.70"], "239.70", "0"),
        (1, being_charged, ["1 N less 239.70"], "239.70", "239.70"),
    ],
)
def test_what_a_preview_says_is_what_is_done(act, plan, prepare, changes, total, to_pay, wait_for_indexes):
    order = prepare(of_three(plan=plan), wait_for_indexes)
    first = ids(order)[0]
    if act is take_back:
        ship(order, hours=8)
    before = list(table.scan_all(consistent=True))
    chosen = {first: "239.70"} if act is reduce else {first: 3}
    look(order, act, chosen)
    assert list(table.scan_all(consistent=True)) == before
    done = as_previewed(act, order, chosen)
    letters = {SCHEDULED: "S", FAILED: "F", PENDING: "N", PROCESSED: "P", CANCELLED: "C"}
    assert [
        f"{then.number} {letters[then.status]} "
        + (f"less {then.refunds[-1].amount}" if then.unwanted else str(then.to_charge))
        for _before, then in done.changes
    ] == changes
    assert (done.amount, done.total, done.to_pay) == (Decimal("239.70"), Decimal(total), Decimal(to_pay))


def test_a_preview_of_what_was_done_meanwhile_says_so():
    order = of_three()
    first, _ = ids(order)
    cancel(order, {first: 1}, reason="")
    current, lines = orders.with_lines(orders.get("ann", order.id))
    look_again = measured(order_returns.preview)
    plan = look_again(current, lines, CANCELLED, {first: 2}, seen=2, by="eve", now=NOW)
    assert (plan.amount, plan.total) == (2 * PRICE, 3 * PRICE)
    for count in (1, 2):
        with pytest.raises(Conflict, match="This order changed meanwhile"):
            order_returns.preview(current, lines, CANCELLED, {first: count}, seen=1, by="eve", now=NOW)


# What shoppers ask to return


def ask(order: Order, pieces: dict[str, int], hours: int = 2, **more: Any) -> Order:
    given: dict[str, Any] = {
        "pieces": pieces,
        "by": "ann",
        "reason": "Too loud",
        "now": NOW + hours * HOUR,
    } | more
    return order_returns.ask_return("ann", order.id, **given)


def test_a_return_is_asked_for_listed_and_answered_by_taking_it_back(wait_for_indexes):
    order = pay(of_three())
    first, _ = ids(order)
    ship(order)
    given: dict[str, Any] = {"pieces": {first: 2}, "by": "ann", "reason": "x", "now": NOW + 2 * HOUR}
    after = measured(order_returns.ask_return)("ann", order.id, **given)
    assert (after.status, open_return(after)) == (SHIPPED, after.timeline[-1])
    wait_for_indexes()
    (listed,) = measured(orders.returns_asked)().rows
    assert (listed.order, listed.pieces, listed.reason) == (order.id, 2, "x")
    after = take_back(order, {first: 1})
    assert open_return(after) is None
    wait_for_indexes()
    assert orders.returns_asked().rows == []


def test_a_return_is_declined_once_and_the_shopper_told_why(wait_for_indexes):
    order = of_three()
    first, _ = ids(order)
    ship(order)
    ask(order, {first: 1})
    decline = measured(order_returns.decline_return)
    after = decline("ann", order.id, by="eve", reason="It was worn", now=NOW + 3 * HOUR)
    assert order_returns.decline_return("ann", order.id, by="bob", reason="x", now=NOW + 4 * HOUR) == after
    assert (after.status, open_return(after)) == (SHIPPED, None)
    (told, *_) = messages.inbox("ann").rows
    assert (told.headline, told.text) == ("Your return was declined", "It was worn")
    wait_for_indexes()
    assert orders.returns_asked().rows == []
    ask(order, {first: 1}, 5)
    with pytest.raises(Conflict, match="This order changed meanwhile"):
        order_returns.decline_return("ann", order.id, seen=3, by="eve", reason="x", now=NOW + DAY)


@pytest.mark.parametrize(
    ("prepare", "hours", "error"),
    [
        (lambda order, line: None, 2, "0 can be chosen now"),
        (lambda order, line: ship(order), 1 + 30 * 24, "The time to return something of this order is over"),
        (lambda order, line: (ship(order), ask(order, {line: 1})), 3, "You asked to return something"),
    ],
)
def test_what_cannot_be_returned_is_not_asked_for(prepare, hours, error):
    order = of_three()
    line = ids(order)[0]
    prepare(order, line)
    as_it_was = orders.get("ann", order.id)
    with pytest.raises(Conflict, match=error):
        ask(order, {line: 1}, hours)
    assert orders.get("ann", order.id) == as_it_was


def test_the_days_begin_anew_with_delivery():
    order = of_three()
    first, _ = ids(order)
    ship(order)
    order_changes.deliver("ann", order.id, by="eve", now=NOW + 20 * DAY)
    ask(order, {first: 1}, 49 * 24)


def test_what_is_declined_names_its_lines_also_where_all_was_asked_for():
    order = of_three()
    first, second = ids(order)
    ship(order)
    ask(order, {first: 3, second: 3})
    after = order_returns.decline_return("ann", order.id, by="eve", reason="x", now=NOW + 3 * HOUR)
    became = history(*orders.with_lines(after))
    for event in after.timeline[-2:]:
        assert {line.id: one.pieces for line, one in became.of(event)} == {first: 3, second: 3}


def test_nobody_declines_what_nobody_asked_for():
    order = of_three()
    with pytest.raises(Conflict, match="Nobody asks to return anything"):
        order_returns.decline_return("ann", order.id, by="eve", reason="x", now=NOW + HOUR)


def test_a_return_that_is_taken_back_and_declined_at_once_is_one_of_them():
    order = pay(of_three())
    first, _ = ids(order)
    ship(order)
    ask(order, {first: 1})
    decline = partial(
        order_returns.decline_return, "ann", order.id, seen=3, by="bob", reason="x", now=NOW + 3 * HOUR
    )
    outcomes = at_once(again(partial(take_back, order, {first: 1}, seen=3)), again(decline))
    assert errors_of(outcomes) == [Conflict]
    assert open_return(orders.get("ann", order.id)) is None


def test_a_return_asked_for_many_times_at_once_by_one_form_is_asked_for_once():
    order = of_three()
    first, _ = ids(order)
    ship(order)
    outcomes = at_once(*[again(partial(ask, order, {first: 1}, seen=2))] * 4)
    assert errors_of(outcomes) == []
    assert len(orders.get("ann", order.id).timeline) == 3
