"""The ready questions understand what the shop itself stores."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dealsite.ask import runs
from dealsite.ask.lake import open_lake
from dealsite.data.catalogue import relations
from dealsite.data.commerce import cart_changes, carts, order_changes
from dealsite.data.people import messages
from dealsite.lake import snapshots
from tests.builders import HOUR, make_deal, make_id
from tests.orders import make_order
from tests.people import make_user


@pytest.fixture
def answers(fresh_table, ask):
    """A function that asks a ready question of what some shoppers have done just now."""
    now = datetime.now(UTC)
    lamp = make_deal(title="Lamp", live_at=now - HOUR, now=now, stock=5)
    mug = make_deal(title="Mug", live_at=now - HOUR, now=now)
    make_user("ada", now=now)
    relations.add(relations.BRAND_WATCH, "nordlicht", username="ada", now=now)
    make_order("ada", lamp, quantity=2, now=now)
    late = make_order("ada", mug, plan=3, now=now)
    order_changes.cancel("ada", late.id, by="ada", reason="Changed my mind.", now=now)
    cart_changes.add(carts.user_cart("ada"), cart_changes.CartAddition(mug.id, 1, make_id(now, 999)), now=now)
    messages.deliver(
        [messages.message_item("ada", make_id(now), kind="hot_deal", headline="Look", deal=lamp.id)]
    )
    with snapshots.making(now=now) as (_, written):
        assert written > 10

    def of(slug: str) -> list[list[object]]:
        run = ask(runs.ready_questions()[slug].sql, lake=open_lake({"admin"}))
        assert (run.state, run.why) == ("answered", "")
        rows: list[list[object]] = run.answer().rows
        return rows

    return of


def test_ready_questions_find_what_happened(answers):
    assert [row[:4] for row in answers("best-selling-deals")] == [["Lamp", "159.80", 2, 1]]
    assert [row[1:3] for row in answers("revenue-by-day")] == [["159.80", 1]]
    assert [row[:3] for row in answers("orders-by-country")] == [["GB", 1, "159.80"]]
    assert [row[1:5] for row in answers("cancelled-orders")] == [["ada", "79.90", "ada", "Changed my mind."]]
    assert [row[:3] for row in answers("stock-running-out")] == [["Lamp", 3, 2]]
    assert answers("watchers-against-sales") == [["Nordlicht", 1, 0, 2, "159.80"]]
    assert ["Look", 1, 0, 0.0, "hot_deal"] in answers("messages-read")
    assert [row[:3] for row in answers("best-customers")] == [["ada", "159.80", 1]]
    assert [row[1:3] for row in answers("cohorts-of-sign-ups")] == [[1, 1]]
    assert [row[2:] for row in answers("conversion-by-category")] == [[3, 1]]
    assert answers("abandoned-carts") == []
