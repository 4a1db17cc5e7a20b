"""The prices of a deal: each change is kept, and the lowest of the 30 days before is known."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dealsite.data import keys, table
from dealsite.data.catalogue import deals, prices
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.deal import editing, publishing, rescheduling
from dealsite.data.catalogue.prices import LowestPrice, Price
from dealsite.data.table.errors import VersionConflict
from dealsite.data.table.writes import Delete, Update
from tests.builders import DAY, EDITOR, HOUR, NOW, make_brand, make_category, make_content, make_deal, make_id
from tests.measuring import measured

NORDLICHT = Brand("nordlicht", "Nordlicht")


def reprice(deal: deals.Deal, price: str, was_price: str | None = "119.00", *, now=NOW) -> deals.Deal:
    content = make_content(price=Decimal(price), was_price=Decimal(was_price) if was_price else None)
    return editing.edit(deal, content, version=deal.version, brand=NORDLICHT, by=EDITOR, now=now)


def kept(deal_id: str) -> list[tuple]:
    return [
        (one.since, str(one.price), one.was_price and str(one.was_price)) for one in prices.of_deal(deal_id)
    ]


def days(*pairs: tuple[float, int]) -> list[Price]:
    """Prices that began so many days ago."""
    return [Price(NOW - timedelta(days=ago), Decimal(amount)) for ago, amount in pairs]


@pytest.mark.usefixtures("whole_table")
def test_publishing_keeps_the_first_price():
    deal = make_deal()
    assert kept(deal.id) == [(deal.live_at, "79.90", "119.00")]
    assert deals.get(deal.id).has_prices


@pytest.mark.usefixtures("whole_table")
def test_each_change_of_a_price_is_kept_and_nothing_else_is():
    deal = make_deal()
    deal = reprice(deal, "69.90")
    deal = reprice(deal, "69.90", "99.00", now=NOW + HOUR)
    deal = editing.edit(
        deal,
        make_content(title="Other", price=Decimal("69.90"), was_price=Decimal("99.00")),
        version=deal.version,
        brand=NORDLICHT,
        by=EDITOR,
        now=NOW + 2 * HOUR,
    )
    editing.expire_now(deal, by=EDITOR, now=NOW + 3 * HOUR)
    assert kept(deal.id) == [
        (deal.live_at, "79.90", "119.00"),
        (NOW, "69.90", "119.00"),
        (NOW + HOUR, "69.90", "99.00"),
    ]


@pytest.mark.usefixtures("whole_table")
def test_two_changes_in_one_moment_are_both_kept():
    deal = reprice(reprice(make_deal(), "69.90"), "59.90")
    assert [price for _, price, _ in kept(deal.id)] == ["79.90", "69.90", "59.90"]


@pytest.mark.usefixtures("whole_table")
def test_a_price_that_nobody_was_offered_is_not_kept():
    deal = make_deal(live_at=NOW + DAY)
    deal = reprice(deal, "69.90")
    assert kept(deal.id) == [(NOW + DAY, "69.90", "119.00")]
    new_id = make_id(NOW + 2 * DAY)
    rescheduling.reschedule(deal, NOW + 2 * DAY, new_id=new_id, by=EDITOR, now=NOW)
    assert kept(deal.id) == []
    assert kept(new_id) == [(NOW + 2 * DAY, "69.90", "119.00")]


@pytest.mark.usefixtures("whole_table")
def test_an_edit_that_loses_a_conflict_keeps_no_price():
    deal = make_deal()
    reprice(deal, "69.90")
    with pytest.raises(VersionConflict):
        reprice(deal, "9.90")
    assert [price for _, price, _ in kept(deal.id)] == ["79.90", "69.90"]


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
    assert kept(deal.id) == [(deal.live_at, "79.90", "119.00"), (NOW, "69.90", "119.00")]
    assert deal.has_prices
    assert deals.get(deal.id) == deal


@pytest.mark.budget
@pytest.mark.usefixtures("whole_table")
def test_what_prices_cost():
    deal = make_deal()
    with table.metered() as meter:
        reprice(deal, "69.90")
        measured(prices.of_deal)(deal.id)
    assert [operation for operation, _ in meter.log] == ["TransactWriteItems", "Query"]


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (days((5, 80)), LowestPrice(Decimal(80), False)),
        (days((5, 80), (5, 80)), LowestPrice(Decimal(80), False)),
        (days((50, 100), (5, 80)), LowestPrice(Decimal(100), True)),
        (days((50, 70), (20, 100), (5, 80)), LowestPrice(Decimal(70), True)),  # 70 held until 20 days ago
        (
            days((90, 70), (35, 100), (5, 80)),
            LowestPrice(Decimal(100), True),
        ),  # 70 ended 30 days before exactly
        (days((90, 70), (34, 100), (5, 80)), LowestPrice(Decimal(70), True)),
        (days((20, 90), (10, 60), (5, 80)), LowestPrice(Decimal(60), True)),
        (days((20, 90), (10, 60), (5, 60)), LowestPrice(Decimal(90), True)),  # only the was-price changed
        (days((400, 90), (300, 60)), LowestPrice(Decimal(90), True)),
    ],
)
def test_the_lowest_price_is_that_of_the_30_days_before_the_one_that_holds(history, expected):
    assert prices.lowest(history) == expected


@given(
    st.lists(
        st.tuples(st.integers(0, 100), st.integers(1, 5)),
        min_size=1,
        max_size=12,
        unique_by=lambda pair: pair[0],
    )
)
def test_the_lowest_price_is_what_looking_at_each_day_finds(pairs):
    history = days(*sorted(pairs, reverse=True))

    def price_at(moment):
        return next(one.price for one in reversed(history) if one.since <= moment)

    began = history[-1].since
    while began > history[0].since and price_at(began - timedelta(hours=1)) == history[-1].price:
        began -= timedelta(hours=1)
    hours = [began - timedelta(hours=n) for n in range(1, 30 * 24 + 1)]
    before = [price_at(moment) for moment in hours if moment >= history[0].since]
    expected = LowestPrice(min(before), True) if before else LowestPrice(history[-1].price, False)
    assert prices.lowest(history) == expected
