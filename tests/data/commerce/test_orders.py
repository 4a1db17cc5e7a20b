"""Orders after they were placed: their way to the shopper, their lists, and who has a deal in the cart."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.commerce import cart_changes, carts, order_changes, order_record, orders
from dealsite.data.commerce.order_record import buyer
from dealsite.data.editing import audit
from dealsite.data.entities.commerce import (
    ACTIVE,
    CANCELLED,
    DELIVERED,
    PLACED,
    PURCHASED,
    RETURNED,
    SAVED,
    SHIPPED,
)
from dealsite.data.people import messages, profiles
from dealsite.data.table import errors
from dealsite.data.table.ids import iso, new_ulid
from tests.builders import DAY, HOUR, NOW, make_deal, make_id
from tests.measuring import measured
from tests.people import make_user
from tests.shop import ANN, BOB, add, buy, delete, make_deals, waiting

pytestmark = pytest.mark.usefixtures("whole_table")
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def _shoppers(whole_table) -> None:
    make_user("ann")
    make_user("bob")


def ship(order: order_record.Order, **more) -> order_record.Order:
    form: dict[str, Any] = {"by": "bob", "now": NOW + HOUR, "unpaid": True}
    return order_changes.ship(order.username, order.id, **(form | more))


def deliver(order: order_record.Order, **more) -> order_record.Order:
    form: dict[str, Any] = {"by": "bob", "now": NOW + DAY}
    return order_changes.deliver(order.username, order.id, **(form | more))


def test_an_order_is_shipped_and_delivered(wait_for_indexes):
    order = buy("ann", make_deal())
    shipped = ship(order, tracking=" JD 0146/00-3.x ")
    assert shipped == orders.get("ann", order.id)
    assert (shipped.status, shipped.tracking, shipped.version) == (SHIPPED, "JD 0146/00-3.x", 2)
    delivered = measured(order_changes.deliver)("ann", order.id, by="bob", now=NOW + DAY)
    assert delivered == orders.get("ann", order.id)
    assert (delivered.status, delivered.tracking, delivered.version) == (DELIVERED, "JD 0146/00-3.x", 3)
    assert [(event.status, event.at, event.by, event.note) for event in delivered.timeline] == [
        (PLACED, NOW, "ann", ""),
        (SHIPPED, NOW + HOUR, "bob", "Tracking number JD 0146/00-3.x"),
        (DELIVERED, NOW + DAY, "bob", ""),
    ]
    wait_for_indexes()
    assert [entry.what for entry in audit.of_target("order", order.id)] == ["delivered", "shipped", "placed"]
    assert [message.headline for message in messages.inbox("ann").rows] == [
        "Your order was delivered",
        "Your order is on its way",
        "Thank you: your order is placed",
    ]


def test_a_step_taken_twice_is_one_step():
    order = buy("ann", make_deal())
    shipped = ship(order, tracking="JD1")
    assert ship(order, tracking="JD2", now=NOW + DAY) == shipped
    delivered = deliver(order)
    assert deliver(order, now=NOW + 2 * DAY) == delivered
    assert len(messages.inbox("ann").rows) == 3


def test_a_step_whose_answer_was_lost_is_taken(monkeypatch):
    order = buy("ann", make_deal())
    real = table.transact

    def losing(writes):
        real(writes)
        raise errors.VersionConflict

    monkeypatch.setattr(table, "transact", losing)
    assert ship(order).status == SHIPPED


def test_no_step_is_left_out_and_none_is_taken_back():
    order = buy("ann", make_deal())
    with pytest.raises(errors.Conflict, match="This order is placed: it cannot be delivered"):
        deliver(order)
    ship(order)
    deliver(order)
    with pytest.raises(errors.Conflict, match="This order is delivered: it cannot be shipped"):
        ship(order)
    other = buy("ann", make_deal(), now=NOW + MINUTE)
    order_changes.cancel("ann", other.id, by="ann", now=NOW + HOUR)
    with pytest.raises(errors.Conflict, match="This order is cancelled: it cannot be shipped"):
        ship(other)


@pytest.mark.parametrize("tracking", ["x", "<b>1234</b>", "12\n34" + "#", "x" * 61, "-123"])
def test_a_tracking_number_that_cannot_be_is_refused(tracking):
    order = buy("ann", make_deal())
    with pytest.raises(errors.Invalid, match="A tracking number has"):
        ship(order, tracking=tracking)
    assert orders.get("ann", order.id).status == PLACED


def test_a_reason_that_is_too_long_is_refused():
    order = buy("ann", make_deal())
    with pytest.raises(errors.Invalid, match="500"):
        order_changes.cancel("ann", order.id, by="ann", reason="x" * 501, now=NOW)
    assert measured(orders.get)("ann", order.id).status == PLACED


def test_an_order_waits_where_its_status_says(wait_for_indexes):
    first, second, third = (
        buy("ann" if n % 2 else "bob", make_deal(), now=NOW + n * MINUTE) for n in range(3)
    )
    wait_for_indexes()
    assert waiting(PLACED) == [first.id, second.id, third.id]
    assert waiting(SHIPPED) == []
    ship(second)
    order_changes.cancel("bob", third.id, by="bob", now=NOW + HOUR)
    wait_for_indexes()
    assert (waiting(PLACED), waiting(SHIPPED)) == ([first.id], [second.id])
    deliver(second)
    wait_for_indexes()
    assert (waiting(PLACED), waiting(SHIPPED)) == ([first.id], [])


def many_orders(count: int) -> list[str]:
    """Have ann place orders, two in each moment; return their ids."""
    deal, found = make_deal(), []
    for number in range(count):
        at = NOW + (number // 2) * MINUTE
        found.append(buy("ann", deal, now=at, order_id=new_ulid(at, number + 1)).id)
    return found


@pytest.mark.engines("native", "local")
def test_waiting_orders_come_in_pages_that_skip_and_repeat_nothing():
    found = sorted(many_orders(60))
    assert waiting(PLACED) == found
    first = measured(orders.waiting)(PLACED)
    assert (len(first.rows), first.before) == (25, None)
    second = orders.waiting(PLACED, after=first.after)
    third = orders.waiting(PLACED, after=second.after)
    assert (len(third.rows), third.after) == (10, None)
    back = orders.waiting(PLACED, before=third.before)
    assert [card.id for card in back.rows] == [card.id for card in second.rows]
    assert [card.id for card in orders.waiting(PLACED, before=back.before).rows] == found[:25]
    assert orders.waiting(PLACED, before=back.before).before is None
    assert (measured(orders.number_to_ship)(100), orders.number_to_ship(7)) == (60, 7)


@pytest.mark.engines("native", "local")
def test_a_users_orders_come_newest_first_in_pages():
    found = sorted(many_orders(60), reverse=True)
    for status in ("", PLACED):
        first = orders.of_user("ann", status=status)
        second = orders.of_user("ann", status=status, after=first.after)
        third = orders.of_user("ann", status=status, after=second.after)
        assert [card.id for page in (first, second, third) for card in page.rows] == found
        assert (first.before, third.after) == (None, None)
        back = orders.of_user("ann", status=status, before=third.before)
        assert [card.id for card in back.rows] == [card.id for card in second.rows]
    assert orders.of_user("ann", status=SHIPPED).rows == []
    assert orders.of_user("bob").rows == []


def test_a_users_orders_are_found_by_status(wait_for_indexes):
    first, second = buy("ann", make_deal()), buy("ann", make_deal(), now=NOW + MINUTE)
    buy("bob", make_deal())
    ship(first)
    wait_for_indexes()
    assert [card.id for card in measured(orders.of_user)("ann").rows] == [second.id, first.id]
    assert [card.id for card in orders.of_user("ann", status=SHIPPED).rows] == [first.id]
    assert [card.id for card in orders.of_user("ann", status=PLACED).rows] == [second.id]


@pytest.mark.parametrize("cursor", ["x", "HEAD", "7" + "Z" * 30, "#", f"{make_id()}#"])
def test_a_damaged_cursor_is_refused(cursor):
    for call in (
        lambda: orders.of_user("ann", after=cursor),
        lambda: orders.of_user("ann", before=cursor),
        lambda: orders.waiting(PLACED, after=cursor),
        lambda: orders.waiting(PLACED, before=f"2026-11-21T12:00:00Z#{cursor}"),
        lambda: orders.carts_with(make_id(), ACTIVE, after=cursor),
        lambda: orders.carts_with(make_id(), ACTIVE, after=f"{iso(NOW)}#A#{make_id()}"),
    ):
        with pytest.raises(errors.BadCursor):
            call()
    with pytest.raises(errors.BadCursor):
        orders.of_user("ann", after=make_id(), before=make_id())


def test_a_status_or_id_that_there_is_not_is_refused():
    with pytest.raises(errors.Invalid):
        orders.of_user("ann", status="OPEN")
    with pytest.raises(errors.Invalid):
        orders.carts_with(make_id(), "BOUGHT")
    with pytest.raises(errors.Invalid):
        orders.waiting("DELIVERED")
    for username in ("", "Ann", "ann#", "\x00\u202e"):
        with pytest.raises(errors.NotFound):
            orders.get(username, make_id())
    for order_id in ("", "x", "ORDER#1"):
        with pytest.raises(errors.NotFound):
            orders.get("ann", order_id)
        with pytest.raises(errors.NotFound):
            orders.get_with_lines(order_id)
        with pytest.raises(errors.NotFound):
            orders.carts_with(order_id, ACTIVE)


def test_an_order_is_read_with_its_lines(wait_for_indexes):
    some = make_deals(3)
    order = buy("ann", *some, quantity=2)
    buy("ann", some[0], now=NOW + MINUTE)
    wait_for_indexes()
    card, lines = measured(orders.get_with_lines)(order.id)
    assert card == orders.get("ann", order.id).card
    assert {line.deal: line.quantity for line in lines} == {deal.id: 2 for deal in some}
    measured(order_changes.cancel)("ann", order.id, by="ann", now=NOW + HOUR)
    wait_for_indexes()
    card, lines = orders.get_with_lines(order.id)
    assert (card.status, {line.status for line in lines}, len(lines)) == (CANCELLED, {RETURNED}, 3)
    with pytest.raises(errors.NotFound):
        orders.get_with_lines(make_id())


def test_two_orders_of_one_moment_keep_their_lines_apart():
    some = make_deals(2)
    first, second = buy("ann", some[0]), buy("ann", some[1])
    assert [line.deal for line in orders.lines_of(first)] == [some[0].id]
    assert [line.deal for line in orders.lines_of(second)] == [some[1].id]


def test_the_account_page_shows_the_newest_orders():
    profile, kept, none = measured(orders.account_page)("ann")
    assert (profile, kept, none) == (profiles.get("ann"), buyer("ann"), [])
    found = [buy("ann", make_deal(), now=NOW + n * MINUTE).id for n in range(6)]
    profile, kept, newest = orders.account_page("ann")
    assert (profile.username, kept.address.name) == ("ann", "Ann Ash")
    assert [order.id for order in newest] == found[::-1]
    assert newest[0] == orders.get("ann", found[-1])
    with pytest.raises(errors.NotFound):
        orders.account_page("zoe")


def test_the_lines_of_many_orders_are_read_at_once():
    some = make_deals(3)
    made = [buy("ann", deal, now=NOW + n * MINUTE) for n, deal in enumerate(some)]
    buy("bob", some[0], now=NOW + MINUTE)
    gone = order_changes.cancel("ann", made[1].id, by="ann", now=NOW + HOUR)
    assert orders.lines_of_many([]) == {}
    cards = [made[2].card, gone.card]
    found = orders.lines_of_many(cards)
    assert {order_id: [line.deal for line in lines] for order_id, lines in found.items()} == {
        made[2].id: [some[2].id],
        made[1].id: [some[1].id],
    }
    assert measured(orders.lines_of_many)([made[0].card]) == {made[0].id: orders.lines_of(made[0])}


# Who has a deal


def test_who_has_a_deal_is_known_by_status_and_day(wait_for_indexes):
    deal, other = make_deals(2)
    add(ANN, deal, 2)
    add(BOB, deal, 3, now=NOW + MINUTE)
    add(BOB, other, now=NOW + MINUTE)
    add(carts.visitor_cart("x"), deal)
    wait_for_indexes()
    has = measured(orders.carts_with)(deal.id, ACTIVE)
    assert [(line.username, line.quantity, line.at) for line in has.rows] == [
        ("bob", 3, NOW + MINUTE),
        ("ann", 2, NOW),
    ]
    assert (has.lines, has.pieces, has.total, has.more, has.after) == (
        2,
        5,
        5 * deal.content.price,
        False,
        None,
    )
    order = buy("ann", now=NOW + DAY)
    wait_for_indexes()
    assert [line.username for line in orders.carts_with(deal.id, ACTIVE).rows] == ["bob"]
    (line,) = orders.carts_with(deal.id, PURCHASED).rows
    assert (line.username, line.order, line.at) == ("ann", order.id, NOW + DAY)
    for day, found in ((NOW.date(), 0), ((NOW + DAY).date(), 1), (date(2020, 1, 1), 0)):
        assert orders.carts_with(deal.id, PURCHASED, day=day).lines == found
    order_changes.cancel("ann", order.id, by="ann", now=NOW + 2 * DAY)
    (line,) = carts.read(BOB, now=NOW).active[1:]
    cart_changes.move(BOB, line.ref, SAVED, now=NOW + DAY)
    wait_for_indexes()
    counts = {
        status: orders.carts_with(deal.id, status).lines for status in (ACTIVE, SAVED, PURCHASED, RETURNED)
    }
    assert counts == {ACTIVE: 0, SAVED: 1, PURCHASED: 0, RETURNED: 1}


def test_the_last_moment_of_a_day_belongs_to_it(wait_for_indexes):
    deal = make_deal()
    midnight = NOW.replace(hour=0) + DAY
    add(ANN, deal, now=midnight - timedelta(milliseconds=1))
    add(BOB, deal, now=midnight)
    wait_for_indexes()
    assert [line.username for line in orders.carts_with(deal.id, ACTIVE, day=NOW.date()).rows] == ["ann"]
    assert [line.username for line in orders.carts_with(deal.id, ACTIVE, day=midnight.date()).rows] == ["bob"]


@pytest.mark.engines("native", "local")
def test_who_has_a_deal_comes_in_pages():
    deal = make_deal()
    for number in range(60):
        buyer = make_user(f"user{number:02d}").username
        add(carts.user_cart(buyer), deal, now=NOW + (number // 3) * MINUTE)
    found, after, pages = [], None, 0
    while True:
        has = orders.carts_with(deal.id, ACTIVE, after=after, day=NOW.date())
        found += [line.username for line in has.rows]
        pages, after = pages + 1, has.after
        if after is None:
            break
    assert (pages, found) == (3, [f"user{number:02d}" for number in reversed(range(60))])
    far = f"{iso(NOW + 9 * DAY)}#ann#{make_id()}"
    assert orders.carts_with(deal.id, ACTIVE, day=NOW.date() - DAY, after=far).lines == 0


def test_what_was_bought_stays_known_when_its_deal_is_gone(wait_for_indexes):
    deal = make_deal(title="Lamp")
    order = buy("ann", deal)
    delete(deal)
    wait_for_indexes()
    assert [line.title for line in orders.lines_of(order)] == ["Lamp"]
    assert orders.carts_with(deal.id, PURCHASED).lines == 1


@pytest.mark.budget
def test_reading_orders_costs_no_more_than_it_says():
    deal = make_deal(stock=9)
    order = buy("ann", deal)
    for call, allowed in (
        (lambda: orders.get("ann", order.id), ["GetItem"]),
        (lambda: orders.lines_of(order), ["Query"]),
        (lambda: orders.get_with_lines(order.id), ["Query"]),
        (lambda: orders.of_user("ann"), ["Query"]),
        (lambda: orders.of_user("ann", status=PLACED), ["Query"]),
        (lambda: orders.account_page("ann"), ["Query"]),
        (lambda: buyer("ann"), ["GetItem"]),
        (lambda: orders.waiting(PLACED), ["Query"] * 4),
        (lambda: orders.carts_with(deal.id, PURCHASED), ["Query"]),
        (lambda: ship(order), ["GetItem", "TransactWriteItems"]),
        (lambda: deliver(order), ["GetItem", "TransactWriteItems"]),
    ):
        with table.metered() as meter:
            call()
        assert [operation for operation, _ in meter.log] == allowed
    other = buy("ann", deal, now=NOW + MINUTE)
    with table.metered() as meter:
        order_changes.cancel("ann", other.id, by="ann", now=NOW + HOUR)
    assert [operation for operation, _ in meter.log] == [
        "GetItem",
        "Query",
        "BatchGetItem",
        "BatchGetItem",
        "TransactWriteItems",
    ]


def test_several_orders_are_read_at_once():
    made = [buy(name, *make_deals(1)) for name in ("ann", "bob")]
    assert measured(orders.get_many)([(one.username, one.id) for one in made]) == made
