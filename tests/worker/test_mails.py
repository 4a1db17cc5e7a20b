"""A shopper hears what became of a payment, once, and nobody hears of a stranger's."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from smtplib import SMTPRecipientsRefused, SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMessage

from dealsite.data import table
from dealsite.data.commerce import charging as running, order_changes, orders, payments
from dealsite.data.entities.commerce import PROCESSED, REFUNDED
from dealsite.data.people import messages, sessions, two_factor, users
from dealsite.data.table.ids import new_ulid
from dealsite.gateways import choice
from dealsite.gateways.interface import GatewayUnavailable
from dealsite.gateways.testing import TestGateway
from dealsite.worker import loop
from tests.builders import NOW, make_id
from tests.jobs import run_next
from tests.payments import cancel_order, lower, owe, pay
from tests.people import give_card, make_user

pytestmark = pytest.mark.usefixtures("fresh_table")
ORDER = make_id(NOW, 1)  # of what owe() makes


def work():
    loop.charge_due(choice.current(), clock=lambda: NOW)
    while run_next(now=NOW):
        pass


def test_a_payment_that_is_processed_is_told_by_message_and_mail():
    make_user("ann")
    give_card("ann", "a card")
    owe(3, method="test:approve")
    work()
    work()
    (message,) = messages.inbox("ann").rows
    assert (message.kind, message.headline, message.order) == ("payment", "Payment received: €30.00", ORDER)
    text = f"We received payment 1 of 3 for your order {ORDER}: €30.00."
    assert messages.get("ann", message.id).text == text
    assert [(sent.to, text in sent.body) for sent in mail.outbox] == [(["ann@example.org"], True)]


def test_a_decline_says_why_and_what_comes_next(monkeypatch):
    make_user("ann")
    give_card("ann", "a card")
    owe(method="test:insufficient_funds")
    work()
    (sent,) = mail.outbox
    assert sent.subject.startswith("Dealsite: A payment failed (")
    assert "Your card has insufficient funds. We try again on 22 Nov 2026" in sent.body


def test_a_payment_that_is_given_up_asks_for_another_card(monkeypatch):
    monkeypatch.setattr(running, "RETRY_AFTER", ())
    make_user("ann")
    give_card("ann", "a card")
    owe(method="test:decline")
    work()
    said = " ".join(mail.outbox[0].body.split())
    assert "We do not try again by ourselves: please choose another card" in said
    assert "If nothing is paid until 28 Nov 2026, your order is cancelled." in said
    assert "/account/payments/" in said


def test_an_order_that_is_shipped_is_not_said_to_be_cancelled_one_day(monkeypatch):
    monkeypatch.setattr(running, "RETRY_AFTER", ())
    make_user("ann")
    give_card("ann", "a card")
    owe(method="test:decline")
    order_changes.ship("ann", ORDER, unpaid=True, by="eve", now=NOW)
    work()
    (said,) = [sent.body for sent in mail.outbox if "A payment failed" in sent.subject]
    assert "your order is cancelled" not in said


def test_a_payment_of_an_order_without_a_card_is_told_to_be_due():
    make_user("ann")
    owe(method="")
    work()
    (sent,) = mail.outbox
    said = " ".join(sent.body.split())
    assert sent.subject.startswith("Dealsite: A payment is due (")
    assert f"Payment 1 of 1 for your order {ORDER} is due: €90.00. You can pay it under Payments." in said
    assert "If nothing is paid until 28 Nov 2026, your order is cancelled." in said
    assert "/account/payments/" in said


def test_a_payment_refunded_is_told():
    make_user("ann")
    give_card("ann", "a card")
    made = owe(method="test:approve")
    work()
    mail.outbox.clear()
    cancel_order(made[0], NOW)
    work()
    assert [sent.subject for sent in mail.outbox] == [
        f"Dealsite: {what} ({made[0].order[-6:]})"
        for what in ("Your order was cancelled", "A payment was refunded")
    ]
    assert payments.of_order("ann", [made[0].ref])[0].status == REFUNDED


def test_each_part_of_a_payment_that_is_refunded_is_told():
    make_user("ann")
    give_card("ann", "a card")
    made = owe(method="test:approve")
    lower(made[0], "10.00", NOW)
    work()
    for amount in ("20.00", "12.50"):
        lower(made[0], amount, NOW)
    work()
    assert sorted(one.headline for one in messages.inbox("ann").rows) == [
        "A payment was refunded: €12.50",
        "A payment was refunded: €20.00",
        "Payment received: €80.00",
    ]
    assert payments.of_order("ann", [made[0].ref])[0].kept == Decimal("47.50")


def test_a_user_who_is_gone_hears_nothing():
    make_user("ann")
    give_card("ann", "a card")
    made = owe(method="test:approve")
    pay(orders.get("ann", made[0].order))
    users.delete(users.get("ann"), job_id=new_ulid(NOW), now=NOW)
    work()
    assert payments.of_order("ann", [made[0].ref])[0].status == PROCESSED
    assert mail.outbox == []
    assert messages.inbox("ann").rows == []


# Mails to one address


def change_passwords(user: users.User, times: int) -> None:
    for number in range(times):
        sessions.change_password(users.get(user.username), password=f"hash {number}", now=NOW)
    while run_next(now=NOW):
        pass


def test_ten_changes_of_a_password_are_made_and_told_by_five_mails(caplog: pytest.LogCaptureFixture):
    change_passwords(make_user("ann"), 10)
    assert users.get("ann").password == "hash 9"
    assert [sent.to for sent in mail.outbox] == [["ann@example.org"]] * 5
    assert caplog.text.count("mail_not_sent") == 5
    assert "ann@example.org" not in caplog.text


def test_mails_of_another_kind_or_to_others_are_sent_meanwhile():
    change_passwords(make_user("ann"), 6)
    change_passwords(make_user("bob"), 1)
    two_factor.turn_on(users.get("ann"), secret="x", recovery=["y"], step=1, key="", now=NOW)
    assert run_next(now=NOW)
    assert [sent.to[0] for sent in mail.outbox[5:]] == ["bob@example.org", "ann@example.org"]
    assert mail.outbox[-1].subject == "Dealsite: Two-factor sign-in is on"


def test_a_mail_that_could_not_be_sent_counts_once(monkeypatch: pytest.MonkeyPatch, settings):
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"mail": (1, timedelta(hours=1))}
    sessions.change_password(make_user("ann"), password="another", now=NOW)
    with monkeypatch.context() as patch:
        patch.setattr("dealsite.worker.mails.EmailMessage.send", lambda *_: 1 / 0)
        run_next(now=NOW)
    for minutes in range(1, 30):
        run_next(now=NOW + timedelta(minutes=minutes))
    assert len(mail.outbox) == 1


def run_for(span: timedelta) -> None:
    """Work for some time, and look each minute."""
    for minutes in range(int(span.total_seconds()) // 60 + 1):
        now = NOW + timedelta(minutes=minutes)
        while run_next(now=now):
            pass


def away_until(end: timedelta, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, error: Any) -> None:
    """Let something fail until a worker's clock says that a span is over."""
    does, taking = getattr(owner, name), loop.take
    at = [NOW]

    def take(*, now: datetime, **given: Any) -> Any:
        at[0] = now
        return taking(now=now, **given)

    def do(*given: Any, **named: Any) -> Any:
        if at[0] < NOW + end:
            raise error
        return does(*given, **named)

    monkeypatch.setattr(loop, "take", take)
    monkeypatch.setattr(owner, name, do)


