"""The process ends before or after any request of what a shop does: the table is whole, and another try ends right."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import deals, deals as stock_marks, featured
from dealsite.data.commerce import cart_changes, carts, order_changes, orders, payments
from dealsite.data.entities.commerce import ACTIVE, CANCELLED, DELIVERED, PLACED, SAVED, SCHEDULED, SHIPPED
from dealsite.data.integrity import checks
from dealsite.data.jobs.jobs import Job
from dealsite.data.table.writes import Update
from tests.builders import HOUR, NOW, make_deal, make_id
from tests.crashes import Crash, Crasher, at_any_request
from tests.people import make_user
from tests.shop import ANN, GUEST, add, bought, edit, feature, fill, held, purchase, run_jobs, stock, want

PLENTY, LAST, UNCOUNTED, LATER = (make_id(NOW - HOUR, number) for number in (1, 2, 3, 4))
LINE, TOKEN = make_id(NOW, 11), make_id(NOW, 12)
FORM: dict[str, order_changes.Purchase] = {}  # the checkout form that the shopper has open


@dataclass
class Action:
    """What is there before, what is done (and done again), and what holds when it is done."""

    seed: Callable[[], object]
    act: Callable[[], object]
    done: Callable[[], bool]


def open_shop() -> None:
    make_user("ann")
    make_deal(deal_id=PLENTY, stock=9)
    make_deal(deal_id=LAST, stock=2)
    make_deal(deal_id=UNCOUNTED)
    make_deal(deal_id=LATER)
    feature(*(deals.get(one) for one in (LAST, PLENTY)))


def fill_the_cart() -> None:
    open_shop()
    fill(ANN, [deals.get(one) for one in (PLENTY, LAST, UNCOUNTED)], 2)
    add(ANN, LATER)
    save_for_later(LATER)
    FORM["ann"] = purchase(plan=3)


def save_for_later(deal_id: str) -> None:
    for line in carts.read(ANN, now=NOW).active:
        if line.deal == deal_id:
            cart_changes.move(ANN, line.ref, SAVED, now=NOW)


def place() -> None:
    order_changes.place(FORM["ann"], now=NOW)


def placed(status: str = PLACED) -> bool:
    """All was bought once, and is where the order's status says."""
    order = orders.get("ann", FORM["ann"].order_id)
    paid = payments.of_order("ann", order.payments)
    given_back = status == CANCELLED
    assert [card.id for card in orders.of_user("ann").rows] == [order.id]
    assert order.status == status
    assert bought(order) == {PLENTY: 2, LAST: 2, UNCOUNTED: 2}
    assert held(ANN) == {LATER: (SAVED, 1)}
    assert (stock(PLENTY), stock(LAST), stock(UNCOUNTED)) == ((9, 2, None) if given_back else (7, 0, None))
    assert {payment.status for payment in paid} == {CANCELLED if given_back else SCHEDULED}
    assert sum(payment.amount for payment in paid) == order.total == Decimal("479.40")
    run_jobs(now=NOW + HOUR)
    assert deals.get(LAST).card.sold_out is not given_back
    return deals.get(LAST).card in featured.get("front").cards


def seed_an_order(*, shipped: bool = False) -> None:
    fill_the_cart()
    place()
    if shipped:
        order_changes.ship("ann", FORM["ann"].order_id, unpaid=True, by="bob", now=NOW)


def cancel() -> None:
    order_changes.cancel("ann", FORM["ann"].order_id, by="ann", now=NOW + HOUR)


def ship() -> None:
    order_changes.ship("ann", FORM["ann"].order_id, tracking="JD1", unpaid=True, by="bob", now=NOW + HOUR)


def deliver() -> None:
    order_changes.deliver("ann", FORM["ann"].order_id, by="bob", now=NOW + HOUR)


def seed_two_carts() -> None:
    fill_the_cart()
    fill(GUEST, [deals.get(one) for one in (PLENTY, LATER)], 3)


def merge() -> None:
    cart_changes.merge(GUEST, "ann", now=NOW + HOUR)


def merged() -> bool:
    assert table.query(GUEST.partition, consistent=True) == []
    return held(ANN) == {PLENTY: (ACTIVE, 5), LAST: (ACTIVE, 2), UNCOUNTED: (ACTIVE, 2), LATER: (ACTIVE, 4)}


