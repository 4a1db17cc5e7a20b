"""The addresses that a shopper keeps for other orders, and where a bill goes."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial

import pytest

from dealsite.data.commerce import addresses, order_record, orders
from dealsite.data.commerce.addresses import Address
from dealsite.data.entities.commerce import MOST_ADDRESSES
from dealsite.data.people import profiles
from dealsite.data.table import errors
from tests.measuring import measured
from tests.orders import ADDRESS as LONDON
from tests.people import make_user
from tests.races import again, at_once, errors_of
from tests.shop import ADDRESS as BERLIN, buy, make_deals, purchase

pytestmark = pytest.mark.usefixtures("whole_table")
HONG_KONG = Address("Ann", "88 Des Voeux Road", city="Central", country="HK")


@pytest.fixture(autouse=True)
def _ann(whole_table: None) -> None:
    make_user("ann")


def kept() -> list[Address]:
    return list(order_record.buyer("ann").addresses)


def test_addresses_are_kept_the_one_used_last_first():
    before = profiles.get("ann")
    assert kept() == []
    measured(addresses.keep)("ann", BERLIN)
    addresses.keep("ann", LONDON)
    assert kept() == [LONDON, BERLIN]
    addresses.keep("ann", LONDON)
    assert kept() == [LONDON, BERLIN]
    addresses.keep("ann", BERLIN)
    assert kept() == [BERLIN, LONDON]
    assert profiles.get("ann") == before


def test_one_is_changed_in_its_place_and_removed():
    for address in (BERLIN, LONDON, HONG_KONG):
        addresses.keep("ann", address)
    moved = replace(LONDON, street="13 Analytical Row")
    addresses.keep("ann", moved, instead=LONDON.key)
    assert kept() == [HONG_KONG, moved, BERLIN]
    with pytest.raises(errors.NotFound):
        addresses.keep("ann", LONDON, instead=LONDON.key)
    addresses.keep("ann", BERLIN, instead=moved.key)
    assert kept() == [HONG_KONG, BERLIN]
    measured(addresses.remove)("ann", HONG_KONG.key)
    addresses.remove("ann", HONG_KONG.key)
    assert kept() == [BERLIN]
    addresses.remove("ann", BERLIN.key)
    assert kept() == []
    addresses.keep("ann", BERLIN)
    addresses.keep("ann", BERLIN, instead=BERLIN.key)
    assert kept() == [BERLIN]


def test_the_one_used_longest_ago_makes_room():
    some = [replace(BERLIN, street=f"{number} High Street") for number in range(MOST_ADDRESSES + 1)]
    for address in some:
        addresses.keep("ann", address)
    assert kept() == some[:0:-1]


def test_what_is_only_typed_is_not_kept():
    addresses.keep_typed("ann", BERLIN, None, 1)
    assert kept() == []
    addresses.keep("ann", BERLIN)
    addresses.keep_typed("ann", LONDON, None, 1)
    assert kept() == [BERLIN]
    addresses.keep("ann", LONDON)
    assert kept() == [LONDON, BERLIN]


def test_who_is_not_there_keeps_nothing():
    for act in (partial(addresses.keep, "bob", BERLIN), partial(addresses.remove, "bob", "x")):
        with pytest.raises(errors.NotFound):
            act()


@pytest.mark.engines("native", "local")
@pytest.mark.parametrize("_", range(3))
def test_of_addresses_that_are_kept_at_once_none_is_lost(_: int):
    addresses.keep("ann", HONG_KONG)
    acts = [partial(addresses.keep, "ann", one) for one in (BERLIN, LONDON)]
    done = at_once(*map(again, [*acts, partial(addresses.remove, "ann", HONG_KONG.key)]))
    assert errors_of(done) == []
    assert sorted(kept(), key=lambda one: one.name) == sorted([BERLIN, LONDON], key=lambda one: one.name)


def test_a_bill_goes_elsewhere_and_the_next_order_begins_with_that():
    (deal,) = make_deals(1)
    order = buy("ann", deal, bill_to=replace(LONDON, country="United Kingdom"))
    assert (order.address, order.bill_to) == (BERLIN, LONDON)
    assert orders.get("ann", order.id) == order
    assert order_record.buyer("ann").bill_to == LONDON
    again_here = buy("ann", deal)
    assert again_here.bill_to is None
    assert order_record.buyer("ann").bill_to is None


def test_a_bill_needs_a_whole_address():
    (deal,) = make_deals(1)
    with pytest.raises(errors.Invalid):
        buy("ann", deal, bill_to=replace(LONDON, postcode=""))
    assert purchase("ann").total > 0


def test_what_was_typed_of_a_bill_is_kept_whole_or_not():
    addresses.keep_typed("ann", BERLIN, Address(name="  Ann \n Ltd", country="Atlantis"), 3)
    assert order_record.buyer("ann").bill_to == Address(name="Ann Ltd", country="Atlantis")
    addresses.keep_typed("ann", BERLIN, None, 3)
    assert order_record.buyer("ann").bill_to is None


def test_a_key_is_of_all_parts():
    keys = {replace(BERLIN, **{name: "x"}).key for name in asdict(BERLIN)}
    assert len(keys | {BERLIN.key}) == len(asdict(BERLIN)) + 1
    assert replace(BERLIN, name="a", street="b").key != replace(BERLIN, name="a\nb", street="").key
