"""The built-in gateway, which moves no money: what a card does is told by its number.

It keeps its charges on the site's table, so that every process of every machine knows them, and honours idempotency
keys as a real one does. Card numbers are not stored: a token says how the card behaves.
"""

import time
from collections.abc import Callable, Mapping
from decimal import Decimal

from dealsite.data import keys, table
from dealsite.data.entities.operations import TEST_CHARGE
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Unavailable
from dealsite.data.table.ids import hash_of
from dealsite.data.table.writes import Put, absent
from dealsite.gateways.interface import (
    CardRefused,
    ChargeDecline,
    ChargeResult,
    GatewayUnavailable,
    RefundResult,
    SavedCard,
)

LATE_SECONDS = 70.0  # longer than the lease of a claim
BEHAVIOURS = {
    "4242424242424242": "approve",
    "4000000000000002": "decline",
    "4000000000009995": "insufficient_funds",
    "4000000000000119": "time_out_once",
    "4000000000000226": "answer_late",
}
REASONS = {"decline": "Your card was declined.", "insufficient_funds": "Your card has insufficient funds."}
pause: Callable[[float], None] = time.sleep  # replaced in tests


class TestGateway:
    """Approves, declines, times out and answers late."""

    __test__ = False  # pytest takes what is called Test... for tests
    name = "test"
    takes_card_numbers = True

    def charge(
        self, method: str, amount: Decimal, currency: str, *, idempotency_key: str, description: str
    ) -> ChargeResult | ChargeDecline:
        """Charge a card as its token says; the first answer under a key is the last word. 1 put, 1 get if repeated."""
        behaviour = _behaviour(method)
        reason = REASONS.get(behaviour, "")
        stored: Item = {
            "id": idempotency_key,
            "amount": amount,
            "currency": currency,
            "description": description,
        }
        stored |= {
            "transaction_id": "" if reason else f"test_{hash_of(idempotency_key)[:24]}",
            "reason": reason,
        }
        kept = _keep(stored)
        if kept is not None:
            return _outcome(kept)
        if behaviour == "time_out_once":
            raise GatewayUnavailable("The test gateway timed out.")
        if behaviour == "answer_late":
            pause(LATE_SECONDS)
        return _outcome(stored)

    def find_charge(self, method: str, *, idempotency_key: str) -> ChargeResult | None:
        """Return the charge that was made under a key. 1 get."""
        kept = _get(idempotency_key)
        return ChargeResult(kept["transaction_id"]) if kept and kept["transaction_id"] else None

    def refund(
        self, transaction_id: str, amount: Decimal, currency: str, *, idempotency_key: str
    ) -> RefundResult | ChargeDecline:
        """Give a charge back, or part of it, once. 1 put."""
        stored: Item = {
            "id": idempotency_key,
            "amount": -amount,
            "currency": currency,
            "description": transaction_id,
        }
        _keep(stored | {"transaction_id": "", "reason": ""})
        return RefundResult(f"refund_{hash_of(idempotency_key)[:24]}")

    def begin_card(self, *, return_url: str, cancel_url: str, account: str) -> str:
        """Return where the card number is asked for: the page that goes on, on which the site asks for it itself."""
        return return_url

    def finish_card(self, parameters: Mapping[str, str], *, account: str) -> SavedCard:
        """Return the token and label of a test card's number."""
        number = "".join(c for c in parameters.get("number", "") if c.isdigit())
        behaviour = BEHAVIOURS.get(number)
        if behaviour is None:
            raise CardRefused("This is no test card. Take 4242 4242 4242 4242.")
        return SavedCard(f"test:{behaviour}", f"Visa ending in {number[-4:]}")


def _behaviour(method: str) -> str:
    kind, _, behaviour = method.partition(":")
    return behaviour if kind == "test" and behaviour in BEHAVIOURS.values() else "decline"


def _outcome(stored: Item) -> ChargeResult | ChargeDecline:
    transaction_id = stored["transaction_id"]
    return ChargeResult(transaction_id) if transaction_id else ChargeDecline(stored["reason"])


def _keep(stored: Item) -> Item | None:
    """Store a charge under its key, or return the one that is there."""
    key = keys.test_charge(stored["id"])
    try:
        table.write(Put(key=key, item=TEST_CHARGE.item(stored), when=(absent(),), otherwise=AlreadyExists()))
    except AlreadyExists:
        return _get(stored["id"])
    except Unavailable as error:
        raise GatewayUnavailable(str(error)) from error
    return None


def _get(idempotency_key: str) -> Item | None:
    try:
        return table.get(keys.test_charge(idempotency_key))
    except Unavailable as error:
        raise GatewayUnavailable(str(error)) from error
