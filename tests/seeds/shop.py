"""The shop that the questions of the published models are put to: the demo, an import, orders, payments, messages."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dealsite.data.catalogue import relations
from dealsite.data.catalogue.deals import Deal
from dealsite.data.commerce import cart_changes, carts, charging, payment_loads
from dealsite.data.commerce.cart_changes import CartAddition
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.people import messages
from dealsite.demo import loading
from dealsite.demo.people import PEOPLE
from dealsite.gateways.interface import ChargeResult
from tests.builders import DAY, HOUR, NOW, PICTURE, make_deal, make_id
from tests.gateways.ledger import Ledger
from tests.imports.builders import make_row, run_import, write_csv
from tests.orders import make_order
from tests.payments import PaymentList, close_day, run
from tests.people import make_user

LONG_AGO = NOW - 500 * DAY  # when the examples' own deals went live: no list of new deals shows them
PAGE = 25
SHOPPERS = [f"shopper{number:02d}" for number in range(24)]
BRAND, CATEGORY = "lampadine", "home-furniture"  # of what was imported
BUYER = SHOPPERS[0]


def fill(folder: Path) -> None:
    """Store it all, through what stores it in the site."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "upload", lambda name: PICTURE)
        started, _ = loading.begin(NOW, random_passwords=False)
        loading.load_content(started, lambda _: None)
        assert len(list(loading.finish(started, random_passwords=False))) == len(PEOPLE) - 1
    rows = [
        make_row(n, expires_at=f"2026-11-{10 + n:02d}T08:00:00Z" if n % 3 == 0 else "") for n in range(20)
    ]
    totals, _, _ = run_import(write_csv(folder, [*rows, make_row(99, price="free")]))
    assert (totals.imported, totals.refused) == (20, 1)
    for name in SHOPPERS:
        make_user(name)
    for number, plan in enumerate((1, 3, 12)):
        make_order(BUYER, *old_deals(number + 1), plan=plan, now=NOW - number * DAY)
    for username in (BUYER, SHOPPERS[1]):
        sent = [make_id(number=number) for number in range(30)]
        made = {"kind": "hot_deal", "headline": "Hot", "deal": make_id()}
        messages.deliver([messages.message_item(username, one, **made) for one in sent])
        messages.mark_read(username, sent[-1], now=NOW)
    for relation in relations.RELATIONS[:4]:  # of brands and categories
        relations.add(relation, BRAND if relation.target == "brand" else CATEGORY, "sam", now=NOW)
    for day in (20, 10):  # of the demo's orders
        run(Ledger(), NOW - day * DAY)
    assert close_day((NOW - 15 * DAY).date()) > 0


def old_deal(**content: Any) -> Deal:
    """Publish a deal of long ago, of a brand of its own."""
    made: dict[str, Any] = {"live_at": LONG_AGO, "brand": "Old Things"}
    return make_deal(**made | content)


def old_deals(count: int) -> list[Deal]:
    return [old_deal(title=f"Old thing {number}") for number in range(count)]


def addition(deal: Deal, quantity: int = 1) -> CartAddition:
    """Return what a form sends to add a deal to a cart."""
    return CartAddition(deal.id, quantity, make_id(NOW), token=make_id(NOW))


def put_in_cart(username: str, deal: Deal, *, now: datetime = NOW) -> carts.Line:
    """Put a deal into a user's cart; return its line."""
    owner = carts.user_cart(username)
    cart_changes.add(owner, addition(deal), now=now)
    return next(line for line in carts.read(owner, now=now).active if line.deal == deal.id)


def source(*due: Payment) -> PaymentList:
    """Return a file of payments."""
    return PaymentList(int(make_id()[-8:], 36) % 10**9, list(due))


def payment(account: str, due_at: datetime, **more: Any) -> Payment:
    """Return a payment that waits for its time."""
    made: dict[str, Any] = {"amount": Decimal("12.50"), "method": "approves"}
    return Payment(make_id(due_at), account, due_at=due_at, next_at=due_at, **made | more)


def load(*due: Payment) -> None:
    """Load payments, as the command does."""
    of = source(*due)
    for segment in payment_loads.begin(of, now=NOW):
        payment_loads.load_segment(of, segment)


def claimed(account: str, due_at: datetime) -> Payment:
    """Load a payment and claim it when it is due."""
    made = payment(account, due_at)
    load(made)
    row = next(row for row in charging.due(now=due_at + HOUR) if row["card"]["id"] == made.id)
    found = charging.claim(row, now=due_at + HOUR)
    assert found
    return found


def paid(account: str, due_at: datetime, transaction: str = "") -> Payment:
    """Load a payment and charge it when it is due."""
    made = claimed(account, due_at)
    after = charging.record(
        made, ChargeResult(transaction or f"T-{made.id}"), now=due_at + timedelta(hours=1)
    )
    assert after
    return after


def closed(account: str, due_at: datetime, transaction: str = "") -> Payment:
    """Load a payment, charge it and close its day."""
    made = paid(account, due_at, transaction)
    close_day(due_at.date())
    return made
