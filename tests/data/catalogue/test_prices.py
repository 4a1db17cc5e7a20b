"""The prices of a deal: each change is kept, and the lowest of the 30 days before is known."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dealsite.data import keys, table
from dealsite.data.catalogue import deal_changes, deals, publishing
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.content import problems
from dealsite.data.catalogue.deals import Price
from dealsite.data.entities.deals import HERE, SHOP
from dealsite.data.table.errors import VersionConflict
from dealsite.data.table.writes import Delete, Update
from tests.builders import (
    CONDITION,
    DAY,
    EDITOR,
    HOUR,
    LINK,
    NOW,
    make_brand,
    make_category,
    make_content,
    make_deal,
    make_id,
)
from tests.measuring import measured

NORDLICHT = Brand("nordlicht", "Nordlicht")


def reprice(deal: deals.Deal, price: str, was_price: str | None = "119.00", *, now=NOW) -> deals.Deal:
    content = make_content(price=Decimal(price), was_price=Decimal(was_price) if was_price else None)
    return deal_changes.edit(deal, content, version=deal.version, brand=NORDLICHT, by=EDITOR, now=now)


def retold(deal: deals.Deal, *, now: datetime, **changed: Any) -> deals.Deal:
    """Return a deal at a shop that has another price, or condition, from a time on."""
    content = make_content(**({"link": LINK, "was_price": None} | changed))
    return deal_changes.edit(deal, content, version=deal.version, brand=NORDLICHT, by=EDITOR, now=now)


def kept(deal_id: str) -> list[tuple[datetime, str]]:
    return [(one.since, str(one.price)) for one in deals.prices_of(deal_id)]


def days(*pairs: tuple[float, int]) -> list[Price]:
    """Prices that began so many days ago."""
    return [Price(NOW - timedelta(days=ago), Decimal(amount)) for ago, amount in pairs]


@pytest.mark.usefixtures("whole_table")
def test_publishing_keeps_the_first_price():
    deal = make_deal()
    assert kept(deal.id) == [(deal.live_at, "79.90")]
    assert deals.get(deal.id).has_prices


@pytest.mark.usefixtures("whole_table")
def test_each_change_of_a_price_is_kept_and_nothing_else_is():
    deal = make_deal()
    deal = reprice(deal, "69.90")
    deal = reprice(deal, "69.90", "99.00", now=NOW + HOUR)
    deal = deal_changes.edit(
        deal,
        make_content(title="Other", price=Decimal("69.90"), was_price=Decimal("99.00")),
        version=deal.version,
        brand=NORDLICHT,
        by=EDITOR,
        now=NOW + 2 * HOUR,
    )
    deal_changes.expire_now(deal, by=EDITOR, now=NOW + 3 * HOUR)
    assert kept(deal.id) == [(deal.live_at, "79.90"), (NOW, "69.90")]


@pytest.mark.usefixtures("whole_table")
def test_two_changes_in_one_moment_are_both_kept():
    deal = reprice(reprice(make_deal(), "69.90"), "59.90")
    assert [price for _, price in kept(deal.id)] == ["79.90", "69.90", "59.90"]


@pytest.mark.usefixtures("whole_table")
def test_a_price_that_nobody_was_offered_is_not_kept():
    deal = make_deal(live_at=NOW + DAY)
    deal = reprice(deal, "69.90")
    assert kept(deal.id) == [(NOW + DAY, "69.90")]
    new_id = make_id(NOW + 2 * DAY)
    publishing.reschedule(deal, NOW + 2 * DAY, new_id=new_id, by=EDITOR, now=NOW)
    assert kept(deal.id) == []
    assert kept(new_id) == [(NOW + 2 * DAY, "69.90")]


@pytest.mark.usefixtures("whole_table")
def test_a_deal_without_a_price_keeps_none_and_what_it_costs_later_is_compared_with_nothing_of_before():
    deal = make_deal(**CONDITION, live_at=NOW - 20 * DAY)
    assert (kept(deal.id), deal.card.condition, deal.card.low) == ([], "20 % off all shoes", None)
    deal = retold(deal, now=NOW - 9 * DAY, price=Decimal("50.00"))
    assert (kept(deal.id), deal.card.low) == ([(NOW - 9 * DAY, "50.00")], None)
    deal = retold(deal, now=NOW - 8 * DAY, **CONDITION)
    assert (deal.card.price, deal.card.condition, deal.card.low) == (None, "20 % off all shoes", None)
    deal = retold(deal, now=NOW - 7 * DAY, price=Decimal("40.00"))
    assert deal.card.low is None  # of the days between there is no price
    deal = retold(deal, now=NOW - 6 * DAY, price=Decimal("30.00"))
    assert [price for _, price in kept(deal.id)] == ["50.00", "40.00", "30.00"]
    assert deal.card.low is None  # 30 days are not known


@pytest.mark.usefixtures("whole_table")
def test_a_scheduled_deal_loses_and_gets_its_price():
    deal = retold(make_deal(live_at=NOW + DAY, link=LINK), now=NOW, **CONDITION)
    assert kept(deal.id) == []
    deal = publishing.reschedule(deal, NOW + 2 * DAY, new_id=make_id(NOW + 2 * DAY), by=EDITOR, now=NOW)
    assert kept(deal.id) == []
    deal = retold(deals.get(deal.id), now=NOW, price=Decimal("40.00"))
    assert kept(deal.id) == [(NOW + 2 * DAY, "40.00")]


PROBLEMS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "neither": ({"condition": ""}, {"price": "Enter the price, or what there is instead of one."}),
    "both": ({"price": Decimal(5)}, {"condition": "There is a price. Empty this, or the price."}),
    "sold here": ({"sold": HERE}, {"price": "Enter the price."}),
    "compared": (
        {"was_price": Decimal(5)},
        {"was_price": "There is no price to compare this with. Leave it empty."},
    ),
    "too long": ({"condition": "x" * 61}, {"condition": "Shorten this to 60 characters; it has 61."}),
    "right": ({}, {}),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_shops_sell_has_a_price_or_something_instead_of_one(name: str):
    changed, found = PROBLEMS[name]
    content = replace(make_content(**CONDITION), **changed)
    assert problems(content, live_at=NOW) == found


@pytest.mark.usefixtures("whole_table")
def test_an_edit_that_loses_a_conflict_keeps_no_price():
    deal = make_deal()
    reprice(deal, "69.90")
    with pytest.raises(VersionConflict):
        reprice(deal, "9.90")
    assert [price for _, price in kept(deal.id)] == ["79.90", "69.90"]


@pytest.mark.usefixtures("whole_table")
def test_several_deals_at_once_keep_theirs():
    make_category("peripherals-networking")
    brand, ids = make_brand(), [make_id(), make_id()]
    publishing.publish_many([(one, make_content(), brand) for one in ids], by=EDITOR, now=NOW)
    assert [len(kept(one)) for one in ids] == [1, 1]


@pytest.mark.usefixtures("whole_table")
def test_a_deal_of_before_prices_were_kept_gets_the_one_that_it_had():
    deal = make_deal()
    table.write(Delete(key=keys.price(deal.id, deal.live_at, deal.id)))
    table.write(Update(key=keys.deal(deal.id), remove=["has_prices"]))
    deal = reprice(deals.get(deal.id), "69.90")
    assert kept(deal.id) == [(deal.live_at, "79.90"), (NOW, "69.90")]
    assert deal.has_prices
    assert deals.get(deal.id) == deal


@pytest.mark.budget
@pytest.mark.usefixtures("whole_table")
def test_what_prices_cost():
    deal = make_deal()
    with table.metered() as meter:
        reprice(deal, "69.90")
        measured(deals.prices_of)(deal.id)
    assert [operation for operation, _ in meter.log] == ["Query", "TransactWriteItems", "Query"]


ELSEWHERE = Decimal(90)  # what the shop states, where an editor noted it


@pytest.mark.parametrize(
    ("history", "stated", "low", "raised_from"),
    [
        (days((5, 80)), None, None, None),
        (days((5, 80), (5, 80)), None, None, None),
        (days((50, 100), (5, 80)), None, 100, None),
        (days((50, 70), (20, 100), (5, 80)), None, 70, None),  # 70 held until 20 days ago: no saving
        (days((90, 70), (35, 100), (5, 80)), None, 100, None),  # 70 ended 30 days before exactly
        (days((90, 70), (34, 100), (5, 80)), None, 70, None),
        (days((60, 100), (20, 90), (5, 80)), None, 90, None),  # in steps
        (days((60, 100), (10, 60), (9, 80)), None, 60, 60),  # down for a day, then "reduced"
        (days((400, 90), (300, 60)), None, 90, None),
        (days((90, 60), (5, 80)), None, 60, 60),
        (days((34.9, 100), (5, 80)), None, None, None),  # too short by hours
        (days((35, 100), (5, 80)), None, 100, None),
        (days((5, 80)), 0, 90, None),
        (days((5, 80)), 35, 90, None),
        (days((5, 80)), 36, None, None),  # stated before those 30 days
        (days((10, 85), (5, 80)), 10, 85, None),  # the lower counts
        (days((50, 100), (5, 80)), 5, 90, None),
        (days((50, 85), (5, 80)), 5, 85, None),
        (days((10, 70), (5, 80)), 10, 70, 70),
        ([*days((90, 100)), Price(NOW - timedelta(days=5), Decimal(80), new_seller=True)], None, None, None),
        (
            [*days((90, 40)), Price(NOW - timedelta(days=50), Decimal(90), True), *days((5, 80))],
            None,
            90,
            None,
        ),
    ],
)
def test_a_price_is_compared_with_the_lowest_of_the_30_days_before_it_where_they_are_known(
    history, stated, low, raised_from
):
    day = None if stated is None else (NOW - timedelta(days=stated)).date()
    found = deals.comparison(history, ELSEWHERE, day)
    assert found == (low and Decimal(low), raised_from and Decimal(raised_from))


@given(
    st.lists(
        st.tuples(st.integers(0, 100), st.integers(1, 5)),
        min_size=1,
        max_size=12,
        unique_by=lambda pair: pair[0],
    )
)
def test_the_low_is_what_looking_at_each_hour_finds(pairs):
    history = days(*sorted(pairs, reverse=True))

    def price_at(moment):
        return next(one.price for one in reversed(history) if one.since <= moment)

    began = history[-1].since
    while began > history[0].since and price_at(began - timedelta(hours=1)) == history[-1].price:
        began -= timedelta(hours=1)
    hours = [began - timedelta(hours=n) for n in range(1, 30 * 24 + 1)]
    is_known = hours[-1] >= history[0].since
    assert deals.comparison(history, None, None)[0] == (min(map(price_at, hours)) if is_known else None)


@pytest.mark.parametrize(
    ("price", "low", "saving", "percent"),
    [
        ("80", "100", "20", 20),
        ("79.90", "119", "39.10", 32),  # 32.86: rounded down
        ("95", "100", "5", 5),
        ("95.01", "100", "4.99", None),
        ("0", "100", "100", 100),
        ("0.01", "100", "99.99", 99),
        ("100", "100", None, None),
        ("120", "100", None, None),
        ("80", None, None, None),
        ("0", "0", None, None),
    ],
)
def test_a_saving_is_rounded_down_and_under_5_percent_is_none_to_speak_of(price, low, saving, percent):
    card = replace(
        make_content(price=Decimal(price), was_price=None).card(make_id(), "N"), low=low and Decimal(low)
    )
    assert (card.saving, card.percent_off) == (saving and Decimal(saving), percent)


@pytest.mark.usefixtures("whole_table")
def test_what_may_be_said_of_a_price_follows_its_changes_and_those_of_what_it_is_compared_with():
    deal = make_deal(live_at=NOW - 60 * DAY)
    assert (deal.card.rrp, deal.card.saving) == (Decimal("119.00"), None)
    deal = reprice(deal, "99.00", None, now=NOW - 20 * DAY)
    assert (deal.card.low, deal.card.raised_from, deal.card.rrp) == (Decimal("79.90"), Decimal("79.90"), None)
    deal = reprice(deal, "50.00", now=NOW)
    assert (deal.card.low, deal.card.percent_off, deal.card.rrp) == (Decimal("79.90"), 37, None)
    stated = replace(deal.content, low_seen_at="its page", low_seen_on=NOW.date(), was_price=Decimal("60.00"))
    brand = Brand("nordlicht", "Nordlicht")
    deal = deal_changes.edit(deal, stated, version=deal.version, brand=brand, by=EDITOR, now=NOW + HOUR)
    assert (deal.card.low, deal.card.percent_off) == (Decimal("60.00"), 16)
    deal = deal_changes.edit(
        deal,
        replace(stated, sold=SHOP, link="https://other.example/", title="Elsewhere"),
        version=deal.version,
        brand=brand,
        by=EDITOR,
        now=NOW + DAY,
    )
    assert (deal.card.low, len(deals.of_seller(deals.prices_of(deal.id)))) == (Decimal("60.00"), 1)
    assert deals.get(deal.id) == deal
