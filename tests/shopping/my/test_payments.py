"""A user's card and payments: entered once, never kept as a number; paid early, and again after it failed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.data.commerce import charging, order_record, payment_record, payments
from dealsite.data.commerce.order_record import PaymentCard
from dealsite.data.entities.commerce import CANCELLED, FAILED, PROCESSED
from dealsite.data.people import messages, users
from dealsite.data.table.ids import iso, new_ulid
from dealsite.gateways import choice
from dealsite.gateways.interface import CardRefused, GatewayUnavailable, SavedCard
from shopping.my import payments as my_payments
from tests.builders import DAY, HOUR, NOW
from tests.gateways.ledger import Ledger
from tests.jobs import run_next
from tests.payments import lower, owe, run
from tests.people import assert_costs_as_declared, make_user, signed_in

CARD = PaymentCard("test", "approves", "Visa ending in 4242")
NUMBER = "4242 4242 4242 4242"


@pytest.fixture
def ada(whole_table: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A browser of ada, whose clock says NOW."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    yield signed_in(make_user("ada"))
    work()


def work() -> None:
    while run_next(now=NOW + HOUR):
        pass


def give_card(username: str = "ada", card: PaymentCard = CARD) -> None:
    order_record.save_card(username, card, job_id=new_ulid(NOW), now=NOW)


def pay(browser: Client, payment: payment_record.Payment, **more: str) -> Any:
    return browser.post(f"/account/payments/{payment.id}/pay/", {"due_at": iso(payment.due_at)} | more)


def said(browser: Client, answer: Any) -> str:
    return str(list(browser.get(answer["Location"]).context["messages"])[-1])


def now_is(payment: payment_record.Payment) -> payment_record.Payment:
    (found,) = payments.of_order(payment.account, [payment.ref])
    return found


class Hosted:
    """A gateway with a page of its own, as Stripe's."""

    name = "hosted"
    takes_card_numbers = False
    problem: Exception | None = None

    def begin_card(self, *, return_url: str, cancel_url: str, account: str) -> str:
        if self.problem:
            raise self.problem
        assert cancel_url.startswith("http://testserver/account/card/?next=")
        return f"https://pay.example/enter?account={account}&back={return_url}"

    def finish_card(self, parameters: Any, *, account: str) -> SavedCard:
        if self.problem:
            raise self.problem
        assert account == "ada"
        return SavedCard(f"token-{parameters['session_id']}", "Master ending in 1")


@pytest.fixture
def hosted(monkeypatch: pytest.MonkeyPatch) -> Hosted:
    gateway = Hosted()
    monkeypatch.setattr(choice, "current", lambda: gateway)
    return gateway


