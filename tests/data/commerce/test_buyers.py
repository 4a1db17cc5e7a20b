"""What is kept for a user's next order: an address, and a card, which also pays what is still unpaid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from dealsite.data.commerce import (
    addresses,
    charging as running,
    order_record,
    orders,
    payment_record,
    payments,
)
from dealsite.data.commerce.addresses import Address
from dealsite.data.commerce.order_record import Buyer, PaymentCard
from dealsite.data.jobs import jobs
from dealsite.data.people import profiles
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import new_ulid
from dealsite.gateways.interface import ChargeDecline
from dealsite.gateways.testing import TestGateway
from tests.builders import NOW, make_id
from tests.measuring import measured
from tests.orders import ADDRESS
from tests.payments import owe
from tests.people import make_user

pytestmark = pytest.mark.usefixtures("whole_table")
CARD = PaymentCard("test", "test:approve", "Visa ending in 4242")
OTHER = replace(CARD, token="test:decline", label="Visa ending in 0002")


def save(card: PaymentCard = CARD) -> jobs.Job:
    """Save ann's card and return the job that follows."""
    job_id = make_id(NOW)
    order_record.save_card("ann", card, job_id=job_id, now=NOW)
    return jobs.get(job_id)


def methods(some: list[payment_record.Payment]) -> list[str]:
    return [found.method for found in payments.of_order("ann", [payment.ref for payment in some])]


def test_a_new_user_has_neither_address_nor_card():
    make_user("ann")
    assert order_record.buyer("ann") == order_record.buyer("nobody") == Buyer(Address(), None)


def test_an_address_is_kept_whole_or_not_and_leaves_the_profile_alone():
    make_user("ann")
    before = profiles.get("ann")
    measured(addresses.keep_typed)(
        "ann", replace(ADDRESS, street="  1   High Street ", city="", name="x" * 500), None, 3
    )
    assert order_record.buyer("ann").plan == 3
    kept = measured(order_record.buyer)("ann").address
    assert (kept.street, kept.city, kept.name) == ("1 High Street", "", "x" * 120)
    assert profiles.get("ann") == before
    assert orders.account_page("ann")[1].address == kept


def test_a_card_takes_the_place_of_another_and_is_forgotten():
    make_user("ann")
    for card in (CARD, OTHER):
        save(card)
        assert order_record.buyer("ann").card == card
    for _ in range(2):
        measured(order_record.forget_card)("ann", job_id=new_ulid(NOW), now=NOW)
        assert order_record.buyer("ann").card is None


def test_a_removed_card_pays_nothing_that_is_open_and_jobs_of_cards_may_run_in_any_order():
    make_user("ann")
    (payment,) = owe(order_number=1, method=CARD.token)
    assert measured(order_record.has_no_card)("ann")
    assert order_record.has_no_card("nobody")
    declined = running.charge(payment, TestGateway(), currency="EUR", now=NOW)
    assert declined == ChargeDecline("No card is on file for this payment.")
    saving = save()
    assert not order_record.has_no_card("ann")
    removing = new_ulid(NOW)
    order_record.forget_card("ann", job_id=removing, now=NOW)
    for job in (jobs.get(removing), saving):
        order_record.use_card(job, NOW)
        assert methods([payment]) == [""]


def test_who_is_not_there_keeps_nothing():
    with pytest.raises(NotFound):
        addresses.keep_typed("ann", ADDRESS, None, 1)
    with pytest.raises(NotFound):
        order_record.save_card("ann", CARD, job_id=make_id(NOW), now=NOW)
    with pytest.raises(NotFound):
        order_record.forget_card("ann", job_id=new_ulid(NOW), now=NOW)


def test_a_new_card_is_given_to_all_that_is_not_paid_however_many():
    make_user("ann")
    made = [payment for n in range(3) for payment in owe(12, "120.00", order_number=n + 1, method="old")]
    job = save()
    order_record.use_card(job, NOW)
    assert methods(made) == [CARD.token] * 36
    again = payments.of_order("ann", [payment.ref for payment in made])
    order_record.use_card(job, NOW + timedelta(minutes=1))
    assert payments.of_order("ann", [payment.ref for payment in made]) == again


def test_what_is_being_charged_or_cancelled_keeps_its_card(wait_for_indexes: Callable[[], None]):
    make_user("ann")
    (charging,) = owe(order_number=1, method="old")
    (off,) = owe(order_number=2, method="old")
    wait_for_indexes()
    (row, *_) = [row for row in running.due(now=NOW) if row["card"]["id"] == charging.id]
    assert running.claim(row, now=NOW)
    measured(payments.cancel)("ann", off.due_at, off.id, reason="x", by="kim", now=NOW)
    order_record.use_card(save(), NOW)
    assert methods([charging, off]) == ["old", "old"]


def test_a_new_card_is_given_to_an_open_payment(wait_for_indexes: Callable[[], None]):
    make_user("ann")
    made = owe(order_number=1, method="old")
    wait_for_indexes()
    job_id = make_id(NOW)
    measured(order_record.save_card)("ann", CARD, job_id=job_id, now=NOW)
    measured(order_record.use_card)(jobs.get(job_id), NOW)
    assert methods(made) == [CARD.token]
