"""A gateway for tests that keeps book: what was asked, what moved, and under which key."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from decimal import Decimal

from dealsite.gateways.interface import (
    ChargeDecline,
    ChargeResult,
    GatewayUnavailable,
    RefundResult,
    SavedCard,
)


class Ledger:
    """Honours idempotency keys; a charge costs money each time it is made, so that a second one shows.

    `script` holds what happens to further charges, in turn: "decline", "lost" (made, the answer lost) or "silent"
    (not made, no answer). `during` is called while a charge is under way.
    """

    name = "ledger"
    takes_card_numbers = False

    def __init__(self, *script: str) -> None:
        self.script = list(script)
        self.kept: dict[str, ChargeResult | ChargeDecline] = {}
        self.charged: Counter[str] = Counter()  # by payment: the key's first part
        self.refunded: Counter[str] = Counter()  # by transaction id
        self.held: defaultdict[str, Decimal] = defaultdict(
            Decimal
        )  # what came and did not go back, by payment
        self.asked: list[str] = []
        self.lock = threading.Lock()
        self.during: Callable[[], object] = lambda: None

    def charge(
        self, method: str, amount: Decimal, currency: str, *, idempotency_key: str, description: str
    ) -> ChargeResult | ChargeDecline:
        with self.lock:
            self.asked.append(idempotency_key)
            if idempotency_key in self.kept:
                return self.kept[idempotency_key]
            what = self.script.pop(0) if self.script else ""
            if what == "silent":
                raise GatewayUnavailable("No answer.")
            payment = idempotency_key.partition("-")[0]
            outcome: ChargeResult | ChargeDecline = ChargeResult(f"txn-{idempotency_key}")
            if what == "decline" or method == "declines":
                outcome = ChargeDecline("Your card was declined.")
            else:
                self.charged[payment] += 1
                self.held[payment] += amount
            self.kept[idempotency_key] = outcome
        self.during()
        if what == "lost":
            raise GatewayUnavailable("The answer was lost.")
        return outcome

    def find_charge(self, method: str, *, idempotency_key: str) -> ChargeResult | None:
        found = self.kept.get(idempotency_key)
        return found if isinstance(found, ChargeResult) else None

    def refund(
        self, transaction_id: str, amount: Decimal, currency: str, *, idempotency_key: str
    ) -> RefundResult | ChargeDecline:
        with self.lock:
            if idempotency_key not in self.kept:
                self.kept[idempotency_key] = ChargeResult(idempotency_key)
                self.refunded[transaction_id] += 1
                self.held[idempotency_key.partition("-")[0]] -= amount
        return RefundResult(f"back-{idempotency_key}")

    def begin_card(self, *, return_url: str, cancel_url: str, account: str) -> str:
        raise NotImplementedError

    def finish_card(self, parameters: Mapping[str, str], *, account: str) -> SavedCard:
        raise NotImplementedError