def add_again() -> None:
    cart_changes.add(ANN, want(PLENTY, 3, token=TOKEN, line_id=LINE), now=NOW)


def seed_changes() -> None:
    fill_the_cart()
    edit(PLENTY, price=Decimal("70.00"))
    edit(LAST, stock=0)


def accept() -> None:
    look = carts.view(carts.read(ANN, now=NOW), now=NOW)
    cart_changes.accept(ANN, seen=look.digest, now=NOW)


def accepted() -> bool:
    lines = carts.read(ANN, now=NOW).active
    prices = {line.deal: line.price for line in lines}
    return held(ANN)[LAST] == (SAVED, 2) and prices[PLENTY] == Decimal("70.00")


def seed_marks() -> None:
    """A checkout without room for marks left them to a job."""
    open_shop()
    table.write(stock_marks.mark_sold_out_later([LAST, PLENTY], now=NOW))
    for deal_id in (LAST, PLENTY):
        table.write(Update(key=keys.offer(deal_id), set={"stock": 0}))


def mark() -> None:
    job = Job(make_id(NOW), stock_marks.MARK_SOLD_OUT, {"deals": [LAST, PLENTY]})
    stock_marks.mark_sold_out(job, NOW)


def marked() -> bool:
    found = [deals.get(one).card for one in (LAST, PLENTY)]
    return all(card.sold_out for card in found) and featured.get("front").cards == found


def clear() -> None:
    cart_changes.clear("ann")


ACTIONS = {
    "place an order": Action(fill_the_cart, place, placed),
    "cancel an order": Action(seed_an_order, cancel, lambda: placed(CANCELLED)),
    "ship an order": Action(seed_an_order, ship, lambda: placed(SHIPPED)),
    "deliver an order": Action(lambda: seed_an_order(shipped=True), deliver, lambda: placed(DELIVERED)),
    "merge two carts": Action(seed_two_carts, merge, merged),
    "begin a cart": Action(open_shop, add_again, lambda: held(ANN) == {PLENTY: (ACTIVE, 3)}),
    "add to a line": Action(fill_the_cart, add_again, lambda: held(ANN)[PLENTY] == (ACTIVE, 5)),
    "change a number": Action(
        fill_the_cart,
        lambda: cart_changes.change_quantity(ANN, PLENTY, 7, now=NOW),
        lambda: held(ANN)[PLENTY] == (ACTIVE, 7),
    ),
    "save for later": Action(
        fill_the_cart, lambda: save_for_later(PLENTY), lambda: held(ANN)[PLENTY] == (SAVED, 2)
    ),
    "accept what changed": Action(seed_changes, accept, accepted),
    "mark what is sold out": Action(seed_marks, mark, marked),
    "clear a cart": Action(fill_the_cart, clear, lambda: held(ANN) == {}),
}
UNTIL_REPEATED = {"clear a cart"}  # a job that is repeated ends them: until then, half of it is done


@at_any_request
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ACTIONS)
@pytest.mark.engines("native")
def test_a_crash_at_any_request_leaves_the_shop_whole_and_another_try_completes(name, when, new_table):
    action = ACTIONS[name]
    for at in itertools.count(1):
        new_table()
        action.seed()
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            action.act()
        if name not in UNTIL_REPEATED:
            assert [str(problem) for problem in checks.find()] == []
        action.act()
        assert action.done()
        assert [str(problem) for problem in checks.find()] == []
        if not crasher.crashed:
            break
        assert at < 60
    assert at >= 3


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(1, 5))
@pytest.mark.engines("native")
def test_an_order_whose_process_ended_is_placed_by_whoever_asks_again(at, when, new_table):
    """Not the same process, nor the same moment: the form is sent once more an hour later."""
    new_table()
    fill_the_cart()
    with Crasher(at, when), contextlib.suppress(Crash):
        place()
    order = order_changes.place(FORM["ann"], now=NOW + HOUR)
    assert order.placed_at in (NOW, NOW + HOUR)
    assert placed()
    assert [str(problem) for problem in checks.find()] == []
