"""What an account has bought, whatever order it was in, newest first."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dealsite.data.commerce import cart_changes, carts, order_changes, orders
from dealsite.data.commerce.carts import Line
from dealsite.data.table.errors import BadCursor
from dealsite.data.table.ids import iso
from tests.builders import DAY, HOUR, NOW, make_deal, make_id
from tests.measuring import measured
from tests.orders import make_order
from tests.shop import make_deals, want

pytestmark = pytest.mark.usefixtures("whole_table")


def shown(lines: list[Line]) -> list[tuple[str, str, int]]:
    return [(line.order, line.title, line.quantity) for line in lines]


def test_what_was_bought_is_there_once_for_each_purchase():
    lamp, chair = make_deal(title="Lamp", live_at=NOW - DAY), make_deal(title="Chair", live_at=NOW - DAY)
    first = make_order("ada", lamp, quantity=2, now=NOW)
    second = make_order("ada", chair, lamp, now=NOW + HOUR)
    make_order("bob", lamp, now=NOW + HOUR)
    cart_changes.add(carts.user_cart("ada"), want(lamp), now=NOW + HOUR)
    page = measured(orders.bought)("ada")
    assert sorted(shown(page.rows[:2])) == [(second.id, "Chair", 1), (second.id, "Lamp", 1)]
    assert shown(page.rows[2:]) == [(first.id, "Lamp", 2)]
    assert (page.rows[2].at, page.rows[2].deal) == (NOW, lamp.id)
    assert (page.after, page.before) == (None, None)
    assert orders.bought("cyd").rows == []


def test_what_is_returned_is_not_there():
    kept, returned = make_order("ada", now=NOW), make_order("ada", now=NOW + HOUR)
    order_changes.cancel("ada", returned.id, by="ada", now=NOW + DAY)
    assert [line.order for line in orders.bought("ada").rows] == [kept.id]


def test_what_was_bought_comes_in_pages_that_skip_and_repeat_nothing():
    some = make_deals(20, live_at=NOW - DAY)
    for number in range(3):  # lines of one moment lie on two pages
        make_order("ada", *some, now=NOW + number * timedelta(minutes=1))
    first = orders.bought("ada")
    second = orders.bought("ada", after=first.after)
    third = orders.bought("ada", after=second.after)
    assert [len(page.rows) for page in (first, second, third)] == [25, 25, 10]
    found = [line for page in (first, second, third) for line in page.rows]
    assert len({(line.order, line.deal) for line in found}) == 60
    assert [line.at for line in found] == sorted((line.at for line in found), reverse=True)
    assert (first.before, third.after) == (None, None)
    assert orders.bought("ada", before=third.before) == second
    assert orders.bought("ada", before=second.before).rows == first.rows
    assert orders.bought("ada", before=second.before).before is None


@pytest.mark.parametrize(
    "cursor", ["x", "#", f"{iso(NOW)}#x", make_id(), f"PURCHASED#{iso(NOW)}#{make_id()}"]
)
def test_a_damaged_cursor_is_refused(cursor: str):
    for cursors in ({"after": cursor}, {"before": cursor}):
        with pytest.raises(BadCursor):
            orders.bought("ada", **cursors)


def test_a_page_is_after_one_line_or_before_one():
    cursor = f"{iso(NOW)}#{make_id()}"
    with pytest.raises(BadCursor):
        orders.bought("ada", after=cursor, before=cursor)
    assert orders.bought("ada", after=cursor) == orders.bought("ada", before=cursor)
