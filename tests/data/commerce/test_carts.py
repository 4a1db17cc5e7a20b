"""Carts: one line a deal, full carts, problems that are named, and a visitor's cart that is merged once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from dealsite.data import table
from dealsite.data.catalogue import deal_changes, deals
from dealsite.data.commerce import cart_changes, carts
from dealsite.data.commerce.cart_changes import CannotAdd
from dealsite.data.commerce.carts import VISITOR_CART_LIFETIME, CartChanged, CartFull
from dealsite.data.entities.commerce import ACTIVE, MAX_SAVED, MAX_SAVED_OF_VISITOR, SAVED
from dealsite.data.entities.deals import SHOP
from dealsite.data.integrity import checks
from dealsite.data.table import client, errors, schema
from dealsite.data.table.writes import Delete, Put
from tests.builders import CONDITION, DAY, EDITOR, HOUR, LINK, NOW, PICTURE, make_deal, make_id
from tests.measuring import measured
from tests.people import make_user
from tests.shop import ANN, BOB, GUEST, add, buy, delete, edit, fill, held, make_deals, want

pytestmark = pytest.mark.usefixtures("whole_table")
MINUTE = timedelta(minutes=1)


def ref_of(owner, deal: deals.Deal, *, now=NOW) -> str:
    cart = carts.read(owner, now=now)
    (line,) = [line for line in (*cart.active, *cart.saved) if line.deal == deal.id]
    return line.ref


def look(owner=ANN, *, now=NOW) -> carts.CartView:
    return carts.view(carts.read(owner, now=now), now=now)


def problems(owner=ANN, *, now=NOW) -> dict[str, tuple[str, ...]]:
    return {shown.line.deal: shown.problems for shown in look(owner, now=now).changed}


def test_a_cart_that_nobody_filled_is_empty():
    cart = carts.read(ANN, now=NOW)
    assert (cart.active, cart.saved, cart.version, cart.pieces) == ([], [], 0, 0)
    shown = carts.view(cart, now=NOW)
    assert (shown.total, shown.changed, shown.can_order) == (Decimal("0.00"), [], False)
    assert measured(carts.read_head)(ANN, now=NOW).active == 0


def test_a_line_holds_what_its_shopper_was_shown():
    deal = make_deal(title="Lamp", picture=PICTURE, stock=5)
    added = add(ANN, deal, 2)
    assert added.id == deal.id
    (line,) = carts.read(ANN, now=NOW).active
    assert (line.deal, line.status, line.quantity, line.at, line.username) == (deal.id, ACTIVE, 2, NOW, "ann")
    assert (line.title, line.brand, line.brand_name, line.category) == (
        "Lamp",
        "nordlicht",
        "Nordlicht",
        "peripherals-networking",
    )
    assert (line.price, line.total, line.picture, line.counted) == (
        Decimal("79.90"),
        Decimal("159.80"),
        PICTURE,
        True,
    )
    assert (line.slug, line.order) == ("lamp", "")


def test_lines_are_shown_newest_first():
    some = make_deals(3)
    for number, deal in enumerate(some):
        add(ANN, deal, now=NOW + number * MINUTE)
    assert [line.deal for line in carts.read(ANN, now=NOW).active] == [deal.id for deal in reversed(some)]


def test_a_deal_added_again_adds_to_its_line():
    deal = make_deal()
    add(ANN, deal, 2)
    add(ANN, deal, 3, now=NOW + MINUTE)
    assert held(ANN) == {deal.id: (ACTIVE, 5)}


def test_a_form_sent_twice_adds_once():
    deal = make_deal()
    form = want(deal, 2, token=make_id(NOW, 901))
    measured(cart_changes.add)(ANN, form, now=NOW)
    version = carts.read(ANN, now=NOW).version
    cart_changes.add(ANN, form, now=NOW)
    assert (held(ANN), carts.read(ANN, now=NOW).version) == ({deal.id: (ACTIVE, 2)}, version)
    add(ANN, deal, 2, token=make_id(NOW, 902))
    assert held(ANN) == {deal.id: (ACTIVE, 4)}


def test_a_form_sent_twice_adds_once_though_the_number_was_changed_in_between():
    deal = make_deal()
    form = want(deal, 2, token=make_id(NOW, 901))
    cart_changes.add(ANN, form, now=NOW)
    cart_changes.change_quantity(ANN, deal.id, 5, now=NOW)
    cart_changes.add(ANN, form, now=NOW)
    assert held(ANN) == {deal.id: (ACTIVE, 5)}


def test_carts_of_two_shoppers_have_nothing_in_common():
    deal = make_deal()
    add(ANN, deal)
    add(GUEST, deal, 4)
    assert (held(ANN), held(BOB), held(GUEST)) == ({deal.id: (ACTIVE, 1)}, {}, {deal.id: (ACTIVE, 4)})


def test_what_cannot_be_bought_is_refused_with_the_reason():
    sold_out, expiring, scheduled = (
        make_deal(stock=0),
        make_deal(expires_at=NOW),
        make_deal(live_at=NOW + HOUR),
    )
    for deal_id, words in (
        (sold_out.id, "is sold out"),
        (make_deal(link=LINK).id, "is sold at shop.example"),
        (expiring.id, "has expired"),
        (scheduled.id, "not offered any more"),
        (make_id(), "not offered any more"),
    ):
        with pytest.raises(CannotAdd, match=words):
            add(ANN, deal_id)
    assert held(ANN) == {}
    add(ANN, expiring, now=NOW - MINUTE)
    add(ANN, scheduled, now=NOW + HOUR)


def test_no_more_is_added_than_there_is():
    deal = make_deal(stock=3)
    with pytest.raises(CannotAdd, match="Only 3 are left"):
        add(ANN, deal, 4)
    add(ANN, deal, 2)
    with pytest.raises(CannotAdd, match=r"Only 3 are left\. You have 2 of them in your cart"):
        add(ANN, deal, 2)
    add(ANN, deal, 1)
    with pytest.raises(CannotAdd, match="Only 1 is left"):
        add(ANN, make_deal(stock=1), 2)
    assert held(ANN) == {deal.id: (ACTIVE, 3)}


def test_a_line_has_at_most_999_pieces():
    deal = make_deal()
    add(ANN, deal, 999)
    with pytest.raises(CannotAdd, match="up to 999 pieces"):
        add(ANN, deal)
    with pytest.raises(errors.Invalid, match="from 1 to 999"):
        cart_changes.change_quantity(ANN, deal.id, 1000, now=NOW)
    assert held(ANN) == {deal.id: (ACTIVE, 999)}


@pytest.mark.parametrize("quantity", [0, -1, 1000])
def test_a_number_of_pieces_that_cannot_be_is_refused(quantity):
    with pytest.raises(errors.Invalid, match="from 1 to 999"):
        add(ANN, make_id(), quantity)


@pytest.mark.parametrize(
    "damage",
    [
        {"deal": "x#y"},
        {"line_id": "HEAD"},
        {"seen": Decimal("NaN")},
        {"seen": Decimal("Infinity")},
        {"seen": Decimal("-0.01")},
        {"seen": Decimal("1.005")},
        {"seen": Decimal("1E+30")},
    ],
)
def test_what_no_form_sends_is_refused(damage):
    with pytest.raises(errors.Invalid, match="damaged"):
        cart_changes.add(ANN, replace(want(make_id()), **damage), now=NOW)


def test_the_same_deal_twice_in_a_form_is_refused():
    deal_id = make_id()
    with pytest.raises(errors.Invalid, match="twice"):
        cart_changes.add_many(ANN, [want(deal_id), want(deal_id)], now=NOW)


def test_two_lines_cannot_have_one_id():
    first, second, third = make_deals(3)
    line_id = make_id(NOW)
    with pytest.raises(errors.Invalid, match="damaged"):
        cart_changes.add_many(ANN, [want(first, line_id=line_id), want(second, line_id=line_id)], now=NOW)
    add(ANN, first, line_id=line_id)
    with pytest.raises(errors.Invalid, match="damaged"):
        add(ANN, third, line_id=line_id, now=NOW + MINUTE)
    assert held(ANN) == {first.id: (ACTIVE, 1)}


def test_of_several_deals_those_are_added_that_can_be():
    live, sold_out = make_deal(), make_deal(stock=0)
    added = cart_changes.add_many(ANN, [want(live, 2), want(sold_out)], now=NOW)
    assert list(added.deals) == [live.id]
    assert {deal: "sold out" in why for deal, why in added.refused.items()} == {sold_out.id: True}
    assert held(ANN) == {live.id: (ACTIVE, 2)}


def test_a_full_cart_takes_no_further_deal_but_more_of_the_same():
    some = make_deals(26)
    fill(ANN, some[:25])
    with pytest.raises(CannotAdd, match="A cart holds up to 25 deals"):
        add(ANN, some[25])
    add(ANN, some[0])
    assert held(ANN) == {deal.id: (ACTIVE, 2 if deal == some[0] else 1) for deal in some[:25]}


def test_what_was_saved_stays_so_where_a_full_cart_cannot_take_it_back():
    some = make_deals(26)
    add(ANN, some[25])
    cart_changes.move(ANN, ref_of(ANN, some[25]), SAVED, now=NOW)
    fill(ANN, some[:25])
    with pytest.raises(CannotAdd, match="A cart holds up to 25 deals"):
        add(ANN, some[25])
    added = measured(cart_changes.add_many)(ANN, [want(some[25]), want(some[0])], now=NOW)
    assert (list(added.refused), list(added.deals)) == ([some[25].id], [some[0].id])
    assert held(ANN)[some[25].id] == (SAVED, 1)
    with pytest.raises(CartFull):
        cart_changes.move(ANN, ref_of(ANN, some[25]), ACTIVE, now=NOW)
    assert len(held(ANN)) == 26


def test_a_price_the_shopper_saw_is_what_his_line_says():
    deal = make_deal()
    form = want(deal, seen=Decimal("79.90"))
    edit(deal, price=Decimal("89.90"))
    cart_changes.add(ANN, form, now=NOW)
    assert problems() == {deal.id: (carts.PRICE_UP,)}


# How many


def test_a_number_is_changed():
    deal = make_deal(stock=5)
    add(ANN, deal, 2)
    cart_changes.change_quantity(ANN, deal.id, 5, now=NOW)
    assert held(ANN) == {deal.id: (ACTIVE, 5)}
    with pytest.raises(CannotAdd, match="Only 5 are left"):
        cart_changes.change_quantity(ANN, deal.id, 6, now=NOW)
    version = carts.read(ANN, now=NOW).version
    cart_changes.change_quantity(ANN, deal.id, 5, now=NOW)
    assert carts.read(ANN, now=NOW).version == version


def test_fewer_can_be_had_of_what_is_not_offered_any_more_and_more_cannot():
    deal = make_deal()
    add(ANN, deal, 3)
    delete(deal)
    measured(cart_changes.change_quantity)(ANN, deal.id, 2, now=NOW)
    with pytest.raises(CannotAdd, match="not offered any more"):
        cart_changes.change_quantity(ANN, deal.id, 3, now=NOW)
    assert held(ANN) == {deal.id: (ACTIVE, 2)}


def test_the_number_of_what_is_not_in_the_cart_cannot_be_changed():
    for deal_id in (make_deal().id, "x#y", ""):
        with pytest.raises(errors.NotFound, match="not in your cart"):
            cart_changes.change_quantity(ANN, deal_id, 2, now=NOW)


# Later, now, not at all


def test_a_line_is_saved_for_later_and_comes_back_as_the_newest():
    old, new = make_deals(2)
    add(ANN, old, 3)
    add(ANN, new, now=NOW + MINUTE)
    moved = measured(cart_changes.move)(ANN, ref_of(ANN, old), SAVED, now=NOW + HOUR)
    assert (moved.status, moved.at, moved.quantity) == (SAVED, NOW + HOUR, 3)
    assert held(ANN) == {old.id: (SAVED, 3), new.id: (ACTIVE, 1)}
    back = cart_changes.move(ANN, moved.ref, ACTIVE, now=NOW + 2 * HOUR)
    assert [line.deal for line in measured(carts.read)(ANN, now=NOW).active] == [old.id, new.id]
    assert back.ref != moved.ref


def test_a_move_sent_twice_moves_once():
    deal = make_deal()
    add(ANN, deal)
    ref = ref_of(ANN, deal)
    cart_changes.move(ANN, ref, SAVED, now=NOW)
    assert cart_changes.move(ANN, ref, SAVED, now=NOW + MINUTE) is None
    assert cart_changes.move(ANN, ref_of(ANN, deal), SAVED, now=NOW + MINUTE).at == NOW
    assert held(ANN) == {deal.id: (SAVED, 1)}


def test_what_was_saved_is_added_back_with_its_pieces():
    deal = make_deal()
    add(ANN, deal, 2)
    cart_changes.move(ANN, ref_of(ANN, deal), SAVED, now=NOW)
    add(ANN, deal, 3, now=NOW + MINUTE)
    assert held(ANN) == {deal.id: (ACTIVE, 5)}


def test_a_removed_line_is_restored_so_that_it_can_be_added_again():
    deal = make_deal()
    add(ANN, deal, 2)
    ref = ref_of(ANN, deal)
    gone = cart_changes.remove(ANN, ref, now=NOW)
    assert (gone.deal, gone.quantity, gone.price) == (deal.id, 2, Decimal("79.90"))
    assert held(ANN) == {}
    assert cart_changes.remove(ANN, ref, now=NOW) is None
    add(ANN, deal, gone.quantity, seen=gone.price)
    assert held(ANN) == {deal.id: (ACTIVE, 2)}


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "ACTIVE",
        "ACTIVE.x.y",
        f"PURCHASED.2026-11-21T12:00:00.000Z.{make_id()}",
        f"ACTIVE.2026-11-21T12:00:00Z.{make_id()}",
        f"ACTIVE.2026-11-21T12:00:00.000+00:00.{make_id()}",
        "ACTIVE.2026-11-21T12:00:00.000Z.HEAD",
        f"SAVED.9999-99-99T12:00:00.000Z.{make_id()}",
    ],
)
def test_a_line_that_no_form_names_is_refused(ref):
    with pytest.raises(errors.Invalid, match="damaged"):
        cart_changes.remove(ANN, ref, now=NOW)


def test_a_line_is_moved_to_no_other_status():
    with pytest.raises(errors.Invalid, match="damaged"):
        cart_changes.move(ANN, f"ACTIVE.2026-11-21T12:00:00.000Z.{make_id()}", "PURCHASED", now=NOW)


def test_another_shoppers_line_is_not_there():
    deal = make_deal()
    add(ANN, deal)
    assert cart_changes.remove(BOB, ref_of(ANN, deal), now=NOW) is None
    assert cart_changes.move(BOB, ref_of(ANN, deal), SAVED, now=NOW) is None
    assert held(ANN) == {deal.id: (ACTIVE, 1)}


@pytest.mark.engines("native", "local")
def test_no_more_than_fifty_deals_are_saved_for_later():
    some = make_deals(MAX_SAVED + 1)
    for first in range(0, MAX_SAVED + 1, 25):
        fill(ANN, some[first : first + 25])
        for line in carts.read(ANN, now=NOW).active:
            try:
                cart_changes.move(ANN, line.ref, SAVED, now=NOW)
            except CartFull as full:
                assert "Up to 50" in str(full)  # noqa: PT017
    assert sorted(status for status, _ in held(ANN).values()) == [ACTIVE] + [SAVED] * MAX_SAVED


def test_a_visitor_saves_no_more_than_can_be_merged():
    some = make_deals(MAX_SAVED_OF_VISITOR + 1)
    fill(GUEST, some)
    for deal in some[:-1]:
        cart_changes.move(GUEST, ref_of(GUEST, deal), SAVED, now=NOW)
    with pytest.raises(CartFull, match="Up to 10"):
        cart_changes.move(GUEST, ref_of(GUEST, some[-1]), SAVED, now=NOW)


# What changed


def test_what_changed_since_the_shopper_looked_is_named():
    up, down, fewer, sold_out, expired, elsewhere, gone, same = make_deals(8, stock=5)
    fill(ANN, [up, down, fewer, sold_out, expired, elsewhere, gone, same], 3)
    edit(up, price=Decimal("80.00"), was_price=None)
    edit(down, price=Decimal("70.00"))
    edit(fewer, stock=2)
    edit(sold_out, stock=0)
    edit(expired, expires_at=NOW)
    edit(elsewhere, sold=SHOP, stock=None, **CONDITION)
    delete(gone)
    assert problems() == {
        up.id: (carts.PRICE_UP,),
        down.id: (carts.PRICE_DOWN,),
        fewer.id: (carts.FEWER_LEFT,),
        sold_out.id: (carts.SOLD_OUT,),
        expired.id: (carts.EXPIRED,),
        elsewhere.id: (carts.ELSEWHERE,),
        gone.id: (carts.GONE,),
    }
    shown = look()
    assert shown.total == 3 * (Decimal("80.00") + Decimal("70.00") + Decimal("79.90")) + 2 * Decimal("79.90")
    assert not shown.can_order
    assert {one.line.deal: one.left for one in shown.active if one.left is not None} == {
        up.id: 5,
        down.id: 5,
        fewer.id: 2,
        sold_out.id: 0,
        expired.id: 5,
        same.id: 5,
    }


def test_a_deal_can_change_in_two_ways_at_once():
    deal = make_deal(stock=5)
    add(ANN, deal, 3)
    edit(deal, stock=1, price=Decimal("60.00"))
    assert problems() == {deal.id: (carts.FEWER_LEFT, carts.PRICE_DOWN)}
    assert look().total == Decimal("60.00")


def test_a_deal_that_costs_nothing_now_is_ordered_for_nothing():
    make_user("ann")
    deal = make_deal()
    add(ANN, deal, 3)
    edit(deal, price=Decimal("0.00"), was_price=None)
    assert problems() == {deal.id: (carts.PRICE_DOWN,)}
    cart_changes.accept(ANN, seen=look().digest, now=NOW)
    assert buy("ann").total == 0


def test_accepting_takes_over_what_changed():
    up, fewer, sold_out, gone, same = make_deals(5, stock=5)
    fill(ANN, [up, fewer, sold_out, gone, same], 3)
    edit(up, price=Decimal("80.00"), was_price=None)
    edit(fewer, stock=2)
    edit(sold_out, stock=0)
    delete(gone)
    measured(cart_changes.accept)(ANN, seen=look().digest, now=NOW + MINUTE)
    assert held(ANN) == {
        up.id: (ACTIVE, 3),
        fewer.id: (ACTIVE, 2),
        sold_out.id: (SAVED, 3),
        same.id: (ACTIVE, 3),
    }
    assert look().can_order
    assert look().total == 3 * Decimal("80.00") + 5 * Decimal("79.90")


def test_accepting_takes_over_only_what_was_shown():
    deal = make_deal(stock=5)
    add(ANN, deal, 3)
    edit(deal, price=Decimal("60.00"))
    seen = look().digest
    edit(deal, price=Decimal("70.00"))
    with pytest.raises(CartChanged):
        cart_changes.accept(ANN, seen=seen, now=NOW)
    assert problems() == {deal.id: (carts.PRICE_DOWN,)}
    assert carts.read(ANN, now=NOW).active[0].price == Decimal("79.90")


def test_accepting_twice_is_refused_and_harmless():
    deal = make_deal(stock=5)
    add(ANN, deal, 3)
    edit(deal, price=Decimal("60.00"))
    seen = look().digest
    cart_changes.accept(ANN, seen=seen, now=NOW)
    with pytest.raises(CartChanged):
        cart_changes.accept(ANN, seen=seen, now=NOW)
    cart_changes.accept(ANN, seen=look().digest, now=NOW)
    assert look().total == Decimal("180.00")


def test_stock_that_begins_to_be_counted_is_no_change_the_shopper_must_know_of():
    deal = make_deal()
    add(ANN, deal, 3)
    edit(deal, stock=3)
    assert problems() == {}


# Visitors


def test_a_visitors_cart_ends_thirty_days_after_it_began():
    deal, other = make_deals(2)
    add(GUEST, deal)
    cart_changes.change_quantity(GUEST, deal.id, 2, now=NOW + 29 * DAY)
    late = NOW + VISITOR_CART_LIFETIME
    assert held(GUEST, now=late - MINUTE) == {deal.id: (ACTIVE, 2)}
    assert held(GUEST, now=late) == {}
    add(GUEST, other, now=late)
    assert held(GUEST, now=late) == {other.id: (ACTIVE, 1)}
    assert carts.read_head(GUEST, now=late).ends_at == late + VISITOR_CART_LIFETIME


def test_an_ended_cart_expires_with_its_lines(wait_for_indexes):
    add(GUEST, make_deal())
    add(ANN, make_deal())
    wait_for_indexes()
    schema.delete_expired(now=NOW + 31 * DAY)
    assert len(table.query(GUEST.partition, consistent=True)) == 0
    assert len(held(ANN, now=NOW + 31 * DAY)) == 1


def test_a_visitors_line_is_in_no_index():
    deal = make_deal()
    add(GUEST, deal)
    (line,) = [row for row in table.query(GUEST.partition, consistent=True) if row["type"] == "CartLine"]
    assert [name for name in line if name.startswith("GSI")] == []
    assert "ttl" in line


# Merging


def test_a_visitors_cart_is_merged_into_his_own():
    both, mine, guests, later = make_deals(4)
    fill(ANN, [both, mine], 2)
    fill(GUEST, [both, guests, later], 3, now=NOW + MINUTE)
    cart_changes.move(GUEST, ref_of(GUEST, later), SAVED, now=NOW + MINUTE)
    merged = cart_changes.merge(GUEST, "ann", now=NOW + HOUR)
    assert {line.deal for line in merged.lines} == {both.id, guests.id, later.id}
    assert (merged.saved, merged.left_out) == ([], [])
    assert held(ANN) == {
        both.id: (ACTIVE, 5),
        mine.id: (ACTIVE, 2),
        guests.id: (ACTIVE, 3),
        later.id: (SAVED, 3),
    }
    assert table.query(GUEST.partition, consistent=True) == []
    assert {line.username for line in carts.read(ANN, now=NOW).active} == {"ann"}


def test_a_cart_is_merged_once():
    deal = make_deal()
    add(GUEST, deal, 2)
    cart_changes.merge(GUEST, "ann", now=NOW)
    assert cart_changes.merge(GUEST, "ann", now=NOW).lines == []
    assert held(ANN) == {deal.id: (ACTIVE, 2)}


def test_a_merged_line_has_no_more_than_999_pieces():
    deal = make_deal()
    add(ANN, deal, 600)
    add(GUEST, deal, 600)
    cart_changes.merge(GUEST, "ann", now=NOW)
    assert held(ANN) == {deal.id: (ACTIVE, 999)}


def test_what_the_visitor_wants_now_comes_back_from_what_the_user_saved():
    deal = make_deal()
    add(ANN, deal, 2)
    cart_changes.move(ANN, ref_of(ANN, deal), SAVED, now=NOW)
    add(GUEST, deal, 3)
    cart_changes.merge(GUEST, "ann", now=NOW + HOUR)
    assert held(ANN) == {deal.id: (ACTIVE, 5)}


def test_a_merged_line_whose_id_is_taken_gets_another():
    mine, guests = make_deals(2)
    line_id = make_id(NOW)
    add(ANN, mine, line_id=line_id)
    add(GUEST, guests, line_id=line_id)
    cart_changes.merge(GUEST, "ann", now=NOW)
    assert held(ANN) == {mine.id: (ACTIVE, 1), guests.id: (ACTIVE, 1)}
    assert len({line.id for line in carts.read(ANN, now=NOW).active}) == 2


def test_a_cart_that_has_ended_is_not_merged():
    add(GUEST, make_deal())
    late = NOW + VISITOR_CART_LIFETIME
    assert cart_changes.merge(GUEST, "ann", now=late).lines == []
    assert held(ANN, now=late) == {}


def test_what_finds_no_room_is_saved_and_named():
    some = make_deals(26)
    fill(ANN, some[:25])
    add(GUEST, some[25])
    merged = cart_changes.merge(GUEST, "ann", now=NOW)
    assert ([line.deal for line in merged.saved], merged.left_out) == ([some[25].id], [])
    assert held(ANN)[some[25].id] == (SAVED, 1)


def saved_by_ann(some) -> None:
    for first in range(0, len(some), 25):
        fill(ANN, some[first : first + 25])
        for line in carts.read(ANN, now=NOW).active:
            cart_changes.move(ANN, line.ref, SAVED, now=NOW)


@pytest.mark.engines("native", "local")
def test_what_finds_no_room_at_all_is_left_out_and_named():
    some = make_deals(76)
    saved_by_ann(some[:50])
    fill(ANN, some[50:75])
    add(GUEST, some[75])
    merged = cart_changes.merge(GUEST, "ann", now=NOW)
    assert (merged.lines, merged.saved, [line.deal for line in merged.left_out]) == ([], [], [some[75].id])
    assert len(held(ANN)) == 75
    assert table.query(GUEST.partition, consistent=True) == []


@pytest.mark.engines("native", "local")
@pytest.mark.budget
def test_the_largest_carts_are_merged_in_one_transaction():
    some = make_deals(60)
    saved_by_ann(some[:50])
    fill(GUEST, some[50:])  # ten that the visitor saved
    for deal in some[50:]:
        cart_changes.move(GUEST, ref_of(GUEST, deal), SAVED, now=NOW)
    measured(cart_changes.remove)(ANN, ref_of(ANN, some[49]), now=NOW)
    fill(GUEST, some[:25], 2)  # each comes back from what the user saved: two writes more
    assert (len(held(GUEST)), len(held(ANN))) == (35, 49)
    actions = []
    original = client.send

    def counting(operation, parameters):
        actions.append(len(parameters.get("TransactItems", ())))
        return original(operation, parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "send", counting)
        merged = measured(cart_changes.merge)(GUEST, "ann", now=NOW + HOUR)
    assert max(actions) <= 100
    assert len(merged.lines) + len(merged.saved) + len(merged.left_out) == 35
    states = list(held(ANN).values())
    assert states.count((ACTIVE, 3)) == 25


# Deleted users


def test_a_deleted_users_cart_goes():
    some = make_deals(3)
    fill(ANN, some)
    cart_changes.move(ANN, ref_of(ANN, some[0]), SAVED, now=NOW)
    measured(cart_changes.clear)("ann")
    cart_changes.clear("ann")
    assert table.query(ANN.partition, consistent=True) == []


def test_a_line_that_the_head_does_not_know_is_nobodys():
    deal = make_deal()
    add(ANN, deal)
    (line,) = carts.read(ANN, now=NOW).active
    stray = ANN.line(ACTIVE, NOW - HOUR, make_id())
    item = table.get(ANN.line(ACTIVE, line.at, line.id))
    table.write(Put(key=stray, item=item))
    assert held(ANN) == {deal.id: (ACTIVE, 1)}
    table.write(Delete(key=stray))


@pytest.mark.budget
def test_what_shoppers_do_costs_no_more_than_it_says():
    deal, other = make_deals(2)
    add(ANN, other)
    filled = carts.read(ANN, now=NOW)
    for call, allowed in (
        (lambda: add(ANN, deal), ["BatchGetItem", "TransactWriteItems"]),
        (
            lambda: cart_changes.change_quantity(ANN, deal.id, 3, now=NOW),
            ["BatchGetItem", "TransactWriteItems"],
        ),
        (lambda: measured(carts.read_active)(ANN, now=NOW), ["Query"]),
        (lambda: carts.read(ANN, now=NOW), ["Query", "Query"]),
        (lambda: carts.read_head(ANN, now=NOW), ["GetItem"]),
        (lambda: measured(carts.view)(filled, now=NOW), ["BatchGetItem"]),
    ):
        with table.metered() as meter:
            call()
        assert [operation for operation, _ in meter.log] == allowed
    refs = [ref_of(ANN, deal), ref_of(ANN, other)]
    with table.metered() as meter:
        cart_changes.move(ANN, refs[0], SAVED, now=NOW)
        cart_changes.remove(ANN, refs[1], now=NOW)
    assert [operation for operation, _ in meter.log] == ["BatchGetItem", "TransactWriteItems"] * 2


def test_an_editor_is_not_in_the_way():
    deal = make_deal(stock=5)
    add(ANN, deal, 2)
    deal_changes.expire_now(deals.get(deal.id), by=EDITOR, now=NOW)
    assert problems() == {deal.id: (carts.EXPIRED,)}
    assert checks.find() == []
