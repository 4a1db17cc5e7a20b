"""A shopper hears what became of a payment, once, and nobody hears of a stranger's."""

from __future__ import annotations

import pytest
from django.core import mail

from dealsite.data import table
from dealsite.data.commerce import payments
from dealsite.data.commerce.payment import charging as running
from dealsite.data.people import messages, users
from dealsite.data.table.ids import new_ulid
from dealsite.gateways import choice
from dealsite.worker import charging, loop
from tests.builders import NOW, make_id
from tests.payments import owe
from tests.people import make_user

pytestmark = pytest.mark.usefixtures("fresh_table")
ORDER = make_id(NOW, 1)  # of what owe() makes


def work():
    charging.charge_due(choice.current(), clock=lambda: NOW)
    while loop.run_next(now=NOW):
        pass


def test_a_payment_that_is_processed_is_told_by_message_and_mail():
    make_user("ann")
    owe(3, method="test:approve")
    work()
    work()
    (message,) = messages.inbox("ann").messages
    assert (message.kind, message.headline, message.order) == (
        "payment",
        "Payment received: 30.00 EUR",
        ORDER,
    )
    text = f"We received payment 1 of 3 for your order {ORDER}: 30.00 EUR."
    assert messages.get("ann", message.id).text == text
    assert [(sent.to, text in sent.body) for sent in mail.outbox] == [(["ann@example.org"], True)]


def test_a_decline_says_why_and_what_comes_next(monkeypatch):
    make_user("ann")
    owe(method="test:insufficient_funds")
    work()
    (sent,) = mail.outbox
    assert sent.subject == "Dealsite: A payment failed"
    assert "Your card has insufficient funds. We try again on 22 Nov 2026" in sent.body


def test_a_payment_that_is_given_up_asks_for_another_card(monkeypatch):
    monkeypatch.setattr(running, "RETRY_AFTER", ())
    make_user("ann")
    owe(method="test:decline")
    work()
    assert "We do not try again by ourselves: please choose another card" in mail.outbox[0].body


def test_a_payment_refunded_is_told():
    make_user("ann")
    made = owe(method="test:approve")
    work()
    mail.outbox.clear()
    found = payments.of_order("ann", [payment.ref for payment in made])
    table.transact(payments.cancel_writes(found, by="ann", reason="x", now=NOW))
    work()
    assert [sent.subject for sent in mail.outbox] == ["Dealsite: A payment was refunded"]
    assert payments.of_order("ann", [made[0].ref])[0].status == payments.REFUNDED


def test_a_user_who_is_gone_hears_nothing_and_still_pays():
    make_user("ann")
    made = owe(method="test:approve")
    users.delete(users.get("ann"), job_id=new_ulid(NOW), now=NOW)
    work()
    assert payments.of_order("ann", [made[0].ref])[0].status == payments.PROCESSED
    assert mail.outbox == []
    assert messages.inbox("ann").messages == []
