"""Stripe as the gateway, by its official library.

Cards are entered on Stripe's own page (Checkout in setup mode): neither card data nor scripts of others come to this
site. A token is the customer and payment method, "cus_...|pm_...".
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import stripe

from dealsite.gateways.interface import (
    CardRefused,
    ChargeDecline,
    ChargeResult,
    GatewayUnavailable,
    RefundResult,
    SavedCard,
)

TIMEOUT = (3.0, 20.0)  # seconds to connect and to answer: well within the lease of a claim
WITHOUT_CENTS = "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF UGX VND VUV XAF XOF XPF"
SESSION_ID = re.compile(r"cs_[A-Za-z0-9_]{1,200}")
NOT_TAKEN = ("failed", "canceled")  # statuses of a refund that did not go back
DECLINED = "Your card was declined."
UNDER_WAY = "Stripe is still processing this charge."
NOT_SAVED = "No card was saved. Please enter it again."


class _InTurn(stripe.RequestsClient):
    """Sends a request when it is its turn."""

    def __init__(self, take_turn: Callable[[], None]) -> None:
        super().__init__(timeout=TIMEOUT)
        self._take_turn = take_turn

    def request(self, *asked: Any, **more: Any) -> Any:
        self._take_turn()
        return super().request(*asked, **more)


class StripeGateway:
    """Charges saved cards by PaymentIntents, and refunds them."""

    name = "stripe"
    takes_card_numbers = False

    def __init__(self, secret_key: str, api_base: str, take_turn: Callable[[], None]) -> None:
        """Ask Stripe only after `take_turn`, before each request; what that raises passes through."""
        self.api = stripe.StripeClient(
            secret_key,
            base_addresses={"api": api_base.rstrip("/")},
            http_client=_InTurn(take_turn),
            max_network_retries=0,  # a runner asks again, when its lease is over
        ).v1

    def charge(
        self, method: str, amount: Decimal, currency: str, *, idempotency_key: str, description: str
    ) -> ChargeResult | ChargeDecline:
        """Charge a saved card, its owner not being there. GatewayUnavailable. 1 request, 2 if it takes its time."""
        customer, _, payment_method = method.partition("|")
        try:
            intent = self.api.payment_intents.create(
                {
                    "amount": _minor_units(amount, currency),
                    "currency": currency.lower(),
                    "customer": customer,
                    "payment_method": payment_method,
                    "confirm": True,
                    "off_session": True,
                    "description": description,
                    "metadata": {"key": idempotency_key},
                },
                {"idempotency_key": idempotency_key},
            )
            if intent.status == "processing":  # a repeated request is answered as the first one: ask anew
                intent = self.api.payment_intents.retrieve(intent.id)
        except stripe.CardError as error:
            return ChargeDecline(error.user_message or DECLINED)
        except stripe.InvalidRequestError as error:
            return _refused(error)
        except stripe.StripeError as error:
            raise _unavailable(error) from error
        if intent.status == "succeeded":
            return ChargeResult(intent.id)
        if intent.status == "processing":
            raise GatewayUnavailable(UNDER_WAY)
        return ChargeDecline(DECLINED)

    def find_charge(self, method: str, *, idempotency_key: str) -> ChargeResult | None:
        """Return the charge that was made under a key for the card's owner. GatewayUnavailable. 1 request a page."""
        customer = method.partition("|")[0]
        try:
            intents = self.api.payment_intents.list({"customer": customer, "limit": 100})
            for intent in intents.auto_paging_iter():
                if _key_of(intent) != idempotency_key:
                    continue
                if intent.status == "processing":
                    raise GatewayUnavailable(UNDER_WAY)
                if intent.status == "succeeded":
                    return ChargeResult(intent.id)
        except stripe.InvalidRequestError:
            return None  # there is no such customer
        except stripe.StripeError as error:
            raise _unavailable(error) from error
        return None

    def refund(
        self, transaction_id: str, amount: Decimal, currency: str, *, idempotency_key: str
    ) -> RefundResult | ChargeDecline:
        """Give a charge back, or part of it. GatewayUnavailable. 2 requests, the first of them one a page.

        A key is forgotten after a day, and the same part must not go back twice: so it is looked up.
        """
        try:
            earlier = self.api.refunds.list({"payment_intent": transaction_id, "limit": 100})
            for made in earlier.auto_paging_iter():
                if _key_of(made) == idempotency_key and made.status not in NOT_TAKEN:
                    return RefundResult(made.id)
            made = self.api.refunds.create(
                {
                    "payment_intent": transaction_id,
                    "amount": _minor_units(amount, currency),
                    "metadata": {"key": idempotency_key},
                },
                {"idempotency_key": idempotency_key},
            )
        except stripe.InvalidRequestError as error:
            if error.code == "charge_already_refunded":  # all of it, by somebody at Stripe
                return RefundResult(transaction_id)
            return _refused(error)
        except stripe.StripeError as error:
            raise _unavailable(error) from error
        if made.status in NOT_TAKEN:
            return ChargeDecline("The bank did not take the money back.")
        return RefundResult(made.id)

    def begin_card(self, *, return_url: str, cancel_url: str, account: str) -> str:
        """Return the address of Stripe's page for a card, which leads back. GatewayUnavailable. 1 request."""
        joint = "&" if "?" in return_url else "?"
        parameters: Any = {
            "mode": "setup",
            "payment_method_types": ["card"],
            "customer_creation": "always",
            "client_reference_id": account,
            "success_url": f"{return_url}{joint}session_id={{CHECKOUT_SESSION_ID}}",
            "cancel_url": cancel_url,
        }
        try:
            session = self.api.checkout.sessions.create(parameters)
        except stripe.StripeError as error:
            raise _unavailable(error) from error
        if not session.url:
            raise GatewayUnavailable("Stripe named no page for the card.")
        return session.url

    def finish_card(self, parameters: Mapping[str, str], *, account: str) -> SavedCard:
        """Return the card that was entered on Stripe's page for this account. CardRefused, GatewayUnavailable."""
        session_id = parameters.get("session_id", "")
        if not SESSION_ID.fullmatch(session_id):
            raise CardRefused(NOT_SAVED)
        try:
            session: Any = self.api.checkout.sessions.retrieve(
                session_id, {"expand": ["setup_intent.payment_method"]}
            )
        except stripe.InvalidRequestError:
            raise CardRefused(NOT_SAVED) from None
        except stripe.StripeError as error:
            raise _unavailable(error) from error
        method = session.setup_intent.payment_method if session.setup_intent else None
        if session.client_reference_id != account or session.status != "complete" or method is None:
            raise CardRefused(NOT_SAVED)
        brand = str(method.card.brand).replace("_", " ").title()
        return SavedCard(f"{session.customer}|{method.id}", f"{brand} ending in {method.card.last4}")


def _minor_units(amount: Decimal, currency: str) -> int:
    return int(amount if currency.upper() in WITHOUT_CENTS.split() else amount * 100)


def _unavailable(error: stripe.StripeError) -> GatewayUnavailable:
    """Return what a failure without a definite outcome is to the site; a wrong key or a bug of ours is no decline."""
    return GatewayUnavailable(f"Stripe: {type(error).__name__}")


def _refused(error: stripe.InvalidRequestError) -> ChargeDecline:
    """Return a definite refusal as a sentence for people: Stripe's own may name objects that mean nothing to them."""
    if error.http_status in (409, 429):  # somebody else is at it: no outcome yet
        raise _unavailable(error) from error
    code = error.code or "invalid request"
    return ChargeDecline(f"The payment provider could not take this payment ({code}).")


def _key_of(made: stripe.PaymentIntent | stripe.Refund) -> str:
    metadata: Any = made.metadata
    return str(metadata["key"]) if metadata and "key" in metadata else ""
