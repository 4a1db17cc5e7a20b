"""Featured lists: in the editors' order, up to 24, agreed with the deals; the second of two editors loses nothing."""

from __future__ import annotations

import pytest

from dealsite.data.catalogue import deal_changes, deals, featured
from dealsite.data.table import errors
from tests.builders import EDITOR, NOW, make_category, make_deal, make_id
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")


def put(page_id: str, *ids: str, version: int | None = None, by: str = EDITOR) -> featured.FeaturedPage:
    page, found = featured.load(page_id, ids)
    chosen = [found[deal_id] for deal_id in ids if deal_id in found]
    return featured.set_featured(
        page, chosen, version=page.version if version is None else version, by=by, now=NOW
    )


def test_a_list_never_set_is_empty():
    page = featured.get("front")
    assert (page.id, page.title, page.version, page.cards) == ("front", "Front page", 0, [])


@pytest.mark.parametrize("page_id", ["", "ghost", "FRONTPAGE", "front#", "\x00"])
@pytest.mark.engines("native")
def test_a_page_that_is_none_is_not_found(page_id):
    with pytest.raises(errors.NotFound):
        featured.get(page_id)


@pytest.mark.parametrize("page_id", ["front", "editors-choice", "peripherals-networking"])
def test_a_list_holds_cards_in_the_editors_order_and_each_deal_knows(page_id):
    some = [make_deal(title=f"Deal {n}") for n in range(4)]
    order = [some[2].id, some[0].id, some[3].id]
    page = put(page_id, *order)
    assert page.ids == order
    assert featured.get(page_id) == page
    assert [bool(deals.get(deal.id).featured_on) for deal in some] == [True, False, True, True]
    page = put(page_id, some[1].id, some[2].id)
    assert (page.ids, page.version) == ([some[1].id, some[2].id], 2)
    assert [deals.get(deal.id).featured_on for deal in some] == [set(), {page_id}, {page_id}, set()]
    assert put(page_id).cards == []
    assert [deals.get(deal.id).featured_on for deal in some] == [set()] * 4


def test_twenty_four_deals_fit_and_one_more_does_not():
    some = [make_deal() for _ in range(25)]
    with pytest.raises(errors.Invalid):
        put("front", *(deal.id for deal in some))
    assert len(put("front", *(deal.id for deal in some[:24])).cards) == 24
    other = [make_deal() for _ in range(24)]
    assert put("front", *(deal.id for deal in other)).ids == [deal.id for deal in other]


def test_a_deal_is_listed_once():
    deal = make_deal()
    with pytest.raises(errors.Invalid):
        featured.set_featured(featured.get("front"), [deal, deal], version=0, by=EDITOR, now=NOW)


def test_the_second_of_two_editors_is_shown_the_firsts_list():
    one, other = make_deal(), make_deal()
    first = put("front", one.id, by="first")
    with pytest.raises(errors.VersionConflict) as conflict:
        put("front", other.id, version=0, by="second")
    assert conflict.value.current == first
    assert featured.get("front").ids == [one.id]


def test_a_deal_that_does_not_exist_is_never_featured():
    deal = make_deal()
    page = featured.get("front")
    deal_changes.delete(deal, by=EDITOR, now=NOW)
    with pytest.raises(errors.NotFound, match=deal.id):
        featured.set_featured(page, [deal], version=0, by=EDITOR, now=NOW)
    assert featured.get("front").cards == []
    assert put("front", make_id()).cards == []


def test_a_categorys_list_leaves_its_texts_alone():
    from dealsite.data.catalogue import categories

    make_category("toys-hobbies")
    category = measured(categories.get)("toys-hobbies")
    put("toys-hobbies", make_deal().id)
    measured(categories.edit)(category, name="Toys", description="Fun", logo=None, by=EDITOR, now=NOW)
    assert len(measured(featured.get)("toys-hobbies").cards) == 1
    assert put("toys-hobbies").version == 2
    assert categories.get("toys-hobbies").description == "Fun"