def test_a_mail_server_that_is_away_for_an_hour_loses_no_mail(monkeypatch: pytest.MonkeyPatch):
    gone = SMTPServerDisconnected("Connection unexpectedly closed")
    away_until(timedelta(hours=1), monkeypatch, EmailMessage, "send", gone)
    sessions.change_password(make_user("ann"), password="another", now=NOW)
    run_for(timedelta(hours=2))
    assert [sent.to for sent in mail.outbox] == [["ann@example.org"]]
    assert [item["state"] for item in table.scan_all() if item["type"] == "Job"] == ["done"]


def test_a_gateway_that_is_away_for_an_hour_loses_no_refund(monkeypatch: pytest.MonkeyPatch):
    make_user("ann")
    give_card("ann", "a card")
    made = owe(method="test:approve")
    work()
    cancel_order(made[0], NOW)
    away_until(timedelta(hours=1), monkeypatch, TestGateway, "refund", GatewayUnavailable("No answer."))
    run_for(timedelta(hours=2))
    assert payments.of_order("ann", [made[0].ref])[0].status == REFUNDED
    assert {item["state"] for item in table.scan_all() if item["type"] == "Job"} <= {"done", "open"}


def test_a_mail_server_that_refuses_an_address_puts_it_into_no_log_and_no_job(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def refuse(*_: object) -> None:
        raise SMTPRecipientsRefused({"ann@example.org": (550, b"ann@example.org is not here")})

    sessions.change_password(make_user("ann"), password="another", now=NOW)
    monkeypatch.setattr("dealsite.worker.mails.EmailMessage.send", refuse)
    run_next(now=NOW)
    assert "MailRefused('SMTPRecipientsRefused 550')" in caplog.text
    assert "ann@example.org" not in caplog.text
    (item,) = [item for item in table.scan_all() if item["type"] == "Job"]
    assert item["error"] == "SMTPRecipientsRefused 550"


def test_a_shopper_hears_of_each_of_many_payments_up_to_their_own_limit(settings):
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"mail-order": (7, timedelta(hours=1))}
    make_user("ann")
    give_card("ann", "a card")
    for number in range(1, 10):
        owe(method="test:approve", order_number=number)
    work()
    assert len(mail.outbox) == 7
    assert len(messages.inbox("ann").rows) == 9
