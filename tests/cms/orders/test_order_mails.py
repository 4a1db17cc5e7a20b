"""The back office sees what became of an order's mails, and sends one again to the address of today."""

from datetime import timedelta
from smtplib import SMTPRecipientsRefused
from typing import Any

import pytest
from django.core import mail
from django.http import QueryDict

from cms.order_list import _all_orders
from dealsite.data.commerce import order_changes, orders, payments
from dealsite.data.editing import audit
from dealsite.data.people import email_addresses, profiles, users
from dealsite.data.table.errors import AlreadyExists, Invalid
from dealsite.data.table.ids import from_iso, iso
from dealsite.gateways import choice
from dealsite.worker import loop
from tests.builders import HOUR, NOW
from tests.jobs import run_next
from tests.measuring import measured
from tests.orders import make_order
from tests.people import make_user
from tests.races import at_once


def work(now=NOW):
    """Run what is due; return the mails that it sent."""
    before = len(mail.outbox)
    loop.charge_due(choice.current(), clock=lambda: now)
    while run_next(now=now):
        pass
    return mail.outbox[before:]


def text(response):
    return " ".join(response.content.decode().split())


def page_of(office, order):
    return text(office.get(f"/cms/orders/ada/{order.id}/"))


def press(office, order, time="2"):
    sent = {"status": "PLACED", "at": iso(order.placed_at), "time": time}
    return office.post(f"/cms/orders/ada/{order.id}/mail/", sent, follow=True)


def move_to(username, email):
    user, profile = users.get(username), profiles.get(username)
    email_addresses.claim(profile, user=user, name=profile.name, timezone="", email=email, now=NOW)
    email_addresses.confirm(users.get(username), now=NOW)


def test_mails_and_their_states_are_shown_and_go_to_the_address_of_today(office):
    order = make_order("ada")
    assert "waiting" in page_of(office, order)
    work()
    move_to("ada", "Ada.New@example.org")
    work()
    order_changes.ship("ada", order.id, unpaid=True, by="olga", now=NOW + HOUR)
    (told,) = work(NOW + HOUR)
    assert (told.to, "on its way" in told.subject) == (["Ada.New@example.org"], True)
    page = page_of(office, order)
    assert "ada@example.org" not in page
    for words in ("They go to Ada.New@example.org.", "13:00 UTC</time>: sent", "A payment failed (1)"):
        assert words in page
    assert page.count(": sent</p>") == 3
    answer = press(office, order)
    assert "The mail is sent again, to Ada.New@example.org." in text(answer)
    assert "The mail is sent again" not in text(press(office, order))
    (again,) = work(NOW + 2 * HOUR)
    assert (again.to, again.subject) == (["Ada.New@example.org"], f"Dealsite: Your order ({order.id[-6:]})")
    (entry,) = [one for one in audit.of_target("order", order.id) if one.what == "sent a mail again"]
    assert (entry.by, entry.note) == ("olga", "Thank you: your order is placed")
    page = page_of(office, order)
    assert page.count(": sent</p>") == 4
    assert 'name="time" value="3"' in page


def test_each_failure_after_an_address_was_confirmed_is_mailed(office):
    make_user("ada", confirmed=False)
    order = make_order("ada")
    assert [sent.subject for sent in work()] == ["Dealsite: Confirm your e-mail address"]
    email_addresses.confirm(users.get("ada"), now=NOW)
    assert [sent.subject for sent in work()] == [f"Dealsite: Your order ({order.id[-6:]})"]
    for hours in (1, 2):
        first, now = order.payments[0], NOW + hours * HOUR
        payments.retry_now("ada", from_iso(first["due_at"]), first["id"], by="ada", now=now)
        (sent,) = work(now)
        assert (sent.to, "A payment failed" in sent.subject) == (["ada@example.org"], True)
    assert page_of(office, order).count("A payment failed (1)") == 3


@pytest.mark.parametrize("kind", ["refused", "too many", "no server", "unconfirmed"])
def test_why_a_mail_was_not_sent_is_said(office, settings, monkeypatch, kind):
    def refuse(*_):
        raise SMTPRecipientsRefused({"ada@example.org": (550, b"No")})

    if kind == "refused":
        monkeypatch.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", refuse)
    if kind == "too many":
        settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"mail-order": (1, timedelta(hours=1))}
    settings.DEALSITE_SENDS_MAIL = kind != "no server"
    if kind == "unconfirmed":
        make_user("ada", confirmed=False)
    order = make_order("ada")
    work()
    page = page_of(office, order)
    said = {
        "refused": "waiting (SMTPRecipientsRefused 550)",
        "too many": "not sent (There were too many mails.)",
        "no server": "not sent (The site has no mail server.)",
        "unconfirmed": "not sent (There is no confirmed address.)",
    }
    assert said[kind] in page
    about_it = [sent for sent in mail.outbox if order.id[-6:] in sent.subject]
    assert len(about_it) == (kind == "too many")  # which has room for one
    assert ("Send again" in page) == (kind != "unconfirmed")
    if kind == "unconfirmed":
        assert "The shopper has no confirmed e-mail address." in text(press(office, order))
        user = users.get("ada")
        email_addresses.confirm(user, now=NOW)
        assert [sent.to for sent in work()] == [["ada@example.org"]]
        assert ": sent" in page_of(office, order)


def test_of_presses_at_once_one_sends_and_what_cannot_be_is_refused(office):
    order = make_order("ada")
    given: Any = {"to": "ada@example.org", "by": "olga", "now": NOW}
    outcomes = at_once(
        *[lambda: orders.send_mail_again(order, "PLACED", order.placed_at, time=2, **given)] * 5
    )
    assert sorted(type(one).__name__ for one in outcomes) == ["AlreadyExists"] * 4 + ["NoneType"]
    assert len(work()) == 3  # of the order, again, and of its payment
    measured(orders.send_mail_again)(order, "PLACED", order.placed_at, time=3, **given)
    found = measured(orders.mails_of_order)(orders.get("ada", order.id), [])
    assert [(one.status, [job.state for _, job in one.jobs], one.time) for one in found] == [
        ("PLACED", ["done", "done", "open"], 4)
    ]
    with pytest.raises(AlreadyExists):
        orders.send_mail_again(order, "PLACED", order.placed_at, time=3, **given)
    for status, at, time in (
        ("PLACED", NOW, 1),
        ("PLACED", NOW, orders.MOST_TIMES),
        ("PLACED", NOW - HOUR, 2),
        ("SHIPPED", NOW, 2),
    ):
        with pytest.raises(Invalid):
            orders.send_mail_again(order, status, at, time=time, **given)
    assert press(office, order, time="9" * 50).status_code == 400


def test_a_mail_is_sent_again_so_often_and_no_more(office):
    order = make_order("ada")
    work()
    given: Any = {"to": "ada@example.org", "by": "olga", "now": NOW}
    for time in range(2, orders.MOST_TIMES):
        orders.send_mail_again(order, "PLACED", order.placed_at, time=time, **given)
    assert [one.time for one in orders.mails_of_order(order, [])] == [0]
    assert "Send again" not in page_of(office, order)


def test_an_editor_sends_none(editor):
    order = make_order("ada")
    assert press(editor, order).status_code == 403


def test_a_file_of_orders_holds_the_address_of_today(office):
    make_order("ada")
    move_to("ada", "Ada.New@example.org")
    make_user("kim", confirmed=False)
    make_order("kim")
    rows = [row for row in _all_orders(QueryDict("list=placed"), NOW) if row]
    assert sorted(row["email"] for row in rows) == ["Ada.New@example.org", "kim@example.org"]
