"""Deals: published, scheduled, edited, moved, expired and deleted, with everything that hangs on them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import (
    brands,
    buckets,
    categories,
    content,
    deal_changes,
    deals,
    drafts,
    featured,
    lists,
    publishing,
)
from dealsite.data.catalogue.buckets import Page
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.deals import sold_out_writes
from dealsite.data.entities.deals import CODE, SHOP
from dealsite.data.jobs import jobs
from dealsite.data.table import errors, ids
from dealsite.data.table.writes import Update
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    LINK,
    NOW,
    PICTURE,
    STATED,
    make_brand,
    make_category,
    make_content,
    make_deal,
    make_draft,
    make_id,
)
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")


def edit(deal, *, brand="Nordlicht", by=EDITOR, now=NOW, **changes):
    content = replace(deal.content, **changes)
    return deal_changes.edit(deal, content, version=deal.version, brand=make_brand(brand), by=by, now=now)


def feature(page_id, *featured_deals):
    page = featured.get(page_id)
    return featured.set_featured(page, list(featured_deals), version=page.version, by=EDITOR, now=NOW)


def test_a_published_deal_is_read_back_as_it_was_written():
    deal = make_deal(picture=PICTURE, expires_at=NOW + DAY, voucher_code="SAVE10", **STATED)
    read = deals.get(deal.id)
    assert read == deal
    assert read.content == make_content(
        picture=PICTURE, expires_at=NOW + DAY, voucher_code="SAVE10", **STATED
    )
    assert (read.version, read.updated_by, read.live_at) == (1, EDITOR, NOW - HOUR)
    assert read.card.brand_name == "Nordlicht"
    assert read.card.price == Decimal("79.90")
    assert read.card.percent_off == 32


def test_a_deal_is_in_the_feeds_of_its_day_brand_and_category(wait_for_indexes):
    deal = make_deal()
    wait_for_indexes()
    featured_cards, page = lists.front_page(now=NOW)
    assert featured_cards == []
    assert page.cards == [deal.card]
    assert lists.brand_page("nordlicht", now=NOW)[1].cards == [deal.card]
    assert lists.category_page("peripherals-networking", now=NOW)[2].cards == [deal.card]


def test_publishing_counts_on_both_sides(wait_for_indexes):
    make_deal()
    make_deal(live_at=NOW - 40 * DAY)
    brand = brands.get_with_counts("nordlicht")
    category = categories.get_with_counts("peripherals-networking")
    assert brand.counts is not None
    assert category.counts is not None
    assert (brand.deals, brand.counts.buckets) == (2, {"2026": 2})
    assert (category.deals, category.counts.buckets) == (2, {"2026-11": 1, "2026-10": 1})
    wait_for_indexes()
    assert sorted(buckets.all_days()) == ["2026-10-12", "2026-11-21"]


def test_publishing_under_the_same_id_again_returns_the_deal_that_is_there():
    first = make_deal(title="First")
    again = make_deal(deal_id=first.id, title="Second")
    assert again == first
    assert brands.get_with_counts("nordlicht").deals == 1


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("title", {"title": "  "}),
        ("title", {"title": "x" * 301}),
        ("title", {"title": "a\x00b"}),
        ("category", {"category": "no-such"}),
        ("price", {"price": None}),
        ("price", {"price": Decimal(-1)}),
        ("price", {"price": Decimal("1.999")}),
        ("price", {"price": Decimal("10000000"), "was_price": None}),
        ("was_price", {"was_price": Decimal("79.90")}),
        ("link", {"link": ""}),
        ("link", {"link": "javascript:alert(1)"}),
        ("link", {"link": "https://user:pass@shop.example/"}),
        ("link", {"link": "//shop.example"}),
        ("link", {"link": "https://shop.example/\n"}),
        ("picture_alt", {"picture": replace(PICTURE, alt=" ")}),
        ("stock", {"stock": -1}),
        ("expires_at", {"expires_at": NOW - HOUR}),
        ("description", {"description": "x" * 20_001}),
        ("description", {"description": "x" * 400_000}),
        ("voucher_code", {"voucher_code": "x" * 101}),
        ("sold", {"sold": "nobody"}),
        ("link", {"sold": SHOP}),
        ("voucher_code", {"sold": CODE, "link": LINK}),
        ("voucher_code", {"sold": SHOP, "voucher_code": "SAVE10"}),
        ("stock", {"sold": SHOP, "link": LINK, "stock": 3}),
    ],
)
@pytest.mark.engines("native")
def test_publishing_is_strict(field, change):
    brand = make_brand()
    make_category("peripherals-networking")
    content = make_content(**change)
    with pytest.raises(errors.Invalid) as invalid:
        publishing.publish(content, deal_id=make_id(), brand=brand, by=EDITOR, now=NOW)
    assert list(invalid.value.fields) == [field]


def test_a_deal_of_a_brand_that_does_not_exist_is_not_published():
    make_category("peripherals-networking")
    deal_id = make_id()
    with pytest.raises(errors.NotFound):
        publishing.publish(
            make_content(), deal_id=deal_id, brand=brands.Brand("nordlicht", "Nordlicht"), by=EDITOR, now=NOW
        )
    with pytest.raises(errors.NotFound):
        deals.get(deal_id)


def test_a_deal_published_with_an_old_brand_name_gets_the_new_one():
    brand = make_brand()
    make_category("peripherals-networking")
    brands.edit(brand, name="Aurora", description="", logo=None, by=EDITOR, now=NOW)
    deal = publishing.publish(make_content(), deal_id=make_id(), brand=brand, by=EDITOR, now=NOW)
    assert deal.card.brand_name == "Aurora"
    assert deals.get(deal.id).card.brand_name == "Aurora"


@pytest.mark.parametrize(
    "deal_id", ["", "x", "#", "DEAL#1", "0" * 26 + "#", "0" * 400_000, "\x00", "7" + "Z" * 25]
)
def test_an_id_that_is_none_is_a_deal_that_does_not_exist(deal_id):
    with pytest.raises(errors.NotFound):
        deals.get(deal_id)


def test_a_scheduled_deal_is_nobodys_but_the_editors_before_its_time(wait_for_indexes):
    deal = make_deal(live_at=NOW + HOUR)
    wait_for_indexes()
    assert deals.get(deal.id) == deal
    with pytest.raises(errors.NotFound):
        deals.get_visible(deal.id, now=NOW)
    assert lists.front_page(now=NOW)[1].cards == []
    assert lists.brand_page("nordlicht", now=NOW)[1].cards == []
    assert lists.category_page("peripherals-networking", now=NOW)[2].cards == []
    assert lists.front_page(now=NOW + HOUR)[1].cards == [deal.card]
    assert measured(deals.get_visible)(deal.id, now=NOW + HOUR) == deal


@pytest.mark.parametrize(
    ("expires_in", "stock", "state"),
    [
        (None, None, "live"),
        (DAY, None, "ending"),
        (3 * DAY, 4, "live"),
        (DAY, 0, "sold_out"),
        (None, 0, "sold_out"),
    ],
)
@pytest.mark.engines("native")
def test_states_are_computed_when_read(expires_in, stock, state):
    deal = make_deal(expires_at=NOW + expires_in if expires_in else None, stock=stock)
    assert deals.get(deal.id).card.state(NOW) == state
    if expires_in:
        assert deals.get(deal.id).card.state(NOW + expires_in) == "expired"


def test_an_edit_changes_the_deal_its_offer_and_its_card_everywhere(wait_for_indexes):
    deal = make_deal(stock=3)
    feature("front", deal)
    feature("peripherals-networking", deal)
    edited = edit(
        deals.get(deal.id), title="New title", price=Decimal("70"), stock=2, expires_at=NOW + DAY, by="otto"
    )
    wait_for_indexes()
    assert deals.get(deal.id) == edited
    assert (edited.version, edited.updated_by, edited.content.title) == (2, "otto", "New title")
    assert table.get(keys.offer(deal.id)) == {
        "schema": 1,
        "PK": f"DEAL#{deal.id}", "SK": "OFFER", "type": "Offer", "id": deal.id, "brand": "nordlicht",
        "category": "peripherals-networking", "price": 70, "stock": 2, "expires_at": ids.iso(NOW + DAY),
        **keys.expiry_rows(deal.id, "nordlicht", "peripherals-networking", NOW + DAY),
    }  # fmt: skip
    assert featured.get("front").cards == [edited.card]
    assert featured.get("peripherals-networking").cards == [edited.card]
    assert lists.front_page(now=NOW)[1].cards == [edited.card]


def test_an_expiry_can_be_taken_away_again(wait_for_indexes):
    deal = make_deal(expires_at=NOW + DAY)
    edited = edit(deal, expires_at=None)
    assert edited.content.expires_at is None
    offer = table.get(keys.offer(deal.id))
    assert offer is not None
    assert "expires_at" not in offer
    assert "GSI1PK" not in offer


def test_a_move_takes_the_deal_from_one_feed_to_the_other(wait_for_indexes):
    deal = make_deal(expires_at=NOW + DAY)
    make_category("toys-hobbies")
    aurora = make_brand("Aurora")
    content = replace(deal.content, brand="aurora", category="toys-hobbies")
    moved = measured(deal_changes.edit)(deal, content, version=1, brand=aurora, by=EDITOR, now=NOW)
    wait_for_indexes()
    assert lists.brand_page("nordlicht", now=NOW)[1].cards == []
    assert lists.brand_page("aurora", now=NOW)[1].cards == [moved.card]
    assert lists.category_page("peripherals-networking", now=NOW)[2].cards == []
    assert lists.category_page("toys-hobbies", now=NOW)[2].cards == [moved.card]
    assert lists.front_page(now=NOW)[1].cards == [moved.card]
    assert [brands.get_with_counts(slug).deals for slug in ("nordlicht", "aurora")] == [0, 1]
    assert moved.card.brand_name == "Aurora"


def test_the_second_of_two_editors_is_shown_what_the_first_one_wrote():
    deal = make_deal()
    first = edit(deal, title="By the first", by="first")
    with pytest.raises(errors.VersionConflict) as conflict:
        edit(deal, title="By the second", by="second")
    assert conflict.value.current == first
    assert deals.get(deal.id).content.title == "By the first"


def test_an_edit_of_a_form_loaded_before_the_deal_was_featured_is_no_conflict():
    deal = make_deal()
    feature("front", deal)
    edited = edit(deal, title="New")
    assert featured.get("front").cards == [edited.card]
    assert deals.get(deal.id).featured_on == {"front"}


def test_editing_a_deleted_deal_is_not_found():
    deal = make_deal()
    deal_changes.delete(deal, by=EDITOR, now=NOW)
    with pytest.raises(errors.NotFound):
        edit(deal, title="New")


def test_an_edit_is_as_strict_as_publishing():
    deal = make_deal()
    with pytest.raises(errors.Invalid):
        edit(deal, title="")
    assert deals.get(deal.id) == deal


def test_expiring_a_deal_ends_it_now_and_once(wait_for_indexes):
    deal = make_deal()
    ended = measured(deal_changes.expire_now)(deal, by=EDITOR, now=NOW)
    assert ended.content.expires_at == NOW
    assert deals.get(deal.id).card.state(NOW) == "expired"
    assert deal_changes.expire_now(ended, by=EDITOR, now=NOW + HOUR).content.expires_at == NOW


def test_a_scheduled_deal_cannot_be_ended():
    deal = make_deal(live_at=NOW + HOUR)
    with pytest.raises(errors.Conflict):
        deal_changes.expire_now(deal, by=EDITOR, now=NOW)


def test_a_deleted_deal_is_seen_nowhere(wait_for_indexes):
    deal = make_deal(expires_at=NOW + DAY)
    feature("front", deal)
    deal_changes.delete(deals.get(deal.id), by=EDITOR, now=NOW)
    wait_for_indexes()
    with pytest.raises(errors.NotFound):
        deals.get(deal.id)
    assert table.get(keys.offer(deal.id)) is None
    assert featured.get("front").cards == []
    assert lists.front_page(now=NOW) == ([], Page([]))
    assert brands.get_with_counts("nordlicht").deals == 0
    assert buckets.all_days() == []


def test_deleting_twice_is_harmless():
    deal, other = make_deal(), make_deal()
    deal_changes.delete(deal, by=EDITOR, now=NOW)
    deal_changes.delete(deal, by=EDITOR, now=NOW)
    assert brands.get_with_counts("nordlicht").deals == 1
    assert deals.get(other.id) == other


def test_a_day_is_listed_while_it_holds_a_deal(wait_for_indexes):
    one, other = make_deal(), make_deal()
    measured(deal_changes.delete)(one, by=EDITOR, now=NOW)
    wait_for_indexes()
    assert buckets.all_days() == ["2026-11-21"]
    deal_changes.delete(other, by=EDITOR, now=NOW)
    wait_for_indexes()
    assert buckets.all_days() == []
    make_deal()
    wait_for_indexes()
    assert buckets.all_days() == ["2026-11-21"]


@pytest.mark.parametrize("to", [NOW + 2 * HOUR, NOW + DAY, NOW + 3 * DAY, NOW + 60 * DAY])
@pytest.mark.parametrize("alone", [True, False])
def test_rescheduling_moves_a_deal_to_its_new_time_with_all_that_is_its(to, alone, wait_for_indexes):
    draft = make_draft(title="x")
    deal = make_deal(live_at=NOW + HOUR, draft=draft, stock=4, expires_at=NOW + 90 * DAY)
    other = make_deal(live_at=NOW + HOUR) if not alone else make_deal(live_at=NOW - 3 * DAY)
    feature("front", other, deal)
    deal = deals.get(deal.id)
    new_id = make_id(to)
    moved = publishing.reschedule(deal, to, new_id=new_id, by=EDITOR, now=NOW)
    wait_for_indexes()
    assert moved.id == new_id
    assert moved.live_at == to
    assert deals.get(new_id) == moved
    assert (moved.content, moved.version, moved.created_at) == (deal.content, 2, deal.created_at)
    with pytest.raises(errors.NotFound):
        deals.get(deal.id)
    assert featured.get("front").cards == [other.card, moved.card]
    assert drafts.get(draft.id).published_as == new_id
    assert lists.front_page(now=to)[1].cards[0] == moved.card
    assert brands.get_with_counts("nordlicht").deals == 2


def test_rescheduling_twice_at_once_ends_at_one_deal():
    deal = make_deal(live_at=NOW + HOUR)
    new_id = make_id(NOW + DAY)
    first = publishing.reschedule(deal, NOW + DAY, new_id=new_id, by=EDITOR, now=NOW)
    assert publishing.reschedule(deal, NOW + DAY, new_id=new_id, by=EDITOR, now=NOW) == first


def test_a_live_deal_keeps_its_time():
    deal = make_deal()
    with pytest.raises(errors.Conflict):
        publishing.reschedule(deal, NOW + DAY, new_id=make_id(NOW + DAY), by=EDITOR, now=NOW)


def test_a_deal_is_not_rescheduled_beyond_its_expiry():
    deal = make_deal(live_at=NOW + HOUR, expires_at=NOW + DAY)
    with pytest.raises(errors.Invalid):
        publishing.reschedule(deal, NOW + DAY, new_id=make_id(NOW + DAY), by=EDITOR, now=NOW)


def test_a_new_id_must_be_minted_for_the_new_time():
    deal = make_deal(live_at=NOW + HOUR)
    with pytest.raises(ValueError, match="minted"):
        publishing.reschedule(deal, NOW + DAY, new_id=make_id(NOW + HOUR), by=EDITOR, now=NOW)


def test_many_deals_are_published_at_once_with_their_counters_summed():
    brand = make_brand()
    make_category("peripherals-networking")
    new = [
        (make_id(NOW - HOUR - n * timedelta(minutes=1)), make_content(title=f"Deal {n}"), brand)
        for n in range(20)
    ]
    measured(publishing.publish_many)(new, by=EDITOR, now=NOW)
    assert {
        deal.content.title for deal in measured(deals.get_many)(deal_id for deal_id, _, _ in new).values()
    } == {f"Deal {n}" for n in range(20)}
    assert brands.get_with_counts("nordlicht").deals == 20


def test_pieces_of_many_deals_are_read_at_once():
    counted, out, uncounted = make_deal(stock=7), make_deal(stock=0), make_deal()
    found = measured(deals.stocks_of)([counted.id, out.id, uncounted.id])
    assert found == {counted.id: 7, out.id: 0, uncounted.id: None}


def test_many_deals_are_published_all_or_none():
    brand, deal = make_brand(), make_deal()
    new = [(make_id(), make_content(), brand), (deal.id, make_content(), brand)]
    with pytest.raises(errors.AlreadyExists):
        publishing.publish_many(new, by=EDITOR, now=NOW)
    assert brands.get_with_counts("nordlicht").deals == 1
    with pytest.raises(errors.TooLarge):
        publishing.publish_many([(make_id(), make_content(), brand) for _ in range(60)], by=EDITOR, now=NOW)
    assert brands.get_with_counts("nordlicht").deals == 1


def test_publishing_a_draft_leaves_where_it_went():
    draft = make_draft(title="Idea")
    deal = make_deal(draft=draft)
    after = drafts.get(draft.id)
    assert after.published_as == deal.id
    assert after.content == DealContent()


def test_a_draft_edited_meanwhile_is_not_published_over():
    draft = make_draft(title="Idea")
    saved = drafts.save(draft, DealContent(title="Better"), version=1, by="otto", now=NOW)
    deal_id = make_id()
    with pytest.raises(errors.VersionConflict) as conflict:
        make_deal(deal_id=deal_id, draft=draft)
    assert conflict.value.current == saved
    with pytest.raises(errors.NotFound):
        deals.get(deal_id)


# Stock that sells while a deal is edited


def sell(deal: deals.Deal, left: int) -> None:
    """Let the stock fall to a number, as a checkout does: the last piece marks the card."""
    marks = sold_out_writes(deals.get(deal.id), sold_out=True) if left == 0 else []
    table.transact([Update(key=keys.offer(deal.id), set={"stock": left}), *marks])


@pytest.mark.parametrize("left", [0, 1])
def test_an_edit_that_leaves_the_stock_alone_puts_nothing_back_that_sold_meanwhile(left):
    deal = make_deal(stock=2)
    sell(deal, left)  # after the editor's page has read the deal
    edit(deal, title="New title")
    stored = deals.get(deal.id)
    assert (stored.stock, stored.card.sold_out, stored.content.title) == (left, left == 0, "New title")


def test_a_new_stock_is_refused_when_pieces_sold_meanwhile():
    deal = make_deal(stock=2)
    sell(deal, 1)
    with pytest.raises(deal_changes.StockChanged) as refused:
        edit(deal, stock=5)
    assert refused.value.stock == 1
    assert measured(deals.get)(deal.id).stock == 1


def test_sizes_are_made_by_a_job(wait_for_indexes):
    measured(content.request_renditions)(["pictures/ab/x"], now=NOW)
    wait_for_indexes()
    job = jobs.take_next(now=NOW)
    assert job is not None
    assert job.payload == {"pictures": ["pictures/ab/x"]}
