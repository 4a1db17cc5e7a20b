"""What moves the money: what the site asks of a payment gateway, and what it gets for an answer.

A charge or refund has one outcome for each idempotency key: asked again under the same key, a gateway does nothing and
answers as it did. No answer (GatewayUnavailable) says nothing about the outcome: ask again under the same key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol


class GatewayUnavailable(Exception):
    """The gateway gave no answer that counts: whether money moved is not known."""


class CardRefused(Exception):
    """A card could not be saved; the sentence is for its owner."""


@dataclass(frozen=True, slots=True)
class ChargeResult:
    """The money is ours."""

    transaction_id: str


@dataclass(frozen=True, slots=True)
class RefundResult:
    """The money is on its way back."""

    refund_id: str


@dataclass(frozen=True, slots=True)
class ChargeDecline:
    """No money moved; `reason` is a sentence for people."""

    reason: str


@dataclass(frozen=True, slots=True)
class SavedCard:
    """A card as the site keeps it: a token that only the gateway understands, a label as "Visa ending in 4242"."""

    token: str
    label: str


class Gateway(Protocol):
    """A payment gateway; amounts with cents in a currency such as "EUR"."""

    name: str
    takes_card_numbers: bool  # our own page asks for the number: the test gateway only

    def charge(
        self, method: str, amount: Decimal, currency: str, *, idempotency_key: str, description: str
    ) -> ChargeResult | ChargeDecline:
        """Charge a saved card, its owner not being there. GatewayUnavailable. 1 request."""

    def find_charge(self, method: str, *, idempotency_key: str) -> ChargeResult | None:
        """Return the charge that was made under a key, however long ago; None if there is none. GatewayUnavailable."""

    def refund(
        self, transaction_id: str, amount: Decimal, currency: str, *, idempotency_key: str
    ) -> RefundResult | ChargeDecline:
        """Give a charge back, or part of it. GatewayUnavailable. Up to 2 requests."""

    def begin_card(self, *, return_url: str, cancel_url: str, account: str) -> str:
        """Return the address of the page where an account's owner enters a card. GatewayUnavailable."""

    def finish_card(self, parameters: Mapping[str, str], *, account: str) -> SavedCard:
        """Return the card that was entered, from the parameters of `return_url`. CardRefused, GatewayUnavailable."""
