"""The built-in gateway does what a card's number says, once for each key, whichever process asks."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.core.exceptions import ImproperlyConfigured

from dealsite.data import keys, table
from dealsite.data.entities.operations import TEST_CHARGE
from dealsite.gateways import choice, testing
from dealsite.gateways.interface import (
    CardRefused,
    ChargeDecline,
    ChargeResult,
    GatewayUnavailable,
    RefundResult,
)
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")


def card(number):
    return testing.TestGateway().finish_card({"number": number}, account="ann")


def charge(token, key="P-0"):
    gateway = testing.TestGateway()  # a new one each time, as in another process
    return gateway.charge(token, Decimal("9.50"), "EUR", idempotency_key=key, description="x")


def test_a_good_card_is_charged_once_for_each_key():
    saved = card("4242 4242 4242 4242")
    assert saved.label == "Visa ending in 4242"
    assert "4242" not in saved.token
    first, again, other = charge(saved.token), charge(saved.token), charge(saved.token, "P-1")
    assert isinstance(first, ChargeResult)
    assert first == again
    assert first != other
    found = testing.TestGateway().find_charge(saved.token, idempotency_key="P-1")
    assert found == other
    assert testing.TestGateway().find_charge(saved.token, idempotency_key="P-2") is None


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        ("4000 0000 0000 0002", "Your card was declined."),
        ("4000-0000-0000-9995", "Your card has insufficient funds."),
    ],
)
def test_bad_cards_are_declined(number, reason):
    saved = card(number)
    assert charge(saved.token) == charge(saved.token) == ChargeDecline(reason)
    assert testing.TestGateway().find_charge(saved.token, idempotency_key="P-0") is None


def test_a_card_that_times_out_once_was_charged_once():
    token = card("4000 0000 0000 0119").token
    with pytest.raises(GatewayUnavailable):
        charge(token)
    assert isinstance(charge(token), ChargeResult)
    charges = [item for item in table.scan_all(consistent=True) if item["type"] == "TestCharge"]
    assert len(charges) == 1


def test_a_late_card_answers_after_a_while(monkeypatch):
    waited: list[float] = []
    monkeypatch.setattr(testing, "pause", waited.append)
    assert isinstance(charge(card("4000 0000 0000 0226").token), ChargeResult)
    assert waited == [testing.LATE_SECONDS]


def test_two_processes_at_once_get_one_charge():
    token = card("4242 4242 4242 4242").token
    outcomes = at_once(*[lambda: charge(token)] * 4)
    assert len(set(outcomes)) == 1


def test_a_charge_is_refunded_under_its_key():
    gateway = testing.TestGateway()
    charged = charge(card("4242424242424242").token)
    back = [
        gateway.refund(charged.transaction_id, Decimal("9.50"), "EUR", idempotency_key="r-refund")
        for _ in range(2)
    ]
    assert back[0] == back[1]
    assert isinstance(back[0], RefundResult)
    assert table.get(keys.test_charge("r-refund"))["amount"] == Decimal("-9.5")
    gateway.refund(charged.transaction_id, Decimal("1.50"), "EUR", idempotency_key="r-refund-2")
    part = table.get(keys.test_charge("r-refund-2"))
    assert part["amount"] == Decimal("-1.5")
    assert list(TEST_CHARGE.problems(part)) == []


@pytest.mark.parametrize("number", ["", "4111 1111 1111 1111", "no number"])
def test_other_cards_are_refused(number):
    with pytest.raises(CardRefused):
        card(number)


@pytest.mark.parametrize("token", ["", "cus_1|pm_1", "test:nonsense"])
def test_a_token_of_elsewhere_is_declined(token):
    assert charge(token) == ChargeDecline("Your card was declined.")


def test_the_settings_choose_the_gateway(settings):
    assert choice.current().name == "test"
    settings.DEALSITE_GATEWAY = "stripe"
    with pytest.raises(ImproperlyConfigured, match="STRIPE_SECRET_KEY"):
        choice.current()
    settings.STRIPE_SECRET_KEY = "sk_test_x"
    assert choice.current().name == "stripe"
    settings.DEALSITE_GATEWAY = "cash"
    with pytest.raises(ImproperlyConfigured, match="test or stripe"):
        choice.current()
