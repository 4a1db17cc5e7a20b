"""What the chart says of deals, their offers and prices."""

from typing import Any

import pytest

from dealsite.data.catalogue import deals
from dealsite.data.catalogue.cards import DealCard, Picture
from dealsite.data.table.convert import from_attributes, to_attributes
from tests.data.entities.examples_deals import CARD, DEAL, EDIT, EXAMPLES, LINK, PICTURE
from tests.data.entities.sound import assert_is_sound, problems


@pytest.mark.parametrize("item", EXAMPLES.values(), ids=EXAMPLES)
def test_a_sound_item_of_deals_is_what_the_chart_says(item):
    assert_is_sound(item)


def test_cards_pictures_and_prices_are_stored_as_they_were_read():
    price = deals.price_from_item(EXAMPLES["Price"])
    stored = deals.price_item(DEAL, DEAL, price.since, price.price, new_seller=True)
    assert from_attributes(to_attributes(DealCard.from_item(CARD).as_item())) == CARD
    assert Picture.from_item(PICTURE).as_item() == PICTURE
    assert stored == {name: value for name, value in EXAMPLES["Price"].items() if name not in ("PK", "SK")}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 0}, "version is '0', which is not a whole number from 1 to 1,000,000,000,000."),
        ({"link": "javascript:alert(1)"}, "link is 'javascript:alert(1)', which is not a web address."),
        ({"card": CARD | {"id": EDIT}}, f"card.id is not {DEAL}."),
        ({"card": CARD | {"title": ""}}, "card title has 0 characters instead of 1 to 300."),
        ({"card": CARD | {"price": 119}}, "The was-price is not above the price."),
        (
            {"card": CARD | {"expires_at": "2025-11-20T12:00:00.000Z"}},
            "It ended at 2025-11-20T12:00:00.000Z, before its publication.",
        ),
        ({"link_check": {"link": LINK, "failures": 1}}, "What was found of its link is not whole."),
        ({"updated_by": "nobody at all"}, "updated_by is 'nobody at all', which is not a user name."),
        ({"series": 3}, "series is not one of its attributes."),
    ],
)
def test_what_a_deal_cannot_be_is_named(changes: dict[str, Any], said: str):
    assert problems(EXAMPLES["Deal"], **changes) == [said]


def test_an_offer_has_no_less_than_nothing_in_stock():
    said = "stock is '-1', which is not a whole number from 0 to 1,000,000."
    assert problems(EXAMPLES["Offer"], stock=-1) == [said]


@pytest.mark.parametrize("brand", ["Nordlicht", "nord licht", "nord#licht", "_nord", "nordlicht-"])
def test_a_brand_stands_in_items_as_in_keys(brand: str):
    said = f"brand is {brand!r}, which is not the key part of a name."
    assert problems(EXAMPLES["Offer"], brand=brand) == [said]
