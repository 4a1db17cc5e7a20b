"""What payments, their totals and loads may hold, and that reading and writing them loses nothing."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dealsite.data.commerce.payment_record import payment_from_item, payment_item
from tests.builders import NOW, make_id
from tests.data.entities.examples_payments import BACK, EXAMPLES, OTHERWISE
from tests.data.entities.sound import assert_is_sound, problems_with

SOUND = [*EXAMPLES.values(), *OTHERWISE.values()]


@pytest.mark.parametrize("item", SOUND, ids=lambda one: f"{one['type']} {one.get('status', '')}")
def test_an_example_is_sound(item):
    assert_is_sound(item)


@pytest.mark.parametrize(
    ("item", "changes", "said"),
    [
        (EXAMPLES["Payment"], {"amount": -5}, "amount is '-5'"),
        (EXAMPLES["Payment"], {"amount": 0}, "amount is '0'"),
        (EXAMPLES["Payment"], {"card.amount": -5}, "card amount is '-5'"),
        (EXAMPLES["Payment"], {"status": "LOST"}, "status is 'LOST'"),
        (EXAMPLES["Payment"], {"version": 0}, "version is '0'"),
        (EXAMPLES["Payment"], {"due_at": "9999-01-01T00:00:00.000Z"}, "due_at is '9999"),
        (
            EXAMPLES["Payment"],
            {"transaction_id": None},
            "It is REFUNDED, and not all is there of a transaction.",
        ),
        (EXAMPLES["Payment"], {"number": 4}, "It is number 4 of 3."),
        (OTHERWISE["SCHEDULED"], {"processed_at": "2026-11-20T12:00:00.000Z"}, "of a transaction."),
        (OTHERWISE["SCHEDULED"], {"closed": True}, "It is SCHEDULED, and its day is closed."),
        (OTHERWISE["PENDING"], {"final": True}, "It is PENDING, and given up."),
        (OTHERWISE["SCHEDULED"], {"of": 3}, "It is an instalment of no order."),
        (OTHERWISE["SCHEDULED"], {"order": make_id(NOW, 7)}, "It is of an order and of a load."),
        (
            OTHERWISE["FAILED"],
            {"status": "CANCELLED", "final": None},
            "It is CANCELLED, and its timeline is not.",
        ),
        (OTHERWISE["FAILED"], {"card.at": "2026-11-21T12:00:00.000Z"}, "another time than its last step's"),
        (EXAMPLES["Payment"], {"refunds": None}, "It is REFUNDED, and nobody asked for it."),
        (EXAMPLES["Payment"], {"amount": 13}, "It is REFUNDED, and 10 of 10.5 is refunded."),
        (EXAMPLES["Payment"], {"amount": 12}, "More is to be refunded than was charged."),
        (EXAMPLES["Payment"], {"cut": Decimal("12.5")}, "Nothing is left of it to be charged."),
        (EXAMPLES["Payment"], {"card.refunded": 9}, "another amount that was cut or refunded"),
        (OTHERWISE["FAILED"], {"refunds": BACK}, "It is FAILED, and is to be refunded."),
        (OTHERWISE["PENDING"], {"series_at": None}, "It is PENDING, and nothing says since when."),
        (OTHERWISE["PENDING"], {"claimed_by": None}, "It is PENDING, and no runner has claimed it."),
        (EXAMPLES["PaymentTotals"], {"failed": -1}, "failed is '-1'"),
        (EXAMPLES["PaymentTotals"], {"refunded_amount": -1}, "refunded_amount is '-1'"),
        (EXAMPLES["PaymentLoadSegment"], {"version": 0}, "version is '0'"),
        (EXAMPLES["PaymentLoadSegment"], {"pending": {"2026": {}}}, "pending has a name that is '2026'"),
        (EXAMPLES["PaymentLoad"], {"segments": 17}, "segments is '17'"),
    ],
)
def test_what_an_item_may_not_be_is_said(item, changes, said):
    found = problems_with(item, changes)
    assert [one for one in found if said in one], found


def test_what_is_open_may_be_counted_late():
    assert problems_with(EXAMPLES["PaymentTotals"], {"open": -1, "open_amount": -5}) == []


@pytest.mark.parametrize("item", [EXAMPLES["Payment"], *OTHERWISE.values()], ids=lambda one: one["status"])
def test_reading_and_storing_lose_nothing(item):
    assert payment_item(payment_from_item(item)) == item