def test_a_test_card_is_entered_and_its_number_is_kept_nowhere(ada: Client, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    answer = ada.post("/account/card/begin/", {"next": "/checkout/"})
    assert answer["Location"] == "http://testserver/account/card/finish/?next=%2Fcheckout%2F"
    assert "Do not enter a real card." in ada.get(answer["Location"]).content.decode()
    answer = ada.post("/account/card/finish/", {"number": NUMBER, "next": "/checkout/"})
    assert answer["Location"] == "/checkout/"
    assert order_record.buyer("ada").card == PaymentCard("test", "test:approve", "Visa ending in 4242")
    assert "Visa ending in 4242" in ada.get("/account/card/").content.decode()
    work()
    assert not [line for line in caplog.messages if "4242424242424242" in line.replace(" ", "")]


@pytest.mark.parametrize("number", ["", "1", "5555 5555 5555 4444", "4242" * 8])
def test_another_number_is_refused(ada: Client, number: str):
    answer = ada.post("/account/card/finish/", {"number": number})
    assert answer.status_code == 422
    assert order_record.buyer("ada").card is None


@pytest.mark.parametrize("next_", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_a_card_leads_nowhere_else(ada: Client, next_: str):
    assert "evil" not in ada.post("/account/card/begin/", {"next": next_})["Location"]
    answer = ada.post("/account/card/finish/", {"number": NUMBER, "next": next_})
    assert answer["Location"] == "/account/card/"


def test_a_card_is_entered_at_a_gateway_with_a_page_of_its_own(ada: Client, hosted: Hosted):
    answer = ada.post("/account/card/begin/", {"next": "/checkout/"})
    assert answer["Location"].startswith(
        "https://pay.example/enter?account=ada&back=http://testserver/account/card"
    )
    answer = ada.get("/account/card/finish/?next=/checkout/&session_id=cs_1")
    assert answer["Location"] == "/checkout/"
    assert order_record.buyer("ada").card == PaymentCard("hosted", "token-cs_1", "Master ending in 1")


@pytest.mark.parametrize(
    ("problem", "text"),
    [(GatewayUnavailable(), my_payments.SILENT), (CardRefused("Not this one."), "Not this one.")],
)
def test_a_gateway_that_takes_no_card_says_why(ada: Client, hosted: Hosted, problem: Exception, text: str):
    hosted.problem = problem
    answer = ada.get("/account/card/finish/?next=/checkout/&session_id=cs_1")
    assert answer["Location"] == "/account/card/?next=%2Fcheckout%2F"
    assert said(ada, answer) == text
    if isinstance(problem, GatewayUnavailable):
        answer = ada.post("/account/card/begin/", {"next": "/checkout/"})
        assert answer["Location"] == "/account/card/?next=%2Fcheckout%2F"
    assert order_record.buyer("ada").card is None


def test_a_number_cannot_be_sent_to_a_gateway_with_a_page_of_its_own(ada: Client, hosted: Hosted):
    hosted.problem = CardRefused("Enter it there.")
    answer = ada.post("/account/card/finish/", {"number": NUMBER})
    assert answer["Location"].startswith("/account/card/")
    assert order_record.buyer("ada").card is None


def test_a_card_is_forgotten(ada: Client):
    give_card()
    ada.post("/account/card/forget/")
    assert order_record.buyer("ada").card is None
    assert ada.post("/account/card/forget/").status_code == 302


def test_a_new_card_pays_what_is_not_paid_yet(ada: Client):
    give_card()
    first, *rest = owe(3, account="ada", method="old")
    run(Ledger(), NOW)
    ada.post("/account/card/finish/", {"number": NUMBER})
    work()
    assert [now_is(payment).method for payment in (first, *rest)] == ["old", *["test:approve"] * 2]


def test_payments_stand_by_order_with_what_failed_first(ada: Client):
    give_card()
    owe(3, "90.00", account="ada", order_number=11)
    owe(1, "7.00", account="ada", method="declines", order_number=12)
    run(Ledger(), NOW)
    answer = ada.get("/account/payments/")
    assert_costs_as_declared(answer)
    context = answer.context
    assert [payment.amount for payment in context["failed"]] == [7]
    assert [[payment.number for payment in group.payments] for group in context["coming"]] == [[2, 3]]
    assert [[payment.number for payment in group.payments] for group in context["history"]] == [[1]]
    page = answer.content.decode()
    assert "Try again" in page
    assert "Visa ending in 4242 pays." in page


def test_what_was_lowered_or_refunded_stands_beside_what_is_charged(ada: Client):
    give_card()
    first, second, _ = owe(3, "90.00", account="ada")
    lower(first, "42.00", NOW)
    page = text(ada.get("/account/payments/"))
    assert "€18.00" in page
    assert "Lowered from €30.00" in page
    run(Ledger(), NOW)
    lower(first, "18.00", NOW)
    lower(first, "2.50", NOW)
    for address in ("/account/payments/", f"/account/orders/{first.order}/"):
        assert "€2.50 is on its way back" in text(ada.get(address))
    payment_of = now_is(first)
    charging.record_refund(payment_of, 0, now=NOW)
    for address in ("/account/payments/", f"/account/orders/{first.order}/"):
        page = text(ada.get(address))
        assert "€2.50 refunded" in page
        assert "on its way back" not in page
    assert "Paid: €27.50" in page
    assert now_is(second).status == CANCELLED


def text(answer: Any) -> str:
    return " ".join(answer.content.decode().split())


def test_a_message_about_a_payment_leads_to_all_of_them(ada: Client):
    (payment,) = owe(account="ada", method="declines")
    run(Ledger(), NOW)
    work()
    (message,) = messages.inbox("ada").rows
    page = ada.get(f"/account/messages/{message.id}/").content.decode()
    assert 'href="/account/payments/"' in page
    assert f'href="/account/orders/{payment.order}/"' in page


def test_nothing_to_pay_says_so(ada: Client):
    assert "will be here as soon as you order something." in ada.get("/account/payments/").content.decode()
    assert ada.get("/account/payments/?after=x").status_code == 400
    assert ada.get("/account/payments/?past=x").status_code == 400


def test_an_instalment_is_paid_early_from_the_present_card(ada: Client):
    _, second, _ = owe(3, account="ada", method="old")
    answer = pay(ada, second)
    assert said(ada, answer) == "Add a card first, then pay."
    assert answer["Location"] == "/account/card/?next=%2Faccount%2Fpayments%2F"
    give_card()
    assert said(ada, pay(ada, second)) == "Visa ending in 4242 is being charged. You get a message about it."
    found = now_is(second)
    assert (found.next_at, found.method) == (NOW, CARD.token)
    run(Ledger(), NOW)
    assert now_is(second).status == PROCESSED
    assert pay(ada, second).status_code == 302


def test_what_failed_is_tried_again_from_another_card(ada: Client):
    give_card()
    (payment,) = owe(account="ada", method="declines")
    run(Ledger(), NOW)
    assert now_is(payment).status == FAILED
    assert "is being charged" in said(ada, pay(ada, payment, again="yes"))
    run(Ledger(), NOW)
    assert now_is(payment).status == PROCESSED


def test_what_cannot_be_paid_says_why(ada: Client):
    give_card()
    (payment,) = owe(account="ada", method="declines")
    run(Ledger(), NOW)
    assert said(ada, pay(ada, payment)) == "This payment failed."


@pytest.mark.parametrize("due_at", ["", "x", "2026-11-21", iso(NOW - DAY), "2026-11-21T12:00:00Z"])
def test_a_payment_that_is_not_there_is_404(ada: Client, due_at: str):
    give_card()
    (payment,) = owe(account="ada")
    assert pay(ada, payment, due_at=due_at).status_code == 404
    assert ada.post("/account/payments/x/pay/", {"due_at": iso(payment.due_at)}).status_code == 404


@pytest.mark.parametrize("again", ["", "yes"])
def test_anothers_payment_is_404(ada: Client, again: str):
    give_card()
    (payment,) = owe(account="bob", method="old", first=NOW + DAY)
    assert pay(ada, payment, again=again).status_code == 404
    assert now_is(payment).method == "old"
    assert "€90.00" not in ada.get("/account/payments/").content.decode()


@pytest.mark.parametrize(
    "path",
    ["/account/card/begin/", "/account/card/finish/", "/account/card/forget/", "/account/payments/x/pay/"],
)
def test_what_changes_cards_and_payments_needs_its_token(ada: Client, path: str):
    browser = signed_in(users.get("ada"), enforce_csrf_checks=True)
    assert browser.post(path, {"number": NUMBER}).status_code == 403


@pytest.mark.parametrize(
    "path", ["/account/card/", "/account/card/finish/", "/account/payments/", "/account/payments/x/pay/"]
)
def test_a_visitor_is_led_to_sign_in(whole_table: None, client: Client, path: str):
    assert client.get(path)["Location"].startswith("/account/sign-in/")
