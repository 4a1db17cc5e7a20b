"""How many live deals brands have, the cheapest of them, and what others have."""

from decimal import Decimal

from dealsite.search.brands import FEW, OTHERS, cheapest, live_deals, of_other_brands
from tests.builders import HOUR, NOW
from tests.search.conftest import deal_item, draft_item


def test_only_deals_that_can_be_had_are_counted(index, subtests):
    index(
        deal_item(),
        deal_item(expires_at=NOW + HOUR),
        deal_item(category="home-furniture"),
        deal_item(brand="Vela"),
        deal_item(brand="Arbor & Co", category="home-furniture"),
        deal_item(brand="Vela", expires_at=NOW),
        deal_item(brand="Vela", stock=0),
        deal_item(brand="Vela", live_at=NOW + HOUR),
        deal_item(brand="Gone", expires_at=NOW - HOUR),
        draft_item(brand="vela"),
    )
    nordlicht, arbor, vela = ("nordlicht", "Nordlicht"), ("arbor-co", "Arbor & Co"), ("vela", "Vela")
    for asked, counted in (
        ({}, [(*nordlicht, 3), (*arbor, 1), (*vela, 1)]),
        ({"brands": ["nordlicht"]}, [(*nordlicht, 3)]),
        ({"brands": ["gone"]}, []),
        ({"category": "home-furniture"}, [(*arbor, 1), (*nordlicht, 1)]),
        ({"category": "nothing"}, []),
        ({"brands": ["vela", "arbor-co", "gone"]}, [(*arbor, 1), (*vela, 1)]),
    ):
        with subtests.test(asked=asked):
            number = sum(one[2] for one in counted)
            assert live_deals(now=NOW, most=9, **asked) == (number, counted)
            assert live_deals(now=NOW, **asked) == (number, counted[:1])
    assert live_deals(now=NOW + HOUR, most=9).brands[0] == (*nordlicht, 2)


def test_more_brands_than_one_shows_are_all_counted(index):
    index(*(deal_item(brand=f"Brand {n}") for n in range(40)))
    assert live_deals(now=NOW).number == 40


def test_without_an_index_nothing_is_known(index):
    assert (live_deals(now=NOW), cheapest("nordlicht", now=NOW)) == (None, None)
    index()
    assert live_deals(now=NOW) == (0, [])


def test_the_cheapest_deal_of_a_brand_is_one_that_can_be_had(index):
    index(
        deal_item("Lamp", price=Decimal(30), was_price=None),
        deal_item("Chair", price=Decimal(20), was_price=None),
        deal_item("Sold out", price=Decimal(10), was_price=None, stock=0),
        deal_item("Other", brand="Vela", price=Decimal(5), was_price=None),
    )
    assert [one and one.title for one in (cheapest(slug, now=NOW) for slug in ("nordlicht", "gone"))] == [
        "Chair",
        None,
    ]


def test_beside_few_deals_of_a_brand_stand_the_newest_of_others(index):
    own = [deal_item(f"Lamp {n}", category="home-furniture") for n in range(FEW - 1)]
    others = [
        deal_item(f"Chair {n}", brand="Vela", category="home-furniture", live_at=NOW - (n + 2) * HOUR)
        for n in range(OTHERS + 1)
    ]
    over = deal_item("Over", brand="Vela", category="home-furniture", expires_at=NOW)
    index(*own, *others, over, deal_item("Keyboard", brand="Vela"))
    found = of_other_brands("nordlicht", "home-furniture", now=NOW)
    assert [card.title for card in found] == [f"Chair {n}" for n in range(OTHERS)]
