"""What can happen to orders and payments in each of their states is what docs/back-office.md says, cell by cell."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dealsite.data.commerce import charging, order_changes, order_returns, orders, payments
from dealsite.data.commerce.order_record import Order
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.table.errors import Conflict, Invalid
from tests.builders import HOUR, NOW, make_deal
from tests.gateways.ledger import Ledger
from tests.orders import ADDRESS
from tests.payments import owe, read, work
from tests.people import give_card, make_user
from tests.shop import buy

TEXT = (Path(__file__).parents[3] / "docs" / "back-office.md").read_text("utf-8")
DAY = timedelta(days=1)
NUMBERS = itertools.count(1)


def cells(kind: str) -> list[tuple[str, str, str]]:
    """Return each state, act and outcome of the table about a kind."""
    (found,) = re.findall(rf"\| {kind} \|(.+)\n\|[-|]+\n((?:\|.+\n)+)", TEXT)
    acts = [one.strip() for one in found[0].strip(" |").split("|")]
    rows = [[one.strip() for one in row.strip("|").split("|")] for row in found[1].splitlines()]
    return [
        (state, what, said) for state, *outcomes in rows for what, said in zip(acts, outcomes, strict=True)
    ]


def outcome(do: Callable[[], Any], look: Callable[[], Any]) -> str:
    """Do something; say whether it changed what one sees, was refused, or changed nothing."""
    before = look()
    try:
        do()
    except (Conflict, Invalid):
        assert look() == before
        return "no"
    return "again" if look() == before else "yes"


def order_in(state: str) -> Order:
    order = buy("ann", make_deal(stock=5), quantity=2)
    by: dict[str, Any] = {"by": "eve"}
    if state == "cancelled":
        return order_changes.cancel("ann", order.id, now=NOW + HOUR, **by)
    if state != "placed":
        order = order_changes.ship("ann", order.id, unpaid=True, now=NOW + HOUR, **by)
    if state in ("delivered", "returned"):
        order = order_changes.deliver("ann", order.id, now=NOW + 2 * HOUR, **by)
    if state == "returned":
        pieces = {line.id: 2 for line in orders.lines_of(order)}
        order = order_returns.take_back("ann", order.id, pieces=pieces, now=NOW + 3 * HOUR, **by)
    return order


def do_to_order(what: str, order: Order) -> None:
    given: dict[str, Any] = {"username": "ann", "order_id": order.id, "now": NOW + DAY}
    by: dict[str, Any] = {"by": "eve"}
    pieces = {line.id: 1 for line in orders.lines_of(order)}
    match what:
        case "ship":
            order_changes.ship(**given, **by, unpaid=True)
        case "deliver":
            order_changes.deliver(**given, **by)
        case "cancel":
            order_changes.cancel(**given, **by)
        case "take back":
            order_returns.take_back(**given, **by, pieces=pieces)
        case "refund an amount":
            order_returns.reduce(**given, **by, amounts=dict.fromkeys(pieces, Decimal("0.01")))
        case "ask to return":
            order_returns.ask_return(**given, by="ann", pieces=pieces)
        case "change the address":
            order_changes.change_address(address=replace(ADDRESS, city="Paris"), **given, **by)


@pytest.mark.engines("native")
def test_an_order_comes_to_its_next_state_where_the_table_says_so(whole_table, subtests):
    make_user("ann")
    for state, what, said in cells("order"):
        order = order_in(state)
        assert order.status == state.upper()
        with subtests.test(state=state, what=what):
            found = outcome(partial(do_to_order, what, order), partial(orders.get, "ann", order.id))
            assert found == said


def charge(payment: Payment, gateway: Ledger, now: datetime) -> None:
    """Charge a payment as a runner does, if it is due."""
    for row in charging.due(now=now):
        if row["card"]["id"] == payment.id:
            charging.run_one(row, gateway, currency="EUR", clock=lambda: now)


def payment_in(state: str) -> Payment:
    (payment,) = owe(order_number=next(NUMBERS))
    gateway = Ledger(*{"failed": ["decline"], "being charged": ["silent"]}.get(state, []))
    if state in ("being charged", "paid", "failed", "refunded"):
        charge(payment, gateway, NOW)
    if state == "cancelled":
        do_to_payment("cancel", payment)
    if state == "refunded":
        do_to_payment("refund", payment)
        work(NOW + DAY, gateway)
    return read(payment)


def do_to_payment(what: str, payment: Payment) -> None:
    given: dict[str, Any] = {"account": payment.account, "due_at": payment.due_at, "payment_id": payment.id}
    given |= {"by": "eve", "now": NOW}
    match what:
        case "charge":
            charge(payment, Ledger(), NOW + (2 * DAY if payment.status == "FAILED" else timedelta(seconds=1)))
        case "pay early":
            payments.pay_early(**given, method="other")
        case "try again":
            payments.retry_now(**given, method="other")
        case "another card":
            payments.change_method(**given, method="other")
        case "cancel":
            payments.cancel(**given, reason="x")
        case "refund":
            payments.refund(**given, reason="x")


@pytest.mark.engines("native")
def test_a_payment_comes_to_its_next_state_where_the_table_says_so(whole_table, subtests):
    make_user("ann")
    give_card("ann", "approves")
    names = {"being charged": "PENDING", "paid": "PROCESSED"}
    for state, what, said in cells("payment"):
        payment = payment_in(state)
        assert payment.status == names.get(state, state.upper())
        with subtests.test(state=state, what=what):
            found = outcome(partial(do_to_payment, what, payment), partial(read, payment))
            assert found == said or (what, found, said) == ("charge", "again", "no")
