"""Clicks on the links of deals to shops, orders and likes: counted by day, each visitor once, and nobody kept."""

from __future__ import annotations

from datetime import date, timedelta
from functools import partial

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import activity, relations
from dealsite.data.catalogue.activity import Day
from dealsite.data.table.errors import VersionConflict
from dealsite.data.table.ids import epoch_seconds
from tests.builders import DAY, NOW, make_deal, make_id
from tests.measuring import measured
from tests.orders import make_order
from tests.people import make_user
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")
DEAL, TODAY = make_id(), NOW.date()
YESTERDAY = TODAY - timedelta(days=1)


def test_whoever_comes_again_on_a_day_counts_once():
    measured(activity.count)(DEAL, TODAY, {"00ab", "0001"})
    activity.count(DEAL, TODAY, {"0001", "0002"})
    activity.count(DEAL, YESTERDAY, {"0001"})
    activity.count(make_id(), TODAY, {"0009"})
    assert measured(activity.of_deal)(DEAL, since=YESTERDAY) == {YESTERDAY: Day(1), TODAY: Day(3)}
    assert activity.of_deal(DEAL, since=TODAY) == {TODAY: Day(3)}


def test_those_who_come_at_once_are_all_counted():
    at_once(*(partial(activity.count, DEAL, TODAY, {f"{n:04x}", "ffff"}) for n in range(8)))
    assert activity.of_deal(DEAL, since=TODAY) == {TODAY: Day(9)}


def test_of_a_day_that_is_closed_only_the_number_is_left(wait_for_indexes):
    before = TODAY - timedelta(days=3)
    activity.count(DEAL, YESTERDAY, {"0001", "0002"})
    wait_for_indexes()
    assert measured(activity.close_day)(YESTERDAY) == 1
    for day in (before, TODAY):
        activity.count(DEAL, day, {"0001", "0002"})
    activity.count(make_id(), YESTERDAY, {"0001"})
    wait_for_indexes()
    assert activity.close_day(YESTERDAY) == 2
    assert activity.close_day(YESTERDAY) == 0
    stored = {row["day"]: row for row in table.query(keys.activity.partition(DEAL), consistent=True)}
    assert {day: row.get("visitors") for day, row in stored.items()} == {
        before.isoformat(): None,
        YESTERDAY.isoformat(): None,
        TODAY.isoformat(): {"0001", "0002"},
    }
    midnight = NOW.replace(hour=0)
    assert stored[TODAY.isoformat()]["ttl"] == epoch_seconds(midnight + 7 * DAY)
    assert stored[YESTERDAY.isoformat()]["ttl"] == epoch_seconds(midnight + 399 * DAY)
    assert activity.of_deal(DEAL, since=before) == {before: Day(2), YESTERDAY: Day(2), TODAY: Day(2)}
    with pytest.raises(VersionConflict):
        activity.count(DEAL, YESTERDAY, {"0003"})
    assert activity.of_deal(DEAL, since=YESTERDAY)[YESTERDAY] == Day(2)


def test_who_comes_while_a_day_is_closed_is_counted_and_the_next_night_closes_it(
    monkeypatch, wait_for_indexes
):
    activity.count(DEAL, YESTERDAY, {"0001"})
    wait_for_indexes()
    real = table.write

    def late(write):
        monkeypatch.setattr(table, "write", real)
        activity.count(DEAL, YESTERDAY, {"0002"})
        real(write)

    monkeypatch.setattr(table, "write", late)
    activity.close_day(YESTERDAY)
    assert activity.of_deal(DEAL, since=YESTERDAY) == {YESTERDAY: Day(2)}
    activity.close_day(TODAY)
    with pytest.raises(VersionConflict):
        activity.count(DEAL, YESTERDAY, {"0003"})


def test_orders_are_counted_and_stay_when_the_day_is_closed(wait_for_indexes):
    activity.count(DEAL, YESTERDAY, orders=2)
    activity.count(DEAL, YESTERDAY, {"0001"})
    activity.count(DEAL, YESTERDAY, orders=1)
    activity.count(DEAL, TODAY)
    wait_for_indexes()
    assert activity.close_day(TODAY) == 1
    assert activity.of_deal(DEAL, since=YESTERDAY) == {YESTERDAY: Day(1, 3), TODAY: Day(0, 0)}


@pytest.mark.engines("native")
def test_a_like_and_an_order_are_noted_and_flushed():
    deal = make_deal(stock=9)
    for username in ("ann", "bob"):
        make_user(username)
        for _ in range(2):
            relations.add(relations.DEAL_LIKE, deal.id, username, now=NOW)
    relations.add(relations.BRAND_LIKE, "nordlicht", "ann", now=NOW)
    relations.remove(relations.DEAL_LIKE, deal.id, "bob")
    activity.flush()
    assert activity.of_deal(deal.id, since=NOW.date()) == {NOW.date(): Day()}  # liked: it may become hot
    make_order("ann", deal, quantity=3)
    for _ in range(2):
        activity.flush()
    assert activity.of_deal(deal.id, since=NOW.date()) == {NOW.date(): Day(orders=1)}


@pytest.mark.engines("native")
def test_many_are_as_many_though_some_share_a_hash():
    day = date(2026, 11, 1)
    for number, seen in ((10, 10), (2000, 2031), (65_536, 726_817)):
        visitors = {f"{n:04x}" for n in range(number)}
        assert activity._number({"visitors": visitors}) == seen
    assert activity._number({"clicks": 7, "day": day.isoformat()}) == 7
