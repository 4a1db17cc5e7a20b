"""Who sells a deal: the site itself, a shop, or a shop for those with a code."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, deal_changes, deals, featured
from dealsite.data.catalogue.content import sold_by
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.entities.deals import CODE, HERE, SHOP
from dealsite.data.integrity import checks
from dealsite.data.table.errors import Invalid
from dealsite.data.table.writes import Update
from dealsite.worker.bulk import change_at_once
from tests.builders import DAY, EDITOR, HOUR, LINK, NOW, make_deal, make_id

pytestmark = pytest.mark.usefixtures("whole_table")


def edit(deal, *, now=NOW, **changes):
    brand = brands.get(deal.content.brand)
    content = replace(deal.content, **changes)
    return deal_changes.edit(deal, content, version=deal.version, brand=brand, by=EDITOR, now=now)


def is_elsewhere(deal) -> bool:
    return "elsewhere" in (table.get(keys.offer(deal.id)) or {})


@pytest.mark.engines("native")
def test_where_nothing_says_so_a_stock_means_here_and_else_a_shop():
    for sold, stock, code in ((HERE, 3, ""), (HERE, 0, "SAVE"), (SHOP, None, ""), (CODE, None, "SAVE")):
        assert sold_by(stock, code) == sold


def test_cards_and_offers_say_who_sells_it():
    here, shop, code = (
        make_deal(),
        make_deal(link="https://www.shop.example:443/a"),
        make_deal(voucher_code="S"),
    )
    assert [(one.card.sold, one.card.shop) for one in (here, shop, code)] == [
        (HERE, ""),
        (SHOP, "shop.example"),
        (CODE, "shop.example"),
    ]
    assert [is_elsewhere(one) for one in (here, shop, code)] == [False, True, True]
    assert deals.get(shop.id) == shop


def test_a_deal_goes_to_a_shop_and_comes_back():
    deal = make_deal(stock=3, live_at=NOW - 60 * DAY)
    gone = edit(deal, sold=SHOP, link=LINK, stock=None, price=Decimal("60"))
    assert (is_elsewhere(gone), gone.card.shop, gone.card.low) == (True, "shop.example", None)
    aside = edit(gone, sold=HERE, stock=5, now=NOW + HOUR)
    assert (is_elsewhere(aside), aside.card.shop, aside.content.link) == (False, "", LINK)
    without = edit(aside, link="", now=NOW + 2 * HOUR)
    assert "link" not in (table.get(keys.deal(deal.id)) or {})
    assert deals.get(deal.id) == without
    assert [one.new_seller for one in deals.prices_of(deal.id)] == [False, True, True]
    assert checks.find(retired=True) == []


@pytest.mark.parametrize(("first", "then"), [((HERE, 3), (SHOP, None)), ((SHOP, None), (HERE, 3))])
@pytest.mark.engines("native")
def test_an_earlier_version_of_another_seller_comes_back_whole(first, then):
    deal = make_deal(sold=first[0], stock=first[1], link=LINK)
    edit(deal, sold=then[0], stock=then[1])
    change, asked_at = BulkChange("deal", "restore-version", "1"), NOW + HOUR
    change_at_once(change, [deal.id], job_id=make_id(NOW), by=EDITOR, asked_at=asked_at, now=asked_at)
    assert deals.get(deal.id).content == replace(deal.content, stock=None if first[0] == SHOP else then[1])


def test_a_deal_of_before_is_sold_by_whom_its_stock_and_link_tell():
    made = [
        make_deal(stock=3, voucher_code="SAVE"),  # its link is kept aside
        make_deal(link=LINK),
        make_deal(voucher_code="SAVE"),
    ]
    more = [make_deal(link=LINK) for _ in range(8)]  # more than there are rounds of repairs
    page, found = featured.load("front", [deal.id for deal in more])
    featured.set_featured(page, [found[deal.id] for deal in more], version=0, by=EDITOR, now=NOW)
    for deal in (*made, *more):
        table.write(Update(key=keys.deal(deal.id), remove=[("card", "sold"), ("card", "shop")]))
        table.write(Update(key=keys.offer(deal.id), remove=["elsewhere"]))
    old = {("cards", deal.id): (table.get(keys.deal(deal.id)) or {})["card"] for deal in more}
    table.write(Update(key=keys.front_page(), set=old))
    assert [deals.get(deal.id).content for deal in made] == [deal.content for deal in made]
    assert checks.find() == []
    repaired, left = checks.repair_all()
    assert (len(repaired), left) == (len(made) + 2 * len(more), [])  # with the featured cards
    assert [deals.get(deal.id).card for deal in made] == [deal.card for deal in made]
    assert [is_elsewhere(deal) for deal in made] == [False, True, True]
    assert checks.find(retired=True) == []


@pytest.mark.engines("native")
def test_a_deal_of_before_that_is_edited_tells_carts_who_sells_it():
    deal = make_deal(link=LINK)
    table.write(Update(key=keys.deal(deal.id), remove=[("card", "sold"), ("card", "shop")]))
    table.write(Update(key=keys.offer(deal.id), remove=["elsewhere"]))
    edited = edit(deals.get(deal.id), title="New")
    assert (is_elsewhere(edited), edited.card.sold) == (True, SHOP)


@pytest.mark.engines("native")
def test_what_a_shop_sells_has_no_stock():
    with pytest.raises(Invalid) as invalid:
        make_deal(sold=SHOP, link=LINK, stock=3)
    assert list(invalid.value.fields) == ["stock"]
