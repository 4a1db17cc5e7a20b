"""Stripe's library against a stand-in of its API: what is charged, declined, refunded; and no answer."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dealsite.gateways import stripe_api
from dealsite.gateways.interface import (
    CardRefused,
    ChargeDecline,
    ChargeResult,
    GatewayUnavailable,
    RefundResult,
    SavedCard,
)
from tests.gateways.stripe_stand_in import StripeStandIn

CARD, DECLINED_CARD = "cus_1|pm_card", "cus_1|pm_declined"


@pytest.fixture
def stripe():
    with StripeStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def gateway(stripe):
    return stripe_api.StripeGateway("sk_test_x", stripe.url, lambda: None)


def charge(gateway, method=CARD, key="P-0", amount="33.34", currency="EUR"):
    return gateway.charge(method, Decimal(amount), currency, idempotency_key=key, description="Order 1")


def test_a_card_is_charged_in_cents_without_its_owner(stripe, gateway):
    assert charge(gateway) == ChargeResult("pi_0")
    ((_, path, sent),) = stripe.requests
    assert path == "/v1/payment_intents"
    assert sent == {
        "amount": "3334",
        "currency": "eur",
        "customer": "cus_1",
        "payment_method": "pm_card",
        "confirm": "true",
        "off_session": "true",
        "description": "Order 1",
        "metadata[key]": "P-0",
    }


def test_a_currency_without_cents_is_charged_whole(stripe, gateway):
    charge(gateway, amount="500.00", currency="JPY")
    assert stripe.requests[0][2]["amount"] == "500"


def test_the_same_key_charges_once(stripe, gateway):
    assert [charge(gateway), charge(gateway)] == [ChargeResult("pi_0")] * 2
    assert len(stripe.intents) == 1
    assert charge(gateway, key="P-1") == ChargeResult("pi_1")


def test_a_declined_card_is_declined_in_stripes_words_and_stays_so_under_its_key(gateway):
    declined = ChargeDecline("Your card was declined.")
    assert [charge(gateway, DECLINED_CARD), charge(gateway, DECLINED_CARD)] == [declined] * 2


def test_a_customer_that_is_gone_is_a_decline_without_stripes_names(gateway):
    found = charge(gateway, "cus_gone|pm_card")
    assert found == ChargeDecline("The payment provider could not take this payment (resource_missing).")


@pytest.mark.parametrize("status", [409, 429, 500, 503])
def test_what_says_nothing_about_the_outcome_is_no_answer(status, stripe, gateway):
    stripe.broken.append(status)
    with pytest.raises(GatewayUnavailable):
        charge(gateway)
    assert charge(gateway) == ChargeResult("pi_0")


def test_a_wrong_secret_key_is_no_decline(stripe):
    with pytest.raises(GatewayUnavailable):
        charge(stripe_api.StripeGateway("sk_wrong", stripe.url, lambda: None))


def test_the_same_key_for_another_amount_is_no_decline(gateway):
    charge(gateway)
    with pytest.raises(GatewayUnavailable):
        charge(gateway, amount="1.00")


def test_an_answer_that_is_too_late_is_asked_for_again_and_charges_once(stripe, monkeypatch):
    monkeypatch.setattr(stripe_api, "TIMEOUT", (1.0, 0.2))
    hasty = stripe_api.StripeGateway("sk_test_x", stripe.url, lambda: None)
    stripe.slow.append(0.6)
    with pytest.raises(GatewayUnavailable):
        charge(hasty)
    assert charge(hasty) == ChargeResult("pi_0")
    assert len(stripe.intents) == 1


def test_a_gateway_that_cannot_be_reached_is_no_answer():
    with pytest.raises(GatewayUnavailable):
        charge(stripe_api.StripeGateway("sk_test_x", "http://127.0.0.1:9", lambda: None))


def test_a_charge_still_under_way_is_asked_for_anew(stripe, gateway):
    stripe.processing = 1
    assert charge(gateway) == ChargeResult("pi_0")
    assert [path for _, path, _ in stripe.requests] == ["/v1/payment_intents", "/v1/payment_intents/pi_0"]


def test_a_charge_is_found_by_its_key_on_whatever_page(gateway):
    for number in range(5):
        charge(gateway, key=f"P-{number}")
    charge(gateway, DECLINED_CARD, key="Q-0")
    assert gateway.find_charge(CARD, idempotency_key="P-1") == ChargeResult("pi_1")
    assert gateway.find_charge(CARD, idempotency_key="Q-0") is None
    assert gateway.find_charge(CARD, idempotency_key="P-9") is None


def test_whether_a_charge_that_is_still_under_way_was_made_is_not_known(stripe, gateway):
    charge(gateway, key="P-1")
    stripe.intents["pi_0"]["status"] = "processing"
    with pytest.raises(GatewayUnavailable):
        gateway.find_charge(CARD, idempotency_key="P-1")


def test_a_charge_is_refunded_once(stripe, gateway):
    charge(gateway)
    back = [
        gateway.refund("pi_0", Decimal("33.34"), "EUR", idempotency_key=key) for key in ("r", "r", "other")
    ]
    assert back == [RefundResult("re_0_pi_0"), RefundResult("re_0_pi_0"), RefundResult("pi_0")]
    assert [made["amount"] for made in stripe.refunds["pi_0"]] == [3334]
    assert isinstance(gateway.refund("pi_9", Decimal("1.00"), "EUR", idempotency_key="s"), ChargeDecline)
    stripe.broken.append(500)
    with pytest.raises(GatewayUnavailable):
        gateway.refund("pi_0", Decimal("1.00"), "EUR", idempotency_key="t")


def test_parts_of_a_charge_are_refunded_once_each_even_when_keys_are_forgotten(stripe, gateway):
    charge(gateway)
    for _ in range(2):
        for key, amount in (("r", "3.34"), ("r-2", "10.00")):
            gateway.refund("pi_0", Decimal(amount), "EUR", idempotency_key=key)
        stripe.kept.clear()
    assert [made["amount"] for made in stripe.refunds["pi_0"]] == [334, 1000]
    assert isinstance(gateway.refund("pi_0", Decimal("20.01"), "EUR", idempotency_key="r-3"), ChargeDecline)
    assert gateway.refund("pi_0", Decimal("20.00"), "EUR", idempotency_key="r-4") == RefundResult("re_2_pi_0")


def begin(gateway, account="ann"):
    return gateway.begin_card(
        return_url="https://shop.example/card/?plan=3", cancel_url="https://shop.example/", account=account
    )


def test_a_card_is_entered_on_stripes_page_and_comes_back_as_a_token(stripe, gateway):
    assert begin(gateway) == f"{stripe.url}/pay/cs_test_0"
    sent = stripe.requests[0][2]
    assert sent["mode"] == "setup"
    assert sent["success_url"] == "https://shop.example/card/?plan=3&session_id={CHECKOUT_SESSION_ID}"
    stripe.enter_card("cs_test_0")
    card = gateway.finish_card({"session_id": "cs_test_0"}, account="ann")
    assert card == SavedCard("cus_1|pm_card", "American Express ending in 0005")
    assert charge(gateway, card.token) == ChargeResult("pi_0")


def test_another_ones_card_and_a_card_not_entered_are_refused(stripe, gateway):
    begin(gateway)
    with pytest.raises(CardRefused):
        gateway.finish_card({"session_id": "cs_test_0"}, account="ann")
    stripe.enter_card("cs_test_0")
    with pytest.raises(CardRefused):
        gateway.finish_card({"session_id": "cs_test_0"}, account="mallory")


@pytest.mark.parametrize("session_id", ["", "cs_test_9", "../payment_intents", "cs_x?expand=1"])
def test_a_made_up_session_is_refused(session_id, gateway):
    with pytest.raises(CardRefused):
        gateway.finish_card({"session_id": session_id}, account="ann")
